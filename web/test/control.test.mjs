// Negative controls: without one protection in the module, the failure happens that it prevents. This shows that the other
// tests can fail.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { CALM, Server, newContext, openBrowser, until } from './harness.mjs';
import { openPage, sabotage } from './page.mjs';

let server, browser, ana, leo;
before(async () => {
  [server, browser] = await Promise.all([Server.start(), openBrowser()]);
  ana = await server.person('ana', 'editor', 'Ana');
  leo = await server.person('leo', 'editor', 'Leo');
});
after(() => Promise.all([browser?.close(), server?.stop()]));

/** Opens tabs of Ana's browser with a broken module. */
async function open(resource, pieces, { tabs = 1, clock = false } = {}) {
  const context = await newContext(browser);
  await sabotage(context, pieces);
  const views = [];
  for (let i = 0; i < tabs; i += 1) views.push(await openPage(context, server, ana, resource, { clock }));
  for (const view of views) await view.claim();
  return views;
}

test('a page that ignores its visibility sends heartbeats while hidden', async () => {
  const [tab] = await open('caja:1', [
    ["const hidden = () => document.visibilityState === 'hidden';", 'const hidden = () => false;'],
  ]);
  await tab.show(false);
  const beats = tab.beats().length;
  await until(
    'beats',
    () => tab.beats().length,
    (count) => count >= beats + 3,
  );
});

test('tabs without a leader all send heartbeats', async () => {
  const [first, second] = await open(
    'caja:2',
    [
      ['now.hidden || !now.leads || idle', 'now.hidden || idle'],
      ['heartbeat_interval_ms * 1.5', 'heartbeat_interval_ms * 0.5'],
    ],
    { tabs: 2 },
  );
  for (const tab of [first, second])
    await until(
      'beats',
      () => tab.beats().length,
      (count) => count >= 3,
    );
});

test('a tab that does not know of the other tabs releases their lease', async () => {
  // Without the grace time, because during it the heartbeat of the other tab would undo the release.
  const spoilt = [
    ['return this.#others.size === 0;', 'return true;'],
    ['const grace = grace_ms ? { grace_ms } : {};', 'const grace = {};'],
  ];
  const [first, second] = await open('caja:3', spoilt, { tabs: 2 });
  await second.page.close();
  assert.equal((await first.hears('lost')).reason, 'released');
});

test('a page that counts from the answer overestimates the time of the lease', async () => {
  const context = await newContext(browser);
  await sabotage(context, [
    ["confirmGrant(step, lease, sent);\n  step.effects.push({ do: 'lead'", "confirmGrant(step, lease, clocksOf(step.now));\n  step.effects.push({ do: 'lead'"],
  ]);
  const tab = await openPage(context, server, ana, 'caja:4', { clock: true });
  await tab.page.clock.pauseAt(Date.now() + 3_600_000);
  await tab.blind();
  await tab.page.route('**/claim', async (route) => {
    const response = await route.fetch();
    await tab.page.clock.runFor(4_000);
    await route.fulfill({ response });
  });
  await tab.claim();
  assert.ok((await tab.page.evaluate(() => lease.expires_in_ms)) > CALM.ttl_ms - 4_000);
});

test('a page that ignores late timers reports held after a sleep without an answer', async () => {
  const [tab] = await open('caja:5', [['const late = late_ms > SLEPT_MS;', 'const late = false;']], {
    clock: true,
  });
  await tab.page.route('**/heartbeat', () => {});
  await tab.page.clock.fastForward(10_000);
  assert.deepEqual([await tab.state(), await tab.events('unknown')], ['held', []]);
});

test('a release without its claim number ends the newer claim of a reload', async () => {
  const [tab] = await open('caja:6', [
    ['const left = { fence, claim: number, ...grace, ...state.instance };', 'const left = { fence, ...grace, ...state.instance };'],
  ]);
  await ana.claim('caja:6');
  await tab.page.close();
  await until('free', async () => (await leo.lease('caja:6')).state === 'free');
});
