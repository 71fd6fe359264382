// Leaving, signing out and keyboard use: typed text is saved, the lock is released, and the focus stays.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { until } from './harness.mjs';
import { readyTask, signedIn } from './console.mjs';
import { SLOW, ana, browser, button, leo, office, processing, quantity, server, text } from './office.mjs';

const LINES = [
  { kind: 'quantity', sku: 'tornillo-m4', quantity: 30 },
  { kind: 'quantity', sku: 'tuerca-m4', quantity: 30 },
];

office(SLOW);

const focused = (page) => page.evaluate(() => document.activeElement?.dataset?.do ?? document.activeElement?.tagName);
const free = (id) => until('free', () => ana.lease(`task:${id}`), ({ state }) => state === 'free');

async function begun(options) {
  const id = await readyTask(ana, LINES);
  return { id, page: await processing(ana, id, options) };
}

const stored = async (id) => (await ana.call('GET', `/v1/tasks/${id}`)).body.lines[0].quantity;

test('signing out saves the typed text and releases the task first', async () => {
  const { id, page } = await begun();
  await quantity(page).fill('31');
  await button(page, 'Salir').click();
  await page.waitForURL(/\/sign-in$/);
  await free(id);
  assert.equal(await stored(id), 31);
});

test('a late answer after the sign-out does not open another page', async () => {
  const { page } = await begun();
  // A read that is answered after the session ended and before the browser opened the next page.
  let ended;
  let held = false;
  const over = new Promise((resolve) => (ended = resolve));
  const answered = page.waitForResponse((response) => response.status() === 401);
  await page.route(/\/tasks\/\d+$/, (route) => ((held = true), over.then(() => route.continue())));
  // Another read may be under way, and only one runs at a time.
  await until('a read', async () => {
    await page.evaluate(() => document.dispatchEvent(new CustomEvent('turno:answered')));
    return held;
  });
  await page.route('**/sign-out', async (route) => {
    const response = await route.fetch({ maxRedirects: 0 });
    ended();
    await (await answered).finished();
    await route.fulfill({ response });
  });
  await button(page, 'Salir').click();
  await page.waitForURL(/\/sign-in$/);
});

test('signing out with an invalid field asks once, and a refusal keeps the task', async () => {
  const { id, page } = await begun();
  const asked = [];
  let answer = 'dismiss';
  page.on('dialog', (dialog) => {
    asked.push(dialog.type());
    void dialog[answer]();
  });
  await quantity(page).fill('-4');
  await button(page, 'Salir').click();
  await until('a question', () => asked.length);
  await until('the field', () => page.evaluate(() => document.activeElement?.id), (found) => found === 'amount-1');
  assert.equal((await ana.lease(`task:${id}`)).holder.id, 'ana');
  answer = 'accept';
  await button(page, 'Salir').click();
  await page.waitForURL(/\/sign-in$/);
  assert.deepEqual(asked, ['confirm', 'confirm']);
  await free(id);
});

test('a task is released only after the typed text is saved, and the page shows what it waits for', async () => {
  const { id, page } = await begun({ clock: true });
  const releases = [];
  page.on('request', (request) => request.url().endsWith('/release') && releases.push(request.url()));
  server.child.kill('SIGSTOP');
  await quantity(page).fill('44');
  await button(page, 'Liberar tarea').click();
  // Long enough for several tries, one of which starts when another ends.
  for (let passed = 0; passed < 60; passed += 1) await page.clock.runFor(1_000);
  await text(page, 'La tarea se libera cuando se guarde su texto').waitFor();
  assert.deepEqual(releases, []);
  server.child.kill('SIGCONT');
  await until('free', async () => {
    await page.clock.runFor(1_000);
    return ana.lease(`task:${id}`);
  }, ({ state }) => state === 'free');
  assert.equal(await stored(id), 44);
});

test('the focus stays after validating, taking a place and declining a request, and Ctrl+Enter finalizes', async () => {
  const { id, page } = await begun();
  const his = await signedIn(browser, server, leo);
  await his.goto(`${server.url}/tasks/${id}`);
  await button(his, 'Pedir turno').focus();
  await his.keyboard.press('Enter');
  await button(his, 'Dejar la fila').waitFor();
  await until('the focus', () => focused(his), (found) => found === 'leave-turn');
  await his.keyboard.press('Enter');
  await button(his, 'Pedir turno').waitFor();
  await until('the focus', () => focused(his), (found) => found === 'take-turn');

  await leo.call('POST', `/v1/leases/task:${id}/request-release`, {});
  await button(page, 'Ahora no').waitFor();
  await button(page, 'Ahora no').focus();
  await page.keyboard.press('Enter');
  await button(page, 'Ahora no').waitFor({ state: 'hidden' });
  await until('the focus', () => page.evaluate(() => document.activeElement?.id), (found) => found === 'amount-1');

  await button(page, 'Validar la línea 2').focus();
  await page.keyboard.press('Enter');
  await page.locator('#line-2').getByText('Validada', { exact: true }).waitFor();
  await until('the focus', () => focused(page), (found) => found === 'validate');
  await page.keyboard.press('Control+Enter');
  await page.waitForFunction(() => document.activeElement?.id === 'result');
});

test('a validation without an answer leaves no unsaved text, and a finalize without one is shown as uncertain', async () => {
  const { page } = await begun({ clock: true });
  await page.route(/\/validate$/, (route) => route.abort());
  await button(page, 'Validar la línea 1').click();
  await text(page, 'Sin respuesta: no se sabe si se validó.').waitFor();
  assert.equal(await text(page, /Sin guardar/).count(), 0);
  server.child.kill('SIGSTOP');
  await button(page, 'Finalizar (2 líneas)').click();
  for (let passed = 0; passed < 12; passed += 1) await page.clock.runFor(1_000);
  await text(page, /Se pregunta de nuevo automáticamente/).waitFor();
  assert.equal(await text(page, 'Finalizando línea por línea…').count(), 0);
  server.child.kill('SIGCONT');
  await until('the result', async () => {
    // Gives the server time to answer.
    await ana.call('GET', '/v1/me');
    await page.clock.runFor(1_000);
    return page.getByRole('heading', { name: 'Finalizada' }).isVisible();
  });
});
