// Pictures of the console, taken from `turno demo` in a real Chromium.
//
//   node web/pictures.mjs            the two pictures of the READMEs, into docs/assets
//   node web/pictures.mjs FOLDER     every page, in both languages, light and dark, wide and on a phone, for a review
//
// TURNO_BIN names the program, CHROMIUM the browser, as for the tests.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import { ROOT, newContext, openBrowser, program } from './test/harness.mjs';

/** The demo runs this long before the pictures, so that the charts have data. */
const WARM_MS = Number(process.env.WARM_MS ?? 75_000);
const WIDE = { width: 1280, height: 860 };
const PHONE = { width: 390, height: 844 };
/** The pictures of the READMEs. */
const SHOWN = '/';

async function demo() {
  const child = spawn(program(), ['demo', '--listen', '127.0.0.1:0'], { stdio: ['ignore', 'pipe', 'inherit'] });
  const said = [];
  for await (const line of createInterface({ input: child.stdout })) {
    said.push(line);
    const [, base] = /^listening on (\S+)/.exec(line) ?? [];
    if (base) return { child, base, link: said.find((line) => line.includes(' Eva ')).match(/http\S+sign-in\?link=\S+/)[0] };
  }
  throw new Error(`the demo did not start: ${said.join('\n')}`);
}

/** The pages by name. The page of a single thing is opened by the first link to one. */
async function pages(page, base) {
  const first = async (path, prefix) => {
    await page.goto(base + path);
    return page.locator(`main tbody a[href^="${prefix}"]`).first().getAttribute('href', { timeout: 2_000 }).catch(() => null);
  };
  const found = {
    overview: '/', tasks: '/tasks', leases: '/leases', 'leases-none': '/leases?prefix=nada', queues: '/queues',
    queue: '/queues/chat', inbox: '/queues/inbox', exhausted: '/queues/inbox?state=exhausted', sync: '/sync',
    audit: '/audit', people: '/admin', tokens: '/admin/tokens', settings: '/admin/settings', missing: '/tasks/99999',
    task: await first('/tasks', '/tasks/'),
    lease: await first('/leases', '/leases/'),
    key: await first('/queues/chat?state=all', '/queues/chat/keys/'),
    item: await first('/queues/inbox?state=all', '/queues/inbox/items/'),
    broken: await first('/queues/chat?state=exhausted', '/queues/chat/items/'),
    person: await first('/admin', '/admin/people/'),
  };
  return Object.entries(found).filter(([, path]) => path);
}

async function take(page, base, path, file, options = {}) {
  await page.goto(base + path);
  await page.waitForFunction(() => document.getElementById('pulse')?.dataset.state !== 'still', null, { timeout: 3_000 }).catch(() => {});
  await page.screenshot({ path: file, ...options });
}

const browser = await openBrowser();
const { child, base, link } = await demo();
try {
  const context = await newContext(browser, { viewport: WIDE });
  const page = await context.newPage();
  await page.goto(link);
  await page.waitForURL((url) => url.pathname === '/');
  await pause(WARM_MS);
  const [folder] = process.argv.slice(2);
  const choose = (name, value) => context.addCookies([{ name: `turno_${name}`, value, url: base }]);
  await choose('theme', 'light');
  if (folder) {
    mkdirSync(folder, { recursive: true });
    const all = await pages(page, base);
    for (const language of ['es', 'en']) {
      for (const theme of ['light', 'dark']) {
        for (const [size, viewport] of [['wide', WIDE], ['phone', PHONE]]) {
          await choose('language', language);
          await choose('theme', theme);
          await page.setViewportSize(viewport);
          for (const [name, path] of all) {
            await take(page, base, path, join(folder, `${name}-${language}-${theme}-${size}.png`), { fullPage: true });
          }
        }
      }
    }
  } else {
    const assets = join(ROOT, 'docs', 'assets');
    mkdirSync(assets, { recursive: true });
    for (const [language, file] of [['en', 'console.png'], ['es', 'console.es.png']]) {
      await choose('language', language);
      await take(page, base, SHOWN, join(assets, file));
    }
  }
} finally {
  await browser.close();
  child.kill('SIGINT');
  await once(child, 'exit');
}
