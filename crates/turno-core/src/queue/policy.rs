//! The policy of a queue: its kind, times and bounds.

use crate::id::Seq;
use crate::limits::{ATTEMPTS_MAX, BACKOFF_MAX, BATCH_MAX, SPAN_MAX, SPAN_MIN};
use crate::named::named;
use crate::time::Span;
use serde::{Deserialize, Serialize};
use std::time::Duration;

named! {
    /// How items of a queue relate to each other.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Kind {
        /// The items of a key are handed out in order, one delivery at a time, grouped by a window.
        Lane = "lane",
        /// Each item is handed out once, in no promised order.
        Inbox = "inbox",
        /// A key has at most one unfinished item. A newer change replaces it.
        Sync = "sync",
    }
}

impl Kind {
    /// Returns whether each item needs a key. The items of a key form a lane.
    pub fn needs_key(self) -> bool {
        self != Kind::Inbox
    }
}

/// The effect of an exhausted head on its lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnExhausted {
    /// The next item becomes the head.
    Continue,
    /// The lane hands out nothing until a person decides.
    Hold,
}

/// The policy of a queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Policy {
    /// Lane, inbox or sync.
    pub kind: Kind,
    /// How long a delivery lives without a heartbeat.
    pub lock_timeout: Span,
    /// How long a delivery lives at most. Heartbeats cannot extend it further.
    pub max_hold: Option<Span>,
    /// How long a lane waits after an item for the next one before it hands them out as a group. This and the next
    /// three fields have no effect in inboxes and sync queues.
    pub window: Span,
    /// How long the window stays open after a typing signal.
    pub typing_extension: Span,
    /// The longest time that a window stays open.
    pub max_wait: Span,
    /// The most items in one delivery of a lane. [`Policy::batch`] returns the effective value for every kind.
    pub batch_max: u32,
    /// How many attempts an item has before it is exhausted.
    pub max_attempts: u32,
    /// The first back-off. It doubles with each attempt.
    pub backoff: Span,
    /// How long finished items and their ids are kept.
    pub retention: Span,
    /// The effect of an exhausted head on its lane.
    pub on_exhausted: OnExhausted,
}

/// A policy field outside its bounds.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field} must be between {min} and {max}")]
pub struct BadPolicy {
    /// The configuration key.
    pub field: &'static str,
    /// The lower bound.
    pub min: i64,
    /// The upper bound.
    pub max: i64,
}

impl Policy {
    /// Returns the default policy of a kind.
    pub fn for_kind(kind: Kind) -> Policy {
        let week = Span::from_secs(7 * 86_400);
        let plain = Policy {
            kind,
            lock_timeout: Span::from_secs(60),
            max_hold: None,
            window: Span::ZERO,
            typing_extension: Span::ZERO,
            max_wait: Span::ZERO,
            batch_max: 1,
            max_attempts: 5,
            backoff: Span::from_secs(1),
            retention: week,
            on_exhausted: OnExhausted::Continue,
        };
        match kind {
            Kind::Lane => Policy {
                lock_timeout: Span::from_secs(15),
                max_hold: Some(Span::from_secs(15)),
                window: Span::from_secs(3),
                typing_extension: Span::from_secs(3),
                max_wait: Span::from_secs(30),
                batch_max: 50,
                ..plain
            },
            Kind::Inbox => Policy { max_attempts: 20, ..plain },
            Kind::Sync => plain,
        }
    }

    /// Returns the default policy of a lane.
    pub fn lane() -> Policy {
        Policy::for_kind(Kind::Lane)
    }

    /// Returns the default policy of an inbox.
    pub fn inbox() -> Policy {
        Policy::for_kind(Kind::Inbox)
    }

    /// Returns the default policy of a sync queue.
    pub fn sync() -> Policy {
        Policy::for_kind(Kind::Sync)
    }

    /// Sets how long a delivery lives without a heartbeat.
    pub fn lock_timeout(self, time: Duration) -> Policy {
        Policy { lock_timeout: time.into(), ..self }
    }

    /// Sets how long a delivery lives at most.
    pub fn max_hold(self, time: Duration) -> Policy {
        Policy { max_hold: Some(time.into()), ..self }
    }

    /// Sets how long a lane waits after an item for the next one.
    pub fn window(self, time: Duration) -> Policy {
        Policy { window: time.into(), ..self }
    }

    /// Sets how long the window stays open after a typing signal.
    pub fn typing_extension(self, time: Duration) -> Policy {
        Policy { typing_extension: time.into(), ..self }
    }

