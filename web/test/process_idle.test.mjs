// Process mode with locks that last seconds, for the tests that wait for their end.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertAccessible, screenshots } from './a11y.mjs';
import { until } from './harness.mjs';
import { readyTask, unsavable } from './console.mjs';
import { ana, button, office, processing, quantity, text } from './office.mjs';

const LINES = [{ kind: 'quantity', sku: 'tornillo-m4', quantity: 30 }];
/** The person is idle after 3 s; the lock expires 6 s after the last renewal. */
const SHORT = { ttl_ms: 6_000, heartbeat_interval_ms: 200, idle_guard_ms: 3_000 };

office(SHORT);

/** Returns the announcements for screen readers: calm (status) and urgent (alert). */
const spoken = (page) =>
  Promise.all(['status', 'alert'].map((role) => page.locator(`body > .visually-hidden[role="${role}"]`).textContent()));

test('seed_001 ac4 idle: without activity the lock is lost', async () => {
  const page = await processing(ana, await readyTask(ana, LINES));
  await page.getByRole('heading', { name: 'Lock perdido' }).waitFor();
  await text(page, /Venció: sin actividad/).waitFor();
  assert.equal(await quantity(page).evaluate((field) => field.readOnly), true);
  await screenshots(page, 'process-lost-idle', ['light', 'phone']);
  await assertAccessible(page);
});

test('seed_001 ac5 ac6 an expired lock can be claimed again from the same page', async () => {
  const id = await readyTask(ana, LINES);
  const page = await processing(ana, id);
  await page.getByRole('heading', { name: 'Lock perdido' }).waitFor();
  assert.equal((await ana.lease(`task:${id}`)).state, 'free');
  await button(page, 'Reintentar claim').click();
  await button(page, 'Liberar tarea').waitFor();
  assert.equal(await quantity(page).evaluate((field) => field.readOnly), false);
});

test('without a connection for longer than the ttl: unknown and read-only, then the real state', async () => {
  const id = await readyTask(ana, LINES);
  const page = await processing(ana, id);
  // The text is not saved before the connection is cut.
  const savable = await unsavable(page);
  await quantity(page).fill('77');
  await text(page, /Sin guardar: sin respuesta\. Se reintenta automáticamente/).waitFor();
  await page.context().setOffline(true);
  await savable();
  await page.getByRole('heading', { name: 'Estado del bloqueo desconocido' }).waitFor();
  assert.equal(await quantity(page).evaluate((field) => field.readOnly), true);
  assert.equal(await quantity(page).inputValue(), '77');
  await screenshots(page, 'process-unknown');
  await assertAccessible(page);
  await until('the end on the server', () => ana.lease(`task:${id}`), ({ state }) => state === 'free');
  await page.context().setOffline(false);
  await page.getByRole('heading', { name: 'Lock perdido' }).waitFor();
  assert.equal(await quantity(page).inputValue(), '77');
  await text(page, 'Sin guardar', { exact: true }).waitFor();
  const [calm, urgent] = await spoken(page);
  assert.equal(calm, '', 'nothing beside it says that it is hers');
  assert.match(urgent, /^Lock perdido/);
  assert.equal(await text(page, /Se vuelve a intentar/).count(), 0, 'nothing is promised that nobody does');
  await button(page, 'Reintentar claim').click();
  // The line is unchanged, so the text is saved without another click.
  await text(page, 'Guardado', { exact: true }).waitFor();
  assert.equal((await ana.call('GET', `/v1/tasks/${id}`)).body.lines[0].quantity, 77);
  const [again, past] = await spoken(page);
  assert.match(again, /^La procesa usted/);
  assert.equal(past, '', 'nothing says any more that it is lost');
});
