// The pages of tasks, used by their visible labels only.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { stopClock, unansweredOf, until } from './harness.mjs';
import { readyTask, signedIn, unsavable } from './console.mjs';
import { ana, browser, button, leo, office, quantity, seen, server, text } from './office.mjs';

office();

test('a task is created, processed, lost, claimed again and finalized by the visible Spanish labels', async () => {
  const [anas, evas] = [await signedIn(browser, server, ana), await signedIn(browser, server, server.admin)];
  await anas.getByRole('link', { name: 'Tareas' }).click();
  await text(anas, 'No hay tareas').waitFor();
  await seen(anas, 'tasks-empty', ['light', 'phone']);
  await anas.getByRole('link', { name: 'Nueva tarea' }).first().click();
  await anas.getByLabel('Título').fill('Alta de notebooks');
  await anas.getByLabel('Artículo').nth(0).fill('notebook-14');
  await anas.getByLabel('Se cuenta').nth(0).selectOption('Por número de serie');
  await anas.getByLabel('Cantidad, o números de serie').nth(0).fill('NB-1, NB-2');
  await anas.getByLabel('Artículo').nth(1).fill('cargador');
  await anas.getByLabel('Cantidad, o números de serie').nth(1).fill('2');
  await button(anas, 'Guardar y marcar lista').click();
  await text(anas, 'La tarea está lista para procesar').waitFor();
  await button(anas, 'Procesar').click();
  await text(anas, 'La procesa usted desde').waitFor();
  await anas.getByLabel('Números de serie de la línea 1, notebook-14').fill('NB-1\nNB-2\nNB-3');
  await button(anas, 'Validar la línea 1').click();
  await text(anas, 'Validada', { exact: true }).waitFor();

  await evas.getByRole('link', { name: 'Tareas' }).click();
  await evas.getByRole('link', { name: 'Alta de notebooks' }).click();
  await text(evas, /Bloqueada por Ana desde/).waitFor();
  const savable = await unsavable(anas);
  await anas.getByLabel('Cantidad de la línea 2, cargador').fill('3');
  await button(evas, 'Forzar liberación').click();
  await evas.getByRole('dialog').getByLabel('Motivo').fill('Hay que cerrar el depósito');
  await evas.getByRole('dialog').getByRole('button', { name: 'Forzar liberación' }).click();

  await anas.getByRole('heading', { name: 'Lock perdido' }).waitFor();
  await text(anas, /Hay que cerrar el depósito/).waitFor();
  await seen(anas, 'process-lost-released', ['light', 'phone']);
  assert.equal(await anas.getByLabel('Cantidad de la línea 2, cargador').inputValue(), '3');
  await savable();
  await button(anas, 'Reintentar claim').click();
  await text(anas, 'La procesa usted desde').waitFor();
  await button(anas, 'Finalizar (2 líneas)').click();
  await anas.getByRole('heading', { name: 'Finalizada' }).waitFor();
  await text(anas, 'Sus 2 líneas están aplicadas.').waitFor();
  // The text from before the loss was saved.
  assert.equal((await ana.call('GET', '/v1/stock/cargador')).body.quantity, 3);
  assert.deepEqual((await ana.call('GET', '/v1/stock/notebook-14')).body.serials, ['NB-1', 'NB-2', 'NB-3']);
  await text(evas, 'Sus 2 líneas están aplicadas.').waitFor();
});

test('a task is processed with the keyboard alone, and the focus is never lost', async () => {
  const id = await readyTask(ana, [{ kind: 'quantity', sku: 'resma-a4', quantity: 10 }]);
  const page = await signedIn(browser, server, ana);
  await page.goto(`${server.url}/tasks/${id}`);
  const focused = () => page.evaluate(() => document.activeElement?.textContent.trim() || document.activeElement?.ariaLabel);
  await button(page, 'Procesar').waitFor();
  for (let steps = 0; (await focused()) !== 'Procesar'; steps += 1) {
    assert.ok(steps < 40, 'it can be reached');
    await page.keyboard.press('Tab');
  }
  await page.keyboard.press('Enter');
  await text(page, 'La procesa usted desde').waitFor();
  await page.waitForFunction(() => document.activeElement?.ariaLabel === 'Cantidad de la línea 1, resma-a4');
  await page.keyboard.press('Control+A');
  await page.keyboard.type('12');
  await page.keyboard.press('Enter');
  await text(page, 'Guardado', { exact: true }).waitFor();
  for (let steps = 0; (await focused()) !== 'Finalizar (1 línea)'; steps += 1) {
    assert.ok(steps < 10, 'it can be reached');
    await page.keyboard.press('Tab');
  }
  await page.keyboard.press('Enter');
  await page.waitForFunction(() => document.activeElement?.id === 'result');
  assert.equal((await ana.call('GET', '/v1/stock/resma-a4')).body.quantity, 12);
});

