// The rules of a lease as a pure function: (state, input, now) to the next state and its effects.
//
// An input is a call of the page, an answer of the server, an event of the stream, a timer that fired, a message of
// another tab, or a change of the page or the person. `now` is the moment of the input: both clocks (`steady`, `wall`),
// whether the page is `hidden`, when the person was last `active`, whether the stream is `live`, and what the tabs of this
// grant say (`leads`, `alone`, `near`). An effect is data; the class `Lease` runs it. The rules read no clock, draw no
// random number and touch neither the document nor the network.

// @ts-check
/** @import { Answer, Call, Effect, Failure, Input, InputOf, LeaseRequest, Moment, State, Step, Timer } from './types.js' */

import { active, confirmGrant, doubt, followMessage, followVisibility, heartbeatAnswered, heartbeatDue, heartbeatFailed, keep, overdue, readAnswered, readFailed, readLease, sendFarewell, shareAnswer, startLeading, worked } from './hold.js';
import { keepTurn, keepTurnAnswered, keepTurnFailed, leaveLine, leaveLineAnswered, missOffer, rejoinAnswered, returnTurnAnswered, takeTurn, takeTurnAnswered } from './line.js';
import { RETURN_MS } from './reload.js';
import { endLoss, polled, release, releaseAnswered, releaseFailed, sendRelease, showLease, startPolling, streamed } from './see.js';
import { HOLDING, clear, clocksOf, detailOf, documentOf, dropGrant, emit, grantOf, reject, send, settle, start } from './step.js';
import { REQUEST_MS, RETRY_MS, SLEPT_MS, between } from './time.js';
import { checkWarnings } from './warn.js';

/** A page that is left may be reloaded, so the server keeps the lease for this long. */
const GRACE_MS = 5_000;

/**
 * Applies one input. Returns the next state and the effects in their order; `state` stays unchanged.
 *
 * @param {State} state
 * @param {Input} input
 * @param {Moment} now
 * @returns {{ state: State, effects: Effect[] }}
 */
export function reduce(state, input, now) {
  const step = { state: { ...state }, now, effects: [] };
  INPUTS[input.kind](step, input);
  return { state: step.state, effects: step.effects };
}

/** @type {Record<Input['kind'], (step: Step, input: any) => void>} */
const INPUTS = {
  opened,
  closed,
  claim,
  release,
  forceRelease,
  requestRelease,
  declineRelease,
  takeTurn,
  leaveTurn: leaveLine,
  worked,
  keep,
  active,
  refresh: readLease,
  answered: (step, /** @type {InputOf<'answered'>} */ { request, answer }) => ANSWERS[request.name](step, request, answer),
  failed: (step, /** @type {InputOf<'failed'>} */ { request, error }) => FAILURES[request.name](step, request, error),
  timer: timerFired,
  event: streamed,
  visibility: followVisibility,
  thawed: doubt,
  online: (step) => (step.state.grant ? heartbeatDue(step) : readLease(step)),
  left: (step) => leave(step, GRACE_MS),
  restored,
  leads: startLeading,
  message: followMessage,
};

/** @type {Record<LeaseRequest['name'], (step: Step, request: LeaseRequest, answer: Answer) => void>} */
const ANSWERS = {
  claim: claimAnswered,
  resume: resumeAnswered,
  release: releaseAnswered,
  heartbeat: heartbeatAnswered,
  read: readAnswered,
  forceRelease: (step, { call }) => readLease(step, { call }),
  requestRelease: (step, { call }, answer) => settle(step, call, answer),
  declineRelease: declineAnswered,
  takeTurn: takeTurnAnswered,
  leaveTurn: leaveLineAnswered,
  keepTurn: keepTurnAnswered,
  rejoin: rejoinAnswered,
  returnTurn: returnTurnAnswered,
};

/** @type {Record<LeaseRequest['name'], (step: Step, request: LeaseRequest, error: Failure) => void>} */
const FAILURES = {
  claim: claimFailed,
  resume: resumeFailed,
  release: releaseFailed,
  heartbeat: heartbeatFailed,
  read: readFailed,
  forceRelease: callFailed,
  requestRelease: callFailed,
  declineRelease: callFailed,
  takeTurn: callFailed,
  leaveTurn: callFailed,
  keepTurn: keepTurnFailed,
  rejoin: keepTurnFailed,
  returnTurn: keepTurnFailed,
};

