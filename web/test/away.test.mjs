// Pages that are hidden, idle, asleep, frozen or without a connection.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { CALM, Server, newContext, openBrowser, stopClock, until } from './harness.mjs';
import { openPage } from './page.mjs';

const leases = {
  default: CALM,
  // For tests that wait for the expiry.
  short: { ttl_ms: 3_000, max_ttl_ms: 180_000, heartbeat_interval_ms: 200 },
  // For tests that hold the lease for longer than its ttl. A busy machine can still send its heartbeats in time.
  kept: { ttl_ms: 8_000, max_ttl_ms: 180_000, heartbeat_interval_ms: 200 },
  idle: { ttl_ms: 6_000, heartbeat_interval_ms: 200, idle_guard_ms: 4_000 },
  both: { ttl_ms: 30_000, heartbeat_interval_ms: 14_000, idle_guard_ms: 25_000, rolling_timeout_ms: 20_000 },
  rolling: { ttl_ms: 5_000, heartbeat_interval_ms: 200, rolling_timeout_ms: 3_000 },
  work: { ttl_ms: 60_000, heartbeat_interval_ms: 30_000, rolling_timeout_ms: 40_000 },
};
const TASK = { ttl_ms: 180_000, idle_guard_ms: 120_000, heartbeat_interval_ms: 10_000 };

let server, browser, ana, leo;
before(async () => {
  [server, browser] = await Promise.all([Server.start({ leases: { ...leases, slow: TASK } }), openBrowser()]);
  ana = await server.person('ana', 'editor', 'Ana');
  leo = await server.person('leo', 'editor', 'Leo');
});
after(() => Promise.all([browser?.close(), server?.stop()]));

/** Longer than any page needs to hear of the claim. */
const LONG = { ttl_ms: 120_000 };

async function open(person, resource, options = {}) {
  return openPage(await newContext(browser), server, person, resource, options);
}

test('a visible page of an active person holds the lease for longer than its ttl', async () => {
  const hers = await open(ana, 'kept:1');
  const { fence } = await hers.claim();
  const refused = await leo.claim('kept:1', { wait_ms: 10_000 });
  assert.equal(refused.body.code, 'lease_held');
  assert.equal(await hers.fence(), fence);
  assert.deepEqual(await hers.events('unknown'), []);
});

test('a hidden page sends no heartbeat and loses the lease to a waiting person', async () => {
  const hers = await open(ana, 'short:2');
  await hers.claim();
  const claimed = leo.claim('short:2', { wait_ms: 30_000, ...LONG });
  await until('somebody who waits', async () => (await leo.lease('short:2')).waiting);
  await hers.show(false);
  const beats = hers.beats().length;
  assert.equal((await claimed).status, 200);
  // The cause is the same whether the page asked before or after his claim.
  assert.equal((await hers.hears('lost')).cause, 'no_heartbeat');
  // The page sends one heartbeat after the expiry, to learn the cause, and none before it.
  assert.ok(hers.beats().length <= beats + 1, `${hers.beats().length - beats} beats`);
});

test('a hidden page warns before the expiry, and the warning ends when the page is shown', async () => {
  const hers = await open(ana, 'caja:9', { clock: true });
  await stopClock(hers.page);
  await hers.claim();
  await hers.blind();
  await hers.show(false);
  for (let passed = 0; passed < 31; passed += 1) await hers.page.clock.runFor(1_000);
  const warning = await hers.hears('idle-warning');
  assert.equal(warning.reason, 'idle');
  assert.ok(warning.expires_in_ms > 25_000, `${warning.expires_in_ms} ms before`);
  await hers.show(true);
  await hers.hears('active');
  assert.equal(await hers.state(), 'held');
});

test('a page that is shown again before the expiry sends heartbeats again', async () => {
  const hers = await open(ana, 'caja:1');
  await hers.claim();
  await hers.show(false);
  const silent = hers.beats().length;
  await hers.page.evaluate(() => lease.refresh());
  await hers.show(true);
  await until(
    'beats',
    () => hers.beats().length,
    (count) => count > silent + 1,
  );
  assert.deepEqual([await hers.state(), await hers.events('unknown')], ['held', []]);
});

