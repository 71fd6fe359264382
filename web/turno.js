// Turno in the browser: a lease that a page holds, kept alive only while a person really works.
//
// The module never reports `held` for a lease that may have ended. A renewal counts from the moment its request was
// *sent*. After sleep, in a frozen tab or without a connection the state is `unknown` until the server answers. The module
// sends heartbeats only while the tab is visible and the person is active, and the tabs of one person share them. It draws
// nothing: the page shows the states.
//
// One file without dependencies, to be loaded from the server or copied. Types: turno.d.ts. Guide: docs/guides/browser.md.
// Joined from web/turno/ by `cargo xtask bundle`.

// answer.js: Answers of the server and their errors.

/** Parses JSON; returns null for anything else, such as the error page of a proxy. */
function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** A refusal or an error of the server. `problem` is its document (RFC 9457), `code` the stable code. */
class TurnoError extends Error {
  constructor(status, problem) {
    super(problem?.detail || problem?.title || `HTTP ${status}`);
    this.name = 'TurnoError';
    this.status = status;
    this.code = problem?.code ?? null;
    this.problem = problem ?? null;
  }
}

// time.js: Clocks, retry times and the visibility of the page.

/** A request fails after this long. */
const REQUEST_MS = 10_000;
/** If a timer fires this late, the machine slept or the browser froze the tab. */
const SLEPT_MS = 5_000;
/** The first retry comes after this long; each further one doubles the pause, up to the maximum. */
const RETRY_MS = 500;
const RETRY_MAX_MS = 15_000;

const nothing = () => {};
const hidden = () => document.visibilityState === 'hidden';
/** Reads both clocks: the steady one can stop while the machine sleeps, the wall clock can be set. */
const clock = () => ({ steady: performance.now(), wall: Date.now() });
/** Returns the milliseconds since `then`. If the clocks disagree, the longer time counts. */
const since = (then) => Math.max(performance.now() - then.steady, Date.now() - then.wall, 0);

// activity.js: The activity of the person on this page, for the idle guard.

/** Listeners hear of activity at most this often: a moving mouse sends many events. */
const ACTIVITY_MS = 250;
/** `click` is for screen readers, which have no pointer. `scroll` is left out, because scripts scroll too. */
const ACTIVITY = ['pointerdown', 'pointermove', 'click', 'keydown', 'wheel', 'touchmove', 'input'];

