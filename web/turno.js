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

/** Parses JSON; returns null for anything else, such as the error page of a proxy. @param {string} text */
function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** A refusal or an error of the server. `problem` is its document (RFC 9457), `code` the stable code. */
class TurnoError extends Error {
  /**
   * @param {number} status
   * @param {Problem | null} problem
   */
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
/**
 * Reads both clocks: the steady one can stop while the machine sleeps, the wall clock can be set.
 *
 * @returns {Clocks}
 */
const clock = () => ({ steady: performance.now(), wall: Date.now() });
/**
 * Returns the milliseconds from `then` to `now`. If the clocks disagree, the longer time counts.
 *
 * @param {Clocks} then
 * @param {Clocks} now
 */
const between = (then, now) => Math.max(now.steady - then.steady, now.wall - then.wall, 0);
/** Returns the milliseconds since `then`. @param {Clocks} then */
const since = (then) => between(then, clock());

// activity.js: The activity of the person on this page, for the idle guard.

/** Listeners hear of activity at most this often: a moving mouse sends many events. */
const ACTIVITY_MS = 250;
/** `click` is for screen readers, which have no pointer. `scroll` is left out, because scripts scroll too. */
const ACTIVITY = ['pointerdown', 'pointermove', 'click', 'keydown', 'wheel', 'touchmove', 'input'];

/** The activity of the person. All leases of the page share it. */
const activity = {
  /** When the person was last active; null before `start`. @type {Clocks | null} */
  last: null,
  /** Steady time at which the listeners last heard of it. */
  told: -Infinity,
  /** The leases that show a warning. @type {Set<Lease>} */
  warned: new Set(),
  /** @type {Set<() => void>} */
  listeners: new Set(),
  start() {
    if (this.last) return;
    this.last = clock();
    let place = '';
    const note = (/** @type {Event} */ event) => {
      // Events of scripts do not count. Nor does a move without a change of place: browsers send it when the page scrolls.
      if (!event.isTrusted) return;
      if (event instanceof PointerEvent && event.type === 'pointermove') {
        const [before, now] = [place, `${event.screenX},${event.screenY}`];
        place = now;
        // A warning is answered with a key or a click. If a move removed it, the click would hit what lies below it.
        if (before === now || before === '' || this.warned.size > 0) return;
      }
      this.touch(clock());
    };
    for (const name of ACTIVITY) addEventListener(name, note, { capture: true, passive: true });
  },
  /** Notes activity and announces it. @param {Clocks} when */
  touch(when) {
    if (this.last && when.steady <= this.last.steady) return;
    this.last = when;
    // Counts from the last announcement, otherwise typing without a pause would never be announced.
    if (when.steady - this.told < ACTIVITY_MS) return;
    this.told = when.steady;
    for (const heard of [...this.listeners]) heard();
  },
};

// reload.js: What this tab held when its page was left, so that a reload continues with it.

/** A reload within this time continues with the lease, if it is still free. */
const RETURN_MS = 60_000;

/** The stored grant. It is written when the page is left, so that a duplicated tab does not find it. */
const behind = {
  /**
   * @param {string} key
   * @param {Omit<Left, 'at'>} grant
   */
  note(key, grant) {
    try {
      sessionStorage.setItem(key, JSON.stringify({ ...grant, at: Date.now() }));
    } catch {
      // Without storage, a reload starts from what the server says.
    }
  },
  /**
   * Returns the stored grant once; null if there is none or it is too old.
   *
   * @param {string} key
   * @returns {Left | null}
   */
  take(key) {
    try {
      const found = JSON.parse(sessionStorage.getItem(key) ?? 'null');
      sessionStorage.removeItem(key);
      return found && Date.now() - found.at < RETURN_MS ? found : null;
    } catch {
      return null;
    }
  },
};

/** Whether this page was opened by a reload. */
function reloaded() {
  const [navigation] = /** @type {PerformanceNavigationTiming[]} */ (performance.getEntriesByType('navigation'));
  return navigation?.type === 'reload';
}

// step.js: One step of the rules: the state of a lease object, its effects, and what a page reads from the state.
//
// A step starts from a shallow copy of the state. Rules replace values in that copy and never change a nested object, so
// that the state before the step stays as it was.

/** The timers that run only while the lease is held. @type {Timer[]} */
const HOLDING = ['heartbeat', 'end', 'warn'];

/** The time of a request that was never sent. */
const NEVER = { steady: -Infinity, wall: -Infinity };

/**
 * Returns the state of a new lease object.
 *
 * @param {{ instance?: string | null, single?: boolean }} options
 * @param {Clocks} now
 */
function firstState({ instance = null, single = false }, now) {
  return {
    /** Goes into the body of every request that concerns the holder. @type {{ instance?: string }} */
    instance: instance ? { instance } : {},
    /** Of several pages of one person, only the page that claimed last holds the lease. */
    single,
    /** Numbers grants and releases, so that a late answer is recognised. */
    serial: 0,
    /** The state as of the last step; `stateAt` also looks at the clock. @type {LeaseState} */
    name: 'unknown',
    /** The last document of the server, and when it arrived. @type {Answer | null} */
    lease: null,
    /** @type {Clocks | null} */
    heard: null,
    /** How the last grant ended, until the person acts. @type {Lost | null} */
    lost: null,
    /** The grant of this page: `{id, fence, claim, ttl_ms}`. @type {Grant | null} */
    grant: null,
    /** When the request was sent that last confirmed the grant, and how long the lease lasts from there. @type {Clocks} */
    sent: NEVER,
    lasts: 0,
    /** When this page or another tab last had an answer to a heartbeat or a claim. */
    renewed: clocksOf(now),
    /** Steady time of the last sleep or freeze. Answers to requests that were sent before it prove nothing. */
    doubted: -Infinity,
    /** Wall time at which a timer last fired. */
    ticked: now.wall,
    /** The pause before the next try after a failed heartbeat. */
    retry: RETRY_MS,
    /** A heartbeat is under way; `again` asks for another one after it. */
    beating: false,
    again: false,
    /** Work was done since the last heartbeat. */
    worked: false,
    /** The server knows that the person is idle, so further heartbeats are useless. */
    idleReported: false,
    /** The warning that is shown: `{reason}`. @type {{ reason: string } | null} */
    warned: null,
    /** The release requests that the page has already been told of. @type {string[]} */
    requests: [],
    /** The error of the last heartbeat if it was 401 or 403: the lease is no longer renewed. @type {Failure | null} */
    refused: null,
    /** The number of unanswered claims: a newer claim in an answer may be one of them. */
    taking: 0,
    /** When the last unanswered claim was sent. Browsers abort it before `pagehide`. @type {Clocks | null} */
    asked: null,
    /** The release that the server has not confirmed: `{id, fence, claim}`. @type {Owed | null} */
    owed: null,
    /** Releases under way: `{owed, calls}`. @type {{ owed: number, calls: Call[] }[]} */
    releasing: [],
    /** The page was left, and the browser may show it again. */
    away: false,
    /** The release to repeat if a heartbeat overtook it while the page was left. @type {object | null} */
    farewell: null,
    /** What this tab held before a reload. @type {Left | null} */
    left: null,
    reloaded: false,
    /** The place in line: `{position, offered}`. @type {TurnPlace | null} */
    turn: null,
    /** Another page took the place, so that page may give it up. */
    adopted: false,
    /** When the place was last confirmed, and for how long: `{kept, lasts}`. @type {{ kept: Clocks, lasts: number } | null} */
    ticket: null,
    keeping: false,
    /** The names of the running timers. @type {Timer[]} */
    timers: [],
    closed: false,
  };
}

/**
 * Returns the two clocks of a moment.
 *
 * @param {Clocks} now
 * @returns {Clocks}
 */
function clocksOf({ steady, wall }) {
  return { steady, wall };
}

/**
 * Returns the grant. Only rules of a held lease ask for it.
 *
 * @param {State} state
 */
function grantOf({ grant }) {
  if (!grant) throw new Error('this page does not hold the lease');
  return grant;
}

/**
 * Returns the last document of the server. Only rules that follow an answer ask for it.
 *
 * @param {State} state
 */
function documentOf({ lease }) {
  if (!lease) throw new Error('the server has not answered yet');
  return lease;
}

// What a page reads.

/**
 * Returns the milliseconds until the lease ends unless it is renewed, as far as this page knows.
 *
 * @param {State} state
 * @param {Clocks} now
 */
function expiresIn(state, now) {
  return state.grant ? Math.max(0, Math.round(state.lasts - between(state.sent, now))) : 0;
}

/**
 * Returns the milliseconds since the last document of the server arrived.
 *
 * @param {State} state
 * @param {Clocks} now
 */
function sinceHeard({ heard }, now) {
  return heard ? between(heard, now) : Infinity;
}

/**
 * Whether the known expiry of another holder has passed without news.
 *
 * @param {State} state
 * @param {Clocks} now
 */
function isOutdated(state, now) {
  return state.lease?.state === 'locked' && sinceHeard(state, now) > state.lease.expires_in_ms;
}

/**
 * Returns the state that is true at this moment, even if no timer has fired yet.
 *
 * @param {State} state
 * @param {Clocks} now
 * @returns {LeaseState}
 */
function stateAt(state, now) {
  if (state.name === 'held' && expiresIn(state, now) <= 0) return 'unknown';
  return ['other', 'elsewhere'].includes(state.name) && isOutdated(state, now) ? 'unknown' : state.name;
}

/**
 * Returns the milliseconds until an offer to this person ends; 0 without an offer.
 *
 * @param {State} state
 * @param {Clocks} now
 */
function offerIn(state, now) {
  return state.turn?.offered ? Math.max(0, Math.round(documentOf(state).offer_expires_in_ms - sinceHeard(state, now))) : 0;
}

// Effects.

/**
 * @param {Step} step
 * @param {keyof LeaseEventMap} name
 * @param {unknown} detail
 */
function emit(step, name, detail) {
  step.effects.push({ do: 'emit', name, detail });
}

/**
 * Returns the detail of most events.
 *
 * @param {Step} step
 */
function detailOf({ state, now }) {
  return { state: stateAt(state, now), lease: state.lease, lost: state.lost };
}

/**
 * Sends a request. Its answer comes back as an input together with the request.
 *
 * @param {Step} step
 * @param {RequestName} name
 * @param {Omit<LeaseRequest, 'name' | 'sent'>} request
 */
function send(step, name, request) {
  step.effects.push({ do: 'send', request: { name, sent: clocksOf(step.now), ...request } });
}

/**
 * Answers a call of the page. Requests that no call waits for have no `call`.
 *
 * @param {Step} step
 * @param {Call | undefined} call
 * @param {unknown} answer
 */
function settle(step, call, answer) {
  if (call) step.effects.push({ do: 'settle', call, answer });
}

/**
 * @param {Step} step
 * @param {Call | undefined} call
 * @param {Error} error
 */
function reject(step, call, error) {
  if (call) step.effects.push({ do: 'reject', call, error });
}

/**
 * Starts a timer anew. `spread` multiplies its time by a random number between the two bounds.
 *
 * @param {Step} step
 * @param {Timer} timer
 * @param {number} ms
 * @param {[number, number]} spread
 */
function start(step, timer, ms, spread = [1, 1]) {
  clear(step, timer);
  if (step.state.closed) return;
  step.state.timers = [...step.state.timers, timer];
  step.effects.push({ do: 'start', timer, ms, spread });
}

/**
 * @param {Step} step
 * @param {Timer[]} timers
 */
function clear(step, ...timers) {
  for (const timer of timers.filter((name) => step.state.timers.includes(name))) {
    step.state.timers = step.state.timers.filter((name) => name !== timer);
    step.effects.push({ do: 'clear', timer });
  }
}

/**
 * Tells the other tabs that hold this grant.
 *
 * @param {Step} step
 * @param {TabMessage} message
 */
function tell(step, message) {
  step.effects.push({ do: 'tell', grant: grantOf(step.state).id, message });
}

/**
 * Changes the state and dispatches its events.
 *
 * @param {Step} step
 * @param {LeaseState} name
 */
function become(step, name) {
  const { state } = step;
  const before = state.name;
  state.name = name;
  emit(step, 'state', detailOf(step));
  if (name === before) return;
  if (name === 'unknown' && ['held', 'other', 'elsewhere'].includes(before)) emit(step, 'unknown', detailOf(step));
  if (name === 'offered') emit(step, 'offered', { lease: state.lease, offer_ms: documentOf(state).policy.offer_ms });
}

/**
 * Forgets the grant. With `quit: false` this tab stays in the group of its tabs, to tell them how the grant ended.
 *
 * @param {Step} step
 */
function dropGrant(step, { quit = true } = {}) {
  const { state } = step;
  clear(step, ...HOLDING);
  if (state.grant && quit) step.effects.push({ do: 'quit', grant: state.grant.id });
  if (state.warned) step.effects.push({ do: 'warned', on: false });
  state.grant = null;
  state.warned = null;
  state.idleReported = false;
  state.worked = false;
  state.requests = [];
  state.refused = null;
  state.sent = NEVER;
}

// line.js: Rules of the waiting line: taking a place, keeping it, and giving it up.

/**
 * Sends a request about the place of this person.
 *
 * @param {Step} step
 * @param {RequestName} name
 * @param {'POST' | 'DELETE'} method
 * @param {{ call?: Call }} fields
 * @param {{ keep?: true }} body
 */
function askLine(step, name, method, fields = {}, body = {}) {
  send(step, name, { method, verb: 'turn', body: { ...step.state.instance, ...body }, ...fields });
}

/**
 * @param {Step} step
 * @param {{ call: Call }} input
 */
function takeTurn(step, { call }) {
  askLine(step, 'takeTurn', 'POST', { call });
}

/**
 * @param {Step} step
 * @param {LeaseRequest} request
 * @param {Answer} answer
 */
function takeTurnAnswered(step, { call }, answer) {
  endLoss(step);
  step.state.adopted = false;
  storePlace(step, answer);
  settle(step, call, answer);
}

/**
 * Follows the place that the server reports. A place belongs to the person, so any page of the person can have taken it.
 *
 * @param {Step} step
 * @param {Answer} lease
 */
function followPlace(step, lease) {
  const { state } = step;
  const before = state.turn;
  const offered = lease.state === 'offered' && lease.position === 1;
  if (lease.mine) return outOfLine(step);
  if (!lease.position && state.adopted) return outOfLine(step);
  if (before?.offered && !offered) return missOffer(step);
  if (!lease.position) return;
  state.turn = { position: lease.position, offered };
  if (offered && !before?.offered) start(step, 'offer', lease.offer_expires_in_ms);
  if (before?.position !== lease.position) emit(step, 'turn', { ...state.turn, missed: false, over: null });
  if (!before) state.adopted = true;
  // A place that another page took may be about to expire, so it is confirmed at once. A free lease with a line is about
  // to be offered: the request makes the server offer it now.
  if (!before || lease.state === 'free') keepTurn(step);
}

/**
 * Stores a confirmed place and starts the timer that confirms it again.
 *
 * @param {Step} step
 * @param {Answer} answer
 */
function storePlace(step, answer) {
  const { state, now } = step;
  if (state.grant || state.closed) return;
  state.turn ??= { position: null, offered: false };
  state.ticket = { kept: clocksOf(now), lasts: answer.ticket_expires_in_ms ?? 0 };
  start(step, 'turn', state.ticket.lasts / 3);
  showLease(step, answer);
}

/**
 * Gives the place up after a missed offer. Otherwise the others in line would wait for an absent person.
 *
 * @param {Step} step
 */
function missOffer(step) {
  leaveLine(step, { missed: true });
}

/**
 * @param {Step} step
 * @param {{ missed?: boolean, over?: string | true | null }} end
 */
function outOfLine(step, { missed = false, over = null } = {}) {
  const { state } = step;
  clear(step, 'turn', 'offer');
  if (!state.turn) return;
  state.turn = null;
  state.adopted = false;
  emit(step, 'turn', { position: null, offered: false, missed, over });
}

/**
 * @param {Step} step
 * @param {{ call?: Call, missed?: boolean }} input
 */
function leaveLine(step, { call = null, missed = false }) {
  outOfLine(step, { missed });
  askLine(step, 'leaveTurn', 'DELETE', { call });
}

/**
 * @param {Step} step
 * @param {LeaseRequest} request
 * @param {Answer} answer
 */
function leaveLineAnswered(step, { call }, answer) {
  if (!step.state.grant) showLease(step, answer);
  settle(step, call, answer);
}

/**
 * Confirms the place. `keep: true` takes no new place if this one was given up meanwhile, here or on another page.
 *
 * @param {Step} step
 */
function keepTurn(step) {
  const { state } = step;
  if (!state.turn || state.keeping) return;
  state.keeping = true;
  start(step, 'turn', RETRY_MS * 4);
  askLine(step, 'keepTurn', 'POST', {}, { keep: true });
}

/**
 * @param {Step} step
 * @param {unknown} _
 * @param {Answer} answer
 */
function keepTurnAnswered(step, _, answer) {
  const { state } = step;
  if (state.turn && !state.grant) {
    // A page that took its place itself and slept for too long goes to the back of the line.
    const rejoins = !answer.ticket_expires_in_ms && !state.turn.offered && !state.adopted && ticketExpired(step);
    if (rejoins) return askLine(step, 'rejoin', 'POST');
    if (answer.ticket_expires_in_ms) storePlace(step, answer);
    else {
      if (!state.turn.offered) outOfLine(step);
      showLease(step, answer);
    }
  }
  state.keeping = false;
}

/** @param {Step} step */
function ticketExpired({ state, now }) {
  return state.ticket !== null && between(state.ticket.kept, now) > state.ticket.lasts;
}

/**
 * If the person left the line while the new place was asked for, gives the new place back.
 *
 * @param {Step} step
 * @param {unknown} _
 * @param {Answer} answer
 */
function rejoinAnswered(step, _, answer) {
  const { state } = step;
  if (!state.turn) return askLine(step, 'returnTurn', 'DELETE');
  storePlace(step, answer);
  state.keeping = false;
}

/** @param {Step} step */
function returnTurnAnswered({ state }) {
  state.keeping = false;
}

/**
 * Ends the place if the server says that this person holds the lease or that the task is over; otherwise a timer tries again.
 *
 * @param {Step} step
 * @param {unknown} _
 * @param {Failure} error
 */
function keepTurnFailed(step, _, error) {
  if (error.code === 'already_holder') outOfLine(step);
  if (error.code === 'wrong_status') outOfLine(step, { over: /** @type {string | undefined} */ (error.problem?.status_now) ?? true });
  step.state.keeping = false;
}

// see.js: Rules for a lease that this page does not hold: showing its state, and sending a release until the server answers.

/** Without a live stream the lease is read this often; on a hidden page less often. */
const POLL_MS = 10_000;
const POLL_HIDDEN_MS = 30_000;

/**
 * Shows a document of the server while this page does not hold the lease.
 *
 * @param {Step} step
 * @param {Answer | null | undefined} lease
 */
function showLease(step, lease) {
  if (!lease) return;
  const { state, now } = step;
  state.lease = lease;
  state.heard = clocksOf(now);
  readAtEnd(step, lease);
  followPlace(step, lease);
  if (owesRelease(step, lease)) return emit(step, 'state', detailOf(step));
  // A lost lease stays lost until the person acts. Otherwise the person could miss it.
  if (state.name === 'lost') return emit(step, 'state', detailOf(step));
  /** @type {Record<Answer['state'], LeaseState>} */
  const states = { free: 'free', locked: lease.mine ? 'elsewhere' : 'other', offered: 'other' };
  become(step, lease.state === 'offered' && state.turn?.offered ? 'offered' : states[lease.state]);
}

/**
 * The person has acted after a loss, so the page shows the real state again.
 *
 * @param {Step} step
 */
function endLoss({ state }) {
  if (state.name !== 'lost') return;
  state.lost = null;
  state.name = 'unknown';
}

/**
 * Reads the lease again when it ends by itself. The server announces the end too, but a page may have no stream.
 *
 * @param {Step} step
 * @param {Answer} lease
 */
function readAtEnd(step, { state, expires_in_ms, policy }) {
  clear(step, 'read');
  if (state === 'free') return;
  start(step, 'read', state === 'locked' ? expires_in_ms + 100 : Math.min(policy.offer_ms / 4, POLL_MS / 2), [1, 1.1]);
}

/**
 * If the known end has passed and the server does not answer, shows `unknown` and tries again.
 *
 * @param {Step} step
 */
function unheard(step) {
  const { state, now } = step;
  if (state.grant || state.closed) return;
  if (isOutdated(state, now) && ['other', 'elsewhere'].includes(state.name)) become(step, 'unknown');
  start(step, 'read', POLL_MS / 2);
}

/**
 * Starts the timer that reads the lease where no stream does.
 *
 * @param {Step} step
 */
function startPolling(step) {
  start(step, 'poll', step.now.hidden ? POLL_HIDDEN_MS : POLL_MS, [0.9, 1.1]);
}

/** @param {Step} step */
function polled(step) {
  const { state, now } = step;
  const quiet = sinceHeard(state, now) > POLL_MS * 0.8;
  if (quiet && (now.hidden || !now.live)) readLease(step);
  startPolling(step);
}

/**
 * Follows an event of the stream: reads the lease, or confirms the place in line.
 *
 * @param {Step} step
 * @param {{ event: StreamEvent }} input
 */
function streamed(step, { event }) {
  const { state } = step;
  if (state.closed) return;
  if (event.name === 'lease.line_closed') outOfLine(step, { over: event.detail ?? true });
  if (event.name === 'lease.offered' && state.turn) keepTurn(step);
  else readLease(step);
}

// Releasing.

/**
 * Releases the lease for all tabs of this person.
 *
 * @param {Step} step
 * @param {{ call: Call }} input
 */
function release(step, { call }) {
  const { state } = step;
  const { grant } = state;
  if (!grant) return state.owed ? sendRelease(step, { call }) : settle(step, call, state.lease);
  step.effects.push({ do: 'lead', grant: grant.id, wanted: false });
  // No heartbeat may follow a release, so the grant is forgotten before the server has agreed.
  dropGrant(step, { quit: false });
  state.serial += 1;
  state.owed = { id: state.serial, fence: grant.fence, claim: grant.claim };
  become(step, 'unknown');
  sendRelease(step, { call, body: { fence: grant.fence }, tabs: grant.id });
}

/**
 * Sends the release that the server has not confirmed. A repeated release names its claim, so that a page that has claimed
 * the lease meanwhile keeps it.
 *
 * @param {Step} step
 * @param {{ call?: Call, body?: object | null, tabs?: number | null }} options
 */
function sendRelease(step, { call = null, body = null, tabs = null } = {}) {
  const { state } = step;
  clear(step, 'owed');
  if (!state.owed) return;
  const { id, fence, claim } = state.owed;
  const underway = state.releasing.find(({ owed }) => owed === id);
  if (underway) {
    const joined = { owed: id, calls: [...underway.calls, call] };
    state.releasing = state.releasing.map((one) => (one === underway ? joined : one));
    return;
  }
  state.releasing = [...state.releasing, { owed: id, calls: [call] }];
  send(step, 'release', {
    method: 'POST',
    verb: 'release',
    body: { ...(body ?? { fence, claim }), ...state.instance },
    owed: id,
    tabs,
  });
}

/**
 * @param {Step} step
 * @param {LeaseRequest} request
 * @param {Answer | null | undefined} lease
 */
function releaseAnswered(step, request, lease) {
  const { state } = step;
  const calls = releaseEnded(step, request);
  if (state.owed?.id === request.owed) state.owed = null;
  if (!state.grant) showLease(step, lease);
  tellTabs(step, request);
  for (const call of calls) settle(step, call, lease);
}

/**
 * @param {Step} step
 * @param {LeaseRequest} request
 * @param {Failure} error
 */
function releaseFailed(step, request, error) {
  const { state } = step;
  // The lease is not held any more, which is what the release wanted.
  if (error.code === 'lease_lost') return releaseAnswered(step, request, /** @type {Answer | undefined} */ (error.problem?.lease));
  const calls = releaseEnded(step, request);
  const answered = error.status && error.status < 500 && error.status !== 429;
  if (state.owed?.id === request.owed && answered) state.owed = null;
  else if (state.owed?.id === request.owed) start(step, 'owed', RETRY_MS * 4);
  tellTabs(step, request);
  for (const call of calls) reject(step, call, error);
}

/**
 * Removes the release from those under way. Returns the calls that wait for it.
 *
 * @param {Step} step
 * @param {LeaseRequest} request
 */
function releaseEnded({ state }, { owed }) {
  const calls = state.releasing.find((one) => one.owed === owed)?.calls ?? [];
  state.releasing = state.releasing.filter((one) => one.owed !== owed);
  return calls;
}

/**
 * Tells the other tabs that the grant has ended, after the first answer to the release.
 *
 * @param {Step} step
 * @param {LeaseRequest} request
 */
function tellTabs(step, { tabs }) {
  if (!tabs) return;
  step.effects.push({ do: 'tell', grant: tabs, message: { kind: 'ended' } });
  step.effects.push({ do: 'quit', grant: tabs });
}

/**
 * Whether this person is still the holder only because the server has not heard the release. Then sends the release again.
 *
 * @param {Step} step
 * @param {Answer} lease
 */
function owesRelease(step, { mine, fence, claim }) {
  const { state } = step;
  if (!state.owed) return false;
  const ours = mine && fence === state.owed.fence && !(claim > state.owed.claim);
  if (ours) sendRelease(step);
  else state.owed = null;
  return ours;
}

// warn.js: Warnings before a lease ends: the idle guard, the rolling timeout, and a hidden page.

/** People are warned this long before the lease ends, if the times of the policy allow it. */
const WARNING_MS = 60_000;

/** @typedef {{ reason: 'idle' | 'rolling_timeout' | 'hidden', warn_in_ms: number, ends_in_ms: number }} End */

/** Returns the end that comes first. @param {End[]} ends */
const soonest = (ends) => ends.reduce((first, end) => (end.ends_in_ms < first.ends_in_ms ? end : first));
/** A hidden page counts as idle for the person: both are answered by coming back. @param {End['reason']} reason */
const namedFor = (reason) => (reason === 'hidden' ? 'idle' : reason);

/**
 * Returns the milliseconds since the person was last active.
 *
 * @param {Moment} now
 */
function idleFor(now) {
  return Math.round(between(now.active, now));
}

/**
 * Returns everything that will end the lease if nothing happens: `{reason, warn_in_ms, ends_in_ms}`.
 *
 * @param {State} state
 * @param {Moment} now
 * @returns {End[]}
 */
function endsOf(state, now) {
  const { policy, rolling_in_ms } = documentOf(state);
  const { idle_guard_ms: guard, rolling_timeout_ms: rolling, ttl_ms: ttl, heartbeat_interval_ms: interval } = policy;
  const expires = expiresIn(state, now);
  /** @type {End[]} */
  const ends = [];
  if (guard) {
    const idle = idleFor(now);
    // If the ttl alone leaves little time to react, the warning comes before the idle guard.
    const warn = Math.max(guard / 2, Math.min(guard, guard + ttl - WARNING_MS));
    // The last heartbeat that renews comes up to one interval before the idle guard.
    const last = idle < guard ? Math.max(guard - idle + ttl - interval, expires) : expires;
    ends.push({ reason: 'idle', warn_in_ms: warn - idle, ends_in_ms: last });
  }
  if (rolling && rolling_in_ms !== null) {
    const left = Math.max(0, rolling_in_ms - between(state.sent, now));
    ends.push({ reason: 'rolling_timeout', warn_in_ms: left - Math.min(WARNING_MS, rolling / 2), ends_in_ms: left });
  }
  // A hidden page is not renewed. It can still show the warning in its title.
  const left = now.hidden ? expires : Infinity;
  ends.push({ reason: 'hidden', warn_in_ms: left - Math.min(WARNING_MS, ttl / 2), ends_in_ms: left });
  return ends;
}

/**
 * Returns the warning as it stands now: why the lease will end and in how long; null without a warning.
 *
 * @param {State} state
 * @param {Moment} now
 */
function warningOf(state, now) {
  if (!state.warned) return null;
  const { reason, ends_in_ms } = soonest(endsOf(state, now));
  return { reason: namedFor(reason), expires_in_ms: Math.round(ends_in_ms) };
}

/**
 * Warns if it is time, and starts the timer for the next warning.
 *
 * @param {Step} step
 * @param {boolean} renewed
 */
function checkWarnings(step, renewed = false) {
  const { state, now } = step;
  const ends = endsOf(state, now);
  // The warning names the first end, whichever end is due for a warning. Otherwise it would promise too much time.
  if (ends.some(({ warn_in_ms }) => warn_in_ms <= 0)) showWarning(step, soonest(ends));
  // The idle warning ends only when the server has renewed the lease. Activity alone is not enough.
  else if (renewed || state.warned?.reason === 'rolling_timeout') endWarning(step);
  const next = Math.min(...ends.map(({ warn_in_ms }) => warn_in_ms).filter((warn_in_ms) => warn_in_ms > 0));
  if (next < Infinity) start(step, 'warn', next);
}

/**
 * @param {Step} step
 * @param {End} end
 */
function showWarning(step, { reason, ends_in_ms }) {
  const { state } = step;
  if (state.warned?.reason === reason) return;
  state.warned = { reason };
  step.effects.push({ do: 'warned', on: reason === 'idle' });
  emit(step, 'idle-warning', { reason: namedFor(reason), expires_in_ms: Math.round(ends_in_ms), lease: state.lease });
}

/** @param {Step} step */
function endWarning(step) {
  const { state } = step;
  if (!state.warned) return;
  state.warned = null;
  step.effects.push({ do: 'warned', on: false });
  emit(step, 'active', detailOf(step));
}

// hold.js: Rules for a lease that this page holds: renewing it, doubting it, and losing it.

/**
 * Takes an answer that confirms the grant. `sent` is when its request was sent; a plain read does not renew (`renews`).
 *
 * @param {Step} step
 * @param {Answer} lease
 * @param {Clocks} sent
 * @param {boolean} renews
 */
function confirmGrant(step, lease, sent, renews = true) {
  const { state, now } = step;
  // The claim number only grows, so a higher one means that another page has claimed the lease since.
  if (state.single && !state.taking && lease.claim > grantOf(state).claim) return move(step, lease);
  // Answers can overtake each other.
  if (sent.steady < state.sent.steady) return;
  state.lease = lease;
  state.heard = clocksOf(now);
  // The time counts from when the request was sent, because the answer may have taken long.
  state.sent = sent;
  state.lasts = lease.expires_in_ms ?? 0;
  state.retry = RETRY_MS;
  // A read renews nothing, so the next heartbeat stays due when it was.
  if (renews) state.renewed = clocksOf(now);
  if (renews || !state.timers.includes('heartbeat')) start(step, 'heartbeat', lease.policy.heartbeat_interval_ms);
  // Waits at least 50 ms, because the server can end the lease a moment after this page does.
  start(step, 'end', Math.max(expiresIn(state, now), 50));
  checkWarnings(step, renews && lease.renewed !== false);
  if (renews) state.refused = null;
  // A request that was sent before a sleep says nothing about the time after it.
  if (sent.steady < state.doubted || expiresIn(state, now) <= 0 || state.refused) {
    if (state.name !== 'unknown') become(step, 'unknown');
    return;
  }
  const before = state.name;
  become(step, 'held');
  if (before !== 'held') emit(step, 'held', { lease });
  announceRequests(step, lease.requests ?? []);
}

/**
 * Dispatches `requested` once for each release request that the holder has not declined.
 *
 * @param {Step} step
 * @param {ReleaseRequest[]} requests
 */
function announceRequests(step, requests) {
  const { state } = step;
  for (const request of requests.filter(({ declined_at }) => !declined_at)) {
    const id = `${request.by.id} ${request.at}`;
    if (state.requests.includes(id)) continue;
    state.requests = [...state.requests, id];
    emit(step, 'requested', request);
  }
}

/**
 * Ends the grant and dispatches `lost`.
 *
 * @param {Step} step
 * @param {Partial<Lost> & { detail?: string | null, lease?: Answer | null }} end
 */
function lose(step, { reason = 'expired', cause = null, by = null, by_name = null, note = null, detail = null, lease = null }) {
  const { state } = step;
  dropGrant(step);
  if (lease) {
    state.lease = lease;
    readAtEnd(step, lease);
  }
  state.lost = { reason, cause, by, by_name, note, message: detail };
  become(step, 'lost');
  emit(step, 'lost', { ...state.lost, lease: state.lease });
}

/**
 * Ends the grant because another page of this person has claimed the lease. Releases nothing: the other page holds it now.
 *
 * @param {Step} step
 * @param {Answer} lease
 */
function move(step, lease) {
  const { near } = step.now;
  dropGrant(step);
  showLease(step, lease);
  emit(step, 'moved', { ...detailOf(step), near });
}

// Heartbeats.

/**
 * Sends the heartbeat that is due. Leaves it out while the page is hidden, another tab leads, or the server knows that the
 * person is idle.
 *
 * @param {Step} step
 */
function heartbeatDue(step) {
  const { state, now } = step;
  const { heartbeat_interval_ms: interval, idle_guard_ms: guard } = documentOf(state).policy;
  const idle = state.idleReported && guard && idleFor(now) >= guard;
  if (state.name === 'unknown') askServer(step);
  else if (now.hidden || !now.leads || idle) {
    step.effects.push({ do: 'insist', grant: grantOf(state).id });
    start(step, 'heartbeat', interval);
  } else sendHeartbeat(step);
}

/**
 * Sends a heartbeat. `call` waits for its end and then gets `lease`.
 *
 * @param {Step} step
 * @param {{ call?: Call, lease?: Answer | null }} waiting
 */
function sendHeartbeat(step, { call = null, lease = null } = {}) {
  const { state, now } = step;
  const { grant } = state;
  if (!grant || state.beating) {
    if (grant) state.again = true;
    return settle(step, call, lease);
  }
  /** @type {Record<string, unknown>} */
  const body = { fence: grant.fence, idle_ms: idleFor(now), ...state.instance };
  if (state.worked) body.worked = true;
  state.worked = false;
  state.beating = true;
  const timeout_ms = Math.min(REQUEST_MS, Math.max(1_000, state.lasts / 2));
  send(step, 'heartbeat', { method: 'POST', verb: 'heartbeat', body, timeout_ms, grant: grant.id, call, lease });
}

/**
 * @param {Step} step
 * @param {LeaseRequest} request
 * @param {Answer} answer
 */
function heartbeatAnswered(step, request, answer) {
  const { state } = step;
  const current = () => state.grant?.id === request.grant;
  // The heartbeat was under way when the page was left, and may have undone the release.
  if (state.away) sendFarewell(step);
  else if (current()) {
    // The server knows from one heartbeat that the person is idle, so `heartbeatDue` sends no more.
    state.idleReported = answer.reason === 'idle';
    confirmGrant(step, answer, request.sent);
    if (current()) {
      shareAnswer(step);
      step.effects.push({ do: 'count', grant: grantOf(state).id });
    }
  }
  heartbeatEnded(step, request);
}

/**
 * @param {Step} step
 * @param {LeaseRequest} request
 * @param {Failure} error
 */
function heartbeatFailed(step, request, error) {
  const { state } = step;
  state.worked ||= request.body?.worked === true;
  if (state.grant?.id === request.grant && !state.away) failed(step, error);
  heartbeatEnded(step, request);
}

/**
 * @param {Step} step
 * @param {LeaseRequest} request
 */
function heartbeatEnded(step, { call, lease }) {
  const { state } = step;
  state.beating = false;
  const again = state.again && state.grant && !state.away;
  state.again = false;
  if (again) sendHeartbeat(step);
  settle(step, call, lease);
}

/**
 * Follows a failed heartbeat or a failed read of a held lease.
 *
 * @param {Step} step
 * @param {Failure} error
 */
function failed(step, error) {
  const { state, now } = step;
  if (error.code === 'lease_lost') {
    tell(step, { kind: 'ended' });
    return lose(step, /** @type {Partial<Lost>} */ (error.problem ?? {}));
  }
  if (error.status === 401 || error.status === 403) {
    state.refused = error;
    // The lease is no longer renewed, so it is lost when its time is up. The read shows who has it then.
    if (expiresIn(state, now) <= 0) {
      lose(step, { cause: 'forbidden', detail: error.message });
      readLease(step);
      return emit(step, 'error', { error });
    }
    if (state.name === 'held') become(step, 'unknown');
  }
  // Other refusals do not pass by themselves, unlike a lost connection, an overloaded server or a rate limit.
  if (error.status && error.status >= 400 && error.status < 500 && error.status !== 429) emit(step, 'error', { error });
  // One failed heartbeat costs nothing: the lease lives until its time is up, and the next try comes before that.
  const left = expiresIn(state, now);
  const pause = left > 0 ? Math.min(state.retry, Math.max(left / 3, RETRY_MS)) : state.retry;
  state.retry = Math.min(state.retry * 2, RETRY_MAX_MS);
  start(step, 'heartbeat', pause, [0.75, 1]);
}

/**
 * Doubts a lease whose time is up as far as this page knows. Only the server can say whether it has ended.
 *
 * @param {Step} step
 */
function overdue(step) {
  const left = expiresIn(step.state, step.now);
  if (left > 0) return start(step, 'end', left);
  become(step, 'unknown');
  askServer(step);
}

/**
 * Makes the state unknown until the server answers, because after a sleep or a freeze nothing is certain.
 *
 * @param {Step} step
 */
function doubt(step) {
  const { state, now } = step;
  state.doubted = now.steady;
  if (state.grant) {
    clear(step, ...HOLDING);
    become(step, 'unknown');
  }
  askServer(step);
}

/**
 * Asks the server for the state: with a heartbeat if the page may send one, otherwise with a read.
 *
 * @param {Step} step
 */
function askServer(step) {
  if (step.state.grant && !step.now.hidden) sendHeartbeat(step);
  else readLease(step, { failing: 'failed' });
}

// Reading the lease.

/**
 * Reads the lease and renews nothing. `failing` names what follows a failure: `failed` (as for a heartbeat) or `unheard`.
 *
 * @param {Step} step
 * @param {{ call?: Call, failing?: 'failed' | 'unheard' | null }} options
 */
function readLease(step, { call = null, failing = null } = {}) {
  send(step, 'read', { method: 'GET', grant: step.state.grant?.id ?? null, call, failing });
}

/**
 * @param {Step} step
 * @param {LeaseRequest} request
 * @param {Answer} lease
 */
function readAnswered(step, { call, grant, sent }, lease) {
  const { state } = step;
  const stale = grant !== (state.grant?.id ?? null) || state.away || state.closed;
  if (!stale && grant && !(lease.mine && lease.fence === grantOf(state).fence)) {
    // The fence is stale for good. A heartbeat with it changes nothing, and its refusal says why the lease was lost.
    become(step, 'unknown');
    return sendHeartbeat(step, { call, lease });
  }
  if (!stale && grant) confirmGrant(step, lease, sent, false);
  else if (!stale) showLease(step, lease);
  settle(step, call, lease);
}

/**
 * @param {Step} step
 * @param {LeaseRequest} request
 * @param {Failure} error
 */
function readFailed(step, { call, failing }, error) {
  if (failing === 'failed' && step.state.grant) failed(step, error);
  if (failing === 'unheard') unheard(step);
  reject(step, call, error);
}

// The page and the person.

/**
 * Follows a change of visibility.
 *
 * @param {Step} step
 */
function followVisibility(step) {
  const { state, now } = step;
  if (state.grant) checkWarnings(step);
  if (now.hidden) return;
  const interval = state.lease?.policy.heartbeat_interval_ms ?? 0;
  if (state.grant && now.wall - state.ticked > interval + SLEPT_MS) doubt(step);
  else if (state.grant) heartbeatDue(step);
  else readLease(step);
}

/**
 * Follows activity of the person: tells the other tabs and answers a warning.
 *
 * @param {Step} step
 */
function active(step) {
  const { state, now } = step;
  if (!state.grant) return;
  tell(step, { kind: 'active', wall: now.active.wall });
  if (state.warned?.reason === 'idle' || state.idleReported) {
    state.idleReported = false;
    // The warning ends when the server has renewed the lease, and not before.
    if (!now.hidden && now.leads) sendHeartbeat(step);
  }
  checkWarnings(step);
}

/**
 * Notes real work: the next heartbeat restarts the rolling timeout.
 *
 * @param {Step} step
 */
function worked(step) {
  const { state } = step;
  state.worked = true;
  if (state.grant) tell(step, { kind: 'work' });
  noteActivity(step, clocksOf(step.now));
  if (state.warned) sendHeartbeat(step);
  else active(step);
}

/**
 * Notes that the person is still there.
 *
 * @param {Step} step
 */
function keep(step) {
  noteActivity(step, clocksOf(step.now));
  active(step);
}

/**
 * Notes activity of the person, for all leases of the page.
 *
 * @param {Step} step
 * @param {Clocks} when
 */
function noteActivity(step, when) {
  if (when.steady > step.now.active.steady) step.now = { ...step.now, active: when };
  step.effects.push({ do: 'touch', when });
}

// The other tabs that hold the same grant.

/**
 * Tells the other tabs what the server answered. The wall clock says when it was asked: a frozen tab hears it late.
 *
 * @param {Step} step
 */
function shareAnswer(step) {
  const { sent, idleReported } = step.state;
  tell(step, { kind: 'lease', lease: documentOf(step.state), wall: sent.wall, idle: idleReported });
}

/**
 * Starts to send the heartbeats for all tabs.
 *
 * @param {Step} step
 * @param {{ grant: number }} input
 */
function startLeading(step, { grant }) {
  const { state, now } = step;
  if (state.grant?.id !== grant) return;
  if (between(state.renewed, now) >= documentOf(state).policy.heartbeat_interval_ms) heartbeatDue(step);
}

/**
 * Follows a message of another tab.
 *
 * @param {Step} step
 * @param {{ grant: number, message: TabMessage }} input
 */
function followMessage(step, { grant, message }) {
  const { state, now } = step;
  if (state.grant?.id !== grant) return;
  if (message.kind === 'ended') return readLease(step, { failing: 'failed' });
  if (message.kind === 'work') {
    state.worked = true;
    if (state.warned && now.leads) sendHeartbeat(step);
    return;
  }
  const ago = Math.max(0, now.wall - message.wall);
  const when = { steady: now.steady - ago, wall: message.wall };
  if (message.kind === 'active') return noteActivity(step, when);
  if (!state.single) state.grant = { ...state.grant, claim: Math.max(state.grant.claim, message.lease.claim) };
  state.idleReported = message.idle;
  confirmGrant(step, message.lease, when);
  if (!state.grant) return;
  // The tab that has just sent a heartbeat also sends the next one: its interval starts with the answer.
  start(step, 'heartbeat', message.lease.policy.heartbeat_interval_ms * 1.5);
}

/**
 * Repeats the release of a page that was left.
 *
 * @param {Step} step
 */
function sendFarewell(step) {
  if (step.state.farewell) step.effects.push({ do: 'farewell', body: step.state.farewell });
}

// rules.js: The rules of a lease as a pure function: (state, input, now) to the next state and its effects.
//
// An input is a call of the page, an answer of the server, an event of the stream, a timer that fired, a message of
// another tab, or a change of the page or the person. `now` is the moment of the input: both clocks (`steady`, `wall`),
// whether the page is `hidden`, when the person was last `active`, whether the stream is `live`, and what the tabs of this
// grant say (`leads`, `alone`, `near`). An effect is data; the class `Lease` runs it. The rules read no clock, draw no
// random number and touch neither the document nor the network.

/** A page that is left may be reloaded, so the server keeps the lease for this long. */
const GRACE_MS = 5_000;

/**
 * Applies one input. Returns the next state and the effects in their order; `state` stays unchanged.
 *
 * @param {State} state
 * @param {Input} input
 * @param {Moment} now
 * @returns {{ state: State, effects: Effect[] }}
 */
function reduce(state, input, now) {
  const step = { state: { ...state }, now, effects: [] };
  INPUTS[input.kind](step, input);
  return { state: step.state, effects: step.effects };
}

/** @type {Record<Input['kind'], (step: Step, input: any) => void>} */
const INPUTS = {
  opened,
  closed,
  claim,
  release,
  forceRelease,
  requestRelease,
  declineRelease,
  takeTurn,
  leaveTurn: leaveLine,
  worked,
  keep,
  active,
  refresh: readLease,
  answered: (step, /** @type {InputOf<'answered'>} */ { request, answer }) => ANSWERS[request.name](step, request, answer),
  failed: (step, /** @type {InputOf<'failed'>} */ { request, error }) => FAILURES[request.name](step, request, error),
  timer: timerFired,
  event: streamed,
  visibility: followVisibility,
  thawed: doubt,
  online: (step) => (step.state.grant ? heartbeatDue(step) : readLease(step)),
  left: (step) => leave(step, GRACE_MS),
  restored,
  leads: startLeading,
  message: followMessage,
};

/** @type {Record<LeaseRequest['name'], (step: Step, request: LeaseRequest, answer: Answer) => void>} */
const ANSWERS = {
  claim: claimAnswered,
  resume: resumeAnswered,
  release: releaseAnswered,
  heartbeat: heartbeatAnswered,
  read: readAnswered,
  forceRelease: (step, { call }) => readLease(step, { call }),
  requestRelease: (step, { call }, answer) => settle(step, call, answer),
  declineRelease: declineAnswered,
  takeTurn: takeTurnAnswered,
  leaveTurn: leaveLineAnswered,
  keepTurn: keepTurnAnswered,
  rejoin: rejoinAnswered,
  returnTurn: returnTurnAnswered,
};

/** @type {Record<LeaseRequest['name'], (step: Step, request: LeaseRequest, error: Failure) => void>} */
const FAILURES = {
  claim: claimFailed,
  resume: resumeFailed,
  release: releaseFailed,
  heartbeat: heartbeatFailed,
  read: readFailed,
  forceRelease: callFailed,
  requestRelease: callFailed,
  declineRelease: callFailed,
  takeTurn: callFailed,
  leaveTurn: callFailed,
  keepTurn: keepTurnFailed,
  rejoin: keepTurnFailed,
  returnTurn: keepTurnFailed,
};

/** @type {Record<Timer, (step: Step) => void>} */
const TIMERS = {
  heartbeat: heartbeatDue,
  end: overdue,
  warn: (step) => checkWarnings(step),
  read: (step) => readLease(step, { failing: 'unheard' }),
  poll: polled,
  resume,
  owed: (step) => step.state.owed && sendRelease(step),
  turn: keepTurn,
  offer: missOffer,
};

/**
 * Runs the rule of a timer. If it fired late, the machine slept or the browser froze the tab, so the grant is in doubt.
 *
 * @param {Step} step
 * @param {InputOf<'timer'>} input
 */
function timerFired(step, { timer, late_ms }) {
  const { state, now } = step;
  state.timers = state.timers.filter((name) => name !== timer);
  const late = late_ms > SLEPT_MS;
  state.ticked = now.wall;
  if (late && state.grant) doubt(step);
  if (!late || !HOLDING.includes(timer)) TIMERS[timer](step);
}

// Opening and reloading.

/**
 * Starts a lease object. `left` is what this tab held before, if its page was left less than a minute ago.
 *
 * @param {Step} step
 * @param {InputOf<'opened'>} input
 */
function opened(step, { left, reloaded }) {
  step.state.left = left;
  step.state.reloaded = reloaded;
  if (left) resume(step);
  else readLease(step);
  startPolling(step);
}

/**
 * Continues with what this tab held before the reload.
 *
 * @param {Step} step
 */
function resume(step) {
  send(step, 'resume', { method: 'GET' });
}

/**
 * @param {Step} step
 * @param {unknown} _
 * @param {Answer} lease
 */
function resumeAnswered(step, _, lease) {
  const { state } = step;
  const { left } = state;
  if (state.grant || state.closed || !left) return;
  const ours = lease.mine && lease.fence === left.fence;
  // A claim that was unanswered when the page was left may have been granted.
  const free = state.reloaded && (lease.state === 'free' || (left.asked && lease.mine));
  if (!ours && !free) return showLease(step, lease);
  /** @type {Record<string, unknown>} */
  const body = { ...state.instance };
  if (left.ttl_ms) body.ttl_ms = left.ttl_ms;
  claim(step, { verb: 'claim', body, timeout_ms: REQUEST_MS, resumes: true });
}

/**
 * Tries again for a minute after a reload if the server does not answer.
 *
 * @param {Step} step
 * @param {unknown} _
 * @param {Failure} error
 */
function resumeFailed(step, _, error) {
  const { left } = step.state;
  if (!error.status && left && step.now.wall - left.at < RETURN_MS) start(step, 'resume', RETRY_MS);
  else readLease(step);
}

// Claiming.

/**
 * Claims the lease, or joins the grant that this person already holds.
 *
 * @param {Step} step
 * @param {{ call?: Call, verb: string, body: Record<string, any>, timeout_ms?: number, resumes?: boolean }} input
 */
function claim(step, { call = null, verb, body, timeout_ms, resumes = false }) {
  const { state, now } = step;
  if (state.single && !state.grant) step.effects.push({ do: 'announce' });
  state.taking += 1;
  state.asked = clocksOf(now);
  send(step, 'claim', { method: 'POST', verb, body, timeout_ms, call, resumes });
}

/**
 * @param {Step} step
 * @param {LeaseRequest} request
 * @param {Answer} lease
 */
function claimAnswered(step, { call, body = {}, sent }, lease) {
  const { state } = step;
  state.taking -= 1;
  state.asked = null;
  if (state.closed) {
    step.effects.push({ do: 'farewell', body: { fence: lease.fence, claim: lease.claim, ...state.instance } });
    return settle(step, call, lease);
  }
  if (state.grant?.fence !== lease.fence) {
    dropGrant(step);
    state.serial += 1;
    state.grant = { id: state.serial, fence: lease.fence, claim: 0, ttl_ms: body.ttl_ms ?? null };
    step.effects.push({ do: 'join', grant: state.grant.id, fence: lease.fence });
  }
  const grant = grantOf(state);
  state.grant = { ...grant, claim: Math.max(grant.claim, lease.claim) };
  state.lost = null;
  state.turn = null;
  state.owed = null;
  clear(step, 'turn', 'offer', 'read', 'resume', 'owed');
  confirmGrant(step, lease, sent);
  step.effects.push({ do: 'lead', grant: grant.id, wanted: !step.now.hidden });
  shareAnswer(step);
  settle(step, call, lease);
}

/**
 * @param {Step} step
 * @param {LeaseRequest} request
 * @param {Failure} error
 */
function claimFailed(step, request, error) {
  const { state } = step;
  state.taking -= 1;
  if (error.status) state.asked = null;
  if (error.problem?.lease && !state.grant) {
    endLoss(step);
    showLease(step, /** @type {Answer} */ (error.problem.lease));
  }
  if (request.resumes) resumeFailed(step, request, error);
  reject(step, request.call, error);
}

// Calls that change nothing in this page until they are answered.

/**
 * @param {Step} step
 * @param {LeaseRequest} request
 * @param {Failure} error
 */
function callFailed(step, { call }, error) {
  reject(step, call, error);
}

/**
 * @param {Step} step
 * @param {InputOf<'forceRelease'>} input
 */
function forceRelease(step, { call, reason, fence }) {
  send(step, 'forceRelease', { method: 'POST', verb: 'force-release', body: { reason, fence }, call });
}

/**
 * @param {Step} step
 * @param {InputOf<'requestRelease'>} input
 */
function requestRelease(step, { call, message }) {
  const body = message ? { message, ...step.state.instance } : { ...step.state.instance };
  send(step, 'requestRelease', { method: 'POST', verb: 'request-release', body, call });
}

/**
 * @param {Step} step
 * @param {InputOf<'declineRelease'>} input
 */
function declineRelease(step, { call, message }) {
  /** @type {Record<string, unknown>} */
  const body = { fence: step.state.grant?.fence, ...step.state.instance };
  if (message) body.message = message;
  send(step, 'declineRelease', { method: 'POST', verb: 'decline-release', body, call });
}

/**
 * @param {Step} step
 * @param {LeaseRequest} request
 * @param {Answer} answer
 */
function declineAnswered(step, { call, body = {} }, answer) {
  const { state } = step;
  if (state.grant && state.grant.fence === body.fence) state.lease = { ...documentOf(state), requests: answer.requests };
  emit(step, 'state', detailOf(step));
  settle(step, call, answer);
}

// Leaving and coming back.

/**
 * Releases the lease of a page that is left, or of an object that is closed. The ttl ends the lease in any case; the
 * release ends it sooner. An unanswered claim has no fence to release: a reload continues with it, or its ttl ends it.
 *
 * @param {Step} step
 * @param {number} grace_ms
 */
function leave(step, grace_ms = 0) {
  const { state, now } = step;
  const { fence, claim: number, ttl_ms } = state.grant ?? {};
  if (state.owed) step.effects.push({ do: 'farewell', body: { fence: state.owed.fence, claim: state.owed.claim, ...state.instance } });
  const claiming = state.asked && between(state.asked, now) < REQUEST_MS;
  if (!fence && grace_ms && claiming) step.effects.push({ do: 'remember', grant: { asked: true } });
  if (!fence) return;
  if (grace_ms) {
    step.effects.push({ do: 'remember', grant: { fence, ttl_ms } });
    // A heartbeat would undo the release.
    clear(step, ...HOLDING);
    state.away = true;
  }
  step.effects.push({ do: 'quit', grant: grantOf(state).id });
  // The release names its claim, so that a reload that has claimed the lease again meanwhile keeps it.
  const grace = grace_ms ? { grace_ms } : {};
  const left = { fence, claim: number, ...grace, ...state.instance };
  state.farewell = now.alone ? left : null;
  sendFarewell(step);
}

/**
 * Doubts the grant of a page that was left and is shown again, because the page has released it.
 *
 * @param {Step} step
 */
function restored(step) {
  const { state, now } = step;
  step.effects.push({ do: 'forget' });
  state.away = false;
  if (state.grant) {
    step.effects.push({ do: 'join', grant: state.grant.id, fence: state.grant.fence });
    step.effects.push({ do: 'lead', grant: state.grant.id, wanted: !now.hidden });
  }
  doubt(step);
}

/**
 * Ends everything. The lease is released unless another tab still holds it.
 *
 * @param {Step} step
 */
function closed(step) {
  const { state } = step;
  if (state.closed) return;
  leave(step);
  dropGrant(step);
  clear(step, ...state.timers);
  state.closed = true;
  step.effects.push({ do: 'end' });
}

// tabs.js: The tabs of one browser that share a lease.

/** Coordinates the tabs that hold the same grant: which tab sends heartbeats, and whether this tab is the last one. */
class Tabs {
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

// lease.js: One lease of a page: its public API. It feeds the rules with inputs and runs their effects.

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
class Lease extends EventTarget {
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

// stream.js: Live events of the server, as Server-Sent Events.

/** @typedef {{ id?: string, event?: string, data: any }} SentEvent */

/** The server sends a comment every 15 s, so a stream that is silent for longer is dead. */
const SILENCE_MS = 25_000;

/**
 * Reads Server-Sent Events until the stream ends. It uses fetch, because EventSource cannot send a token in a header.
 * `ask(signal)` sends the request. `opened(response)` sees the answer and may throw. `take({id, event, data})` gets each
 * event. A stream that is silent for too long is ended.
 *
 * @param {(signal: AbortSignal) => Promise<Response>} ask
 * @param {AbortSignal} signal
 * @param {(response: Response) => void} opened
 * @param {(event: SentEvent) => void} take
 */
async function follow(ask, signal, opened, take) {
  const ended = new AbortController();
  const stop = () => ended.abort();
  signal.addEventListener('abort', stop, { once: true });
  let timer = setTimeout(stop, SILENCE_MS);
  try {
    const response = await ask(ended.signal);
    opened(response);
    const reader = /** @type {ReadableStream} */ (response.body).pipeThrough(new TextDecoderStream()).getReader();
    for (let text = ''; ;) {
      const { value, done } = await reader.read();
      if (done) return;
      clearTimeout(timer);
      timer = setTimeout(stop, SILENCE_MS);
      const blocks = (text + value).split('\n\n');
      text = blocks.pop() ?? '';
      for (const block of blocks) take(fieldsOf(block));
    }
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', stop);
    ended.abort();
  }
}

/**
 * Returns the fields of one event. A comment has none.
 *
 * @param {string} block
 * @returns {SentEvent}
 */
function fieldsOf(block) {
  /** @type {Record<string, string>} */
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
  /** @type {Set<{ resource: string, heard: (event: StreamEvent) => void }>} */
  #watchers = new Set();
  /** @type {AbortController | null} */
  #running = null;
  /** The id of the last event, from which the server continues. @type {string | null} */
  #position = null;
  live = false;

  /** @param {Turno} turno */
  constructor(turno) {
    this.#turno = turno;
  }

  /**
   * @param {string} resource
   * @param {(event: StreamEvent) => void} heard
   */
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

  /** @param {AbortSignal} signal */
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

  /**
   * @param {AbortSignal} signal
   * @param {() => void} opened
   */
  async #listen(signal, opened) {
    /** @type {Record<string, string>} */
    const headers = { accept: 'text/event-stream' };
    if (this.#position) headers['last-event-id'] = this.#position;
    const ask = (/** @type {AbortSignal} */ signal) => this.#turno.request('/v1/events?topics=leases', { headers, signal });
    const open = (/** @type {Response} */ response) => {
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

  /** `open` and `reset` name no resource and concern every watcher. @param {StreamEvent} event */
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

/**
 * Returns a token source that asks the application's backend, which answers as `POST /v1/sessions` does.
 *
 * @param {string | URL} url
 * @param {RequestInit} init
 * @returns {() => Promise<GivenToken>}
 */
function tokenFrom(url, init = {}) {
  return async () => {
    const response = await fetch(url, { credentials: 'same-origin', cache: 'no-store', ...init });
    if (!response.ok) throw new TurnoError(response.status, null);
    return response.json();
  };
}

/** A client of one server. `token` is a string or a function that returns one. Without it, requests use the console's cookie. */
class Turno {
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
function share({ server = home(), token = null, language = null }) {
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

// element.js: The custom element `<turno-lease>`.

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
class TurnoLeaseElement extends (globalThis.HTMLElement ?? /** @type {typeof HTMLElement} */ (class {})) {
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

export { Lease, Turno, TurnoError, TurnoLeaseElement, follow, tokenFrom };
