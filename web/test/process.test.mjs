// Every state of process mode as people see it, with pictures in target/screenshots. A name begins with the seed and the
// acceptance criterion that the test shows, if there is one.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CALM, until } from './harness.mjs';
import { screenshots } from './a11y.mjs';
import { readyTask, signedIn, unsavable } from './console.mjs';
import { ana, browser, button, leo, office, opened, processing, quantity, seen, server, text, vera } from './office.mjs';

const LINES = [
  { kind: 'quantity', sku: 'tornillo-m4', quantity: 30 },
  { kind: 'serialized', sku: 'notebook-14', serials: ['NB-001', 'NB-002'] },
];

// Long offers and a long ttl, because only the test of the lost connection is about time.
office({ ...CALM, offer_ms: 60_000 });

const lock = (page) => page.getByRole('region', { name: 'Bloqueo' });

const pictured = (page, name, looks) => seen(page, `process-${name}`, looks);
const isReadOnly = (field) => field.evaluate((element) => element.readOnly);

test('seed_001 ac1 free: "Procesar" takes the lock before anything can be edited', async () => {
  const id = await readyTask(ana, LINES);
  const page = await opened(ana, id);
  await button(page, 'Procesar').waitFor();
  await lock(page).getByText('Libre').waitFor();
  assert.equal(await isReadOnly(quantity(page)), true);
  assert.equal(await page.getByRole('button', { name: 'Validar' }).count(), 0);
  await pictured(page, 'free');
  await button(page, 'Procesar').click();
  await lock(page).getByText('La procesa usted desde').waitFor();
  assert.equal(await isReadOnly(quantity(page)), false);
  assert.equal((await ana.lease(`task:${id}`)).holder.id, 'ana');
  await quantity(page).fill('31');
  await quantity(page).press('Tab');
  await text(page, 'Guardado', { exact: true }).waitFor();
  await button(page, 'Validar la línea 1').click();
  await text(page, 'Validada', { exact: true }).waitFor();
  assert.equal((await ana.call('GET', `/v1/tasks/${id}`)).body.lines[0].quantity, 31);
  await pictured(page, 'held');
});

test('typing over a quantity replaces it, after the keyboard and after the pointer, and the page shows the value before', async () => {
  const id = await readyTask(ana, LINES);
  const page = await opened(ana, id);
  const kept = async () => (await ana.call('GET', `/v1/tasks/${id}`)).body.lines[0].quantity;
  await button(page, 'Procesar').focus();
  await page.keyboard.press('Enter');
  await until('the focus on the quantity', () => quantity(page).evaluate((field) => field === document.activeElement), Boolean);
  await page.keyboard.type('9');
  await text(page, 'Antes: 30', { exact: true }).waitFor();
  await page.keyboard.press('Tab');
  await until('the first value', kept, (value) => value === 9);
  await quantity(page).click();
  await page.keyboard.type('12');
  await page.keyboard.press('Tab');
  await until('the second value', kept, (value) => value === 12);
  await text(page, 'Antes: 30', { exact: true }).waitFor();
  await pictured(page, 'before');
  // A second click sets the caret, so that one digit can be added.
  await quantity(page).click();
  await quantity(page).click();
  await page.keyboard.press('End');
  await page.keyboard.type('5');
  await page.keyboard.press('Tab');
  await until('the third value', kept, (value) => value === 125);
});

test('seed_001 ac1 ac2 ac8 locked by another person: read-only, with the holder, the time and the possible actions', async () => {
  const id = await readyTask(ana, LINES);
  await processing(ana, id);
  for (const [person, name] of [[leo, 'other'], [vera, 'other-viewer'], [server.admin, 'other-admin']]) {
    const page = await opened(person, id);
    await text(page, /Bloqueada por Ana desde \d/).waitFor();
    assert.equal(await page.getByRole('button', { name: /^(Procesar|Validar|Finalizar|Guardar)/ }).count(), 0, name);
    if (person !== vera) assert.equal(await isReadOnly(quantity(page)), true);
    assert.equal(await button(page, 'Pedir turno').isVisible(), person !== vera);
    assert.equal(await button(page, 'Tomar el lock').isVisible(), person === server.admin);
    await pictured(page, name, ['light', 'phone']);
  }
});

