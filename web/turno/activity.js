// The activity of the person on this page, for the idle guard.

import { clock, since } from './time.js';

/** Listeners hear of activity at most this often: a moving mouse sends many events. */
const ACTIVITY_MS = 250;
/** `click` is for screen readers, which have no pointer. `scroll` is left out, because scripts scroll too. */
const ACTIVITY = ['pointerdown', 'pointermove', 'click', 'keydown', 'wheel', 'touchmove', 'input'];

/** When the person was last active. All leases of the page share it. */
export const activity = {
  last: null,
  told: -Infinity,
  /** The leases that show a warning. */
  warned: new Set(),
  listeners: new Set(),
  start() {
    if (this.last) return;
    this.last = clock();
    let place = '';
    const note = (event) => {
      // Events of scripts do not count. Nor does a move without a change of place: browsers send it when the page scrolls.
      if (!event.isTrusted) return;
      if (event.type === 'pointermove') {
        const [before, now] = [place, `${event.screenX},${event.screenY}`];
        place = now;
        // A warning is answered with a key or a click. If a move removed it, the click would hit what lies below it.
        if (before === now || before === '' || this.warned.size > 0) return;
      }
      this.touch(clock());
    };
    for (const name of ACTIVITY) addEventListener(name, note, { capture: true, passive: true });
  },
  touch(when) {
    if (when.steady <= this.last.steady) return;
    this.last = when;
    // Counts from the last announcement, otherwise typing without a pause would never be announced.
    if (when.steady - this.told < ACTIVITY_MS) return;
    this.told = when.steady;
    for (const heard of [...this.listeners]) heard();
  },
  idle() {
    return Math.round(since(this.last));
  },
};
