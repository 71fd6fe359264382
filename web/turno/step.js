// One step of the rules: the state of a lease object, its effects, and what a page reads from the state.
//
// A step starts from a shallow copy of the state. Rules replace values in that copy and never change a nested object, so
// that the state before the step stays as it was.

// @ts-check
/** @import { LeaseEventMap, LeaseState, Lost, TurnPlace } from '../turno.js' */
/** @import { Answer, Call, Clocks, Failure, Grant, LeaseRequest, Left, Owed, RequestName, State, Step, TabMessage, Timer } from './types.js' */

import { RETRY_MS, between } from './time.js';

/** The timers that run only while the lease is held. @type {Timer[]} */
export const HOLDING = ['heartbeat', 'end', 'warn'];

/** The time of a request that was never sent. */
const NEVER = { steady: -Infinity, wall: -Infinity };

/**
 * Returns the state of a new lease object.
 *
 * @param {{ instance?: string | null, single?: boolean }} options
 * @param {Clocks} now
 */
export function firstState({ instance = null, single = false }, now) {
  return {
    /** Goes into the body of every request that concerns the holder. @type {{ instance?: string }} */
    instance: instance ? { instance } : {},
    /** Of several pages of one person, only the page that claimed last holds the lease. */
    single,
    /** Numbers grants and releases, so that a late answer is recognised. */
    serial: 0,
    /** The state as of the last step; `stateAt` also looks at the clock. @type {LeaseState} */
    name: 'unknown',
    /** The last document of the server, and when it arrived. @type {Answer | null} */
    lease: null,
    /** @type {Clocks | null} */
    heard: null,
    /** How the last grant ended, until the person acts. @type {Lost | null} */
    lost: null,
    /** The grant of this page: `{id, fence, claim, ttl_ms}`. @type {Grant | null} */
    grant: null,
    /** When the request was sent that last confirmed the grant, and how long the lease lasts from there. @type {Clocks} */
    sent: NEVER,
    lasts: 0,
    /** When this page or another tab last had an answer to a heartbeat or a claim. */
    renewed: clocksOf(now),
    /** Steady time of the last sleep or freeze. Answers to requests that were sent before it prove nothing. */
    doubted: -Infinity,
    /** Wall time at which a timer last fired. */
    ticked: now.wall,
    /** The pause before the next try after a failed heartbeat. */
    retry: RETRY_MS,
    /** A heartbeat is under way; `again` asks for another one after it. */
    beating: false,
    again: false,
    /** Work was done since the last heartbeat. */
    worked: false,
    /** The server knows that the person is idle, so further heartbeats are useless. */
    idleReported: false,
    /** The warning that is shown: `{reason}`. @type {{ reason: string } | null} */
    warned: null,
    /** The release requests that the page has already been told of. @type {string[]} */
    requests: [],
    /** The error of the last heartbeat if it was 401 or 403: the lease is no longer renewed. @type {Failure | null} */
    refused: null,
    /** The number of unanswered claims: a newer claim in an answer may be one of them. */
    taking: 0,
    /** When the last unanswered claim was sent. Browsers abort it before `pagehide`. @type {Clocks | null} */
    asked: null,
    /** The release that the server has not confirmed: `{id, fence, claim}`. @type {Owed | null} */
    owed: null,
    /** Releases under way: `{owed, calls}`. @type {{ owed: number, calls: Call[] }[]} */
    releasing: [],
    /** The page was left, and the browser may show it again. */
    away: false,
    /** The release to repeat if a heartbeat overtook it while the page was left. @type {object | null} */
    farewell: null,
    /** What this tab held before a reload. @type {Left | null} */
    left: null,
    reloaded: false,
    /** The place in line: `{position, offered}`. @type {TurnPlace | null} */
    turn: null,
    /** Another page took the place, so that page may give it up. */
    adopted: false,
    /** When the place was last confirmed, and for how long: `{kept, lasts}`. @type {{ kept: Clocks, lasts: number } | null} */
    ticket: null,
    keeping: false,
    /** The names of the running timers. @type {Timer[]} */
    timers: [],
    closed: false,
  };
}

/**
 * Returns the two clocks of a moment.
 *
 * @param {Clocks} now
 * @returns {Clocks}
 */
export function clocksOf({ steady, wall }) {
  return { steady, wall };
}

/**
 * Returns the grant. Only rules of a held lease ask for it.
 *
 * @param {State} state
 */
export function grantOf({ grant }) {
  if (!grant) throw new Error('this page does not hold the lease');
  return grant;
}

/**
 * Returns the last document of the server. Only rules that follow an answer ask for it.
 *
 * @param {State} state
 */
export function documentOf({ lease }) {
  if (!lease) throw new Error('the server has not answered yet');
  return lease;
}

// What a page reads.

/**
 * Returns the milliseconds until the lease ends unless it is renewed, as far as this page knows.
 *
 * @param {State} state
 * @param {Clocks} now
 */