test('Enter saves a line and moves to the next, and Ctrl+Enter finalizes', async () => {
  const lines = ['resma-a4', 'resma-a3'].map((sku) => ({ kind: 'quantity', sku, quantity: 10 }));
  const id = await readyTask(ana, lines);
  const page = await signedIn(browser, server, ana);
  await page.goto(`${server.url}/tasks/${id}`);
  await button(page, 'Procesar').click();
  await text(page, 'La procesa usted desde').waitFor();
  const saved = (number, quantity) =>
    until('saved', () => ana.call('GET', `/v1/tasks/${id}`), ({ body }) => body.lines[number - 1].quantity === quantity);
  await page.getByLabel('Cantidad de la línea 1, resma-a4').fill('11');
  await page.keyboard.press('Enter');
  await page.waitForFunction(() => document.activeElement?.id === 'amount-2');
  await saved(1, 11);
  await page.keyboard.press('Control+A');
  await page.keyboard.type('12');
  await page.keyboard.press('Control+Enter');
  await page.waitForFunction(() => document.activeElement?.id === 'result');
  await saved(2, 12);
  assert.equal((await ana.call('GET', `/v1/tasks/${id}`)).body.status, 'completed');
});

test('filters are in the address, and a list shows its filter', async () => {
  const free = await readyTask(ana, [{ kind: 'quantity', sku: 'a', quantity: 1 }], 'Una libre');
  const mine = await readyTask(ana, [{ kind: 'quantity', sku: 'a', quantity: 1 }], 'Una mía');
  const his = await readyTask(ana, [{ kind: 'quantity', sku: 'a', quantity: 1 }], 'Una de Leo');
  await ana.call('POST', '/v1/tasks', { title: 'Un borrador', lines: [] });
  const left = await readyTask(ana, [{ kind: 'quantity', sku: 'a', quantity: 1 }], 'Una dejada');
  const { fence } = (await ana.call('POST', `/v1/tasks/${left}/claim`, {})).body;
  await ana.call('POST', `/v1/tasks/${left}/release`, { fence });
  await ana.call('POST', `/v1/tasks/${mine}/claim`, {});
  await leo.call('POST', `/v1/tasks/${his}/claim`, {});
  const page = await signedIn(browser, server, ana);
  await page.goto(`${server.url}/tasks`);
  await seen(page, 'tasks-list');
  const row = (name) => page.getByRole('row', { name });
  await page.getByLabel('Bloqueo').selectOption('Las mías');
  await page.waitForURL(/lock=mine/);
  await row(/Una mía/).waitFor();
  assert.deepEqual([await row(/Una de Leo/).count(), await row(/Una libre/).count()], [0, 0]);
  await page.getByLabel('Bloqueo').selectOption('Bloqueadas');
  await row(/Una de Leo/).waitFor();
  assert.equal(await row(/Una libre/).count(), 0);
  await page.getByLabel('Bloqueo').selectOption('Libres');
  await row(/Una libre/).waitFor();
  await page.getByLabel('Estado').selectOption('En proceso');
  await row(/Una libre/).waitFor({ state: 'detached' });
  await row(/Una dejada/).getByText('En proceso', { exact: true }).waitFor();
  await page.getByLabel('Estado').selectOption('Finalizada en parte');
  await text(page, 'Ninguna tarea coincide con los filtros').waitFor();
  await seen(page, 'tasks-none-match', ['light', 'phone']);
  await page.getByLabel('Estado').selectOption('Borrador');
  await row(/Un borrador/).waitFor();
  assert.equal(await row(/Una libre/).count(), 0);
  await page.goto(page.url());
  await row(/Un borrador/).waitFor();
  assert.equal(await page.getByLabel('Estado').inputValue(), 'draft', 'a link to it shows the same');
  assert.ok(free < mine);
});

