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
    /// Messages of a key that arrive within this span of each other are handed over together.
    pub window: Span,
    /// How much longer the window stays open after a sign of typing.
    pub typing_extension: Span,
    /// The longest that a window may be stretched.
    pub max_wait: Span,
    /// The most items in one delivery.
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

/// A policy as people write it: the kind, and what is to differ from the kind's defaults. The names are those of the
/// API and of the configuration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PolicyFields {
    /// Lane, inbox or sync.
    pub kind: Kind,
    /// [`Policy::lock_timeout`].
    #[serde(default)]
    pub lock_timeout_ms: Option<i64>,
    /// [`Policy::max_hold`].
    #[serde(default)]
    pub max_hold_ms: Option<i64>,
    /// [`Policy::window`].
    #[serde(default)]
    pub window_ms: Option<i64>,
    /// [`Policy::typing_extension`].
    #[serde(default)]
    pub typing_extension_ms: Option<i64>,
    /// [`Policy::max_wait`].
    #[serde(default)]
    pub max_wait_ms: Option<i64>,
    /// [`Policy::batch_max`].
    #[serde(default)]
    pub batch_max: Option<u32>,
    /// [`Policy::max_attempts`].
    #[serde(default)]
    pub max_attempts: Option<u32>,
    /// [`Policy::backoff`].
    #[serde(default)]
    pub backoff_ms: Option<i64>,
    /// [`Policy::retention`].
    #[serde(default)]
    pub retention_s: Option<i64>,
    /// [`Policy::on_exhausted`].
    #[serde(default)]
    pub on_exhausted: Option<OnExhausted>,
}

impl PolicyFields {
    /// Nothing but the kind's defaults.
    pub fn of(kind: Kind) -> PolicyFields {
        PolicyFields {
            kind,
            lock_timeout_ms: None,
            max_hold_ms: None,
            window_ms: None,
            typing_extension_ms: None,
            max_wait_ms: None,
            batch_max: None,
            max_attempts: None,
            backoff_ms: None,
            retention_s: None,
            on_exhausted: None,
        }
    }

    /// The policy in force, checked: the kind's defaults where nothing is said.
    ///
    /// A lock that is to last longer than the kind's longest hold stretches that too, unless it is given: who asks for
    /// a minute does not want a quarter of it.
    ///
    /// ```
    /// use turno_core::queue::{Kind, PolicyFields};
    /// use turno_core::time::Span;
    /// let fields = PolicyFields { window_ms: Some(0), max_attempts: Some(3), ..PolicyFields::of(Kind::Lane) };
    /// let policy = fields.policy()?;
    /// assert_eq!((policy.window, policy.max_attempts, policy.batch_max), (Span::ZERO, 3, 50));
    /// assert!(PolicyFields { backoff_ms: Some(0), ..fields }.policy().is_err(), "at least a millisecond");
    /// # Ok::<(), turno_core::queue::BadPolicy>(())
    /// ```
    pub fn policy(&self) -> Result<Policy, BadPolicy> {
        let plain = Policy::of(self.kind);
        let span = |given: Option<i64>, default: Span| given.map_or(default, Span);
        let lock_timeout = span(self.lock_timeout_ms, plain.lock_timeout);
        let policy = Policy {
            kind: self.kind,
            lock_timeout,
            max_hold: self.max_hold_ms.map(Span).or(plain.max_hold.map(|hold| hold.max(lock_timeout))),
            window: span(self.window_ms, plain.window),
            typing_extension: span(self.typing_extension_ms, plain.typing_extension),
            max_wait: span(self.max_wait_ms, plain.max_wait),
            batch_max: self.batch_max.unwrap_or(plain.batch_max),
            max_attempts: self.max_attempts.unwrap_or(plain.max_attempts),
            backoff: span(self.backoff_ms, plain.backoff),
            retention: self.retention_s.map_or(plain.retention, |s| Span(s.saturating_mul(1_000))),
            on_exhausted: self.on_exhausted.unwrap_or(plain.on_exhausted),
        };
        policy.check()?;
        Ok(policy)
    }
}

