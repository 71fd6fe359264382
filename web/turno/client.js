// The HTTP client: calls with a token or the console's cookie.

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

/** Returns a token source that asks the application's backend, which answers as `POST /v1/sessions` does. */
export function tokenFrom(url, init = {}) {
  return async () => {
    const response = await fetch(url, { credentials: 'same-origin', cache: 'no-store', ...init });
    if (!response.ok) throw new TurnoError(response.status, null);
    return response.json();
  };
}

/** A client of one server. `token` is a string or a function that returns one. Without it, requests use the console's cookie. */
export class Turno {
  #token;
  #known = null;
  #ends = Infinity;
  #asked = null;
  #who = null;
  #stream;
  /** When the oldest unanswered call was sent. */
  #asking = null;

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

  /** Returns this page's lease on a resource. */
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

  /** Calls the API; `path` begins with `/v1`. Throws a TurnoError if the server refuses. */
  async call(method, path, body, { timeout_ms = REQUEST_MS } = {}) {
    const ended = new AbortController();
    const timer = setTimeout(() => ended.abort(), timeout_ms);
    // A long poll is silent on purpose, so it does not count as unanswered.
    if (timeout_ms <= REQUEST_MS) this.#asking ??= clock();
    try {
      const response = await this.request(path, { method, body: body && JSON.stringify(body), signal: ended.signal });
      this.#asking = null;
      const document = parsed(await response.text());
      if (!response.ok) throw new TurnoError(response.status, document);
      return document;
    } finally {
      clearTimeout(timer);
    }
  }

  /** Sends a request with the token or the cookie. After a 401 it asks for a new token once. */
  async request(path, init) {
    const token = await this.#bearer(false);
    const response = await fetch(this.server + path, this.#dressed(init, token));
    if (response.status !== 401 || typeof this.#token !== 'function') return response;
    // Another call may have fetched a new token meanwhile.
    const fresh = await this.#bearer(token === this.#known);
    return fetch(this.server + path, this.#dressed(init, fresh));
  }

  /** Sends a request while the page closes: at once, with the token at hand, ignoring the answer. */
  farewell(path, body, method = 'POST') {
    const init = { method, body: JSON.stringify(body), keepalive: true };
    fetch(this.server + path, this.#dressed(init, this.#known)).catch(nothing);
  }

  /** Calls `heard(event)` for every event of a resource, until the returned function is called. */
  watch(resource, heard) {
    return this.#stream.watch(resource, heard);
  }

  /** Whether the live stream is open. */
  get live() {
    return this.#stream.live;
  }

  #dressed({ headers = {}, ...init }, token) {
    const all = { accept: 'application/json', ...headers };
    if (init.body) all['content-type'] = 'application/json';
    if (token) all.authorization = `Bearer ${token}`;
    if (this.language) all['accept-language'] = this.language;
    return { cache: 'no-store', credentials: token ? 'omit' : 'same-origin', ...init, headers: all };
  }

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

  #keep(given) {
    const { token, expires_at } = typeof given === 'object' && given ? given : { token: given };
    const ends = expires_at ? Date.parse(expires_at) : Infinity;
    this.#known = token ?? null;
    // Keep the token for at least a second, because with a wrong clock every call would ask for a new one.
    this.#ends = Math.max(ends - TOKEN_SPARE_MS, Date.now() + (ends - Date.now()) / 2, Date.now() + 1_000);
  }
}

/** Clients that leases share if the page passes no `Turno`: each client opens a stream, and browsers allow six per server. */
const shared = new Set();

export function share({ server = home(), token = null, language = null }) {
  const same = (one) => one.server === server && one.token === token && one.language === language;
  let found = [...shared].find(same);
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
