// The element <turno-lease>, and the module and types that the server serves.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { PATIENCE_MS, ROOT, Server, newContext, openBrowser, until } from './harness.mjs';

let server, browser, ana, leo;
before(async () => {
  [server, browser] = await Promise.all([Server.start(), openBrowser()]);
  ana = await server.person('ana', 'editor', 'Ana');
  leo = await server.person('leo', 'editor', 'Leo');
});
after(() => Promise.all([browser?.close(), server?.stop()]));

/** Opens a page on the origin of the server with this body; `token` is Ana's token. */
async function open(body) {
  const page = await (await newContext(browser)).newPage();
  page.setDefaultTimeout(PATIENCE_MS);
  const html = `<!doctype html><html lang="es"><title>page</title><script>const token = '${ana.token}'</script>${body}`;
  await page.route('**/test-page', (route) => route.fulfill({ contentType: 'text/html', body: html }));
  await page.goto(`${server.url}/test-page`);
  return page;
}

const load = (page) => page.evaluate(() => import('/turno.js').then(() => {}));
const state = (page, wanted) => page.locator(`turno-lease[state=${wanted}]`).first().waitFor();
const held = async (resource) => (await leo.lease(resource)).state;

test('a token that was set before the module was loaded is used', async () => {
  const page = await open('<turno-lease resource="caja:1">x</turno-lease>');
  await page.evaluate(() => (document.querySelector('turno-lease').token = token));
  await load(page);
  await state(page, 'free');
  assert.equal(await page.evaluate(() => document.querySelector('turno-lease').token === token), true);
});

test('moving the element within the page keeps the lease, and removing it releases the lease', async () => {
  const page = await open('<main></main><turno-lease resource="caja:2">x</turno-lease>');
  await load(page);
  const fence = await page.evaluate(async () => {
    globalThis.box = document.querySelector('turno-lease');
    box.token = token;
    await Promise.resolve();
    await box.claim();
    document.querySelector('main').append(box);
    await Promise.resolve();
    return box.fence;
  });
  await state(page, 'held');
  assert.equal((await leo.lease('caja:2')).fence, fence);
  await page.evaluate(() => box.remove());
  await until(
    'free',
    () => held('caja:2'),
    (state) => state === 'free',
  );
  assert.equal(await page.evaluate(() => box.lease), null);
});

test('changing the attribute `resource` releases the first lease', async () => {
  const page = await open('<turno-lease resource="caja:3">x</turno-lease>');
  await page.evaluate(() => (document.querySelector('turno-lease').token = token));
  await load(page);
  await page.evaluate(() => document.querySelector('turno-lease').claim());
  await state(page, 'held');
  await page.evaluate(() => document.querySelector('turno-lease').setAttribute('resource', 'caja:4'));
  await until(
    'free',
    () => held('caja:3'),
    (state) => state === 'free',
  );
  await state(page, 'free');
  await page.evaluate(() => document.querySelector('turno-lease').claim());
  assert.equal(await held('caja:4'), 'locked');
});

test('buttons, texts and visibility follow the state of the element around them', async () => {
  const inside = (name) => `
    <button data-turno-action="claim" data-turno-show="free">Procesar ${name}</button>
    <button data-turno-action="release" data-turno-enable="held">Soltar ${name}</button>
    <p data-turno-show="other">De <b data-turno-text="holder"></b></p>`;
  const page = await open(`
    <turno-lease resource="caja:5">${inside('uno')}
      <turno-lease resource="caja:6">${inside('dos')}</turno-lease>
    </turno-lease>`);
  await leo.claim('caja:6');
  await page.evaluate(() => document.querySelectorAll('turno-lease').forEach((box) => (box.token = token)));
  await load(page);
  const button = (name) => page.getByRole('button', { name, exact: true });
  await page.getByText('De Leo').waitFor();
  assert.equal(await button('Procesar dos').isVisible(), false);
  assert.equal(await button('Soltar uno').isDisabled(), true);
  await button('Procesar uno').click();
  await until(
    'held',
    () => held('caja:5'),
    (state) => state === 'locked',
  );
  await until('enabled', () => button('Soltar uno').isEnabled());
  assert.equal(await button('Soltar dos').isDisabled(), true);
  await button('Soltar uno').click();
  await button('Procesar uno').waitFor();
  assert.deepEqual([await held('caja:5'), await held('caja:6')], ['free', 'locked']);
});

test('many elements of one page share one stream, and each shows its own lease', async () => {
  const boxes = Array.from({ length: 12 }, (_, i) => `<turno-lease resource="fila:${i}">x</turno-lease>`);
  const page = await open(boxes.join(''));
  const streams = [];
  page.on('request', (request) => request.url().includes('/v1/events') && streams.push(request.url()));
  await leo.claim('fila:3');
  await page.evaluate(() => document.querySelectorAll('turno-lease').forEach((box) => (box.token = token)));
  await load(page);
  const count = (state) => page.locator(`turno-lease[state=${state}]`).count();
  await until('all of them', async () => [await count('free'), await count('other')].join() === '11,1');
  await leo.claim('fila:5');
  await until('one more', () => count('other'), (number) => number === 2);
  assert.equal(streams.length, 1);
});

test('a failed action dispatches the event `error`', async () => {
  const page = await open(
    '<turno-lease resource="caja:7"><button data-turno-action="claim">Procesar</button></turno-lease>',
  );
  await leo.claim('caja:7');
  await page.evaluate(() => {
    const box = document.querySelector('turno-lease');
    box.token = token;
    box.addEventListener('error', ({ detail }) => (globalThis.code = detail.error.code));
  });
  await load(page);
  await state(page, 'other');
  await page.getByRole('button', { name: 'Procesar' }).click();
  await page.waitForFunction(() => globalThis.code === 'lease_held');
});