/** @type {Record<Timer, (step: Step) => void>} */
const TIMERS = {
  heartbeat: heartbeatDue,
  end: overdue,
  warn: (step) => checkWarnings(step),
  read: (step) => readLease(step, { failing: 'unheard' }),
  poll: polled,
  resume,
  owed: (step) => step.state.owed && sendRelease(step),
  turn: keepTurn,
  offer: missOffer,
};

/**
 * Runs the rule of a timer. If it fired late, the machine slept or the browser froze the tab, so the grant is in doubt.
 *
 * @param {Step} step
 * @param {InputOf<'timer'>} input
 */
function timerFired(step, { timer, late_ms }) {
  const { state, now } = step;
  state.timers = state.timers.filter((name) => name !== timer);
  const late = late_ms > SLEPT_MS;
  state.ticked = now.wall;
  if (late && state.grant) doubt(step);
  if (!late || !HOLDING.includes(timer)) TIMERS[timer](step);
}

// Opening and reloading.

/**
 * Starts a lease object. `left` is what this tab held before, if its page was left less than a minute ago.
 *
 * @param {Step} step
 * @param {InputOf<'opened'>} input
 */
function opened(step, { left, reloaded }) {
  step.state.left = left;
  step.state.reloaded = reloaded;
  if (left) resume(step);
  else readLease(step);
  startPolling(step);
}

/**
 * Continues with what this tab held before the reload.
 *
 * @param {Step} step
 */
function resume(step) {
  send(step, 'resume', { method: 'GET' });
}

/**
 * @param {Step} step
 * @param {unknown} _
 * @param {Answer} lease
 */
function resumeAnswered(step, _, lease) {
  const { state } = step;
  const { left } = state;
  if (state.grant || state.closed || !left) return;
  const ours = lease.mine && lease.fence === left.fence;
  // A claim that was unanswered when the page was left may have been granted.
  const free = state.reloaded && (lease.state === 'free' || (left.asked && lease.mine));
  if (!ours && !free) return showLease(step, lease);
  /** @type {Record<string, unknown>} */
  const body = { ...state.instance };
  if (left.ttl_ms) body.ttl_ms = left.ttl_ms;
  claim(step, { verb: 'claim', body, timeout_ms: REQUEST_MS, resumes: true });
}

/**
 * Tries again for a minute after a reload if the server does not answer.
 *
 * @param {Step} step
 * @param {unknown} _
 * @param {Failure} error
 */
function resumeFailed(step, _, error) {
  const { left } = step.state;
  if (!error.status && left && step.now.wall - left.at < RETURN_MS) start(step, 'resume', RETRY_MS);
  else readLease(step);
}

// Claiming.

/**
 * Claims the lease, or joins the grant that this person already holds.
 *
 * @param {Step} step
 * @param {{ call?: Call, verb: string, body: Record<string, any>, timeout_ms?: number, resumes?: boolean }} input
 */
function claim(step, { call = null, verb, body, timeout_ms, resumes = false }) {
  const { state, now } = step;
  if (state.single && !state.grant) step.effects.push({ do: 'announce' });
  state.taking += 1;
  state.asked = clocksOf(now);
  send(step, 'claim', { method: 'POST', verb, body, timeout_ms, call, resumes });
}

/**
 * @param {Step} step
 * @param {LeaseRequest} request
 * @param {Answer} lease
 */
function claimAnswered(step, { call, body = {}, sent }, lease) {
  const { state } = step;
  state.taking -= 1;
  state.asked = null;
  if (state.closed) {
    step.effects.push({ do: 'farewell', body: { fence: lease.fence, claim: lease.claim, ...state.instance } });
    return settle(step, call, lease);
  }
  if (state.grant?.fence !== lease.fence) {
    dropGrant(step);
    state.serial += 1;
    state.grant = { id: state.serial, fence: lease.fence, claim: 0, ttl_ms: body.ttl_ms ?? null };
    step.effects.push({ do: 'join', grant: state.grant.id, fence: lease.fence });
  }
  const grant = grantOf(state);
  state.grant = { ...grant, claim: Math.max(grant.claim, lease.claim) };
  state.lost = null;
  state.turn = null;
  state.owed = null;
  clear(step, 'turn', 'offer', 'read', 'resume', 'owed');
  confirmGrant(step, lease, sent);
  step.effects.push({ do: 'lead', grant: grant.id, wanted: !step.now.hidden });
  shareAnswer(step);
  settle(step, call, lease);
}

