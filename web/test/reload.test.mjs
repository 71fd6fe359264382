// What a reload must not cost: the lock, what was typed, the place in line. And what is told away from the task's page.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { CALM, Server, openBrowser, until } from './harness.mjs';
import { assertAccessible, screenshots } from './a11y.mjs';
import { readyTask, signedIn } from './console.mjs';
import { sabotage } from './page.mjs';

const LINES = [{ kind: 'quantity', sku: 'tornillo-m4', quantity: 30 }];

let server, browser, ana, leo;
before(async () => {
  [server, browser] = await Promise.all([Server.start({ leases: { task: { ...CALM, offer_ms: 60_000 } } }), openBrowser()]);
  ana = await server.person('ana', 'editor', 'Ana');
  leo = await server.person('leo', 'editor', 'Leo');
});
after(() => Promise.all([browser?.close(), server?.stop()]));

const text = (page, what, options) => page.getByRole('main').getByText(what, options).filter({ visible: true }).first();
const button = (page, name) => page.getByRole('button', { name, exact: true });
const quantity = (page) => page.getByLabel('Cantidad de la línea 1, tornillo-m4');

async function opened(person, id, prepare = async () => {}) {
  const page = await signedIn(browser, server, person);
  await prepare(page.context());
  // What was typed and not saved: the browser asks before it leaves.
  page.on('dialog', (dialog) => dialog.accept());
  await page.goto(`${server.url}/tasks/${id}`);
  return page;
}

async function processing(person, id, prepare) {
  const page = await opened(person, id, prepare);
  await button(page, 'Procesar').click();
  await button(page, 'Dejar la tarea').waitFor();
  return page;
}

test('a reload while processing keeps the lock before whoever waits, and what was typed is saved', async () => {
  const id = await readyTask(ana, LINES);
  const hers = await processing(ana, id);
  const his = await opened(leo, id);
  await button(his, 'Pedir turno').click();
  await text(his, 'Es el siguiente en la fila').waitFor();
  const { fence } = await ana.lease(`task:${id}`);
  await quantity(hers).fill('44');
  await hers.reload();
  await text(hers, 'La procesa usted desde').waitFor();
  assert.equal((await ana.lease(`task:${id}`)).fence, fence, 'the same ownership');
  assert.equal(await quantity(hers).inputValue(), '44');
  await until('saved', () => ana.call('GET', `/v1/tasks/${id}`), ({ body }) => body.lines[0].quantity === 44);
  assert.equal(await text(his, '¡Es su turno!').count(), 0);
});

test('without the moment of grace the same reload loses it to whoever waits', async () => {
  const id = await readyTask(ana, LINES);
  const hers = await processing(ana, id, (context) => sabotage(context, [['this.#leave(GRACE_MS)', 'this.#leave()']]));
  const his = await opened(leo, id);
  await button(his, 'Pedir turno').click();
  await text(his, 'Es el siguiente en la fila').waitFor();
  await hers.reload();
  await text(his, '¡Es su turno!').waitFor();
  await text(hers, 'Ofrecida a Leo').waitFor();
});

test('a place in line outlives a reload, is kept on other pages, and an offer is told there with the time that is left', async () => {
  const id = await readyTask(ana, LINES, 'Recuento de cables');
  const hers = await processing(ana, id);
  const his = await opened(leo, id);
  await button(his, 'Pedir turno').click();
  await text(his, 'Es el siguiente en la fila').waitFor();
  await his.reload();
  await text(his, 'Es el siguiente en la fila').waitFor();
  await his.getByRole('navigation').getByRole('link', { name: 'Tareas' }).click();
  const row = his.getByRole('row', { name: /Recuento de cables/ });
  await row.getByText('su puesto en la fila: 1').waitFor();
  const turns = his.locator('#turns');
  await turns.getByText('Está en la fila: puesto 1').waitFor();
  await screenshots(his, 'tasks-waiting', ['light', 'phone']);
  await button(hers, 'Dejar la tarea').click();
  await turns.getByText(/¡Es su turno! Se la guardamos 0:\d\d más\./).waitFor();
  await row.getByText(/¡Es su turno!/).waitFor();
  assert.match(await his.title(), /^¡Su turno! \d:\d\d · Recuento de cables/);
  await screenshots(his, 'tasks-offered', ['light', 'dark', 'phone']);
  await assertAccessible(his);
  await his.getByRole('navigation').getByRole('link', { name: 'Resumen' }).click();
  await turns.getByText(/¡Es su turno!/).waitFor();
  await turns.getByRole('link', { name: 'Recuento de cables' }).click();
  await button(his, 'Procesar').click();
  await button(his, 'Dejar la tarea').waitFor();
  assert.doesNotMatch(await his.title(), /turno!/);
  await his.goto(`${server.url}/`);
  await his.locator('#pulse[data-state="live"]').waitFor();
  assert.equal(await turns.isVisible(), false, 'what was taken is not waited for');
});
