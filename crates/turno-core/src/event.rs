//! What happened, as values: written in the transaction that made it true, announced after its commit.

use crate::id::{Fence, UserId};
use crate::queue::Kind;
use crate::time::Time;
use std::borrow::Cow;
use std::str::FromStr;
use std::sync::Arc;

/// Which stream of events something belongs to.
///
/// A new one needs a migration that older programs are not compatible with: they could not read its events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Topic {
    /// Leases: claimed, released, lost, asked for.
    Leases,
    /// Tasks: created, changed, finalized.
    Tasks,
    /// Queues of lanes and inboxes: failures, exhausted items, and how their destinations are doing; never one event per
    /// processed item.
    Queues,
    /// Sync queues and their sources: the same, and every key that arrived, since its whole point is that it does.
    Sync,
    /// Audit: overrides, retries, purges, changes of access.
    Audit,
}

/// No topic has this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no topic; use leases, tasks, queues, sync or audit")]
pub struct UnknownTopic(pub String);

impl Topic {
    /// Where the events of a queue and of its items belong. Each has one topic, so that nobody who listens to both hears
    /// it twice.
    pub fn of(kind: Kind) -> Topic {
        match kind {
            Kind::Lane | Kind::Inbox => Topic::Queues,
            Kind::Sync => Topic::Sync,
        }
    }

    /// All of them.
    pub const ALL: [Topic; 5] = [Topic::Leases, Topic::Tasks, Topic::Queues, Topic::Sync, Topic::Audit];

    /// The topic's name in the live stream.
    pub fn as_str(self) -> &'static str {
        match self {
            Topic::Leases => "leases",
            Topic::Tasks => "tasks",
            Topic::Queues => "queues",
            Topic::Sync => "sync",
            Topic::Audit => "audit",
        }
    }
}

impl FromStr for Topic {
    type Err = UnknownTopic;
    fn from_str(text: &str) -> Result<Topic, UnknownTopic> {
        Topic::ALL.into_iter().find(|topic| topic.as_str() == text).ok_or_else(|| UnknownTopic(text.to_owned()))
    }
}

/// Some of the topics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Topics(u8);

impl Topics {
    /// Every topic.
    pub const ALL: Topics = Topics((1 << Topic::ALL.len()) - 1);

    /// Whether `topic` is one of them.
    pub fn contains(self, topic: Topic) -> bool {
        self.0 & Topics::from(topic).0 != 0
    }
}

impl From<Topic> for Topics {
    fn from(topic: Topic) -> Topics {
        Topics(1 << topic as u8)
    }
}

impl FromIterator<Topic> for Topics {
    fn from_iter<I: IntoIterator<Item = Topic>>(topics: I) -> Topics {
        Topics(topics.into_iter().fold(0, |all, topic| all | Topics::from(topic).0))
    }
}

/// One committed fact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The stream it belongs to.
    pub topic: Topic,
    /// Its name, noun first and in the past tense: `lease.claimed`. Owned only where it was read back.
    pub name: Cow<'static, str>,
    /// The resource or the item it is about.
    pub resource: Arc<str>,
    /// The key of the item it is about. Never written: it is looked up when the event is read back.
    pub key: Option<Arc<str>>,
    /// When it was decided.
    pub at: Time,
    /// The fence of the ownership it is about.
    pub fence: Option<Fence>,
    /// Who did it, or whose ownership it was.
    pub by: Option<UserId>,
    /// A reason or message for people.
    pub detail: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_topic_is_found_by_its_name_and_nothing_else_is() {
        for topic in Topic::ALL {
            assert_eq!(topic.as_str().parse(), Ok(topic));
        }
        assert_eq!("lease".parse::<Topic>(), Err(UnknownTopic("lease".to_owned())));
    }

    #[test]
    fn a_set_of_topics_holds_what_was_put_into_it() {
        let some: Topics = [Topic::Leases, Topic::Audit].into_iter().collect();
        let held = Topic::ALL.map(|topic| some.contains(topic));
        assert_eq!(held, [true, false, false, false, true]);
        assert_eq!(Topics::ALL, Topic::ALL.into_iter().collect());
        assert!(Topic::ALL.into_iter().all(|topic| !Topics::default().contains(topic)));
    }
}
