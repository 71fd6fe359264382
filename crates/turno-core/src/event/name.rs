//! The names of events, as they are stored and sent.

use crate::named::named;

named! {
    /// The name of an event, noun first and in the past tense.
    ///
    /// A name that a newer program has stored is read as [`EventName::Other`], so that listeners still receive the event.
    #[derive(Clone, Debug, PartialEq, Eq, Hash)]
    pub enum EventName {
        /// A user or program claimed the lease.
        LeaseClaimed = "lease.claimed",
        /// The holder, a person, claimed the lease again, perhaps in another window.
        LeaseClaimedAgain = "lease.claimed_again",
        /// The holder released the lease.
        LeaseReleased = "lease.released",
        /// The ownership expired, or an override ended it.
        LeaseLost = "lease.lost",
        /// The holder's page was closed, so the lease ends soon.
        LeaseLeaving = "lease.leaving",
        /// The holder released the lease, which stays held until its expiry.
        LeaseKept = "lease.kept",
        /// The lease is reserved for the first ticket.
        LeaseOffered = "lease.offered",
        /// A user asked the holder to release the lease.
        LeaseRequested = "lease.requested",
        /// The holder declined to release the lease.
        LeaseDeclined = "lease.declined",
        /// A supervisor took the lease.
        LeaseForceClaimed = "lease.force_claimed",
        /// A supervisor released the lease.
        LeaseForceReleased = "lease.force_released",
        /// The task was completed or cancelled, so its waiting line is empty.
        LeaseLineClosed = "lease.line_closed",
        /// The task was created.
        TaskCreated = "task.created",
        /// The title or the lines of the task changed.
        TaskChanged = "task.changed",
        /// A line of the task changed.
        TaskLineChanged = "task.line_changed",
        /// The task can be processed.
        TaskReady = "task.ready",
        /// A user began to process the task.
        TaskProcessing = "task.processing",
        /// Every line of the task was applied.
        TaskCompleted = "task.completed",
        /// Some lines of the task were applied.
        TaskPartiallyCompleted = "task.partially_completed",
        /// The task was cancelled.
        TaskCancelled = "task.cancelled",
        /// The effect of a line was applied.
        TaskLineApplied = "task.line_applied",
        /// The effect of a line was refused.
        TaskLineFailed = "task.line_failed",
        /// An attempt failed, and another one follows.
        ItemFailed = "item.failed",
        /// The last attempt failed.
        ItemExhausted = "item.exhausted",
        /// An exhausted item was queued again.
        ItemRevived = "item.revived",
        /// The destination confirmed the key of a sync queue.
        ItemDelivered = "item.delivered",
        /// The key of a sync queue needed no delivery.
        ItemSkipped = "item.skipped",
        /// Calls to the destination have stopped.
        DestinationDown = "destination.down",
        /// A probe was sent to the destination.
        DestinationProbed = "destination.probed",
        /// The destination answers again.
        DestinationRecovered = "destination.recovered",
        /// Items that the outage exhausted were queued again.
        DestinationRevived = "destination.revived",
        /// The triggers of a sync source were installed.
        SourceInstalled = "source.installed",
        /// The triggers of a sync source were removed.
        SourceRemoved = "source.removed",
        /// Keys of a sync source were queued again.
        SourceResent = "source.resent",
        /// An entry was added to the audit.
        AuditRecorded = "audit.recorded",
        ;
        /// A name that this program does not know.
        Other(Arc<str>),
    }
}

impl From<&str> for EventName {
    fn from(stored: &str) -> EventName {
        let known = EventName::ALL.into_iter().find(|name| name.as_str() == stored);
        known.unwrap_or_else(|| EventName::Other(stored.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_event_name_is_read_back_even_if_it_is_unknown() {
        for name in EventName::ALL {
            assert_eq!(EventName::from(name.as_str()), name);
        }
        let newer = EventName::from("lease.lent");
        assert_eq!((newer.as_str(), &newer), ("lease.lent", &EventName::Other("lease.lent".into())));
    }
}
