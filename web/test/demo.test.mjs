// The links that `turno demo` prints: two people side by side in one browser.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { after, before, test } from 'node:test';
import { newContext, openBrowser, program, within } from './harness.mjs';

let demo, browser;
const said = [];
before(async () => {
  browser = await openBrowser();
  demo = spawn(program(), ['demo', '--listen', '127.0.0.1:0'], { stdio: ['ignore', 'pipe', 'inherit'] });
  const lines = createInterface({ input: demo.stdout });
  const listens = new Promise((resolve) => lines.on('line', (line) => said.push(line) && line.startsWith('listening on') && resolve()));
  await within('the demo', listens);
});
after(() => Promise.all([browser?.close(), demo?.kill()]));

const linkOf = (name) => said.find((line) => line.startsWith(`  ${name} `)).match(/http\S+/)[0];

test('the links of the demo sign in two people side by side in one browser, each time they are opened', async () => {
  const context = await newContext(browser);
  const opened = async (name) => {
    const page = await context.newPage();
    await page.goto(linkOf(name));
    await page.getByRole('banner').getByText(name, { exact: true }).waitFor();
    return page;
  };
  const [ana, leo] = [await opened('Ana'), await opened('Leo')];
  await ana.reload();
  for (const [page, name] of [[ana, 'Ana'], [leo, 'Leo']]) {
    await page.getByRole('navigation').getByRole('link', { name: 'Tareas' }).click();
    await page.getByRole('banner').getByText(name, { exact: true }).waitFor();
  }
  await ana.close();
  await opened('Ana');
  await opened('Leo');
  const eva = await (await newContext(browser)).newPage();
  for (const times of [1, 2]) {
    await eva.goto(linkOf('Eva'));
    await eva.getByRole('banner').getByText('Eva', { exact: true }).waitFor();
    assert.equal(new URL(eva.url()).pathname, '/', `${times}`);
  }
});
