// The form of a draft: unsaved text is never lost.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Server, openBrowser, until } from './harness.mjs';
import { assertAccessible } from './a11y.mjs';
import { signedIn } from './console.mjs';

let server, browser, ana;
before(async () => {
  [server, browser] = await Promise.all([Server.start(), openBrowser()]);
  ana = await server.person('ana', 'editor', 'Ana');
});
after(() => Promise.all([browser?.close(), server?.stop()]));

const button = (page, name) => page.getByRole('button', { name, exact: true });
const text = (page, what) => page.getByRole('main').getByText(what).filter({ visible: true }).first();
const title = (page) => page.getByLabel('Título');
const sku = (page, row) => page.getByLabel('Artículo').nth(row);

async function writing(page, path = '/tasks/new') {
  await page.goto(server.url + path);
  await button(page, 'Agregar línea').waitFor();
  await title(page).fill('Alta de sillas');
  for (let row = 0; row < 2; row += 1) await button(page, 'Agregar línea').click();
  await sku(page, 4).fill('silla');
  await page.getByLabel('Movimiento').nth(4).selectOption('Salida');
  await page.getByLabel('Cantidad, o números de serie').nth(4).fill('7');
}

async function restored(page, sentence) {
  await text(page, sentence).waitFor();
  assert.equal(await title(page).inputValue(), 'Alta de sillas');
  assert.equal(await sku(page, 0).inputValue(), 'silla');
  assert.equal(await page.getByLabel('Movimiento').nth(0).inputValue(), 'out');
  assert.equal(await page.getByLabel('Cantidad, o números de serie').nth(0).inputValue(), '7');
}

test('a form with unsaved text asks before it is left, and restores the text until it is discarded', async () => {
  const page = await signedIn(browser, server, ana);
  await page.goto(`${server.url}/tasks/new`);
  const asked = [];
  page.on('dialog', (dialog) => {
    asked.push(dialog.type());
    void dialog.accept();
  });
  await page.getByRole('link', { name: 'Tareas' }).first().click();
  await page.waitForURL(/\/tasks$/);
  assert.deepEqual(asked, [], 'an empty form is left without a word');
  await writing(page);
  await page.getByRole('link', { name: 'Tareas' }).first().click();
  await page.waitForURL(/\/tasks$/);
  assert.deepEqual(asked, ['beforeunload']);
  await page.goto(`${server.url}/tasks/new`);
  await restored(page, 'Se recuperó su texto sin guardar.');
  await assertAccessible(page);
  await button(page, 'Descartar').click();
  assert.equal(await title(page).inputValue(), '');
  await page.goto(`${server.url}/tasks/new`);
  await button(page, 'Agregar línea').waitFor();
  assert.equal(await title(page).inputValue(), '');
  assert.deepEqual(asked, ['beforeunload'], 'what was discarded is no reason to ask');
});

test('signing in again after the session ended restores the typed text, and saving deletes the kept copy', async () => {
  const page = await signedIn(browser, server, ana);
  await writing(page);
  await page.context().clearCookies();
  await button(page, 'Guardar borrador').click();
  await page.getByText('Su sesión terminó y no se guardó nada.').waitFor();
  await page.getByLabel('Usuario', { exact: true }).fill('ana');
  await page.getByLabel('Contraseña', { exact: true }).fill('una clave larga');
  await button(page, 'Entrar').click();
  await page.waitForURL(/\/tasks\/new$/);
  await restored(page, 'Su sesión terminó. Su texto sigue aquí');
  await button(page, 'Guardar borrador').click();
  await text(page, 'El borrador quedó guardado').waitFor();
  await page.goto(`${server.url}/tasks/new`);
  await button(page, 'Agregar línea').waitFor();
  assert.equal(await title(page).inputValue(), '');
});

