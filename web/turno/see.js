// Rules for a lease that this page does not hold: showing its state, and sending a release until the server answers.

// @ts-check
/** @import { LeaseState } from '../turno.js' */
/** @import { Answer, Call, Failure, LeaseRequest, Step, StreamEvent } from './types.js' */

import { readLease } from './hold.js';
import { followPlace, keepTurn, outOfLine } from './line.js';
import { become, clear, clocksOf, detailOf, dropGrant, emit, isOutdated, reject, send, settle, sinceHeard, start } from './step.js';
import { RETRY_MS } from './time.js';

/** Without a live stream the lease is read this often; on a hidden page less often. */
const POLL_MS = 10_000;
const POLL_HIDDEN_MS = 30_000;

/**
 * Shows a document of the server while this page does not hold the lease.
 *
 * @param {Step} step
 * @param {Answer | null | undefined} lease
 */
export function showLease(step, lease) {
  if (!lease) return;
  const { state, now } = step;
  state.lease = lease;
  state.heard = clocksOf(now);
  readAtEnd(step, lease);
  followPlace(step, lease);
  if (owesRelease(step, lease)) return emit(step, 'state', detailOf(step));
  // A lost lease stays lost until the person acts. Otherwise the person could miss it.
  if (state.name === 'lost') return emit(step, 'state', detailOf(step));
  /** @type {Record<Answer['state'], LeaseState>} */
  const states = { free: 'free', locked: lease.mine ? 'elsewhere' : 'other', offered: 'other' };
  become(step, lease.state === 'offered' && state.turn?.offered ? 'offered' : states[lease.state]);
}

/**
 * The person has acted after a loss, so the page shows the real state again.
 *
 * @param {Step} step
 */
export function endLoss({ state }) {
  if (state.name !== 'lost') return;
  state.lost = null;
  state.name = 'unknown';
}

/**
 * Reads the lease again when it ends by itself. The server announces the end too, but a page may have no stream.
 *
 * @param {Step} step
 * @param {Answer} lease
 */
export function readAtEnd(step, { state, expires_in_ms, policy }) {
  clear(step, 'read');
  if (state === 'free') return;
  start(step, 'read', state === 'locked' ? expires_in_ms + 100 : Math.min(policy.offer_ms / 4, POLL_MS / 2), [1, 1.1]);
}

/**
 * If the known end has passed and the server does not answer, shows `unknown` and tries again.
 *
 * @param {Step} step
 */
export function unheard(step) {
  const { state, now } = step;
  if (state.grant || state.closed) return;
  if (isOutdated(state, now) && ['other', 'elsewhere'].includes(state.name)) become(step, 'unknown');
  start(step, 'read', POLL_MS / 2);
}

/**
 * Starts the timer that reads the lease where no stream does.
 *
 * @param {Step} step
 */
export function startPolling(step) {
  start(step, 'poll', step.now.hidden ? POLL_HIDDEN_MS : POLL_MS, [0.9, 1.1]);
}

/** @param {Step} step */
export function polled(step) {
  const { state, now } = step;
  const quiet = sinceHeard(state, now) > POLL_MS * 0.8;
  if (quiet && (now.hidden || !now.live)) readLease(step);
  startPolling(step);
}

/**
 * Follows an event of the stream: reads the lease, or confirms the place in line.
 *
 * @param {Step} step
 * @param {{ event: StreamEvent }} input
 */
export function streamed(step, { event }) {
  const { state } = step;
  if (state.closed) return;
  if (event.name === 'lease.line_closed') outOfLine(step, { over: event.detail ?? true });
  if (event.name === 'lease.offered' && state.turn) keepTurn(step);
  else readLease(step);
}

// Releasing.

/**
 * Releases the lease for all tabs of this person.
 *
 * @param {Step} step
 * @param {{ call: Call }} input
 */
