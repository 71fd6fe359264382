// Types of turno.js. A test compares its exports and its classes' members with the module's.

/** The person, or the machine's account. */
export interface Holder {
  id: string;
  name: string;
  instance: string | null;
}

/** Somebody asked the holder to let go. */
export interface ReleaseRequest {
  by: Holder;
  message: string | null;
  at: string;
  /** When the holder answered that they go on; null if they have not answered. */
  declined_at: string | null;
  /** What they said to that. */
  answer: string | null;
}

/** The times that govern a lease. */
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

/** How this page sees the lease; see the class `Lease`. */
export type LeaseState = 'unknown' | 'free' | 'held' | 'elsewhere' | 'other' | 'offered' | 'lost';

/** How an ownership ended. */
export interface Lost {
  reason: 'expired' | 'taken' | 'released' | 'forced';
  cause: 'no_heartbeat' | 'idle' | 'rolling_timeout' | 'override' | 'user_disabled' | 'released' | 'forbidden' | null;
  /** Who did it, for an override. */
  by: string | null;
  /** How they are called. */
  by_name: string | null;
  /** The override's reason. */
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

/** What each event carries as `detail`. */
export interface LeaseEventMap {
  /** Anything has changed. */
  state: CustomEvent<StateDetail>;
  /** It is held, for the first time or again. */
  held: CustomEvent<{ lease: LeaseDocument }>;
  /** It will end soon unless the person is active on a page that is seen (`idle`), or works (`rolling_timeout`). */
  'idle-warning': CustomEvent<{
    reason: 'idle' | 'rolling_timeout';
    expires_in_ms: number;
    lease: LeaseDocument;
  }>;
  /** The warning is over. */
  active: CustomEvent<StateDetail>;
  /** Somebody asks for it. */
  requested: CustomEvent<ReleaseRequest>;
  /** It is not held any more. */
  lost: CustomEvent<Lost & { lease: LeaseDocument | null }>;
  /** With `single`: another page of this person goes on; `near` if it is one of this browser. */
  moved: CustomEvent<StateDetail & { near: boolean }>;
  /** It was held, and nobody knows whether it still is. */
  unknown: CustomEvent<StateDetail>;
  /** It is this person's turn, for a moment. */
  offered: CustomEvent<{ lease: LeaseDocument; offer_ms: number }>;
  /** The place in line has changed; `missed` if it was offered and not taken, `over` if what it was waited for has ended
   * (the task's status, such as `completed`). */
  turn: CustomEvent<TurnPlace & { missed: boolean; over: string | true | null }>;
  /** Something failed that will not mend itself, such as a token that is refused. */
  error: CustomEvent<{ error: Error }>;
}

/** What a token function may give: the token, or what POST /v1/sessions answered. */
export type GivenToken = string | { token: string; expires_at?: string | null } | null;

/** A token, or a function that is asked for one whenever the last has died or is about to. */
export type TokenSource = string | (() => GivenToken | Promise<GivenToken>) | null;

export interface TurnoOptions {
  /** Where the server is; by default, where this module was loaded from. */
  server?: string;
  /** Without one, the cookie of the console is used, which works on the server's own pages only. */
  token?: TokenSource;
  /** Of the sentences for people: `es` or `en`. By default, what the browser asks for. */
  language?: string | null;
}

export interface LeaseOptions extends TurnoOptions {
  turno?: Turno | null;
  /** Which of several holders of one account this is; people need none. */
  instance?: string | null;
  /** Of several pages of one person only the one that claimed last holds it; by default all of them do, together. */
  single?: boolean;
}

/** An answer that says no. */
export class TurnoError extends Error {
  constructor(status: number, problem: Problem | null);
  readonly status: number;
  readonly code: string | null;
  readonly problem: Problem | null;
}

/** A token from the application's own backend, which answers as POST /v1/sessions does. */
export function tokenFrom(url: string | URL, init?: RequestInit): () => Promise<GivenToken>;

/** Follows Server-Sent Events until they end or are silent for too long; `opened` may refuse the answer by throwing. */
export function follow(
  ask: (signal: AbortSignal) => Promise<Response>,
  signal: AbortSignal,
  opened: (response: Response) => void,
  take: (event: { id?: string; event?: string; data: any }) => void,
): Promise<void>;

/** Talks to a server. */
export class Turno {
  constructor(options?: TurnoOptions);
  readonly server: string;
  language: string | null;
  get token(): TokenSource;
  set token(token: TokenSource);
  /** Whether changes are heard as they happen. */
  get live(): boolean;
  /** For how long the server owes an answer; 0 while it answers. */
  get silent_ms(): number;
  lease(resource: string, options?: Omit<LeaseOptions, 'turno'>): Lease;
  me(): Promise<{ id: string; name: string; permissions: string[]; [member: string]: unknown }>;
  /** One call of the API. */
  call<T = any>(method: string, path: string, body?: unknown, options?: { timeout_ms?: number }): Promise<T>;
  /** One request, with whatever says who we are. */
  request(path: string, init: RequestInit): Promise<Response>;
  /** Something to be said while the page goes away. */
  farewell(path: string, body: unknown, method?: string): void;
  /** Hears of everything about a resource until the returned function is called. */
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
  /** Goes along with everything that is done under the lease; null unless it is held. */
  get fence(): number | null;
  get expires_in_ms(): number;
  /** What somebody is warned of, as it stands now: why it will end if nothing happens, and in how long. */
  get warning(): { reason: 'idle' | 'rolling_timeout'; expires_in_ms: number } | null;
  /** Until an offer to this person passes; 0 without one. */
  get offer_in_ms(): number;
  claim(options?: { wait_ms?: number; ttl_ms?: number | null }): Promise<LeaseDocument>;
  /** Throws where nobody answers, and is sent again until somebody does or it is claimed again. */
  release(): Promise<LeaseDocument | null>;
  forceClaim(reason: string, meant?: { fence?: number }): Promise<LeaseDocument>;
  forceRelease(reason: string, meant?: { fence?: number }): Promise<LeaseDocument>;
  requestRelease(message?: string | null): Promise<LeaseDocument & { told: boolean }>;
  /** Tells all who have asked that they have to wait. */
  declineRelease(message?: string | null): Promise<LeaseDocument & { told: boolean }>;
  takeTurn(): Promise<TurnDocument>;
  leaveTurn(): Promise<TurnDocument>;
  /** Real work was done: the rolling timeout begins anew. */
  worked(): void;
  /** The person is still there. */
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
