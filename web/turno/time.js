// Clocks, retry times and the visibility of the page.

// @ts-check
/** @import { Clocks } from './types.js' */

/** A request fails after this long. */
export const REQUEST_MS = 10_000;
/** If a timer fires this late, the machine slept or the browser froze the tab. */
export const SLEPT_MS = 5_000;
/** The first retry comes after this long; each further one doubles the pause, up to the maximum. */
export const RETRY_MS = 500;
export const RETRY_MAX_MS = 15_000;

export const nothing = () => {};
export const hidden = () => document.visibilityState === 'hidden';
/**
 * Reads both clocks: the steady one can stop while the machine sleeps, the wall clock can be set.
 *
 * @returns {Clocks}
 */
export const clock = () => ({ steady: performance.now(), wall: Date.now() });
/**
 * Returns the milliseconds from `then` to `now`. If the clocks disagree, the longer time counts.
 *
 * @param {Clocks} then
 * @param {Clocks} now
 */
export const between = (then, now) => Math.max(now.steady - then.steady, now.wall - then.wall, 0);
/** Returns the milliseconds since `then`. @param {Clocks} then */
export const since = (then) => between(then, clock());