export function release(step, { call }) {
  const { state } = step;
  const { grant } = state;
  if (!grant) return state.owed ? sendRelease(step, { call }) : settle(step, call, state.lease);
  step.effects.push({ do: 'lead', grant: grant.id, wanted: false });
  // No heartbeat may follow a release, so the grant is forgotten before the server has agreed.
  dropGrant(step, { quit: false });
  state.serial += 1;
  state.owed = { id: state.serial, fence: grant.fence, claim: grant.claim };
  become(step, 'unknown');
  sendRelease(step, { call, body: { fence: grant.fence }, tabs: grant.id });
}

/**
 * Sends the release that the server has not confirmed. A repeated release names its claim, so that a page that has claimed
 * the lease meanwhile keeps it.
 *
 * @param {Step} step
 * @param {{ call?: Call, body?: object | null, tabs?: number | null }} options
 */
export function sendRelease(step, { call = null, body = null, tabs = null } = {}) {
  const { state } = step;
  clear(step, 'owed');
  if (!state.owed) return;
  const { id, fence, claim } = state.owed;
  const underway = state.releasing.find(({ owed }) => owed === id);
  if (underway) {
    const joined = { owed: id, calls: [...underway.calls, call] };
    state.releasing = state.releasing.map((one) => (one === underway ? joined : one));
    return;
  }
  state.releasing = [...state.releasing, { owed: id, calls: [call] }];
  send(step, 'release', {
    method: 'POST',
    verb: 'release',
    body: { ...(body ?? { fence, claim }), ...state.instance },
    owed: id,
    tabs,
  });
}

/**
 * @param {Step} step
 * @param {LeaseRequest} request
 * @param {Answer | null | undefined} lease
 */
export function releaseAnswered(step, request, lease) {
  const { state } = step;
  const calls = releaseEnded(step, request);
  if (state.owed?.id === request.owed) state.owed = null;
  if (!state.grant) showLease(step, lease);
  tellTabs(step, request);
  for (const call of calls) settle(step, call, lease);
}

/**
 * @param {Step} step
 * @param {LeaseRequest} request
 * @param {Failure} error
 */
export function releaseFailed(step, request, error) {
  const { state } = step;
  // The lease is not held any more, which is what the release wanted.
  if (error.code === 'lease_lost') return releaseAnswered(step, request, /** @type {Answer | undefined} */ (error.problem?.lease));
  const calls = releaseEnded(step, request);
  const answered = error.status && error.status < 500 && error.status !== 429;
  if (state.owed?.id === request.owed && answered) state.owed = null;
  else if (state.owed?.id === request.owed) start(step, 'owed', RETRY_MS * 4);
  tellTabs(step, request);
  for (const call of calls) reject(step, call, error);
}

/**
 * Removes the release from those under way. Returns the calls that wait for it.
 *
 * @param {Step} step
 * @param {LeaseRequest} request
 */
function releaseEnded({ state }, { owed }) {
  const calls = state.releasing.find((one) => one.owed === owed)?.calls ?? [];
  state.releasing = state.releasing.filter((one) => one.owed !== owed);
  return calls;
}

/**
 * Tells the other tabs that the grant has ended, after the first answer to the release.
 *
 * @param {Step} step
 * @param {LeaseRequest} request
 */
function tellTabs(step, { tabs }) {
  if (!tabs) return;
  step.effects.push({ do: 'tell', grant: tabs, message: { kind: 'ended' } });
  step.effects.push({ do: 'quit', grant: tabs });
}

/**
 * Whether this person is still the holder only because the server has not heard the release. Then sends the release again.
 *
 * @param {Step} step
 * @param {Answer} lease
 */
function owesRelease(step, { mine, fence, claim }) {
  const { state } = step;
  if (!state.owed) return false;
  const ours = mine && fence === state.owed.fence && !(claim > state.owed.claim);
  if (ours) sendRelease(step);
  else state.owed = null;
  return ours;
}