test('an idle person is warned before the lease is lost with the cause `idle`', async () => {
  const hers = await open(ana, 'idle:1');
  await hers.press();
  await hers.claim();
  const warning = await hers.hears('idle-warning');
  assert.equal(warning.reason, 'idle');
  assert.ok(warning.expires_in_ms > 3_000, `${warning.expires_in_ms} ms before`);
  assert.equal(await hers.state(), 'held');
  const lost = await hers.hears('lost');
  assert.deepEqual([lost.reason, lost.cause], ['expired', 'idle']);
  assert.equal((await leo.history('idle:1'))[0].cause, 'idle');
});

test('one key press after the warning keeps the lease', async () => {
  const hers = await open(ana, 'idle:2');
  await hers.press();
  const { fence } = await hers.claim();
  await hers.hears('idle-warning');
  await hers.press();
  await hers.hears('active');
  // Keys are pressed for longer than an idle person could hold the lease.
  const refused = leo.claim('idle:2', { wait_ms: 11_000 });
  let over = false;
  refused.then(() => (over = true));
  await until('the end of the wait', async () => (await hers.press(), over));
  assert.equal((await refused).body.code, 'lease_held');
  assert.equal(await hers.fence(), fence);
});

test('an idle page reports its idleness once and then sends no heartbeat', async () => {
  const hers = await open(ana, 'slow:1', { clock: true });
  await stopClock(hers.page);
  await hers.press();
  await hers.claim();
  await hers.passes(115_000);
  assert.ok(hers.beats().length >= 10, `${hers.beats().length} beats while active`);
  assert.deepEqual(await hers.events('idle-warning'), []);
  await hers.passes(10_000);
  const warning = await hers.hears('idle-warning');
  assert.ok(warning.expires_in_ms > 160_000, 'almost the whole time to live is left');
  await hers.passes(40_000);
  const idle = hers.beats().filter((beat) => beat.postDataJSON().idle_ms >= 120_000);
  assert.equal(idle.length, 1);
  await hers.press();
  await hers.hears('active');
  await until('a beat at once', () => hers.beats().at(-1).postDataJSON().idle_ms < 1_000);
});

test('mouse moves count as activity and events of scripts do not', async () => {
  const hers = await open(ana, 'slow:2', { clock: true });
  await stopClock(hers.page);
  await hers.press();
  await hers.claim();
  await hers.passes(25_000);
  await hers.page.evaluate(() => {
    dispatchEvent(new KeyboardEvent('keydown', { key: 'a' }));
    scrollTo(0, 10);
  });
  await hers.passes(10_000);
  assert.ok(hers.beats().at(-1).postDataJSON().idle_ms > 25_000, 'scripts are nobody');
  await hers.page.mouse.move(10, 10);
  await hers.page.mouse.move(50, 60);
  await hers.passes(10_000);
  assert.ok(hers.beats().at(-1).postDataJSON().idle_ms < 12_000);
});

test('repeated reads do not delay the heartbeats', async () => {
  const hers = await open(ana, 'kept:2');
  const { fence } = await hers.claim();
  const refused = leo.claim('kept:2', { wait_ms: 10_000 });
  let over = false;
  refused.then(() => (over = true));
  await until('the end of the wait', async () => (await hers.page.evaluate(() => lease.refresh()), over));
  assert.deepEqual([(await refused).status, await hers.fence()], [409, fence]);
});

test('a person without work is warned of the rolling timeout and loses the lease with that cause', async () => {
  const hers = await open(ana, 'rolling:1');
  await hers.claim();
  assert.equal((await hers.hears('idle-warning')).reason, 'rolling_timeout');
  await hers.press();
  const lost = await hers.hears('lost');
  assert.deepEqual([lost.reason, lost.cause], ['expired', 'rolling_timeout']);
});

test('the warning names the rolling timeout if it ends the lease before the idle guard', async () => {
  const hers = await open(ana, 'both:1', { clock: true });
  await stopClock(hers.page);
  await hers.claim();
  await hers.passes(13_000);
  const [warning] = await hers.events('idle-warning');
  // The idle warning is due, but the rolling timeout ends the lease first.
  assert.equal(warning.reason, 'rolling_timeout');
  const told = await hers.page.evaluate(() => lease.warning);
  assert.equal(told.reason, 'rolling_timeout');
  assert.ok(told.expires_in_ms <= 20_000, JSON.stringify(told));
});

