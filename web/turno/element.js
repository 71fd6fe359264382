// The custom element `<turno-lease>`.

// @ts-check
/** @import { LeaseOptions, ReleaseRequest, TokenSource } from '../turno.js' */

import { tokenFrom } from './client.js';
import { Lease } from './lease.js';

/** The actions that `data-turno-action` can name. @type {Record<string, (lease: Lease) => unknown>} */
const ACTIONS = {
  claim: (lease) => lease.claim(),
  release: (lease) => lease.release(),
  keep: (lease) => lease.keep(),
  'request-release': (lease) => lease.requestRelease(),
  'take-turn': (lease) => lease.takeTurn(),
  'leave-turn': (lease) => lease.leaveTurn(),
};
const EVENTS = ['state', 'held', 'idle-warning', 'active', 'requested', 'lost', 'moved', 'unknown', 'offered', 'turn', 'error'];

/** The error text if the server does not answer, in the language of the page. @type {Record<string, string>} */
const SILENT = {
  es: 'El servidor no contestó. Pruebe de nuevo.',
  en: 'The server did not answer. Try again.',
};

/** @type {Map<string, TokenSource>} */
const sources = new Map();

/**
 * Returns one token source per address, so that elements with the same address share a client.
 *
 * @param {string} url
 */
function sourceOf(url) {
  if (!sources.has(url)) sources.set(url, tokenFrom(url));
  return sources.get(url) ?? null;
}

/**
 * `<turno-lease resource="invoice:7" server="https://turno.example" token-url="/turno/session">`
 *
 * Dispatches every event of the lease as a bubbling event and mirrors `state` as an attribute for style sheets. Inside
 * the element:
 * - `data-turno-action` gives a button its action.
 * - `data-turno-show` and `data-turno-enable` list the states in which a node is shown or enabled. Besides the states of
 *   the lease they accept `other-locked`, `other-offered`, `warning`, `warning-idle`, `warning-work`, `requested`,
 *   `request-said` and `waiting`.
 * - `data-turno-text` fills in `holder`, `since`, `reason`, `message`, `asker`, `request`, `position` or `error`.
 *
 * `error` says why the last action failed. Without a node for it, the element appends a paragraph. If the focused control
 * is hidden by a change of state, the focus stays in the element.
 */
export class TurnoLeaseElement extends (globalThis.HTMLElement ?? /** @type {typeof HTMLElement} */ (class {})) {
  static observedAttributes = ['resource', 'server', 'token-url', 'instance', 'single'];
  /** @type {TokenSource} */
  #token = null;
  /** @type {Lease | null} */
  #lease = null;
  /** Why the lease will end soon; null without a warning. @type {string | null} */
  #warned = null;
  /** The last release request. @type {ReleaseRequest | null} */
  #request = null;
  /** Why the last action failed, and the state in which it failed. @type {{ text: string, state: string } | null} */
  #failed = null;
  /** The paragraph that shows the error if the page has no node for it. @type {HTMLElement | null} */
  #said = null;

