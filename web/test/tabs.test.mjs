// Several tabs of one person, and pages that are left.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { CALM, Server, newContext, openBrowser, until } from './harness.mjs';
import { View, openPage } from './page.mjs';

let server, browser, ana, leo;
before(async () => {
  [server, browser] = await Promise.all([Server.start(), openBrowser()]);
  ana = await server.person('ana', 'editor', 'Ana');
  leo = await server.person('leo', 'editor', 'Leo');
});
after(() => Promise.all([browser?.close(), server?.stop()]));

/** Opens two tabs of Ana's browser that both hold the lease. */
async function pair(resource, prepare = async () => {}) {
  const context = await newContext(browser);
  await prepare(context);
  const first = await openPage(context, server, ana, resource);
  const second = await openPage(context, server, ana, resource);
  const { fence } = await first.claim();
  await second.becomes('elsewhere');
  assert.equal(await second.fence(), null, 'a tab that has not claimed holds nothing');
  assert.equal((await second.claim()).fence, fence);
  await Promise.all([first.becomes('held'), second.becomes('held')]);
  return { context, first, second, fence };
}

const held = async (resource) => (await leo.lease(resource)).state;

test('two tabs of one person share one heartbeat', async () => {
  const { first, second, fence } = await pair('caja:1');
  const before = second.beats().length;
  await until(
    'beats',
    () => first.beats().length,
    (count) => count >= 8,
  );
  assert.equal(second.beats().length, before);
  assert.deepEqual([await first.fence(), await second.fence()], [fence, fence]);
  // The other tab hears of every heartbeat, otherwise its lease would expire.
  const left = () => second.page.evaluate(() => lease.expires_in_ms);
  const before_it = await left();
  await until('a renewal', left, (now) => now > before_it);
});

test('when the leading tab is hidden, the other tab sends the heartbeats', async () => {
  const { first, second } = await pair('caja:2');
  await until('a beat', () => first.beats().length);
  await first.show(false);
  await until(
    'beats of the other',
    () => second.beats().length,
    (count) => count >= 3,
  );
  const silent = first.beats().length;
  await until(
    'more of them',
    () => second.beats().length,
    (count) => count >= 6,
  );
  assert.equal(first.beats().length, silent);
  await second.show(false);
  const all = () => first.beats().length + second.beats().length;
  const none = all();
  await Promise.all([first, second].map((tab) => tab.page.evaluate(() => lease.refresh())));
  assert.ok(all() <= none + 1, 'nobody looks, nobody beats');
});

test('activity in one tab counts for all tabs', async () => {
  const { first, second } = await pair('idle:1');
  const idle = () => first.beats().map((beat) => beat.postDataJSON().idle_ms);
  const grows = (times) => times.length > 2 && times.every((time, i) => i === 0 || time > times[i - 1]);
  assert.ok(grows(await until('beats', idle, ({ length }) => length > 2)), 'nobody does anything');
  await second.press();
  await until('a beat that says so', idle, (times) => !grows(times));
  assert.deepEqual([await first.state(), second.beats().length], ['held', 0]);
});

test('closing either of two tabs releases nothing, and closing the last one releases the lease', async () => {
  for (const [resource, order] of [
    ['caja:3', ['first', 'second']],
    ['caja:4', ['second', 'first']],
  ]) {
    const tabs = await pair(resource);
    const [closes, stays] = order.map((name) => tabs[name]);
    await closes.page.close();
    const beats = stays.beats().length;
    await until(
      'beats of who is left',
      () => stays.beats().length,
      (count) => count >= beats + 3,
    );
    assert.equal(await held(resource), 'locked', `${order[0]} closed`);
    assert.deepEqual([await stays.state(), await stays.events('lost')], ['held', []]);
    await stays.page.close();
    await until(
      'free',
      () => held(resource),
      (state) => state === 'free',
    );
    // The history has the entry a moment after the grace time.
    await until('released', async () => (await leo.history(resource))[0]?.cause === 'released');
  }
});

test('after a tab crashed, the last tab still releases the lease', async () => {
  const { first, second } = await pair('caja:5');
  const cdp = await second.page.context().newCDPSession(second.page);
  await Promise.race([cdp.send('Page.crash').catch(() => {}), second.page.waitForEvent('crash')]);
  const beats = first.beats().length;
  await until(
    'beats',
    () => first.beats().length,
    (count) => count >= beats + 3,
  );
  await first.page.close();
  await until(
    'free',
    () => held('caja:5'),
    (state) => state === 'free',
  );
});

