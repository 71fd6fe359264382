// The idle warning, with the clock of the page, so that a slow machine can answer it in time.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { screenshots } from './a11y.mjs';
import { stopClock, until } from './harness.mjs';
import { readyTask } from './console.mjs';
import { SLOW, ana, button, office, processing, text } from './office.mjs';

const LINES = [{ kind: 'quantity', sku: 'tornillo-m4', quantity: 30 }];

office({ ...SLOW, heartbeat_interval_ms: 10_000, idle_guard_ms: 60_000 });

test('seed_001 ac4 idle: a warning comes before the loss, and one key press keeps the lock', async () => {
  const page = await processing(ana, await readyTask(ana, LINES), { clock: true });
  await stopClock(page);
  await until('the question', async () => {
    // Gives the server time to answer.
    await ana.call('GET', '/v1/me');
    await page.clock.runFor(5_000);
    return text(page, '¿Sigue ahí?').isVisible();
  });
  await text(page, /Sin actividad: el bloqueo termina en [23]:\d\d/).waitFor();
  await screenshots(page, 'process-idle');
  await page.keyboard.press('Shift');
  await text(page, '¿Sigue ahí?').waitFor({ state: 'hidden' });
  assert.equal(await button(page, 'Liberar tarea').isVisible(), true);
});
