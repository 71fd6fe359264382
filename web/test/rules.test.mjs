// The rules of a lease without a browser: inputs with times in, state and effects out.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { expiresIn } from '../turno/step.js';
import { warningOf } from '../turno/warn.js';
import { LEO, OFFLINE, POLICY, Page, beating, free, holding, locked, losing, mine, refusal } from './rules.mjs';

// Holding.

test('a granted claim makes the lease held, joins the tabs and answers the call', () => {
  const page = holding();
  assert.equal(page.shown, 'held');
  assert.deepEqual(page.events, ['held']);
  assert.deepEqual(page.done('join'), [{ do: 'join', grant: 1, fence: 7 }]);
  assert.deepEqual(page.done('settle').map(({ call, answer }) => [call, answer.fence]), [[1, 7]]);
  assert.equal(page.timer('heartbeat'), POLICY.heartbeat_interval_ms);
});

test('a reduction leaves the state before it unchanged', () => {
  const page = holding();
  const before = page.state;
  const copy = structuredClone(before);
  page.passes(10_000).fires('heartbeat');
  assert.notEqual(page.state, before);
  assert.deepEqual(before, copy);
});

test('a renewal counts from the moment its request was sent', () => {
  const [page, beat] = beating();
  page.passes(4_000).answer(beat, mine());
  assert.equal(expiresIn(page.state, page.now), POLICY.ttl_ms - 4_000);
  assert.equal(page.timer('end'), POLICY.ttl_ms - 4_000);
});

test('an answer that arrives after the time that it promises leaves the state unknown', () => {
  const page = new Page();
  const claim = page.claim();
  page.passes(61_000).answer(claim, mine());
  assert.deepEqual([page.shown, page.events], ['unknown', []]);
});

test('a held lease whose time is up is unknown before any timer fires', () => {
  const page = holding().passes(59_999);
  assert.equal(page.shown, 'held');
  assert.equal(page.passes(1).shown, 'unknown');
});

test('the longer of two clocks counts', () => {
  const page = holding();
  page.at({ wall: page.now.wall + 60_000 });
  assert.equal(page.shown, 'unknown');
});

test('an answer that a newer answer overtook changes nothing', () => {
  const [page, beat] = beating();
  const newer = { steady: page.now.steady + 1_000, wall: page.now.wall + 1_000 };
  page.passes(2_000).answer({ ...beat, sent: newer }, mine({ expires_in_ms: 50_000 }));
  page.answer({ ...beat, name: 'read' }, mine({ expires_in_ms: 10_000 }));
  assert.equal(expiresIn(page.state, page.now), 49_000);
});

test('a late answer of an old grant changes nothing', () => {
  const [page, beat] = beating();
  page.answer(page.request('release', { call: 2 }), free());
  page.answer(page.claim(), mine({ fence: 8, claim: 4 }));
  const { grant, sent, lease } = page.state;
  page.passes(1_000).answer(beat, mine());
  assert.deepEqual([page.state.grant, page.state.sent, page.state.lease], [grant, sent, lease]);
  assert.deepEqual([page.shown, page.events], ['held', []]);
});

test('a late refusal of an old grant does not lose the new grant', () => {
  const [page, beat] = beating();
  page.answer(page.request('release', { call: 2 }), free());
  page.answer(page.claim(), mine({ fence: 8, claim: 4 }));
  page.fail(beat, refusal(409, { code: 'lease_lost', reason: 'released' }));
  assert.deepEqual([page.shown, page.events], ['held', []]);
});

test('a message of the tabs of an old grant changes nothing', () => {
  const page = holding();
  const before = page.state;
  page.input('message', { grant: 99, message: { kind: 'ended' } });
  assert.deepEqual([page.state, page.effects], [before, []]);
});