test('an expired lock disappears from the list without an event', async () => {
  const id = await readyTask(ana, [{ kind: 'quantity', sku: 'a', quantity: 1 }], 'La que vence');
  const page = await signedIn(browser, server, leo);
  await page.clock.install();
  const unanswered = unansweredOf(page);
  await ana.call('POST', `/v1/tasks/${id}/claim`, { ttl_ms: 12_000 });
  await page.goto(`${server.url}/tasks`);
  const row = page.getByRole('row', { name: /La que vence/ });
  await row.getByText('Bloqueada por Ana').waitFor();
  await stopClock(page);
  await until('its end', () => ana.lease(`task:${id}`), ({ state }) => state === 'free');
  // Shorter than the interval at which the page is read without a reason, in steps without a timeout of requests.
  for (let passed = 0; passed < 13; passed += 1) {
    await page.clock.runFor(1_000);
    await until('answers', () => unanswered.size, (count) => count === 0);
  }
  await row.getByText('Libre').waitFor();
});

test('an invalid draft comes back with everything that was typed', async () => {
  const page = await signedIn(browser, server, ana);
  await page.goto(`${server.url}/tasks/new`);
  await page.getByLabel('Título').fill('<b>Salida</b>');
  await page.getByLabel('Artículo').nth(0).fill('cable');
  await page.getByLabel('Movimiento').nth(0).selectOption('Salida');
  await page.getByLabel('Cantidad, o números de serie').nth(0).fill('muchos');
  await button(page, 'Agregar línea').click();
  await button(page, 'Guardar borrador').click();
  await text(page, 'Línea 1: la cantidad es un número entero de 1 a 1.000.000.000.000').waitFor();
  assert.equal(await page.getByLabel('Artículo').nth(0).inputValue(), 'cable');
  assert.equal(await page.getByLabel('Movimiento').nth(0).inputValue(), 'out');
  const amount = page.getByLabel('Cantidad, o números de serie').nth(0);
  const marked = await amount.evaluate((field) => [field === document.activeElement, field.ariaInvalid]);
  assert.deepEqual(marked, [true, 'true'], 'whoever corrects it is already there');
  await seen(page, 'tasks-draft');
  await page.getByLabel('Cantidad, o números de serie').nth(0).fill('4');
  await button(page, 'Guardar borrador').click();
  await page.getByRole('heading', { name: '<b>Salida</b>' }).waitFor();
  await seen(page, 'tasks-drafted', ['light', 'phone']);
  await page.getByRole('link', { name: 'Editar borrador' }).click();
  await page.getByLabel('Título').fill('Salida de cables');
  await button(page, 'Guardar borrador').click();
  await button(page, 'Marcar lista').click();
  await button(page, 'Procesar').waitFor();
  await button(page, 'Anular tarea').click();
  await page.getByLabel('Motivo (opcional)').fill('Ya no hace falta');
  await page.getByRole('dialog').getByRole('button', { name: 'Anular tarea' }).click();
  await page.getByRole('heading', { name: 'Anulada' }).waitFor();
  await text(page, /la anuló: Ya no hace falta/).waitFor();
});

test('the pages of tasks are in English for an English browser', async () => {
  const id = await readyTask(ana, [{ kind: 'quantity', sku: 'resma-a4', quantity: 10 }], 'Paper');
  const page = await signedIn(browser, server, leo, { locale: 'en-GB' });
  await page.goto(`${server.url}/tasks/${id}`);
  await button(page, 'Process').click();
  await text(page, 'You are processing it since').waitFor();
  await seen(page, 'process-held-english', ['light']);
  await ana.server.admin.call('POST', `/v1/tasks/${id}/force-release`, { reason: 'closing' });
  await page.getByRole('heading', { name: 'Lock lost' }).waitFor();
  await text(page, /Eva took or released the task\. Reason: closing/).waitFor();
});
