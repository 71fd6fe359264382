// Every state of process mode, as people see it. Each leaves a picture under target/screenshots.
// Names begin with the seed and its acceptance criterion that they show, where there is one.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { CALM, Server, openBrowser, until } from './harness.mjs';
import { assertAccessible, overflowsSideways, screenshots } from './a11y.mjs';
import { readyTask, signedIn } from './console.mjs';

const LINES = [
  { kind: 'quantity', sku: 'tornillo-m4', quantity: 30 },
  { kind: 'serialized', sku: 'notebook-14', serials: ['NB-001', 'NB-002'] },
];

let server, browser, ana, leo, vera;
before(async () => {
  // Long enough for anything that is done here; only the connection that is cut shall be noticed soon.
  [server, browser] = await Promise.all([Server.start({ leases: { task: { ...CALM, offer_ms: 60_000 } } }), openBrowser()]);
  ana = await server.person('ana', 'editor', 'Ana');
  leo = await server.person('leo', 'editor', 'Leo');
  vera = await server.person('vera', 'viewer', 'Vera');
});
after(() => Promise.all([browser?.close(), server?.stop()]));

/** What is seen: not what is only read aloud, nor what waits to be shown. */
const text = (page, what, options) => page.getByRole('main').getByText(what, options).filter({ visible: true }).first();
const button = (page, name) => page.getByRole('button', { name, exact: true });
const quantity = (page) => page.getByLabel('Cantidad de la línea 1, tornillo-m4');
const lock = (page) => page.getByRole('region', { name: 'Bloqueo' });

async function seen(page, name, looks) {
  await screenshots(page, `process-${name}`, looks);
  await assertAccessible(page);
  await page.setViewportSize({ width: 390, height: 844 });
  assert.equal(await overflowsSideways(page), false, 'it fits a phone');
  await page.setViewportSize({ width: 1180, height: 820 });
}

async function opened(person, id, options) {
  const page = await signedIn(browser, server, person, options);
  await page.goto(`${server.url}/tasks/${id}`);
  return page;
}

async function processing(person, id) {
  const page = await opened(person, id);
  await button(page, 'Procesar').click();
  await button(page, 'Dejar la tarea').waitFor();
  return page;
}

const isReadOnly = (field) => field.evaluate((element) => element.readOnly);

test('seed_001 ac1 free: "Procesar" takes the lock before anything can be edited', async () => {
  const id = await readyTask(ana, LINES);
  const page = await opened(ana, id);
  await button(page, 'Procesar').waitFor();
  await lock(page).getByText('Libre').waitFor();
  assert.equal(await isReadOnly(quantity(page)), true);
  assert.equal(await page.getByRole('button', { name: 'Validar' }).count(), 0);
  await seen(page, 'free');
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
  await seen(page, 'held');
});

test('seed_001 ac1 ac2 ac8 somebody else has it: read-only, with who and since when, and what one can do', async () => {
  const id = await readyTask(ana, LINES);
  await processing(ana, id);
  for (const [person, name] of [[leo, 'other'], [vera, 'other-viewer'], [server.admin, 'other-admin']]) {
    const page = await opened(person, id);
    await text(page, /Bloqueada por Ana desde \d/).waitFor();
    assert.equal(await page.getByRole('button', { name: /^(Procesar|Validar|Finalizar|Guardar)/ }).count(), 0, name);
    if (person !== vera) assert.equal(await isReadOnly(quantity(page)), true);
    assert.equal(await button(page, 'Pedir turno').isVisible(), person !== vera);
    assert.equal(await button(page, 'Tomar el lock').isVisible(), person === server.admin);
    await seen(page, name, ['light', 'phone']);
  }
});

