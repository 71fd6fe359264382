// Rules of the waiting line: taking a place, keeping it, and giving it up.

// @ts-check
/** @import { Answer, Call, Failure, LeaseRequest, RequestName, Step } from './types.js' */

import { endLoss, showLease } from './see.js';
import { clear, clocksOf, emit, send, settle, start } from './step.js';
import { RETRY_MS, between } from './time.js';

/**
 * Sends a request about the place of this person.
 *
 * @param {Step} step
 * @param {RequestName} name
 * @param {'POST' | 'DELETE'} method
 * @param {{ call?: Call }} fields
 * @param {{ keep?: true }} body
 */
function askLine(step, name, method, fields = {}, body = {}) {
  send(step, name, { method, verb: 'turn', body: { ...step.state.instance, ...body }, ...fields });
}

/**
 * @param {Step} step
 * @param {{ call: Call }} input
 */
export function takeTurn(step, { call }) {
  askLine(step, 'takeTurn', 'POST', { call });
}

/**
 * @param {Step} step
 * @param {LeaseRequest} request
 * @param {Answer} answer
 */
export function takeTurnAnswered(step, { call }, answer) {
  endLoss(step);
  step.state.adopted = false;
  storePlace(step, answer);
  settle(step, call, answer);
}

/**
 * Follows the place that the server reports. A place belongs to the person, so any page of the person can have taken it.
 *
 * @param {Step} step
 * @param {Answer} lease
 */
export function followPlace(step, lease) {
  const { state } = step;
  const before = state.turn;
  const offered = lease.state === 'offered' && lease.position === 1;
  if (lease.mine) return outOfLine(step);
  if (!lease.position && state.adopted) return outOfLine(step);
  if (before?.offered && !offered) return missOffer(step);
  if (!lease.position) return;
  state.turn = { position: lease.position, offered };
  if (offered && !before?.offered) start(step, 'offer', lease.offer_expires_in_ms);
  if (before?.position !== lease.position) emit(step, 'turn', { ...state.turn, missed: false, over: null });
  if (!before) state.adopted = true;
  // A place that another page took may be about to expire, so it is confirmed at once. A free lease with a line is about
  // to be offered: the request makes the server offer it now.
  if (!before || lease.state === 'free') keepTurn(step);
}

/**
 * Stores a confirmed place and starts the timer that confirms it again.
 *
 * @param {Step} step
 * @param {Answer} answer
 */
function storePlace(step, answer) {
  const { state, now } = step;
  if (state.grant || state.closed) return;
  state.turn ??= { position: null, offered: false };
  state.ticket = { kept: clocksOf(now), lasts: answer.ticket_expires_in_ms ?? 0 };
  start(step, 'turn', state.ticket.lasts / 3);
  showLease(step, answer);
}

/**
 * Gives the place up after a missed offer. Otherwise the others in line would wait for an absent person.
 *
 * @param {Step} step
 */
export function missOffer(step) {
  leaveLine(step, { missed: true });
}

/**
 * @param {Step} step
 * @param {{ missed?: boolean, over?: string | true | null }} end
 */
export function outOfLine(step, { missed = false, over = null } = {}) {
  const { state } = step;
  clear(step, 'turn', 'offer');
  if (!state.turn) return;
  state.turn = null;
  state.adopted = false;
  emit(step, 'turn', { position: null, offered: false, missed, over });
}

/**
 * @param {Step} step
 * @param {{ call?: Call, missed?: boolean }} input
 */
export function leaveLine(step, { call = null, missed = false }) {
  outOfLine(step, { missed });
  askLine(step, 'leaveTurn', 'DELETE', { call });
}

/**
 * @param {Step} step
 * @param {LeaseRequest} request
 * @param {Answer} answer
 */
export function leaveLineAnswered(step, { call }, answer) {
  if (!step.state.grant) showLease(step, answer);
  settle(step, call, answer);
}

/**
 * Confirms the place. `keep: true` takes no new place if this one was given up meanwhile, here or on another page.
 *
 * @param {Step} step
 */
export function keepTurn(step) {
  const { state } = step;
  if (!state.turn || state.keeping) return;
  state.keeping = true;
  start(step, 'turn', RETRY_MS * 4);
  askLine(step, 'keepTurn', 'POST', {}, { keep: true });
}

/**
 * @param {Step} step
 * @param {unknown} _
 * @param {Answer} answer
 */
export function keepTurnAnswered(step, _, answer) {
  const { state } = step;
  if (state.turn && !state.grant) {
    // A page that took its place itself and slept for too long goes to the back of the line.
    const rejoins = !answer.ticket_expires_in_ms && !state.turn.offered && !state.adopted && ticketExpired(step);
    if (rejoins) return askLine(step, 'rejoin', 'POST');
    if (answer.ticket_expires_in_ms) storePlace(step, answer);
    else {
      if (!state.turn.offered) outOfLine(step);
      showLease(step, answer);
    }
  }
  state.keeping = false;
}

/** @param {Step} step */
function ticketExpired({ state, now }) {
  return state.ticket !== null && between(state.ticket.kept, now) > state.ticket.lasts;
}

/**
 * If the person left the line while the new place was asked for, gives the new place back.
 *
 * @param {Step} step
 * @param {unknown} _
 * @param {Answer} answer
 */
export function rejoinAnswered(step, _, answer) {
  const { state } = step;
  if (!state.turn) return askLine(step, 'returnTurn', 'DELETE');
  storePlace(step, answer);
  state.keeping = false;
}

/** @param {Step} step */
export function returnTurnAnswered({ state }) {
  state.keeping = false;
}

/**
 * Ends the place if the server says that this person holds the lease or that the task is over; otherwise a timer tries again.
 *
 * @param {Step} step
 * @param {unknown} _
 * @param {Failure} error
 */
export function keepTurnFailed(step, _, error) {
  if (error.code === 'already_holder') outOfLine(step);
  if (error.code === 'wrong_status') outOfLine(step, { over: /** @type {string | undefined} */ (error.problem?.status_now) ?? true });
  step.state.keeping = false;
}
