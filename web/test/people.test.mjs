// Two people, two browsers, one lease.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { CALM, Server, newContext, openBrowser, until } from './harness.mjs';
import { openPage } from './page.mjs';

let server, browser, ana, leo, vera;
before(async () => {
  // Long offers, so that a busy machine can take them; `brief` is for the test in which the offer ends.
  const leases = { default: { ...CALM, offer_ms: 60_000 }, brief: CALM };
  [server, browser] = await Promise.all([Server.start({ leases }), openBrowser()]);
  ana = await server.person('ana', 'editor', 'Ana');
  leo = await server.person('leo', 'editor', 'Leo');
  vera = await server.person('vera', 'viewer', 'Vera');
});
after(() => Promise.all([browser?.close(), server?.stop()]));

/** Opens a tab in a new context. */
async function open(person, resource, options = {}) {
  return openPage(await newContext(browser), server, person, resource, options);
}

test('of two people in two browsers one holds the lease, and the other sees the holder', async () => {
  const [hers, his] = [await open(ana, 'caja:1'), await open(leo, 'caja:1')];
  await hers.becomes('free');
  const lease = await hers.claim();
  await hers.becomes('held');
  assert.equal(await hers.fence(), lease.fence);
  await his.becomes('other');
  assert.equal(await his.page.evaluate(() => lease.lease.holder.name), 'Ana');
  const refused = await his.page.evaluate(() =>
    lease.claim().catch((error) => ({ code: error.code, holder: error.problem.holder })),
  );
  assert.deepEqual([refused.code, refused.holder.id], ['lease_held', 'ana']);
  assert.equal(await his.fence(), null);
  await hers.release();
  await hers.becomes('free');
  await his.becomes('free');
  // The control: after the release, the page that was refused gets the lease with a new fence.
  const next = await his.claim();
  await hers.becomes('other');
  assert.ok(next.fence > lease.fence);
});

test('a force-claim by an admin makes the page lose the lease at once, with name and reason', async () => {
  const hers = await open(ana, 'caja:2');
  await hers.claim();
  await hers.becomes('held');
  const reason = 'Ana está de vacaciones';
  const forced = await server.admin.call('POST', '/v1/leases/caja:2/force-claim', { reason });
  assert.equal(forced.status, 200);
  const lost = await hers.hears('lost');
  assert.deepEqual(
    [lost.reason, lost.cause, lost.by, lost.note],
    ['forced', 'override', 'eva', 'Ana está de vacaciones'],
  );
  assert.match(lost.message, /Ana está de vacaciones/);
  assert.deepEqual([await hers.state(), await hers.fence(), lost.lease.holder.id], ['lost', null, 'eva']);
  // The page that lost the lease sends no further heartbeat.
  const beats = hers.beats().length;
  await hers.page.evaluate(() => lease.refresh());
  assert.equal(hers.beats().length, beats);
});

test('after a force-release by an admin the page can claim again with a new fence', async () => {
  const hers = await open(ana, 'caja:3');
  const before = await hers.claim();
  await server.admin.call('POST', '/v1/leases/caja:3/force-release', { reason: 'quedó abierta' });
  assert.equal((await hers.hears('lost')).cause, 'override');
  const after = await hers.claim();
  await hers.becomes('held');
  assert.ok(after.fence > before.fence);
});

test('after a loss a refused claim shows the holder, and a place in line leads to an offer', async () => {
  const hers = await open(ana, 'caja:10');
  await hers.claim();
  await server.admin.call('POST', '/v1/leases/caja:10/force-claim', { reason: 'revisión' });
  await hers.becomes('lost');
  assert.equal(await hers.page.evaluate(() => lease.claim().catch((error) => error.code)), 'lease_held');
  assert.deepEqual([await hers.state(), await hers.page.evaluate(() => lease.lost)], ['other', null]);
  await hers.page.evaluate(() => lease.takeTurn());
  await server.admin.call('POST', '/v1/leases/caja:10/force-release', { reason: 'listo' });
  await hers.hears('offered');
  await hers.claim();
  await hers.becomes('held');
});

test('a missed offer ends the place in line', async () => {
  const his = await open(leo, 'brief:11');
  await ana.claim('brief:11');
  await his.page.evaluate(() => lease.takeTurn());
  await server.admin.call('POST', '/v1/leases/brief:11/force-release', { reason: 'prueba' });
  await his.hears('offered');
  // The offer is not taken, so the lease becomes free.
  await until('the end of the offer', () => his.events('turn').then((turns) => turns.some(({ missed }) => missed)));
  assert.equal((await ana.claim('brief:11')).status, 200);
  assert.equal((await ana.lease('brief:11')).waiting, 0);
});

