// Rules for a lease that this page holds: renewing it, doubting it, and losing it.

// @ts-check
/** @import { Lost, ReleaseRequest } from '../turno.js' */
/** @import { Answer, Call, Clocks, Failure, LeaseRequest, Step, TabMessage } from './types.js' */

import { foresee, see, unheard } from './see.js';
import { HOLDING, become, clear, clocksOf, detailOf, documentOf, emit, expiresIn, grantOf, letGo, reject, send, settle, start, tell } from './step.js';
import { REQUEST_MS, RETRY_MAX_MS, RETRY_MS, SLEPT_MS, between } from './time.js';
import { idleFor, mind } from './warn.js';

/**
 * An answer to the request that was sent at `sent` confirms the grant. `beaten`: the request renews, a plain read does not.
 *
 * @param {Step} step
 * @param {Answer} lease
 * @param {Clocks} sent
 * @param {boolean} beaten
 */
export function hold(step, lease, sent, beaten = true) {
  const { state, now } = step;
  // The claim number only grows, so a higher one means that another page has claimed the lease since.
  if (state.single && !state.taking && lease.claim > grantOf(state).claim) return move(step, lease);
  // Answers can overtake each other.
  if (sent.steady < state.sent.steady) return;
  state.lease = lease;
  state.heard = clocksOf(now);
  // The time counts from when the request was sent, because the answer may have taken long.
  state.sent = sent;
  state.lasts = lease.expires_in_ms ?? 0;
  state.retry = RETRY_MS;
  // A read renews nothing, so the next heartbeat stays due when it was.
  if (beaten) state.renewed = clocksOf(now);
  if (beaten || !state.timers.includes('beat')) start(step, 'beat', lease.policy.heartbeat_interval_ms);
  // Waits at least 50 ms, because the server can end the lease a moment after this page does.
  start(step, 'end', Math.max(expiresIn(state, now), 50));
  mind(step, beaten && lease.renewed !== false);
  if (beaten) state.refused = null;
  // A request that was sent before a sleep says nothing about the time after it.
  if (sent.steady < state.doubted || expiresIn(state, now) <= 0 || state.refused) {
    if (state.name !== 'unknown') become(step, 'unknown');
    return;
  }
  const before = state.name;
  become(step, 'held');
  if (before !== 'held') emit(step, 'held', { lease });
  announceRequests(step, lease.requests ?? []);
}

/**
 * Dispatches `requested` once for each release request that the holder has not declined.
 *
 * @param {Step} step
 * @param {ReleaseRequest[]} requests
 */
function announceRequests(step, requests) {
  const { state } = step;
  for (const request of requests.filter(({ declined_at }) => !declined_at)) {
    const id = `${request.by.id} ${request.at}`;
    if (state.requests.includes(id)) continue;
    state.requests = [...state.requests, id];
    emit(step, 'requested', request);
  }
}

/**
 * Ends the grant and dispatches `lost`.
 *
 * @param {Step} step
 * @param {Partial<Lost> & { detail?: string | null, lease?: Answer | null }} end
 */
function lose(step, { reason = 'expired', cause = null, by = null, by_name = null, note = null, detail = null, lease = null }) {
  const { state } = step;
  letGo(step);
  if (lease) {
    state.lease = lease;
    foresee(step, lease);
  }
  state.lost = { reason, cause, by, by_name, note, message: detail };
  become(step, 'lost');
  emit(step, 'lost', { ...state.lost, lease: state.lease });
}

/**
 * Another page of this person has claimed the lease and continues. Nothing is released, because the lease is theirs now.
 *
 * @param {Step} step
 * @param {Answer} lease
 */
function move(step, lease) {
  const { near } = step.now;
  letGo(step);
  see(step, lease);
  emit(step, 'moved', { ...detailOf(step), near });
}

// Heartbeats.

/**
 * A heartbeat is due. It is left out while the page is hidden, another tab leads, or the server knows that the person is idle.
 *
 * @param {Step} step
 */
export function tick(step) {
  const { state, now } = step;
  const { heartbeat_interval_ms: interval, idle_guard_ms: guard } = documentOf(state).policy;
  const idle = state.saidIdle && guard && idleFor(now) >= guard;
  if (state.name === 'unknown') confirm(step);
  else if (now.hidden || !now.leads || idle) {
    step.effects.push({ do: 'insist', grant: grantOf(state).id });
    start(step, 'beat', interval);
  } else beat(step);
}

/**
 * Sends a heartbeat. `call` waits for its end and then gets `lease`.
 *
 * @param {Step} step
 * @param {{ call?: Call, lease?: Answer | null }} waiting
 */