export function expiresIn(state, now) {
  return state.grant ? Math.max(0, Math.round(state.lasts - between(state.sent, now))) : 0;
}

/**
 * Returns the milliseconds since the last document of the server arrived.
 *
 * @param {State} state
 * @param {Clocks} now
 */
export function sinceHeard({ heard }, now) {
  return heard ? between(heard, now) : Infinity;
}

/**
 * Whether the known expiry of another holder has passed without news.
 *
 * @param {State} state
 * @param {Clocks} now
 */
export function isOutdated(state, now) {
  return state.lease?.state === 'locked' && sinceHeard(state, now) > state.lease.expires_in_ms;
}

/**
 * Returns the state that is true at this moment, even if no timer has fired yet.
 *
 * @param {State} state
 * @param {Clocks} now
 * @returns {LeaseState}
 */
export function stateAt(state, now) {
  if (state.name === 'held' && expiresIn(state, now) <= 0) return 'unknown';
  return ['other', 'elsewhere'].includes(state.name) && isOutdated(state, now) ? 'unknown' : state.name;
}

/**
 * Returns the milliseconds until an offer to this person ends; 0 without an offer.
 *
 * @param {State} state
 * @param {Clocks} now
 */
export function offerIn(state, now) {
  return state.turn?.offered ? Math.max(0, Math.round(documentOf(state).offer_expires_in_ms - sinceHeard(state, now))) : 0;
}

// Effects.

/**
 * @param {Step} step
 * @param {keyof LeaseEventMap} name
 * @param {unknown} detail
 */
export function emit(step, name, detail) {
  step.effects.push({ do: 'emit', name, detail });
}

/**
 * Returns the detail of most events.
 *
 * @param {Step} step
 */
export function detailOf({ state, now }) {
  return { state: stateAt(state, now), lease: state.lease, lost: state.lost };
}

/**
 * Sends a request. Its answer comes back as an input together with the request.
 *
 * @param {Step} step
 * @param {RequestName} name
 * @param {Omit<LeaseRequest, 'name' | 'sent'>} request
 */
export function send(step, name, request) {
  step.effects.push({ do: 'send', request: { name, sent: clocksOf(step.now), ...request } });
}

/**
 * Answers a call of the page. Requests that no call waits for have no `call`.
 *
 * @param {Step} step
 * @param {Call | undefined} call
 * @param {unknown} answer
 */
export function settle(step, call, answer) {
  if (call) step.effects.push({ do: 'settle', call, answer });
}

/**
 * @param {Step} step
 * @param {Call | undefined} call
 * @param {Error} error
 */
export function reject(step, call, error) {
  if (call) step.effects.push({ do: 'reject', call, error });
}

/**
 * Starts a timer anew. `spread` multiplies its time by a random number between the two bounds.
 *
 * @param {Step} step
 * @param {Timer} timer
 * @param {number} ms
 * @param {[number, number]} spread
 */
export function start(step, timer, ms, spread = [1, 1]) {
  clear(step, timer);
  if (step.state.closed) return;
  step.state.timers = [...step.state.timers, timer];
  step.effects.push({ do: 'start', timer, ms, spread });
}

/**
 * @param {Step} step
 * @param {Timer[]} timers
 */
export function clear(step, ...timers) {
  for (const timer of timers.filter((name) => step.state.timers.includes(name))) {
    step.state.timers = step.state.timers.filter((name) => name !== timer);
    step.effects.push({ do: 'clear', timer });
  }
}

/**
 * Tells the other tabs that hold this grant.
 *
 * @param {Step} step
 * @param {TabMessage} message
 */
export function tell(step, message) {
  step.effects.push({ do: 'tell', grant: grantOf(step.state).id, message });
}

/**
 * Changes the state and dispatches its events.
 *
 * @param {Step} step
 * @param {LeaseState} name
 */
export function become(step, name) {
  const { state } = step;
  const before = state.name;
  state.name = name;
  emit(step, 'state', detailOf(step));
  if (name === before) return;
  if (name === 'unknown' && ['held', 'other', 'elsewhere'].includes(before)) emit(step, 'unknown', detailOf(step));
  if (name === 'offered') emit(step, 'offered', { lease: state.lease, offer_ms: documentOf(state).policy.offer_ms });
}

/**
 * Forgets the grant. With `quit: false` this tab stays in the group of its tabs, to tell them how the grant ended.
 *
 * @param {Step} step
 */
export function dropGrant(step, { quit = true } = {}) {
  const { state } = step;
  clear(step, ...HOLDING);
  if (state.grant && quit) step.effects.push({ do: 'quit', grant: state.grant.id });
  if (state.warned) step.effects.push({ do: 'warned', on: false });
  state.grant = null;
  state.warned = null;
  state.idleReported = false;
  state.worked = false;
  state.requests = [];
  state.refused = null;
  state.sent = NEVER;
}
