//! The metrics. Their handles are cached, so that counting is one addition without a lookup by name.
//!
//! Labels are bounded: fixed words, and the names of the first queues.

use crate::store::Group;
use metrics::{Counter, Histogram};
use std::collections::HashMap;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};
use std::time::Duration;
use turno_core::id::{QueueId, QueueName};
use turno_core::lease::{Action, Beat, Cause, Outcome, Refused};

/// The largest number of queues with their own series. Further queues share one, because every label value is a series
/// forever.
const QUEUES_MAX: usize = 200;
/// The label of the shared series.
const OTHER: &str = "other";

/// Kinds of groups and of transactions.
const KINDS: [&str; 10] =
    ["lease", "enqueue", "claim", "settle", "manage", "typing", "task", "access", "clear", "mixed"];
const MIXED: usize = KINDS.len() - 1;

const ACTIONS: [&str; 15] = [
    "claim",
    "heartbeat",
    "release",
    "force_claim",
    "force_release",
    "expel",
    "request_release",
    "join_line",
    "leave_line",
    "leave",
    "decline",
    "look",
    "keep_place",
    "keep",
    "expire",
];
const EXPIRE: usize = ACTIONS.len() - 1;

const OUTCOMES: [&str; 19] = [
    "granted",
    "renewed",
    "released",
    "kept",
    "repeated",
    "done",
    "nobody",
    "idle",
    "rolling_timeout",
    "held",
    "offered",
    "lost",
    "pinned",
    "line_full",
    "already_holder",
    "idle_missing",
    "ttl_out_of_bounds",
    "no_heartbeat",
    "other",
];

/// The outcome for an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Queued,
    Duplicate,
    Coalesced,
    HandedOut,
    Processed,
    Retrying,
    Exhausted,
    Superseded,
    Returned,
    Renewed,
    Expired,
    Stale,
    Retried,
    Cancelled,
}

/// In the order of [`Fate`].
const FATES: [&str; 14] = [
    "queued",
    "duplicate",
    "coalesced",
    "handed_out",
    "processed",
    "retrying",
    "exhausted",
    "superseded",
    "returned",
    "renewed",
    "expired",
    "stale",
    "retried",
    "cancelled",
];

impl Fate {
    pub(super) fn as_str(self) -> &'static str {
        FATES[self as usize]
    }
}

/// One handle per label value, created on first use, so that a series that never counts is not exported.
struct Cells<T, const N: usize>([OnceLock<T>; N]);

impl<T, const N: usize> Cells<T, N> {
    fn new() -> Self {
        Cells(std::array::from_fn(|_| OnceLock::new()))
    }

    fn at(&self, index: usize, make: impl FnOnce() -> T) -> &T {
        self.0[index].get_or_init(make)
    }
}

/// The metrics of one queue.
pub(super) struct QueueFigures {
    /// The name in the log, which is not bounded.
    name: Arc<str>,
    counts: Arc<ItemCounts>,
}

struct ItemCounts {
    label: Arc<str>,
    cells: Cells<Counter, { FATES.len() }>,
}

impl QueueFigures {
    pub(super) fn name(&self) -> Arc<str> {
        self.name.clone()
    }

    pub(super) fn count(&self, fate: Fate, items: usize) {
        let ItemCounts { label, cells } = &*self.counts;
        let make = || metrics::counter!("turno_items_total", "queue" => label.to_string(), "outcome" => fate.as_str());
        cells.at(fate as usize, make).increment(items as u64);
    }
}

/// The metrics of one engine.
pub(super) struct Figures {
    groups: Cells<Counter, { KINDS.len() }>,
    failed: Cells<Counter, { KINDS.len() }>,
    sizes: Cells<Histogram, { KINDS.len() }>,
    seconds: Cells<Histogram, { KINDS.len() }>,
    leases: [Cells<Counter, { OUTCOMES.len() }>; ACTIONS.len()],
    queues: RwLock<HashMap<QueueId, Arc<QueueFigures>>>,
    other: Arc<ItemCounts>,
}

impl Figures {
    pub(super) fn new() -> Figures {
        Figures {
            groups: Cells::new(),
            failed: Cells::new(),
            sizes: Cells::new(),
            seconds: Cells::new(),
            leases: std::array::from_fn(|_| Cells::new()),
            queues: RwLock::default(),
            other: Arc::new(ItemCounts { label: OTHER.into(), cells: Cells::new() }),
        }
    }

    pub(super) fn remember_queue(&self, id: QueueId, name: &QueueName) {
        if self.queues.read().unwrap_or_else(PoisonError::into_inner).contains_key(&id) {
            return;
        }
        let mut queues = self.queues.write().unwrap_or_else(PoisonError::into_inner);
        let name: Arc<str> = name.as_str().into();
        let counts = if queues.len() < QUEUES_MAX {
            Arc::new(ItemCounts { label: name.clone(), cells: Cells::new() })
        } else {
            self.other.clone()
        };
        queues.entry(id).or_insert_with(|| Arc::new(QueueFigures { name, counts }));
    }

    pub(super) fn queue(&self, id: QueueId) -> Arc<QueueFigures> {
        let known = self.queues.read().unwrap_or_else(PoisonError::into_inner).get(&id).cloned();
        known.unwrap_or_else(|| Arc::new(QueueFigures { name: OTHER.into(), counts: self.other.clone() }))
    }