    /// Sets the longest time that a window stays open.
    pub fn max_wait(self, time: Duration) -> Policy {
        Policy { max_wait: time.into(), ..self }
    }

    /// Sets the most items in one delivery of a lane.
    pub fn batch_max(self, items: u32) -> Policy {
        Policy { batch_max: items, ..self }
    }

    /// Sets how many attempts an item has.
    pub fn max_attempts(self, attempts: u32) -> Policy {
        Policy { max_attempts: attempts, ..self }
    }

    /// Sets the first back-off, which doubles with each attempt.
    pub fn backoff(self, time: Duration) -> Policy {
        Policy { backoff: time.into(), ..self }
    }

    /// Sets how long finished items and their ids are kept.
    pub fn retention(self, time: Duration) -> Policy {
        Policy { retention: time.into(), ..self }
    }

    /// Sets the effect of an exhausted head on its lane.
    pub fn on_exhausted(self, effect: OnExhausted) -> Policy {
        Policy { on_exhausted: effect, ..self }
    }

    /// Returns whether exhausted items stay among the unfinished items: in a sync queue until a newer change, in a lane
    /// with [`OnExhausted::Hold`] until a person decides.
    pub fn holds_exhausted(&self) -> bool {
        self.kind == Kind::Sync || (self.kind == Kind::Lane && self.on_exhausted == OnExhausted::Hold)
    }

    /// Returns the most items in one delivery. Only lanes form groups. With a batch of 1 there is no window either.
    pub fn batch(&self) -> u32 {
        if self.kind == Kind::Lane { self.batch_max } else { 1 }
    }

    /// Checks every field and returns the first one outside its bounds.
    pub fn check(&self) -> Result<(), BadPolicy> {
        let bound = |field, value: i64, min: i64, max: i64| {
            if (min..=max).contains(&value) { Ok(()) } else { Err(BadPolicy { field, min, max }) }
        };
        bound("lock_timeout_ms", self.lock_timeout.0, SPAN_MIN.0, SPAN_MAX.0)?;
        if let Some(hold) = self.max_hold {
            bound("max_hold_ms", hold.0, SPAN_MIN.0, SPAN_MAX.0)?;
        }
        bound("window_ms", self.window.0, 0, SPAN_MAX.0)?;
        bound("typing_extension_ms", self.typing_extension.0, 0, SPAN_MAX.0)?;
        bound("max_wait_ms", self.max_wait.0, 0, SPAN_MAX.0)?;
        bound("batch_max", self.batch_max.into(), 1, BATCH_MAX as i64)?;
        bound("max_attempts", self.max_attempts.into(), 1, ATTEMPTS_MAX.into())?;
        bound("backoff_ms", self.backoff.0, 1, SPAN_MAX.0)?;
        bound("retention_s", self.retention.0 / 1000, 1, SPAN_MAX.0 / 1000)
    }

    /// Returns the back-off after attempt `attempt` of an item. It doubles with each attempt, up to a maximum. A jitter
    /// of up to 25 % spreads the retries of neighbouring items; it is computed from the item, so it is reproducible.
    pub fn backoff_after(&self, seq: Seq, attempt: u32) -> Span {
        let doubled = self.backoff.0.saturating_mul(1 << attempt.saturating_sub(1).min(30));
        let most = BACKOFF_MAX.0.max(self.backoff.0);
        let bounded = doubled.min(most);
        let spread = scatter(seq.0 as u64 ^ (u64::from(attempt) << 48)) % 256;
        // The documented maximum includes the jitter.
        Span((bounded + bounded.saturating_mul(spread as i64) / 1024).min(most))
    }
}

/// Mixes the bits of a number, so that neighbouring numbers give very different results.
fn scatter(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grouping_fields_are_checked_for_every_kind_and_used_only_by_lanes() {
        for kind in [Kind::Lane, Kind::Inbox, Kind::Sync] {
            let (window, typing_extension, max_wait) = (Span(5), Span(6), Span(7));
            let full = Policy { window, typing_extension, max_wait, batch_max: 8, ..Policy::for_kind(kind) };
            assert_eq!(full.check(), Ok(()), "{kind:?}");
            assert_eq!(full.batch(), if kind == Kind::Lane { 8 } else { 1 }, "{kind:?}");
            let wrong = Policy { batch_max: 1_001, ..full };
            assert_eq!(wrong.check().map_err(|bad| bad.field), Err("batch_max"), "{kind:?}");
        }
    }
}
