// One lease of a page: its public API. It feeds the rules with inputs and runs their effects.

// @ts-check
/** @import { LeaseDocument, LeaseOptions, Lost, Turno, TurnDocument, TurnPlace } from '../turno.js' */
/** @import { Effect, EffectOf, Input, LeaseRequest, Moment, State, TabMessage } from './types.js' */

import { activity } from './activity.js';
import { share } from './client.js';
import { behind, reloaded } from './reload.js';
import { reduce } from './rules.js';
import { expiresIn, firstState, grantOf, offerIn, stateAt } from './step.js';
import { Tabs } from './tabs.js';
import { REQUEST_MS, clock, hidden, nothing } from './time.js';
import { warningOf } from './warn.js';

/** Browsers run a timer with a longer time at once. */
const TIMER_MAX_MS = 2 ** 31 - 1;

/**
 * One lease of this page.
 *
 * `state` is one of
 *   unknown    the server has not answered yet, or the last answer is no longer certain: show it, change nothing
 *   free       the lease has no holder
 *   held       this page holds the lease
 *   elsewhere  this person holds the lease, but not in this page: `claim()` joins
 *   other      another holder has the lease, or it is offered to another person
 *   offered    the lease is offered to this person for a moment: `claim()` takes it
 *   lost       this page held the lease and no longer does; `lost` says why
 *
 * Events: `state` (anything has changed), `held`, `idle-warning`, `active`, `requested`, `lost`, `moved`, `unknown`,
 * `offered`, `turn`, `error`.
 *
 * Pages of one person share one grant. With `single`, only the page that claimed last holds the lease: the others become
 * `elsewhere` and hear `moved`, so that two pages never write over each other.
 */
export class Lease extends EventTarget {
  /** @type {State} */
  #state;
  /** Effects that have not run yet. @type {Effect[]} */
  #effects = [];
  #running = false;
  /** The unanswered calls of the page. @type {Map<number, { resolve: (answer: any) => void, reject: (error: Error) => void }>} */
  #calls = new Map();
  #lastCall = 0;
  /** @type {Map<string, ReturnType<typeof setTimeout>>} */
  #timers = new Map();
  /**
   * The tabs of each grant, by the number of the grant. A released grant keeps its tabs until the server answers.
   *
   * @type {Map<number | undefined, Tabs>}
   */
  #tabs = new Map();
  #closed = new AbortController();
  #unwatch = nothing;
  #path;
  /** The key under which a reload finds the grant. */
  #key;
  #active = () => this.#step({ kind: 'active' });

