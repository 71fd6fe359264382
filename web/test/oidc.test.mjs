// Signing in with a certified OpenID provider, in a real browser, and signing in on the command line.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, before, test } from 'node:test';
import { assertAccessible } from './a11y.mjs';
import { signedIn } from './console.mjs';
import { PATIENCE_MS, newContext, openBrowser, program, within } from './harness.mjs';
import { PEOPLE, loopbackPage, startWithProvider, throughProvider } from './provider.mjs';

let server, issuer, stop, browser;
before(async () => {
  [{ server, issuer, stop }, browser] = await Promise.all([startWithProvider(), openBrowser()]);
});
afterEach(() => Promise.all(browser.contexts().map((context) => context.close())));
after(() => Promise.all([browser?.close(), stop?.()]));

/** Opens a page of a person who is not signed in. */
async function open(path) {
  const page = await loopbackPage(await newContext(browser));
  page.setDefaultTimeout(PATIENCE_MS);
  await page.goto(server.url + path);
  return page;
}

const user = (id) => server.admin.call('GET', `/v1/users/${id}`);

test('a person signs in with the provider, gets the mapped role and returns to the page', async () => {
  const page = await open('/queues');
  assert.equal(new URL(page.url()).pathname, '/sign-in');
  await assertAccessible(page);
  await throughProvider(page, server, 'sub-ana');
  await page.getByRole('heading', { name: 'Colas' }).waitFor();
  assert.equal(new URL(page.url()).pathname, '/queues');
  const { body } = await user('ana.perez');
  assert.deepEqual([body.name, body.role, body.identity], ['Ana Pérez', 'editor', { issuer, subject: 'sub-ana' }]);
  // The role follows the provider at the next sign-in.
  PEOPLE['sub-ana'].groups = ['ops'];
  await throughProvider(await open('/sign-in'), server, 'sub-ana');
  assert.equal((await user('ana.perez')).body.role, 'admin');
  // Without a mapped role, the sign-in is refused and the older session has ended.
  PEOPLE['sub-ana'].groups = [];
  const refused = await open('/sign-in');
  await throughProvider(refused, server, 'sub-ana');
  await refused.getByRole('alert').getByText('no tiene ningún rol aquí').waitFor();
  await page.goto(`${server.url}/queues`);
  assert.equal(new URL(page.url()).pathname, '/sign-in');
  PEOPLE['sub-ana'].groups = ['staff'];
});

test('a person without a mapped role is refused and not added', async () => {
  const page = await open('/sign-in');
  await throughProvider(page, server, 'sub-guest');
  await page.getByRole('alert').getByText('no tiene ningún rol aquí').waitFor();
  assert.equal((await user('guest')).status, 404);
});

test('a user that exists locally is refused until an administrator links it', async () => {
  await server.command('user', 'add', 'leo', '--role', 'viewer');
  const page = await open('/sign-in');
  await throughProvider(page, server, 'sub-leo');
  await page.getByRole('alert').getByText('no está vinculado').waitFor();
  await server.command('user', 'link', 'leo', '--issuer', issuer, '--subject', 'sub-leo');
  // The provider remembers the person, so it only redirects.
  await page.getByRole('link', { name: 'Entrar con localhost' }).click();
  await page.waitForURL((url) => url.origin === server.url && url.pathname === '/');
  assert.equal((await user('leo')).body.role, 'editor');
});

test('signing out ends the session here and at the provider', async () => {
  const page = await open('/sign-in');
  await throughProvider(page, server, 'sub-olga');
  await page.getByRole('button', { name: 'Salir', exact: true }).click();
  await page.getByRole('button', { name: 'Yes, sign me out' }).click();
  await page.waitForURL(`${server.url}/sign-in`);
  await page.goto(`${server.url}/queues`);
  assert.equal(new URL(page.url()).pathname, '/sign-in');
  await page.getByRole('link', { name: 'Entrar con localhost' }).click();
  await page.getByPlaceholder('Enter any login').waitFor();
});

