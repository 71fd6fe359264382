// A page of another application on another origin: the example of docs/guides/browser.md, and tokens.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { CALM, PATIENCE_MS, ROOT, Server, newContext, openBrowser, site, until } from './harness.mjs';
import { openPage } from './page.mjs';
import { start } from '../../examples/browser/server.mjs';

let server, browser, application, other;
before(async () => {
  application = await start({ turno: '', token: '', port: 0 });
  await application.stop();
  other = await site({ routes: { '/': () => ({ type: 'text/html', body: '<!doctype html><title>other</title>' }) } });
  const port = Number(new URL(application.url).port);
  const leases = {
    default: CALM,
    invoice: { ttl_ms: 12_000, heartbeat_interval_ms: 200, idle_guard_ms: 10_000, offer_ms: 60_000 },
  };
  [server, browser] = await Promise.all([Server.start({ leases, cors: [application.url] }), openBrowser()]);
  // As in the guide: the backend may mint sessions that can use leases and nothing else.
  await server.command('user', 'add', 'shop', '--role', 'admin', '--name', 'The shop');
  const token = await server.command(
    'token',
    'create',
    '--user',
    'shop',
    '--machine',
    '--can',
    'sessions.mint',
    'leases.use',
  );
  application = await start({ turno: server.url, token, port });
});
after(() => Promise.all([browser?.close(), server?.stop(), application?.stop(), other?.stop()]));

/** Opens the page of the application for one of its users, who has no account in Turno. */
async function open(user) {
  const context = await newContext(browser);
  await context.addCookies([{ name: 'user', value: user, url: application.url }]);
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE_MS);
  await page.goto(application.url);
  return page;
}

const button = (page, name) => page.getByRole('button', { name, exact: true });
const shows = (page, text) => page.getByText(text).filter({ visible: true }).first().waitFor();
/** Exact, because "La tiene usted en otra pestaña" is the text of the state `elsewhere`. */
const holds = (page) => page.getByText('La tiene usted', { exact: true }).filter({ visible: true }).first().waitFor();

test('two users of another application take turns with the buttons of its page', async () => {
  const [marta, luis] = [await open('marta'), await open('luis')];
  await shows(luis, 'Libre');
  assert.equal(await marta.getByLabel('Total').isDisabled(), true);
  await button(marta, 'Procesar').click();
  await holds(marta);
  await marta.getByLabel('Total').fill('120');
  await button(marta, 'Guardar').click();
  await shows(marta, 'Guardada');
  await shows(luis, 'Bloqueada por Marta');
  assert.equal(await luis.getByLabel('Total').isDisabled(), true);
  await button(luis, 'Pedir turno').click();
  await shows(luis, 'Está en la fila: puesto 1');
  await button(luis, 'Solicitar liberación').click();
  await shows(marta, 'Luis solicita la liberación');
  await button(marta, 'Liberar factura').click();
  await shows(luis, 'Es su turno');
  await button(luis, 'Procesar').click();
  await holds(luis);
  await shows(marta, 'Bloqueada por Luis');
  assert.equal(application.invoice.total, '120');
  await luis.context().close();
  await marta.context().close();
});

test('a lost lock is shown, the typed text stays, and the backend refuses the old fence', async () => {
  const marta = await open('marta');
  await button(marta, 'Procesar').click();
  await marta.getByLabel('Total').fill('999');
  const fence = await marta.evaluate(() => document.querySelector('turno-lease').fence);
  const before = { ...application.invoice };
  await server.admin.call('POST', '/v1/leases/invoice:7/force-claim', { reason: 'cierre de mes' });
  await shows(marta, 'Lock perdido.');
  await shows(marta, 'cierre de mes');
  assert.deepEqual(
    [await marta.getByLabel('Total').isDisabled(), await marta.getByLabel('Total').inputValue()],
    [true, '999'],
  );
  const write = (fence) =>
    marta.evaluate(
      async (fence) =>
        (await fetch('/invoices/7', { method: 'PUT', headers: { 'x-turno-fence': fence }, body: '{"total":"999"}' }))
          .status,
      String(fence),
    );
  assert.equal(await write(fence), 409);
  assert.deepEqual(application.invoice, before);
  await server.admin.call('POST', '/v1/leases/invoice:7/force-release', { reason: 'listo' });
  await button(marta, 'Reintentar claim').click();
  await holds(marta);
  await marta.locator('form:not([inert])').waitFor();
  // The control: the same write with the new fence is accepted, once the page has opened the invoice under it.
  assert.equal(await write(await marta.evaluate(() => document.querySelector('turno-lease').fence)), 200);
  await marta.context().close();
});

test('an idle user sees the warning, and one click keeps the lock', async () => {
  const marta = await open('marta');
  await button(marta, 'Procesar').click();
  await shows(marta, '¿Sigue ahí?');
  await button(marta, 'Conservar bloqueo').click();
  await marta.getByText('¿Sigue ahí?').waitFor({ state: 'hidden' });
  await holds(marta);
  await marta.context().close();
});