test('each release request is announced once, and a declined one is not', () => {
  const request = { by: LEO, at: '10:00', message: 'please', declined_at: null, answer: null };
  const declined = { ...request, at: '09:00', declined_at: '09:01' };
  const [page, beat] = beating();
  page.answer(beat, mine({ requests: [declined, request] }));
  assert.deepEqual(page.done('emit').filter(({ name }) => name === 'requested').map(({ detail }) => detail.at), ['10:00']);
  page.passes(10_000).fires('heartbeat');
  page.answer(page.sent[0], mine({ requests: [request] }));
  assert.deepEqual(page.events, []);
});

// Heartbeats.

test('a visible page that leads sends a heartbeat with the fence and the idle time', () => {
  const [, beat] = beating();
  assert.deepEqual(beat.body, { fence: 7, idle_ms: 10_000 });
});

test('a hidden page sends no heartbeat', () => {
  const page = holding().show(false).passes(10_000).fires('heartbeat');
  assert.deepEqual(page.sentNames, []);
  assert.equal(page.timer('heartbeat'), POLICY.heartbeat_interval_ms);
});

test('a tab that does not lead sends no heartbeat', () => {
  const page = holding().passes(10_000).at({ leads: false }).fires('heartbeat');
  assert.deepEqual([page.sentNames, page.done('insist').length], [[], 1]);
});

test('an idle page sends no heartbeat after the server knows that the person is idle', () => {
  const page = holding().passes(10_000);
  page.passes(POLICY.idle_guard_ms).fires('heartbeat');
  page.answer(page.sent[0], mine({ renewed: false, reason: 'idle' }));
  page.passes(10_000).fires('heartbeat');
  assert.deepEqual(page.sentNames, []);
  page.moves();
  assert.deepEqual(page.sentNames, ['heartbeat']);
});

test('two heartbeats are never under way at once: the second follows the answer', () => {
  const [page, beat] = beating();
  page.fires('heartbeat');
  assert.deepEqual(page.sentNames, []);
  page.answer(beat, mine());
  assert.deepEqual(page.sentNames, ['heartbeat']);
});

test('a heartbeat of another tab renews, and this tab waits half an interval longer', () => {
  const page = holding().passes(20_000);
  const message = { kind: 'lease', lease: mine({ claim: 4 }), wall: page.now.wall - 3_000, idle: false };
  page.input('message', { grant: 1, message });
  assert.equal(expiresIn(page.state, page.now), 57_000);
  assert.equal(page.timer('heartbeat'), 15_000);
  assert.equal(page.state.grant.claim, 4);
});

test('a tab that starts to lead sends the heartbeat that is due, and none before', () => {
  const page = holding().passes(9_999).input('leads', { grant: 1 });
  assert.deepEqual(page.sentNames, []);
  page.passes(1).input('leads', { grant: 1 });
  assert.deepEqual(page.sentNames, ['heartbeat']);
});

test('a read renews nothing and leaves the next heartbeat due when it was', () => {
  const page = holding().passes(4_000);
  page.answer(page.request('refresh', { call: 2 }), mine());
  assert.equal(page.timer('heartbeat'), undefined);
  assert.deepEqual(page.state.renewed, { steady: 1_000, wall: 1_700_000_000_000 });
});

test('one failed heartbeat costs nothing and is tried again soon', () => {
  const [page, beat] = beating();
  page.fail(beat, OFFLINE);
  assert.deepEqual([page.shown, page.events, page.timer('heartbeat')], ['held', [], 500]);
  page.passes(500).fires('heartbeat');
  page.fail(page.sent[0], OFFLINE);
  assert.equal(page.timer('heartbeat'), 1_000);
});

test('work that a failed heartbeat reported is reported again', () => {
  const page = holding().input('worked').passes(10_000).fires('heartbeat');
  const [beat] = page.sent;
  assert.equal(beat.body.worked, true);
  page.fail(beat, OFFLINE).passes(500).fires('heartbeat');
  assert.equal(page.sent[0].body.worked, true);
});

// Doubt.

test('after sleep the state is unknown until the server answers', () => {
  const page = holding().passes(30_000).fires('heartbeat', 20_000);
  assert.deepEqual([page.shown, page.events, page.sentNames], ['unknown', ['unknown'], ['heartbeat']]);
  page.answer(page.sent[0], mine());
  assert.deepEqual([page.shown, page.events], ['held', ['held']]);
});

