//! Every bound of the engine, each with its reason.

use crate::time::Span;

/// Longest name, id or key, in characters: long enough for URLs of resources, short enough for an index.
pub const NAME_MAX: usize = 200;
/// Longest scope of a [`Once`](crate::id::Once) key, in characters: room for three names (the call, its caller, and the
/// user that the caller acts for).
pub const SCOPE_MAX: usize = 3 * NAME_MAX;
/// Longest free text (an override's reason, a request's message, a worker's error), in bytes. Longer text is cut,
/// because it is stored only for people to read.
pub const TEXT_MAX: usize = 4_000;
/// Largest payload of one item, in bytes: the same bound as the HTTP body.
pub const PAYLOAD_MAX: usize = 8 * 1024 * 1024;
/// Largest payload that a list shows, in bytes: a screen of text. A longer one is left out, because a page has up to
/// 1,000 items.
pub const PAYLOAD_LISTED_MAX: usize = 4 * 1024;
/// Payload bytes of one answer, unless configured: a list or a claim ends early, and a lane's group closes. At least one
/// item goes out, so an answer can hold the largest payload.
pub const ANSWER_BYTES: usize = 8 * 1024 * 1024;
/// Payload bytes that one transaction hands out at most to several callers, because they are in memory together. The
/// remaining callers claim again.
pub const CLAIM_BYTES_MAX: usize = 4 * ANSWER_BYTES;
/// Deepest nesting of one payload: common JSON parsers stop at 128 levels, and a response adds some levels around it.
pub const PAYLOAD_DEPTH_MAX: usize = 100;
/// Most entries in one call: bounds a group's transaction and the answer's size.
pub const BATCH_MAX: usize = 1_000;
/// Shortest ttl, lock timeout, idle guard or rolling timeout: with a shorter one, network jitter would end leases.
pub const SPAN_MIN: Span = Span(100);
/// Shortest heartbeat interval: a tenth of the shortest ttl, so that several heartbeats fit into any ttl.
pub const BEAT_MIN: Span = Span(10);
/// Longest configurable span, one year: a longer value is usually a wrong unit.
pub const SPAN_MAX: Span = Span::from_secs(366 * 86_400);
/// Most attempts that a policy may allow, because attempts are stored in two bytes.
pub const ATTEMPTS_MAX: u32 = 10_000;
/// Most tickets in one waiting line: the line is stored in the lease's row, which must stay small.
pub const LINE_MAX: usize = 100;
/// Most open requests to release one lease. With one more, the oldest is dropped, because holders read the newest.
pub const REQUESTS_MAX: usize = 20;
/// How long a ticket in a waiting line lives after it was last renewed.
pub const TICKET_TTL: Span = Span::from_secs(30);
/// A group that failed this often together is handed out item by item, so that only the failing item is exhausted.
pub const TOGETHER_ATTEMPTS: u32 = 2;
/// How many due heads a probe chooses from: more than the failures that mark a destination as down, so that at least
/// one head has not failed yet, and few enough to keep locked.
pub const PROBE_HEADS: usize = 64;
/// How many due heads one transaction locks at most, whatever its callers want together. The remaining callers claim
/// again.
pub const CLAIM_HEADS_MAX: usize = 5_000;
/// Longest back-off between two attempts. The policy's doubling stops here.
pub const BACKOFF_MAX: Span = Span::from_secs(3_600);
/// Longest life of a session for an application's user: the application makes a new one instead of storing it.
pub const SESSION_TTL_MAX: Span = Span::from_secs(900);
/// Most tokens of one person: more than this means that a program leaks tokens.
pub const TOKENS_MAX: i64 = 1_000;
/// Longest time for which a rotated token stays valid beside the new one: time enough to change every program over.
pub const OVERLAP_MAX: Span = Span::from_secs(30 * 86_400);
/// Longest life of a console session: a user signs in again at least once a month.
pub const CONSOLE_TTL_MAX: Span = Span::from_secs(30 * 86_400);
/// Most counts of sign-in attempts that one attempt removes once they have no effect: more than it adds, so that the table
/// does not grow.
pub const PACE_PURGED: i64 = 16;
/// Most console sessions of one person. With one more, the oldest ends.
pub const CONSOLES_MAX: usize = 50;
/// Longest life of a sign-in link: an invitation may wait for a week. A longer-lived link would be a password.
pub const LINK_TTL_MAX: Span = Span::from_secs(7 * 86_400);
/// How long the answer of a repeatable call is kept: callers repeat a call within a day.
pub const ANSWER_KEPT: Span = Span::from_secs(86_400);
/// Most lines of one task: a person works through them, and an answer carries all of them.
pub const LINES_MAX: usize = 500;
/// Most serial numbers on one line.
pub const SERIALS_MAX: usize = 1_000;
/// Most units on one line, and in stock of one article: far beyond any warehouse, far below an overflow.
pub const QUANTITY_MAX: i64 = 1_000_000_000_000;
