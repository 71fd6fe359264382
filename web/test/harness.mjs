// What every browser test needs: a real `turno serve` on SQLite with people in it, and a real Chromium.
//
// TURNO_BIN names the program, CHROMIUM the browser; `cargo xtask test --only browser` sets both. Waiting is always for
// something (an event, an answer, an element), with a time limit; nothing here sleeps.

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
/** For anything that should take a moment on an idle machine and may take a while on a busy one. */
export const PATIENCE_MS = 20_000;
/** Long enough that nothing expires while a test does other things, and beats often enough to be seen. */
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
        // The next one, then.
      }
    }
  }
  throw new Error('no chromium, chromium-browser or google-chrome on the search path; name one in CHROMIUM');
}

/** A browser; its contexts are as separate as two people's machines. */
export function openBrowser() {
  // Chromium refuses its sandbox to root, which is who containers run as.
  const args = process.getuid?.() === 0 ? ['--no-sandbox'] : [];
  return chromium.launch({ executablePath: browserPath(), headless: true, args: [...args, '--disable-dev-shm-usage'] });
}

/** What the browser loads is what the program serves; with TURNO_SOURCE=1 it is the file, without a build. */
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

/** A file of the console as it is on the disk; what is not ours comes from the program. */
function sourced(route) {
  const [, name, kind] = /\/([a-z]+)(?:\.[0-9a-f]{12})?\.(js|css)$/.exec(new URL(route.request().url()).pathname);
  const path = join(ROOT, 'web', 'console', `${name}.${kind}`);
  return existsSync(path) ? route.fulfill({ path }) : route.continue();
}

/** A running server with its own database. `leases` are policies by prefix, as in the configuration file. */
export class Server {
  static async start({ leases = { default: CALM, task: CALM }, cors = [] } = {}) {
    const server = new Server();
    server.folder = mkdtempSync(join(tmpdir(), 'turno-browser-'));
    server.database = `sqlite:${join(server.folder, 'turno.db')}`;
    server.config = join(server.folder, 'turno.toml');
    const policies = Object.entries(leases).map(([prefix, policy]) => {
      const values = Object.entries(policy).map(([name, value]) => `${name} = ${value}\n`);
      return `[leases.${prefix}]\n${values.join('')}`;
    });
    writeFileSync(server.config, `cors_origins = ${JSON.stringify(cors)}\n${policies.join('')}`);
    // Before it starts, or it would tell the terminal how to become the first administrator.
    server.admin = await server.person('eva', 'admin', 'Eva');
    await server.up('127.0.0.1:0');
    return server;
  }

  /** Starts it where it was before, or at a free port. */
  async up(listen = new URL(this.url).host) {
    const env = { ...process.env, TURNO_LOG_LEVEL: process.env.TURNO_LOG_LEVEL ?? 'warn' };
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

  /** Stops it as a plug that is pulled, or gently. */
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

  /** Lets somebody sign in with a password. */
  async password(id, password) {
    const running = run(program(), ['user', 'password', id, '--password-stdin', '--database', this.database]);
    running.child.stdin.end(`${password}\n`);
    await running;
  }

  /** Somebody, with a token. */
  async person(id, role = 'editor', name = id) {
    await this.command('user', 'add', id, '--role', role, '--name', name);
    const token = await this.command('token', 'create', '--user', id);
    return new Person(this, id, token);
  }
}

/** Somebody who calls the API beside the browser. */
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

/** Another application's web server: files of a folder, and routes of its own (`(request) => answer`). */
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

/** Fails if it takes longer than it should. */
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

/** From here on time passes for the page only where a test says so; a second is left for saying it, or more if it has to be. */
export async function stopClock(page) {
  for (let spare = 1_000; ; spare *= 2) {
    try {
      return await page.clock.pauseAt((await page.evaluate(() => Date.now())) + spare);
    } catch (error) {
      if (spare > PATIENCE_MS) throw error;
    }
  }
}

/** What a page has asked from now on and nobody has answered, but for the live stream, which never ends. */
export function unansweredOf(page) {
  const unanswered = new Set();
  page.on('request', (request) => request.url().includes('/v1/events') || unanswered.add(request));
  for (const end of ['requestfinished', 'requestfailed']) page.on(end, (request) => unanswered.delete(request));
  return unanswered;
}

/** Asks again and again until the answer pleases, for what has no event to wait for. */
export async function until(what, ask, pleases = Boolean) {
  const end = Date.now() + PATIENCE_MS;
  for (;;) {
    const answer = await ask();
    if (pleases(answer)) return answer;
    if (Date.now() > end) throw new Error(`not in time: ${what}; last it was ${JSON.stringify(answer)}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
