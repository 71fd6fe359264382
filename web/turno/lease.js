// One lease of a page: what it holds, when it renews it, and what it tells the page.

import { activity } from './activity.js';
import { TurnoError } from './answer.js';
import { share } from './client.js';
import { RETURN_MS, behind, reloaded } from './reload.js';
import { Tabs } from './tabs.js';
import { REQUEST_MS, RETRY_MAX_MS, RETRY_MS, SLEPT_MS, clock, hidden, nothing, since } from './time.js';

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
export class Lease extends EventTarget {
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
