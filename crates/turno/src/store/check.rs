//! Checks that the stored data keeps the invariants.
//!
//! Each check is one statement, so it sees one consistent snapshot and concurrent commits do not disturb it. It returns
//! the violations; on a sound database there are none.

use super::StoreError;
use serde::Deserialize;
use std::fmt;
use turno_core::audit::Broken;
use turno_core::id::{Lane, QueueId, Seq};

/// One check of the stored data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Check {
    /// Fences of a resource only grow.
    FenceReused,
    /// No number is higher than the sequence.
    FenceAhead,
    /// Ownerships of a resource do not overlap.
    HistoryOverlap,
    /// A lane has at most one head, and it is the first item.
    Heads,
    /// A lane has at most one delivery.
    Deliveries,
    /// A delivery has as many items as it was handed out with.
    Groups,
    /// A finished item is not unfinished as well.
    FinishedTwice,
    /// Every item has a row that says where it stands.
    Lost,
    /// The columns of an item do not contradict each other.
    Conditions,
    /// An exhausted item keeps its errors.
    ErrorsKept,
    /// A lane with waiting work has a head that can run.
    Stuck,
    /// A sync key has at most one unfinished item.
    SyncDoubles,
    /// A handed-out revision is not newer than the item's.
    Revisions,
    /// Every stock move belongs to an applied line.
    Moves,
    /// Applied lines carry fences of their task's lease.
    FencesOfLines,
    /// Stock is the sum of its moves.
    Stock,
    /// Positions of events are consecutive.
    Positions,
    /// Secrets are stored only as hashes.
    Secrets,
}

impl Check {
    /// All checks, in the order in which they run.
    pub const ALL: [Check; 18] = [
        Check::FenceReused,
        Check::FenceAhead,
        Check::HistoryOverlap,
        Check::Heads,
        Check::Deliveries,
        Check::Groups,
        Check::FinishedTwice,
        Check::Lost,
        Check::Conditions,
        Check::ErrorsKept,
        Check::Stuck,
        Check::SyncDoubles,
        Check::Revisions,
        Check::Moves,
        Check::FencesOfLines,
        Check::Stock,
        Check::Positions,
        Check::Secrets,
    ];

    /// Returns the id of the invariant that is checked.
    pub fn invariant(self) -> &'static str {
        match self {
            Check::FenceReused | Check::FenceAhead => "L2",
            Check::HistoryOverlap => "L12",
            Check::Heads => "Q1",
            Check::Deliveries => "Q2",
            Check::Groups => "Q10",
            Check::FinishedTwice => "Q4",
            Check::Lost => "Q5",
            Check::Conditions => "Q8",
            Check::ErrorsKept => "Q9",
            Check::Stuck => "Q14",
            Check::SyncDoubles => "S3",
            Check::Revisions => "S4",
            Check::Moves => "K1",
            Check::FencesOfLines => "K2",
            Check::Stock => "K3",
            Check::Positions => "V1",
            Check::Secrets => "R2",
        }
    }

    /// Returns whether a repair can fix the findings. Then each finding names the damaged part.
    pub fn is_mendable(self) -> bool {
        matches!(
            self,
            Check::Heads
                | Check::Deliveries
                | Check::Groups
                | Check::FinishedTwice
                | Check::Lost
                | Check::Conditions
                | Check::Stuck
                | Check::SyncDoubles
        )
    }
}

/// The part of a queue that a repair rebuilds: a lane, or one item without a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Damaged {
    /// The queue.
    pub queue: QueueId,
    /// The lane, if it is known.
    pub lane: Option<Lane>,
    /// The item, if the finding is about one.
    pub seq: Option<Seq>,
}

/// A violation of an invariant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The id of the broken invariant.
    pub invariant: &'static str,
    /// The row that is affected.
    pub subject: Subject,
    /// The violation.
    pub problem: Problem,
    /// The part that a repair would rebuild; `None` if a repair cannot fix it.
    pub damaged: Option<Damaged>,
}

