//! The names of events, as they are stored and sent.

use std::fmt;
use std::sync::Arc;

/// The name of an event, noun first and in the past tense.
///
/// A name that a newer program has stored is read as [`EventName::Other`], so that listeners still receive the event.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum EventName {
    /// A user or program claimed the lease.
    LeaseClaimed,
    /// The holder, a person, claimed the lease again, perhaps in another window.
    LeaseClaimedAgain,
    /// The holder released the lease.
    LeaseReleased,
    /// The ownership expired, or an override ended it.
    LeaseLost,
    /// The holder's page was closed, so the lease ends soon.
    LeaseLeaving,
    /// The holder released the lease, which stays held until its expiry.
    LeaseKept,
    /// The lease is reserved for the first ticket.
    LeaseOffered,
    /// A user asked the holder to release the lease.
    LeaseRequested,
    /// The holder declined to release the lease.
    LeaseDeclined,
    /// A supervisor took the lease.
    LeaseForceClaimed,
    /// A supervisor released the lease.
    LeaseForceReleased,
    /// The task was completed or cancelled, so its waiting line is empty.
    LeaseLineClosed,
    /// The task was created.
    TaskCreated,
    /// The title or the lines of the task changed.
    TaskChanged,
    /// A line of the task changed.
    TaskLineChanged,
    /// The task can be processed.
    TaskReady,
    /// A user began to process the task.
    TaskProcessing,
    /// Every line of the task was applied.
    TaskCompleted,
    /// Some lines of the task were applied.
    TaskPartiallyCompleted,
    /// The task was cancelled.
    TaskCancelled,
    /// The effect of a line was applied.
    TaskLineApplied,
    /// The effect of a line was refused.
    TaskLineFailed,
    /// An attempt failed, and another one follows.
    ItemFailed,
    /// The last attempt failed.
    ItemExhausted,
    /// An exhausted item was queued again.
    ItemRevived,
    /// The destination confirmed the key of a sync queue.
    ItemDelivered,
    /// The key of a sync queue needed no delivery.
    ItemSkipped,
    /// Calls to the destination have stopped.
    DestinationDown,
    /// A probe was sent to the destination.
    DestinationProbed,
    /// The destination answers again.
    DestinationRecovered,
    /// Items that the outage exhausted were queued again.
    DestinationRevived,
    /// The triggers of a sync source were installed.
    SourceInstalled,
    /// The triggers of a sync source were removed.
    SourceRemoved,
    /// Keys of a sync source were queued again.
    SourceResent,
    /// An entry was added to the audit.
    AuditRecorded,
    /// A name that this program does not know.
    Other(Arc<str>),
}

impl EventName {
    /// Every name that this program knows.
    pub const ALL: [EventName; 35] = [
        EventName::LeaseClaimed,
        EventName::LeaseClaimedAgain,
        EventName::LeaseReleased,
        EventName::LeaseLost,
        EventName::LeaseLeaving,
        EventName::LeaseKept,
        EventName::LeaseOffered,
        EventName::LeaseRequested,
        EventName::LeaseDeclined,
        EventName::LeaseForceClaimed,
        EventName::LeaseForceReleased,
        EventName::LeaseLineClosed,
        EventName::TaskCreated,
        EventName::TaskChanged,
        EventName::TaskLineChanged,
        EventName::TaskReady,
        EventName::TaskProcessing,
        EventName::TaskCompleted,
        EventName::TaskPartiallyCompleted,
        EventName::TaskCancelled,
        EventName::TaskLineApplied,
        EventName::TaskLineFailed,
        EventName::ItemFailed,
        EventName::ItemExhausted,
        EventName::ItemRevived,
        EventName::ItemDelivered,
        EventName::ItemSkipped,
        EventName::DestinationDown,
        EventName::DestinationProbed,
        EventName::DestinationRecovered,
        EventName::DestinationRevived,
        EventName::SourceInstalled,
        EventName::SourceRemoved,
        EventName::SourceResent,
        EventName::AuditRecorded,
    ];

    /// Returns the name as it is stored and sent.
    pub fn as_str(&self) -> &str {
        match self {
            EventName::LeaseClaimed => "lease.claimed",
            EventName::LeaseClaimedAgain => "lease.claimed_again",
            EventName::LeaseReleased => "lease.released",
            EventName::LeaseLost => "lease.lost",
            EventName::LeaseLeaving => "lease.leaving",
            EventName::LeaseKept => "lease.kept",
            EventName::LeaseOffered => "lease.offered",
            EventName::LeaseRequested => "lease.requested",
            EventName::LeaseDeclined => "lease.declined",
            EventName::LeaseForceClaimed => "lease.force_claimed",
            EventName::LeaseForceReleased => "lease.force_released",
            EventName::LeaseLineClosed => "lease.line_closed",
            EventName::TaskCreated => "task.created",
            EventName::TaskChanged => "task.changed",
            EventName::TaskLineChanged => "task.line_changed",
            EventName::TaskReady => "task.ready",
            EventName::TaskProcessing => "task.processing",
            EventName::TaskCompleted => "task.completed",
            EventName::TaskPartiallyCompleted => "task.partially_completed",
            EventName::TaskCancelled => "task.cancelled",
            EventName::TaskLineApplied => "task.line_applied",
            EventName::TaskLineFailed => "task.line_failed",
            EventName::ItemFailed => "item.failed",
            EventName::ItemExhausted => "item.exhausted",
            EventName::ItemRevived => "item.revived",
            EventName::ItemDelivered => "item.delivered",
            EventName::ItemSkipped => "item.skipped",
            EventName::DestinationDown => "destination.down",
            EventName::DestinationProbed => "destination.probed",
            EventName::DestinationRecovered => "destination.recovered",
            EventName::DestinationRevived => "destination.revived",
            EventName::SourceInstalled => "source.installed",
            EventName::SourceRemoved => "source.removed",
            EventName::SourceResent => "source.resent",
            EventName::AuditRecorded => "audit.recorded",
            EventName::Other(name) => name,
        }
    }
}

impl From<&str> for EventName {
    fn from(stored: &str) -> EventName {
        let known = EventName::ALL.into_iter().find(|name| name.as_str() == stored);
        known.unwrap_or_else(|| EventName::Other(stored.into()))
    }
}

impl fmt::Display for EventName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
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
        let named = include_str!("name.rs").matches("=> \"").count();
        assert_eq!(EventName::ALL.len(), named, "`ALL` has every name of `as_str`");
        let newer = EventName::from("lease.lent");
        assert_eq!((newer.as_str(), &newer), ("lease.lent", &EventName::Other("lease.lent".into())));
    }
}
