// People at the console: signed in, looked at, and photographed.

import { mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { ROOT, newContext } from './harness.mjs';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
/** Pictures are looked at by people; nothing compares them. */
export const PICTURES = process.env.TURNO_SCREENSHOTS ?? join(ROOT, 'target', 'screenshots');
const PASSWORD = 'una clave larga';
export const PHONE = { width: 390, height: 844 };

/** A browser of their own in which this person is signed in, by the visible form. */
export async function signedIn(browser, server, person, options = {}) {
  if (!person.hasPassword) await server.password(person.id, PASSWORD);
  person.hasPassword = true;
  const context = await newContext(browser, { viewport: { width: 1180, height: 820 }, ...options });
  const page = await context.newPage();
  const english = options.locale?.startsWith('en');
  await page.goto(`${server.url}/sign-in`);
  await page.getByLabel(english ? 'User' : 'Usuario', { exact: true }).fill(person.id);
  await page.getByLabel(english ? 'Password' : 'Contraseña', { exact: true }).fill(PASSWORD);
  await page.getByRole('button', { name: english ? 'Sign in' : 'Entrar', exact: true }).click();
  await page.waitForURL((url) => url.pathname !== '/sign-in');
  return page;
}

/** A picture of what is seen now. */
export async function picture(page, name) {
  mkdirSync(PICTURES, { recursive: true });
  await page.screenshot({ path: join(PICTURES, `${name}.png`), fullPage: true });
}

/** What axe-core finds serious or critical; nothing, if all is well. */
export async function barriers(page) {
  // Not as a script of the page: its own policy would rightly refuse that.
  const found = await page.evaluate(async (source) => {
    new Function(source)();
    const { violations } = await globalThis.axe.run(document, { resultTypes: ['violations'] });
    return violations
      .filter(({ impact }) => impact === 'serious' || impact === 'critical')
      .map(({ id, nodes }) => `${id}: ${nodes.map(({ target }) => target.join(' ')).join(', ')}`);
  }, AXE);
  return found;
}
