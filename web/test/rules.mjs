// A page without a browser, for tests of the rules of a lease.

import assert from 'node:assert/strict';
import { reduce } from '../turno/rules.js';
import { firstState, stateAt } from '../turno/step.js';

export const POLICY = {
  ttl_ms: 60_000,
  max_ttl_ms: 180_000,
  heartbeat_interval_ms: 10_000,
  idle_guard_ms: 120_000,
  rolling_timeout_ms: 900_000,
  offer_ms: 30_000,
};
export const ANA = { id: 'ana', name: 'Ana', instance: null };
export const LEO = { id: 'leo', name: 'Leo', instance: null };

/** A document of the server: free, unless the fields say otherwise. */
export function free(fields = {}) {
  const nobody = { state: 'free', holder: null, fence: null, claim: null, mine: false, expires_in_ms: null };
  return { ...nobody, rolling_in_ms: null, position: null, requests: [], policy: POLICY, ...fields };
}

export function locked(fields = {}) {
  return free({ state: 'locked', holder: LEO, fence: 4, claim: 1, expires_in_ms: 60_000, ...fields });
}

export function mine(fields = {}) {
  return locked({ holder: ANA, fence: 7, claim: 3, mine: true, rolling_in_ms: 900_000, ...fields });
}

export function refusal(status, problem = {}) {
  return Object.assign(new Error(problem.code ?? String(status)), { status, code: problem.code ?? null, problem });
}

export const OFFLINE = new TypeError('Failed to fetch');

/** A page without a browser: it holds the state and the moment, and collects the effects of the last input. */
export class Page {
  constructor({ left = null, reloaded = false, ...options } = {}) {
    this.now = { steady: 1_000, wall: 1_700_000_000_000, hidden: false, live: true, leads: true, alone: true, near: false };
    this.now.active = { steady: this.now.steady, wall: this.now.wall };
    this.state = firstState(options, this.now);
    this.input('opened', { left, reloaded });
  }

  /** Applies an input to a frozen state, so that a rule that changes a state in place fails. */
  input(kind, fields = {}) {
    const { state, effects } = reduce(frozen(this.state), { kind, ...fields }, frozen(this.now));
    this.state = state;
    this.effects = effects;
    return this;
  }

  /** Changes the moment, such as `{ leads: false }`. */
  at(fields) {
    this.now = { ...this.now, ...fields };
    return this;
  }

  passes(ms) {
    return this.at({ steady: this.now.steady + ms, wall: this.now.wall + ms });
  }

  /** The person does something, and the page announces it. */
  moves() {
    return this.at({ active: { steady: this.now.steady, wall: this.now.wall } }).input('active');
  }

  fires(timer, late_ms = 0) {
    return this.input('timer', { timer, late_ms });
  }

  show(visible) {
    return this.at({ hidden: !visible }).input('visibility');
  }

  done(kind) {
    return this.effects.filter((effect) => effect.do === kind);
  }

  /** The names of the dispatched events, without `state`. */
  get events() {
    const names = this.done('emit').map(({ name }) => name);
    return names.filter((name) => name !== 'state');
  }

  event(name) {
    return this.done('emit').find((effect) => effect.name === name)?.detail;
  }

  get sent() {
    return this.done('send').map(({ request }) => request);
  }

  get sentNames() {
    return this.sent.map(({ name }) => name);
  }

  timer(name) {
    return this.done('start').findLast(({ timer }) => timer === name)?.ms;
  }

  get shown() {
    return stateAt(this.state, this.now);
  }

  answer(request, answer) {
    return this.input('answered', { request, answer });
  }

  fail(request, error) {
    return this.input('failed', { request, error });
  }

  /** Sends the one request that the input causes. */
  request(kind, fields = {}) {
    this.input(kind, fields);
    assert.equal(this.sent.length, 1, `${kind} sends ${this.sentNames}`);
    return this.sent[0];
  }

  claim(fields = {}) {
    return this.request('claim', { verb: 'claim', body: {}, call: 1, ...fields });
  }
}

function frozen(value) {
  if (value && typeof value === 'object' && !(value instanceof Error) && !Object.isFrozen(value)) {
    Object.freeze(value);
    Object.values(value).forEach(frozen);
  }
  return value;
}

/** A page that has just claimed the lease. */
export function holding(options = {}, lease = mine()) {
  const page = new Page(options);
  return page.answer(page.claim(), lease);
}

/** A page that holds the lease and has sent a heartbeat. */
export function beating(options) {
  const page = holding(options).passes(10_000);
  page.fires('heartbeat');
  assert.deepEqual(page.sentNames, ['heartbeat']);
  return [page, page.sent[0]];
}

/** A page whose grant was taken by an administrator. */
export function losing() {
  const [page, beat] = beating();
  const problem = { code: 'lease_lost', reason: 'forced', cause: 'override', by: 'eva', lease: locked() };
  return page.fail(beat, refusal(409, problem));
}

/** A page that took the second place in line. */
export function waiting() {
  const page = new Page();
  const place = { position: 2, ticket_expires_in_ms: 30_000 };
  return page.answer(page.request('takeTurn', { call: 1 }), locked(place));
}