test('a tab that is closed or leaves the page releases the lease', async () => {
  for (const leave of [(page) => page.close(), (page) => page.goto('about:blank')]) {
    const tab = await openPage(await newContext(browser), server, ana, 'caja:6');
    const { fence } = await tab.claim();
    assert.equal(await held('caja:6'), 'locked');
    await leave(tab.page);
    await until(
      'free',
      () => held('caja:6'),
      (state) => state === 'free',
    );
    const [ended] = await until(
      'its end',
      () => leo.history('caja:6'),
      ([last]) => last?.fence === fence,
    );
    assert.equal(ended.reason, 'released');
  }
});

test('a reloaded page holds the lease again by itself, in any order of release and claim', async () => {
  const tab = await openPage(await newContext(browser), server, ana, 'caja:7');
  const { fence } = await tab.claim();
  await tab.page.reload();
  await tab.load(ana);
  await tab.becomes('held');
  const { claim } = await ana.lease('caja:7');
  assert.deepEqual([await tab.fence(), claim], [fence, 2], 'the same ownership');
  // The release of the page before the reload arrives late.
  const late = await ana.call('POST', '/v1/leases/caja:7/release', { fence, claim: claim - 1 });
  assert.deepEqual([late.status, late.body.released ?? false], [200, false]);
  await until(
    'beats',
    () => tab.beats().length,
    (count) => count >= 2,
  );
  assert.equal(await tab.fence(), fence);
  // The control: with the newest claim number the release succeeds.
  const now = await ana.call('POST', '/v1/leases/caja:7/release', { fence, claim });
  assert.equal(now.body.released, true);
  assert.equal((await tab.hears('lost')).reason, 'released');
});

test('a duplicated tab holds nothing and neither takes nor releases the lease of the first', async () => {
  const first = await openPage(await newContext(browser), server, ana, 'caja:13');
  const { fence } = await first.claim();
  // Imitates a duplicated tab: it copies the storage, also what a reload left there.
  await first.page.reload();
  await first.load(ana);
  await first.becomes('held');
  const opened = first.page.waitForEvent('popup');
  await first.page.evaluate(() => void open(location.href));
  const copy = new View(await opened, server, 'caja:13');
  await copy.page.route(`${server.url}/test-page`, (route) => route.fulfill({ contentType: 'text/html', body: '<p>copy' }));
  await copy.page.goto(`${server.url}/test-page`);
  await copy.load(ana);
  await copy.becomes('elsewhere');
  assert.equal(await copy.fence(), null);
  await copy.page.close();
  await until('beats', () => first.beats().length, (count) => count >= 3);
  assert.deepEqual([await first.fence(), (await leo.lease('caja:13')).fence], [fence, fence]);
});

test('a release ends the lease for all tabs, and no heartbeat follows it', async () => {
  const { first, second } = await pair('caja:8');
  await second.release();
  assert.equal((await first.hears('lost')).reason, 'released');
  await second.becomes('free');
  const beats = first.beats().length + second.beats().length;
  await Promise.all([first, second].map((tab) => tab.page.evaluate(() => lease.refresh())));
  assert.equal(first.beats().length + second.beats().length, beats);
});

test('a page that is shown again after leaving does not report the released lease as held', async () => {
  const tab = await openPage(await newContext(browser), server, ana, 'caja:9');
  await tab.claim();
  // A heartbeat is under way and reaches the server after the page was left.
  let deliver;
  const beats = new Promise((resolve) => tab.page.route('**/heartbeat', (route) => resolve((deliver = () => route.continue())), { times: 1 }));
  await beats;
  // The events of a browser that keeps the page in memory.
  const told = tab.page.waitForResponse(/\/release$/);
  await tab.page.evaluate(() => dispatchEvent(new PageTransitionEvent('pagehide', { persisted: true })));
  await told;
  await deliver();
  await until(
    'free',
    () => held('caja:9'),
    (state) => state === 'free',
  );
  await tab.page.evaluate(() => dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true })));
  assert.equal((await tab.hears('lost')).reason, 'released');
});

