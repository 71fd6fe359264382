// Where the tests of tasks begin: a server, a browser, the people who work there, and what they see and press.

import assert from 'node:assert/strict';
import { after, afterEach, before } from 'node:test';
import { CALM, Server, openBrowser } from './harness.mjs';
import { assertAccessible, overflowsSideways, screenshots } from './a11y.mjs';
import { signedIn } from './console.mjs';

/** It must not end while a page lets time pass that does not pass for the server. */
export const SLOW = { ...CALM, ttl_ms: 180_000, max_ttl_ms: 180_000 };

/** Ana and Leo edit, Vera looks. Every file of tests is a process of its own, and has these for itself. */
export let server, browser, ana, leo, vera;

/** Opens before the tests of a file, with this policy for the locks of tasks, and closes after them. */
export function office(task = CALM) {
  before(async () => {
    [server, browser] = await Promise.all([Server.start({ leases: { task } }), openBrowser()]);
    ana = await server.person('ana', 'editor', 'Ana');
    leo = await server.person('leo', 'editor', 'Leo');
    vera = await server.person('vera', 'viewer', 'Vera');
  });
  // A page that is left open goes on beating, and every one of them makes the next test slower.
  afterEach(() => {
    // A test may have let it hang.
    server.child.kill('SIGCONT');
    return Promise.all(browser.contexts().map((context) => context.close()));
  });
  after(() => Promise.all([browser?.close(), server?.stop()]));
}

/** What is seen: not what is only read aloud, nor what waits to be shown. */
export const text = (page, what, options) =>
  page.getByRole('main').getByText(what, options).filter({ visible: true }).first();
export const button = (page, name) => page.getByRole('button', { name, exact: true });
export const quantity = (page) => page.getByLabel('Cantidad de la línea 1, tornillo-m4');

/** The page of a task in a browser of their own; `clock` makes its time a puppet, `prepare` comes before the page. */
export async function opened(person, id, { clock = false, prepare = async () => {}, ...options } = {}) {
  const page = await signedIn(browser, server, person, options);
  if (clock) await page.clock.install();
  await prepare(page);
  await page.goto(`${server.url}/tasks/${id}`);
  return page;
}

/** The same, and they process it. */
export async function processing(person, id, options) {
  const page = await opened(person, id, options);
  await button(page, 'Procesar').click();
  await button(page, 'Liberar tarea').waitFor();
  return page;
}

/** Leaves pictures, and has nothing against it: not for a screen reader, and not on a phone. */
export async function seen(page, name, looks) {
  await screenshots(page, name, looks);
  await assertAccessible(page);
  await page.setViewportSize({ width: 390, height: 844 });
  assert.equal(await overflowsSideways(page), false, 'it fits a phone');
  await page.setViewportSize({ width: 1180, height: 820 });
}
