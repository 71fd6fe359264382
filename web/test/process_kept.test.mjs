// What somebody types, and where they stand, while others do something to the same task.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { stopClock, until } from './harness.mjs';
import { readyTask, signedIn } from './console.mjs';
import { SLOW, ana, browser, button, leo, office, opened, processing, quantity, server, text } from './office.mjs';

const LINES = [{ kind: 'quantity', sku: 'tornillo-m4', quantity: 30 }];

// An offer lasts for as long as a busy machine may take to answer it; where it is to pass, it passes by the page's clock.
office({ ...SLOW, offer_ms: 30_000 });

const focused = (page) => page.evaluate(() => document.activeElement?.dataset?.do ?? document.activeElement?.tagName);

/** Of two who look at it, Leo gets it: `act` is done with his fence. */
async function taken(id, act = async () => {}) {
  const { body } = await leo.call('POST', `/v1/tasks/${id}/claim`, {});
  await act(body.fence);
  return body.fence;
}

/** Lets an offer pass by the page's clock, until this is said. */
function passed(page, said) {
  return until('the end of the offer', async () => {
    // The server answers in between.
    await ana.call('GET', '/v1/me');
    await page.clock.runFor(5_000);
    return said.isVisible();
  });
}

test('whoever only looks at a task signs out with one press', async () => {
  const id = await readyTask(ana, LINES);
  const page = await opened(ana, id);
  await button(page, 'Procesar').waitFor();
  await button(page, 'Salir').click();
  await page.waitForURL(/\/sign-in$/);
});

test('a question that somebody is answering stays with what was typed, though there is nothing left to decide', async () => {
  const id = await readyTask(ana, LINES);
  const page = await opened(ana, id);
  await button(page, 'Anular tarea').click();
  const reason = page.getByRole('dialog').getByRole('textbox');
  await reason.fill('Está duplicada');
  await taken(id);
  await text(page, /Bloqueada por Leo/).waitFor();
  // The page has been read since, and its answer has no such question any more.
  const read = page.waitForResponse((response) => response.url().endsWith(`/tasks/${id}`));
  await page.evaluate(() => document.dispatchEvent(new CustomEvent('turno:answered')));
  await (await read).finished();
  assert.equal(await reason.inputValue(), 'Está duplicada');
  assert.equal(await reason.evaluate((field) => field === document.activeElement), true);
  await page.keyboard.press('Escape');
  // Closed, it goes the way of the rest.
  await button(page, 'Anular tarea').waitFor({ state: 'detached' });
});

test('what was typed stays to be read when somebody else has finalized or cancelled the task, until it is discarded', async () => {
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

test('nobody who only looks is put on a button, and whose turn it is stands on the way in', async () => {
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

test('a turn that passes while somebody is on another page is told there', async () => {
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

test('a turn that has passed while the task is free says that it can be processed', async () => {
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