impl From<&Policy> for PolicyFields {
    /// All of it said.
    fn from(policy: &Policy) -> PolicyFields {
        PolicyFields {
            kind: policy.kind,
            lock_timeout_ms: Some(policy.lock_timeout.0),
            max_hold_ms: policy.max_hold.map(|hold| hold.0),
            window_ms: Some(policy.window.0),
            typing_extension_ms: Some(policy.typing_extension.0),
            max_wait_ms: Some(policy.max_wait.0),
            batch_max: Some(policy.batch_max),
            max_attempts: Some(policy.max_attempts),
            backoff_ms: Some(policy.backoff.0),
            retention_s: Some(policy.retention.0 / 1_000),
            on_exhausted: Some(policy.on_exhausted),
        }
    }
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
        let most = if self.kind == Kind::Lane { BATCH_MAX as i64 } else { 1 };
        bound("batch_max", self.batch_max.into(), 1, most)?;
        bound("max_attempts", self.max_attempts.into(), 1, ATTEMPTS_MAX.into())?;
        bound("backoff_ms", self.backoff.0, 1, SPAN_MAX.0)?;
        bound("retention_s", self.retention.0 / 1000, 1, SPAN_MAX.0 / 1000)
    }

    /// How long to wait before attempt `attempt + 1` of an item: doubling, bounded, with a jitter that
    /// spreads neighbours and yet is the same every time it is asked.
    pub fn backoff_after(&self, seq: Seq, attempt: u32) -> Span {
        let doubled = self.backoff.0.saturating_mul(1 << attempt.saturating_sub(1).min(30));
        let bounded = doubled.min(BACKOFF_MAX.0.max(self.backoff.0));
        let spread = scatter(seq.0 as u64 ^ (u64::from(attempt) << 48)) % 256;
        Span(bounded + bounded.saturating_mul(spread as i64) / 1024)
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
    fn a_policy_written_out_field_by_field_is_the_same_policy() {
        for kind in [Kind::Lane, Kind::Inbox, Kind::Sync] {
            assert_eq!(PolicyFields::of(kind).policy(), Ok(Policy::of(kind)), "nothing said means the defaults");
            assert_eq!(PolicyFields::from(&Policy::of(kind)).policy(), Ok(Policy::of(kind)));
        }
        let text = r#"{"kind":"lane","lock_timeout_ms":101,"max_hold_ms":102,"window_ms":103,"typing_extension_ms":104,
            "max_wait_ms":105,"batch_max":106,"max_attempts":107,"backoff_ms":108,"retention_s":109,"on_exhausted":"hold"}"#;
        let policy = serde_json::from_str::<PolicyFields>(text).unwrap().policy().unwrap();
        let expected = Policy {
            kind: Kind::Lane,
            lock_timeout: Span(101),
            max_hold: Some(Span(102)),
            window: Span(103),
            typing_extension: Span(104),
            max_wait: Span(105),
            batch_max: 106,
            max_attempts: 107,
            backoff: Span(108),
            retention: Span(109_000),
            on_exhausted: OnExhausted::Hold,
        };
        assert_eq!(policy, expected);
        assert!(serde_json::from_str::<PolicyFields>(r#"{"kind":"lane","windowms":1}"#).is_err(), "a slip is noticed");
    }

    #[test]
    fn a_longer_lock_stretches_the_default_hold_and_never_a_given_one() {
        let fields = PolicyFields { lock_timeout_ms: Some(60_000), ..PolicyFields::of(Kind::Lane) };
        assert_eq!(fields.policy().unwrap().max_hold, Some(Span(60_000)));
        let short = PolicyFields { lock_timeout_ms: Some(1_000), ..fields.clone() };
        assert_eq!(short.policy().unwrap().max_hold, Some(Span(15_000)), "heartbeats may stretch it up to the default");
        let given = PolicyFields { max_hold_ms: Some(20_000), ..fields };
        assert_eq!(given.policy().unwrap().max_hold, Some(Span(20_000)));
    }
}
