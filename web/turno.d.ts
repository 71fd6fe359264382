// The public types of turno.js. `tsc` checks that the module has them (web/turno/fulfils.ts), and a test compares the exports
// and the members of the classes.

/** The person or machine account that holds a lease. */
export interface Holder {
  id: string;
  name: string;
  instance: string | null;
}

/** A request to the holder to release the lease. */
export interface ReleaseRequest {
  by: Holder;
  message: string | null;
  at: string;
  /** When the holder declined; null without an answer. */
  declined_at: string | null;
  /** The message of the holder who declined. */
  answer: string | null;
}

/** The times of a lease, in milliseconds. */
export interface LeasePolicy {
  ttl_ms: number;
  max_ttl_ms: number;
  heartbeat_interval_ms: number;
  idle_guard_ms: number | null;
  rolling_timeout_ms: number | null;
  offer_ms: number;
}

/** A lease as the server describes it. */
export interface LeaseDocument {
  resource: string;
  state: 'free' | 'locked' | 'offered';
  holder: Holder | null;
  fence: number | null;
  claim: number | null;
  locked_at: string | null;
  heartbeat_at: string | null;
  expires_at: string | null;
  expires_in_ms: number | null;
  /** The holder has released it, and it stays held until `expires_at`. */
  kept?: boolean;
  rolling_in_ms: number | null;
  server_time: string;
  mine: boolean;
  waiting: number;
  /** The caller's place in line, from 1. */
  position: number | null;
  offered_to: Holder | null;
  offer_expires_in_ms: number | null;
  requests: ReleaseRequest[];
  policy: LeasePolicy;
}

/** The lease, and the caller's place in line. */
export interface TurnDocument extends LeaseDocument {
  ticket_expires_in_ms: number | null;
  offered: boolean;
}

/** An error document (RFC 9457). */
export interface Problem {
  type?: string;
  title?: string;
  status?: number;
  detail?: string;
  code: string;
  lease?: LeaseDocument;
  [member: string]: unknown;
}

/** The state of the lease for this page; see the class `Lease`. */
export type LeaseState = 'unknown' | 'free' | 'held' | 'elsewhere' | 'other' | 'offered' | 'lost';

/** How a grant ended. */
export interface Lost {
  reason: 'expired' | 'taken' | 'released' | 'forced';
  cause: 'no_heartbeat' | 'idle' | 'rolling_timeout' | 'override' | 'user_disabled' | 'released' | 'forbidden' | null;
  /** The id of the person who overrode the lease. */
  by: string | null;
  /** The name of that person. */
  by_name: string | null;
  /** The reason of the override. */
  note: string | null;
  /** A sentence for people, in the language of the request. */
  message: string | null;
}

/** A place in line. */
export interface TurnPlace {
  position: number | null;
  offered: boolean;
}

export interface StateDetail {
  state: LeaseState;
  lease: LeaseDocument | null;
  lost: Lost | null;
}

/** The events and their `detail`. */
export interface LeaseEventMap {
  /** Anything has changed. */
  state: CustomEvent<StateDetail>;
  /** The lease is held, for the first time or again. */
  held: CustomEvent<{ lease: LeaseDocument }>;
  /** The lease ends soon unless the person is active on a visible page (`idle`) or does work (`rolling_timeout`). */
  'idle-warning': CustomEvent<{
    reason: 'idle' | 'rolling_timeout';
    expires_in_ms: number;
    lease: LeaseDocument;
  }>;
  /** The warning has ended. */
  active: CustomEvent<StateDetail>;
  /** A person asks the holder to release the lease. */
  requested: CustomEvent<ReleaseRequest>;
  /** The lease is no longer held. */
  lost: CustomEvent<Lost & { lease: LeaseDocument | null }>;
  /** With `single`: another page of this person holds the lease now; `near` if it is in this browser. */
  moved: CustomEvent<StateDetail & { near: boolean }>;
  /** The page no longer knows who holds the lease, until the server answers. */
  unknown: CustomEvent<StateDetail>;
  /** The lease is offered to this person for a moment. */
  offered: CustomEvent<{ lease: LeaseDocument; offer_ms: number }>;
  /**
   * The place in line has changed. `missed`: the offer was not taken. `over`: the task has ended, with its status such as
   * `completed`.
   */
  turn: CustomEvent<TurnPlace & { missed: boolean; over: string | true | null }>;
  /** A request failed and will not succeed by itself, such as one with a refused token. */
  error: CustomEvent<{ error: Error }>;
}

/** The result of a token function: the token, or the answer of `POST /v1/sessions`. */
export type GivenToken = string | { token: string; expires_at?: string | null } | null;

/** A token, or a function that returns one. The function is called whenever the last token has expired or is about to. */
export type TokenSource = string | (() => GivenToken | Promise<GivenToken>) | null;

export interface TurnoOptions {
  /** The address of the server; by default, the server that served this module. */
  server?: string;
  /** Without a token, requests use the cookie of the console, which works only on pages of the server itself. */
  token?: TokenSource;
  /** The language of messages for people: `es` or `en`. By default, the language of the browser. */
  language?: string | null;
}

