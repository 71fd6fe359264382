// A server that hangs: connections stay open and nobody answers. Its process is stopped, and the page's clock moved.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { CALM, Server, openBrowser } from './harness.mjs';
import { assertAccessible, screenshots } from './a11y.mjs';
import { readyTask, signedIn } from './console.mjs';

const LINES = [{ kind: 'quantity', sku: 'tornillo-m4', quantity: 30 }];

let server, browser, ana;
before(async () => {
  // It must not end while the page lets time pass that does not pass for the server.
  const task = { ...CALM, ttl_ms: 180_000, max_ttl_ms: 180_000 };
  [server, browser] = await Promise.all([Server.start({ leases: { task } }), openBrowser()]);
  ana = await server.person('ana', 'editor', 'Ana');
});
after(async () => {
  server?.child.kill('SIGCONT');
  await Promise.all([browser?.close(), server?.stop()]);
});

const text = (page, what, options) => page.getByRole('main').getByText(what, options).filter({ visible: true }).first();
const button = (page, name) => page.getByRole('button', { name, exact: true });
const quantity = (page) => page.getByLabel('Cantidad de la línea 1, tornillo-m4');

test('a server that hangs is said to be silent since when, and until when the lock is good; nothing claims to renew', async () => {
  const id = await readyTask(ana, LINES);
  const page = await signedIn(browser, server, ana);
  await page.clock.install();
  await page.goto(`${server.url}/tasks/${id}`);
  await button(page, 'Procesar').click();
  await text(page, 'Se renueva sola mientras usted trabaje.').waitFor();
  assert.equal(await page.locator('#banner').isVisible(), false);
  server.child.kill('SIGSTOP');
  await quantity(page).fill('35');
  await page.clock.runFor(15_000);
  await text(page, /Sin respuesta del servidor desde las \d\d:\d\d\. Su bloqueo vale hasta las \d\d:\d\d/).waitFor();
  assert.equal(await text(page, 'Se renueva sola').count(), 0);
  await page.locator('#banner').getByText(/desde/).waitFor();
  assert.equal(await quantity(page).inputValue(), '35');
  await screenshots(page, 'process-silent');
  await assertAccessible(page);
  server.child.kill('SIGCONT');
  await page.clock.runFor(15_000);
  await text(page, 'Se renueva sola mientras usted trabaje.').waitFor();
  await page.locator('#banner').waitFor({ state: 'hidden' });
  await quantity(page).press('Enter');
  await text(page, 'Guardado', { exact: true }).waitFor();
});

test('a page that only looks notices that nobody answers, too', async () => {
  const page = await signedIn(browser, server, ana);
  await page.clock.install();
  await page.goto(`${server.url}/tasks`);
  await page.locator('#pulse[data-state="live"]').waitFor();
  server.child.kill('SIGSTOP');
  for (let passed = 0; passed < 45; passed += 5) await page.clock.runFor(5_000);
  await page.locator('#banner').getByText(/desde/).waitFor();
  server.child.kill('SIGCONT');
  for (let passed = 0; passed < 20; passed += 5) await page.clock.runFor(5_000);
  await page.locator('#banner').waitFor({ state: 'hidden' });
});

test('one question that nobody answered is no lost connection once the page itself is answered', async () => {
  const page = await signedIn(browser, server, ana);
  await page.clock.install();
  await page.goto(`${server.url}/tasks/${await readyTask(ana, LINES)}`);
  await button(page, 'Procesar').waitFor();
  await page.locator('#pulse[data-state="live"]').waitFor();
  await page.route('**/v1/leases/**', (route) => route.abort());
  const failed = page.waitForEvent('requestfailed');
  await page.evaluate(() => dispatchEvent(new Event('online')));
  await failed;
  const said = [];
  for (let passed = 0; passed < 20; passed += 1) {
    const reads = page.waitForResponse(/\/tasks\/\d+$/, { timeout: 300 }).catch(() => null);
    await page.clock.runFor(1_000);
    await reads;
    if (await page.locator('#banner').isVisible()) said.push(await page.locator('#banner').textContent());
  }
  assert.deepEqual(said.filter((text) => /Actualizado ahora/.test(text)), []);
  await page.unroute('**/v1/leases/**');
  const asked = page.waitForResponse(/\/v1\/leases\//);
  for (let passed = 0; passed < 20; passed += 5) await page.clock.runFor(5_000);
  await asked;
  await page.locator('#banner').waitFor({ state: 'hidden' });
});
