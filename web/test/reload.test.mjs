// A reload keeps the lock, the typed text and the place in line. Also: offers that are shown on other pages.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CALM, until } from './harness.mjs';
import { assertAccessible, screenshots } from './a11y.mjs';
import { readyTask, unsavable } from './console.mjs';
import { ana, button, leo, office, opened, processing, quantity, server, text } from './office.mjs';
import { sabotage } from './page.mjs';

const LINES = [{ kind: 'quantity', sku: 'tornillo-m4', quantity: 30 }];

office({ ...CALM, offer_ms: 60_000 });

/** Accepts the question of the browser about unsaved text. */
const leaving = (prepare = async () => {}) => ({
  prepare: async (page) => {
    page.on('dialog', (dialog) => dialog.accept());
    await prepare(page.context());
  },
});

test('a reload keeps the lock although another person waits, and the typed text is saved', async () => {
  const id = await readyTask(ana, LINES);
  const hers = await processing(ana, id, leaving());
  const his = await opened(leo, id, leaving());
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

test('a reload before the answer to "Procesar" continues with the grant, and another window takes nothing', async () => {
  const id = await readyTask(ana, LINES);
  const [page, other] = [await opened(ana, id, leaving()), await opened(ana, id, leaving())];
  let granted;
  const heard = new Promise((resolve) => (granted = resolve));
  // The server gets the claim, and the page gets no answer.
  await page.route(/\/claim$/, async (route) => granted(await route.fetch()), { times: 1 });
  await button(page, 'Procesar').click();
  assert.equal((await heard).status(), 200);
  await page.reload();
  await text(page, 'La procesa usted desde').waitFor();
  await other.reload();
  await button(other, 'Continuar aquí').waitFor();
  assert.equal(await button(page, 'Liberar tarea').isVisible(), true);
});

test('text is saved when the person stops typing in the field, and the field keeps it as typed', async () => {
  const id = await readyTask(ana, [{ kind: 'serialized', sku: 'notebook-14', serials: ['NB-1'] }]);
  const page = await processing(ana, id, leaving());
  const field = page.getByLabel('Números de serie de la línea 1, notebook-14');
  await field.fill('NB-1, NB-2,\n');
  await until('saved', () => ana.call('GET', `/v1/tasks/${id}`), ({ body }) => body.lines[0].serials.length === 2);
  await text(page, 'Guardado', { exact: true }).waitFor();
  assert.equal(await field.inputValue(), 'NB-1, NB-2,\n');
  await field.pressSequentially('NB-3');
  await until('saved', () => ana.call('GET', `/v1/tasks/${id}`), ({ body }) => body.lines[0].serials.length === 3);
  await field.blur();
  assert.equal(await field.inputValue(), 'NB-1\nNB-2\nNB-3');
});

test('a half-typed number that is being saved is replaced by the final number, even if that was stored before', async () => {
  const id = await readyTask(ana, LINES);
  const page = await processing(ana, id, leaving());
  let answer;
  const asked = new Promise((resolve) => page.route(/\/lines\/1$/, (route) => resolve((answer = () => route.continue())), { times: 1 }));
  await quantity(page).fill('3');
  await asked;
  await quantity(page).press('End');
  await quantity(page).press('0');
  await answer();
  await until('both were saved', () => ana.call('GET', `/v1/tasks/${id}/history`), ({ body }) => body.items.filter(({ what }) => what === 'line_edited').length === 2);
  assert.equal((await ana.call('GET', `/v1/tasks/${id}`)).body.lines[0].quantity, 30);
  await text(page, 'Guardado', { exact: true }).waitFor();
  assert.equal(await quantity(page).inputValue(), '30');
});

test('closing a tab saves a valid field before the lock is released', async () => {
  const id = await readyTask(ana, LINES);
  const page = await processing(ana, id, leaving());
  const { fence } = await ana.lease(`task:${id}`);
  await quantity(page).fill('45');
  await page.close();
  await until('free', () => ana.lease(`task:${id}`), ({ state }) => state === 'free');
  const { body } = await ana.call('GET', `/v1/tasks/${id}`);
  assert.equal(body.lines[0].quantity, 45);
  await until('its end', () => ana.history(`task:${id}`), ([last]) => last?.fence === fence && last.cause === 'released');
});

test('closing a tab keeps an invalid field, which only its author finds when the task is opened again', async () => {
  const id = await readyTask(ana, [{ kind: 'serialized', sku: 'notebook-14', serials: ['NB-1'] }, ...LINES]);
  const page = await processing(ana, id, leaving());
  const context = page.context();
  const field = (page) => page.getByLabel('Cantidad de la línea 2, tornillo-m4');
  await field(page).fill('-3');
  await page.close();
  const again = await context.newPage();
  await again.goto(`${server.url}/tasks/${id}`);
  await button(again, 'Procesar').waitFor();
  await text(again, 'Sin guardar', { exact: true }).waitFor();
  assert.equal(await field(again).inputValue(), '-3');
  await screenshots(again, 'process-draft-kept', ['light', 'phone']);
  await button(again, 'Procesar').click();
  await button(again, 'Liberar tarea').waitFor();
  await field(again).fill('33');
  await until('saved', () => ana.call('GET', `/v1/tasks/${id}`), ({ body }) => body.lines[1].quantity === 33);
  assert.equal(await again.evaluate(() => Object.keys(localStorage).filter((key) => key.startsWith('turno:typed')).length), 0);
});

test('text typed in one window continues in the other', async () => {
  const id = await readyTask(ana, LINES);
  const first = await processing(ana, id, leaving());
  await unsavable(first);
  await quantity(first).fill('46');
  const second = await first.context().newPage();
  await second.goto(`${server.url}/tasks/${id}`);
  await button(second, 'Continuar aquí').click();
  await text(first, /Usted continuó en otra ventana/).waitFor();
  await until('saved', () => ana.call('GET', `/v1/tasks/${id}`), ({ body }) => body.lines[0].quantity === 46);
  await text(first, 'Sin guardar', { exact: false }).waitFor({ state: 'hidden' });
  await until('the first one shows what is stored', () => quantity(first).inputValue(), (value) => value === '46');
});

test('without the grace time the same reload loses the lock to the waiting person', async () => {
  const id = await readyTask(ana, LINES);
  const hers = await processing(ana, id, leaving((context) => sabotage(context, [['leave(step, GRACE_MS)', 'leave(step)']])));
  const his = await opened(leo, id, leaving());
  await button(his, 'Pedir turno').click();
  await text(his, 'Es el siguiente en la fila').waitFor();
  await hers.reload();
  await text(his, '¡Es su turno!').waitFor();
  await text(hers, 'Reservada para Leo').waitFor();
});

test('a place in line survives a reload, is kept on other pages, and an offer is shown there with its time', async () => {
  const id = await readyTask(ana, LINES, 'Recuento de cables');
  const hers = await processing(ana, id, leaving());
  const his = await opened(leo, id, leaving());
  await button(his, 'Pedir turno').click();
  await text(his, 'Es el siguiente en la fila').waitFor();
  await his.reload();
  await text(his, 'Es el siguiente en la fila').waitFor();
  await his.getByRole('navigation').getByRole('link', { name: 'Tareas' }).click();
  const row = his.getByRole('row', { name: /Recuento de cables/ });
  await row.getByText('su puesto: 1').waitFor();
  const turns = his.locator('#turns');
  await turns.getByText('Está en la fila: puesto 1').waitFor();
  await screenshots(his, 'tasks-waiting', ['light', 'phone']);
  await button(hers, 'Liberar tarea').click();
  await turns.getByText(/¡Es su turno! Reservada para usted · 0:\d\d/).waitFor();
  await row.getByText(/¡Es su turno!/).waitFor();
  await until('it is told by the title', () => his.title(), (title) => /^¡Su turno! \d:\d\d · Recuento de cables/.test(title));
  await screenshots(his, 'tasks-offered', ['light', 'dark', 'phone']);
  await assertAccessible(his);
  await his.getByRole('navigation').getByRole('link', { name: 'Resumen' }).click();
  await turns.getByText(/¡Es su turno!/).waitFor();
  await turns.getByRole('link', { name: 'Recuento de cables' }).click();
  await button(his, 'Procesar').click();
  await button(his, 'Liberar tarea').waitFor();
  assert.doesNotMatch(await his.title(), /turno!/);
  await his.goto(`${server.url}/`);
  await his.locator('#pulse[data-state="live"]').waitFor();
  assert.equal(await turns.isVisible(), false, 'what was taken is not waited for');
});
