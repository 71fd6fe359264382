// An application that is not Turno: it knows its own users, serves its own page, and keeps its own data.
//
//   TURNO_URL=http://127.0.0.1:7171 TURNO_TOKEN=… node server.mjs
//
// The token needs `sessions.mint` (and what it passes on). The page's origin must be listed in `cors_origins`.

import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { pathToFileURL } from 'node:url';

const page = readFileSync(new URL('invoice.html', import.meta.url), 'utf8');

/** Starts it; `turno` is the server's address as browsers see it. */
export async function start({ turno, token, port = 8000 }) {
  const invoice = { total: '0', fence: 0 };

  async function call(method, path, body) {
    const headers = { authorization: `Bearer ${token}` };
    const answer = await fetch(turno + path, { method, headers, body: body && JSON.stringify(body) });
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
    return answer.json();
  }

  /** Creates a short-lived token for the signed-in user, valid for invoices only. */
  function session(user) {
    const permissions = ['leases.use'];
    return call('POST', '/v1/sessions', { user, permissions, resources: ['invoice:'], ttl_s: 900 });
  }

  /** Whether this user holds the invoice now, under this fence. */
  async function holds(user, fence) {
    const lease = await call('GET', '/v1/leases/invoice:7');
    return lease.state === 'locked' && lease.fence === fence && lease.holder.id === user.id;
  }

  /** Stamps the fence, then reads. From here on a write under an older fence cannot change what this holder has read. */
  async function open(user, fence) {
    if (!(await holds(user, fence)) || fence < invoice.fence) return { status: 409, body: '{}' };
    invoice.fence = fence;
    return { body: JSON.stringify(invoice) };
  }

  /** Writes under the stamped fence only. `holds` is not enough: the lock may change hands while its answer arrives. */
  async function write(user, fence, changes) {
    if (!(await holds(user, fence)) || fence !== invoice.fence) return { status: 409, body: '{}' };
    Object.assign(invoice, changes, { fence });
    return { body: JSON.stringify(invoice) };
  }

  const routes = {
    'GET /': () => ({ type: 'text/html', body: page.replaceAll('{{turno}}', turno) }),
    'GET /turno/session': async (user) => ({ body: JSON.stringify(await session(user)) }),
    'GET /invoices/7': () => ({ body: JSON.stringify(invoice) }),
    'POST /invoices/7/open': (user, request) => open(user, fenceOf(request)),
    'PUT /invoices/7': async (user, request) => write(user, fenceOf(request), JSON.parse(await text(request))),
  };

  const server = createServer(async (request, response) => {
    const { pathname } = new URL(request.url, 'http://here');
    const route = routes[`${request.method} ${pathname}`];
    try {
      const answer = route ? await route(signedIn(request), request) : { status: 404, body: '{}' };
      response.writeHead(answer.status ?? 200, {
        'content-type': `${answer.type ?? 'application/json'}; charset=utf-8`,
      });
      response.end(answer.body);
    } catch (error) {
      response.writeHead(500).end(String(error));
    }
  });
  await new Promise((resolve) => server.listen(port, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    invoice,
    stop: () => new Promise((resolve) => (server.closeAllConnections(), server.close(resolve))),
  };
}

/** Returns the signed-in user. This example trusts a cookie with a name; your application checks its own session. */
function signedIn(request) {
  const id = /(?:^|; )user=(\w+)/.exec(request.headers.cookie ?? '')?.[1] ?? 'nadie';
  return { id, name: id[0].toUpperCase() + id.slice(1) };
}

function fenceOf(request) {
  return Number(request.headers['x-turno-fence']);
}

async function text(request) {
  let all = '';
  for await (const part of request) all += part;
  return all;
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const { TURNO_URL = 'http://127.0.0.1:7171', TURNO_TOKEN: token, PORT = 8000 } = process.env;
  const { url } = await start({ turno: TURNO_URL, token, port: Number(PORT) });
  console.log(`listening on ${url}; sign in with document.cookie = 'user=ana'`);
}
