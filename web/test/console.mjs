// People in the console: each signs in with the visible form, in a browser context of their own.

import { newContext } from './harness.mjs';

const PASSWORD = 'una clave larga';
const WORDS = { es: ['Usuario', 'Contraseña', 'Entrar'], en: ['User', 'Password', 'Sign in'] };

export async function signedIn(browser, server, person, options = {}) {
  if (!person.hasPassword) await server.password(person.id, PASSWORD);
  person.hasPassword = true;
  const context = await newContext(browser, { viewport: { width: 1180, height: 820 }, ...options });
  const page = await context.newPage();
  const [user, password, enter] = WORDS[(options.locale ?? 'es').slice(0, 2)];
  await page.goto(`${server.url}/sign-in`);
  await page.getByLabel(user, { exact: true }).fill(person.id);
  await page.getByLabel(password, { exact: true }).fill(PASSWORD);
  await page.getByRole('button', { name: enter, exact: true }).click();
  await page.waitForURL((url) => url.pathname !== '/sign-in');
  return page;
}

/** Aborts all saves of this page until the returned function is called. */
export async function unsavable(page) {
  const saves = /\/lines\/\d+$/;
  await page.route(saves, (route) => route.abort());
  return () => page.unroute(saves);
}

/** Creates a task that can be processed, through the API. */
export async function readyTask(person, lines, title = 'Recepción de notebooks') {
  const { status, body } = await person.call('POST', '/v1/tasks', { title, lines, status: 'ready' });
  if (status !== 201) throw new Error(JSON.stringify(body));
  return body.id;
}
