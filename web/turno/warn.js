// Warnings before a lease ends: the idle guard, the rolling timeout, and a hidden page.

// @ts-check
/** @import { Moment, State, Step } from './types.js' */

import { detailOf, documentOf, emit, expiresIn, start } from './step.js';
import { between } from './time.js';

/** People are warned this long before the lease ends, if the times of the policy allow it. */
const WARNING_MS = 60_000;

/** @typedef {{ reason: 'idle' | 'rolling_timeout' | 'hidden', warn_in_ms: number, ends_in_ms: number }} End */

/** Returns the end that comes first. @param {End[]} ends */
const soonest = (ends) => ends.reduce((first, end) => (end.ends_in_ms < first.ends_in_ms ? end : first));
/** A hidden page counts as idle for the person: both are answered by coming back. @param {End['reason']} reason */
const namedFor = (reason) => (reason === 'hidden' ? 'idle' : reason);

/**
 * Returns the milliseconds since the person was last active.
 *
 * @param {Moment} now
 */
export function idleFor(now) {
  return Math.round(between(now.active, now));
}

/**
 * Returns everything that will end the lease if nothing happens: `{reason, warn_in_ms, ends_in_ms}`.
 *
 * @param {State} state
 * @param {Moment} now
 * @returns {End[]}
 */
function endsOf(state, now) {
  const { policy, rolling_in_ms } = documentOf(state);
  const { idle_guard_ms: guard, rolling_timeout_ms: rolling, ttl_ms: ttl, heartbeat_interval_ms: interval } = policy;
  const expires = expiresIn(state, now);
  /** @type {End[]} */
  const ends = [];
  if (guard) {
    const idle = idleFor(now);
    // If the ttl alone leaves little time to react, the warning comes before the idle guard.
    const warn = Math.max(guard / 2, Math.min(guard, guard + ttl - WARNING_MS));
    // The last heartbeat that renews comes up to one interval before the idle guard.
    const last = idle < guard ? Math.max(guard - idle + ttl - interval, expires) : expires;
    ends.push({ reason: 'idle', warn_in_ms: warn - idle, ends_in_ms: last });
  }
  if (rolling && rolling_in_ms !== null) {
    const left = Math.max(0, rolling_in_ms - between(state.sent, now));
    ends.push({ reason: 'rolling_timeout', warn_in_ms: left - Math.min(WARNING_MS, rolling / 2), ends_in_ms: left });
  }
  // A hidden page is not renewed. It can still show the warning in its title.
  const left = now.hidden ? expires : Infinity;
  ends.push({ reason: 'hidden', warn_in_ms: left - Math.min(WARNING_MS, ttl / 2), ends_in_ms: left });
  return ends;
}

/**
 * Returns the warning as it stands now: why the lease will end and in how long; null without a warning.
 *
 * @param {State} state
 * @param {Moment} now
 */
export function warningOf(state, now) {
  if (!state.warned) return null;
  const { reason, ends_in_ms } = soonest(endsOf(state, now));
  return { reason: namedFor(reason), expires_in_ms: Math.round(ends_in_ms) };
}

/**
 * Warns if it is time, and starts the timer for the next warning.
 *
 * @param {Step} step
 * @param {boolean} renewed
 */
export function checkWarnings(step, renewed = false) {
  const { state, now } = step;
  const ends = endsOf(state, now);
  // The warning names the first end, whichever end is due for a warning. Otherwise it would promise too much time.
  if (ends.some(({ warn_in_ms }) => warn_in_ms <= 0)) showWarning(step, soonest(ends));
  // The idle warning ends only when the server has renewed the lease. Activity alone is not enough.
  else if (renewed || state.warned?.reason === 'rolling_timeout') endWarning(step);
  const next = Math.min(...ends.map(({ warn_in_ms }) => warn_in_ms).filter((warn_in_ms) => warn_in_ms > 0));
  if (next < Infinity) start(step, 'warn', next);
}

/**
 * @param {Step} step
 * @param {End} end
 */
function showWarning(step, { reason, ends_in_ms }) {
  const { state } = step;
  if (state.warned?.reason === reason) return;
  state.warned = { reason };
  step.effects.push({ do: 'warned', on: reason === 'idle' });
  emit(step, 'idle-warning', { reason: namedFor(reason), expires_in_ms: Math.round(ends_in_ms), lease: state.lease });
}

/** @param {Step} step */
function endWarning(step) {
  const { state } = step;
  if (!state.warned) return;
  state.warned = null;
  step.effects.push({ do: 'warned', on: false });
  emit(step, 'active', detailOf(step));
}
