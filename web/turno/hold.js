// Rules for a lease that this page holds: renewing it, doubting it, and losing it.

// @ts-check
/** @import { Lost, ReleaseRequest } from '../turno.js' */
/** @import { Answer, Call, Clocks, Failure, LeaseRequest, Step, TabMessage } from './types.js' */

import { readAtEnd, showLease, unheard } from './see.js';
import { HOLDING, become, clear, clocksOf, detailOf, documentOf, dropGrant, emit, expiresIn, grantOf, reject, send, settle, start, tell } from './step.js';
import { REQUEST_MS, RETRY_MAX_MS, RETRY_MS, SLEPT_MS, between } from './time.js';
import { checkWarnings, idleFor } from './warn.js';

/**
 * Takes an answer that confirms the grant. `sent` is when its request was sent; a plain read does not renew (`renews`).
 *
 * @param {Step} step
 * @param {Answer} lease
 * @param {Clocks} sent
 * @param {boolean} renews
 */
export function confirmGrant(step, lease, sent, renews = true) {
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
  if (renews) state.renewed = clocksOf(now);
  if (renews || !state.timers.includes('heartbeat')) start(step, 'heartbeat', lease.policy.heartbeat_interval_ms);
  // Waits at least 50 ms, because the server can end the lease a moment after this page does.
  start(step, 'end', Math.max(expiresIn(state, now), 50));
  checkWarnings(step, renews && lease.renewed !== false);
  if (renews) state.refused = null;
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
  dropGrant(step);
  if (lease) {
    state.lease = lease;
    readAtEnd(step, lease);
  }
  state.lost = { reason, cause, by, by_name, note, message: detail };
  become(step, 'lost');
  emit(step, 'lost', { ...state.lost, lease: state.lease });
}

/**
 * Ends the grant because another page of this person has claimed the lease. Releases nothing: the other page holds it now.
 *
 * @param {Step} step
 * @param {Answer} lease
 */
function move(step, lease) {
  const { near } = step.now;
  dropGrant(step);
  showLease(step, lease);
  emit(step, 'moved', { ...detailOf(step), near });
}

// Heartbeats.

/**
 * Sends the heartbeat that is due. Leaves it out while the page is hidden, another tab leads, or the server knows that the
 * person is idle.
 *
 * @param {Step} step
 */
export function heartbeatDue(step) {
  const { state, now } = step;
  const { heartbeat_interval_ms: interval, idle_guard_ms: guard } = documentOf(state).policy;
  const idle = state.idleReported && guard && idleFor(now) >= guard;
  if (state.name === 'unknown') askServer(step);
  else if (now.hidden || !now.leads || idle) {
    step.effects.push({ do: 'insist', grant: grantOf(state).id });
    start(step, 'heartbeat', interval);
  } else sendHeartbeat(step);
}

/**
 * Sends a heartbeat. `call` waits for its end and then gets `lease`.
 *
 * @param {Step} step
 * @param {{ call?: Call, lease?: Answer | null }} waiting
 */
export function sendHeartbeat(step, { call = null, lease = null } = {}) {
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
  send(step, 'heartbeat', { method: 'POST', verb: 'heartbeat', body, timeout_ms, grant: grant.id, call, lease });
}

/**
 * @param {Step} step
 * @param {LeaseRequest} request
 * @param {Answer} answer
 */
export function heartbeatAnswered(step, request, answer) {
  const { state } = step;
  const current = () => state.grant?.id === request.grant;
  // The heartbeat was under way when the page was left, and may have undone the release.
  if (state.away) sendFarewell(step);
  else if (current()) {
    // The server knows from one heartbeat that the person is idle, so `heartbeatDue` sends no more.
    state.idleReported = answer.reason === 'idle';
    confirmGrant(step, answer, request.sent);
    if (current()) {
      shareAnswer(step);
      step.effects.push({ do: 'count', grant: grantOf(state).id });
    }
  }
  heartbeatEnded(step, request);
}

/**
 * @param {Step} step
 * @param {LeaseRequest} request
 * @param {Failure} error
 */
export function heartbeatFailed(step, request, error) {
  const { state } = step;
  state.worked ||= request.body?.worked === true;
  if (state.grant?.id === request.grant && !state.away) failed(step, error);
  heartbeatEnded(step, request);
}

/**
 * @param {Step} step
 * @param {LeaseRequest} request
 */
function heartbeatEnded(step, { call, lease }) {
  const { state } = step;
  state.beating = false;
  const again = state.again && state.grant && !state.away;
  state.again = false;
  if (again) sendHeartbeat(step);
  settle(step, call, lease);
}

/**
 * Follows a failed heartbeat or a failed read of a held lease.
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
      readLease(step);
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
  start(step, 'heartbeat', pause, [0.75, 1]);
}

/**
 * Doubts a lease whose time is up as far as this page knows. Only the server can say whether it has ended.
 *
 * @param {Step} step
 */
export function overdue(step) {
  const left = expiresIn(step.state, step.now);
  if (left > 0) return start(step, 'end', left);
  become(step, 'unknown');
  askServer(step);
}

/**
 * Makes the state unknown until the server answers, because after a sleep or a freeze nothing is certain.
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
  askServer(step);
}

/**
 * Asks the server for the state: with a heartbeat if the page may send one, otherwise with a read.
 *
 * @param {Step} step
 */