test('leaving a page of another origin releases the lease', async () => {
  const marta = await open('marta');
  await button(marta, 'Procesar').click();
  await holds(marta);
  await marta.goto('about:blank');
  await until('free', async () => (await server.admin.lease('invoice:7')).state === 'free');
  // The lease is free when the grace time is over; the history has the entry a moment later.
  await until('released', async () => (await server.admin.history('invoice:7'))[0].cause === 'released');
  await marta.context().close();
});

test('a page of an origin that is not configured cannot claim', async () => {
  const page = await openPage(await newContext(browser), server, server.admin, 'caja:1', { url: other.url });
  const failed = await page.page.evaluate(() => lease.claim().catch((error) => error.name));
  assert.equal(failed, 'TypeError', 'the browser does not let the page read an answer');
  assert.equal((await server.admin.lease('caja:1')).state, 'free');
});

test('an expired session is replaced, and the lease is kept', async () => {
  const view = await openPage(await newContext(browser), server, null, 'caja:2', { url: application.url });
  const minted = [];
  await view.page.exposeFunction('mint', async () => {
    const body = { user: { id: 'marta', name: 'Marta' }, permissions: ['leases.use'], ttl_s: 900 };
    minted.push((await server.admin.call('POST', '/v1/sessions', body)).body);
    return minted.at(-1);
  });
  await view.page.evaluate(() => (lease.turno.token = () => mint()));
  const { fence } = await view.claim();
  await until('a beat', () => view.beats().length);
  assert.equal(minted.length, 1, 'one token for many calls');
  await server.admin.call('DELETE', `/v1/tokens/${minted[0].id}`);
  await until(
    'a second session',
    () => minted.length,
    (count) => count === 2,
  );
  const beats = view.beats().length;
  await until(
    'beats',
    () => view.beats().length,
    (count) => count >= beats + 3,
  );
  assert.deepEqual([await view.fence(), await view.events('lost'), minted.length], [fence, [], 2]);
});

test('a session is replaced before it expires', async () => {
  const view = await openPage(await newContext(browser), server, null, 'caja:3', { url: application.url, clock: true });
  let minted = 0;
  await view.page.exposeFunction('mint', async () => {
    minted += 1;
    const body = { user: { id: 'marta', name: 'Marta' }, permissions: ['leases.use'], ttl_s: 600 };
    return (await server.admin.call('POST', '/v1/sessions', body)).body;
  });
  await view.page.evaluate(() => (lease.turno.token = () => mint()));
  await view.page.evaluate(() => lease.refresh());
  await view.page.clock.fastForward(500_000);
  await view.page.evaluate(() => lease.refresh());
  assert.equal(minted, 1, 'there was time left');
  await view.page.clock.fastForward(45_000);
  await view.page.evaluate(() => lease.refresh());
  assert.equal(minted, 2);
});

test('a session for some resources cannot claim others', async () => {
  const body = {
    user: { id: 'marta', name: 'Marta' },
    permissions: ['leases.use'],
    resources: ['invoice:'],
    ttl_s: 60,
  };
  const { token } = (await server.admin.call('POST', '/v1/sessions', body)).body;
  const view = await openPage(await newContext(browser), server, { token }, 'caja:4', { url: application.url });
  assert.equal(await view.page.evaluate(() => lease.claim().catch((error) => error.status)), 403);
  assert.notEqual(await view.state(), 'held');
});

test("pages of the server itself use the cookie of the console", async () => {
  const context = await newContext(browser);
  await server.password('eva', 'correcto caballo pila grapa');
  const door = await context.newPage();
  await door.goto(`${server.url}/sign-in`);
  await door.getByLabel('Usuario').fill('eva');
  await door.getByLabel('Contraseña').fill('correcto caballo pila grapa');
  await door.getByRole('button', { name: 'Entrar' }).click();
  await until('a cookie', async () => (await context.cookies()).some(({ name }) => name === 'turno_session'));
  const view = await openPage(context, server, null, 'caja:5');
  await view.claim();
  await view.becomes('held');
  await until(
    'beats',
    () => view.beats().length,
    (count) => count >= 2,
  );
  assert.equal((await server.admin.lease('caja:5')).holder.id, 'eva');
});

test('the code in the guide equals the tested example', () => {
  const bare = (text) =>
    text
      .split('\n')
      .map((line) => line.trim())
      .join('\n');
  const guide = readFileSync(join(ROOT, 'docs', 'guides', 'browser.md'), 'utf8');
  const blocks = [...guide.matchAll(/^```\w+ (examples\S+)\n([^]*?)^```$/gm)];
  assert.ok(blocks.length >= 5, `${blocks.length} blocks`);
  for (const [, file, text] of blocks) {
    assert.ok(
      bare(readFileSync(join(ROOT, file), 'utf8')).includes(bare(text).trim()),
      `${file} does not contain\n${text}`,
    );
  }
});
