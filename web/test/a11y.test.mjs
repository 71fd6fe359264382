// Accessibility of the pages without a session, and a control that shows the check failing.

import assert from 'node:assert/strict';
import { statSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { accessibilityProblems, assertAccessible, overflowsSideways, screenshots } from './a11y.mjs';
import { Server, newContext, openBrowser, site } from './harness.mjs';
import { start } from '../../examples/browser/server.mjs';

let server, browser, application, broken;
before(async () => {
  [server, browser] = await Promise.all([Server.start(), openBrowser()]);
  application = await start({ turno: server.url, token: server.admin.token, port: 0 });
  const body =
    '<!doctype html><title></title><input><img src="/x.png"><p style="width:3000px;color:#ccc">casi no se lee</p>';
  broken = await site({ routes: { '/': () => ({ type: 'text/html', body }) } });
});
after(() => Promise.all([browser?.close(), server?.stop(), application?.stop(), broken?.stop()]));

async function open(url) {
  const page = await (await newContext(browser)).newPage();
  await page.goto(url);
  return page;
}

test('the example of the guide and the sign-in pages have no serious accessibility problem', async () => {
  // Of the API documentation only the navigation, because checking eighty operations takes too long.
  for (const [url, within] of [
    [application.url],
    [`${server.url}/sign-in`],
    [server.url],
    [`${server.url}/docs`, 'nav'],
  ]) {
    const page = await open(url);
    await assertAccessible(page, { within });
    await page.setViewportSize({ width: 390, height: 844 });
    assert.equal(await overflowsSideways(page), false, `${url} is wider than a phone`);
    await page.close();
  }
});

test('a page with accessibility mistakes fails the check', async () => {
  const page = await open(broken.url);
  const problems = (await accessibilityProblems(page)).join('\n');
  for (const rule of ['label', 'image-alt', 'html-has-lang', 'document-title', 'color-contrast']) {
    assert.match(problems, new RegExp(` ${rule}:`));
  }
  assert.equal(await overflowsSideways(page), true);
  await assert.rejects(assertAccessible(page), /image-alt/);
});

test('pictures show a page in light and dark colours', async () => {
  const page = await open(`${server.url}/sign-in`);
  const size = page.viewportSize();
  const files = await screenshots(page, 'sign-in');
  assert.equal(files.length, 3);
  for (const file of files) assert.ok(statSync(file).size > 1_000, file);
  assert.deepEqual(page.viewportSize(), size);
});
