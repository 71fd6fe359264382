//! The kinds of old data that a purge deletes.

use turno_core::audit::Actor;
use turno_core::id::QueueId;
use turno_core::time::Time;

/// The rows to delete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Purge {
    /// Items of a queue that finished before `before`, with their bodies, errors and ids. Audited as `queue_purge` with
    /// the count, which is also added to the queue's count of purged items.
    Items {
        /// The queue.
        queue: QueueId,
        /// Finished earlier than this.
        before: Time,
        /// The actor, for the audit.
        by: Actor,
    },
    /// Ended ownerships.
    LeaseHistory {
        /// Ended earlier than this.
        before: Time,
    },
    /// Expired tokens.
    Tokens {
        /// Expired earlier than this.
        before: Time,
    },
    /// Expired links.
    Links {
        /// Expired earlier than this.
        before: Time,
    },
    /// Ids of changes that sync items of a queue absorbed.
    Absorbed {
        /// The queue.
        queue: QueueId,
        /// Absorbed earlier than this.
        before: Time,
    },
    /// Delivered states of deactivated keys of a sync queue.
    Delivered {
        /// The queue.
        queue: QueueId,
        /// Deactivated earlier than this.
        before: Time,
    },
    /// Kept answers.
    Answers {
        /// Made earlier than this.
        before: Time,
    },
}