test('closing a lease object releases the lease, unless another object of the page holds it', async () => {
  const tab = await openPage(await newContext(browser), server, ana, 'caja:10');
  await tab.claim();
  await tab.page.evaluate(async () => {
    globalThis.other = new turno.Lease('caja:10', { turno: lease.turno });
    await other.claim();
  });
  await tab.page.evaluate(
    () =>
      new Promise((resolve) => {
        // The object must know of the other one.
        other.addEventListener('state', resolve, { once: true });
      }),
  );
  await tab.page.evaluate(() => other.close());
  await until('a beat', () => tab.beats().length);
  assert.equal(await held('caja:10'), 'locked');
  await tab.page.evaluate(() => lease.close());
  await until(
    'free',
    () => held('caja:10'),
    (state) => state === 'free',
  );
});

test('without the Locks API, as on plain HTTP, the remaining tab sends the heartbeats', async () => {
  const bare = (context) =>
    context.addInitScript(() => Object.defineProperty(navigator, 'locks', { value: undefined }));
  const { first, second } = await pair('caja:11', bare);
  await until(
    'beats',
    () => first.beats().length + second.beats().length,
    (count) => count >= 12,
  );
  // The number of heartbeats depends on the speed of the answers. The lease must stay held.
  const before = first.beats().length;
  await second.page.close();
  await until(
    'beats of who is left',
    () => first.beats().length,
    (count) => count >= before + 2,
  );
  assert.equal(await held('caja:11'), 'locked');
});

for (const [how, answer] of [['forgets', 'new Promise(() => {})'], ['refuses', "Promise.reject(new DOMException('no', 'InvalidStateError'))"]]) {
  test(`a tab whose browser ${how} the lock request for leading still sends heartbeats`, async () => {
    const context = await newContext(browser);
    await context.addInitScript(`{
      const ask = navigator.locks.request.bind(navigator.locks);
      let asked = 0;
      navigator.locks.request = (name, ...rest) => (!name.includes('#') && asked++ === 0 ? ${answer} : ask(name, ...rest));
    }`);
    const tab = await openPage(context, server, ana, `caja:${how}`);
    const { fence } = await tab.claim();
    await until('beats', () => tab.beats().length, (count) => count >= 3);
    assert.equal(await tab.fence(), fence);
  });
}

test('without BroadcastChannel each tab sends its own heartbeats and no lease is lost', async () => {
  const bare = (context) =>
    context.addInitScript(() => {
      Object.defineProperty(navigator, 'locks', { value: undefined });
      Object.defineProperty(globalThis, 'BroadcastChannel', { value: undefined });
    });
  const { first, second, fence } = await pair('caja:12', bare);
  for (const tab of [first, second])
    await until(
      'beats',
      () => tab.beats().length,
      (count) => count >= 3,
    );
  assert.deepEqual([await first.fence(), await second.fence()], [fence, fence]);
});

test('`near` is true although the event of the server arrives before the message of the other tab', async () => {
  const context = await newContext(browser);
  const options = { single: true };
  const first = await openPage(context, server, ana, 'caja:15', { options });
  const second = await openPage(context, server, ana, 'caja:15', { options });
  await first.claim();
  let answer;
  const answered = new Promise((resolve) => (answer = resolve));
  await second.page.route('**/claim', async (route) => {
    const response = await route.fetch();
    await answered;
    await route.fulfill({ response });
  });
  const claimed = second.claim();
  assert.equal((await first.hears('moved')).near, true);
  answer();
  await claimed;
  assert.equal(await second.state(), 'held');
});

test('with `single` the page that claimed last holds the lease, and the other hears `moved` and releases nothing', async () => {
  const context = await newContext(browser);
  const options = { single: true };
  const first = await openPage(context, server, ana, 'caja:14', { options });
  const second = await openPage(context, server, ana, 'caja:14', { options });
  const far = await openPage(await newContext(browser), server, ana, 'caja:14', { options });
  const { fence } = await first.claim();
  await second.claim();
  assert.equal((await first.hears('moved')).near, true);
  assert.deepEqual([await first.state(), await first.fence(), await second.fence()], ['elsewhere', null, fence]);
  await far.claim();
  assert.equal((await second.hears('moved')).near, false);
  for (const tab of [first, second]) await tab.page.close();
  await until('beats', () => far.beats().length, (count) => count >= 3);
  assert.deepEqual([await far.fence(), (await leo.lease('caja:14')).fence], [fence, fence]);
});
