// The pages that are there today, and that the check itself can fail.

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

test('the example of the guide, and the doors of the server, have nothing serious against them', async () => {
  // Of the documentation only the way around: to look at eighty operations takes longer than everything else.
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

test('a page with mistakes is found out', async () => {
  const page = await open(broken.url);
  const problems = (await accessibilityProblems(page)).join('\n');
  for (const rule of ['label', 'image-alt', 'html-has-lang', 'document-title', 'color-contrast']) {
    assert.match(problems, new RegExp(` ${rule}:`));
  }
  assert.equal(await overflowsSideways(page), true);
  await assert.rejects(assertAccessible(page), /image-alt/);
});

test('a page can be looked at in every light', async () => {
  const page = await open(`${server.url}/sign-in`);
  const size = page.viewportSize();
  const files = await screenshots(page, 'sign-in');
  assert.equal(files.length, 3);
  for (const file of files) assert.ok(statSync(file).size > 1_000, file);
  assert.deepEqual(page.viewportSize(), size);
});