test('seed_001 ac2 the list shows the holder of each task and updates without a reload', async () => {
  const id = await readyTask(ana, LINES, 'Una tarea en la lista');
  const page = await signedIn(browser, server, vera);
  await page.goto(`${server.url}/tasks`);
  const row = page.getByRole('row', { name: /Una tarea en la lista/ });
  await row.getByText('Libre').waitFor();
  const hers = await processing(ana, id);
  await row.getByText(/Bloqueada por Ana desde \d/).waitFor();
  await hers.close();
  await row.getByText('Libre').waitFor();
});

test('seed_001 ac3 the lock is renewed while the person works, and a hidden tab renews nothing', async () => {
  const id = await readyTask(ana, LINES);
  const page = await processing(ana, id);
  const beats = [];
  page.on('request', (request) => request.url().endsWith(`/v1/tasks/${id}/heartbeat`) && beats.push(request.postDataJSON()));
  const { expires_at: first, locked_at: since } = await ana.lease(`task:${id}`);
  await until('beats', () => beats.length, (count) => count >= 3);
  const later = await until('a renewal', () => ana.lease(`task:${id}`), ({ expires_at }) => expires_at > first);
  assert.deepEqual([later.locked_at, later.holder.id], [since, 'ana']);
  assert.ok(beats.every(({ fence, idle_ms }) => fence === later.fence && idle_ms >= 0));
  await page.evaluate(() => {
    Object.defineProperty(document, 'visibilityState', { configurable: true, get: () => 'hidden' });
    Object.defineProperty(document, 'hidden', { configurable: true, get: () => true });
    document.dispatchEvent(new Event('visibilitychange'));
  });
  // A heartbeat may have been under way. After two reads that take longer than two intervals there is no other.
  await until('silence', async () => {
    const before = beats.length;
    await Promise.all([ana.call('GET', '/v1/tasks'), page.waitForFunction((end) => performance.now() > end, (await page.evaluate(() => performance.now())) + 600)]);
    return beats.length - before;
  }, (more) => more === 0);
});

test('the holder sees how many people wait, hears it once, and keeps typing', async () => {
  const id = await readyTask(ana, LINES);
  const hers = await processing(ana, id);
  await quantity(hers).press('End');
  const turn = (person, method) => person.call(method, `/v1/tasks/${id}/turn`, {});
  const spoken = hers.locator('body > .visually-hidden[role="status"]');
  await turn(leo, 'POST');
  await text(hers, '1 persona espera su turno').waitFor();
  assert.equal(await spoken.textContent(), '1 persona espera su turno');
  await turn(server.admin, 'POST');
  await text(hers, '2 personas esperan su turno').waitFor();
  assert.equal(await spoken.textContent(), '1 persona espera su turno', 'not with every newcomer');
  assert.equal(await quantity(hers).evaluate((field) => field === document.activeElement), true);
  await pictured(hers, 'waited-for', ['light', 'phone']);
  for (const person of [leo, server.admin]) await turn(person, 'DELETE');
  await text(hers, /espera.? su turno/).waitFor({ state: 'hidden' });
});

test('a release request shows the holder the name and the message, and the holder can release', async () => {
  const id = await readyTask(ana, LINES);
  const hers = await processing(ana, id);
  const his = await opened(leo, id);
  await quantity(hers).press('End');
  await quantity(hers).pressSequentially('5');
  await button(his, 'Solicitar liberación').click();
  await his.getByLabel('Mensaje (opcional)').fill('La necesito para el cierre');
  await pictured(his, 'asking', ['light', 'phone']);
  await button(his, 'Enviar solicitud').click();
  await text(his, /Solicitó la liberación a Ana a las \d\d:\d\d\./).waitFor();
  await text(hers, /Leo solicita la liberación \(\d\d:\d\d\)\./).waitFor();
  await text(hers, 'La necesito para el cierre').waitFor();
  const typing = () => quantity(hers).evaluate((field) => [field.value, field === document.activeElement]);
  assert.deepEqual(await typing(), ['305', true], 'who types is not disturbed');
  await server.admin.call('POST', `/v1/tasks/${id}/request-release`, {});
  await text(hers, /Eva solicita la liberación/).waitFor();
  assert.equal(await text(hers, /Leo solicita la liberación/).isVisible(), true, 'all who ask are shown');
  await pictured(hers, 'requested');
  await button(hers, 'Ahora no').click();
  await text(hers, /solicita la liberación/).waitFor({ state: 'hidden' });
  await text(his, /Ana respondió a las \d\d:\d\d: ahora no\./).waitFor();
  await pictured(his, 'declined', ['light', 'phone']);
  await button(his, 'Solicitar liberación').click();
  await button(his, 'Enviar solicitud').click();
  await text(hers, /Leo solicita la liberación/).waitFor();
  await button(hers, 'Liberar').click();
  await button(hers, 'Procesar').waitFor();
  await button(his, 'Procesar').waitFor();
});

