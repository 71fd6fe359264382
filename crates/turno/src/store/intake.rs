//! The intake: what applications leave in transactions of their own.

use super::Pending;
use turno_core::id::QueueId;
use turno_core::queue::Handed;

/// A store in which applications can leave something.
pub trait IntakeStore: Send + Sync {
    /// Looks for what was enqueued or completed in transactions that were committed by now. Returns the queues for which
    /// something waits to be taken in.
    fn find(&self, who: TakesIn) -> Pending<'_, Vec<QueueId>>;

    /// Takes in one slice of what waits for a queue, as far as [`IntakeStore::find`] has found it. A slice is bounded in rows,
    /// bytes and time, and in the order of calls.
    fn take_in(&self, queue: QueueId, who: TakesIn) -> Pending<'_, IntakeSlice>;
}

/// Who takes in what applications left. Callers and the background task have connections of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TakesIn {
    /// A task that nobody waits for.
    Background,
    /// Somebody who waits for the answer to a call about this queue.
    Caller,
}

/// What one slice came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IntakeSlice {
    /// How many rows were taken in.
    pub rows: usize,
    /// Another process takes in from this queue at the moment, so nothing was done.
    pub busy: bool,
    /// Something is left for another slice.
    pub more: bool,
    /// Deliveries of sync queues that were completed: what their consumers were handed is known to them from then on.
    pub completed: Vec<Handed>,
}
