// A session that another person ends: the open page shows it and stays, and typed text can be copied.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { until } from './harness.mjs';
import { assertAccessible, screenshots } from './a11y.mjs';
import { readyTask, signedIn, unsavable } from './console.mjs';
import { ana, browser, button, leo, office, processing, quantity, server } from './office.mjs';

const LINES = [{ kind: 'quantity', sku: 'tornillo-m4', quantity: 30 }];

office();

const notice = (page) => page.getByRole('alert').filter({ hasText: 'Esta página ya no se actualiza' });
const disable = (id) => server.admin.call('PATCH', `/v1/users/${id}`, { disabled: true });

test('a person who is disabled while typing sees a notice, keeps the text, and sees the reason at sign-in', async () => {
  const id = await readyTask(ana, LINES);
  const page = await processing(ana, id);
  await unsavable(page);
  await quantity(page).fill('77');
  assert.equal((await disable('ana')).status, 200);
  await notice(page).waitFor();
  await page.getByRole('heading', { name: 'Su sesión terminó' }).waitFor();
  await page.getByText('Inicie sesión de nuevo en este navegador').waitFor();
  assert.deepEqual(await quantity(page).evaluate((field) => [field.value, field.readOnly]), ['77', true]);
  assert.equal(await page.getByText('La procesa usted').filter({ visible: true }).count(), 0, 'nothing claims to be hers');
  assert.equal(new URL(page.url()).pathname, `/tasks/${id}`);
  await screenshots(page, 'process-ended');
  await assertAccessible(page);
  // The page does not ask before leaving, because the text is kept in the browser.
  await notice(page).getByRole('link', { name: 'Iniciar sesión de nuevo' }).click();
  await page.waitForURL(/\/sign-in\?next=/);
  const enter = async (password) => {
    await page.getByLabel('Usuario', { exact: true }).fill('ana');
    await page.getByLabel('Contraseña', { exact: true }).fill(password);
    await button(page, 'Entrar').click();
  };
  await enter('otra cosa larga');
  await page.getByText('El usuario o la contraseña no son correctos').waitFor();
  await enter('una clave larga');
  await page.getByText('Su usuario está deshabilitado').waitFor();
  await server.admin.call('PATCH', '/v1/users/ana', { disabled: false });
  await enter('una clave larga');
  await page.waitForURL(new RegExp(`/tasks/${id}$`));
  await until('what was typed', () => quantity(page).inputValue(), (value) => value === '77');
});

test('a list whose session ended shows a notice and stays, and pages of other people continue', async () => {
  const rosa = await server.person('rosa', 'editor', 'Rosa');
  const [his, hers] = [await signedIn(browser, server, leo), await signedIn(browser, server, rosa)];
  for (const page of [his, hers]) {
    await page.goto(`${server.url}/tasks?lock=free`);
    await page.locator('#pulse[data-state="live"]').waitFor();
  }
  await disable('leo');
  await notice(his).waitFor();
  assert.equal(new URL(his.url()).pathname, '/tasks');
  await screenshots(his, 'list-ended', ['light', 'phone']);
  await readyTask(rosa, LINES, 'Una más');
  await hers.getByText('Una más').waitFor();
  assert.equal(await notice(hers).count(), 0);
  assert.equal(await his.getByText('Una más').count(), 0, 'nothing is read without a session');
});