test('an answer to a request that was sent before the sleep leaves the state unknown', () => {
  const [page, beat] = beating();
  page.passes(20_000).input('thawed');
  page.answer(beat, mine());
  assert.equal(page.shown, 'unknown');
});

test('a timer that fires a little late causes no doubt', () => {
  const page = holding().passes(15_000).fires('heartbeat', 5_000);
  assert.deepEqual([page.shown, page.sentNames], ['held', ['heartbeat']]);
});

test('a hidden page that slept reads the lease and renews nothing', () => {
  const page = holding().show(false).passes(30_000).fires('poll', 20_000);
  assert.equal(page.shown, 'unknown');
  assert.ok(page.sentNames.includes('read') && !page.sentNames.includes('heartbeat'));
});

test('a held lease whose time is up without an answer is unknown, and the server is asked', () => {
  const page = holding().passes(60_000).fires('end');
  assert.deepEqual([page.events, page.sentNames], [['unknown'], ['heartbeat']]);
});

// Losing.

test('a refused heartbeat loses the lease and tells the other tabs', () => {
  const page = losing();
  assert.equal(page.shown, 'lost');
  assert.deepEqual(page.events, ['lost']);
  assert.deepEqual([page.state.lost.cause, page.state.lost.by, page.state.grant], ['override', 'eva', null]);
  assert.deepEqual(page.done('tell').map(({ message }) => message), [{ kind: 'ended' }]);
});

test('a lost lease stays lost until the person acts', () => {
  const page = losing();
  page.input('event', { event: { name: 'lease.released' } });
  page.answer(page.sent[0], free());
  assert.deepEqual([page.shown, page.state.lease.state], ['lost', 'free']);
  page.fail(page.claim(), refusal(409, { code: 'lease_held', lease: locked() }));
  assert.deepEqual([page.shown, page.state.lost], ['other', null]);
});

test('a claim without an answer leaves a lost lease lost', () => {
  const page = losing();
  page.fail(page.claim(), OFFLINE);
  assert.equal(page.shown, 'lost');
});

test('a read that finds another fence asks with a heartbeat why, and answers the call after it', () => {
  const page = holding();
  page.answer(page.request('refresh', { call: 5 }), locked());
  assert.deepEqual([page.shown, page.sentNames, page.done('settle')], ['unknown', ['heartbeat'], []]);
  page.fail(page.sent[0], refusal(409, { code: 'lease_lost', reason: 'taken' }));
  assert.deepEqual([page.shown, page.state.lost.reason], ['lost', 'taken']);
  assert.deepEqual(page.done('settle').map(({ call }) => call), [5]);
});

test('a forbidden heartbeat makes the state unknown, and lost when the time is up', () => {
  const [page, beat] = beating();
  page.fail(beat, refusal(403));
  assert.deepEqual([page.shown, page.events], ['unknown', ['unknown', 'error']]);
  page.passes(60_000).fires('heartbeat');
  page.fail(page.sent[0], refusal(403));
  assert.deepEqual([page.shown, page.state.lost.cause, page.sentNames], ['lost', 'forbidden', ['read']]);
});

test('with `single` a newer claim of another page moves the lease there and releases nothing', () => {
  const page = holding({ single: true });
  page.answer(page.request('refresh', { call: 2 }), mine({ claim: 4 }));
  assert.deepEqual([page.shown, page.events, page.done('farewell')], ['elsewhere', ['moved'], []]);
});

test('without `single` a newer claim of another page changes nothing', () => {
  const page = holding();
  page.answer(page.request('refresh', { call: 2 }), mine({ claim: 4 }));
  assert.deepEqual([page.shown, page.events], ['held', []]);
});

// Releasing.

