// What this tab held when its page was left, so that a reload continues with it.

// @ts-check
/** @import { Left } from './types.js' */

/** A reload within this time continues with the lease, if it is still free. */
export const RETURN_MS = 60_000;

/** The stored grant. It is written when the page is left, so that a duplicated tab does not find it. */
export const behind = {
  /**
   * @param {string} key
   * @param {Omit<Left, 'at'>} grant
   */
  note(key, grant) {
    try {
      sessionStorage.setItem(key, JSON.stringify({ ...grant, at: Date.now() }));
    } catch {
      // Without storage, a reload starts from what the server says.
    }
  },
  /**
   * Returns the stored grant once; null if there is none or it is too old.
   *
   * @param {string} key
   * @returns {Left | null}
   */
  take(key) {
    try {
      const found = JSON.parse(sessionStorage.getItem(key) ?? 'null');
      sessionStorage.removeItem(key);
      return found && Date.now() - found.at < RETURN_MS ? found : null;
    } catch {
      return null;
    }
  },
};

/** Whether this page was opened by a reload. */
export function reloaded() {
  const [navigation] = /** @type {PerformanceNavigationTiming[]} */ (performance.getEntriesByType('navigation'));
  return navigation?.type === 'reload';
}
