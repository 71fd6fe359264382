//! What happened, as values: written in the transaction that made it true, announced after its commit.

use crate::id::{Fence, UserId};
use crate::time::Time;
use std::sync::Arc;

/// Which stream of events something belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Topic {
    /// Leases: claimed, released, lost, asked for.
    Leases,
    /// Tasks: created, changed, finalized.
    Tasks,
    /// Queues: failures and exhausted items; never one event per processed item.
    Queues,
}

impl Topic {
    /// The topic's name in the live stream.
    pub fn as_str(self) -> &'static str {
        match self {
            Topic::Leases => "leases",
            Topic::Tasks => "tasks",
            Topic::Queues => "queues",
        }
    }
}

/// One committed fact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The stream it belongs to.
    pub topic: Topic,
    /// Its name, noun first and in the past tense: `lease.claimed`.
    pub name: &'static str,
    /// The resource or the item it is about.
    pub resource: Arc<str>,
    /// When it was decided.
    pub at: Time,
    /// The fence of the ownership it is about.
    pub fence: Option<Fence>,
    /// Who did it, or whose ownership it was.
    pub by: Option<UserId>,
    /// A reason or message for people.
    pub detail: Option<String>,
}