test('no heartbeat follows a release, and the tabs hear of it after the answer', () => {
  const page = holding();
  const request = page.request('release', { call: 2 });
  assert.deepEqual([page.shown, page.state.timers.filter((name) => name !== 'poll')], ['unknown', []]);
  assert.deepEqual([page.done('quit'), page.done('tell')], [[], []]);
  page.answer(request, free());
  assert.deepEqual(page.done('tell'), [{ do: 'tell', grant: 1, message: { kind: 'ended' } }]);
  assert.deepEqual([page.shown, page.done('quit').length, page.done('settle').length], ['free', 1, 1]);
});

test('a release without an answer fails the call and is sent again with its claim', () => {
  const page = holding();
  page.fail(page.request('release', { call: 2 }), OFFLINE);
  assert.deepEqual(page.done('reject').map(({ call }) => call), [2]);
  page.passes(2_000).fires('owed');
  assert.deepEqual(page.sent.map(({ body }) => body), [{ fence: 7, claim: 3 }]);
  page.answer(page.sent[0], free());
  assert.deepEqual([page.shown, page.state.owed], ['free', null]);
});

test('a release that the server has not heard does not show the lease elsewhere', () => {
  const page = holding();
  page.fail(page.request('release', { call: 2 }), OFFLINE);
  page.answer(page.request('refresh', { call: 3 }), mine());
  assert.deepEqual([page.shown, page.sentNames], ['unknown', ['release']]);
});

test('two calls of release share one request', () => {
  const page = holding();
  const request = page.request('release', { call: 2 });
  page.input('release', { call: 3 });
  assert.deepEqual(page.sentNames, []);
  page.answer(request, free());
  assert.deepEqual(page.done('settle').map(({ call }) => call), [2, 3]);
});

test('a claim after an unanswered release ends the release', () => {
  const page = holding();
  page.fail(page.request('release', { call: 2 }), OFFLINE);
  page.answer(page.claim(), mine({ claim: 4 }));
  assert.deepEqual([page.shown, page.state.owed, page.state.timers.includes('owed')], ['held', null, false]);
});

// Leaving the page.

test('a page that is left releases with a grace time and remembers its grant for a reload', () => {
  const page = holding().input('left');
  assert.deepEqual(page.done('remember'), [{ do: 'remember', grant: { fence: 7, ttl_ms: null } }]);
  assert.deepEqual(page.done('farewell').map(({ body }) => body), [{ fence: 7, claim: 3, grace_ms: 5_000 }]);
});

test('a page that is left while another tab holds the grant releases nothing', () => {
  const page = holding().at({ alone: false }).input('left');
  assert.deepEqual([page.done('farewell'), page.done('quit').length], [[], 1]);
});

test('a heartbeat that is answered after the page was left repeats the release', () => {
  const [page, beat] = beating();
  page.input('left').answer(beat, mine());
  assert.deepEqual(page.done('farewell').map(({ body }) => body.grace_ms), [5_000]);
});

test('a page that the browser shows again is unknown until the server answers', () => {
  const page = holding().input('left').passes(1_000).input('restored');
  assert.deepEqual([page.shown, page.sentNames, page.done('join').length], ['unknown', ['heartbeat'], 1]);
});

test('a reload continues with the grant that its page held', () => {
  const page = new Page({ left: { fence: 7, ttl_ms: 90_000, at: 1_700_000_000_000 }, reloaded: true });
  page.answer(page.sent[0], mine());
  assert.deepEqual(page.sent.map(({ name, body }) => [name, body]), [['claim', { ttl_ms: 90_000 }]]);
});

test('a reload continues with a claim that was unanswered when the page was left', () => {
  const before = new Page();
  before.claim();
  before.passes(1_000).input('left');
  assert.deepEqual(before.done('remember'), [{ do: 'remember', grant: { asked: true } }]);
  const page = new Page({ left: { asked: true, at: 1_700_000_000_000 }, reloaded: true });
  page.answer(page.sent[0], mine());
  assert.deepEqual(page.sentNames, ['claim']);
});

test('a reload without an answer tries again for a minute and then only reads', () => {
  const page = new Page({ left: { fence: 7, ttl_ms: null, at: 1_700_000_000_000 }, reloaded: true });
  page.fail(page.sent[0], OFFLINE);
  assert.deepEqual([page.sentNames, page.timer('resume')], [[], 500]);
  page.passes(60_000).fires('resume');
  page.fail(page.sent[0], OFFLINE);
  assert.deepEqual([page.sentNames, page.timer('resume')], [['read'], undefined]);
});

