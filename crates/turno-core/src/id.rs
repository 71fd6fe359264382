//! Names, ids and numbers as types, so that a key cannot be passed where a resource is expected.
//!
//! A name is validated once, when it is made at the edge, so the engine never checks it again. Names are shared
//! (`Arc<str>`), because one name is part of a command, a row, an event and an answer.

use crate::limits::{NAME_MAX, SCOPE_MAX};
use serde::de::Unexpected;
use serde::{Deserialize, Deserializer, Serialize};
use std::fmt;
use std::sync::Arc;

/// What a name names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameKind {
    /// A [`Resource`].
    Resource,
    /// A [`UserId`].
    UserId,
    /// An [`Instance`].
    Instance,
    /// A [`QueueName`].
    QueueName,
    /// An [`ItemId`].
    ItemId,
    /// A [`Key`], or the key of a [`Once`].
    Key,
    /// The scope of a [`Once`].
    Scope,
    /// A [`RequestId`].
    RequestId,
    /// A [`Sku`].
    Sku,
    /// A [`Serial`].
    Serial,
    /// The action of an item.
    Action,
}

impl NameKind {
    /// Returns a stable word for programs.
    pub fn as_str(self) -> &'static str {
        match self {
            NameKind::Resource => "resource",
            NameKind::UserId => "user_id",
            NameKind::Instance => "instance",
            NameKind::QueueName => "queue_name",
            NameKind::ItemId => "item_id",
            NameKind::Key => "key",
            NameKind::Scope => "scope",
            NameKind::RequestId => "request_id",
            NameKind::Sku => "sku",
            NameKind::Serial => "serial_number",
            NameKind::Action => "action",
        }
    }

    /// Returns the most characters.
    pub fn max(self) -> usize {
        if self == NameKind::Scope { SCOPE_MAX } else { NAME_MAX }
    }
}

impl fmt::Display for NameKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.as_str().replace('_', " "))
    }
}

/// The reason why a text is not a valid name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadName {
    /// The text has no characters.
    #[error("{kind} is empty; give it 1 to {max} characters", kind = .0, max = .0.max())]
    Empty(NameKind),
    /// The text has more than [`NameKind::max`] characters.
    #[error("{kind} has more than {max} characters; shorten it", kind = .0, max = .0.max())]
    TooLong(NameKind),
    /// The text holds a control character such as a line break.
    #[error("{0} contains a control character; remove it")]
    Control(NameKind),
    /// The text is `.` or `..`, and the name is new.
    #[error("{0} is . or ..; choose another")]
    Dots(NameKind),
}

impl BadName {
    /// Converts the error in the words of serde, so that a deserializer gets data and not a sentence.
    fn into_serde<E: serde::de::Error>(self, text: &str) -> E {
        let expected = "1 to 200 characters without control characters";
        match text.chars().find(|one| one.is_control()) {
            Some(control) if matches!(self, BadName::Control(_)) => {
                E::invalid_value(Unexpected::Char(control), &expected)
            }
            _ => E::invalid_length(text.chars().count(), &expected),
        }
    }
}

fn check(kind: NameKind, text: &str) -> Result<(), BadName> {
    if text.is_empty() {
        return Err(BadName::Empty(kind));
    }
    if text.len() > kind.max() && text.chars().count() > kind.max() {
        return Err(BadName::TooLong(kind));
    }
    if text.chars().any(char::is_control) {
        return Err(BadName::Control(kind));
    }
    Ok(())
}

/// Checks an item's action: the rules of a name, except that an action may be empty.
pub fn check_action(action: &str) -> Result<(), BadName> {
    if action.is_empty() { Ok(()) } else { check(NameKind::Action, action) }
}