test('the waiting line: a place, an offer, and the name of the next person for the others', async () => {
  const id = await readyTask(ana, LINES);
  const hers = await processing(ana, id);
  const his = await opened(leo, id);
  await button(his, 'Pedir turno').click();
  await text(his, 'Es el siguiente en la fila').waitFor();
  const evas = await opened(server.admin, id);
  await button(evas, 'Pedir turno').click();
  await text(evas, 'Está en la fila: puesto 2').waitFor();
  await pictured(evas, 'waiting', ['light', 'phone']);
  await button(evas, 'Dejar la fila').click();
  await button(hers, 'Liberar tarea').click();
  await text(his, '¡Es su turno!').waitFor();
  await pictured(his, 'offered');
  await text(evas, 'Reservada para Leo').waitFor();
  await pictured(evas, 'reserved', ['light', 'phone']);
  assert.equal(await button(hers, 'Procesar').isVisible(), false, 'it is not hers to take');
  await button(his, 'Procesar').click();
  await button(his, 'Liberar tarea').waitFor();
});

test('seed_000 override, seed_001 ac6 lost to an admin: read-only at once, with the reason, and typed text stays until it is saved', async () => {
  const id = await readyTask(ana, LINES);
  const [hers, evas] = [await processing(ana, id), await opened(server.admin, id)];
  const savable = await unsavable(hers);
  await quantity(hers).fill('44');
  await button(evas, 'Tomar el lock').click();
  const dialog = evas.getByRole('dialog', { name: '¿Tomar el bloqueo de Ana?' });
  await button(dialog, 'Tomar el lock').click();
  assert.equal(await dialog.getByLabel('Motivo').evaluate((field) => field.validity.valueMissing), true, 'a reason is needed');
  await dialog.getByLabel('Motivo').fill('Ana salió temprano');
  await pictured(evas, 'override', ['light', 'phone']);
  await button(dialog, 'Tomar el lock').click();
  await button(evas, 'Liberar tarea').waitFor();
  await hers.getByRole('heading', { name: 'Lock perdido' }).waitFor();
  await text(hers, /Eva tomó o liberó la tarea\. Motivo: Ana salió temprano/).waitFor();
  assert.equal(await isReadOnly(quantity(hers)), true);
  assert.equal(await quantity(hers).inputValue(), '44');
  await text(hers, 'Su texto sin guardar está abajo.').waitFor();
  await pictured(hers, 'lost');
  await button(hers, 'Reintentar claim').click();
  await text(hers, /Bloqueada por Eva desde/).waitFor();
  await quantity(evas).fill('50');
  await quantity(evas).press('Enter');
  await text(evas, 'Guardado', { exact: true }).waitFor();
  await button(evas, 'Liberar tarea').click();
  await button(evas, 'Procesar').waitFor();
  await button(hers, 'Procesar').click();
  await button(hers, 'Liberar tarea').waitFor();
  await text(hers, 'Mientras tanto Eva guardó: 50').waitFor();
  assert.equal(await quantity(hers).inputValue(), '44');
  await pictured(hers, 'conflict', ['light', 'phone']);
  await button(hers, 'Finalizar (2 líneas)').click();
  await text(hers, /Todavía no se puede finalizar\. Línea 1: Sin guardar\. Mientras tanto Eva guardó: 50/).waitFor();
  await savable();
  assert.equal((await ana.call('GET', `/v1/tasks/${id}`)).body.lines[0].quantity, 50, 'nobody is overwritten unasked');
  await button(hers, 'Guardar').click();
  await text(hers, 'Guardado', { exact: true }).waitFor();
  assert.equal((await ana.call('GET', `/v1/tasks/${id}`)).body.lines[0].quantity, 44);
});

test('a lost connection shows the state as unknown, and the page recovers by itself', async () => {
  const id = await readyTask(ana, LINES);
  const page = await processing(ana, id);
  await page.context().setOffline(true);
  await text(page, /Sin conexión desde \d\d:\d\d:\d\d · bloqueo válido hasta \d\d:\d\d:\d\d/).waitFor();
  assert.equal(await text(page, 'Se renueva sola').count(), 0);
  await page.getByText(/Sin conexión desde \d\d:\d\d\. Actualizado/).waitFor();
  await quantity(page).fill('33');
  await quantity(page).press('Tab');
  await text(page, /Sin guardar: sin respuesta/).waitFor();
  await pictured(page, 'offline', ['light', 'phone']);
  await page.context().setOffline(false);
  await text(page, 'Guardado', { exact: true }).waitFor();
  await text(page, 'Bloqueo activo').waitFor();
  assert.equal((await ana.call('GET', `/v1/tasks/${id}`)).body.lines[0].quantity, 33);
});