test('a page that was not reloaded claims nothing that is free', () => {
  const page = new Page({ left: { fence: 7, ttl_ms: null, at: 1_700_000_000_000 }, reloaded: false });
  page.answer(page.sent[0], free());
  assert.deepEqual([page.sentNames, page.shown], [[], 'free']);
});

test('a grant that arrives after the object was closed is released', () => {
  const page = new Page();
  const claim = page.claim();
  page.input('closed').answer(claim, mine());
  assert.deepEqual(page.done('farewell').map(({ body }) => body), [{ fence: 7, claim: 3 }]);
  assert.deepEqual([page.state.grant, page.state.timers], [null, []]);
});

// Warnings.

test('the idle warning ends when the server has renewed the lease, and not with activity alone', () => {
  const [page, beat] = beating();
  page.answer(beat, mine()).passes(110_000).fires('heartbeat');
  page.answer(page.sent[0], mine());
  assert.deepEqual(page.events, ['idle-warning']);
  page.moves();
  assert.deepEqual([page.events, page.sentNames, page.state.warned], [[], ['heartbeat'], { reason: 'idle' }]);
  page.answer(page.sent[0], mine());
  assert.deepEqual([page.events, page.state.warned], [['active'], null]);
});

test('the rolling timeout is announced a minute before its end, and work ends the warning', () => {
  const page = holding({}, mine({ rolling_in_ms: 70_000 }));
  page.passes(10_000).fires('warn');
  assert.equal(page.event('idle-warning').reason, 'rolling_timeout');
  page.input('worked');
  assert.equal(page.sent[0].body.worked, true);
  page.answer(page.sent[0], mine());
  assert.deepEqual(page.events, ['active']);
});

test('of two ends the warning names the first', () => {
  const page = holding({}, mine({ rolling_in_ms: 30_000 })).passes(10_000);
  page.at({ active: { steady: page.now.steady - 119_000, wall: page.now.wall - 119_000 } });
  assert.deepEqual(warningOf(page.state, page.now), { reason: 'rolling_timeout', expires_in_ms: 20_000 });
});

test('a hidden page is warned before its time is up', () => {
  const page = holding().show(false);
  assert.equal(page.timer('warn'), 30_000);
  page.passes(30_000).fires('warn');
  assert.deepEqual(page.event('idle-warning'), { reason: 'idle', expires_in_ms: 30_000, lease: page.state.lease });
});

test('a page without a grant is never warned', () => {
  const page = new Page().moves();
  assert.deepEqual([page.effects, warningOf(page.state, page.now)], [[], null]);
});

test('work during a warning sends a heartbeat at once, and another tab hears of the work', () => {
  const page = holding({}, mine({ rolling_in_ms: 60_000 }));
  assert.deepEqual(page.event('idle-warning').reason, 'rolling_timeout');
  page.input('worked');
  assert.deepEqual([page.sentNames, page.sent[0].body.worked], [['heartbeat'], true]);
  assert.deepEqual(page.done('tell').map(({ message }) => message), [{ kind: 'work' }]);
});

// Seeing other holders.

test('a lease of another holder whose expiry has passed without news is unknown', () => {
  const page = new Page();
  page.answer(page.sent[0], locked());
  assert.equal(page.shown, 'other');
  assert.equal(page.passes(60_001).shown, 'unknown');
  page.fires('read').fail(page.sent[0], OFFLINE);
  assert.deepEqual([page.events, page.timer('read')], [['unknown'], 5_000]);
});

test('a poll reads only what the stream does not tell', () => {
  const page = new Page();
  page.answer(page.sent[0], free()).passes(10_000).fires('poll');
  assert.deepEqual(page.sentNames, []);
  page.at({ live: false }).passes(10_000).fires('poll');
  assert.deepEqual([page.sentNames, page.timer('poll')], [['read'], 10_000]);
});
