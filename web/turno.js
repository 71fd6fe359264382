// Turno in the browser: a lease that a page holds, kept alive only while a person really works.
//
// What it must never do: say that a lease is held when it may not be. A lease is trusted from the moment the request
// that renewed it was *sent*; after sleep, a frozen tab or a lost connection its state is "uncertain" until the server
// has answered. It beats only while the tab is visible and the person was active, and several tabs of one person share
// one beat where the browser lets them.

/** How long a request may take before it counts as failed. */
const REQUEST_MS = 10_000;
/** A timer that fires this much late means that the machine slept or the tab was frozen. */
const SLEPT_MS = 5_000;
/** A refused request is tried again after this long at first, then twice that, and so on. */
const RETRY_MS = 1_000;
const RETRY_MAX_MS = 15_000;
/** A person who has gone idle is warned this long before the lease expires, or at half of what is left. */
const WARNING_MS = 60_000;
/** Without a live stream the lease is looked at this often. */
const POLL_MS = 10_000;
const ACTIVITY = ['pointerdown', 'pointermove', 'keydown', 'wheel', 'touchstart', 'input', 'scroll'];

/** An answer that says no. `problem` is the server's document (RFC 9457). */
export class TurnoError extends Error {
  constructor(status, problem) {
    super(problem?.detail || problem?.title || `HTTP ${status}`);
    this.name = 'TurnoError';
    this.status = status;
    this.code = problem?.code ?? null;
    this.problem = problem ?? null;
  }
}

/** Talks to a server. `token` is a text, or a function that gives one (again and again, since sessions are short). */
export class Turno {
  constructor({ url = '', token = null, language = null, fetch: send = null } = {}) {
    this.url = String(url).replace(/\/+$/, '');
    this.token = token;
    this.language = language;
    this.send = send ?? ((...request) => globalThis.fetch(...request));
  }

  /** A lease on a resource, of this page. */
  lease(resource, options = {}) {
    return new Lease(this, resource, options);
  }

  async headers(extra = {}) {
    const token = typeof this.token === 'function' ? await this.token() : this.token;
    const headers = { accept: 'application/json', ...extra };
    if (token) headers.authorization = `Bearer ${token}`;
    if (this.language) headers['accept-language'] = this.language;
    return headers;
  }

  /** One call of the API. */
  async call(method, path, body, { keepalive = false, signal = null } = {}) {
    const timeout = keepalive ? null : AbortSignal.timeout(REQUEST_MS);
    const headers = await this.headers(body === undefined ? {} : { 'content-type': 'application/json' });
    const response = await this.send(this.url + path, {
      method,
      headers,
      body: body === undefined ? undefined : JSON.stringify(body),
      keepalive,
      credentials: this.token ? 'omit' : 'same-origin',
      cache: 'no-store',
      signal: signal && timeout ? AbortSignal.any([signal, timeout]) : (signal ?? timeout),
    });
    const text = await response.text();
    let document = null;
    try {
      document = text ? JSON.parse(text) : null;
    } catch {
      // A proxy's page is no answer of ours; the status says enough.
    }
    if (!response.ok) throw new TurnoError(response.status, document);
    return document;
  }
}

/** What somebody was doing last, for the idle guard. One for the whole page. */
const activity = {
  last: 0,
  started: false,
  start() {
    if (this.started) return;
    this.started = true;
    this.last = performance.now();
    const note = (event) => {
      // Scripts scroll and fill in, too; only a person counts.
      if (event.isTrusted) this.last = performance.now();
    };
    for (const name of ACTIVITY) addEventListener(name, note, { capture: true, passive: true });
  },
  idle() {
    return Math.max(0, Math.round(performance.now() - this.last));
  },
  touch() {
    this.last = performance.now();
  },
};

/**
 * One lease of this page.
 *
 * `state` is one of
 *   free       nobody holds it
 *   held       this person does
 *   other      somebody else does
 *   offered    it is kept for somebody in line (for us, if `lease.offered_to` is us: claim it)
 *   uncertain  we held it, and the server has not confirmed that for too long
 *   lost       we held it, and do not any more
 *   unknown    nothing has been heard yet
 *
 * Events: `state` (any change), `held`, `idle-warning`, `active`, `requested`, `lost`, `uncertain`, `error`.
 */
