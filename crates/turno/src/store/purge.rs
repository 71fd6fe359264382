//! What is forgotten once it is old.

use turno_core::audit::Actor;
use turno_core::id::QueueId;
use turno_core::time::Time;

/// What is to be forgotten.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Purge {
    /// Items of a queue that finished before then, with their bodies, errors and ids. Audited as `queue_purge` with
    /// the count, and added to the queue's count of purged items.
    Items {
        /// The queue.
        queue: QueueId,
        /// Finished earlier than this.
        before: Time,
        /// Who wants it.
        by: Actor,
    },
    /// Ownerships that ended before then.
    LeaseHistory {
        /// Ended earlier than this.
        before: Time,
    },
    /// Tokens that expired before then.
    Tokens {
        /// Expired earlier than this.
        before: Time,
    },
    /// Links that expired before then.
    Links {
        /// Expired earlier than this.
        before: Time,
    },
    /// Ids of changes that items of a queue took in before then.
    Absorbed {
        /// The queue.
        queue: QueueId,
        /// Taken in earlier than this.
        before: Time,
    },
    /// What a destination was told of keys of a queue that were deactivated before then.
    Delivered {
        /// The queue.
        queue: QueueId,
        /// Deactivated earlier than this.
        before: Time,
    },
    /// Answers that were made before then.
    Answers {
        /// Made earlier than this.
        before: Time,
    },
}
