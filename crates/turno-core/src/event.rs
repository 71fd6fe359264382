//! Events: committed facts, such as `lease.claimed`.
//!
//! A decision returns its events as values. The store writes them in the same transaction as the new state, and the
//! engine announces them to listeners after the commit. So a listener never hears of a change that was rolled back.

mod name;

pub use name::EventName;

use crate::fault::Vocabulary;
use crate::id::{BadName, Fence, UserId};
use crate::lease::Reason;
use crate::named::named;
use crate::queue::Kind;
use crate::time::Time;
use std::sync::Arc;

named! {
    /// The stream that an event belongs to. A listener subscribes to topics.
    ///
    /// A new topic needs a migration that excludes older programs, because they cannot read its events.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum Topic {
        /// Leases: claimed, released, lost, requested.
        Leases = "leases",
        /// Tasks: created, changed, finalized.
        Tasks = "tasks",
        /// Lane and inbox queues: failures, exhausted items, and the health of their destinations. Processed items have no
        /// events, because there are too many of them.
        Queues = "queues",
        /// Sync queues and their sources: as for [`Topic::Queues`], and one event for every key that was delivered.
        Sync = "sync",
        /// Audit: overrides, retries, purges, changes of access.
        Audit = "audit",
    } else Vocabulary::Topic
}

impl Topic {
    /// Returns the topic of a queue of this kind and of its items. Each event has one topic, so a listener to both
    /// topics receives it once.
    pub fn for_kind(kind: Kind) -> Topic {
        match kind {
            Kind::Lane | Kind::Inbox => Topic::Queues,
            Kind::Sync => Topic::Sync,
        }
    }
}

/// A set of topics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Topics(u8);

impl Topics {
    /// Every topic.
    pub const ALL: Topics = Topics((1 << Topic::ALL.len()) - 1);

    /// Returns whether the set contains `topic`.
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

/// Separates users in the stored text. No user id contains it, because ids have no control characters.
const BETWEEN: &str = "\n";

/// One committed fact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The stream that the event belongs to.
    pub topic: Topic,
    /// The event's name.
    pub name: EventName,
    /// The resource or the item that the event is about.
    pub resource: Arc<str>,
    /// The key of the item. Stores do not write it: they look it up when they read the event.
    pub key: Option<Arc<str>>,
    /// The queue of the item. Stores do not write it: they look it up when they read the event.
    pub queue: Option<Arc<str>>,
    /// The time of the decision.
    pub at: Time,
    /// The fence of the ownership or delivery that the event is about.
    pub fence: Option<Fence>,
    /// The user who caused the event, or the holder of the ownership that ended.
    pub by: Option<UserId>,
    /// A reason or message for people.
    pub detail: Option<String>,
    /// The users, besides `by`, who may read a private detail.
    pub to: Vec<UserId>,
}

impl Event {
    /// Returns whether the detail is a message between users or the reason of a person. Only the users concerned and
    /// readers of the audit get it.
    pub fn is_private(&self) -> bool {
        match self.name {
            EventName::LeaseRequested
            | EventName::LeaseDeclined
            | EventName::LeaseForceClaimed
            | EventName::LeaseForceReleased
            | EventName::TaskCancelled => true,
            EventName::LeaseLost => self.detail.as_deref() != Some(Reason::Expired.as_str()),
            _ => false,
        }
    }

    /// Returns whether the event concerns the user: by the user, about the user's ownership, or addressed to the user.
    pub fn concerns(&self, user: &UserId) -> bool {
        self.by.as_ref() == Some(user) || self.to.contains(user)
    }

    /// Renders the addressed users, as the stores keep them. `None` if there are none.
    pub fn to_text(&self) -> Option<String> {
        let users: Vec<&str> = self.to.iter().map(UserId::as_str).collect();
        (!users.is_empty()).then(|| users.join(BETWEEN))
    }

    /// Parses the addressed users from their stored text.
    pub fn parse_to(stored: Option<&str>) -> Result<Vec<UserId>, BadName> {
        stored.map_or_else(|| Ok(Vec::new()), |text| text.split(BETWEEN).map(UserId::new).collect())
    }

    /// Returns the queue that an event of a queue is about. `None` if it is not known any more, because the item was
    /// purged. The resource of a source counts as the queue with the same name.
    pub fn about_queue(&self) -> Option<&str> {
        let item = self.name.as_str().starts_with("item.");
        self.queue.as_deref().or((!item).then_some(&*self.resource))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addressed_users_are_read_back_from_the_stored_text() {
        let user = |id: &str| UserId::new(id).expect("valid");
        let mut event = Event {
            topic: Topic::Leases,
            name: EventName::LeaseDeclined,
            resource: "caja:3".into(),
            key: None,
            queue: None,
            at: Time(1),
            fence: None,
            by: None,
            detail: None,
            to: Vec::new(),
        };
        assert_eq!((event.to_text(), Event::parse_to(None)), (None, Ok(Vec::new())));
        event.to = vec![user("ana, b"), user("leo")];
        assert_eq!(Event::parse_to(event.to_text().as_deref()), Ok(event.to.clone()));
        assert!(event.concerns(&user("leo")) && !event.concerns(&user("eva")));
    }

    #[test]
    fn topic_is_parsed_from_its_exact_name_only() {
        for topic in Topic::ALL {
            assert_eq!(topic.as_str().parse(), Ok(topic));
        }
        assert!("lease".parse::<Topic>().is_err_and(|error| error.known.contains(&"leases")));
    }

    #[test]
    fn topic_set_contains_exactly_the_collected_topics() {
        let some: Topics = [Topic::Leases, Topic::Audit].into_iter().collect();
        let held = Topic::ALL.map(|topic| some.contains(topic));
        assert_eq!(held, [true, false, false, false, true]);
        assert_eq!(Topics::ALL, Topic::ALL.into_iter().collect());
        assert!(Topic::ALL.into_iter().all(|topic| !Topics::default().contains(topic)));
    }
}
