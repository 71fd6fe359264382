// The parts that every browser test needs: a real `turno serve` on SQLite with users, and a real Chromium.
//
// TURNO_BIN names the program and CHROMIUM the browser; `cargo xtask test --only browser` sets both. Tests wait for an
// event, an answer or an element, with a time limit, and never sleep.

import { spawn, execFile } from 'node:child_process';
import { accessSync, constants, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { delimiter, dirname, extname, join, normalize } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { chromium } from 'playwright-core';

const run = promisify(execFile);
export const ROOT = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
/** The time limit for everything that takes a moment on an idle machine and longer on a busy one. */
export const PATIENCE_MS = 20_000;
/** A long ttl, so that no lease expires during a test, and a short interval, so that heartbeats can be observed. */
export const CALM = { ttl_ms: 60_000, max_ttl_ms: 180_000, heartbeat_interval_ms: 200, offer_ms: 5_000 };

export function program() {
  const path = process.env.TURNO_BIN ?? join(ROOT, 'target', 'debug', 'turno');
  try {
    accessSync(path, constants.X_OK);
  } catch {
    throw new Error(`there is no program at ${path}: build it (cargo build --bin turno) or name it in TURNO_BIN`);
  }
  return path;
}

function browserPath() {
  if (process.env.CHROMIUM) return process.env.CHROMIUM;
  const folders = (process.env.PATH ?? '').split(delimiter);
  for (const name of ['chromium', 'chromium-browser', 'google-chrome']) {
    for (const folder of folders) {
      try {
        accessSync(join(folder, name), constants.X_OK);
        return join(folder, name);
      } catch {
        // Try the next one.
      }
    }
  }
  throw new Error('no chromium, chromium-browser or google-chrome on the search path; name one in CHROMIUM');
}

/** Starts a browser. Its contexts are separate, like the machines of two people. */
export function openBrowser() {
  // Chromium refuses to run its sandbox as root, which containers use.
  const args = process.getuid?.() === 0 ? ['--no-sandbox'] : [];
  return chromium.launch({ executablePath: browserPath(), headless: true, args: [...args, '--disable-dev-shm-usage'] });
}

/**
 * Opens a browser context. With TURNO_SOURCE=1 it loads the scripts from the source tree instead of the program, so that no
 * build is needed. Tests of other origins need the program, because intercepted requests bypass its CORS checks.
 */
export async function newContext(browser, options = {}) {
  const context = await browser.newContext({ locale: 'es-ES', ...options });
  if (process.env.TURNO_SOURCE) {
    const answer = {
      path: join(ROOT, 'web', 'turno.js'),
      contentType: 'text/javascript',
      headers: { 'access-control-allow-origin': '*' },
    };
    await context.route('**/turno.js', (route) => route.fulfill(answer));
    await context.route(/\/assets\/[a-z]+(\.[0-9a-f]{12})?\.(js|css)$/, (route) => sourced(route));
  }
  return context;
}

/** Serves a file of the console from the source tree; vendored files come from the program. */
function sourced(route) {
  const [, name, kind] = /\/([a-z]+)(?:\.[0-9a-f]{12})?\.(js|css)$/.exec(new URL(route.request().url()).pathname);
  const path = join(ROOT, 'web', 'console', `${name}.${kind}`);
  return existsSync(path) ? route.fulfill({ path }) : route.continue();
}

/**
 * A running server with its own database. `leases` are policies by prefix, as in the configuration file, `tables` is the end
 * of that file, and `env` are further variables.
 */
export class Server {
  static async start({ leases = { default: CALM, task: CALM }, cors = [], tables = '', env = {} } = {}) {
    const server = new Server();
    server.env = env;
    server.folder = mkdtempSync(join(tmpdir(), 'turno-browser-'));
    server.database = `sqlite:${join(server.folder, 'turno.db')}`;
    server.config = join(server.folder, 'turno.toml');
    const policies = Object.entries(leases).map(([prefix, policy]) => {
      const values = Object.entries(policy).map(([name, value]) => `${name} = ${value}\n`);
      return `[leases.${prefix}]\n${values.join('')}`;
    });
    writeFileSync(server.config, `cors_origins = ${JSON.stringify(cors)}\n${policies.join('')}${tables}`);
    // Created before the start, because without an administrator the server prints an invitation.
    server.admin = await server.person('eva', 'admin', 'Eva');
    await server.up('127.0.0.1:0');
    return server;
  }

  /** Starts the program at its previous address, or at a free port. */
  async up(listen = new URL(this.url).host) {
    const env = { ...process.env, ...this.env, TURNO_LOG_LEVEL: process.env.TURNO_LOG_LEVEL ?? 'warn' };
    const args = ['serve', '--database', this.database, '--config', this.config, '--listen', listen];
    this.child = spawn(program(), args, { env, stdio: ['ignore', 'pipe', 'inherit'] });
    this.ended = new Promise((resolve) => this.child.once('exit', resolve));
    const lines = createInterface({ input: this.child.stdout });
    this.url = await within(
      'the line `listening on`',
      new Promise((resolve, reject) => {
        lines.on('line', (line) => {
          const found = /listening on (http:\S+)/.exec(line);
          if (found) resolve(found[1]);
        });
        this.ended.then((code) => reject(new Error(`turno ended with ${code} before it listened`)));
      }),
    );
  }

  /** Stops the program: by default at once, as in a power cut. */
  async down(signal = 'SIGKILL') {
    this.child.kill(signal);
    await within('the end of turno', this.ended);
  }

  async stop() {
    if (this.child.exitCode === null && this.child.signalCode === null) await this.down();
    rmSync(this.folder, { recursive: true, force: true });
  }

  async command(...args) {
    const { stdout } = await run(program(), [...args, '--database', this.database, '--config', this.config]);
    return stdout.trim();
  }

  /** Sets the password of a user. */
  async password(id, password) {
    const running = run(program(), ['user', 'password', id, '--password-stdin', '--database', this.database]);
    running.child.stdin.end(`${password}\n`);
    await running;
  }

  /** Adds a user with a token. */
  async person(id, role = 'editor', name = id) {
    await this.command('user', 'add', id, '--role', role, '--name', name);
    const token = await this.command('token', 'create', '--user', id);
    return new Person(this, id, token);
  }
}

/** A user who calls the API without a browser. */
export class Person {
  constructor(server, id, token) {
    Object.assign(this, { server, id, token });
  }

  async call(method, path, body) {
    const headers = { authorization: `Bearer ${this.token}`, 'accept-language': 'en' };
    const response = await fetch(this.server.url + path, { method, headers, body: body && JSON.stringify(body) });
    const text = await response.text();
    return { status: response.status, body: text ? JSON.parse(text) : null };
  }

  lease(resource) {
    return this.call('GET', `/v1/leases/${encodeURIComponent(resource)}`).then(({ body }) => body);
  }

  claim(resource, body = {}) {
    return this.call('POST', `/v1/leases/${encodeURIComponent(resource)}/claim`, body);
  }

  history(resource) {
    return this.call('GET', `/v1/leases/${encodeURIComponent(resource)}/history`).then(({ body }) => body.items);
  }
}

const KINDS = { '.html': 'text/html', '.js': 'text/javascript', '.mjs': 'text/javascript', '.css': 'text/css' };

/** Starts the web server of another application: files of a folder, and routes (`(request) => answer`). */
export async function site({ folder = null, routes = {} } = {}) {
  const server = createServer(async (request, response) => {
    const { pathname } = new URL(request.url, 'http://site');
    const route = routes[pathname];
    if (route) {
      const { type = 'application/json', body } = await route(request);
      return response.writeHead(200, { 'content-type': `${type}; charset=utf-8` }).end(body);
    }
    try {
      const file = join(folder ?? '', normalize(pathname));
      const content = folder && readFileSync(file);
      response.writeHead(content ? 200 : 404, {
        'content-type': `${KINDS[extname(file)] ?? 'text/plain'}; charset=utf-8`,
      });
      response.end(content || 'not found');
    } catch {
      response.writeHead(404).end('not found');
    }
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    stop: () => new Promise((resolve) => server.closeAllConnections() ?? server.close(resolve)),
  };
}

/** Waits for a promise and fails after a time limit. */
export async function within(what, promise, ms = PATIENCE_MS) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no ${what} within ${ms} ms`)), ms);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Stops the clock of the page, so that only the test moves it. Needs a moment ahead, which grows if the machine is slow. */
export async function stopClock(page) {
  for (let spare = 1_000; ; spare *= 2) {
    try {
      return await page.clock.pauseAt((await page.evaluate(() => Date.now())) + spare);
    } catch (error) {
      if (spare > PATIENCE_MS) throw error;
    }
  }
}

/** Returns the set of requests of a page without an answer, except the live stream, which never ends. */
export function unansweredOf(page) {
  const unanswered = new Set();
  page.on('request', (request) => request.url().includes('/v1/events') || unanswered.add(request));
  for (const end of ['requestfinished', 'requestfailed']) page.on(end, (request) => unanswered.delete(request));
  return unanswered;
}

/** Repeats a question until the answer fits, for conditions without an event. */
export async function until(what, ask, pleases = Boolean) {
  const end = Date.now() + PATIENCE_MS;
  for (;;) {
    const answer = await ask();
    if (pleases(answer)) return answer;
    if (Date.now() > end) throw new Error(`not in time: ${what}; last it was ${JSON.stringify(answer)}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
