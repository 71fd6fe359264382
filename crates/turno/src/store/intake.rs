//! The intake: rows that applications leave in their own transactions.

use super::Pending;
use turno_core::id::QueueId;
use turno_core::queue::DeliveryRef;

/// A store whose database has an intake.
pub trait IntakeStore: Send + Sync {
    /// Finds what transactions of applications have enqueued or completed and committed so far. Returns the queues that
    /// have rows to take in.
    fn find(&self, who: IntakeCaller) -> Pending<'_, Vec<QueueId>>;

    /// Takes in one slice of a queue's rows, up to those that [`IntakeStore::find`] has found. A slice is bounded in
    /// rows, bytes and time, and keeps the order of the calls.
    fn take_in(&self, queue: QueueId, who: IntakeCaller) -> Pending<'_, IntakeSlice>;
}

/// The caller of the intake. Callers and the background task have separate connections, so that neither waits for the
/// other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IntakeCaller {
    /// The background task.
    Background,
    /// A call about this queue that waits for the result.
    Caller,
}

/// The result of one slice.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IntakeSlice {
    /// How many rows were taken in.
    pub rows: usize,
    /// Another process is taking in from this queue, so nothing was done.
    pub busy: bool,
    /// Rows are left for another slice.
    pub more: bool,
    /// Completed deliveries of sync queues. From then on the consumer has what it was handed.
    pub completed: Vec<DeliveryRef>,
}