test('a person with a password signs in beside the provider', async () => {
  const page = await signedIn(browser, server, server.admin);
  await page.getByRole('button', { name: 'Salir', exact: true }).click();
  await page.waitForURL(`${server.url}/sign-in`);
});

test('while passwords are off, only the provider and a break-glass link sign in', async () => {
  const strict = await startWithProvider({ only: true });
  try {
    const page = await loopbackPage(await newContext(browser));
    await page.goto(`${strict.server.url}/sign-in`);
    assert.equal(await page.getByLabel('Contraseña').count(), 0);
    await assertAccessible(page);
    await throughProvider(page, strict.server, 'sub-olga');
    await page.getByRole('button', { name: 'Salir', exact: true }).waitFor();
    await strict.server.password('eva', 'una clave larga');
    const body = JSON.stringify({ user: 'eva', password: 'una clave larga' });
    const refused = await fetch(`${strict.server.url}/sign-in`, { method: 'POST', body });
    assert.deepEqual([refused.status, (await refused.json()).code], [403, 'passwords_off']);
    const link = await strict.server.command('user', 'break-glass', 'eva');
    const eva = await loopbackPage(await newContext(browser));
    await eva.goto(strict.server.url + new URL(link).pathname + new URL(link).search);
    // Depending on the server, the link signs in at once or after a confirmation.
    const confirm = eva.locator('main form button[type=submit]');
    if (new URL(eva.url()).pathname === '/sign-in') await confirm.click();
    await eva.getByRole('button', { name: 'Salir', exact: true }).waitFor();
  } finally {
    await strict.stop();
  }
});

test('turno login signs the command line in through the provider, and turno logout ends that', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'turno-login-'));
  const env = { ...process.env, XDG_CONFIG_HOME: folder, LC_ALL: 'C' };
  delete env.TURNO_TOKEN;
  const turno = (...args) => {
    const child = spawn(program(), [...args, '--server', server.url], { env, stdio: ['ignore', 'pipe', 'pipe'] });
    const said = { stdout: '', stderr: '' };
    for (const name of ['stdout', 'stderr']) child[name].on('data', (data) => (said[name] += data));
    const ended = new Promise((resolve) => child.once('close', (code) => resolve({ code, ...said })));
    const address = new Promise((resolve) => {
      child.stderr.on('data', () => {
        const found = /(http:\S+\/login\?\S+)\s/.exec(said.stderr);
        if (found) resolve(found[1]);
      });
    });
    return { ended: within(`the end of turno ${args[0]}`, ended, 3 * PATIENCE_MS), address };
  };
  try {
    const login = turno('login', '--no-browser');
    const page = await loopbackPage(await newContext(browser));
    await page.goto(await within('the address', login.address));
    await throughProvider(page, server, 'sub-ana');
    await page.getByRole('heading', { name: 'Entrar en la línea de comandos' }).waitFor();
    await assertAccessible(page);
    await page.getByRole('button', { name: 'Permitir el acceso' }).click();
    await page.getByText('Signed in. You can close this page.').waitFor();
    const { code, stderr } = await login.ended;
    assert.equal(code, 0, stderr);
    const file = join(folder, 'turno', 'credentials.toml');
    assert.equal(statSync(file).mode & 0o777, 0o600);
    assert.match(readFileSync(file, 'utf8'), /user = "ana\.perez"/);
    const list = await turno('lease', 'list', '--json').ended;
    assert.equal(list.code, 0, list.stderr);
    const [, token] = /token = "(\S+)"/.exec(readFileSync(file, 'utf8'));
    const out = await turno('logout').ended;
    assert.equal(out.code, 0, out.stderr);
    assert.doesNotMatch(readFileSync(file, 'utf8'), /turno_/);
    const me = await fetch(`${server.url}/v1/me`, { headers: { authorization: `Bearer ${token}` } });
    assert.equal(me.status, 401);
    assert.equal((await turno('lease', 'list').ended).code, 1);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
