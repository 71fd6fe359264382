//! The calls of clients and the answers of instances.

use std::sync::Arc;
use turno::store::{LineStep, ManageGroup, ManageOutcome, TaskOutcome};
use turno_core::id::{Fence, ItemId, Key};
use turno_core::lease::{Command, Holder, Outcome, Refused, State};
use turno_core::queue::{Accepted, Body, ClaimRequest, Delivery, Enqueue, Settle, SettleOutcome};
use turno_core::task::{self, Apply, Finalized, TaskId};
use turno_core::time::Time;

/// The client id of calls without a client: the sweepers'.
pub(crate) const NO_CLIENT: usize = usize::MAX;

/// One request, on its way or in an instance.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) id: u64,
    pub(crate) client: usize,
    pub(crate) ask: Ask,
    /// The finalize that the call is a step of, or 0 for a call from outside.
    pub(crate) job: u64,
    /// How often the call was repeated because the lease was pinned.
    pub(crate) tries: u32,
}

impl Call {
    pub(crate) fn new(id: u64, client: usize, ask: Ask) -> Call {
        Call { id, client, ask, job: 0, tries: 0 }
    }
}

#[derive(Clone, Debug)]
pub(crate) enum Ask {
    Lease(Command),
    Enqueue(Enqueue),
    Claim {
        queue: usize,
        want: ClaimRequest,
        item: Option<ItemId>,
    },
    Settle(Settle),
    Manage(ManageGroup),
    Typing {
        queue: usize,
        key: Key,
    },
    Pause {
        queue: usize,
        paused: bool,
    },
    Task(Box<task::Command>),
    /// Applies every line and then closes the task. The instance turns it into calls of its own.
    Finalize {
        task: TaskId,
        who: Holder,
        fence: Fence,
    },
    /// Applies one line of a finalize.
    Apply(Arc<Apply>),
}

impl Ask {
    /// Returns whether an instance may decide the two calls in one group.
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

/// A delivery with its payloads, as the worker sees it.
#[derive(Clone, Debug)]
pub(crate) struct WorkerDelivery {
    pub(crate) delivery: Delivery,
    pub(crate) bodies: Vec<Body>,
}

#[derive(Clone, Debug)]
pub(crate) enum Reply {
    Lease { answer: Result<Outcome, Refused>, view: Arc<State> },
    Enqueue(Vec<Accepted>),
    Claim(Vec<WorkerDelivery>),
    Settle(SettleOutcome),
    Manage(ManageOutcome),
    Task(Box<TaskOutcome>),
    Line(LineStep),
    Finalized(Result<Finalized, task::Refused>),
    Done,
}

impl Reply {
    /// Returns whether the lease was pinned by a finalize. The engine then repeats the call a moment later.
    pub(crate) fn is_pinned(&self) -> bool {
        match self {
            Reply::Lease { answer, .. } => *answer == Err(Refused::Pinned),
            Reply::Task(outcome) => outcome.answer == Err(task::Refused::Lease(Refused::Pinned)),
            _ => false,
        }
    }
}

/// The answers of a commit, call by call.
#[derive(Debug)]
pub(crate) struct Answered {
    pub(crate) now: Time,
    pub(crate) replies: Vec<Reply>,
}
