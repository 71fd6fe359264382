// Clocks, retry times and the visibility of the page.

/** A request fails after this long. */
export const REQUEST_MS = 10_000;
/** If a timer fires this late, the machine slept or the browser froze the tab. */
export const SLEPT_MS = 5_000;
/** The first retry comes after this long; each further one doubles the pause, up to the maximum. */
export const RETRY_MS = 500;
export const RETRY_MAX_MS = 15_000;

export const nothing = () => {};
export const hidden = () => document.visibilityState === 'hidden';
/** Reads both clocks: the steady one can stop while the machine sleeps, the wall clock can be set. */
export const clock = () => ({ steady: performance.now(), wall: Date.now() });
/** Returns the milliseconds since `then`. If the clocks disagree, the longer time counts. */
export const since = (then) => Math.max(performance.now() - then.steady, Date.now() - then.wall, 0);
