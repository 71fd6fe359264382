// The console in a real browser: live updates, a lost connection, and pages without scripts.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { assertAccessible, overflowsSideways, screenshots } from './a11y.mjs';
import { PATIENCE_MS, Server, newContext, openBrowser } from './harness.mjs';

let server, browser, ana;
before(async () => {
  [server, browser] = await Promise.all([Server.start(), openBrowser()]);
  ana = await server.person('ana', 'editor', 'Ana Pérez');
  await did(server.admin, 'PUT', '/v1/queues/chat', { kind: 'lane', window_ms: 0, max_attempts: 1 });
  for (const [id, key] of [['m-1', 'lucía'], ['m-2', 'lucía'], ['m-3', 'omar']]) {
    await did(ana, 'POST', '/v1/queues/chat/items', { id, key, payload: { texto: id } });
  }
  const { deliveries } = await did(ana, 'POST', '/v1/queues/chat/claim', { instance: 'bot-1', max: 1 });
  await did(ana, 'POST', '/v1/queues/chat/fail', { deliveries: [{ delivery: deliveries[0].delivery, fence: deliveries[0].fence, error: 'sin línea' }] });
  await did(ana, 'POST', '/v1/leases/caja:1/claim', {});
});
after(() => Promise.all([browser?.close(), server?.stop()]));

/** Calls the API, fails unless it succeeds, and returns the answer. */
async function did(person, ...call) {
  const { status, body } = await person.call(...call);
  assert.ok(status < 300, `${call}: ${status} ${JSON.stringify(body)}`);
  return body;
}

/** Opens a page of a signed-in person. Errors in its browser console are kept in `complaints`. */
async function open(person, path, options = {}) {
  const context = await newContext(browser, options);
  await context.addCookies([{ name: 'turno_session', value: person.token, url: server.url }]);
  const page = await context.newPage();
  page.complaints = [];
  page.on('console', (message) => message.type() === 'error' && page.complaints.push(message.text()));
  page.on('pageerror', (error) => page.complaints.push(error.message));
  page.setDefaultTimeout(PATIENCE_MS);
  await page.goto(server.url + path);
  return page;
}

const PAGES = {
  overview: '/', leases: '/leases', lease: '/leases/caja%3A1', queues: '/queues', queue: '/queues/chat',
  exhausted: '/queues/chat?state=exhausted', key: '/queues/chat/keys/omar', item: '/queues/chat/items/m-1', sync: '/sync',
  audit: '/audit', people: '/admin', person: '/admin/people/ana', tokens: '/admin/tokens', settings: '/admin/settings', 'nothing-matches': '/leases?prefix=nada', trouble: '/tasks/99999',
};

for (const [name, path] of Object.entries(PAGES)) {
  test(`${name}: no serious accessibility problem, fits a phone, and obeys its content policy`, async () => {
    const page = await open(server.admin, path);
    await page.locator('#pulse, h1').first().waitFor();
    for (const colorScheme of ['light', 'dark']) {
      await page.emulateMedia({ colorScheme });
      await assertAccessible(page);
    }
    await screenshots(page, `console-${name}`);
    await page.setViewportSize({ width: 390, height: 844 });
    assert.equal(await overflowsSideways(page), false, 'it is wider than a phone');
    // The browser itself reports the 404 of the error page.
    assert.deepEqual(page.complaints.filter((said) => name !== 'trouble' || !said.includes('404')), []);
    await page.context().close();
  });
}

test('a change by another person appears without a reload, and typed text stays', async () => {
  const page = await open(server.admin, '/leases');
  await page.evaluate(() => { window.stillTheSame = true; });
  await page.getByLabel('El recurso empieza con').fill('puerta');
  await page.getByLabel('El recurso empieza con').press('Enter');
  await page.waitForURL(/prefix=puerta/);
  await page.getByText('Sin resultados para estos filtros').waitFor();
  await page.getByLabel('Persona').pressSequentially('an');
  await did(ana, 'POST', '/v1/leases/puerta:7/claim', {});
  await page.getByRole('link', { name: 'puerta:7' }).waitFor();
  assert.equal(await page.getByLabel('Persona').inputValue(), 'an');
  assert.equal(await page.evaluate(() => document.activeElement.id), 'holder');
  assert.equal(await page.evaluate(() => window.stillTheSame), true, 'the page was not loaded again');
  await page.context().close();
});

