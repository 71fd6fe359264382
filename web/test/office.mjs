// The setup of the tests of tasks: a server, a browser, users, and what users see and press.

import assert from 'node:assert/strict';
import { after, afterEach, before } from 'node:test';
import { CALM, Server, openBrowser } from './harness.mjs';
import { assertAccessible, overflowsSideways, screenshots } from './a11y.mjs';
import { signedIn } from './console.mjs';

/** A long ttl for tests that move the clock of the page, which does not move the clock of the server. */
export const SLOW = { ...CALM, ttl_ms: 180_000, max_ttl_ms: 180_000 };

/** Ana and Leo are editors, Vera is a viewer. Each test file is a process and has its own. */
export let server, browser, ana, leo, vera;

/** Starts everything before the tests of a file, with this policy for the locks of tasks, and stops it after them. */
export function office(task = CALM) {
  before(async () => {
    [server, browser] = await Promise.all([Server.start({ leases: { task } }), openBrowser()]);
    ana = await server.person('ana', 'editor', 'Ana');
    leo = await server.person('leo', 'editor', 'Leo');
    vera = await server.person('vera', 'viewer', 'Vera');
  });
  // Closes all pages, because open pages send heartbeats and slow the next test down.
  afterEach(() => {
    // A test may have stopped the process of the server.
    server.child.kill('SIGCONT');
    return Promise.all(browser.contexts().map((context) => context.close()));
  });
  after(() => Promise.all([browser?.close(), server?.stop()]));
}

/** Returns the visible text, without hidden text and announcements for screen readers. */
export const text = (page, what, options) =>
  page.getByRole('main').getByText(what, options).filter({ visible: true }).first();
export const button = (page, name) => page.getByRole('button', { name, exact: true });
export const quantity = (page) => page.getByLabel('Cantidad de la línea 1, tornillo-m4');

/** Opens the page of a task in a new context. With `clock` the test controls its time; `prepare` runs before the page. */
export async function opened(person, id, { clock = false, prepare = async () => {}, ...options } = {}) {
  const page = await signedIn(browser, server, person, options);
  if (clock) await page.clock.install();
  await prepare(page);
  await page.goto(`${server.url}/tasks/${id}`);
  return page;
}

/** Opens the page of a task and claims the task. */
export async function processing(person, id, options) {
  const page = await opened(person, id, options);
  await button(page, 'Procesar').click();
  await button(page, 'Liberar tarea').waitFor();
  return page;
}

/** Takes pictures and fails if the page is not accessible or does not fit a phone. */
export async function seen(page, name, looks) {
  await screenshots(page, name, looks);
  await assertAccessible(page);
  await page.setViewportSize({ width: 390, height: 844 });
  assert.equal(await overflowsSideways(page), false, 'it fits a phone');
  await page.setViewportSize({ width: 1180, height: 820 });
}