export class Lease extends EventTarget {
  #turno;
  #path;
  #instance;
  #worked = false;
  #timers = new Map();
  #trustedUntil = 0;
  #sent = 0;
  #retry = RETRY_MS;
  #warned = false;
  #asked = new Set();
  #channel = null;
  #leader = false;
  #giveUpLead = null;
  #closed = new AbortController();
  #stream = null;
  #beating = false;

  constructor(turno, resource, { instance = null, watch = true } = {}) {
    super();
    this.#turno = turno;
    this.resource = resource;
    const task = /^task:(\d+)$/.exec(resource);
    // The leases of tasks have a place of their own in the API: claiming there also begins the task.
    this.#path = task ? `/v1/tasks/${task[1]}` : `/v1/leases/${encodeURIComponent(resource)}`;
    this.#instance = instance;
    this.state = 'unknown';
    this.lease = null;
    this.lost = null;
    activity.start();
    const on = (target, name, handler) => target.addEventListener(name, handler, { signal: this.#closed.signal });
    on(document, 'visibilitychange', () => (document.hidden ? this.#hidden() : this.#doubt()));
    on(globalThis, 'pageshow', (event) => event.persisted && this.#doubt());
    on(document, 'resume', () => this.#doubt());
    on(globalThis, 'online', () => this.#doubt());
    on(globalThis, 'pagehide', (event) => event.persisted || this.#leave());
    for (const name of ['pointerdown', 'keydown']) {
      on(globalThis, name, (event) => event.isTrusted && this.#warned && this.#wake());
    }
    this.#share();
    if (watch) this.#watch();
  }

  /** The fence of the ownership, to be sent along with everything that is done under it; null if it is not held. */
  get fence() {
    return this.state === 'held' || this.state === 'uncertain' ? (this.lease?.fence ?? null) : null;
  }

  /** Milliseconds until it expires unless renewed, as far as this page knows. */
  get remaining() {
    return this.fence === null ? 0 : Math.max(0, Math.round(this.#trustedUntil - performance.now()));
  }

  /** Takes the lease, or renews what is already ours. Throws a TurnoError with `problem.holder` if somebody else has it. */
  async claim({ wait = 0, ttl = null } = {}) {
    activity.touch();
    const body = {};
    if (this.#instance) body.instance = this.#instance;
    if (ttl) body.ttl_ms = ttl;
    if (wait) body.wait_ms = wait;
    const sent = performance.now();
    try {
      const lease = await this.#turno.call('POST', `${this.#path}/claim`, body, wait ? { signal: AbortSignal.timeout(wait + REQUEST_MS) } : {});
      this.lost = null;
      this.#hold(lease, sent);
      this.#tell();
      return lease;
    } catch (error) {
      if (error instanceof TurnoError && error.problem?.lease) this.#see(error.problem.lease);
      throw error;
    }
  }

  /** Takes it from whoever holds it. Needs the permission and a reason. */
  async forceClaim(reason) {
    const sent = performance.now();
    const lease = await this.#turno.call('POST', `${this.#path}/force-claim`, { reason });
    this.lost = null;
    this.#hold(lease, sent);
    return lease;
  }

  /** Gives it back. */
  async release() {
    const { fence, lease } = this;
    this.#stopBeating();
    if (fence === null) return;
    try {
      this.#see(await this.#turno.call('POST', `${this.#path}/release`, { fence, claim: lease.claim }), true);
    } catch (error) {
      if (!(error instanceof TurnoError && error.code === 'lease_lost')) throw error;
      this.#see(error.problem.lease ?? null, true);
    }
    this.#tell();
  }

  /** Asks whoever holds it to let go. */
  requestRelease(message = null) {
    return this.#turno.call('POST', `${this.#path}/request-release`, message ? { message } : {});
  }

  /** Takes a place in the waiting line, or keeps it: repeat it within half a minute. */
  takeTurn() {
    return this.#turno.call('POST', `${this.#path}/turn`, this.#instance ? { instance: this.#instance } : {});
  }

  leaveTurn() {
    return this.#turno.call('DELETE', `${this.#path}/turn`);
  }

  /** Real work was done: the next beat says so, and the rolling timeout begins anew. */
  worked() {
    activity.touch();
    this.#worked = true;
    if (this.#warned) this.#wake();
  }

  /** The person is still there: one key press keeps the lease. */
  keep() {
    activity.touch();
    this.#wake();
  }

  /** Looks how it is, without changing anything. */
  async refresh() {
    const path = this.#path.startsWith('/v1/tasks/') ? `/v1/leases/${encodeURIComponent(this.resource)}` : this.#path;
    const sent = performance.now();
    const lease = await this.#turno.call('GET', path);
    const ours = lease.mine && this.lease !== null && lease.fence === this.lease.fence;
    if (ours && this.fence !== null) this.#hold(lease, sent);
    else this.#see(lease);
    return lease;
  }

  /** Ends everything that this object does; a held lease is released. */
  close() {
    this.#leave();
    this.#closed.abort();
    this.#stopBeating();
    this.#clear('poll');
    this.#channel?.close();
  }

  // What the server said.

  #hold(lease, sent) {
    this.lease = lease;
    this.#sent = sent;
    // Counted from when the request left: the answer may have taken its time.
    this.#trustedUntil = sent + (lease.expires_in_ms ?? 0);
    this.#retry = RETRY_MS;
    const before = this.state;
    this.#become('held');
    if (before !== 'held') this.#emit('held', { lease });
    for (const request of lease.requests ?? []) {
      const id = `${request.by?.id}@${request.at}`;
      if (!this.#asked.has(id)) {
        this.#asked.add(id);
        this.#emit('requested', request);
      }
    }
    this.#lead();
    this.#schedule();
  }

  /** A lease that this page does not hold, or not any more. */
  #see(lease, gaveBack = false) {
    const held = this.fence !== null;
    if (lease) this.lease = lease;
    if (held && !gaveBack) {
      this.#lose({ reason: lease?.state === 'locked' ? 'taken' : 'expired', lease });
      return;
    }
    this.#stopBeating();
    if (this.state === 'lost' && !gaveBack) return this.#emit('state', this.#detail());
    const shown = { free: 'free', locked: 'other', offered: 'offered' }[lease?.state] ?? 'free';
    this.#become(shown);
  }

  #lose(problem) {
    if (this.state === 'lost') return;
    this.#stopBeating();
    const { reason = 'expired', cause = null, by = null, note = null, lease = null, detail = null } = problem ?? {};
    this.lost = { reason, cause, by, note, detail };
    if (lease) this.lease = lease;
    this.#become('lost');
    this.#emit('lost', { ...this.lost, lease: this.lease });
  }

  #become(state) {
    if (state === this.state) return;
    this.state = state;
    this.#emit('state', this.#detail());
  }

  #detail() {
    return { state: this.state, lease: this.lease, lost: this.lost };
  }

  #emit(name, detail) {
    this.dispatchEvent(new CustomEvent(name, { detail }));
  }

  // Beating.

  #interval() {
    return this.lease?.policy?.heartbeat_interval_ms ?? 10_000;
  }

  #schedule() {
    this.#clear('beat');
    this.#clear('end');
    if (this.fence === null) return;
    this.#later('beat', this.#interval(), () => this.#beat());
    this.#later('end', this.remaining, () => this.#overdue());
  }

  async #beat({ anyway = false } = {}) {
    if (this.fence === null || this.#beating) return;
    if (!anyway && (document.hidden || !this.#leader)) return this.#schedule();
    const idle = activity.idle();
    this.#warn(idle);
    const body = { fence: this.lease.fence, idle_ms: idle };
    if (this.#worked) body.worked = true;
    this.#worked = false;
    const sent = performance.now();
    this.#beating = true;
    try {
      const lease = await this.#turno.call('POST', `${this.#path}/heartbeat`, body);
      this.#hold(lease, sent);
      if (lease.renewed) this.#calm();
      this.#tell();
    } catch (error) {
      this.#worked ||= body.worked === true;
      this.#failed(error);
    } finally {
      this.#beating = false;
    }
  }

  #failed(error) {
    if (error instanceof TurnoError && error.code === 'lease_lost') {
      this.#lose(error.problem);
      this.#tell();
      return;
    }
    if (error instanceof TurnoError && (error.status === 401 || error.status === 403 || error.status === 404)) {
      this.#emit('error', { error });
    }
    // One failed beat is a hiccup: the lease lives until its time is up, and it is tried again before.
    const pause = Math.min(this.#retry, RETRY_MAX_MS);
    this.#retry = pause * 2;
    this.#later('beat', pause, () => this.#beat({ anyway: true }));
    if (performance.now() >= this.#trustedUntil) this.#overdue();
  }

  /** Its time is up as far as this page knows. Whether it really is, only the server can say. */
  #overdue() {
    if (this.fence === null) return;
    if (this.state === 'held') {
      this.#become('uncertain');
      this.#emit('uncertain', this.#detail());
    }
    this.#beat({ anyway: true });
  }

  /** Something happened after which nothing that this page believes can be relied on. */
  #doubt() {
    if (this.fence !== null) {
      if (performance.now() >= this.#trustedUntil || this.#slept()) {
        this.#become('uncertain');
      }
      this.#beat({ anyway: true });
    } else if (!this.#closed.signal.aborted) {
      this.refresh().catch(() => {});
    }
  }

  #slept() {
    // Monotonic clocks may stand still while a machine sleeps; the wall clock does not.
    const wall = Date.now();
    const jumped = this.wall !== undefined && wall - this.wall > performance.now() - this.mono + SLEPT_MS;
    this.wall = wall;
    this.mono = performance.now();
    return jumped;
  }

  #hidden() {
    this.#slept();
  }

  // The idle guard, for people.

  #warn(idle) {
    const guard = this.lease?.policy?.idle_guard_ms;
    if (!guard) return;
    const left = this.remaining;
    const soon = idle >= guard || guard - idle <= this.#interval();
    if (soon && !this.#warned) {
      this.#warned = true;
      this.#emit('idle-warning', { idle_ms: idle, remaining_ms: left, warning_ms: Math.min(WARNING_MS, left / 2) });
    }
  }

  #calm() {
    if (!this.#warned || activity.idle() >= this.#interval()) return;
    this.#warned = false;
    this.#emit('active', this.#detail());
  }

  #wake() {
    this.#beat({ anyway: true }).then(() => this.#calm());
  }

  // Several tabs of one person: one of them beats, all of them hear it.

  #share() {
    if (typeof BroadcastChannel === 'undefined') return;
    this.#channel = new BroadcastChannel(`turno:${this.#turno.url}:${this.resource}`);
    this.#channel.onmessage = ({ data }) => {
      if (this.fence === null || !data || data.fence !== this.lease.fence) return;
      if (data.lost) return this.#lose(data.lost);
      if (data.ago_ms !== undefined && data.lease) this.#hold(data.lease, performance.now() - data.ago_ms);
    };
  }

  #tell() {
    if (!this.lease) return;
    const lost = this.state === 'lost' ? this.lost : null;
    this.#channel?.postMessage({ fence: this.lease.fence, lease: this.lease, lost, ago_ms: performance.now() - this.#sent });
  }