test('reported work restarts the rolling timeout', async () => {
  const hers = await open(ana, 'work:1', { clock: true });
  await stopClock(hers.page);
  const { fence } = await hers.claim();
  await hers.blind();
  for (const times of [1, 2]) {
    await hers.page.clock.runFor(21_000);
    assert.equal((await hers.hears('idle-warning', times)).reason, 'rolling_timeout');
    await hers.page.evaluate(() => lease.worked());
    await hers.hears('active', times);
  }
  assert.equal(await hers.fence(), fence);
});

test('after sleep the state is unknown until the server answers, and then held', async () => {
  // The policy has a long interval, so that no heartbeat is under way when the sleep starts.
  const hers = await open(ana, 'slow:siesta', { clock: true });
  const { fence } = await hers.claim();
  await hers.becomes('held');
  let answer;
  const answered = new Promise((resolve) => (answer = resolve));
  // Reads are held back, too, because the live stream can cause one at any moment.
  let asked = false;
  await hers.page.route(/\/leases\/slow%3Asiesta(\/heartbeat)?$/, async (route) => {
    asked ||= route.request().method() === 'POST';
    await answered;
    await route.continue();
  });
  // Shorter than the ttl, so that only the gap can cause the doubt.
  await hers.page.clock.fastForward(20_000);
  await until('a beat', () => asked);
  await hers.becomes('unknown');
  assert.equal(await hers.fence(), null);
  assert.equal((await hers.events('unknown')).length, 1);
  answer();
  await hers.becomes('held');
  assert.equal(await hers.fence(), fence);
});

test('a page does not report held after the expiry, even before a timer fires', async () => {
  const hers = await open(ana, 'caja:3', { clock: true });
  await hers.claim();
  const seen = await hers.page.evaluate(() => {
    const before = lease.state;
    // Both clocks have advanced, and no other code of the page has run.
    const [now, steady] = [Date.now(), performance.now()];
    Date.now = () => now + 60_001;
    performance.now = () => steady + 60_001;
    return [before, lease.state, lease.fence, lease.expires_in_ms];
  });
  assert.deepEqual(seen, ['held', 'unknown', null, 0]);
});

test('the time of a lease counts from the sending of the request, not from the answer', async () => {
  const hers = await open(ana, 'caja:8', { clock: true });
  await hers.page.clock.pauseAt(Date.now() + 3_600_000);
  await hers.blind();
  await hers.page.route('**/claim', async (route) => {
    const response = await route.fetch();
    await hers.page.clock.runFor(4_000);
    await route.fulfill({ response });
  });
  await hers.claim();
  const left = await hers.page.evaluate(() => lease.expires_in_ms);
  assert.ok(left <= CALM.ttl_ms - 4_000, `${left} ms`);
  assert.equal(await hers.state(), 'held');
});

test('an answer that arrives after the expiry that it promises does not make the lease held', async () => {
  const hers = await open(ana, 'short:8', { clock: true });
  await hers.page.clock.pauseAt(Date.now() + 3_600_000);
  await hers.page.route('**/heartbeat', () => {});
  await hers.blind();
  await hers.page.route('**/claim', async (route) => {
    const response = await route.fetch();
    await hers.page.clock.runFor(4_000);
    await route.fulfill({ response });
  });
  await hers.claim();
  assert.deepEqual([await hers.state(), await hers.fence(), await hers.events('held')], ['unknown', null, []]);
});

test('a claim of another person during the sleep is found after waking', async () => {
  const hers = await open(ana, 'short:3', { clock: true });
  await hers.claim();
  await hers.becomes('held');
  await hers.page.context().setOffline(true);
  await hers.page.clock.pauseAt(Date.now() + 60_000);
  const his = await leo.claim('short:3', { wait_ms: 15_000, ...LONG });
  assert.equal(his.status, 200);
  assert.notEqual(await hers.state(), 'held');
  await hers.page.context().setOffline(false);
  await hers.page.clock.fastForward(600_000);
  await hers.page.clock.resume();
  const lost = await hers.hears('lost');
  assert.equal(lost.reason, 'taken');
  assert.equal(lost.lease.holder.id, 'leo');
});

