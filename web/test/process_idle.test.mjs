// Process mode where time matters: locks that last seconds, so that nobody has to wait for minutes.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertAccessible, screenshots } from './a11y.mjs';
import { until } from './harness.mjs';
import { readyTask, unsavable } from './console.mjs';
import { ana, button, office, processing, quantity, text } from './office.mjs';

const LINES = [{ kind: 'quantity', sku: 'tornillo-m4', quantity: 30 }];
/** Idle after 3 s, gone 6 s after the last renewal. */
const SHORT = { ttl_ms: 6_000, heartbeat_interval_ms: 200, idle_guard_ms: 3_000 };

office(SHORT);

/** What a screen reader finds: said calmly (status) and urgently (alert). */
const spoken = (page) =>
  Promise.all(['status', 'alert'].map((role) => page.locator(`body > .visually-hidden[role="${role}"]`).textContent()));

test('seed_001 ac4 idle: without a sign of life it is lost to inactivity', async () => {
  const page = await processing(ana, await readyTask(ana, LINES));
  await page.getByRole('heading', { name: 'Lock perdido' }).waitFor();
  await text(page, /Venció: sin actividad/).waitFor();
  assert.equal(await quantity(page).evaluate((field) => field.readOnly), true);
  await screenshots(page, 'process-lost-idle', ['light', 'phone']);
  await assertAccessible(page);
});

test('seed_001 ac5 ac6 an expired lock can be claimed again from the same page, also if it is free by then', async () => {
  const id = await readyTask(ana, LINES);
  const page = await processing(ana, id);
  await page.getByRole('heading', { name: 'Lock perdido' }).waitFor();
  assert.equal((await ana.lease(`task:${id}`)).state, 'free');
  await button(page, 'Reintentar claim').click();
  await button(page, 'Liberar tarea').waitFor();
  assert.equal(await quantity(page).evaluate((field) => field.readOnly), false);
});

test('cut off for longer than the lock lives: nobody knows, nothing can be edited, then the truth', async () => {
  const id = await readyTask(ana, LINES);
  const page = await processing(ana, id);
  // Not saved before it is cut off.
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
  // Nobody has touched the line meanwhile: it is saved without another click.
  await text(page, 'Guardado', { exact: true }).waitFor();
  assert.equal((await ana.call('GET', `/v1/tasks/${id}`)).body.lines[0].quantity, 77);
  const [again, past] = await spoken(page);
  assert.match(again, /^La procesa usted/);
  assert.equal(past, '', 'nothing says any more that it is lost');
});