  /** One tab leads where the browser can tell; where it cannot (plain HTTP), each beats for itself, which only costs calls. */
  #lead() {
    if (this.#leader || this.#giveUpLead) return;
    if (!navigator.locks) {
      this.#leader = true;
      return;
    }
    const name = `turno:${this.#turno.url}:${this.resource}`;
    const ended = new Promise((resolve) => (this.#giveUpLead = resolve));
    navigator.locks
      .request(name, { signal: this.#closed.signal }, () => {
        this.#leader = true;
        return ended;
      })
      .catch(() => {});
  }

  #stopBeating() {
    this.#clear('beat');
    this.#clear('end');
    this.#leader = false;
    this.#giveUpLead?.();
    this.#giveUpLead = null;
    this.#warned = false;
    this.#asked.clear();
  }

  /** The page is being left. The time to live is the truth; this only makes it free sooner. */
  #leave() {
    const { fence, lease } = this;
    if (fence === null) return;
    this.#stopBeating();
    // The claim goes along: a reload that has claimed again meanwhile keeps what it has.
    this.#turno.call('POST', `${this.#path}/release`, { fence, claim: lease.claim }, { keepalive: true }).catch(() => {});
    this.state = 'free';
  }

  // Hearing of changes: a live stream, or looking again and again.