test('a failed action shows its error in the element, in the language of the page, until the next action', async () => {
  const inside = '<button data-turno-action="claim">x</button>';
  for (const [lang, silent, refused] of [
    ['es', 'El servidor no contestó. Pruebe de nuevo.', /(tiene|por) Leo/],
    ['en', 'The server did not answer. Try again.', /^Held by Leo/],
  ]) {
    const resource = `caja:said-${lang}`;
    const page = await open(`<main lang="${lang}"><turno-lease resource="${resource}">${inside}</turno-lease></main>`);
    await page.evaluate(() => (document.querySelector('turno-lease').token = token));
    await load(page);
    await state(page, 'free');
    const alert = page.locator('turno-lease').getByRole('alert');
    await page.route('**/claim', (route) => route.abort());
    await page.getByRole('button').click();
    await alert.getByText(silent).waitFor();
    await page.unroute('**/claim');
    await leo.claim(resource);
    await state(page, 'other');
    await alert.waitFor({ state: 'detached' });
    await page.getByRole('button').click();
    // The language of the page counts, not that of the browser.
    await alert.getByText(refused).waitFor();
  }
});

test('the error of a failed action goes to the node that the page has for it', async () => {
  const page = await open(
    '<turno-lease resource="caja:own"><p role="status">No: <b data-turno-text="error"></b></p><button data-turno-action="claim">x</button></turno-lease>',
  );
  await page.evaluate(() => (document.querySelector('turno-lease').token = token));
  await load(page);
  await state(page, 'free');
  await page.route('**/claim', (route) => route.abort());
  await page.getByRole('button').click();
  await page.getByRole('status').getByText('El servidor no contestó').waitFor();
  assert.equal(await page.getByRole('alert').count(), 0);
});

test('the focus stays in the element when the pressed button is hidden', async () => {
  const page = await open(`
    <turno-lease resource="caja:focus">
      <button data-turno-action="claim" data-turno-show="free">Procesar</button>
      <button data-turno-action="release" data-turno-show="held">Soltar</button>
      <input data-turno-enable="held" aria-label="Total">
    </turno-lease>
    <turno-lease resource="caja:bare"><button data-turno-action="claim" data-turno-show="free">Tomar</button></turno-lease>`);
  await page.evaluate(() => document.querySelectorAll('turno-lease').forEach((box) => (box.token = token)));
  await load(page);
  const stands = () => page.evaluate(() => document.activeElement.ariaLabel ?? document.activeElement.getAttribute('resource') ?? document.activeElement.tagName);
  const press = async (name) => {
    await page.getByRole('button', { name }).focus();
    await page.keyboard.press('Enter');
  };
  await press('Procesar');
  await until('the field', stands, (found) => found === 'Total');
  await press('Soltar');
  await page.getByRole('button', { name: 'Procesar' }).waitFor();
  assert.equal(await stands(), 'caja:focus');
  await press('Tomar');
  await until('held', () => held('caja:bare'), (state) => state === 'locked');
  await page.locator('turno-lease[resource="caja:bare"][state=held]').waitFor({ state: 'attached' });
  assert.equal(await stands(), 'caja:bare');
  await page.keyboard.press('Tab');
  assert.equal(await page.locator('turno-lease[tabindex]').count(), 0, 'it is no stop of its own');
});

test('the server serves the module and its types of the repository to every origin', async () => {
  for (const [name, kind] of [
    ['turno.js', 'text/javascript'],
    ['turno.d.ts', 'text/plain'],
  ]) {
    const response = await fetch(`${server.url}/${name}`);
    assert.ok(response.headers.get('content-type').startsWith(kind), name);
    assert.equal(response.headers.get('access-control-allow-origin'), '*');
    const same = (await response.text()) === readFileSync(join(ROOT, 'web', name), 'utf8');
    assert.ok(same, `${name}: build the program again`);
  }
});

test('the module imports nothing', () => {
  const text = readFileSync(join(ROOT, 'web', 'turno.js'), 'utf8');
  assert.doesNotMatch(text, /^\s*import\b(?!\.meta)/m);
  assert.doesNotMatch(text, /\bimport\(/);
});

test('turno.d.ts declares exactly the exports and members of the module', async () => {
  const module = await import('../turno.js');
  const types = readFileSync(join(ROOT, 'web', 'turno.d.ts'), 'utf8');
  const declared = [...types.matchAll(/^export (?:class|function|const) (\w+)/gm)].map(([, name]) => name);
  assert.deepEqual(declared.sort(), Object.keys(module).sort());
  for (const [name, value] of Object.entries(module)) {
    if (!/^class /.test(Function.prototype.toString.call(value))) continue;
    const [, body] = new RegExp(`^export class ${name} [^{]*\\{\\n([^]*?)^\\}`, 'm').exec(types);
    const members = new Set(
      [...body.matchAll(/^  (?:static )?(?:readonly )?(?:[gs]et )?(\w+)[(<:?]/gm)].map(([, member]) => member),
    );
    for (const member of Object.getOwnPropertyNames(value.prototype)) {
      assert.ok(members.has(member), `${name}.${member} is not declared`);
    }
    const real = new Set([...Object.getOwnPropertyNames(value.prototype), ...fields(value)]);
    for (const member of members) assert.ok(real.has(member), `${name}.${member} is declared and not there`);
  }
});

/** Returns the properties that a constructor sets, the static members, and the inherited member with a narrower type. */
function fields(value) {
  const text = Function.prototype.toString.call(value);
  const set = [...text.matchAll(/\bthis\.(\w+) = /g)].map(([, name]) => name);
  return [...set, ...Object.getOwnPropertyNames(value), 'addEventListener'];
}
