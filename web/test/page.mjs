// A page with one lease, and what tests ask it.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PATIENCE_MS, ROOT, unansweredOf, until } from './harness.mjs';

const EMPTY = '<!doctype html><html lang="es"><title>page</title><p>a page</p></html>';

/** Opens a tab with the module and a lease object. With `clock` the test controls its time. */
export async function openPage(context, server, person, resource, { clock = false, options = {}, url = null } = {}) {
  const page = await context.newPage();
  if (clock) await page.clock.install();
  const view = new View(page, server, resource);
  // Not for pages of other origins, because intercepted requests bypass the CORS checks of the server.
  if (!url)
    await page.route(`${server.url}/test-page`, (route) => route.fulfill({ contentType: 'text/html', body: EMPTY }));
  page.on('request', (request) => view.requests.push(request));
  await page.goto(url ?? `${server.url}/test-page`);
  await view.load(person, options);
  return view;
}

/** Replaces pieces of the module with broken ones, for negative controls. */
export async function sabotage(context, pieces) {
  let body = readFileSync(join(ROOT, 'web', 'turno.js'), 'utf8');
  for (const [right, wrong] of pieces) {
    assert.equal(body.split(right).length, 2, `once in turno.js: ${right}`);
    body = body.replace(right, () => wrong);
  }
  await context.route('**/turno.js', (route) => route.fulfill({ contentType: 'text/javascript', body }));
}

/** One tab. */
export class View {
  constructor(page, server, resource) {
    Object.assign(this, { page, server, resource, requests: [], unanswered: unansweredOf(page) });
  }

  /** Loads the module and creates the lease; records every event. */
  async load(person, options = {}) {
    const { server, resource } = this;
    await this.page.evaluate(
      async ({ url, resource, token, options }) => {
        const module = await import(`${url}/turno.js`);
        globalThis.turno = module;
        globalThis.lease = new module.Lease(resource, { server: url, token, language: 'en', ...options });
        globalThis.events = [];
        const names = [
          'state',
          'held',
          'idle-warning',
          'active',
          'requested',
          'lost',
          'moved',
          'unknown',
          'offered',
          'turn',
          'error',
        ];
        for (const name of names) {
          lease.addEventListener(name, ({ detail }) => {
            const error = detail.error ? { message: detail.error.message, code: detail.error.code } : undefined;
            events.push({ name, ...JSON.parse(JSON.stringify(detail)), error });
          });
        }
      },
      { url: server.url, resource, token: person?.token ?? null, options },
    );
  }

  claim(options = {}) {
    return this.page.evaluate((options) => lease.claim(options), options);
  }

  release() {
    return this.page.evaluate(() => lease.release());
  }

  state() {
    return this.page.evaluate(() => lease.state);
  }

  fence() {
    return this.page.evaluate(() => lease.fence);
  }

  /** Returns all events, or those of one name. */
  events(name = null) {
    return this.page.evaluate((name) => events.filter((event) => !name || event.name === name), name);
  }

  /** Returns the events as one line. */
  async story() {
    return (await this.events())
      .map((event) => (event.name === 'state' ? event.state : event.name.toUpperCase()))
      .join(' ');
  }

  /** Waits for the state. Polls in animation frames, because the clock of the page may be stopped. */
  async becomes(state) {
    try {
      await this.page.waitForFunction((state) => lease.state === state, state, { timeout: PATIENCE_MS });
    } catch (error) {
      throw new Error(`not ${state} but ${await this.state()} after ${await this.story()}`, { cause: error });
    }
  }

  /** Waits for the n-th event of a name and returns it. */
  async hears(name, count = 1) {
    const heard = ({ name, count }) => events.filter((event) => event.name === name).length >= count;
    try {
      await this.page.waitForFunction(heard, { name, count }, { timeout: PATIENCE_MS });
    } catch (error) {
      throw new Error(`no ${name}, but ${await this.story()}`, { cause: error });
    }
    return (await this.events(name))[count - 1];
  }

  /** Returns the heartbeats that this tab has sent. */
  beats() {
    return this.requests.filter((request) => request.url().endsWith('/heartbeat'));
  }

  /** Moves the clock of the page in steps and waits for the answers between them. Otherwise requests would time out. */
  async passes(ms, step = 5_000) {
    for (let left = ms; left > 0; left -= step) {
      await this.page.clock.runFor(Math.min(step, left));
      await this.page.evaluate(() => lease.refresh());
      await until('answers', () => this.unanswered.size, (count) => count === 0);
    }
  }

  /** Blocks reads of the lease, because a poll or the live stream can cause one at any moment. */
  blind() {
    return this.page.route(`**/v1/leases/${encodeURIComponent(this.resource)}`, () => {});
  }

  /** Presses a real key, which counts as activity. */
  press() {
    return this.page.keyboard.press('Shift');
  }

  /** Shows or hides the page. Headless pages are always visible, so this imitates the event of the browser. */
  async show(visible) {
    await this.page.evaluate(
      (state) => {
        Object.defineProperty(document, 'visibilityState', { configurable: true, get: () => state });
        Object.defineProperty(document, 'hidden', { configurable: true, get: () => state === 'hidden' });
        document.dispatchEvent(new Event('visibilitychange'));
      },
      visible ? 'visible' : 'hidden',
    );
  }
}