test('a conflict with her own save in another window names her as the author', async () => {
  const id = await readyTask(ana, LINES);
  const page = await processing(ana, id);
  await unsavable(page);
  await quantity(page).fill('21');
  const { fence } = await ana.lease(`task:${id}`);
  const { status } = await ana.call('PATCH', `/v1/tasks/${id}/lines/1`, { fence, quantity: 22 });
  assert.equal(status, 200);
  await text(page, 'Sin guardar. Mientras tanto usted guardó en otra ventana: 22').waitFor();
  assert.equal(await quantity(page).inputValue(), '21');
});

test('a late save of one window does not overwrite a newer save of the other window', async () => {
  const id = await readyTask(ana, LINES);
  const [first, second] = [await processing(ana, id), await opened(ana, id)];
  let deliver;
  const sent = new Promise((resolve) => first.route(/\/lines\/1$/, (route) => resolve((deliver = () => route.continue()))));
  await quantity(first).fill('41');
  await sent;
  await button(second, 'Continuar aquí').click();
  await button(second, 'Liberar tarea').waitFor();
  await quantity(second).fill('52');
  await quantity(second).press('Tab');
  await text(second, 'Guardado', { exact: true }).waitFor();
  const answered = first.waitForResponse(/\/lines\/1$/);
  await deliver();
  assert.equal((await answered).status(), 409);
  assert.equal((await ana.call('GET', `/v1/tasks/${id}`)).body.lines[0].quantity, 52);
  assert.equal(await quantity(first).inputValue(), '41', 'and what was typed there is still to be seen');
});

test('a conflict with her own save under a newer lock names her as the author', async () => {
  const id = await readyTask(ana, LINES);
  const page = await processing(ana, id);
  await unsavable(page);
  await quantity(page).fill('21');
  await server.admin.call('POST', `/v1/tasks/${id}/force-release`, { reason: 'cierre' });
  await page.getByRole('heading', { name: 'Lock perdido' }).waitFor();
  const { fence } = (await ana.call('POST', `/v1/tasks/${id}/claim`, {})).body;
  await ana.call('PATCH', `/v1/tasks/${id}/lines/1`, { fence, quantity: 22 });
  await text(page, 'Sin guardar. Mientras tanto usted guardó en otra ventana: 22').waitFor();
});

test('"Finalizar" with an invalid field names the line and the reason and moves the focus there', async () => {
  const id = await readyTask(ana, LINES);
  const page = await processing(ana, id);
  for (const [wrong, press] of [['', (page) => button(page, 'Finalizar (2 líneas)').click()], ['0', (page) => page.keyboard.press('Control+Enter')]]) {
    await quantity(page).fill(wrong);
    await press(page);
    await page.getByRole('alert').getByText(/Todavía no se puede finalizar\. Línea 1: La cantidad es un número entero/).waitFor();
    await page.waitForFunction(() => document.activeElement?.id === 'amount-1');
    assert.equal(await quantity(page).getAttribute('aria-invalid'), 'true');
    await text(page, /^La cantidad es un número entero/).waitFor();
    if (!wrong) await pictured(page, 'stuck');
    await quantity(page).fill('30');
    await page.getByRole('alert').getByText(/Todavía no/).waitFor({ state: 'hidden' });
  }
  assert.equal((await ana.call('GET', `/v1/tasks/${id}`)).body.status, 'processing', 'nothing was finalized');
});

test('the error of a blocked finalize disappears once everything is saved', async () => {
  const page = await processing(ana, await readyTask(ana, LINES));
  const stuck = text(page, 'Todavía no se puede finalizar', { exact: false });
  await quantity(page).fill('0');
  await quantity(page).press('Tab');
  await text(page, /La cantidad es un número entero/).waitFor();
  await button(page, 'Finalizar (2 líneas)').click();
  await stuck.waitFor();
  const savable = await unsavable(page);
  await quantity(page).fill('12');
  await text(page, /Sin guardar: sin respuesta/).waitFor();
  assert.equal(await stuck.isVisible(), true, 'typed is not saved');
  await savable();
  await text(page, 'Guardado', { exact: true }).waitFor();
  await stuck.waitFor({ state: 'hidden' });
});

