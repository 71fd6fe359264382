// A server that hangs: connections stay open without answers. The test stops its process and moves the clock of the page.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertAccessible, screenshots } from './a11y.mjs';
import { stopClock, unansweredOf, until } from './harness.mjs';
import { readyTask, signedIn } from './console.mjs';
import { SLOW, ana, browser, button, leo, office, opened, processing, quantity, server, text } from './office.mjs';

const LINES = [{ kind: 'quantity', sku: 'tornillo-m4', quantity: 30 }];

office(SLOW);

test('a hanging server is shown as silent, with its start and the expiry of the lock, and no renewal is reported', async () => {
  const id = await readyTask(ana, LINES);
  const page = await processing(ana, id, { clock: true });
  await text(page, 'Bloqueo activo').waitFor();
  assert.equal(await page.locator('#banner').isVisible(), false);
  server.child.kill('SIGSTOP');
  await quantity(page).fill('35');
  await page.clock.runFor(15_000);
  await text(page, /Sin conexión desde \d\d:\d\d · bloqueo válido hasta \d\d:\d\d/).waitFor();
  assert.equal(await text(page, 'Se renueva sola').count(), 0);
  await page.locator('#banner').getByText(/desde/).waitFor();
  assert.equal(await quantity(page).inputValue(), '35');
  await screenshots(page, 'process-silent');
  await assertAccessible(page);
  server.child.kill('SIGCONT');
  await page.clock.runFor(15_000);
  await text(page, 'Bloqueo activo').waitFor();
  await page.locator('#banner').waitFor({ state: 'hidden' });
  await quantity(page).press('Enter');
  await text(page, 'Guardado', { exact: true }).waitFor();
});

test('"Procesar" shows at once that the claim was sent, and soon that the server is slow', async () => {
  const page = await opened(ana, await readyTask(ana, LINES), { clock: true });
  await button(page, 'Procesar').waitFor();
  await page.locator('#pulse[data-state="live"]').waitFor();
  await stopClock(page);
  server.child.kill('SIGSTOP');
  await button(page, 'Procesar').focus();
  await page.keyboard.press('Enter');
  const asking = button(page, 'Pidiendo…');
  await asking.waitFor();
  const told = await asking.evaluate((one) => [one.ariaBusy, one.ariaDisabled, one === document.activeElement]);
  assert.deepEqual(told, ['true', 'true', true]);
  const slow = page.getByRole('alert').getByText('El servidor tarda. Se sigue esperando.');
  await page.clock.runFor(1_900);
  assert.equal(await slow.isVisible(), false);
  await page.clock.runFor(200);
  await slow.waitFor();
  await screenshots(page, 'process-asking-long');
  server.child.kill('SIGCONT');
  await button(page, 'Liberar tarea').waitFor();
  await page.clock.runFor(1_000);
  await slow.waitFor({ state: 'hidden' });
  // Without any answer the button can be pressed again.
  await page.clock.resume();
  await button(page, 'Liberar tarea').click();
  await button(page, 'Procesar').waitFor();
  await page.route(/\/claim$/, (route) => route.abort());
  await button(page, 'Procesar').click();
  await text(page, 'El servidor no respondió. Pruebe de nuevo.').waitFor();
  assert.equal(await button(page, 'Procesar').getAttribute('aria-disabled'), null);
});

test('pages without a lock notice a silent server within ten seconds: the list, a locked task, the overview', async () => {
  const id = await readyTask(ana, LINES);
  await ana.call('POST', `/v1/tasks/${id}/claim`, {});
  const page = await signedIn(browser, server, leo);
  await page.clock.install();
  const unanswered = unansweredOf(page);
  for (const path of ['/tasks', `/tasks/${id}`, '/']) {
    await page.goto(server.url + path);
    await page.locator('#pulse[data-state="live"]').waitFor();
    await stopClock(page);
    // Answers under way arrive before the clock moves.
    await until('answers', () => unanswered.size, (count) => count === 0);
    server.child.kill('SIGSTOP');
    // A message of the live stream that was under way counts as an answer, and a busy machine reads it late.
    const said = page.locator('#banner').getByText(/desde/);
    for (let passed = 0; passed < 16 && !(await said.isVisible()); passed += 1) await page.clock.runFor(1_000);
    await said.waitFor();
    server.child.kill('SIGCONT');
    await until('it is back', async () => {
      await leo.call('GET', '/v1/me');
      await page.clock.runFor(1_000);
      return page.locator('#banner').isHidden();
    });
  }
});

test('one unanswered request is not a lost connection if the page itself is answered', async () => {
  const page = await opened(ana, await readyTask(ana, LINES), { clock: true });
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
  let answered = false;
  page.on('response', (response) => (answered ||= /\/v1\/leases\//.test(response.url())));
  // In small steps, so that no request of the page times out.
  await until('an answer', async () => (await page.clock.runFor(1_000), answered));
  await page.locator('#banner').waitFor({ state: 'hidden' });
});