  async #watch() {
    const poll = () => {
      this.#later('poll', POLL_MS * (0.9 + Math.random() / 5), async () => {
        if (!document.hidden && this.fence === null) await this.refresh().catch(() => {});
        poll();
      });
    };
    await this.refresh().catch(() => {});
    let pause = RETRY_MS;
    while (!this.#closed.signal.aborted) {
      try {
        await this.#listen(() => {
          pause = RETRY_MS;
          this.#clear('poll');
        });
      } catch {
        // Said by the state of the lease, not here.
      }
      if (this.#closed.signal.aborted) return;
      if (!this.#timers.has('poll')) poll();
      await new Promise((resolve) => setTimeout(resolve, pause));
      pause = Math.min(pause * 2, RETRY_MAX_MS);
    }
  }

  /** Reads the live stream with fetch, so that the token travels in a header. */
  async #listen(opened) {
    const headers = await this.#turno.headers({ accept: 'text/event-stream' });
    if (this.#stream) headers['last-event-id'] = this.#stream;
    const response = await this.#turno.send(`${this.#turno.url}/v1/events?topics=leases`, {
      headers,
      credentials: this.#turno.token ? 'omit' : 'same-origin',
      cache: 'no-store',
      signal: this.#closed.signal,
    });
    if (!response.ok || !response.body) throw new TurnoError(response.status, null);
    opened();
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let text = '';
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      text += value;
      let end;
      while ((end = text.indexOf('\n\n')) >= 0) {
        this.#event(text.slice(0, end));
        text = text.slice(end + 2);
      }
    }
  }

  #event(block) {
    let name = 'message';
    let data = '';
    for (const line of block.split('\n')) {
      if (line.startsWith('id:')) this.#stream = line.slice(3).trim();
      else if (line.startsWith('event:')) name = line.slice(6).trim();
      else if (line.startsWith('data:')) data += line.slice(5).trim();
    }
    if (name === 'reset') {
      this.#doubt();
      return;
    }
    let fact = null;
    try {
      fact = data ? JSON.parse(data) : null;
    } catch {
      return;
    }
    if (fact?.resource === this.resource) this.#doubt();
  }

  // Timers that notice when they fire late.

  #later(name, ms, action) {
    this.#clear(name);
    const due = Date.now() + ms;
    const id = setTimeout(() => {
      this.#timers.delete(name);
      if (name !== 'poll' && Date.now() - due > SLEPT_MS && this.state === 'held') this.#become('uncertain');
      action();
    }, Math.max(0, Math.min(ms, 2 ** 31 - 1)));
    this.#timers.set(name, id);
  }

  #clear(name) {
    clearTimeout(this.#timers.get(name));
    this.#timers.delete(name);
  }
}