test('a release without an answer is sent again, and the page does not report another window meanwhile', async () => {
  const id = await readyTask(ana, LINES);
  const page = await processing(ana, id);
  await page.evaluate(() => {
    globalThis.states = [];
    const process = document.getElementById('process');
    new MutationObserver(() => states.push(process.dataset.state)).observe(process, { attributeFilter: ['data-state'] });
  });
  await page.context().setOffline(true);
  await button(page, 'Liberar tarea').click();
  await text(page, 'La tarea se libera cuando el servidor responda', { exact: false }).waitFor();
  assert.equal((await ana.lease(`task:${id}`)).state, 'locked', 'nobody has heard of it');
  await page.context().setOffline(false);
  await button(page, 'Procesar').waitFor();
  assert.equal((await ana.lease(`task:${id}`)).state, 'free');
  assert.equal((await page.evaluate(() => states)).includes('elsewhere'), false);
  await text(page, 'la tarea se deja', { exact: false }).waitFor({ state: 'hidden' });
});

test('one person in two windows: the second shows it and can take over', async () => {
  const id = await readyTask(ana, LINES);
  const first = await processing(ana, id);
  const second = await first.context().newPage();
  await second.goto(`${server.url}/tasks/${id}`);
  await text(second, /La procesa usted en otra ventana desde/).waitFor();
  assert.equal(await isReadOnly(quantity(second)), true);
  await pictured(second, 'elsewhere', ['light', 'phone']);
  await quantity(first).fill('35');
  await button(second, 'Continuar aquí').click();
  await button(second, 'Liberar tarea').waitFor();
  await text(first, /Usted continuó en otra ventana a las \d\d:\d\d/).waitFor();
  assert.deepEqual([await isReadOnly(quantity(first)), await isReadOnly(quantity(second))], [true, false]);
  await first.getByRole('status').getByText(/Usted continuó en otra ventana/).waitFor({ state: 'attached' });
  await pictured(first, 'moved');
  await first.close();
  await until('a beat of the second', () => ana.lease(`task:${id}`), ({ state }) => state === 'locked');
  assert.equal(await isReadOnly(quantity(second)), false, 'what the first one left is not given back');
});

test('one person in two browsers: the first learns at once that the second took over', async () => {
  const id = await readyTask(ana, LINES);
  const first = await processing(ana, id);
  const second = await opened(ana, id);
  await button(second, 'Continuar aquí').click();
  await text(first, /Usted continuó en otro navegador o equipo a las \d\d:\d\d/).waitFor();
  assert.deepEqual([await isReadOnly(quantity(first)), await isReadOnly(quantity(second))], [true, false]);
  await button(first, 'Continuar aquí').click();
  await text(second, /Usted continuó en otro navegador o equipo/).waitFor();
  assert.equal(await isReadOnly(quantity(first)), false);
});

test('seed_001 ac7 finalized: every line applied, the lock free, and nothing left to press', async () => {
  const next = await readyTask(ana, [LINES[0]], 'Recuento de pasillo');
  const id = await readyTask(ana, [LINES[0]]);
  const page = await processing(ana, id);
  await button(page, 'Finalizar (1 línea)').click();
  await page.getByRole('heading', { name: 'Finalizada' }).waitFor();
  await text(page, 'Su única línea está aplicada.').waitFor();
  await text(page, 'Aplicada', { exact: true }).waitFor();
  assert.equal(await lock(page).count(), 0);
  assert.equal(await text(page, 'Lock perdido').count(), 0);
  const { body } = await ana.call('GET', `/v1/tasks/${id}`);
  assert.deepEqual([body.status, body.lock.holder, body.lock.locked_at], ['completed', null, null]);
  await pictured(page, 'finalized');
  // The next task is the oldest free one, which may be of an earlier test.
  const { items } = (await ana.call('GET', '/v1/tasks?limit=200')).body;
  const free = items.filter(({ status, lock }) => ['ready', 'processing'].includes(status) && !lock.holder);
  const oldest = free.map((one) => one.id).sort((one, other) => one - other)[0];
  assert.ok(oldest <= next);
  await page.reload();
  await page.getByRole('link', { name: /^Siguiente: / }).click();
  await page.waitForURL(new RegExp(`/tasks/${oldest}$`));
  await button(page, 'Procesar').waitFor();
});