test('a blocked tab does not report held when it continues, and learns of the loss', async () => {
  const hers = await open(ana, 'short:4');
  await hers.claim();
  await hers.becomes('held');
  const debug = await hers.page.context().newCDPSession(hers.page);
  await debug.send('Debugger.enable');
  await debug.send('Debugger.pause');
  const his = await leo.claim('short:4', { wait_ms: 15_000, ...LONG });
  assert.equal(his.status, 200);
  const count = hers.page.evaluate(() => [lease.state, lease.fence]);
  await debug.send('Debugger.resume');
  await debug.send('Debugger.disable');
  assert.notEqual((await count)[0], 'held');
  assert.equal((await hers.hears('lost')).reason, 'taken');
  assert.equal((await hers.events('held')).length, 1);
});

test('a page that thaws or is shown from memory is unknown until the server answers', async () => {
  const hers = await open(ana, 'caja:7');
  const { fence } = await hers.claim();
  for (const name of ['resume', 'pageshow']) {
    const at_once = await hers.page.evaluate((name) => {
      if (name === 'resume') document.dispatchEvent(new Event('resume'));
      else dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }));
      return [lease.state, lease.fence];
    }, name);
    assert.deepEqual(at_once, ['unknown', null], name);
    await hers.becomes('held');
  }
  assert.deepEqual([await hers.fence(), (await hers.events('unknown')).length], [fence, 2]);
});

test('a network that returns before the expiry costs nothing', async () => {
  const hers = await open(ana, 'caja:4');
  const { fence } = await hers.claim();
  await until('a beat', () => hers.beats().length);
  await hers.page.context().setOffline(true);
  const failed = hers.page.waitForEvent('requestfailed', (request) => request.url().endsWith('/heartbeat'));
  await failed;
  assert.equal(await hers.state(), 'held');
  await hers.page.context().setOffline(false);
  const at = Date.now();
  await until('a beat after it', async () => Date.parse((await leo.lease('caja:4')).heartbeat_at) > at);
  assert.equal(await hers.fence(), fence);
  assert.deepEqual([await hers.events('unknown'), await hers.events('lost')], [[], []]);
});

test('without a network the state is unknown after the expiry, and lost once the server answers', async () => {
  const hers = await open(ana, 'short:5');
  await hers.claim();
  await hers.page.context().setOffline(true);
  await hers.hears('unknown');
  assert.equal(await hers.fence(), null);
  assert.deepEqual(await hers.events('lost'), []);
  await until('the end on the server', async () => (await leo.lease('short:5')).state === 'free');
  await hers.page.context().setOffline(false);
  const lost = await hers.hears('lost');
  assert.deepEqual([lost.reason, lost.cause], ['expired', 'no_heartbeat']);
});

test('a page holds the same fence after a crash and restart of the server', async () => {
  const hers = await open(ana, 'caja:5');
  const { fence } = await hers.claim();
  await until('a beat', () => hers.beats().length);
  await server.down();
  await hers.page.waitForEvent('requestfailed', (request) => request.url().endsWith('/heartbeat'));
  assert.equal(await hers.state(), 'held');
  await server.up();
  const at = Date.now();
  await until('a beat after it', async () => Date.parse((await leo.lease('caja:5')).heartbeat_at) > at);
  assert.deepEqual([await hers.fence(), (await leo.lease('caja:5')).fence], [fence, fence]);
  assert.deepEqual([await hers.events('unknown'), await hers.events('lost')], [[], []]);
  await until('the stream is back', () => hers.page.evaluate(() => lease.turno.live));
});

test('a single failed heartbeat does not change the state', async () => {
  const hers = await open(ana, 'caja:6');
  let broken = 0;
  await hers.page.route('**/heartbeat', (route) =>
    broken++ === 0 ? route.fulfill({ status: 502, body: '<html>' }) : route.continue(),
  );
  await hers.claim();
  await until(
    'a second try',
    () => broken,
    (count) => count >= 2,
  );
  assert.deepEqual([await hers.state(), await hers.events('error')], ['held', []]);
});