    pub(super) fn transaction(&self, groups: &[Group], took: Duration) {
        let kind = match groups {
            [group] => kind_and_size(group).0,
            _ => MIXED,
        };
        let make = || metrics::histogram!("turno_commit_seconds", "kind" => KINDS[kind]);
        self.seconds.at(kind, make).record(took.as_secs_f64());
        for group in groups {
            let (kind, size) = kind_and_size(group);
            let make = || metrics::counter!("turno_groups_total", "kind" => KINDS[kind], "outcome" => "committed");
            self.groups.at(kind, make).increment(1);
            let make = || metrics::histogram!("turno_group_size", "kind" => KINDS[kind]);
            self.sizes.at(kind, make).record(size as f64);
        }
    }

    pub(super) fn failed(&self, group: &Group) {
        let (kind, _) = kind_and_size(group);
        let make = || metrics::counter!("turno_groups_total", "kind" => KINDS[kind], "outcome" => "failed");
        self.failed.at(kind, make).increment(1);
    }

    pub(super) fn lease(&self, action: &Action, answer: &Result<Outcome, Refused>) {
        self.count_lease(action_index(action), outcome(answer));
    }

    /// Counts an expired ownership.
    pub(super) fn expired(&self, why: Cause) {
        self.count_lease(EXPIRE, why.as_str());
    }

    fn count_lease(&self, action: usize, outcome: &'static str) {
        let index = OUTCOMES.iter().position(|known| *known == outcome).unwrap_or(OUTCOMES.len() - 1);
        let make = || metrics::counter!("turno_lease_total", "action" => ACTIONS[action], "outcome" => OUTCOMES[index]);
        self.leases[action].at(index, make).increment(1);
    }
}

/// Returns the index of the group's kind and its number of commands.
fn kind_and_size(group: &Group) -> (usize, usize) {
    match group {
        Group::Lease(group) => (0, group.commands.len()),
        Group::Enqueue(group) => (1, group.calls.len()),
        Group::Claim(group) => (2, group.wants().len()),
        Group::Settle(group) => (3, group.settlements.len()),
        Group::Manage(_) => (4, 1),
        Group::Typing(group) => (5, group.keys.len()),
        Group::Task(_) => (6, 1),
        Group::Access(_) => (7, 1),
        Group::Clear(_) => (8, 1),
    }
}

fn action_index(action: &Action) -> usize {
    match action {
        Action::Claim { .. } => 0,
        Action::Heartbeat { .. } => 1,
        Action::Release { .. } => 2,
        Action::ForceClaim { .. } => 3,
        Action::ForceRelease { .. } => 4,
        Action::Expel { .. } => 5,
        Action::RequestRelease { .. } => 6,
        Action::JoinLine => 7,
        Action::LeaveLine => 8,
        Action::Leave { .. } => 9,
        Action::Decline { .. } => 10,
        Action::Look => 11,
        Action::RenewTicket => 12,
        Action::Keep { .. } => 13,
    }
}

fn outcome(answer: &Result<Outcome, Refused>) -> &'static str {
    match answer {
        Ok(Outcome::Beat(Beat::Renewed) | Outcome::Claimed { renewed: true }) => "renewed",
        Ok(Outcome::Claimed { renewed: false }) => "granted",
        Ok(Outcome::Beat(Beat::Idle)) => "idle",
        Ok(Outcome::Beat(Beat::RollingTimeout)) => "rolling_timeout",
        Ok(Outcome::Released { repeated: true, .. }) => "repeated",
        Ok(Outcome::Released { released: true, .. } | Outcome::ForceReleased { changed: true }) => "released",
        Ok(Outcome::Released { released: false, .. }) => "kept",
        Ok(Outcome::ForceReleased { changed: false } | Outcome::ReleaseRequested { delivered: false }) => "nobody",
        Ok(
            Outcome::ReleaseRequested { delivered: true }
            | Outcome::InLine { .. }
            | Outcome::LeftLine
            | Outcome::Looked { .. },
        ) => "done",
        Err(Refused::HeldBy { .. }) => "held",
        Err(Refused::OfferedTo { .. }) => "offered",
        Err(Refused::Lost { .. }) => "lost",
        Err(Refused::Pinned) => "pinned",
        Err(Refused::LineFull) => "line_full",
        Err(Refused::AlreadyHolder) => "already_holder",
        Err(Refused::IdleMissing) => "idle_missing",
        Err(Refused::TtlOutOfBounds { .. } | Refused::KeepOutOfBounds { .. }) => "ttl_out_of_bounds",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queues_beyond_the_bound_share_a_series_and_keep_their_log_names() {
        let figures = Figures::new();
        let name = |n: i32| QueueName::new(format!("q{n}")).unwrap();
        let bound = i32::try_from(QUEUES_MAX).unwrap();
        (0..bound + 2).for_each(|n| figures.remember_queue(QueueId(n), &name(n)));
        let label = |n| figures.queue(QueueId(n)).counts.label.to_string();
        assert_eq!((label(bound - 1), label(bound)), (format!("q{}", bound - 1), OTHER.to_owned()));
        assert_eq!(&*figures.queue(QueueId(bound + 1)).name(), format!("q{}", bound + 1));
    }

    #[test]
    fn every_fate_has_its_own_label() {
        assert_eq!(Fate::Queued.as_str(), "queued");
        assert_eq!(Fate::Stale.as_str(), "stale");
        assert_eq!(Fate::Cancelled.as_str(), "cancelled");
        assert_eq!(Fate::Cancelled as usize, FATES.len() - 1);
    }
}
