// The tabs of one browser that share a lease.

// @ts-check
/** @import { TabMessage } from './types.js' */

import { REQUEST_MS, nothing } from './time.js';

/** Coordinates the tabs that hold the same grant: which tab sends heartbeats, and whether this tab is the last one. */
export class Tabs {
  /** @type {BroadcastChannel | null} */
  #channel = null;
  /** The channel on which tabs without the lease announce a claim. @type {BroadcastChannel | null} */
  #around = null;
  #id = Math.random().toString(36).slice(2);
  /** The ids of the other tabs. @type {Set<string>} */
  #others = new Set();
  /** Ends the request to lead; null if this tab does not ask for it. @type {(() => void) | null} */
  #stopLeading = null;
  /** Gives the lock of this tab back. */
  #gone = nothing;
  /** When another tab last announced a claim of its own. */
  #rivalled = -Infinity;
  leads = false;

  /**
   * @param {string} around the channel of all tabs with this resource
   * @param {number} fence
   * @param {(message: TabMessage) => void} heard
   * @param {() => void} led called when this tab starts to lead
   */
  constructor(around, fence, heard, led) {
    const name = `${around}:${fence}`;
    this.name = name;
    this.led = led;
    if (globalThis.BroadcastChannel) {
      this.#channel = new BroadcastChannel(name);
      this.#channel.onmessage = ({ data }) => this.#hear(data, heard);
      this.#around = new BroadcastChannel(around);
      this.#around.onmessage = () => (this.#rivalled = performance.now());
      this.say({ kind: 'here', answer: true });
    }
    // This tab holds a browser lock as long as it lives, so that the others notice when it crashes.
    const gone = new Promise((resolve) => (this.#gone = () => resolve(undefined)));
    navigator.locks?.request(`${name}#${this.#id}`, () => gone).catch(nothing);
  }

  get alone() {
    return this.#others.size === 0;
  }

  /** Whether another tab of this browser holds the lease or claims it. The server's event can arrive before the tab's message. */
  get near() {
    return !this.alone || performance.now() - this.#rivalled < REQUEST_MS;
  }

  /** Announces a claim to the tabs that hold the lease. @param {string} around */
  static announce(around) {
    if (!globalThis.BroadcastChannel) return;
    const channel = new BroadcastChannel(around);
    channel.postMessage('claims');
    channel.close();
  }

  /** @param {TabMessage | { kind: 'here', answer?: true } | { kind: 'gone' }} message */
  say(message) {
    this.#channel?.postMessage({ ...message, tab: this.#id });
  }

  /**
   * @param {any} data
   * @param {(message: TabMessage) => void} heard
   */
  #hear(data, heard) {
    if (data.kind === 'gone') return this.#others.delete(data.tab);
    this.#others.add(data.tab);
    if (data.kind !== 'here') return heard(data);
    if (data.answer) this.say({ kind: 'here' });
  }

  /** Forgets crashed tabs. Without the Locks API they stay known, and the lease ends by its ttl. */
  async count() {
    if (!navigator.locks) return;
    const { held } = await navigator.locks.query().catch(() => ({ held: null }));
    if (!held) return;
    const names = new Set(held.map((lock) => lock.name));
    for (const tab of this.#others) if (!names.has(`${this.name}#${tab}`)) this.#others.delete(tab);
  }

  /**
   * Asks to send the heartbeats for all tabs, or stops. Without the Locks API (plain HTTP) every visible tab leads and is
   * silent while it hears another; that costs at most one extra call.
   *
   * @param {boolean} wanted
   */
  lead(wanted) {
    if (wanted === (this.#stopLeading !== null)) return;
    if (!wanted) return this.#stopLeading?.();
    const ended = new AbortController();
    let resign = nothing;
    this.#stopLeading = () => {
      this.leads = false;
      this.#stopLeading = null;
      ended.abort();
      resign();
    };
    const chosen = () => {
      if (ended.signal.aborted) return undefined;
      this.leads = true;
      this.led();
      return new Promise((resolve) => (resign = () => resolve(undefined)));
    };
    // If the request for the lock fails, this tab leads.
    if (navigator.locks) navigator.locks.request(this.name, { signal: ended.signal }, chosen).catch(() => ended.signal.aborted || chosen());
    else chosen();
  }

  /** Asks again if no tab leads or waits to lead: browsers can lose a lock request around a reload. */
  async insist() {
    if (!navigator.locks || this.leads || !this.#stopLeading) return;
    const known = await navigator.locks.query().catch(() => null);
    if (!known || this.leads || !this.#stopLeading || [...(known.held ?? []), ...(known.pending ?? [])].some(({ name }) => name === this.name)) return;
    this.lead(false);
    this.lead(true);
  }

  leave() {
    this.say({ kind: 'gone' });
    this.lead(false);
    this.#gone();
    this.#channel?.close();
    this.#channel = null;
    this.#around?.close();
    this.#around = null;
  }
}
