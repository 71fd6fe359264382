// Pages whose knowledge is outdated: an ended task, a lock that is no longer renewed, a holder without news.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Server, newContext, openBrowser, stopClock, until } from './harness.mjs';
import { openPage } from './page.mjs';
import { readyTask, signedIn } from './console.mjs';

const SHORT = { ttl_ms: 3_000, max_ttl_ms: 180_000, heartbeat_interval_ms: 300, offer_ms: 5_000 };
let server, browser, ana, leo;
before(async () => {
  [server, browser] = await Promise.all([Server.start({ leases: { default: SHORT } }), openBrowser()]);
  ana = await server.person('ana', 'editor', 'Ana');
  leo = await server.person('leo', 'editor', 'Leo');
});
after(() => Promise.all([browser?.close(), server?.stop()]));

const open = async (person, resource, options) =>
  openPage(await newContext(browser), server, person, resource, options);

for (const [verb, status] of [['finalize', 'completed'], ['cancel', 'cancelled']]) {
  test(`a person in line for a task gets no offer but sees that it is ${status}`, async () => {
    const id = await readyTask(ana, [{ kind: 'quantity', sku: 'a', quantity: 1 }]);
    const { body: lock } = await ana.call('POST', `/v1/tasks/${id}/claim`, { ttl_ms: 120_000 });
    const his = await open(leo, `task:${id}`);
    await his.page.evaluate(() => lease.takeTurn());
    assert.equal((await his.hears('turn')).position, 1);
    const ended = await ana.call('POST', `/v1/tasks/${id}/${verb}`, verb === 'finalize' ? { fence: lock.fence } : {});
    assert.equal(ended.status, 200);
    const told = await his.hears('turn', 2);
    assert.deepEqual([told.position, told.missed, told.over], [null, false, status]);
    await his.becomes('free');
    assert.deepEqual(await his.events('offered'), []);
  });
}

test('a person without rights is unknown at once, has lost the lease at its expiry, and sees the next holder', async () => {
  const hers = await open(ana, 'caja:1');
  await hers.claim();
  await hers.becomes('held');
  assert.equal((await server.admin.call('PATCH', '/v1/users/ana', { role: 'viewer' })).status, 200);
  const refused = await hers.hears('error');
  assert.equal(refused.error.code, 'forbidden');
  const story = await hers.story();
  assert.match(story, /unknown/, 'before the time is up');
  await hers.becomes('lost');
  assert.equal((await hers.hears('lost')).cause, 'forbidden');
  // The page ends its grant a moment before the server does.
  await until('free', () => leo.lease('caja:1'), ({ state }) => state === 'free');
  // Longer than her page needs to hear of the claim.
  assert.equal((await leo.call('POST', '/v1/leases/caja:1/claim', { ttl_ms: 120_000 })).status, 200);
  await hers.page.waitForFunction(() => lease.lease.holder?.name === 'Leo');
  assert.equal(await hers.state(), 'lost');
  // The control: the lease is never held again after the first refusal.
  const after = (await hers.events()).slice((await hers.events()).findIndex(({ name }) => name === 'error'));
  assert.deepEqual(after.filter(({ name, state }) => name === 'held' || state === 'held'), []);
  await server.admin.call('PATCH', '/v1/users/ana', { role: 'editor' });
});

test('a page without a connection does not show a holder after the known expiry', async () => {
  const his = await open(leo, 'caja:2');
  await ana.claim('caja:2', { ttl_ms: 8_000 });
  await his.becomes('other');
  await his.page.context().setOffline(true);
  await his.becomes('unknown');
  await his.hears('unknown');
  await his.page.context().setOffline(false);
  await his.becomes('free');
});

test('the list of locks and the page of a lock show its expiry in time', async () => {
  const [list, one] = [await signedIn(browser, server, ana), await signedIn(browser, server, leo)];
  await Promise.all([list, one].map((page) => page.clock.install()));
  await leo.claim('caja:3', { ttl_ms: 12_000 });
  await Promise.all([list.goto(`${server.url}/leases`), one.goto(`${server.url}/leases/caja%3A3`)]);
  const row = list.getByRole('row', { name: /caja:3/ });
  await row.waitFor();
  await one.getByText(/Bloquead. por Leo/).first().waitFor();
  await Promise.all([list, one].map(stopClock));
  await until('free', () => leo.lease('caja:3'), ({ state }) => state === 'free');
  // Shorter than the interval at which the page is read without a reason.
  await Promise.all([list, one].map((page) => page.clock.runFor(13_000)));
  await Promise.all([
    row.waitFor({ state: 'detached' }),
    one.getByRole('heading', { name: /por Leo/ }).waitFor({ state: 'detached' }),
  ]);
});