/** When the person was last active. All leases of the page share it. */
const activity = {
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

// reload.js: What this tab held when its page was left, so that a reload continues with it.

/** A reload within this time continues with the lease, if it is still free. */
const RETURN_MS = 60_000;

/** The stored grant. It is written when the page is left, so that a duplicated tab does not find it. */
const behind = {
  note(key, grant) {
    try {
      sessionStorage.setItem(key, JSON.stringify({ ...grant, at: Date.now() }));
    } catch {
      // Without storage, a reload starts from what the server says.
    }
  },
  take(key) {
    try {
      const found = JSON.parse(sessionStorage.getItem(key));
      sessionStorage.removeItem(key);
      return found && Date.now() - found.at < RETURN_MS ? found : null;
    } catch {
      return null;
    }
  },
};

const reloaded = () => performance.getEntriesByType('navigation')[0]?.type === 'reload';

// tabs.js: The tabs of one browser that share a lease.

/** Coordinates the tabs that hold the same grant: which tab sends heartbeats, and whether this tab is the last one. */
class Tabs {
  #channel = null;
  /** The channel on which tabs without the lease announce a claim. */
  #around = null;
  #id = Math.random().toString(36).slice(2);
  #others = new Set();
  #stopLeading = null;
  #gone;
  /** When another tab last announced a claim of its own. */
  #rivalled = -Infinity;
  leads = false;

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
    const gone = new Promise((resolve) => (this.#gone = resolve));
    navigator.locks?.request(`${name}#${this.#id}`, () => gone).catch(nothing);
  }

  get alone() {
    return this.#others.size === 0;
  }

  /** Whether another tab of this browser holds the lease or claims it. The server's event can arrive before the tab's message. */
  get near() {
    return !this.alone || performance.now() - this.#rivalled < REQUEST_MS;
  }

  /** Announces a claim to the tabs that hold the lease. */
  static announce(around) {
    if (!globalThis.BroadcastChannel) return;
    const channel = new BroadcastChannel(around);
    channel.postMessage('claims');
    channel.close();
  }

  say(message) {
    this.#channel?.postMessage({ ...message, tab: this.#id });
  }

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

  /** Asks to send the heartbeats for all tabs, or stops. Without the Locks API (plain HTTP) every visible tab leads and is
   * silent while it hears another; that costs at most one extra call. */
  lead(wanted) {
    if (wanted === (this.#stopLeading !== null)) return;
    if (!wanted) return this.#stopLeading();
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
      return new Promise((resolve) => (resign = resolve));
    };
    // If the request for the lock fails, this tab leads.
    if (navigator.locks) navigator.locks.request(this.name, { signal: ended.signal }, chosen).catch(() => ended.signal.aborted || chosen());
    else chosen();
  }

  /** Asks again if no tab leads or waits to lead: browsers can lose a lock request around a reload. */
  async insist() {
    if (!navigator.locks || this.leads || !this.#stopLeading) return;
    const known = await navigator.locks.query().catch(() => null);
    if (!known || this.leads || !this.#stopLeading || [...known.held, ...known.pending].some(({ name }) => name === this.name)) return;
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

// lease.js: One lease of a page: what it holds, when it renews it, and what it tells the page.

/** People are warned this long before the lease ends, if the policy's times allow it. */
const WARNING_MS = 60_000;
/** Without a live stream the lease is looked at this often; in a hidden tab less. */
const POLL_MS = 10_000;
const POLL_HIDDEN_MS = 30_000;
/** A page that is left cannot know whether it is reloaded: the server keeps what it held for so long. */
const GRACE_MS = 5_000;

/** The timers of a lease that is held. */
const HOLDING = ['beat', 'end', 'warn'];

/** What ends it first, of `[why, when to warn, when it ends]`. */
const soonest = (ends) => ends.reduce((first, one) => (one[2] < first[2] ? one : first));
/** To people it is the same whether they do nothing or look elsewhere: nobody seems to be there. */
const toldAs = (reason) => (reason === 'hidden' ? 'idle' : reason);

/**
 * One lease of this page.
 *
 * `state` is one of
 *   unknown    nothing has been heard yet, or what was heard cannot be relied on any more: show it, change nothing
 *   free       nobody holds it
 *   held       this page does
 *   elsewhere  this person does, but not in this page: `claim()` joins
 *   other      somebody else does, or it is kept for somebody else
 *   offered    it is kept for this person for a moment: `claim()` takes it
 *   lost       this page held it and does not any more; `lost` says why
 *
 * Events: `state` (anything has changed), `held`, `idle-warning`, `active`, `requested`, `lost`, `moved`, `unknown`,
 * `offered`, `turn`, `error`.
 *
 * Pages of one person hold one ownership together. With `single` only the page that claimed last does: the others become
 * `elsewhere` and hear `moved`, so that two of them never write over each other.
 */
class Lease extends EventTarget {
  #path;
  #instance;
  #state = 'unknown';
  /** What we hold, as far as we know: `{fence, claim, ttl_ms}`. */
  #grant = null;
  #tabs = null;
  #sent = { steady: -Infinity, wall: -Infinity };
  #lasts = 0;
  #renewed = clock();
  #doubted = -Infinity;
  #heard = null;
  #ticked = Date.now();
  #retry = RETRY_MS;
  #beating = false;
  #again = false;
  #worked = false;
  #saidIdle = false;
  #warned = null;
  #requests = new Set();
  #timers = new Map();
  #closed = new AbortController();
  #unwatch = nothing;
  #key;
  /** The place in line was not taken by this page: whoever took it may give it up. */
  #adopted = false;
  /** When our place in line was last kept, and for how long: `{kept, lasts}`. */
  #ticket = null;
  #keeping = false;
  /** The page was left, and the browser may still show it again. */
  #away = false;
  /** Says so, unless another tab still holds it. */
  #sayLeft = nothing;
  /** What was given back and nobody has answered yet: `{fence, claim}`. */
  #owed = null;
  #giving = null;
  /** The answer to the last beat, if it was that this person may not: then nothing renews what is held. */
  #refused = null;
  #single;
  /** Claims of this page that were not answered yet: what is heard meanwhile may be their effect. */
  #taking = 0;
  /** When the last claim was sent that nobody has answered; browsers break them off before they say that a page is left. */
  #asked = null;

  constructor(resource, { turno = null, instance = null, single = false, ...options } = {}) {
    super();
    const source = turno ? { turno, leave: nothing } : share(options);
    this.turno = source.turno;
    this.#closed.signal.addEventListener('abort', source.leave);
    this.resource = resource;
    // The leases of tasks have a place of their own in the API: claiming there also begins the task.
    const task = /^task:(\d+)$/.exec(resource);
    this.#path = task ? `/v1/tasks/${task[1]}` : `/v1/leases/${encodeURIComponent(resource)}`;
    this.#instance = instance ? { instance } : {};
    this.#single = single;
    this.#key = `turno:left:${this.turno.server}:${resource}:${instance ?? ''}`;
    this.lease = null;
    this.lost = null;
    this.turn = null;
    activity.start();
    activity.listeners.add(this.#active);
    const on = (target, name, heard) => target.addEventListener(name, heard, { signal: this.#closed.signal });
    on(document, 'visibilitychange', () => this.#seen());
    on(document, 'resume', () => this.#doubt());
    on(globalThis, 'pageshow', (event) => event.persisted && this.#return());
    on(globalThis, 'online', () => (this.#grant ? this.#tick() : this.#look().catch(nothing)));
    on(globalThis, 'pagehide', () => this.#leave(GRACE_MS));
    this.#unwatch = this.turno.watch(resource, (event) => this.#event(event));
    const left = behind.take(this.#key);
    if (left) this.#resume(left);
    else this.#look().catch(nothing);
    this.#poll();
  }

  /** Goes on with what this tab held before it was reloaded. */
  async #resume(left) {
    try {
      const lease = await this.turno.call('GET', `/v1/leases/${encodeURIComponent(this.resource)}`);
      if (this.#grant || this.#closed.signal.aborted) return;
      const ours = lease.mine && lease.fence === left.fence;
      // Whoever had asked for it and did not wait for the answer may have been given it.
      if (ours || (reloaded() && (lease.state === 'free' || (left.asked && lease.mine)))) await this.claim({ ttl_ms: left.ttl_ms });
      else this.#see(lease);
    } catch (error) {
      const again = !error.status && Date.now() - left.at < RETURN_MS;
      if (again) this.#later('resume', RETRY_MS, () => this.#resume(left));
      else this.#look().catch(nothing);
    }
  }

  /** How it is. Asked at any moment it is true, also before a timer had the chance to notice something. */
  get state() {
    if (this.#state === 'held' && this.expires_in_ms <= 0) return 'unknown';
    return ['other', 'elsewhere'].includes(this.#state) && this.#outdated() ? 'unknown' : this.#state;
  }

  /** Whoever had it has it no longer unless they renewed it, and nobody has said so. */
  #outdated() {
    return this.lease?.state === 'locked' && since(this.#heard) > this.lease.expires_in_ms;
  }

  /** Names the ownership; goes along with everything that is done under it. Null unless it is held. */
  get fence() {
    return this.state === 'held' ? this.#grant.fence : null;
  }

  /** Until it ends unless renewed, as far as this page knows. */
  get expires_in_ms() {
    return this.#grant ? Math.max(0, Math.round(this.#lasts - since(this.#sent))) : 0;
  }

  /** What somebody is warned of: why it will end if nothing happens, and in how long. Nothing while nobody is. */
  get warning() {
    if (!this.#warned) return null;
    const [reason, , expires_in_ms] = soonest(this.#ends());
    return { reason: toldAs(reason), expires_in_ms: Math.round(expires_in_ms) };
  }

  /** Until an offer to this person passes; 0 without one. */
  get offer_in_ms() {
    return this.turn?.offered ? Math.max(0, Math.round(this.lease.offer_expires_in_ms - since(this.#heard))) : 0;
  }

  /** Takes the lease, or joins what this person already holds. Throws a TurnoError (`lease_held`, `lease_offered`). */
  async claim({ wait_ms = 0, ttl_ms = null } = {}) {
    const body = { ...this.#instance };
    if (ttl_ms) body.ttl_ms = ttl_ms;
    if (wait_ms) body.wait_ms = wait_ms;
    return this.#take('claim', body, { timeout_ms: wait_ms + REQUEST_MS });
  }

  /** Takes it from whoever holds it. Needs `locks.override` and a reason. With a fence nobody else's is taken: `lease_held` then. */
  forceClaim(reason, { fence } = {}) {
    return this.#take('force-claim', { reason, fence });
  }

  /** Gives it back, for all tabs of this person. Where nobody answers it throws, and is sent again until somebody does. */
  async release() {
    const grant = this.#grant;
    if (!grant) return this.#owed ? this.#giveBack() : this.lease;
    const tabs = this.#tabs;
    tabs.lead(false);
    this.#tabs = null;
    // No beat may follow a release, so it is forgotten before the server has agreed.
    this.#letGo();
    this.#owed = { fence: grant.fence, claim: grant.claim };
    this.#become('unknown');
    try {
      return await this.#giveBack({ fence: grant.fence });
    } finally {
      tabs.say({ kind: 'ended' });
      tabs.leave();
    }
  }

  /** Says again what was given back. The claim goes along: whoever has claimed meanwhile keeps what they have. */
  #giveBack(body = this.#owed) {
    this.#clear('owed');
    const owed = this.#owed;
    if (this.#giving?.owed !== owed) this.#giving = { owed, answer: null };
    const giving = this.#giving;
    giving.answer ??= this.#giveBackNow(owed, body).finally(() => (giving.answer = null));
    return giving.answer;
  }

  async #giveBackNow(owed, body) {
    const done = (lease) => {
      if (this.#owed === owed) this.#owed = null;
      if (!this.#grant) this.#see(lease);
      return lease;
    };
    try {
      return done(await this.#call('POST', 'release', { ...body, ...this.#instance }));
    } catch (error) {
      if (error.code === 'lease_lost') return done(error.problem.lease);
      const answered = error.status && error.status < 500 && error.status !== 429;
      if (this.#owed === owed && answered) this.#owed = null;
      else if (this.#owed === owed) this.#later('owed', RETRY_MS * 4, () => this.#owed && this.#giveBack().catch(nothing));
      throw error;
    }
  }

  /** Takes it away from whoever holds it. Needs `locks.override` and a reason. With a fence nobody else loses theirs. */
  async forceRelease(reason, { fence } = {}) {
    await this.#call('POST', 'force-release', { reason, fence });
    return this.#look();
  }

  /** Asks whoever holds it to let go. */
  requestRelease(message = null) {
    return this.#call('POST', 'request-release', message ? { message, ...this.#instance } : { ...this.#instance });
  }

  /** Tells all who have asked that they have to wait. */
  declineRelease(message = null) {
    const body = { fence: this.#grant?.fence, ...this.#instance };
    return this.#call('POST', 'decline-release', message ? { ...body, message } : body).then((answer) => {
      if (this.#grant?.fence === body.fence) this.lease.requests = answer.requests;
      this.#emit('state', this.#detail());
      return answer;
    });
  }

  /** Takes a place in line and keeps it for as long as the page is open; `offered` says when it is our turn. */
  async takeTurn() {
    const answer = await this.#call('POST', 'turn', { ...this.#instance });
    this.#overcome();
    this.#adopted = false;
    this.#stand(answer);
    return answer;
  }

  /** Gives the place up. */
  leaveTurn() {
    return this.#leaveLine(false);
  }

  /** Real work was done: the rolling timeout begins anew with the next beat. */
  worked() {
    this.#worked = true;
    this.#tabs?.say({ kind: 'work' });
    activity.touch(clock());
    if (this.#warned) this.#beat();
    else this.#active();
  }

  /** The person says that they are still there. */
  keep() {
    activity.touch(clock());
    this.#active();
  }

  /** Looks how it is, and changes nothing. */
  refresh() {
    return this.#look();
  }

  /** Ends everything that this object does. What is held is given back, unless another tab still holds it. */
  close() {
    if (this.#closed.signal.aborted) return;
    this.#leave();
    this.#letGo();
    this.#closed.abort();
    this.#unwatch();
    activity.listeners.delete(this.#active);
    for (const name of [...this.#timers.keys()]) this.#clear(name);
  }

  #call(method, verb, body, options) {
    return this.turno.call(method, `${this.#path}/${verb}`, body, options);
  }

  // What the server said.

  async #take(verb, body, options) {
    if (this.#single && !this.#grant) Tabs.announce(this.#around);
    const sent = clock();
    this.#taking += 1;
    this.#asked = sent;
    const answered = this.#call('POST', verb, body, options).finally(() => (this.#taking -= 1));
    const lease = await answered.catch((error) => {
      if (error.status) this.#asked = null;
      if (error.problem?.lease && !this.#grant) {
        this.#overcome();
        this.#see(error.problem.lease);
      }
      throw error;
    });
    this.#asked = null;
    if (this.#closed.signal.aborted) {
      this.turno.farewell(`${this.#path}/release`, { fence: lease.fence, claim: lease.claim, ...this.#instance });
      return lease;
    }
    if (this.#grant?.fence !== lease.fence) {
      this.#letGo();
      this.#grant = { fence: lease.fence, claim: 0, ttl_ms: body.ttl_ms ?? null };
      this.#join();
    }
    this.#grant.claim = Math.max(this.#grant.claim, lease.claim);
    this.lost = null;
    this.turn = null;
    this.#owed = null;
    for (const name of ['turn', 'offer', 'look', 'resume', 'owed']) this.#clear(name);
    this.#hold(lease, sent);
    this.#tabs.lead(!hidden());
    this.#share();
    return lease;
  }

  /** What tabs of one browser call it among themselves. */
  get #around() {
    return `turno:${this.turno.server}:${this.resource}`;
  }

  #join() {
    this.#tabs = new Tabs(
      this.#around,
      this.#grant.fence,
      (said) => this.#told(said),
      () => this.#led(),
    );
  }

  /** It is ours, said the answer to what was sent then. */
  #hold(lease, sent, beaten = true) {
    // Claims only ever become more, whichever answer comes first.
    if (this.#single && !this.#taking && lease.claim > this.#grant.claim) return this.#move(lease);
    // Answers may overtake each other.
    if (sent.steady < this.#sent.steady) return;
    this.lease = lease;
    this.#heard = clock();
    // Counted from when the request left: the answer may have taken its time.
    this.#sent = sent;
    this.#lasts = lease.expires_in_ms ?? 0;
    this.#retry = RETRY_MS;
    // Whoever only looked has renewed nothing: the next beat is due when it was.
    if (beaten) this.#renewed = clock();
    if (beaten || !this.#timers.has('beat'))
      this.#later('beat', lease.policy.heartbeat_interval_ms, () => this.#tick());
    // Not at once again, where the server's end comes a moment after ours.
    this.#later('end', Math.max(this.expires_in_ms, 50), () => this.#overdue());
    this.#mind(beaten && lease.renewed !== false);
    // What was sent before something happened says nothing about what is true after it.
    if (beaten) this.#refused = null;
    if (sent.steady < this.#doubted || this.expires_in_ms <= 0 || this.#refused) {
      if (this.#state !== 'unknown') this.#become('unknown');
      return;
    }
    const before = this.#state;
    this.#become('held');
    if (before !== 'held') this.#emit('held', { lease });
    this.#listRequests(lease.requests ?? []);
  }

  #listRequests(requests) {
    for (const request of requests.filter(({ declined_at }) => !declined_at)) {
      const id = `${request.by.id} ${request.at}`;
      if (this.#requests.has(id)) continue;
      this.#requests.add(id);
      this.#emit('requested', request);
    }
  }

  /** How it is, while we do not hold it. */
  #see(lease) {
    if (!lease) return;
    this.lease = lease;
    this.#heard = clock();
    this.#foresee(lease);
    this.#place(lease);
    if (this.#owes(lease)) return this.#emit('state', this.#detail());
    // Somebody who has lost it must see that until they do something about it.
    if (this.#state === 'lost') return this.#emit('state', this.#detail());
    const shown = { free: 'free', locked: lease.mine ? 'elsewhere' : 'other', offered: 'other' }[lease.state];
    this.#become(lease.state === 'offered' && this.turn?.offered ? 'offered' : shown);
  }

  /** It is ours only because nobody has heard that it was given back: no other window has it, and it is said again. */
  #owes({ mine, fence, claim }) {
    if (!this.#owed) return false;
    const ours = mine && fence === this.#owed.fence && !(claim > this.#owed.claim);
    if (ours) this.#giveBack().catch(nothing);
    else this.#owed = null;
    return ours;
  }

  /** The person has done something about it, and sees from now on how it is. */
  #overcome() {
    if (this.#state !== 'lost') return;
    this.lost = null;
    this.#state = 'unknown';
  }

  /** Looks again when the lease ends by itself. The server announces that too, but a page may have no stream. */
  #foresee({ state, expires_in_ms, policy }) {
    this.#clear('look');
    if (state === 'free') return;
    const pause = state === 'locked' ? expires_in_ms + 100 : Math.min(policy.offer_ms / 4, POLL_MS / 2);
    this.#later('look', pause * (1 + Math.random() / 10), () => this.#look().catch(() => this.#unheard()));
  }

  /** The known end has passed and nobody answers: it is said that nothing is known, and asked again. */
  #unheard() {
    if (this.#grant || this.#closed.signal.aborted) return;
    if (this.#outdated() && ['other', 'elsewhere'].includes(this.#state)) this.#become('unknown');
    this.#later('look', POLL_MS / 2, () => this.#look().catch(() => this.#unheard()));
  }

  #lose({ reason = 'expired', cause = null, by = null, by_name = null, note = null, detail = null, lease = null }) {
    this.#letGo();
    if (lease) {
      this.lease = lease;
      this.#foresee(lease);
    }
    this.lost = { reason, cause, by, by_name, note, message: detail };
    this.#become('lost');
    this.#emit('lost', { ...this.lost, lease: this.lease });
  }

  /** Another page of this person has claimed it since: that one goes on. Nothing is given back, as it is theirs now. */
  #move(lease) {
    const { near } = this.#tabs;
    this.#letGo();
    this.#see(lease);
    this.#emit('moved', { ...this.#detail(), near });
  }

  #letGo() {
    for (const name of HOLDING) this.#clear(name);
    this.#tabs?.leave();
    this.#tabs = null;
    this.#grant = null;
    this.#warned = null;
    activity.warned.delete(this);
    this.#saidIdle = false;
    this.#worked = false;
    this.#requests.clear();
    this.#refused = null;
    this.#sent = { steady: -Infinity, wall: -Infinity };
  }

  #become(state) {
    const before = this.#state;
    this.#state = state;
    this.#emit('state', this.#detail());
    if (state === before) return;
    if (state === 'unknown' && ['held', 'other', 'elsewhere'].includes(before)) this.#emit('unknown', this.#detail());
    if (state === 'offered') this.#emit('offered', { lease: this.lease, offer_ms: this.lease.policy.offer_ms });
  }

  #detail() {
    return { state: this.state, lease: this.lease, lost: this.lost };
  }

  #emit(name, detail) {
    this.dispatchEvent(new CustomEvent(name, { detail }));
  }

  // Beating.

  /** A beat is due. It is left out where nobody is looking, where another tab does it, and where nobody is there. */
  #tick() {
    const { heartbeat_interval_ms: interval, idle_guard_ms: guard } = this.lease.policy;
    const away = this.#saidIdle && guard && activity.idle() >= guard;
    if (this.#state === 'unknown') this.#confirm();
    else if (hidden() || !this.#tabs.leads || away) {
      void this.#tabs.insist();
      this.#later('beat', interval, () => this.#tick());
    } else this.#beat();
  }

  async #beat() {
    const grant = this.#grant;
    if (!grant) return;
    if (this.#beating) {
      this.#again = true;
      return;
    }
    const body = { fence: grant.fence, idle_ms: activity.idle(), ...this.#instance };
    if (this.#worked) body.worked = true;
    this.#worked = false;
    this.#beating = true;
    const sent = clock();
    try {
      const timeout_ms = Math.min(REQUEST_MS, Math.max(1_000, this.#lasts / 2));
      const answer = await this.#call('POST', 'heartbeat', body, { timeout_ms });
      // It was under way when the page was left, and may have undone that.
      if (this.#away) this.#sayLeft();
      if (this.#grant !== grant || this.#away) return;
      // Said once: from now on the server knows why no more beats come.
      this.#saidIdle = answer.reason === 'idle';
      this.#hold(answer, sent);
      if (this.#grant !== grant) return;
      this.#share();
      this.#tabs.count();
    } catch (error) {
      this.#worked ||= body.worked === true;
      if (this.#grant === grant && !this.#away) this.#failed(error);
    } finally {
      this.#beating = false;
      if (this.#again && this.#grant && !this.#away) this.#beat();
      this.#again = false;
    }
  }

  #failed(error) {
    if (error.code === 'lease_lost') {
      this.#tabs.say({ kind: 'ended' });
      return this.#lose(error.problem);
    }
    if (error.status === 401 || error.status === 403) {
      this.#refused = error;
      // Nobody renews it, so it is over when its time is: whoever looks sees who has it then.
      if (this.expires_in_ms <= 0) {
        this.#lose({ cause: 'forbidden', detail: error.message });
        this.#look().catch(nothing);
        return this.#emit('error', { error });
      }
      if (this.#state === 'held') this.#become('unknown');
    }
    // Neither the network's nor the server's mood: somebody has to do something.
    if (error.status >= 400 && error.status < 500 && error.status !== 429) this.#emit('error', { error });
    // One failed beat is a hiccup: the lease lives until its time is up, and it is tried again before.
    const left = this.expires_in_ms;
    const pause = left > 0 ? Math.min(this.#retry, Math.max(left / 3, RETRY_MS)) : this.#retry;
    this.#retry = Math.min(this.#retry * 2, RETRY_MAX_MS);
    this.#later('beat', pause * (0.75 + Math.random() / 4), () => this.#tick());
  }

  /** Its time is up as far as this page knows. Whether it really is, only the server can say. */
  #overdue() {
    if (this.expires_in_ms > 0) return this.#later('end', this.expires_in_ms, () => this.#overdue());
    this.#become('unknown');
    this.#confirm();
  }

  /** Something happened after which nothing that this page believes can be relied on. */
  #doubt() {
    this.#doubted = performance.now();
    if (this.#grant) {
      for (const name of HOLDING) this.#clear(name);
      this.#become('unknown');
    }
    this.#confirm();
  }

  #confirm() {
    if (this.#grant && !hidden()) this.#beat();
    else this.#look().catch((error) => this.#grant && this.#failed(error));
  }

  /** Looks without renewing anything. */
  async #look() {
    const grant = this.#grant;
    const sent = clock();
    const lease = await this.turno.call('GET', `/v1/leases/${encodeURIComponent(this.resource)}`);
    if (grant !== this.#grant || this.#away || this.#closed.signal.aborted) return lease;
    if (!grant) {
      this.#see(lease);
    } else if (lease.mine && lease.fence === grant.fence) {
      this.#hold(lease, sent, false);
    } else {
      // That fence is dead for good: a beat with it changes nothing, and its refusal says why.
      this.#become('unknown');
      await this.#beat();
    }
    return lease;
  }

  #seen() {
    const held = this.#grant !== null;
    this.#tabs?.lead(!hidden());
    if (held) this.#mind();
    if (hidden()) return;
    const interval = this.lease?.policy.heartbeat_interval_ms ?? 0;
    if (held && Date.now() - this.#ticked > interval + SLEPT_MS) this.#doubt();
    else if (held) this.#tick();
    else this.#look().catch(nothing);
  }

  // The person: active, idle, warned.

  #active = () => {
    if (!this.#grant) return;
    this.#tabs.say({ kind: 'active', wall: activity.last.wall });
    if (this.#warned?.reason === 'idle' || this.#saidIdle) {
      this.#saidIdle = false;
      // The warning ends when the server has renewed the lease, and not before.
      if (!hidden() && this.#tabs.leads) this.#beat();
    }
    this.#mind();
  };

  /** Warns if it is time to, or sees to it that this happens when it is. */
  #mind(renewed = false) {
    const ends = this.#ends();
    // Whatever it is time to warn of, what ends it first is told: nobody is promised time that they do not have.
    if (ends.some(([, warn_in_ms]) => warn_in_ms <= 0)) this.#warn(...soonest(ends));
    // An idle person is kept once the server has renewed, and not when they have moved.
    else if (renewed || this.#warned?.reason === 'rolling_timeout') this.#calm();
    const next = Math.min(...ends.map(([, warn_in_ms]) => warn_in_ms).filter((warn_in_ms) => warn_in_ms > 0));
    if (next < Infinity) this.#later('warn', next, () => this.#mind());
  }

  /** Everything that will end it if nothing happens: why, when to warn of it, and when it ends. */
  #ends() {
    const { idle_guard_ms: guard, rolling_timeout_ms: rolling, ttl_ms: ttl, heartbeat_interval_ms: pause } = this.lease.policy;
    const ends = [];
    if (guard) {
      const idle = activity.idle();
      // Where the time to live alone leaves little time to react, the warning comes before the guard does.
      const warn = Math.max(guard / 2, Math.min(guard, guard + ttl - WARNING_MS));
      // The last beat that renews comes up to one pause before the guard.
      ends.push(['idle', warn - idle, idle < guard ? Math.max(guard - idle + ttl - pause, this.expires_in_ms) : this.expires_in_ms]);
    }
    if (rolling && this.lease.rolling_in_ms !== null) {
      const left = Math.max(0, this.lease.rolling_in_ms - since(this.#sent));
      ends.push(['rolling_timeout', left - Math.min(WARNING_MS, rolling / 2), left]);
    }
    // A hidden page is not renewed; it may still show something in its title.
    const left = hidden() ? this.expires_in_ms : Infinity;
    ends.push(['hidden', left - Math.min(WARNING_MS, ttl / 2), left]);
    return ends;
  }

  #warn(reason, _, expires_in_ms) {
    if (this.#warned?.reason === reason) return;
    this.#warned = { reason };
    if (reason === 'idle') activity.warned.add(this);
    else activity.warned.delete(this);
    this.#emit('idle-warning', { reason: toldAs(reason), expires_in_ms: Math.round(expires_in_ms), lease: this.lease });
  }

  #calm() {
    if (!this.#warned) return;
    this.#warned = null;
    activity.warned.delete(this);
    this.#emit('active', this.#detail());
  }

  // Other tabs that hold the same ownership.

  /** This tab beats for all from now on. */
  #led() {
    if (this.#grant && since(this.#renewed) >= this.lease.policy.heartbeat_interval_ms) this.#tick();
  }

  /** Tells them what the server has said. When it was asked is said by the wall's clock: a frozen tab hears it late. */
  #share() {
    this.#tabs.say({ kind: 'lease', lease: this.lease, wall: this.#sent.wall, idle: this.#saidIdle });
  }

  #told(said) {
    if (!this.#grant) return;
    if (said.kind === 'ended') return this.#look().catch((error) => this.#grant && this.#failed(error));
    if (said.kind === 'work') {
      this.#worked = true;
      return this.#warned && this.#tabs.leads ? this.#beat() : undefined;
    }
    const ago = Math.max(0, Date.now() - said.wall);
    if (said.kind === 'active') return activity.touch({ wall: said.wall, steady: performance.now() - ago });
    if (!this.#single) this.#grant.claim = Math.max(this.#grant.claim, said.lease.claim);
    this.#saidIdle = said.idle;
    this.#hold(said.lease, { steady: performance.now() - ago, wall: said.wall });
    if (!this.#grant) return;
    // Whoever has just beaten is first the next time, too: their pause begins when they had the answer.
    this.#later('beat', said.lease.policy.heartbeat_interval_ms * 1.5, () => this.#tick());
  }

  /**
   * The page is being left. The time to live is the truth; this only makes it free sooner. What was asked for and not
   * answered has no fence yet that could be given back: a reload goes on with it, and otherwise it ends by itself.
   */
  #leave(grace_ms = 0) {
    const { fence, claim, ttl_ms } = this.#grant ?? {};
    if (this.#owed) this.turno.farewell(`${this.#path}/release`, { ...this.#owed, ...this.#instance });
    if (!fence && grace_ms && this.#asked && since(this.#asked) < REQUEST_MS) behind.note(this.#key, { asked: true });
    if (!fence) return;
    if (grace_ms) {
      behind.note(this.#key, { fence, ttl_ms });
      // A beat would undo it.
      for (const name of HOLDING) this.#clear(name);
      this.#away = true;
    }
    const alone = this.#tabs.alone;
    this.#tabs.leave();
    // The claim goes along: a reload that has claimed again meanwhile keeps what it has.
    const grace = grace_ms ? { grace_ms } : {};
    const left = { fence, claim, ...grace, ...this.#instance };
    this.#sayLeft = alone ? () => this.turno.farewell(`${this.#path}/release`, left) : nothing;
    this.#sayLeft();
  }

  /** The page was left and is shown again as it was: what it gave back, it must not believe to have. */
  #return() {
    behind.take(this.#key);
    this.#away = false;
    if (this.#grant) {
      this.#join();
      this.#tabs.lead(!hidden());
    }
    this.#doubt();
  }

  // Hearing of changes.

  #event(event) {
    if (this.#closed.signal.aborted) return;
    // The task is over: nobody waits for it any more.
    if (event.name === 'lease.line_closed') this.#outOfLine({ over: event.detail ?? true });
    if (event.name === 'lease.offered' && this.turn) this.#keepTurn();
    else this.#look().catch(nothing);
  }

  /** Without a stream somebody has to look. */
  #poll() {
    const pause = hidden() ? POLL_HIDDEN_MS : POLL_MS;
    this.#later('poll', pause * (0.9 + Math.random() / 5), () => {
      const quiet = !this.#heard || since(this.#heard) > POLL_MS * 0.8;
      if (quiet && (hidden() || !this.turno.live)) this.#look().catch(nothing);
      this.#poll();
    });
  }

  // The waiting line.

  /** What the server says about this person's place. Whichever page took it: a place is a person's, not a page's. */
  #place(lease) {
    const before = this.turn;
    const offered = lease.state === 'offered' && lease.position === 1;
    if (lease.mine) return this.#outOfLine();
    if (!lease.position && this.#adopted) return this.#outOfLine();
    if (before?.offered && !offered) return this.#miss();
    if (!lease.position) return;
    this.turn = { position: lease.position, offered };
    if (offered && !before?.offered) this.#later('offer', lease.offer_expires_in_ms, () => this.#miss());
    if (before?.position !== lease.position) this.#emit('turn', { ...this.turn, missed: false, over: null });
    // Found, and not taken here: it may be about to die, so it is kept at once.
    if (!before) this.#adopted = true;
    // The offer may lie a moment ahead: asking makes it now.
    if (!before || lease.state === 'free') this.#keepTurn();
  }

  #stand(answer) {
    if (this.#grant || this.#closed.signal.aborted) return;
    this.turn ??= { position: null, offered: false };
    this.#ticket = { kept: clock(), lasts: answer.ticket_expires_in_ms };
    this.#later('turn', answer.ticket_expires_in_ms / 3, () => this.#keepTurn());
    this.#see(answer);
  }

  /** It was our turn, and nobody took it: to stand in line without anybody there would only make others wait. */
  #miss() {
    this.#leaveLine(true).catch(nothing);
  }

  #outOfLine({ missed = false, over = null } = {}) {
    for (const name of ['turn', 'offer']) this.#clear(name);
    if (!this.turn) return;
    this.turn = null;
    this.#adopted = false;
    this.#emit('turn', { position: null, offered: false, missed, over });
  }

  async #leaveLine(missed) {
    this.#outOfLine({ missed });
    const answer = await this.#call('DELETE', 'turn', { ...this.#instance });
    if (!this.#grant) this.#see(answer);
    return answer;
  }

  async #keepTurn() {
    if (!this.turn || this.#keeping) return;
    this.#keeping = true;
    this.#later('turn', RETRY_MS * 4, () => this.#keepTurn());
    try {
      // The place is kept, and no new one taken: it may have been given up meanwhile, here or on another page.
      const answer = await this.#call('POST', 'turn', { ...this.#instance, keep: true });
      if (!this.turn || this.#grant) return;
      if (answer.ticket_expires_in_ms) return this.#stand(answer);
      // A page that took its place itself and slept for too long goes to the back of the line.
      if (!this.turn.offered && !this.#adopted && this.#ticketDied()) return await this.#rejoin();
      if (!this.turn.offered) this.#outOfLine();
      this.#see(answer);
    } catch (error) {
      if (error.code === 'already_holder') this.#outOfLine();
      // What it was waited for is over, and this page has not heard of it.
      if (error.code === 'wrong_status') this.#outOfLine({ over: error.problem?.status_now ?? true });
    } finally {
      this.#keeping = false;
    }
  }

  #ticketDied() {
    return this.#ticket !== null && since(this.#ticket.kept) > this.#ticket.lasts;
  }

  async #rejoin() {
    const answer = await this.#call('POST', 'turn', { ...this.#instance });
    if (this.turn) this.#stand(answer);
    else await this.#call('DELETE', 'turn', { ...this.#instance });
  }

  // Timers that notice when they fire late.

  #later(name, ms, action) {
    this.#clear(name);
    if (this.#closed.signal.aborted) return;
    const pause = Math.max(0, Math.min(ms, 2 ** 31 - 1));
    const due = Date.now() + pause;
    const fired = () => {
      this.#timers.delete(name);
      const late = Date.now() - due > SLEPT_MS;
      this.#ticked = Date.now();
      if (late && this.#grant) this.#doubt();
      if (!late || !HOLDING.includes(name)) action();
    };
    this.#timers.set(name, setTimeout(fired, pause));
  }

  #clear(name) {
    clearTimeout(this.#timers.get(name));
    this.#timers.delete(name);
  }
}

// stream.js: Live events of the server, as Server-Sent Events.

/** The server sends a comment every 15 s, so a stream that is silent for longer is dead. */
const SILENCE_MS = 25_000;

/**
 * Reads Server-Sent Events until the stream ends. It uses fetch, because EventSource cannot send a token in a header.
 * `ask(signal)` sends the request. `opened(response)` sees the answer and may throw. `take({id, event, data})` gets each
 * event. A stream that is silent for too long is ended.
 */
async function follow(ask, signal, opened, take) {
  const ended = new AbortController();
  const stop = () => ended.abort();
  signal.addEventListener('abort', stop, { once: true });
  let timer = setTimeout(stop, SILENCE_MS);
  try {
    const response = await ask(ended.signal);
    opened(response);
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    for (let text = ''; ;) {
      const { value, done } = await reader.read();
      if (done) return;
      clearTimeout(timer);
      timer = setTimeout(stop, SILENCE_MS);
      const blocks = (text + value).split('\n\n');
      text = blocks.pop();
      for (const block of blocks) take(fieldsOf(block));
    }
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', stop);
    ended.abort();
  }
}

/** Returns the fields of one event. A comment has none. */
function fieldsOf(block) {
  const fields = {};
  for (const line of block.split('\n')) {
    const [, field, value] = /^(\w+): ?(.*)$/.exec(line) ?? [];
    if (field) fields[field] = value;
  }
  return { ...fields, data: parsed(fields.data ?? '{}') ?? {} };
}

/** The live stream of all leases of a page. It is open only while the page is visible, because browsers allow six per server. */
class Stream {
  #turno;
  #watchers = new Set();
  #running = null;
  #position = null;
  live = false;

  constructor(turno) {
    this.#turno = turno;
  }

  watch(resource, heard) {
    const watcher = { resource, heard };
    if (this.#watchers.size === 0) document.addEventListener('visibilitychange', this.#turn);
    this.#watchers.add(watcher);
    this.#turn();
    return () => {
      this.#watchers.delete(watcher);
      if (this.#watchers.size === 0) document.removeEventListener('visibilitychange', this.#turn);
      this.#turn();
    };
  }

  #turn = () => {
    const wanted = this.#watchers.size > 0 && !hidden();
    if (wanted && !this.#running) {
      this.#running = new AbortController();
      this.#run(this.#running.signal);
    } else if (!wanted) {
      this.#running?.abort();
      this.#running = null;
    }
  };

  async #run(signal) {
    for (let pause = RETRY_MS; !signal.aborted; pause = Math.min(pause * 2, RETRY_MAX_MS)) {
      try {
        await this.#listen(signal, () => (pause = RETRY_MS));
      } catch {
        // `live` becomes false, and the leases poll meanwhile.
      }
      if (this.#running?.signal === signal || !this.#running) this.live = false;
      await new Promise((resolve) => {
        const timer = setTimeout(resolve, pause * (0.75 + Math.random() / 2));
        signal.addEventListener('abort', () => resolve(clearTimeout(timer)), { once: true });
      });
    }
  }

  async #listen(signal, opened) {
    const headers = { accept: 'text/event-stream' };
    if (this.#position) headers['last-event-id'] = this.#position;
    const ask = (signal) => this.#turno.request('/v1/events?topics=leases', { headers, signal });
    const open = (response) => {
      if (!response.ok || !response.body) throw new TurnoError(response.status, null);
      this.live = true;
      opened();
      this.#tell({ name: 'open' });
    };
    await follow(ask, signal, open, ({ id, event, data }) => {
      if (id) this.#position = id;
      if (event) this.#tell({ name: event, ...data });
    });
  }

  /** `open` and `reset` name no resource and concern every watcher. */
  #tell(event) {
    for (const { resource, heard } of [...this.#watchers]) {
      if (event.resource === resource || event.name === 'open' || event.name === 'reset') heard(event);
    }
  }
}

// client.js: The HTTP client: calls with a token or the console's cookie.

/** A token with a known expiry is replaced this long before it. */
const TOKEN_SPARE_MS = 60_000;

/** Returns the origin that served this module: the server, unless the page names another. */
function home() {
  const { origin } = new URL(import.meta.url);
  return origin === 'null' ? '' : origin;
}

/** Returns a token source that asks the application's backend, which answers as `POST /v1/sessions` does. */
function tokenFrom(url, init = {}) {
  return async () => {
    const response = await fetch(url, { credentials: 'same-origin', cache: 'no-store', ...init });
    if (!response.ok) throw new TurnoError(response.status, null);
    return response.json();
  };
}

/** A client of one server. `token` is a string or a function that returns one. Without it, requests use the console's cookie. */
class Turno {
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

function share({ server = home(), token = null, language = null }) {
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

// element.js: The custom element `<turno-lease>`.

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
class TurnoLeaseElement extends (globalThis.HTMLElement ?? class {}) {
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

export { Lease, Turno, TurnoError, TurnoLeaseElement, follow, tokenFrom };