export interface LeaseOptions extends TurnoOptions {
  turno?: Turno | null;
  /** Tells several holders of one machine account apart; people need none. */
  instance?: string | null;
  /** Of several pages of one person, only the page that claimed last holds the lease. By default all of them share it. */
  single?: boolean;
}

/** A refusal or an error of the server. */
export class TurnoError extends Error {
  constructor(status: number, problem: Problem | null);
  readonly status: number;
  readonly code: string | null;
  readonly problem: Problem | null;
}

/** Returns a token source that asks the application's backend, which answers as `POST /v1/sessions` does. */
export function tokenFrom(url: string | URL, init?: RequestInit): () => Promise<GivenToken>;

/** Reads Server-Sent Events until the stream ends or is silent for too long; `opened` refuses the answer by throwing. */
export function follow(
  ask: (signal: AbortSignal) => Promise<Response>,
  signal: AbortSignal,
  opened: (response: Response) => void,
  take: (event: { id?: string; event?: string; data: any }) => void,
): Promise<void>;

/** A client of one server. */
export class Turno {
  constructor(options?: TurnoOptions);
  readonly server: string;
  language: string | null;
  get token(): TokenSource;
  set token(token: TokenSource);
  /** Whether the live stream is open. */
  get live(): boolean;
  /** How long the oldest call has been unanswered; 0 if all are answered. */
  get silent_ms(): number;
  lease(resource: string, options?: Omit<LeaseOptions, 'turno'>): Lease;
  me(): Promise<{ id: string; name: string; permissions: string[]; [member: string]: unknown }>;
  /** Calls the API; `path` begins with `/v1`. Throws a TurnoError if the server refuses. */
  call<T = any>(method: string, path: string, body?: unknown, options?: { timeout_ms?: number }): Promise<T>;
  /** Sends a request with the token or the cookie. */
  request(path: string, init: RequestInit): Promise<Response>;
  /** Sends a request while the page closes, and ignores the answer. */
  farewell(path: string, body: unknown, method?: string): void;
  /** Calls `heard` for every event of a resource, until the returned function is called. */
  watch(
    resource: string,
    heard: (event: { name: string; resource?: string; [member: string]: unknown }) => void,
  ): () => void;
}

/** One lease of this page. */
export class Lease extends EventTarget {
  constructor(resource: string, options?: LeaseOptions);
  readonly turno: Turno;
  readonly resource: string;
  readonly lease: LeaseDocument | null;
  readonly lost: Lost | null;
  readonly turn: TurnPlace | null;
  get state(): LeaseState;
  /** The fence of the grant, to send with every write; null unless the lease is held. */
  get fence(): number | null;
  get expires_in_ms(): number;
  /** The warning as it stands now: why the lease will end if nothing happens, and in how long. */
  get warning(): { reason: 'idle' | 'rolling_timeout'; expires_in_ms: number } | null;
  /** The time until an offer to this person ends; 0 without an offer. */
  get offer_in_ms(): number;
  claim(options?: { wait_ms?: number; ttl_ms?: number | null }): Promise<LeaseDocument>;
  /** If the server does not answer, throws, and sends the release again until it answers or the lease is claimed again. */
  release(): Promise<LeaseDocument | null>;
  forceClaim(reason: string, meant?: { fence?: number }): Promise<LeaseDocument>;
  forceRelease(reason: string, meant?: { fence?: number }): Promise<LeaseDocument>;
  requestRelease(message?: string | null): Promise<LeaseDocument & { told: boolean }>;
  /** Tells everybody who asked for the lease that they have to wait. */
  declineRelease(message?: string | null): Promise<LeaseDocument & { told: boolean }>;
  takeTurn(): Promise<TurnDocument>;
  leaveTurn(): Promise<TurnDocument>;
  /** Reports real work: the next heartbeat restarts the rolling timeout. */
  worked(): void;
  /** Reports that the person is still there. */
  keep(): void;
  refresh(): Promise<LeaseDocument>;
  close(): void;
  addEventListener<K extends keyof LeaseEventMap>(
    type: K,
    listener: (this: Lease, event: LeaseEventMap[K]) => unknown,
    options?: boolean | AddEventListenerOptions,
  ): void;
  addEventListener(
    type: string,
    listener: EventListenerOrEventListenerObject | null,
    options?: boolean | AddEventListenerOptions,
  ): void;
}

/** `<turno-lease resource="…">`. */
export class TurnoLeaseElement extends HTMLElement {
  constructor();
  static readonly observedAttributes: string[];
  get token(): TokenSource;
  set token(token: TokenSource);
  get lease(): Lease | null;
  get state(): LeaseState;
  get fence(): number | null;
  claim(options?: { wait_ms?: number; ttl_ms?: number | null }): Promise<LeaseDocument>;
  release(): Promise<LeaseDocument | null>;
  connectedCallback(): void;
  disconnectedCallback(): void;
  attributeChangedCallback(name: string, before: string | null, after: string | null): void;
}

declare global {
  interface HTMLElementTagNameMap {
    'turno-lease': TurnoLeaseElement;
  }
}