  /**
   * @param {string} resource
   * @param {LeaseOptions} options
   */
  constructor(resource, { turno = null, instance = null, single = false, ...options } = {}) {
    super();
    const source = turno ? { turno, leave: nothing } : share(options);
    /** @type {Turno} */
    this.turno = source.turno;
    this.#closed.signal.addEventListener('abort', source.leave);
    this.resource = resource;
    // Leases of tasks have their own path in the API: a claim there also starts the task.
    const task = /^task:(\d+)$/.exec(resource);
    this.#path = task ? `/v1/tasks/${task[1]}` : `/v1/leases/${encodeURIComponent(resource)}`;
    this.#key = `turno:left:${this.turno.server}:${resource}:${instance ?? ''}`;
    this.#state = firstState({ instance, single }, clock());
    activity.start();
    activity.listeners.add(this.#active);
    this.#listen();
    this.#unwatch = this.turno.watch(resource, (event) => this.#step({ kind: 'event', event }));
    this.#step({ kind: 'opened', left: behind.take(this.#key), reloaded: reloaded() });
  }

  #listen() {
    const { signal } = this.#closed;
    const seen = () => {
      // Only a visible tab leads. Without the Locks API it leads at once, which the rules then see.
      this.#tabsNow?.lead(!hidden());
      this.#step({ kind: 'visibility' });
    };
    document.addEventListener('visibilitychange', seen, { signal });
    document.addEventListener('resume', () => this.#step({ kind: 'thawed' }), { signal });
    addEventListener('pageshow', ({ persisted }) => persisted && this.#step({ kind: 'restored' }), { signal });
    addEventListener('online', () => this.#step({ kind: 'online' }), { signal });
    addEventListener('pagehide', () => this.#step({ kind: 'left' }), { signal });
  }

  /** The last document of the server. @returns {LeaseDocument | null} */
  get lease() {
    return this.#state.lease;
  }

  /** How the last grant ended, until the person acts. @returns {Lost | null} */
  get lost() {
    return this.#state.lost;
  }

  /** The place in line; null outside the line. @returns {TurnPlace | null} */
  get turn() {
    return this.#state.turn;
  }

  /** The state at this moment. It is true even before a timer could notice that the time is up. */
  get state() {
    return stateAt(this.#state, clock());
  }

  /** The fence of the grant; it goes along with every write. Null unless the lease is held. */
  get fence() {
    return this.state === 'held' ? grantOf(this.#state).fence : null;
  }

  /** The time until the lease ends unless it is renewed, as far as this page knows. */
  get expires_in_ms() {
    return expiresIn(this.#state, clock());
  }

  /** The warning as it stands now: why the lease will end if nothing happens, and in how long. Null without a warning. */
  get warning() {
    return warningOf(this.#state, this.#moment());
  }

  /** The time until an offer to this person ends; 0 without an offer. */
  get offer_in_ms() {
    return offerIn(this.#state, clock());
  }

  /**
   * Claims the lease, or joins the grant that this person already holds. Throws a TurnoError (`lease_held`, `lease_offered`).
   *
   * @param {{ wait_ms?: number, ttl_ms?: number | null }} options
   * @returns {Promise<LeaseDocument>}
   */
  async claim({ wait_ms = 0, ttl_ms = null } = {}) {
    /** @type {Record<string, unknown>} */
    const body = { ...this.#state.instance };
    if (ttl_ms) body.ttl_ms = ttl_ms;
    if (wait_ms) body.wait_ms = wait_ms;
    return this.#ask({ kind: 'claim', verb: 'claim', body, timeout_ms: wait_ms + REQUEST_MS });
  }

  /**
   * Takes the lease from its holder. Needs `locks.override` and a reason. If the fence is stale, throws `lease_held`.
   *
   * @param {string} reason
   * @param {{ fence?: number }} meant
   * @returns {Promise<LeaseDocument>}
   */
  forceClaim(reason, { fence } = {}) {
    return this.#ask({ kind: 'claim', verb: 'force-claim', body: { reason, fence } });
  }

  /**
   * Releases the lease for all tabs of this person. If the server does not answer, throws and sends it again until it does.
   *
   * @returns {Promise<LeaseDocument | null>}
   */
  release() {
    return this.#ask({ kind: 'release' });
  }

  /**
   * Ends the grant of another holder. Needs `locks.override` and a reason. If the fence is stale, nothing changes.
   *
   * @param {string} reason
   * @param {{ fence?: number }} meant
   * @returns {Promise<LeaseDocument>}
   */
  async forceRelease(reason, { fence } = {}) {
    return this.#ask({ kind: 'forceRelease', reason, fence });
  }

  /**
   * Asks the holder to release the lease.
   *
   * @param {string | null} message
   * @returns {Promise<LeaseDocument & { told: boolean }>}
   */
  requestRelease(message = null) {
    return this.#ask({ kind: 'requestRelease', message });
  }

  /**
   * Tells everybody who asked for the lease that they have to wait.
   *
   * @param {string | null} message
   * @returns {Promise<LeaseDocument & { told: boolean }>}
   */
  declineRelease(message = null) {
    return this.#ask({ kind: 'declineRelease', message });
  }

  /**
   * Takes a place in line and keeps it while the page is open; `offered` says when it is this person's turn.
   *
   * @returns {Promise<TurnDocument>}
   */
  takeTurn() {
    return this.#ask({ kind: 'takeTurn' });
  }

  /**
   * Gives the place in line up.
   *
   * @returns {Promise<TurnDocument>}
   */
  leaveTurn() {
    return this.#ask({ kind: 'leaveTurn' });
  }

  /** Reports real work: the next heartbeat restarts the rolling timeout. */
  worked() {
    this.#step({ kind: 'worked' });
  }

  /** Reports that the person is still there. */
  keep() {
    this.#step({ kind: 'keep' });
  }

  /**
   * Reads the lease and changes nothing.
   *
   * @returns {Promise<LeaseDocument>}
   */
  refresh() {
    return this.#ask({ kind: 'refresh' });
  }

  /** Ends everything that this object does. The lease is released, unless another tab still holds it. */
  close() {
    this.#step({ kind: 'closed' });
  }

  // Inputs.

  /**
   * Feeds a call of the page to the rules; they decide when it is answered.
   *
   * @template T
   * @param {any} input
   * @returns {Promise<T>}
   */
  #ask(input) {
    return new Promise((resolve, reject) => {
      this.#lastCall += 1;
      this.#calls.set(this.#lastCall, { resolve, reject });
      this.#step({ ...input, call: this.#lastCall });
    });
  }

  /**
   * Applies one input. If a listener causes an input, its effects run after those that are still waiting.
   *
   * @param {Input} input
   */
  #step(input) {
    const { state, effects } = reduce(this.#state, input, this.#moment());
    this.#state = state;
    this.#effects.push(...effects);
    if (this.#running) return;
    this.#running = true;
    for (let effect = this.#effects.shift(); effect; effect = this.#effects.shift()) {
      try {
        this.#run[effect.do](/** @type {any} */ (effect));
      } catch (error) {
        // A failed effect must not stop the next ones, otherwise a call could stay unanswered for ever.
        reportError(error);
      }
    }
    this.#running = false;
  }

  /** The moment of an input, as the rules see it. @returns {Moment} */
  #moment() {
    const { leads = false, alone = true, near = false } = this.#tabsNow ?? {};
    const now = clock();
    return { ...now, hidden: hidden(), active: activity.last ?? now, live: this.turno.live, leads, alone, near };
  }

  get #tabsNow() {
    return this.#tabs.get(this.#state.grant?.id);
  }

  // Effects.

  /** Runs each kind of effect. @type {{ [K in Effect['do']]: (effect: EffectOf<K>) => unknown }} */
  #run = {
    emit: ({ name, detail }) => this.dispatchEvent(new CustomEvent(name, { detail })),
    settle: ({ call, answer }) => this.#take(call)?.resolve(answer),
    reject: ({ call, error }) => this.#take(call)?.reject(error),
    send: ({ request }) => this.#send(request),
    farewell: ({ body }) => this.turno.farewell(`${this.#path}/release`, body),
    start: (effect) => this.#start(effect),
    clear: ({ timer }) => clearTimeout(this.#timers.get(timer)),
    touch: ({ when }) => activity.touch(when),
    warned: ({ on }) => (on ? activity.warned.add(this) : activity.warned.delete(this)),
    remember: ({ grant }) => behind.note(this.#key, grant),
    forget: () => behind.take(this.#key),
    announce: () => Tabs.announce(this.#around),
    join: ({ grant, fence }) => this.#join(grant, fence),
    lead: ({ grant, wanted }) => this.#tabs.get(grant)?.lead(wanted),
    insist: ({ grant }) => this.#tabs.get(grant)?.insist(),
    count: ({ grant }) => this.#tabs.get(grant)?.count(),
    tell: ({ grant, message }) => this.#tabs.get(grant)?.say(message),
    quit: ({ grant }) => this.#quit(grant),
    end: () => this.#end(),
  };

  /** @param {number} call */
  #take(call) {
    const waiting = this.#calls.get(call);
    this.#calls.delete(call);
    return waiting;
  }

  /** @param {LeaseRequest} request */
  #send(request) {
    const { method, verb, body, timeout_ms } = request;
    const path = verb ? `${this.#path}/${verb}` : `/v1/leases/${encodeURIComponent(this.resource)}`;
    this.turno.call(method, path, body, { timeout_ms }).then(
      (answer) => this.#step({ kind: 'answered', request, answer }),
      (error) => this.#step({ kind: 'failed', request, error }),
    );
  }

  /** @param {EffectOf<'start'>} effect */
  #start({ timer, ms, spread: [low, high] }) {
    const pause = Math.max(0, Math.min(ms * (low + Math.random() * (high - low)), TIMER_MAX_MS));
    const due = Date.now() + pause;
    const fired = () => this.#step({ kind: 'timer', timer, late_ms: Date.now() - due });
    this.#timers.set(timer, setTimeout(fired, pause));
  }

  /** The channel of all tabs of this browser that have the resource open. */
  get #around() {
    return `turno:${this.turno.server}:${this.resource}`;
  }

  /**
   * @param {number} grant
   * @param {number} fence
   */
  #join(grant, fence) {
    const heard = (/** @type {TabMessage} */ message) => this.#step({ kind: 'message', grant, message });
    this.#tabs.set(grant, new Tabs(this.#around, fence, heard, () => this.#step({ kind: 'leads', grant })));
  }

  /**
   * Leaves the tabs of a grant. A page that is only hidden by the browser keeps them, because it may be shown again.
   *
   * @param {number} grant
   */
  #quit(grant) {
    this.#tabs.get(grant)?.leave();
    if (this.#state.grant?.id !== grant) this.#tabs.delete(grant);
  }

  #end() {
    this.#closed.abort();
    this.#unwatch();
    activity.listeners.delete(this.#active);
  }
}