test('without a server the form stays and shows an error, and the text is saved when the server returns', async () => {
  const page = await signedIn(browser, server, ana);
  const { body } = await ana.call('POST', '/v1/tasks', { title: 'Vieja', lines: [] });
  await writing(page, `/tasks/${body.id}/edit`);
  await server.down();
  await button(page, 'Guardar borrador').click();
  await text(page, /El servidor no responde\. No se guardó nada; su texto queda en este navegador/).waitFor();
  assert.equal(await title(page).inputValue(), 'Alta de sillas');
  await server.up();
  await page.reload();
  await restored(page, 'Se recuperó su texto sin guardar.');
  await button(page, 'Guardar borrador').click();
  await text(page, 'El borrador quedó guardado').waitFor();
  const saved = (await ana.call('GET', `/v1/tasks/${body.id}`)).body;
  assert.deepEqual([saved.title, saved.lines.map((line) => line.sku)], ['Alta de sillas', ['silla']]);
  await page.getByRole('link', { name: 'Editar borrador' }).click();
  await button(page, 'Agregar línea').waitFor();
  assert.equal(await page.locator('#kept').isVisible(), false);
});

test('text for an older version of a draft does not overwrite a newer version without a question', async () => {
  const page = await signedIn(browser, server, ana);
  const { body } = await ana.call('POST', '/v1/tasks', { title: 'Vieja', lines: [] });
  await writing(page, `/tasks/${body.id}/edit`);
  page.on('dialog', (dialog) => void dialog.accept());
  const changed = await server.admin.call('PUT', `/v1/tasks/${body.id}`, { title: 'De Eva', lines: [] });
  assert.equal(changed.status, 200, JSON.stringify(changed.body));
  await page.reload();
  await restored(page, 'Se recuperó su texto sin guardar.');
  await button(page, 'Guardar borrador').click();
  await text(page, /Eva cambió este borrador mientras usted escribía/).waitFor();
  await page.getByRole('link', { name: 'Descartar la mía y cargar la guardada' }).click();
  await until('what Eva saved', () => title(page).inputValue(), (found) => found === 'De Eva');
});

test('the form shows while typing that another person saved the draft or published it', async () => {
  const page = await signedIn(browser, server, ana);
  await page.clock.install();
  const { body } = await ana.call('POST', '/v1/tasks', { title: 'Vieja', lines: [{ kind: 'quantity', sku: 'silla', quantity: 1 }] });
  await writing(page, `/tasks/${body.id}/edit`);
  const told = async (sentence) => {
    await until('a look', async () => {
      // In small steps, so that no request of the page times out.
      await ana.call('GET', '/v1/me');
      await page.clock.runFor(1_000);
      return text(page, sentence).isVisible();
    });
    assert.equal(await title(page).inputValue(), 'Alta de sillas');
  };
  await page.clock.runFor(30_000);
  assert.equal(await page.locator('#newer').isVisible(), false, 'nobody did anything');
  await server.admin.call('PUT', `/v1/tasks/${body.id}`, { title: 'De Eva', lines: [{ kind: 'quantity', sku: 'mesa', quantity: 2 }] });
  await told(/Otra persona guardó este borrador mientras usted escribía/);
  assert.equal((await server.admin.call('POST', `/v1/tasks/${body.id}/ready`)).status, 200);
  await told(/La tarea ya no es un borrador\. Su texto no se puede guardar/);
});

test('two windows with a new task each keep and save their own text', async () => {
  const first = await signedIn(browser, server, ana);
  const second = await first.context().newPage();
  const asked = [];
  for (const page of [first, second]) page.on('dialog', (dialog) => (asked.push(dialog.type()), dialog.accept()));
  await writing(first);
  await second.goto(`${server.url}/tasks/new`);
  await until('its own place', () => second.locator('#draft [name="kept"]').count());
  assert.equal(await title(second).inputValue(), '');
  await title(second).fill('Baja de mesas');
  await first.reload();
  await restored(first, 'Se recuperó su texto sin guardar.');
  await button(second, 'Guardar borrador').click();
  await second.waitForURL(/\/tasks\/\d+$/);
  await first.reload();
  await restored(first, 'Se recuperó su texto sin guardar.');
  // The text of a closed window goes to the next window that is opened.
  await first.close({ runBeforeUnload: false });
  await second.goto(`${server.url}/tasks/new`);
  await restored(second, 'Se recuperó su texto sin guardar.');
});
