// The backend of examples/browser without a browser: the order of its own writes, with a Turno that the test controls.

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { after, before, test } from 'node:test';
import { start } from '../../examples/browser/server.mjs';

let holder, turno, application;
before(async () => {
  const answer = async (response) => {
    const [user, fence, sent] = holder;
    await sent;
    response.end(JSON.stringify({ state: 'locked', fence, holder: { id: user } }));
  };
  turno = createServer((_, response) => answer(response));
  await new Promise((resolve) => turno.listen(0, '127.0.0.1', resolve));
  application = await start({ turno: `http://127.0.0.1:${turno.address().port}`, token: 'none', port: 0 });
});
after(() => (turno?.close(), application?.stop()));

const call = (user, fence, method, path, body) =>
  fetch(application.url + path, { method, headers: { cookie: `user=${user}`, 'x-turno-fence': String(fence) }, body });
const open = (user, fence) => call(user, fence, 'POST', '/invoices/7/open');
const write = (user, fence, total) => call(user, fence, 'PUT', '/invoices/7', JSON.stringify({ total }));

test('a write of the previous holder cannot change the invoice after the next holder has read it', async () => {
  holder = ['ana', 10];
  assert.equal((await open('ana', 10)).status, 200);
  assert.equal((await write('ana', 10, '1')).status, 200, 'the control: the holder may write');

  // Turno has decided that Ana holds the invoice, and its answer is on the way while the lock changes hands.
  const asked = new Promise((resolve) => turno.once('request', resolve));
  let send;
  holder = ['ana', 10, new Promise((resolve) => (send = resolve))];
  const late = write('ana', 10, '999');
  await asked;
  holder = ['leo', 11];
  const read = await (await open('leo', 11)).json();
  send();

  assert.equal((await late).status, 409);
  assert.equal(read.total, '1');
  assert.equal(application.invoice.total, '1', 'the invoice is as Leo has read it');
  assert.equal((await write('leo', 11, '2')).status, 200);
});

test('a write under a fence that has not opened the invoice is refused', async () => {
  holder = ['ana', 20];
  assert.equal((await write('ana', 20, '3')).status, 409);
  assert.equal((await open('ana', 20)).status, 200);
  assert.equal((await write('ana', 20, '3')).status, 200);
  assert.equal((await open('leo', 20)).status, 409, 'another user has the lock');
});