test('seed_000 line by line, seed_001 ac7 partially finalized: each line shows whether it was applied or why not, and can be corrected', async () => {
  const wrong = { kind: 'quantity', movement: 'out', sku: 'cable-usb-c', quantity: 5 };
  const id = await readyTask(ana, [LINES[0], wrong]);
  const page = await processing(ana, id);
  await button(page, 'Validar la línea 2').click();
  await text(page, /se piden 5 y hay 0/).waitFor();
  await button(page, 'Finalizar (2 líneas)').click();
  await page.getByRole('heading', { name: 'Finalizada en parte' }).waitFor();
  await text(page, /1 línea aplicada, 1 con error/).waitFor();
  await text(page, 'Falló', { exact: true }).waitFor();
  assert.equal(await text(page, 'Lock perdido').isVisible(), false, 'that its lock is gone is no loss');
  await pictured(page, 'partial');
  const supply = await readyTask(leo, [{ ...wrong, movement: 'in', quantity: 9 }]);
  const { fence } = (await leo.call('POST', `/v1/tasks/${supply}/claim`, {})).body;
  await leo.call('POST', `/v1/tasks/${supply}/finalize`, { fence });
  await button(page, 'Procesar').click();
  await button(page, 'Finalizar (1 línea)').waitFor();
  await page.locator('#result').waitFor({ state: 'detached' });
  await text(page, 'En proceso', { exact: true }).waitFor();
  await pictured(page, 'again', ['light', 'phone']);
  const looks = await opened(leo, id);
  await text(looks, /Bloqueada por Ana desde/).waitFor();
  assert.equal(await looks.locator('#result').count(), 0, 'nobody is told to process what is being processed');
  await button(page, 'Finalizar (1 línea)').click();
  await text(page, 'Sus 2 líneas están aplicadas.').waitFor();
  await until('stock moved once', () => ana.call('GET', '/v1/stock/cable-usb-c'), ({ body }) => body.quantity === 4);
});

test('seed_000 override: a decision before the first answer is about the holder that the page shows', async () => {
  const id = await readyTask(ana, LINES);
  const { body: hers } = await ana.call('POST', `/v1/tasks/${id}/claim`, {});
  // The page is loaded, but its reads of the lease get no answer.
  const evas = await opened(server.admin, id, { prepare: (page) => page.route(/\/v1\/leases\/[^/]+$/, () => {}) });
  await button(evas, 'Forzar liberación').click();
  const dialog = evas.getByRole('dialog', { name: '¿Liberar el bloqueo de Ana?' });
  await dialog.getByLabel('Motivo').fill('Ana salió temprano');
  await ana.call('POST', `/v1/tasks/${id}/release`, { fence: hers.fence });
  const { body: his } = await leo.call('POST', `/v1/tasks/${id}/claim`, {});
  await button(dialog, 'Forzar liberación').click();
  await text(evas, 'No se cambió nada: ahora lo tiene Leo.').waitFor();
  assert.equal((await ana.lease(`task:${id}`)).fence, his.fence);
});

test('seed_000 override: a decision about one holder is refused for the next holder and names them', async () => {
  const id = await readyTask(ana, LINES);
  const overrides = [['Forzar liberación', 'Liberar'], ['Tomar el lock', 'Tomar']];
  for (const [name, verb] of overrides) {
    const { body: hers } = await ana.call('POST', `/v1/tasks/${id}/claim`, {});
    const evas = await opened(server.admin, id);
    await button(evas, name).click();
    const dialog = evas.getByRole('dialog', { name: `¿${verb} el bloqueo de Ana?` });
    await dialog.getByLabel('Motivo').fill('Ana salió temprano');
    await ana.call('POST', `/v1/tasks/${id}/release`, { fence: hers.fence });
    const { body: his } = await leo.call('POST', `/v1/tasks/${id}/claim`, {});
    await text(evas, /Bloqueada por Leo desde/).waitFor();
    // The page already knows the new holder, but the open dialog is about the previous one.
    await button(dialog, name).click();
    await text(evas, 'No se cambió nada: ahora lo tiene Leo.').waitFor();
    assert.equal((await ana.lease(`task:${id}`)).fence, his.fence);
    await button(evas, name).click();
    await evas.getByRole('dialog', { name: `¿${verb} el bloqueo de Leo?` }).waitFor();
    await leo.call('POST', `/v1/tasks/${id}/release`, { fence: his.fence });
  }
});