test('a dialog stays open while the page changes, and its reason is in the audit log', async () => {
  await did(ana, 'POST', '/v1/leases/caja:9/claim', {});
  const page = await open(server.admin, '/leases/caja%3A9');
  await page.getByRole('button', { name: 'Forzar liberación' }).first().click();
  const reason = page.getByLabel('Motivo').first();
  await reason.fill('cierre');
  const read = page.waitForResponse((response) => response.url().endsWith('/leases/caja%3A9'));
  await did(server.admin, 'POST', '/v1/leases/caja:9/request-release', { message: 'la necesito' });
  await read;
  await page.getByText('la necesito').waitFor();
  assert.equal(await reason.inputValue(), 'cierre');
  await page.getByRole('dialog').getByRole('button', { name: 'Forzar liberación' }).click();
  await page.getByText('caja:9 quedó libre').waitFor();
  await page.goto(`${server.url}/audit`);
  await page.getByRole('rowheader', { name: 'Liberó un bloqueo a la fuerza' }).first().waitFor();
  await page.getByText('cierre').first().waitFor();
  await page.context().close();
});

test('the focus stays in an open dialog and returns to its button after closing', async () => {
  await did(ana, 'POST', '/v1/leases/caja:10/claim', {});
  const page = await open(server.admin, '/leases/caja%3A10');
  const opener = page.getByRole('button', { name: 'Forzar liberación' }).first();
  await opener.focus();
  await page.keyboard.press('Enter');
  await page.getByRole('dialog').waitFor();
  const stands = () => page.evaluate(() => [Boolean(document.activeElement.closest('dialog')), document.activeElement.outerHTML]);
  for (const key of ['Tab', 'Shift+Tab']) {
    const seen = new Set();
    for (let pressed = 0; pressed < 7; pressed += 1) {
      await page.keyboard.press(key);
      const [within, what] = await stands();
      assert.equal(within, true, `${key}: ${what}`);
      seen.add(what);
    }
    assert.equal(seen.size, 3, 'the reason, and both buttons');
  }
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'hidden' });
  assert.equal(await opener.evaluate((button) => button === document.activeElement), true);
  await page.context().close();
});

/** Enqueues an item and waits until the page shows it. */
async function stirred(page) {
  const read = page.waitForResponse((response) => response.request().headers()['hx-request'] === 'true');
  await did(ana, 'POST', '/v1/queues/chat/items', { key: 'omar', payload: {} });
  await read;
  // The page is up to date when the pulse is live.
  await page.waitForFunction(() => document.getElementById('pulse').dataset.state === 'live');
}

test('open details, focus and scroll position stay while the page changes', async () => {
  const page = await open(server.admin, '/queues/chat', { viewport: { width: 1000, height: 400 } });
  await page.getByText('Política vigente').click();
  await page.evaluate(() => { window.scrollTo(0, 220); });
  const link = page.getByRole('link', { name: 'm-1' });
  await link.evaluate((element) => element.focus({ preventScroll: true }));
  const before = await page.evaluate(() => window.scrollY);
  await stirred(page);
  await stirred(page);
  assert.equal(await page.locator('details').first().evaluate((element) => element.open), true);
  assert.equal(await link.evaluate((element) => element === document.activeElement), true);
  assert.equal(await page.evaluate(() => window.scrollY), before);
  await page.context().close();
});

test('a typed correction stays, and an invalid one comes back with its error', async () => {
  const page = await open(server.admin, '/queues/chat/items/m-1');
  await page.getByRole('button', { name: 'Corregir y reintentar' }).click();
  const typed = page.getByRole('dialog').getByLabel('Contenido');
  await typed.fill('{"texto": nada}');
  await stirred(page);
  assert.equal(await typed.inputValue(), '{"texto": nada}');
  await page.getByRole('dialog').getByRole('button', { name: 'Corregir y reintentar' }).click();
  await page.getByRole('alert').getByText('en la línea 1, columna 12').waitFor();
  assert.equal(await page.getByLabel('Contenido').inputValue(), '{"texto": nada}');
  await assertAccessible(page);
  await screenshots(page, 'console-correcting');
  await page.context().close();
});