test('only a page of an admin can force a release or a claim', async () => {
  const [hers, evas] = [await open(ana, 'caja:4'), await open(server.admin, 'caja:4')];
  await hers.claim();
  const code = await hers.page.evaluate(() => lease.forceRelease('porque sí').catch((error) => error.code));
  assert.equal(code, 'forbidden');
  await evas.page.evaluate(() => lease.forceClaim('fin de turno'));
  await evas.becomes('held');
  await hers.becomes('lost');
  await evas.page.evaluate(() => lease.forceRelease('ya está'));
  await evas.becomes('lost');
});

test('a release request reaches the holder once, with the name and the message', async () => {
  const [hers, his] = [await open(ana, 'caja:5'), await open(leo, 'caja:5')];
  await hers.claim();
  await his.becomes('other');
  const { told } = await his.page.evaluate(() => lease.requestRelease('la necesito un minuto'));
  assert.equal(told, true);
  const asked = await hers.hears('requested');
  assert.deepEqual([asked.by.name, asked.message], ['Leo', 'la necesito un minuto']);
  await until(
    'three more beats',
    () => hers.beats().length,
    (count) => count >= 4,
  );
  assert.equal((await hers.events('requested')).length, 1);
  assert.equal(await hers.state(), 'held');
});

test('a released lease is offered to the first in line and to nobody else', async () => {
  const [hers, his] = [await open(ana, 'caja:6'), await open(leo, 'caja:6')];
  await hers.claim();
  await his.becomes('other');
  assert.equal((await his.page.evaluate(() => lease.takeTurn())).position, 1);
  assert.equal((await his.hears('turn')).position, 1);
  await hers.release();
  const offer = await his.hears('offered');
  assert.equal(offer.lease.offered_to.id, 'leo');
  assert.equal(await his.state(), 'offered');
  // Neither the previous holder nor a third person can claim during the offer.
  await hers.becomes('other');
  assert.equal(await hers.page.evaluate(() => lease.claim().catch((error) => error.code)), 'lease_offered');
  await his.claim();
  await his.becomes('held');
  assert.equal(await his.page.evaluate(() => lease.turn), null);
  await hers.becomes('other');
});

test('an offer reaches every page of the person, and nobody outside the line gets one', async () => {
  const [hers, his, second] = [await open(ana, 'caja:7'), await open(leo, 'caja:7'), await open(leo, 'caja:7')];
  await hers.claim();
  await his.page.evaluate(() => lease.takeTurn());
  await hers.release();
  await Promise.all([his.hears('offered'), second.hears('offered')]);
  await his.page.evaluate(() => lease.leaveTurn());
  await Promise.all([his.becomes('free'), second.becomes('free'), hers.becomes('free')]);
});

test("a page of a viewer sees the lease and can neither claim nor renew it", async () => {
  const [hers, veras] = [await open(ana, 'caja:8'), await open(vera, 'caja:8')];
  const lease = await hers.claim();
  await veras.becomes('other');
  assert.equal(await veras.page.evaluate(() => lease.claim().catch((error) => error.code)), 'forbidden');
  await veras.page.evaluate(() => (lease.keep(), lease.worked()));
  await veras.press();
  await until(
    'beats of the holder',
    () => hers.beats().length,
    (count) => count >= 3,
  );
  assert.equal(veras.beats().length, 0);
  // A heartbeat with the right fence is refused for a viewer and for another editor.
  for (const [who, status] of [
    [vera, 403],
    [leo, 409],
    [ana, 200],
  ]) {
    const beat = await who.call('POST', '/v1/leases/caja:8/heartbeat', { fence: lease.fence, idle_ms: 0 });
    assert.equal(beat.status, status, who.id);
  }
});

test('claiming the lease of a task starts the task', async () => {
  const lines = [{ kind: 'quantity', sku: 'tornillo', quantity: 3 }];
  const { body: task } = await ana.call('POST', '/v1/tasks', { title: 'Recepción', status: 'ready', lines });
  const hers = await open(ana, `task:${task.id}`);
  await hers.claim();
  await hers.becomes('held');
  const { body: begun } = await ana.call('GET', `/v1/tasks/${task.id}`);
  assert.deepEqual([begun.status, begun.lock.fence], ['processing', await hers.fence()]);
  await until('a beat', () => hers.beats().length);
  assert.ok(hers.beats()[0].url().endsWith(`/v1/tasks/${task.id}/heartbeat`));
  const done = await ana.call('POST', `/v1/tasks/${task.id}/finalize`, { fence: begun.lock.fence });
  assert.equal(done.body.status, 'completed');
  // Finalizing releases the lock on the server, and the page learns of it.
  assert.equal((await hers.hears('lost')).reason, 'released');
});

test('without a live stream the page learns of changes by polling and by its heartbeats', async () => {
  const context = await newContext(browser);
  await context.route('**/v1/events*', (route) => route.fulfill({ status: 503, body: '' }));
  const hers = await openPage(context, server, ana, 'caja:9', { clock: true });
  await hers.becomes('free');
  assert.equal(await hers.page.evaluate(() => lease.turno.live), false);
  await leo.claim('caja:9');
  await hers.page.clock.runFor(12_000);
  await hers.becomes('other');
});