export function beat(step, { call = null, lease = null } = {}) {
  const { state, now } = step;
  const { grant } = state;
  if (!grant || state.beating) {
    if (grant) state.again = true;
    return settle(step, call, lease);
  }
  /** @type {Record<string, unknown>} */
  const body = { fence: grant.fence, idle_ms: idleFor(now), ...state.instance };
  if (state.worked) body.worked = true;
  state.worked = false;
  state.beating = true;
  const timeout_ms = Math.min(REQUEST_MS, Math.max(1_000, state.lasts / 2));
  send(step, 'beat', { method: 'POST', verb: 'heartbeat', body, timeout_ms, grant: grant.id, call, lease });
}

/**
 * @param {Step} step
 * @param {LeaseRequest} request
 * @param {Answer} answer
 */
export function beatAnswered(step, request, answer) {
  const { state } = step;
  const current = () => state.grant?.id === request.grant;
  // The heartbeat was under way when the page was left, and may have undone the release.
  if (state.away) sayFarewell(step);
  else if (current()) {
    // The server knows from one heartbeat that the person is idle, so `tick` sends no more.
    state.saidIdle = answer.reason === 'idle';
    hold(step, answer, request.sent);
    if (current()) {
      shareAnswer(step);
      step.effects.push({ do: 'count', grant: grantOf(state).id });
    }
  }
  beatEnded(step, request);
}

/**
 * @param {Step} step
 * @param {LeaseRequest} request
 * @param {Failure} error
 */
export function beatFailed(step, request, error) {
  const { state } = step;
  state.worked ||= request.body?.worked === true;
  if (state.grant?.id === request.grant && !state.away) failed(step, error);
  beatEnded(step, request);
}

/**
 * @param {Step} step
 * @param {LeaseRequest} request
 */
function beatEnded(step, { call, lease }) {
  const { state } = step;
  state.beating = false;
  const again = state.again && state.grant && !state.away;
  state.again = false;
  if (again) beat(step);
  settle(step, call, lease);
}

/**
 * A heartbeat or a read of a held lease failed.
 *
 * @param {Step} step
 * @param {Failure} error
 */
function failed(step, error) {
  const { state, now } = step;
  if (error.code === 'lease_lost') {
    tell(step, { kind: 'ended' });
    return lose(step, /** @type {Partial<Lost>} */ (error.problem ?? {}));
  }
  if (error.status === 401 || error.status === 403) {
    state.refused = error;
    // The lease is no longer renewed, so it is lost when its time is up. The read shows who has it then.
    if (expiresIn(state, now) <= 0) {
      lose(step, { cause: 'forbidden', detail: error.message });
      look(step);
      return emit(step, 'error', { error });
    }
    if (state.name === 'held') become(step, 'unknown');
  }
  // Other refusals do not pass by themselves, unlike a lost connection, an overloaded server or a rate limit.
  if (error.status && error.status >= 400 && error.status < 500 && error.status !== 429) emit(step, 'error', { error });
  // One failed heartbeat costs nothing: the lease lives until its time is up, and the next try comes before that.
  const left = expiresIn(state, now);
  const pause = left > 0 ? Math.min(state.retry, Math.max(left / 3, RETRY_MS)) : state.retry;
  state.retry = Math.min(state.retry * 2, RETRY_MAX_MS);
  start(step, 'beat', pause, [0.75, 1]);
}

/**
 * The time of the lease is up as far as this page knows. Only the server can say whether it really is.
 *
 * @param {Step} step
 */
export function overdue(step) {
  const left = expiresIn(step.state, step.now);
  if (left > 0) return start(step, 'end', left);
  become(step, 'unknown');
  confirm(step);
}

/**
 * After a sleep or a freeze, nothing that this page knows is certain until the server answers.
 *
 * @param {Step} step
 */
export function doubt(step) {
  const { state, now } = step;
  state.doubted = now.steady;
  if (state.grant) {
    clear(step, ...HOLDING);
    become(step, 'unknown');
  }
  confirm(step);
}

/**
 * Asks the server for the state: with a heartbeat if the page may send one, otherwise with a read.
 *
 * @param {Step} step
 */
function confirm(step) {
  if (step.state.grant && !step.now.hidden) beat(step);
  else look(step, { failing: 'failed' });
}

// Reading the lease.

/**
 * Reads the lease and renews nothing. `failing` names what follows a failure: `failed` (as for a heartbeat) or `unheard`.
 *
 * @param {Step} step
 * @param {{ call?: Call, failing?: 'failed' | 'unheard' | null }} options
 */
export function look(step, { call = null, failing = null } = {}) {
  send(step, 'look', { method: 'GET', grant: step.state.grant?.id ?? null, call, failing });
}

