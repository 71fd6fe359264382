// The activity of the person on this page, for the idle guard.

// @ts-check
/** @import { Clocks } from './types.js' */
/** @import { Lease } from './lease.js' */

import { clock } from './time.js';

/** Listeners hear of activity at most this often: a moving mouse sends many events. */
const ACTIVITY_MS = 250;
/** `click` is for screen readers, which have no pointer. `scroll` is left out, because scripts scroll too. */
const ACTIVITY = ['pointerdown', 'pointermove', 'click', 'keydown', 'wheel', 'touchmove', 'input'];

/** The activity of the person. All leases of the page share it. */
export const activity = {
  /** When the person was last active; null before `start`. @type {Clocks | null} */
  last: null,
  /** Steady time at which the listeners last heard of it. */
  told: -Infinity,
  /** The leases that show a warning. @type {Set<Lease>} */
  warned: new Set(),
  /** @type {Set<() => void>} */
  listeners: new Set(),
  start() {
    if (this.last) return;
    this.last = clock();
    let place = '';
    const note = (/** @type {Event} */ event) => {
      // Events of scripts do not count. Nor does a move without a change of place: browsers send it when the page scrolls.
      if (!event.isTrusted) return;
      if (event instanceof PointerEvent && event.type === 'pointermove') {
        const [before, now] = [place, `${event.screenX},${event.screenY}`];
        place = now;
        // A warning is answered with a key or a click. If a move removed it, the click would hit what lies below it.
        if (before === now || before === '' || this.warned.size > 0) return;
      }
      this.touch(clock());
    };
    for (const name of ACTIVITY) addEventListener(name, note, { capture: true, passive: true });
  },
  /** Notes activity and announces it. @param {Clocks} when */
  touch(when) {
    if (this.last && when.steady <= this.last.steady) return;
    this.last = when;
    // Counts from the last announcement, otherwise typing without a pause would never be announced.
    if (when.steady - this.told < ACTIVITY_MS) return;
    this.told = when.steady;
    for (const heard of [...this.listeners]) heard();
  },
};
