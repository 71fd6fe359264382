// A certified OpenID provider (npm `oidc-provider`) with people, and a server that signs them in with it.
//
// The provider has the host name `localhost` and the server 127.0.0.1, so that they are different sites to a browser.

import { createServer } from 'node:http';
import Provider from 'oidc-provider';
import { Server } from './harness.mjs';

const CLIENT = { client_id: 'turno', client_secret: 'a secret & more' };

/** The people of the provider, by their subjects. Tests may change them. */
export const PEOPLE = {
  'sub-ana': { preferred_username: 'ana.perez', name: 'Ana Pérez', groups: ['staff'] },
  'sub-olga': { preferred_username: 'olga', name: 'Olga Sanz', groups: ['staff', 'ops'] },
  'sub-leo': { preferred_username: 'leo', name: 'Leo Díaz', groups: ['staff'] },
  'sub-guest': { preferred_username: 'guest', name: 'Guest', groups: ['visitors'] },
};

/** Starts a server and a provider that know each other. `only` turns passwords off. */
export async function startWithProvider({ only = false } = {}) {
  const site = createServer();
  await new Promise((resolve) => site.listen(0, '127.0.0.1', resolve));
  const issuer = `http://localhost:${site.address().port}`;
  const tables = [
    '[oidc]',
    `issuer = "${issuer}"`,
    `client_id = "${CLIENT.client_id}"`,
    'client_secret_env = "TEST_OIDC_SECRET"',
    'roles = { staff = "editor", ops = "admin" }',
    `only = ${only}`,
  ];
  const env = { TEST_OIDC_SECRET: CLIENT.client_secret };
  const server = await Server.start({ tables: `${tables.join('\n')}\n`, env });
  const provider = new Provider(issuer, {
    clients: [
      {
        ...CLIENT,
        redirect_uris: [`${server.url}/oidc/callback`],
        post_logout_redirect_uris: [`${server.url}/sign-in`],
      },
    ],
    claims: { profile: ['name', 'preferred_username', 'groups'] },
    findAccount: (_, subject) => ({
      accountId: subject,
      claims: () => ({ sub: subject, ...PEOPLE[subject] }),
    }),
    pkce: { required: () => true },
    cookies: { keys: ['only for tests'] },
  });
  site.on('request', provider.callback());
  const stop = () => Promise.all([server.stop(), new Promise((done) => site.closeAllConnections() ?? site.close(done))]);
  return { server, issuer, stop };
}

/** Opens a page that reaches loopback addresses only: the provider's pages name fonts of other hosts. */
export async function loopbackPage(context) {
  await context.route(
    ({ hostname }) => !['127.0.0.1', 'localhost'].includes(hostname),
    (route) => route.abort(),
  );
  return context.newPage();
}

/** Signs in at the provider, from the sign-in page of the server, and waits until the provider leads back. */
export async function throughProvider(page, server, subject) {
  await page.getByRole('link', { name: 'Entrar con localhost' }).click();
  await page.getByPlaceholder('Enter any login').fill(subject);
  await page.getByPlaceholder('and password').fill('any');
  await page.getByRole('button', { name: 'Sign-in' }).click();
  await page.getByRole('button', { name: 'Continue' }).click();
  await page.waitForURL((url) => url.origin === server.url);
}