  constructor() {
    super();
    this.addEventListener('click', (event) => this.#clicked(event));
    // A page can set the property before this module is loaded. It would hide the setter.
    if (Object.hasOwn(this, 'token')) {
      const { token } = this;
      Reflect.deleteProperty(this, 'token');
      this.token = token;
    }
  }

  /** The token, or a function that returns one. */
  get token() {
    return this.#token;
  }

  set token(token) {
    this.#token = token;
    this.#reopen();
  }

  /** The lease of this element; null while the element is in no document. */
  get lease() {
    return this.#lease;
  }

  get state() {
    return this.#lease?.state ?? 'unknown';
  }

  get fence() {
    return this.#lease?.fence ?? null;
  }

  /** @param {{ wait_ms?: number, ttl_ms?: number | null }} [options] */
  claim(options) {
    return this.#opened.claim(options);
  }

  release() {
    return this.#opened.release();
  }

  get #opened() {
    if (!this.#lease) throw new TypeError('<turno-lease> is in no document or names no resource');
    return this.#lease;
  }

  connectedCallback() {
    if (!this.#lease) this.#open();
  }

  disconnectedCallback() {
    // Moving the element within a page disconnects it for a moment, which must not cost the lease.
    queueMicrotask(() => {
      if (this.isConnected) return;
      this.#lease?.close();
      this.#lease = null;
    });
  }

  /**
   * @param {string} _
   * @param {string | null} before
   * @param {string | null} after
   */
  attributeChangedCallback(_, before, after) {
    if (before !== after) this.#reopen();
  }

  /** Opens the lease anew, once if several attributes change together. */
  #reopen() {
    const lease = this.#lease;
    if (lease) queueMicrotask(() => this.#lease === lease && this.#open());
  }

  #open() {
    const resource = this.getAttribute('resource');
    this.#lease?.close();
    this.#lease = null;
    if (!resource || !this.isConnected) return;
    /** @type {LeaseOptions} */
    const options = { instance: this.getAttribute('instance'), single: this.hasAttribute('single'), language: this.#language || null };
    const server = this.getAttribute('server');
    if (server !== null) options.server = server;
    const url = this.getAttribute('token-url');
    options.token = this.#token ?? (url ? sourceOf(url) : null);
    const lease = new Lease(resource, options);
    this.#lease = lease;
    for (const name of EVENTS) {
      lease.addEventListener(name, (event) => {
        const { detail } = /** @type {CustomEvent} */ (event);
        if (this.#lease !== lease) return;
        this.#note(name, detail);
        this.#show();
        // `error` does not bubble, because at the window it would look like the error of a script.
        this.dispatchEvent(new CustomEvent(name, { detail, bubbles: name !== 'error' }));
      });
    }
    this.#show();
  }

  /**
   * Keeps what is shown besides the state: a warning and a release request.
   *
   * @param {string} name
   * @param {any} detail
   */
  #note(name, detail) {
    if (name === 'idle-warning') this.#warned = detail.reason;
    if (name === 'requested') this.#request = detail;
    if (name === 'active' || this.state !== 'held') this.#warned = null;
    if (this.state !== 'held') this.#request = null;
  }

  /** @param {Event} event */
  async #clicked(event) {
    const target = event.target instanceof Element ? event.target : null;
    const button = /** @type {HTMLElement | null | undefined} */ (target?.closest('[data-turno-action]'));
    const action = ACTIONS[button?.dataset.turnoAction ?? ''];
    if (!action || !this.#lease || button?.closest('turno-lease') !== this) return;
    event.preventDefault();
    this.#tellFailed(null);
    try {
      await action(this.#lease);
    } catch (error) {
      this.#tellFailed(error);
      this.dispatchEvent(new CustomEvent('error', { detail: { error } }));
    }
  }

  /**
   * Shows why the last action failed, until the next action or a change of state.
   *
   * @param {any} error
   */
  #tellFailed(error) {
    const silent = SILENT[this.#language?.split('-')[0] ?? ''] ?? SILENT.es;
    this.#failed = error && { text: error.status ? error.message : silent, state: this.state };
    if (this.#lease) this.#show();
  }

  /** If the page has no node for the error, appends a paragraph while there is an error. */
  #sayFailed() {
    if (!this.#failed || this.#ours('[data-turno-text="error"]').length) return this.#said?.remove();
    this.#said ??= document.createElement('p');
    this.#said.setAttribute('role', 'alert');
    if (this.#said.textContent !== this.#failed.text) this.#said.textContent = this.#failed.text;
    if (this.#said.parentNode !== this) this.append(this.#said);
  }

  get #language() {
    return /** @type {HTMLElement | null} */ (this.closest('[lang]'))?.lang;
  }

  /**
   * Returns the nodes inside this element, without those of an element inside it.
   *
   * @param {string} selector
   * @returns {any[]}
   */
  #ours(selector) {
    return [...this.querySelectorAll(selector)].filter((one) => one.closest('turno-lease') === this);
  }

  #show() {
    const { state } = this;
    if (this.getAttribute('state') !== state) this.setAttribute('state', state);
    if (this.#failed && this.#failed.state !== state) this.#failed = null;
    const focused = /** @type {Document | ShadowRoot} */ (this.getRootNode()).activeElement;
    const kept = state === 'other' && (this.#lease?.lease?.state === 'offered' ? 'other-offered' : 'other-locked');
    const now = [state, kept, this.#request && 'requested', this.#request?.message && 'request-said', this.#lease?.turn && state !== 'offered' && 'waiting'];
    // Only work helps against the rolling timeout, so a button "still here" is shown for the idle warning only.
    if (this.#warned) now.push('warning', this.#warned === 'idle' ? 'warning-idle' : 'warning-work');
    const listed = (/** @type {Element} */ one, /** @type {string} */ name) =>
      (one.getAttribute(name) ?? '').split(/\s+/).some((word) => word && now.includes(word));
    for (const one of this.#ours('[data-turno-show]')) one.hidden = !listed(one, 'data-turno-show');
    for (const one of this.#ours('[data-turno-enable]')) one.disabled = !listed(one, 'data-turno-enable');
    for (const one of this.#ours('[data-turno-text]')) {
      const text = this.#text(one.dataset.turnoText);
      if (one.textContent !== text) one.textContent = text;
    }
    this.#sayFailed();
    this.#stay(focused);
  }

  /**
   * If the focused control was hidden or disabled, moves the focus to the first field that can be filled in, or to the
   * element. Never to a button, because a second press of the same key would press it.
   *
   * @param {any} focused
   */
  #stay(focused) {
    const usable = (/** @type {any} */ one) => !one.disabled && one.getClientRects().length > 0;
    if (!focused || focused === this || focused.closest('turno-lease') !== this || usable(focused)) return;
    const field = this.#ours('[data-turno-enable]').find((one) => one.matches('input, select, textarea') && usable(one));
    if (field) return field.focus({ preventScroll: true });
    if (!this.hasAttribute('tabindex')) {
      this.tabIndex = -1;
      this.addEventListener('blur', () => this.removeAttribute('tabindex'), { once: true });
    }
    this.focus({ preventScroll: true });
  }

  /** Returns the text of a node with `data-turno-text`. @param {string} name */
  #text(name) {
    const { lease, lost, turn } = this.#opened;
    const language = this.#language || undefined;
    /** @type {Record<string, unknown>} */
    const texts = {
      holder: (lease?.holder ?? lease?.offered_to)?.name,
      since: lease?.locked_at && new Date(lease.locked_at).toLocaleTimeString(language),
      reason: lost?.cause ?? lost?.reason,
      message: lost?.message,
      asker: this.#request?.by.name,
      request: this.#request?.message,
      position: turn?.position,
      error: this.#failed?.text,
    };
    return String(texts[name] ?? '');
  }
}

if (globalThis.customElements && !customElements.get('turno-lease'))
  customElements.define('turno-lease', TurnoLeaseElement);
