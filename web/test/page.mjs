// A page with one lease, and what tests want to know about it.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PATIENCE_MS, ROOT, unansweredOf, until } from './harness.mjs';

const EMPTY = '<!doctype html><html lang="es"><title>page</title><p>a page</p></html>';

/** Opens a tab with the module loaded and a lease object in it; `clock` makes its time a puppet. */
export async function openPage(context, server, person, resource, { clock = false, options = {}, url = null } = {}) {
  const page = await context.newPage();
  if (clock) await page.clock.install();
  const view = new View(page, server, resource);
  // Not for pages of other origins: what intercepts requests answers the browser's CORS questions itself.
  if (!url)
    await page.route(`${server.url}/test-page`, (route) => route.fulfill({ contentType: 'text/html', body: EMPTY }));
  page.on('request', (request) => view.requests.push(request));
  await page.goto(url ?? `${server.url}/test-page`);
  await view.load(person, options);
  return view;
}

/** Lets the browser load the module with something else in place of a piece of it, for tests that must fail. */
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

  /** Loads the module and makes the lease; every event is noted. */
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

  /** All that has happened, or all events of one name. */
  events(name = null) {
    return this.page.evaluate((name) => events.filter((event) => !name || event.name === name), name);
  }

  /** What has happened, in a line. */
  async story() {
    return (await this.events())
      .map((event) => (event.name === 'state' ? event.state : event.name.toUpperCase()))
      .join(' ');
  }

  /** Waits for the state. In the page's own frames, not by its clock, which may stand still. */
  async becomes(state) {
    try {
      await this.page.waitForFunction((state) => lease.state === state, state, { timeout: PATIENCE_MS });
    } catch (error) {
      throw new Error(`not ${state} but ${await this.state()} after ${await this.story()}`, { cause: error });
    }
  }

  /** Waits for the n-th event of a name, and tells it. */
  async hears(name, count = 1) {
    const heard = ({ name, count }) => events.filter((event) => event.name === name).length >= count;
    try {
      await this.page.waitForFunction(heard, { name, count }, { timeout: PATIENCE_MS });
    } catch (error) {
      throw new Error(`no ${name}, but ${await this.story()}`, { cause: error });
    }
    return (await this.events(name))[count - 1];
  }

  /** The beats that this tab has sent. */
  beats() {
    return this.requests.filter((request) => request.url().endsWith('/heartbeat'));
  }

  /** Lets the page's clock run, in steps; the real server answers everything in between, or the page would give up waiting. */
  async passes(ms, step = 5_000) {
    for (let left = ms; left > 0; left -= step) {
      await this.page.clock.runFor(Math.min(step, left));
      await this.page.evaluate(() => lease.refresh());
      await until('answers', () => this.unanswered.size, (count) => count === 0);
    }
  }

  /** From now on nobody is told how the lease is who only looks, as a poll or the live stream may ask for at any moment. */
  blind() {
    return this.page.route(`**/v1/leases/${encodeURIComponent(this.resource)}`, () => {});
  }

  /** A real key press, which counts as activity. */
  press() {
    return this.page.keyboard.press('Shift');
  }

  /** Headless pages are always visible, so the page is told otherwise, as the browser would tell it. */
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
