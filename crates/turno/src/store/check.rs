//! Looking whether what is stored keeps the promises.
//!
//! Each check is one statement, hence one consistent look, which a live database does not disturb. It answers what
//! it found to be wrong; on a sound database that is nothing.

use turno_core::id::{Lane, QueueId, Seq};

/// One look at the stored data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Check {
    /// Fences of a resource only grow.
    FenceReused,
    /// Nothing is numbered beyond the sequence.
    FenceAhead,
    /// Ownerships of a resource follow each other.
    HistoryOverlap,
    /// A lane has one head.
    Heads,
    /// A lane has one delivery.
    Deliveries,
    /// A delivery has as many items as it was handed out with.
    Groups,
    /// What finished is over.
    FinishedTwice,
    /// Nothing disappears.
    Lost,
    /// An item's condition makes sense.
    Conditions,
    /// What is exhausted keeps its errors.
    ErrorsKept,
    /// Work that waits can run.
    Stuck,
    /// One unfinished item per key.
    SyncDoubles,
    /// Revisions do not run ahead.
    Revisions,
    /// Moves of stock belong to applied lines.
    Moves,
    /// Lines were applied under fences of their task.
    FencesOfLines,
    /// Stock is the sum of its moves.
    Stock,
    /// Positions of events are consecutive.
    Positions,
    /// Secrets are hashes.
    Secrets,
}

impl Check {
    /// All of them, in the order in which they are made.
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

    /// The invariant that it looks at, by its id.
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

    /// Whether a repair mends what it finds; then its findings say where.
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

/// The part of a queue that a repair rebuilds: a lane, or the one item that has no lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Damaged {
    /// The queue.
    pub queue: QueueId,
    /// The lane, if it is known.
    pub lane: Option<Lane>,
    /// The item, if the finding is about one.
    pub seq: Option<Seq>,
}

/// Something that is not as promised.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The invariant that is broken, by its id.
    pub invariant: &'static str,
    /// What it is about.
    pub subject: String,
    /// What is wrong with it.
    pub detail: String,
    /// What a repair would rebuild; none if a repair cannot mend it.
    pub damaged: Option<Damaged>,
}
