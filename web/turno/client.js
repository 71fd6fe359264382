// The HTTP client: calls with a token or the console's cookie.

// @ts-check
/** @import { GivenToken, LeaseOptions, TokenSource, TurnoOptions } from '../turno.js' */
/** @import { Clocks, StreamEvent } from './types.js' */

import { TurnoError, parsed } from './answer.js';
import { Lease } from './lease.js';
import { Stream } from './stream.js';
import { REQUEST_MS, clock, nothing, since } from './time.js';

/** A token with a known expiry is replaced this long before it. */
const TOKEN_SPARE_MS = 60_000;

/** Returns the origin that served this module: the server, unless the page names another. */
function home() {
  const { origin } = new URL(import.meta.url);
  return origin === 'null' ? '' : origin;
}

/**
 * Returns a token source that asks the application's backend, which answers as `POST /v1/sessions` does.
 *
 * @param {string | URL} url
 * @param {RequestInit} init
 * @returns {() => Promise<GivenToken>}
 */
export function tokenFrom(url, init = {}) {
  return async () => {
    const response = await fetch(url, { credentials: 'same-origin', cache: 'no-store', ...init });
    if (!response.ok) throw new TurnoError(response.status, null);
    return response.json();
  };
}

/** A client of one server. `token` is a string or a function that returns one. Without it, requests use the console's cookie. */
export class Turno {
  /** @type {TokenSource} */
  #token = null;
  /** The token at hand. @type {string | null} */
  #known = null;
  /** Wall time from which the token at hand is replaced. */
  #ends = Infinity;
  /** A request for a token that is under way. @type {Promise<void> | null} */
  #asked = null;
  /** @type {Promise<any> | null} */
  #who = null;
  #stream;
  /** When the oldest unanswered call was sent. @type {Clocks | null} */
  #asking = null;

  /** @param {TurnoOptions} options */
  constructor({ server = home(), token = null, language = null } = {}) {
    this.server = String(server).replace(/\/+$/, '');
    this.language = language;
    this.token = token;
    this.#stream = new Stream(this);
  }

  get token() {
    return this.#token;
  }

  set token(token) {
    this.#token = token;
    this.#known = typeof token === 'string' ? token : null;
    this.#ends = Infinity;
    this.#who = null;
  }

  /**
   * Returns this page's lease on a resource.
   *
   * @param {string} resource
   * @param {Omit<LeaseOptions, 'turno'>} options
   */
  lease(resource, options = {}) {
    return new Lease(resource, { ...options, turno: this });
  }

  /** Returns the caller, as `GET /v1/me` answers. */
  me() {
    this.#who ??= this.call('GET', '/v1/me').catch((error) => {
      this.#who = null;
      throw error;
    });
    return this.#who;
  }

  /** How long the oldest call has been unanswered; 0 if all are answered. */
  get silent_ms() {
    return this.#asking ? since(this.#asking) : 0;
  }

  /**
   * Calls the API; `path` begins with `/v1`. Throws a TurnoError if the server refuses.
   *
   * @param {string} method
   * @param {string} path
   * @param {unknown} [body]
   * @param {{ timeout_ms?: number }} options
   * @returns {Promise<any>}
   */
  async call(method, path, body, { timeout_ms = REQUEST_MS } = {}) {
    const ended = new AbortController();
    const timer = setTimeout(() => ended.abort(), timeout_ms);
    // A long poll is silent on purpose, so it does not count as unanswered.
    if (timeout_ms <= REQUEST_MS) this.#asking ??= clock();
    try {
      const response = await this.request(path, { method, body: body ? JSON.stringify(body) : undefined, signal: ended.signal });
      this.#asking = null;
      const document = parsed(await response.text());
      if (!response.ok) throw new TurnoError(response.status, document);
      return document;
    } finally {
      clearTimeout(timer);
    }
  }

  /**
   * Sends a request with the token or the cookie. After a 401 it asks for a new token once.
   *
   * @param {string} path
   * @param {RequestInit} init
   */
  async request(path, init) {
    const token = await this.#bearer(false);
    const response = await fetch(this.server + path, this.#dressed(init, token));
    if (response.status !== 401 || typeof this.#token !== 'function') return response;
    // Another call may have fetched a new token meanwhile.
    const fresh = await this.#bearer(token === this.#known);
    return fetch(this.server + path, this.#dressed(init, fresh));
  }

  /**
   * Sends a request while the page closes: at once, with the token at hand, ignoring the answer.
   *
   * @param {string} path
   * @param {unknown} body
   */
  farewell(path, body, method = 'POST') {
    const init = { method, body: JSON.stringify(body), keepalive: true };
    fetch(this.server + path, this.#dressed(init, this.#known)).catch(nothing);
  }

  /**
   * Calls `heard(event)` for every event of a resource, until the returned function is called.
   *
   * @param {string} resource
   * @param {(event: StreamEvent) => void} heard
   */
  watch(resource, heard) {
    return this.#stream.watch(resource, heard);
  }

  /** Whether the live stream is open. */
  get live() {
    return this.#stream.live;
  }

  /**
   * Adds the headers that every request has.
   *
   * @param {RequestInit} init
   * @param {string | null} token
   * @returns {RequestInit}
   */
  #dressed({ headers = {}, ...init }, token) {
    /** @type {Record<string, string>} */
    const all = { accept: 'application/json', .../** @type {Record<string, string>} */ (headers) };
    if (init.body) all['content-type'] = 'application/json';
    if (token) all.authorization = `Bearer ${token}`;
    if (this.language) all['accept-language'] = this.language;
    return { cache: 'no-store', credentials: token ? 'omit' : 'same-origin', ...init, headers: all };
  }

  /** Returns the token; asks for a new one if `fresh`, or if the one at hand is about to expire. @param {boolean} fresh */
  async #bearer(fresh) {
    if (typeof this.#token !== 'function') return this.#known;
    if (!fresh && this.#known && Date.now() < this.#ends) return this.#known;
    const source = this.#token;
    this.#asked ??= Promise.resolve(source())
      .then((given) => {
        if (this.#token === source) this.#keep(given);
      })
      .finally(() => (this.#asked = null));
    await this.#asked;
    return this.#known;
  }

  /** @param {GivenToken} given */
  #keep(given) {
    const { token, expires_at = null } = typeof given === 'object' && given ? given : { token: given };
    const ends = expires_at ? Date.parse(expires_at) : Infinity;
    this.#known = token ?? null;
    // Keep the token for at least a second, because with a wrong clock every call would ask for a new one.
    this.#ends = Math.max(ends - TOKEN_SPARE_MS, Date.now() + (ends - Date.now()) / 2, Date.now() + 1_000);
  }
}

/**
 * Clients that leases share if the page passes no `Turno`: each client opens a stream, and browsers allow six per server.
 *
 * @type {Set<{ server: string, token: TokenSource, language: string | null, users: number, turno: Turno }>}
 */
const shared = new Set();

/** Returns a client with these options, and the function that ends its use. @param {TurnoOptions} options */
export function share({ server = home(), token = null, language = null }) {
  let found = [...shared].find((one) => one.server === server && one.token === token && one.language === language);
  if (!found) {
    found = { server, token, language, users: 0, turno: new Turno({ server, token, language }) };
    shared.add(found);
  }
  found.users += 1;
  const leave = () => {
    found.users -= 1;
    if (found.users === 0) shared.delete(found);
  };
  return { turno: found.turno, leave };
}
