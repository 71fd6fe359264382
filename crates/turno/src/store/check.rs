//! Checks that the stored data keeps the invariants.
//!
//! Each check is one statement, so it sees one consistent snapshot and concurrent commits do not disturb it. It returns
//! the violations; on a sound database there are none.

use super::StoreError;
use serde::Deserialize;
use std::fmt;
use turno_core::audit::Broken;
use turno_core::id::{Lane, QueueId, Seq};

/// One check of the stored data. Its statement says what it looks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Check {
    /// The name of its statement in both stores.
    pub statement: &'static str,
    /// The id of the invariant that is checked.
    pub invariant: &'static str,
    /// Whether a repair can fix the findings. Then each finding names the damaged part.
    pub mendable: bool,
}

impl Check {
    /// All checks, in the order in which they run.
    pub const ALL: [Check; 18] = [
        Check::new("check_fence_reused", "L2"),
        Check::new("check_fence_ahead", "L2"),
        Check::new("check_history_overlap", "L12"),
        Check::new("check_heads", "Q1").mendable(),
        Check::new("check_deliveries", "Q2").mendable(),
        Check::new("check_groups", "Q10").mendable(),
        Check::new("check_finished_twice", "Q4").mendable(),
        Check::new("check_lost", "Q5").mendable(),
        Check::new("check_conditions", "Q8").mendable(),
        Check::new("check_errors_kept", "Q9"),
        Check::new("check_stuck", "Q14").mendable(),
        Check::new("check_sync_doubles", "S3").mendable(),
        Check::new("check_revisions", "S4"),
        Check::new("check_moves", "K1"),
        Check::new("check_fences_of_lines", "K2"),
        Check::new("check_stock", "K3"),
        Check::new("check_positions", "V1"),
        Check::new("check_secrets", "R2"),
    ];

    const fn new(statement: &'static str, invariant: &'static str) -> Check {
        Check { statement, invariant, mendable: false }
    }

    const fn mendable(self) -> Check {
        Check { mendable: true, ..self }
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
        Ok(Finding { invariant: check.invariant, subject, problem, damaged })
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