/**
 * @param {Step} step
 * @param {LeaseRequest} request
 * @param {Answer} lease
 */
export function lookAnswered(step, { call, grant, sent }, lease) {
  const { state } = step;
  const stale = grant !== (state.grant?.id ?? null) || state.away || state.closed;
  if (!stale && grant && !(lease.mine && lease.fence === grantOf(state).fence)) {
    // The fence is stale for good. A heartbeat with it changes nothing, and its refusal says why the lease was lost.
    become(step, 'unknown');
    return beat(step, { call, lease });
  }
  if (!stale && grant) hold(step, lease, sent, false);
  else if (!stale) see(step, lease);
  settle(step, call, lease);
}

/**
 * @param {Step} step
 * @param {LeaseRequest} request
 * @param {Failure} error
 */
export function lookFailed(step, { call, failing }, error) {
  if (failing === 'failed' && step.state.grant) failed(step, error);
  if (failing === 'unheard') unheard(step);
  reject(step, call, error);
}

// The page and the person.

/**
 * The page was shown or hidden.
 *
 * @param {Step} step
 */
export function seen(step) {
  const { state, now } = step;
  if (state.grant) mind(step);
  if (now.hidden) return;
  const interval = state.lease?.policy.heartbeat_interval_ms ?? 0;
  if (state.grant && now.wall - state.ticked > interval + SLEPT_MS) doubt(step);
  else if (state.grant) tick(step);
  else look(step);
}

/** @param {Step} step */
export function active(step) {
  const { state, now } = step;
  if (!state.grant) return;
  tell(step, { kind: 'active', wall: now.active.wall });
  if (state.warned?.reason === 'idle' || state.saidIdle) {
    state.saidIdle = false;
    // The warning ends when the server has renewed the lease, and not before.
    if (!now.hidden && now.leads) beat(step);
  }
  mind(step);
}

/**
 * Real work was done: the next heartbeat restarts the rolling timeout.
 *
 * @param {Step} step
 */
export function worked(step) {
  const { state } = step;
  state.worked = true;
  if (state.grant) tell(step, { kind: 'work' });
  touch(step, clocksOf(step.now));
  if (state.warned) beat(step);
  else active(step);
}

/** @param {Step} step */
export function keep(step) {
  touch(step, clocksOf(step.now));
  active(step);
}

/**
 * Notes activity of the person, for all leases of the page.
 *
 * @param {Step} step
 * @param {Clocks} when
 */
function touch(step, when) {
  if (when.steady > step.now.active.steady) step.now = { ...step.now, active: when };
  step.effects.push({ do: 'touch', when });
}

// The other tabs that hold the same grant.

/**
 * Tells the other tabs what the server answered. The wall clock says when it was asked: a frozen tab hears it late.
 *
 * @param {Step} step
 */
export function shareAnswer(step) {
  const { sent, saidIdle } = step.state;
  tell(step, { kind: 'lease', lease: documentOf(step.state), wall: sent.wall, idle: saidIdle });
}

/**
 * From now on this tab sends the heartbeats for all tabs.
 *
 * @param {Step} step
 * @param {{ grant: number }} input
 */
export function led(step, { grant }) {
  const { state, now } = step;
  if (state.grant?.id !== grant) return;
  if (between(state.renewed, now) >= documentOf(state).policy.heartbeat_interval_ms) tick(step);
}

/**
 * Another tab sent a message.
 *
 * @param {Step} step
 * @param {{ grant: number, message: TabMessage }} input
 */
export function told(step, { grant, message }) {
  const { state, now } = step;
  if (state.grant?.id !== grant) return;
  if (message.kind === 'ended') return look(step, { failing: 'failed' });
  if (message.kind === 'work') {
    state.worked = true;
    if (state.warned && now.leads) beat(step);
    return;
  }
  const ago = Math.max(0, now.wall - message.wall);
  const when = { steady: now.steady - ago, wall: message.wall };
  if (message.kind === 'active') return touch(step, when);
  if (!state.single) state.grant = { ...state.grant, claim: Math.max(state.grant.claim, message.lease.claim) };
  state.saidIdle = message.idle;
  hold(step, message.lease, when);
  if (!state.grant) return;
  // The tab that has just sent a heartbeat also sends the next one: its interval starts with the answer.
  start(step, 'beat', message.lease.policy.heartbeat_interval_ms * 1.5);
}

/**
 * Repeats the release of a page that was left.
 *
 * @param {Step} step
 */
export function sayFarewell(step) {
  if (step.state.farewell) step.effects.push({ do: 'farewell', body: step.state.farewell });
}
