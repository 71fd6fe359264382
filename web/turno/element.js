// The custom element `<turno-lease>`.

import { tokenFrom } from './client.js';
import { Lease } from './lease.js';

/** The actions that `data-turno-action` can name. */
const ACTIONS = {
  claim: (lease) => lease.claim(),
  release: (lease) => lease.release(),
  keep: (lease) => lease.keep(),
  'request-release': (lease) => lease.requestRelease(),
  'take-turn': (lease) => lease.takeTurn(),
  'leave-turn': (lease) => lease.leaveTurn(),
};
const EVENTS = ['state', 'held', 'idle-warning', 'active', 'requested', 'lost', 'moved', 'unknown', 'offered', 'turn', 'error'];

/** The error text if the server does not answer, in the language of the page. */
const SILENT = {
  es: 'El servidor no contestó. Pruebe de nuevo.',
  en: 'The server did not answer. Try again.',
};

const sources = new Map();

/** Returns one token source per address, so that elements with the same address share a client. */
function sourceOf(url) {
  if (!sources.has(url)) sources.set(url, tokenFrom(url));
  return sources.get(url);
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
export class TurnoLeaseElement extends (globalThis.HTMLElement ?? class {}) {
  static observedAttributes = ['resource', 'server', 'token-url', 'instance', 'single'];
  #token = null;
  #lease = null;
  /** Why it will end soon; null while it will not. */
  #warned = null;
  #request = null;
  /** What the last button could not do, as it was when this was said: `{text, state}`. */
  #failed = null;
  /** Where that is said if the page has no place for it. */
  #said = null;

  constructor() {
    super();
    this.addEventListener('click', (event) => this.#clicked(event));
    // A page may have set it before this module was loaded.
    if (Object.hasOwn(this, 'token')) {
      const { token } = this;
      delete this.token;
      this.token = token;
    }
  }

  /** A text, or a function that gives one. */
  get token() {
    return this.#token;
  }

  set token(token) {
    this.#token = token;
    this.#reopen();
  }

  /** The lease behind it; null while it stands in no document. */
  get lease() {
    return this.#lease;
  }

  get state() {
    return this.#lease?.state ?? 'unknown';
  }

  get fence() {
    return this.#lease?.fence ?? null;
  }

  claim(options) {
    return this.#lease.claim(options);
  }

  release() {
    return this.#lease.release();
  }

  connectedCallback() {
    if (!this.#lease) this.#open();
  }

  disconnectedCallback() {
    // Moving it within a page takes it out for a moment; that must not cost the lease.
    queueMicrotask(() => {
      if (this.isConnected) return;
      this.#lease?.close();
      this.#lease = null;
    });
  }

  attributeChangedCallback(_, before, after) {
    if (before !== after) this.#reopen();
  }

  /** Several attributes may change at once. */
  #reopen() {
    const lease = this.#lease;
    if (lease) queueMicrotask(() => this.#lease === lease && this.#open());
  }

  #open() {
    const resource = this.getAttribute('resource');
    this.#lease?.close();
    this.#lease = null;
    if (!resource || !this.isConnected) return;
    const options = { instance: this.getAttribute('instance'), single: this.hasAttribute('single'), language: this.#language || null };
    const server = this.getAttribute('server');
    if (server !== null) options.server = server;
    const url = this.getAttribute('token-url');
    options.token = this.#token ?? (url ? sourceOf(url) : null);
    const lease = new Lease(resource, options);
    this.#lease = lease;
    for (const name of EVENTS) {
      lease.addEventListener(name, ({ detail }) => {
        if (this.#lease !== lease) return;
        this.#note(name, detail);
        this.#show();
        // Except errors, which at the window would look like a script's.
        this.dispatchEvent(new CustomEvent(name, { detail, bubbles: name !== 'error' }));
      });
    }
    this.#show();
  }

  /** What is no state, and yet to be seen. */
  #note(name, detail) {
    if (name === 'idle-warning') this.#warned = detail.reason;
    if (name === 'requested') this.#request = detail;
    if (name === 'active' || this.state !== 'held') this.#warned = null;
    if (this.state !== 'held') this.#request = null;
  }

  async #clicked(event) {
    const button = event.target.closest?.('[data-turno-action]');
    const action = ACTIONS[button?.dataset.turnoAction];
    if (!action || !this.#lease || button.closest('turno-lease') !== this) return;
    event.preventDefault();
    this.#tellFailed(null);
    try {
      await action(this.#lease);
    } catch (error) {
      this.#tellFailed(error);
      this.dispatchEvent(new CustomEvent('error', { detail: { error } }));
    }
  }

  /** What was tried in vain is said where it was tried, until something else is tried or the state is another. */
  #tellFailed(error) {
    const silent = SILENT[this.#language?.split('-')[0]] ?? SILENT.es;
    this.#failed = error && { text: error.status ? error.message : silent, state: this.state };
    if (this.#lease) this.#show();
  }

  /** A page that has no place for it gets one, for as long as there is something to say. */
  #sayFailed() {
    if (!this.#failed || this.#ours('[data-turno-text="error"]').length) return this.#said?.remove();
    this.#said ??= document.createElement('p');
    this.#said.setAttribute('role', 'alert');
    if (this.#said.textContent !== this.#failed.text) this.#said.textContent = this.#failed.text;
    if (this.#said.parentNode !== this) this.append(this.#said);
  }

  get #language() {
    return this.closest('[lang]')?.lang;
  }

  #ours(selector) {
    return [...this.querySelectorAll(selector)].filter((one) => one.closest('turno-lease') === this);
  }

  #show() {
    const { state } = this;
    if (this.getAttribute('state') !== state) this.setAttribute('state', state);
    if (this.#failed && this.#failed.state !== state) this.#failed = null;
    const stood = this.getRootNode().activeElement;
    const ours = (selector) => this.#ours(selector);
    const kept = state === 'other' && (this.#lease?.lease?.state === 'offered' ? 'other-offered' : 'other-locked');
    const now = [state, kept, this.#request && 'requested', this.#request?.message && 'request-said', this.#lease?.turn && state !== 'offered' && 'waiting'];
    // Of a want of work only work helps; a button that says "still here" would do nothing.
    if (this.#warned) now.push('warning', this.#warned === 'idle' ? 'warning-idle' : 'warning-work');
    const listed = (one, name) =>
      one
        .getAttribute(name)
        .split(/\s+/)
        .some((word) => word && now.includes(word));
    for (const one of ours('[data-turno-show]')) one.hidden = !listed(one, 'data-turno-show');
    for (const one of ours('[data-turno-enable]')) one.disabled = !listed(one, 'data-turno-enable');
    for (const one of ours('[data-turno-text]')) {
      const text = this.#text(one.dataset.turnoText);
      if (one.textContent !== text) one.textContent = text;
    }
    this.#sayFailed();
    this.#stay(stood);
  }

  /** Whoever stood on what is gone goes on with what can be filled in now, or with the whole element: no button, which a
   * second press of the same key would set off. */
  #stay(stood) {
    const usable = (one) => !one.disabled && one.getClientRects().length > 0;
    if (!stood || stood === this || stood.closest('turno-lease') !== this || usable(stood)) return;
    const field = this.#ours('[data-turno-enable]').find((one) => one.matches('input, select, textarea') && usable(one));
    if (field) return field.focus({ preventScroll: true });
    if (!this.hasAttribute('tabindex')) {
      this.tabIndex = -1;
      this.addEventListener('blur', () => this.removeAttribute('tabindex'), { once: true });
    }
    this.focus({ preventScroll: true });
  }

  #text(what) {
    const { lease, lost, turn } = this.#lease;
    const language = this.#language || undefined;
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
    return String(texts[what] ?? '');
  }
}

if (globalThis.customElements && !customElements.get('turno-lease'))
  customElements.define('turno-lease', TurnoLeaseElement);
