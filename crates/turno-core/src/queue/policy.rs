//! The policy of a queue: which of the three kinds, and its times and bounds.

use crate::id::Seq;
use crate::limits::{ATTEMPTS_MAX, BACKOFF_MAX, BATCH_MAX, SPAN_MAX, SPAN_MIN};
use crate::time::Span;
use serde::{Deserialize, Serialize};

/// How items of a queue relate to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Per key in order, one delivery at a time, messages that arrive together handed over together.
    Lane,
    /// Each item on its own.
    Inbox,
    /// Per key only the newest.
    Sync,
}

impl Kind {
    /// As it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Kind::Lane => "lane",
            Kind::Inbox => "inbox",
            Kind::Sync => "sync",
        }
    }
}

/// What an exhausted head does to its lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnExhausted {
    /// The lane goes on with the next item.
    Continue,
    /// The lane waits until a person decides.
    Hold,
}

/// The policy in force for a queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Policy {
    /// Lane, inbox or sync.
    pub kind: Kind,
    /// How long a hand-out lasts without a beat.
    pub lock_timeout: Span,
    /// How long a hand-out lasts at most, whatever the beats.
    pub max_hold: Option<Span>,
    /// Messages of a key that arrive within this span of each other are handed over together. This and the three below say
    /// how a lane makes groups; other kinds keep them as they were given, and hand out as if they were not there.
    pub window: Span,
    /// How much longer the window stays open after a sign of typing.
    pub typing_extension: Span,
    /// The longest that a window may be stretched.
    pub max_wait: Span,
    /// The most items in one delivery of a lane; what counts is [`Policy::batch`].
    pub batch_max: u32,
    /// Hand-outs before an item is exhausted.
    pub max_attempts: u32,
    /// The first back-off; it doubles.
    pub backoff: Span,
    /// How long finished items and their ids are kept.
    pub retention: Span,
    /// What an exhausted head does to its lane.
    pub on_exhausted: OnExhausted,
}

/// Why a policy is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field} must be between {min} and {max}")]
pub struct BadPolicy {
    /// The field as users know it.
    pub field: &'static str,
    /// Its lower bound.
    pub min: i64,
    /// Its upper bound.
    pub max: i64,
}

impl Policy {
    /// The defaults of a kind.
    pub fn of(kind: Kind) -> Policy {
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

    /// Whether what is exhausted stays among the unfinished items: in a sync queue until a newer change, in a lane that
    /// holds until a person decides.
    pub fn holds_exhausted(&self) -> bool {
        self.kind == Kind::Sync || (self.kind == Kind::Lane && self.on_exhausted == OnExhausted::Hold)
    }

    /// The most items in one delivery. Only a lane hands items over together, and where one goes at a time there is no window
    /// to wait for either.
    pub fn batch(&self) -> u32 {
        if self.kind == Kind::Lane { self.batch_max } else { 1 }
    }

    /// Checks every bound; the first that is broken is named.
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

    /// How long to wait before attempt `attempt + 1` of an item: doubling, bounded, with a jitter that
    /// spreads neighbours and yet is the same every time it is asked.
    pub fn backoff_after(&self, seq: Seq, attempt: u32) -> Span {
        let doubled = self.backoff.0.saturating_mul(1 << attempt.saturating_sub(1).min(30));
        let most = BACKOFF_MAX.0.max(self.backoff.0);
        let bounded = doubled.min(most);
        let spread = scatter(seq.0 as u64 ^ (u64::from(attempt) << 48)) % 256;
        // Bounded again: the hour is promised with the jitter in it.
        Span((bounded + bounded.saturating_mul(spread as i64) / 1024).min(most))
    }
}

/// Mixes the bits of a number well enough that neighbours differ widely.
fn scatter(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_makes_groups_is_taken_by_every_kind_within_its_bounds_and_only_a_lane_goes_by_it() {
        for kind in [Kind::Lane, Kind::Inbox, Kind::Sync] {
            let (window, typing_extension, max_wait) = (Span(5), Span(6), Span(7));
            let full = Policy { window, typing_extension, max_wait, batch_max: 8, ..Policy::of(kind) };
            assert_eq!(full.check(), Ok(()), "{kind:?}");
            assert_eq!(full.batch(), if kind == Kind::Lane { 8 } else { 1 }, "{kind:?}");
            let wrong = Policy { batch_max: 1_001, ..full };
            assert_eq!(wrong.check().map_err(|bad| bad.field), Err("batch_max"), "{kind:?}");
        }
    }
}