/**
 * `<turno-lease resource="task:7" src="https://turno.example">`: shows who holds it, and says everything as events.
 * Its `token` property takes a text or a function. What is inside it is left alone; `state` is mirrored as an attribute,
 * so that a style sheet can show and hide.
 */
export class TurnoLeaseElement extends (globalThis.HTMLElement ?? class {}) {
  static observedAttributes = ['resource', 'src'];
  token = null;
  handle = null;

  connectedCallback() {
    this.#open();
  }

  disconnectedCallback() {
    this.handle?.close();
    this.handle = null;
  }

  attributeChangedCallback() {
    if (!this.handle) return;
    this.handle.close();
    this.#open();
  }

  #open() {
    const resource = this.getAttribute('resource');
    if (!resource || !this.isConnected) return;
    const turno = new Turno({ url: this.getAttribute('src') ?? '', token: () => (typeof this.token === 'function' ? this.token() : this.token) });
    if (!this.token) turno.token = null;
    this.handle = turno.lease(resource, { instance: this.getAttribute('instance') });
    for (const name of ['state', 'held', 'idle-warning', 'active', 'requested', 'lost', 'uncertain', 'error']) {
      this.handle.addEventListener(name, ({ detail }) => {
        this.setAttribute('state', this.handle?.state ?? 'unknown');
        this.dispatchEvent(new CustomEvent(name, { detail, bubbles: true }));
      });
    }
  }

  claim(options) {
    return this.handle.claim(options);
  }

  release() {
    return this.handle.release();
  }
}

if (globalThis.customElements && !customElements.get('turno-lease')) customElements.define('turno-lease', TurnoLeaseElement);
