// Types inside the module. The public types are in ../turno.d.ts.

import type { LeaseDocument, LeaseEventMap, Problem, TurnDocument } from '../turno.js';
import type { firstState } from './step.js';

/** Both clocks: the steady one can stop while the machine sleeps, the wall clock can be set. */
export interface Clocks {
  steady: number;
  wall: number;
}

/** The moment of an input. */
export interface Moment extends Clocks {
  hidden: boolean;
  /** When the person was last active. */
  active: Clocks;
  /** Whether the live stream is open. */
  live: boolean;
  /** Whether this tab sends the heartbeats. */
  leads: boolean;
  /** Whether no other tab of this browser holds the grant. */
  alone: boolean;
  /** Whether another tab of this browser holds the lease or claims it. */
  near: boolean;
}

export type State = ReturnType<typeof firstState>;

/** One step of the rules. Rules change `state`, which is a copy, and append to `effects`. */
export interface Step {
  state: State;
  now: Moment;
  effects: Effect[];
}

/** What this page holds. */
export interface Grant {
  /** Differs from one grant of this object to the next, also under the same fence. */
  id: number;
  fence: number;
  claim: number;
  ttl_ms: number | null;
}

/** A release that the server has not confirmed. */
export interface Owed {
  id: number;
  fence: number;
  claim: number;
}

/** What a tab held, or asked for, when its page was left. */
export interface Left {
  fence?: number;
  ttl_ms?: number | null;
  /** A claim was unanswered. */
  asked?: boolean;
  /** Wall time. */
  at: number;
}

/** The number of a call of the page that waits for an answer; null if none waits. */
export type Call = number | null;

/** A request to the server. The rules get it back together with the answer. */
export interface LeaseRequest {
  name: RequestName;
  sent: Clocks;
  method: 'GET' | 'POST' | 'DELETE';
  /** The last part of the path; without it the lease itself is read. */
  verb?: string;
  body?: Record<string, any>;
  timeout_ms?: number;
  call?: Call;
  /** The grant at the time of the request. */
  grant?: number | null;
  /** For a heartbeat after a read: the answer to the call that waits. */
  lease?: LeaseDocument | null;
  /** For a read: what follows a failure. */
  failing?: 'failed' | 'unheard' | null;
  /** For a claim: it continues after a reload. */
  resumes?: boolean;
  /** For a release: the number of the release, and the grant whose tabs are told of its end. */
  owed?: number;
  tabs?: number | null;
}

export type RequestName =
  | 'claim'
  | 'resume'
  | 'release'
  | 'heartbeat'
  | 'read'
  | 'forceRelease'
  | 'requestRelease'
  | 'declineRelease'
  | 'takeTurn'
  | 'leaveTurn'
  | 'keepTurn'
  | 'rejoin'
  | 'returnTurn';

export type Timer = 'heartbeat' | 'end' | 'warn' | 'read' | 'poll' | 'resume' | 'owed' | 'turn' | 'offer';

/**
 * A document of the server: the lease, and what only some requests add to it. Numbers that are null in some states count
 * as numbers here, because the rules read them only in the states that have them.
 */
export type Answer = LeaseDocument &
  Partial<Omit<TurnDocument, 'ticket_expires_in_ms'>> & {
    fence: number;
    claim: number;
    expires_in_ms: number;
    offer_expires_in_ms: number;
    ticket_expires_in_ms?: number;
    renewed?: boolean;
    reason?: string;
  };

/** A refusal of the server, or a request without an answer; then there is no status. */
export interface Failure extends Error {
  status?: number;
  code?: string | null;
  problem?: Problem | null;
}

/** A message between the tabs that hold one grant. */
export type TabMessage =
  | { kind: 'lease'; lease: Answer; wall: number; idle: boolean }
  | { kind: 'active'; wall: number }
  | { kind: 'work' }
  | { kind: 'ended' };

/** An event of the stream. */
export interface StreamEvent {
  name: string;
  resource?: string;
  [member: string]: any;
}

export type Input =
  // Calls of the page.
  | { kind: 'opened'; left: Left | null; reloaded: boolean }
  | { kind: 'claim'; call: Call; verb: string; body: Record<string, any>; timeout_ms?: number }
  | { kind: 'release'; call: Call }
  | { kind: 'forceRelease'; call: Call; reason: string; fence?: number }
  | { kind: 'requestRelease'; call: Call; message: string | null }
  | { kind: 'declineRelease'; call: Call; message: string | null }
  | { kind: 'takeTurn'; call: Call }
  | { kind: 'leaveTurn'; call: Call }
  | { kind: 'refresh'; call: Call }
  | { kind: 'worked' }
  | { kind: 'keep' }
  | { kind: 'closed' }
  // The server.
  | { kind: 'answered'; request: LeaseRequest; answer: Answer }
  | { kind: 'failed'; request: LeaseRequest; error: Failure }
  | { kind: 'event'; event: StreamEvent }
  // Time, the person and the page.
  | { kind: 'timer'; timer: Timer; late_ms: number }
  | { kind: 'active' }
  | { kind: 'visibility' }
  | { kind: 'thawed' }
  | { kind: 'online' }
  | { kind: 'left' }
  | { kind: 'restored' }
  // The other tabs.
  | { kind: 'leads'; grant: number }
  | { kind: 'message'; grant: number; message: TabMessage };

/** One input by its kind. */
export type InputOf<K extends Input['kind']> = Extract<Input, { kind: K }>;

export type Effect =
  // The page.
  | { do: 'emit'; name: keyof LeaseEventMap; detail: unknown }
  | { do: 'settle'; call: number; answer: unknown }
  | { do: 'reject'; call: number; error: Error }
  // The server.
  | { do: 'send'; request: LeaseRequest }
  | { do: 'farewell'; body: object }
  // Timers; `spread` bounds the random factor of their time.
  | { do: 'start'; timer: Timer; ms: number; spread: [number, number] }
  | { do: 'clear'; timer: Timer }
  // The person.
  | { do: 'touch'; when: Clocks }
  | { do: 'warned'; on: boolean }
  // What a reload finds.
  | { do: 'remember'; grant: Omit<Left, 'at'> }
  | { do: 'forget' }
  // The other tabs.
  | { do: 'announce' }
  | { do: 'join'; grant: number; fence: number }
  | { do: 'lead'; grant: number; wanted: boolean }
  | { do: 'insist'; grant: number }
  | { do: 'count'; grant: number }
  | { do: 'tell'; grant: number; message: TabMessage }
  | { do: 'quit'; grant: number }
  | { do: 'end' };

/** One effect by its kind. */
export type EffectOf<K extends Effect['do']> = Extract<Effect, { do: K }>;