macro_rules! name {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
        #[serde(into = "String")]
        pub struct $name(Arc<str>);

        impl $name {
            /// Accepts 1 to 200 characters without control characters.
            pub fn new(text: impl Into<Arc<str>>) -> Result<Self, BadName> {
                let text = text.into();
                check(NameKind::$name, &text)?;
                Ok(Self(text))
            }

            /// Refuses `.` and `..`, for a name that is about to be created. Clients remove these from the path of a URL,
            /// so that such a name could not be reached. Stored names stay usable.
            pub fn for_creation(self) -> Result<Self, BadName> {
                if matches!(self.as_str(), "." | "..") { Err(BadName::Dots(NameKind::$name)) } else { Ok(self) }
            }

            /// Returns the name as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl TryFrom<&str> for $name {
            type Error = BadName;
            fn try_from(text: &str) -> Result<Self, BadName> {
                Self::new(text)
            }
        }

        impl TryFrom<String> for $name {
            type Error = BadName;
            fn try_from(text: String) -> Result<Self, BadName> {
                Self::new(text)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text: Arc<str> = String::deserialize(deserializer)?.into();
                Self::new(text.clone()).map_err(|bad| bad.into_serde(&text))
            }
        }

        impl From<$name> for String {
            fn from(name: $name) -> String {
                name.0.as_ref().to_owned()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

name!(
    /// The name of a resource, on which only one holder may work at a time: a task, a file, a nightly job.
    Resource);
name!(
    /// The id of a person or of a machine's account.
    UserId);
name!(
    /// One running process of a machine's program.
    Instance);
name!(
    /// The name of a queue.
    QueueName);
name!(
    /// The id of an item, unique in its queue.
    ItemId);
name!(
    /// The key that an item belongs to: a user, an account, a record. Items of one key are handed out in order.
    Key);
name!(
    /// The caller's id for one claim of a queue, so that the caller can repeat the claim.
    RequestId);
name!(
    /// The code of an article in stock.
    Sku);
name!(
    /// The serial number of one unit.
    Serial);

/// The key under which a call takes effect at most once, even if the caller repeats it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Once {
    scope: Arc<str>,
    key: Arc<str>,
}

impl Once {
    /// Accepts a key of 1 to 200 characters that the caller chose, and the scope that separates it from the keys of
    /// other callers and other calls.
    pub fn new(scope: &str, key: &str) -> Result<Once, BadName> {
        check(NameKind::Key, key)?;
        check(NameKind::Scope, scope)?;
        Ok(Once { scope: scope.into(), key: key.into() })
    }

    /// Returns the scope: the call, and the caller.
    pub fn scope(&self) -> &str {
        &self.scope
    }

    /// Returns the caller's key.
    pub fn key(&self) -> &str {
        &self.key
    }
}

/// A fence: a number that grows with every new ownership or delivery and is never reused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Fence(pub i64);

/// An item's sequence number: its place in the order of arrival, and its identity inside the engine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Seq(pub i64);

/// The place of an event in the one stream of events.
///
/// Positions are consecutive, and only committed events get one. A listener that has read up to a position continues
/// after it and misses nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Position(pub i64);

impl Position {
    /// Returns the position after this one.
    pub fn next(self) -> Position {
        Position(self.0.saturating_add(1))
    }
}

/// The number of a queue inside the database.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QueueId(pub i32);

/// A lane: all items of one key in one queue, named by a hash of the key.
///
/// Two keys with the same hash share a lane, so their items wait for each other. This has no other effect: replacing an
/// older item of a sync queue compares the keys themselves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Lane(pub i64);

impl Lane {
    /// Returns the lane of `key`.
    pub fn from_key(key: &Key) -> Lane {
        let hash = blake3::hash(key.as_str().as_bytes());
        let first: [u8; 8] = hash.as_bytes()[..8].try_into().expect("a hash has 32 bytes");
        Lane(i64::from_le_bytes(first))
    }
}

/// Fresh numbers from the database's one sequence, taken while the rows of the decision were locked.
///
/// Fences, sequence numbers and revisions all come from this sequence, so each of them only grows.
#[derive(Debug)]
pub struct Numbers(std::vec::IntoIter<i64>);

impl Numbers {
    /// Holds numbers in the order in which the decision uses them.
    pub fn new(ascending: Vec<i64>) -> Numbers {
        Numbers(ascending.into_iter())
    }

    /// Returns the next unused number.
    ///
    /// # Panics
    /// If the group asked the store for fewer numbers than its decision needs, which is a bug in the group.
    pub fn take(&mut self) -> i64 {
        self.0.next().expect("a group asks for as many numbers as its decision can use")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_long_and_control_character_names_are_refused() {
        assert_eq!(Key::new(""), Err(BadName::Empty(NameKind::Key)));
        assert_eq!(Key::new("a\nb"), Err(BadName::Control(NameKind::Key)));
        assert_eq!(Key::new("á".repeat(201)), Err(BadName::TooLong(NameKind::Key)));
        assert!(Key::new("á".repeat(200)).is_ok());
    }

    #[test]
    fn action_follows_the_rules_of_a_name_but_may_be_empty() {
        assert_eq!(check_action(""), Ok(()));
        assert_eq!(check_action(&"á".repeat(200)), Ok(()));
        assert_eq!(check_action(&"á".repeat(201)), Err(BadName::TooLong(NameKind::Action)));
        assert_eq!(check_action("a\tb"), Err(BadName::Control(NameKind::Action)));
    }

    #[test]
    fn once_key_is_a_name_and_its_scope_may_be_three_times_as_long() {
        let scope = format!("POST /v1/tasks {}", "á".repeat(200));
        let once = Once::new(&scope, "k").expect("valid");
        assert_eq!((once.scope(), once.key()), (scope.as_str(), "k"));
        assert_eq!(Once::new(&scope, ""), Err(BadName::Empty(NameKind::Key)));
        assert_eq!(Once::new("", "k"), Err(BadName::Empty(NameKind::Scope)));
        assert_eq!(Once::new(&"x".repeat(601), "k"), Err(BadName::TooLong(NameKind::Scope)));
        assert_eq!(Once::new(&format!("{scope}\n"), "k"), Err(BadName::Control(NameKind::Scope)));
    }

    #[test]
    fn lane_hash_differs_between_keys_and_never_changes() {
        let ana = Lane::from_key(&Key::new("ana").expect("valid"));
        let luis = Lane::from_key(&Key::new("luis").expect("valid"));
        assert_ne!(ana, luis);
        // Databases store the hash. If an upgrade changed it, a key with unfinished items would get a second lane.
        assert_eq!(ana, Lane(i64::from_le_bytes(blake3::hash(b"ana").as_bytes()[..8].try_into().expect("8 bytes"))));
    }
}