impl Finding {
    /// Reads a finding from the JSON that the statement of a check returns.
    pub(crate) fn from_json(check: Check, json: &str, damaged: Option<Damaged>) -> Result<Finding, StoreError> {
        let unreadable = |_| StoreError::Bug("the result of a check is unreadable");
        let subject = serde_json::from_str(json).map_err(unreadable)?;
        let problem = serde_json::from_str(json).map_err(unreadable)?;
        Ok(Finding { invariant: check.invariant(), subject, problem, damaged })
    }
}

/// The row that a finding is about. Only the fields that identify it are set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
#[expect(missing_docs, reason = "each field is the noun of its name")]
pub struct Subject {
    pub queue: Option<String>,
    pub key: Option<String>,
    pub item: Option<String>,
    pub lane: Option<i64>,
    /// The number of an item, where its id is unknown.
    pub place: Option<i64>,
    pub resource: Option<String>,
    pub task: Option<i64>,
    pub line: Option<i64>,
    pub article: Option<String>,
    pub position: Option<i64>,
    pub token: Option<String>,
}

impl Subject {
    /// Returns the nouns and names that identify the row, from the whole to the part. Of key, item, lane and place, the
    /// first known one is enough.
    pub fn parts(&self) -> Vec<(&'static str, String)> {
        let number = |number: Option<i64>| number.map(|number| number.to_string());
        let within = [
            ("key", self.key.clone()),
            ("item", self.item.clone()),
            ("lane", number(self.lane)),
            ("place", number(self.place)),
        ];
        let within = within.into_iter().find(|(_, name)| name.is_some());
        let parts = [("queue", self.queue.clone())].into_iter().chain(within).chain([
            ("resource", self.resource.clone()),
            ("task", number(self.task)),
            ("line", number(self.line)),
            ("article", self.article.clone()),
            ("position", number(self.position)),
            ("token", self.token.clone()),
        ]);
        parts.filter_map(|(noun, name)| Some((noun, name?))).collect()
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts: Vec<String> = self.parts().into_iter().map(|(noun, name)| format!("{noun} {name}")).collect();
        f.write_str(&parts.join(", "))
    }
}

/// A problem of a row.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(tag = "problem", rename_all = "snake_case")]
#[non_exhaustive]
#[expect(missing_docs, reason = "the fields are the numbers of their sentence")]
pub enum Problem {
    /// A lane has several heads.
    SeveralHeads { count: i64 },
    /// The head of a lane is not its first item.
    HeadNotFirst,
    /// A lane has several deliveries, or a head beside a delivery.
    SeveralDeliveries { count: i64 },
    /// A delivery has another number of items than it was handed out with.
    GroupSize { fence: i64, size: i64, count: i64 },
    /// An item is finished and unfinished.
    FinishedTwice,
    /// An accepted item is neither finished nor unfinished.
    NoRow,
    /// An unfinished item has no contents.
    NoContents,
    /// A finished item has no contents.
    FinishedWithoutContents,
    /// An item is ready and handed out, or exhausted and ready.
    Contradiction,
    /// No error of an exhausted item is stored.
    NoError,
    /// No claim can reach the item or lane.
    Unreachable,
    /// A sync key has several unfinished items.
    SyncDoubles { count: i64 },
    /// A revision was handed out that is newer than the item's.
    RevisionAhead { handed: i64, newest: i64 },
    /// A number is higher than the sequence.
    BeyondSequence { number: i64, newest: i64 },
    /// A held fence is not newer than an ended one.
    FenceNotNewer { fence: i64, ended: i64 },
    /// An ownership began before the previous one ended. Both times are milliseconds since 1970.
    Overlap { fence: i64, began: i64, ended: i64 },
    /// A line was applied under a fence that its task's lease never had.
    FenceNeverHeld { fence: i64 },
    /// Stock moved for a line that is not applied.
    MovedUnapplied,
    /// A line of a completed task is not applied.
    CompletedUnapplied,
    /// Stock is not the sum of its moves.
    StockDiffers { quantity: i64, moved: i64, serials: i64, named: i64 },
    /// The position after this one is missing.
    Gap { next: i64 },
    /// A secret is not stored as a hash.
    NotAHash,
    /// The hash chain of the audit is broken.
    #[serde(skip)]
    AuditBroken(Broken),
}
