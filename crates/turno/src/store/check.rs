//! Checks that the stored data keeps the invariants.
//!
//! Each check is one statement, so it sees one consistent snapshot and concurrent commits do not disturb it. It returns
//! the violations; on a sound database there are none.

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
    pub subject: String,
    /// The violation, for people.
    pub detail: String,
    /// The part that a repair would rebuild; `None` if a repair cannot fix it.
    pub damaged: Option<Damaged>,
}
