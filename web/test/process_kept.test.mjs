// Typed text and focus while other people change the same task.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { stopClock, until } from './harness.mjs';
import { readyTask, signedIn } from './console.mjs';
import { SLOW, ana, browser, button, leo, office, opened, processing, quantity, server, text } from './office.mjs';

const LINES = [{ kind: 'quantity', sku: 'tornillo-m4', quantity: 30 }];

// Long offers, so that a busy machine can take them. A test that needs the end of an offer moves the clock of the page.
office({ ...SLOW, offer_ms: 30_000 });

const focused = (page) => page.evaluate(() => document.activeElement?.dataset?.do ?? document.activeElement?.tagName);

/** Leo claims the task and does `act` with his fence. */
async function taken(id, act = async () => {}) {
  const { body } = await leo.call('POST', `/v1/tasks/${id}/claim`, {});
  await act(body.fence);
  return body.fence;
}

/** Moves the clock of the page past an offer until the page shows this text. */
function passed(page, said) {
  return until('the end of the offer', async () => {
    // Gives the server time to answer.
    await ana.call('GET', '/v1/me');
    await page.clock.runFor(5_000);
    return said.isVisible();
  });
}

test('a person who only views a task signs out with one click', async () => {
  const id = await readyTask(ana, LINES);
  const page = await opened(ana, id);
  await button(page, 'Procesar').waitFor();
  await button(page, 'Salir').click();
  await page.waitForURL(/\/sign-in$/);
});

test('an open dialog stays with its text although the page no longer has it', async () => {
  const id = await readyTask(ana, LINES);
  const page = await opened(ana, id);
  await button(page, 'Anular tarea').click();
  const reason = page.getByRole('dialog').getByRole('textbox');
  await reason.fill('Está duplicada');
  await taken(id);
  await text(page, /Bloqueada por Leo/).waitFor();
  // The page was read again, and the new page has no such dialog.
  const read = page.waitForResponse((response) => response.url().endsWith(`/tasks/${id}`));
  await page.evaluate(() => document.dispatchEvent(new CustomEvent('turno:answered')));
  await (await read).finished();
  assert.equal(await reason.inputValue(), 'Está duplicada');
  assert.equal(await reason.evaluate((field) => field === document.activeElement), true);
  await page.keyboard.press('Escape');
  // After closing, the dialog and its button disappear.
  await button(page, 'Anular tarea').waitFor({ state: 'detached' });
});

test('typed text stays readable after another person finalized or cancelled the task, until it is discarded', async () => {
  for (const verb of ['finalize', 'cancel']) {
    const id = await readyTask(ana, LINES);
    const page = await processing(ana, id);
    await page.route(/\/lines\/1$/, (route) => route.abort());
    await quantity(page).fill('77');
    await quantity(page).press('Tab');
    await text(page, /Sin guardar: sin respuesta/).waitFor();
    await server.admin.call('POST', `/v1/tasks/${id}/force-release`, { reason: 'cierre' });
    await page.getByRole('heading', { name: 'Lock perdido' }).waitFor();
    await taken(id, (fence) => leo.call('POST', `/v1/tasks/${id}/${verb}`, verb === 'finalize' ? { fence } : {}));
    const left = text(page, 'Sin guardar: 77');
    await left.waitFor();
    await page.reload();
    await left.waitFor();
    await button(page, 'Descartar lo mío').click();
    await left.waitFor({ state: 'detached' });
    await page.reload();
    await page.locator('#result').waitFor();
    assert.equal(await left.count(), 0);
  }
});

test('a person outside the line gets no focus on a button, and the first in line gets it on "Procesar"', async () => {
  const id = await readyTask(ana, LINES);
  const fence = await taken(id);
  const [onlooker, hers] = [await opened(server.admin, id), await opened(ana, id)];
  await button(hers, 'Pedir turno').focus();
  await hers.keyboard.press('Enter');
  await until('the focus', () => focused(hers), (found) => found === 'leave-turn');
  await leo.call('POST', `/v1/tasks/${id}/release`, { fence });
  await text(hers, '¡Es su turno!').waitFor();
  await until('the focus', () => focused(hers), (found) => found === 'claim');
  await text(onlooker, /Reservada para Ana/).waitFor();
  assert.equal(await focused(onlooker), 'BODY');
});

test('a missed offer is shown on the other page that is open', async () => {
  const id = await readyTask(ana, LINES, 'La que espera');
  const fence = await taken(id);
  const page = await signedIn(browser, server, ana);
  await page.clock.install();
  await page.goto(`${server.url}/tasks/${id}`);
  await button(page, 'Pedir turno').click();
  await button(page, 'Dejar la fila').waitFor();
  await page.goto(`${server.url}/leases`);
  await page.locator('#turns').getByText(/puesto 1|siguiente|La que espera/).first().waitFor();
  await leo.call('POST', `/v1/tasks/${id}/release`, { fence });
  await page.locator('#turns').getByText(/¡Es su turno!/).waitFor();
  await stopClock(page);
  await passed(page, page.locator('#turns').getByText('Su turno pasó.'));
});

test('a missed offer of a free task shows that the task can be processed', async () => {
  const id = await readyTask(ana, LINES);
  const fence = await taken(id);
  const page = await opened(ana, id, { clock: true });
  await button(page, 'Pedir turno').click();
  await text(page, 'Es el siguiente en la fila').waitFor();
  await leo.call('POST', `/v1/tasks/${id}/release`, { fence });
  await text(page, '¡Es su turno!').waitFor();
  await stopClock(page);
  await passed(page, text(page, 'Su turno pasó. La tarea sigue libre.'));
  await button(page, 'Procesar').waitFor();
});
