//! Every bound of the engine, each with its reason.

use crate::time::Span;

/// Longest name, id or key, in characters: long enough for URLs of resources, short enough for an index.
pub const NAME_MAX: usize = 200;
/// Longest scope of something that is done once, in characters: a call, its caller, and whom that speaks for.
pub const SCOPE_MAX: usize = 3 * NAME_MAX;
/// Longest free text (an override's reason, a request's message, a worker's error), in bytes: kept for people.
pub const TEXT_MAX: usize = 4_000;
/// Largest payload of one item, in bytes: the same bound as the HTTP body.
pub const PAYLOAD_MAX: usize = 8 * 1024 * 1024;
/// Deepest nesting of one payload: common readers of JSON stop at 128 levels, and answers put some around a payload.
pub const PAYLOAD_DEPTH_MAX: usize = 100;
/// Most entries in one call: bounds a group's transaction and the answer's size.
pub const BATCH_MAX: usize = 1_000;
/// Shortest ttl, lock timeout, idle guard or rolling timeout: below it network jitter decides, not the policy.
pub const SPAN_MIN: Span = Span(100);
/// Shortest heartbeat interval: a third of the shortest ttl, and room below it.
pub const BEAT_MIN: Span = Span(10);
/// Longest configurable span: a year; anything longer is a mistake in the unit.
pub const SPAN_MAX: Span = Span::from_secs(366 * 86_400);
/// Most attempts that a policy may allow; attempts are stored in two bytes.
pub const ATTEMPTS_MAX: u32 = 10_000;
/// Most people in one waiting line: more are told to come back, the row stays small.
pub const LINE_MAX: usize = 100;
/// Most open requests to release one lease; the oldest is dropped, a person reads only the newest anyway.
pub const REQUESTS_MAX: usize = 20;
/// How long a place in a waiting line lives without being repeated.
pub const TICKET_TTL: Span = Span::from_secs(30);
/// A group that failed this often together is handed out one by one, so that only the poison is exhausted.
pub const TOGETHER_ATTEMPTS: u32 = 2;
/// Of how many due heads a probe chooses: more than fail before a destination is left alone, and few to keep locked.
pub const PROBE_HEADS: usize = 64;
/// Longest back-off between two attempts, whatever the policy's doubling says.
pub const BACKOFF_MAX: Span = Span::from_secs(3_600);
/// Longest life of a session made for an application's user: it is renewed by the application, not kept.
pub const SESSION_TTL_MAX: Span = Span::from_secs(900);
/// Most tokens of one person: more are a leak, not a need.
pub const TOKENS_MAX: i64 = 1_000;
/// Longest life of a console's session: after a month even the most regular user can sign in again.
pub const CONSOLE_TTL_MAX: Span = Span::from_secs(30 * 86_400);
/// Most console's sessions of one person: with one more, the oldest ends.
pub const CONSOLES_MAX: usize = 50;
/// Longest life of a sign-in link: an invitation may wait for a week, what lives longer is a password.
pub const LINK_TTL_MAX: Span = Span::from_secs(7 * 86_400);
/// How long the answer to a call that is done once is kept: whoever repeats it does so sooner.
pub const ANSWER_KEPT: Span = Span::from_secs(86_400);
/// Most lines of one task: a person works through them, and an answer carries all of them.
pub const LINES_MAX: usize = 500;
/// Most serial numbers on one line.
pub const SERIALS_MAX: usize = 1_000;
/// Most units on one line, and in stock of one article: far beyond any warehouse, far below an overflow.
pub const QUANTITY_MAX: i64 = 1_000_000_000_000;