test('seed_001 ac2 the list says who has which task, and stays true without a reload', async () => {
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

test('seed_001 ac3 while somebody works the lock renews itself, and a tab that nobody sees renews nothing', async () => {
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
  // A beat may have been on its way; after two looks that take longer than two intervals there is no other.
  await until('silence', async () => {
    const before = beats.length;
    await Promise.all([ana.call('GET', '/v1/tasks'), page.waitForFunction((end) => performance.now() > end, (await page.evaluate(() => performance.now())) + 600)]);
    return beats.length - before;
  }, (more) => more === 0);
});

test('asked for by another: the holder sees who asks and what they say, and can let go', async () => {
  const id = await readyTask(ana, LINES);
  const hers = await processing(ana, id);
  const his = await opened(leo, id);
  await quantity(hers).press('End');
  await quantity(hers).pressSequentially('5');
  await button(his, 'Solicitar liberación').click();
  await his.getByLabel('Mensaje (opcional)').fill('La necesito para el cierre');
  await seen(his, 'asking', ['light', 'phone']);
  await button(his, 'Solicitar').click();
  await text(his, /Pidió a las \d\d:\d\d que la libere; a Ana se le avisó\./).waitFor();
  await text(hers, /Leo pide que la libere \(a las \d\d:\d\d\)\./).waitFor();
  await text(hers, 'La necesito para el cierre').waitFor();
  const typing = () => quantity(hers).evaluate((field) => [field.value, field === document.activeElement]);
  assert.deepEqual(await typing(), ['305', true], 'who types is not disturbed');
  await server.admin.call('POST', `/v1/tasks/${id}/request-release`, {});
  await text(hers, /Eva pide que la libere/).waitFor();
  assert.equal(await text(hers, /Leo pide que la libere/).isVisible(), true, 'all who ask are shown');
  await seen(hers, 'requested');
  await button(hers, 'Ahora no').click();
  await text(hers, /pide que la libere/).waitFor({ state: 'hidden' });
  await text(his, /Ana contestó a las \d\d:\d\d: ahora no\./).waitFor();
  await seen(his, 'declined', ['light', 'phone']);
  await button(his, 'Solicitar liberación').click();
  await button(his, 'Solicitar').click();
  await text(hers, /Leo pide que la libere/).waitFor();
  await button(hers, 'Liberar').click();
  await button(hers, 'Procesar').waitFor();
  await button(his, 'Procesar').waitFor();
});

test('the waiting line: a place, an offer, and the others who see to whom', async () => {
  const id = await readyTask(ana, LINES);
  const hers = await processing(ana, id);
  const his = await opened(leo, id);
  await button(his, 'Pedir turno').click();
  await text(his, 'Es el siguiente en la fila').waitFor();
  const evas = await opened(server.admin, id);
  await button(evas, 'Pedir turno').click();
  await text(evas, 'Está en la fila: puesto 2').waitFor();
  await seen(evas, 'waiting', ['light', 'phone']);
  await button(evas, 'Dejar la fila').click();
  await button(hers, 'Dejar la tarea').click();
  await text(his, '¡Es su turno!').waitFor();
  await seen(his, 'offered');
  await text(evas, 'Ofrecida a Leo').waitFor();
  await seen(evas, 'reserved', ['light', 'phone']);
  assert.equal(await button(hers, 'Procesar').isVisible(), false, 'it is not hers to take');
  await button(his, 'Procesar').click();
  await button(his, 'Dejar la tarea').waitFor();
});

test('seed_000 override, seed_001 ac6 lost to an admin: read-only at once, with the reason, and what was typed stays until it is saved', async () => {
  const id = await readyTask(ana, LINES);
  const [hers, evas] = [await processing(ana, id), await opened(server.admin, id)];
  await quantity(hers).fill('44');
  await button(evas, 'Tomar el lock').click();
  const dialog = evas.getByRole('dialog', { name: '¿Tomar el lock de esta tarea?' });
  await button(dialog, 'Tomar el lock').click();
  assert.equal(await dialog.getByLabel('Motivo').evaluate((field) => field.validity.valueMissing), true, 'a reason is needed');
  await dialog.getByLabel('Motivo').fill('Ana salió temprano');
  await seen(evas, 'override', ['light', 'phone']);
  await button(dialog, 'Tomar el lock').click();
  await button(evas, 'Dejar la tarea').waitFor();
  await hers.getByRole('heading', { name: 'Lock perdido' }).waitFor();
  await text(hers, /Eva intervino: Ana salió temprano/).waitFor();
  assert.equal(await isReadOnly(quantity(hers)), true);
  assert.equal(await quantity(hers).inputValue(), '44');
  await text(hers, 'Lo que escribió sigue abajo, sin guardar.').waitFor();
  await seen(hers, 'lost');
  await button(hers, 'Reintentar claim').click();
  await text(hers, /Bloqueada por Eva desde/).waitFor();
  await quantity(evas).fill('50');
  await quantity(evas).press('Enter');
  await text(evas, 'Guardado', { exact: true }).waitFor();
  await button(evas, 'Dejar la tarea').click();
  await button(evas, 'Procesar').waitFor();
  await button(hers, 'Procesar').click();
  await button(hers, 'Dejar la tarea').waitFor();
  await text(hers, 'Mientras tanto otra persona guardó: 50').waitFor();
  assert.equal(await quantity(hers).inputValue(), '44');
  await seen(hers, 'conflict', ['light', 'phone']);
  await button(hers, 'Finalizar (2 líneas)').click();
  await text(hers, 'No se pudo guardar todo', { exact: false }).waitFor();
  assert.equal((await ana.call('GET', `/v1/tasks/${id}`)).body.lines[0].quantity, 50, 'nobody is overwritten unasked');
  await button(hers, 'Guardar').click();
  await text(hers, 'Guardado', { exact: true }).waitFor();
  assert.equal((await ana.call('GET', `/v1/tasks/${id}`)).body.lines[0].quantity, 44);
});

test('the connection is cut: what is uncertain is shown as uncertain, and comes back by itself', async () => {
  const id = await readyTask(ana, LINES);
  const page = await processing(ana, id);
  await page.context().setOffline(true);
  await text(page, /Sin respuesta del servidor desde las \d\d:\d\d\. Su bloqueo vale hasta las \d\d:\d\d/).waitFor();
  assert.equal(await text(page, 'Se renueva sola').count(), 0);
  await page.getByText(/Sin conexión desde/).waitFor();
  await quantity(page).fill('33');
  await quantity(page).press('Tab');
  await text(page, /Sin guardar: no hubo respuesta/).waitFor();
  await seen(page, 'offline', ['light', 'phone']);
  await page.context().setOffline(false);
  await text(page, 'Guardado', { exact: true }).waitFor();
  await text(page, 'Se renueva sola mientras usted trabaje.').waitFor();
  assert.equal((await ana.call('GET', `/v1/tasks/${id}`)).body.lines[0].quantity, 33);
});

test('what she saved herself in another window is called her own', async () => {
  const id = await readyTask(ana, LINES);
  const page = await processing(ana, id);
  await quantity(page).fill('21');
  const { fence } = await ana.lease(`task:${id}`);
  const { status } = await ana.call('PATCH', `/v1/tasks/${id}/lines/1`, { fence, quantity: 22 });
  assert.equal(status, 200);
  await text(page, 'Sin guardar. Mientras tanto usted guardó en otra ventana: 22').waitFor();
  assert.equal(await quantity(page).inputValue(), '21');
});

test('what kept it from being finalized is not said any more once everything is saved', async () => {
  const page = await processing(ana, await readyTask(ana, LINES));
  const stuck = text(page, 'No se pudo guardar todo', { exact: false });
  await quantity(page).fill('0');
  await quantity(page).press('Tab');
  await text(page, /La cantidad es un número entero/).waitFor();
  await button(page, 'Finalizar (2 líneas)').click();
  await stuck.waitFor();
  await quantity(page).fill('12');
  assert.equal(await stuck.isVisible(), true, 'typed is not saved');
  await quantity(page).press('Tab');
  await text(page, 'Guardado', { exact: true }).waitFor();
  await stuck.waitFor({ state: 'hidden' });
});

test('left while nobody answers: it is left as soon as somebody does, and no other window is made up', async () => {
  const id = await readyTask(ana, LINES);
  const page = await processing(ana, id);
  await page.evaluate(() => {
    globalThis.states = [];
    const process = document.getElementById('process');
    new MutationObserver(() => states.push(process.dataset.state)).observe(process, { attributeFilter: ['data-state'] });
  });
  await page.context().setOffline(true);
  await button(page, 'Dejar la tarea').click();
  await text(page, 'la tarea se deja en cuanto conteste', { exact: false }).waitFor();
  assert.equal((await ana.lease(`task:${id}`)).state, 'locked', 'nobody has heard of it');
  await page.context().setOffline(false);
  await button(page, 'Procesar').waitFor();
  assert.equal((await ana.lease(`task:${id}`)).state, 'free');
  assert.equal((await page.evaluate(() => states)).includes('elsewhere'), false);
  await text(page, 'la tarea se deja', { exact: false }).waitFor({ state: 'hidden' });
});

test('one person in two windows: the second says so, and can go on', async () => {
  const id = await readyTask(ana, LINES);
  const first = await processing(ana, id);
  const second = await first.context().newPage();
  await second.goto(`${server.url}/tasks/${id}`);
  await text(second, /La procesa usted en otra ventana desde/).waitFor();
  assert.equal(await isReadOnly(quantity(second)), true);
  await seen(second, 'elsewhere', ['light', 'phone']);
  await button(second, 'Continuar aquí').click();
  await button(second, 'Dejar la tarea').waitFor();
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
  await seen(page, 'finalized');
  await page.getByRole('link', { name: 'Siguiente: Recuento de pasillo' }).click();
  await page.waitForURL(new RegExp(`/tasks/${next}$`));
  await button(page, 'Procesar').waitFor();
});

test('seed_000 line by line, seed_001 ac7 partially finalized: line by line, what was applied and why the other was not; then mended', async () => {
  const wrong = { kind: 'quantity', movement: 'out', sku: 'cable-usb-c', quantity: 5 };
  const id = await readyTask(ana, [LINES[0], wrong]);
  const page = await processing(ana, id);
  await button(page, 'Validar la línea 2').click();
  await text(page, /se piden 5 y hay 0/).waitFor();
  await button(page, 'Finalizar (2 líneas)').click();
  await page.getByRole('heading', { name: 'Finalizada en parte' }).waitFor();
  await text(page, /Se aplicó 1 línea y falta 1/).waitFor();
  await text(page, 'Falló', { exact: true }).waitFor();
  assert.equal(await text(page, 'Lock perdido').isVisible(), false, 'that its lock is gone is no loss');
  await seen(page, 'partial');
  const supply = await readyTask(leo, [{ ...wrong, movement: 'in', quantity: 9 }]);
  const { fence } = (await leo.call('POST', `/v1/tasks/${supply}/claim`, {})).body;
  await leo.call('POST', `/v1/tasks/${supply}/finalize`, { fence });
  await button(page, 'Procesar').click();
  await button(page, 'Finalizar (1 línea)').click();
  await text(page, 'Sus 2 líneas están aplicadas.').waitFor();
  await until('stock moved once', () => ana.call('GET', '/v1/stock/cable-usb-c'), ({ body }) => body.quantity === 4);
});