/**
 * @param {Step} step
 * @param {LeaseRequest} request
 * @param {Failure} error
 */
function claimFailed(step, request, error) {
  const { state } = step;
  state.taking -= 1;
  if (error.status) state.asked = null;
  if (error.problem?.lease && !state.grant) {
    endLoss(step);
    showLease(step, /** @type {Answer} */ (error.problem.lease));
  }
  if (request.resumes) resumeFailed(step, request, error);
  reject(step, request.call, error);
}

// Calls that change nothing in this page until they are answered.

/**
 * @param {Step} step
 * @param {LeaseRequest} request
 * @param {Failure} error
 */
function callFailed(step, { call }, error) {
  reject(step, call, error);
}

/**
 * @param {Step} step
 * @param {InputOf<'forceRelease'>} input
 */
function forceRelease(step, { call, reason, fence }) {
  send(step, 'forceRelease', { method: 'POST', verb: 'force-release', body: { reason, fence }, call });
}

/**
 * @param {Step} step
 * @param {InputOf<'requestRelease'>} input
 */
function requestRelease(step, { call, message }) {
  const body = message ? { message, ...step.state.instance } : { ...step.state.instance };
  send(step, 'requestRelease', { method: 'POST', verb: 'request-release', body, call });
}

/**
 * @param {Step} step
 * @param {InputOf<'declineRelease'>} input
 */
function declineRelease(step, { call, message }) {
  /** @type {Record<string, unknown>} */
  const body = { fence: step.state.grant?.fence, ...step.state.instance };
  if (message) body.message = message;
  send(step, 'declineRelease', { method: 'POST', verb: 'decline-release', body, call });
}

/**
 * @param {Step} step
 * @param {LeaseRequest} request
 * @param {Answer} answer
 */
function declineAnswered(step, { call, body = {} }, answer) {
  const { state } = step;
  if (state.grant && state.grant.fence === body.fence) state.lease = { ...documentOf(state), requests: answer.requests };
  emit(step, 'state', detailOf(step));
  settle(step, call, answer);
}

// Leaving and coming back.

/**
 * Releases the lease of a page that is left, or of an object that is closed. The ttl ends the lease in any case; the
 * release ends it sooner. An unanswered claim has no fence to release: a reload continues with it, or its ttl ends it.
 *
 * @param {Step} step
 * @param {number} grace_ms
 */
function leave(step, grace_ms = 0) {
  const { state, now } = step;
  const { fence, claim: number, ttl_ms } = state.grant ?? {};
  if (state.owed) step.effects.push({ do: 'farewell', body: { fence: state.owed.fence, claim: state.owed.claim, ...state.instance } });
  const claiming = state.asked && between(state.asked, now) < REQUEST_MS;
  if (!fence && grace_ms && claiming) step.effects.push({ do: 'remember', grant: { asked: true } });
  if (!fence) return;
  if (grace_ms) {
    step.effects.push({ do: 'remember', grant: { fence, ttl_ms } });
    // A heartbeat would undo the release.
    clear(step, ...HOLDING);
    state.away = true;
  }
  step.effects.push({ do: 'quit', grant: grantOf(state).id });
  // The release names its claim, so that a reload that has claimed the lease again meanwhile keeps it.
  const grace = grace_ms ? { grace_ms } : {};
  const left = { fence, claim: number, ...grace, ...state.instance };
  state.farewell = now.alone ? left : null;
  sendFarewell(step);
}

/**
 * Doubts the grant of a page that was left and is shown again, because the page has released it.
 *
 * @param {Step} step
 */
function restored(step) {
  const { state, now } = step;
  step.effects.push({ do: 'forget' });
  state.away = false;
  if (state.grant) {
    step.effects.push({ do: 'join', grant: state.grant.id, fence: state.grant.fence });
    step.effects.push({ do: 'lead', grant: state.grant.id, wanted: !now.hidden });
  }
  doubt(step);
}

/**
 * Ends everything. The lease is released unless another tab still holds it.
 *
 * @param {Step} step
 */
function closed(step) {
  const { state } = step;
  if (state.closed) return;
  leave(step);
  dropGrant(step);
  clear(step, ...state.timers);
  state.closed = true;
  step.effects.push({ do: 'end' });
}