function askServer(step) {
  if (step.state.grant && !step.now.hidden) sendHeartbeat(step);
  else readLease(step, { failing: 'failed' });
}

// Reading the lease.

/**
 * Reads the lease and renews nothing. `failing` names what follows a failure: `failed` (as for a heartbeat) or `unheard`.
 *
 * @param {Step} step
 * @param {{ call?: Call, failing?: 'failed' | 'unheard' | null }} options
 */
export function readLease(step, { call = null, failing = null } = {}) {
  send(step, 'read', { method: 'GET', grant: step.state.grant?.id ?? null, call, failing });
}

/**
 * @param {Step} step
 * @param {LeaseRequest} request
 * @param {Answer} lease
 */
export function readAnswered(step, { call, grant, sent }, lease) {
  const { state } = step;
  const stale = grant !== (state.grant?.id ?? null) || state.away || state.closed;
  if (!stale && grant && !(lease.mine && lease.fence === grantOf(state).fence)) {
    // The fence is stale for good. A heartbeat with it changes nothing, and its refusal says why the lease was lost.
    become(step, 'unknown');
    return sendHeartbeat(step, { call, lease });
  }
  if (!stale && grant) confirmGrant(step, lease, sent, false);
  else if (!stale) showLease(step, lease);
  settle(step, call, lease);
}

/**
 * @param {Step} step
 * @param {LeaseRequest} request
 * @param {Failure} error
 */
export function readFailed(step, { call, failing }, error) {
  if (failing === 'failed' && step.state.grant) failed(step, error);
  if (failing === 'unheard') unheard(step);
  reject(step, call, error);
}

// The page and the person.

/**
 * Follows a change of visibility.
 *
 * @param {Step} step
 */
export function followVisibility(step) {
  const { state, now } = step;
  if (state.grant) checkWarnings(step);
  if (now.hidden) return;
  const interval = state.lease?.policy.heartbeat_interval_ms ?? 0;
  if (state.grant && now.wall - state.ticked > interval + SLEPT_MS) doubt(step);
  else if (state.grant) heartbeatDue(step);
  else readLease(step);
}

/**
 * Follows activity of the person: tells the other tabs and answers a warning.
 *
 * @param {Step} step
 */
export function active(step) {
  const { state, now } = step;
  if (!state.grant) return;
  tell(step, { kind: 'active', wall: now.active.wall });
  if (state.warned?.reason === 'idle' || state.idleReported) {
    state.idleReported = false;
    // The warning ends when the server has renewed the lease, and not before.
    if (!now.hidden && now.leads) sendHeartbeat(step);
  }
  checkWarnings(step);
}

/**
 * Notes real work: the next heartbeat restarts the rolling timeout.
 *
 * @param {Step} step
 */
export function worked(step) {
  const { state } = step;
  state.worked = true;
  if (state.grant) tell(step, { kind: 'work' });
  noteActivity(step, clocksOf(step.now));
  if (state.warned) sendHeartbeat(step);
  else active(step);
}

/**
 * Notes that the person is still there.
 *
 * @param {Step} step
 */
export function keep(step) {
  noteActivity(step, clocksOf(step.now));
  active(step);
}

/**
 * Notes activity of the person, for all leases of the page.
 *
 * @param {Step} step
 * @param {Clocks} when
 */
function noteActivity(step, when) {
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
  const { sent, idleReported } = step.state;
  tell(step, { kind: 'lease', lease: documentOf(step.state), wall: sent.wall, idle: idleReported });
}

/**
 * Starts to send the heartbeats for all tabs.
 *
 * @param {Step} step
 * @param {{ grant: number }} input
 */
export function startLeading(step, { grant }) {
  const { state, now } = step;
  if (state.grant?.id !== grant) return;
  if (between(state.renewed, now) >= documentOf(state).policy.heartbeat_interval_ms) heartbeatDue(step);
}

/**
 * Follows a message of another tab.
 *
 * @param {Step} step
 * @param {{ grant: number, message: TabMessage }} input
 */
export function followMessage(step, { grant, message }) {
  const { state, now } = step;
  if (state.grant?.id !== grant) return;
  if (message.kind === 'ended') return readLease(step, { failing: 'failed' });
  if (message.kind === 'work') {
    state.worked = true;
    if (state.warned && now.leads) sendHeartbeat(step);
    return;
  }
  const ago = Math.max(0, now.wall - message.wall);
  const when = { steady: now.steady - ago, wall: message.wall };
  if (message.kind === 'active') return noteActivity(step, when);
  if (!state.single) state.grant = { ...state.grant, claim: Math.max(state.grant.claim, message.lease.claim) };
  state.idleReported = message.idle;
  confirmGrant(step, message.lease, when);
  if (!state.grant) return;
  // The tab that has just sent a heartbeat also sends the next one: its interval starts with the answer.
  start(step, 'heartbeat', message.lease.policy.heartbeat_interval_ms * 1.5);
}

/**
 * Repeats the release of a page that was left.
 *
 * @param {Step} step
 */
export function sendFarewell(step) {
  if (step.state.farewell) step.effects.push({ do: 'farewell', body: step.state.farewell });
}
