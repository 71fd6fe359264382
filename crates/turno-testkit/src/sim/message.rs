//! What clients say to instances, and what they are told.

use std::sync::Arc;
use turno::store::{ManageGroup, ManageOutcome};
use turno_core::id::{ItemId, Key};
use turno_core::lease::{Command, Outcome, Refused, State};
use turno_core::queue::{Accepted, Body, Delivery, Enqueue, Settle, SettleOutcome, Want};
use turno_core::time::Time;

/// A client that nobody answers: the sweepers.
pub(crate) const NOBODY: usize = usize::MAX;

/// One request, on its way or in an instance.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) id: u64,
    pub(crate) client: usize,
    pub(crate) ask: Ask,
}

#[derive(Clone, Debug)]
pub(crate) enum Ask {
    Lease(Command),
    Enqueue(Enqueue),
    Claim { queue: usize, want: Want, item: Option<ItemId> },
    Settle(Settle),
    Manage(ManageGroup),
    Typing { queue: usize, key: Key },
    Pause { queue: usize, paused: bool },
}

impl Ask {
    /// Whether an instance may decide the two together.
    pub(crate) fn goes_with(&self, other: &Ask) -> bool {
        match (self, other) {
            (Ask::Lease(_), Ask::Lease(_)) | (Ask::Enqueue(_), Ask::Enqueue(_)) | (Ask::Settle(_), Ask::Settle(_)) => {
                true
            }
            (Ask::Claim { queue, item: None, .. }, Ask::Claim { queue: theirs, item: None, .. }) => queue == theirs,
            _ => false,
        }
    }
}

/// A delivery with what it carries, as the worker sees it.
#[derive(Clone, Debug)]
pub(crate) struct Work {
    pub(crate) delivery: Delivery,
    pub(crate) bodies: Vec<Body>,
}

#[derive(Clone, Debug)]
pub(crate) enum Reply {
    Lease { answer: Result<Outcome, Refused>, view: Arc<State> },
    Enqueue(Vec<Accepted>),
    Claim(Vec<Work>),
    Settle(SettleOutcome),
    Manage(ManageOutcome),
    Done,
}

/// What a commit answered, call by call.
#[derive(Debug)]
pub(crate) struct Answered {
    pub(crate) now: Time,
    pub(crate) replies: Vec<Reply>,
}