test('charts are updated and not drawn anew', async () => {
  const page = await open(server.admin, '/');
  await page.locator('.chart canvas').first().waitFor();
  await page.evaluate(() => { document.querySelector('.chart canvas').dataset.first = 'yes'; });
  await stirred(page);
  await stirred(page);
  assert.equal(await page.locator('.chart canvas').first().getAttribute('data-first'), 'yes');
  await page.context().close();
});

test('without a connection the page shows since when, and updates when it returns', async () => {
  await did(ana, 'POST', '/v1/leases/corte:1/claim', {});
  const page = await open(server.admin, '/leases');
  await page.getByRole('link', { name: 'corte:1' }).waitFor();
  await server.down();
  await page.getByText(/Sin conexión desde \d\d:\d\d\. Actualizado/).waitFor();
  await server.up();
  await did(ana, 'POST', '/v1/leases/regreso:1/claim', {});
  await page.getByRole('link', { name: 'regreso:1' }).waitFor();
  await page.locator('#banner').waitFor({ state: 'hidden' });
  await page.context().close();
});

test('a page whose session ended elsewhere shows a notice and a link to sign in', async () => {
  const rosa = await server.person('rosa');
  const page = await open(rosa, '/queues');
  await page.getByRole('link', { name: 'chat' }).waitFor();
  await did(server.admin, 'PATCH', '/v1/users/rosa', { disabled: true });
  await did(server.admin, 'POST', '/v1/queues/chat/pause', {});
  await did(server.admin, 'POST', '/v1/queues/chat/resume', {});
  await page.getByRole('alert').getByRole('link', { name: 'Iniciar sesión de nuevo' }).click();
  await page.waitForURL(/\/sign-in\?next=%2Fqueues/);
  await page.context().close();
});

test('the choice of language and colours is one click and is kept', async () => {
  const page = await open(ana, '/queues');
  await page.getByRole('button', { name: 'English' }).click();
  await page.getByRole('heading', { level: 1, name: 'Queues' }).waitFor();
  await page.getByRole('button', { name: 'Switch to dark' }).click();
  assert.equal(await page.locator('html').getAttribute('data-theme'), 'dark');
  await page.getByRole('link', { name: 'Locks' }).click();
  await page.getByRole('heading', { level: 1, name: 'Locks' }).waitFor();
  assert.equal(await page.locator('html').getAttribute('data-theme'), 'dark');
  await page.context().close();
});

test('the colour button offers the opposite of the colours of the system', async () => {
  for (const [colorScheme, way, theme] of [['dark', 'Pasar a claro', 'light'], ['light', 'Pasar a oscuro', 'dark']]) {
    const page = await open(ana, '/', { colorScheme });
    assert.equal(await page.getByRole('button', { name: /^Pasar a/ }).count(), 1);
    await page.getByRole('button', { name: way }).click();
    await page.locator(`html[data-theme="${theme}"]`).waitFor();
  }
});

test('the link to the content is the first stop of the Tab key', async () => {
  const page = await open(ana, '/queues');
  await page.keyboard.press('Tab');
  const skip = page.getByRole('link', { name: 'Ir al contenido' });
  assert.equal(await skip.evaluate((element) => element === document.activeElement), true);
  await page.keyboard.press('Enter');
  assert.equal(await page.evaluate(() => document.activeElement.id), 'main');
  await page.context().close();
});

test('without scripts the filters and the dialogs work', async () => {
  const page = await open(server.admin, '/queues/chat', { javaScriptEnabled: false });
  await page.getByRole('link', { name: /^Agotado/ }).click();
  await page.getByRole('link', { name: 'm-1' }).waitFor();
  await page.getByRole('button', { name: 'Pausar' }).first().click();
  await page.getByRole('dialog').getByRole('button', { name: 'Pausar' }).click();
  await page.getByText('chat quedó en pausa').waitFor();
  await page.getByRole('button', { name: 'Reanudar' }).click();
  await page.getByText('chat se reanudó').waitFor();
  await page.context().close();
});
