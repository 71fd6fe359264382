//! Names, ids and numbers as types, so that a key cannot be passed where a resource belongs.
//!
//! Texts are validated once, at the edge; inside the engine a name is known to be good. They are shared
//! (`Arc<str>`), because one name travels through a command, a row, an event and an answer.

use crate::limits::{NAME_MAX, SCOPE_MAX};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;

/// Why a text cannot be a name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadName {
    /// The text has no characters.
    #[error("{0} is empty; give it 1 to {NAME_MAX} characters")]
    Empty(&'static str),
    /// The text is longer than [`NAME_MAX`] characters.
    #[error("{0} has more than {NAME_MAX} characters; shorten it")]
    TooLong(&'static str),
    /// The text holds a control character such as a line break.
    #[error("{0} contains a control character; remove it")]
    Control(&'static str),
    /// The text is longer than [`SCOPE_MAX`] characters.
    #[error("{0} has more than {SCOPE_MAX} characters; shorten it")]
    TooWide(&'static str),
}

fn check(what: &'static str, text: &str) -> Result<(), BadName> {
    if text.is_empty() {
        return Err(BadName::Empty(what));
    }
    if text.len() > NAME_MAX && text.chars().count() > NAME_MAX {
        return Err(BadName::TooLong(what));
    }
    if text.chars().any(char::is_control) {
        return Err(BadName::Control(what));
    }
    Ok(())
}

/// Whether a text can say what is to be done with an item: as a name, but it may be empty.
pub fn check_action(action: &str) -> Result<(), BadName> {
    if action.is_empty() { Ok(()) } else { check("action", action) }
}

macro_rules! name {
    ($(#[$doc:meta])* $name:ident, $what:literal) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(Arc<str>);

        impl $name {
            /// Accepts 1 to 200 characters without control characters.
            pub fn new(text: impl Into<Arc<str>>) -> Result<Self, BadName> {
                let text = text.into();
                check($what, &text)?;
                Ok(Self(text))
            }

            /// The name as text.
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
    /// What a lease is about: a task, a file, a nightly job.
    Resource, "resource");
name!(
    /// A person or a machine's account.
    UserId, "user id");
name!(
    /// Which process of a machine's account holds something.
    Instance, "instance");
name!(
    /// A queue's name.
    QueueName, "queue name");
name!(
    /// The id of an item, unique in its queue.
    ItemId, "item id");
name!(
    /// Whose item it is: items of one key are handled one at a time, in order.
    Key, "key");
name!(
    /// A caller's name for one claim, so that it can be repeated.
    RequestId, "request id");
name!(
    /// An article in stock.
    Sku, "sku");
name!(
    /// The serial number of one unit.
    Serial, "serial number");

/// Under which key something happens at most once, however often it is asked for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Once {
    scope: Arc<str>,
    key: Arc<str>,
}

impl Once {
    /// A key of 1 to 200 characters, chosen by whoever asks, within a scope that keeps callers and calls apart.
    pub fn new(scope: &str, key: &str) -> Result<Once, BadName> {
        check("key", key)?;
        match check("scope", scope) {
            Err(BadName::TooLong(_)) if scope.chars().count() <= SCOPE_MAX => {}
            Err(BadName::TooLong(what)) => return Err(BadName::TooWide(what)),
            other => other?,
        }
        if scope.chars().any(char::is_control) {
            return Err(BadName::Control("scope"));
        }
        Ok(Once { scope: scope.into(), key: key.into() })
    }

    /// Whose key it is, and of which call.
    pub fn scope(&self) -> &str {
        &self.scope
    }

    /// The key itself.
    pub fn key(&self) -> &str {
        &self.key
    }
}

/// A fencing number: it grows with every new ownership and is never used again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Fence(pub i64);

/// An item's place in the order of arrival, and its identity inside the engine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Seq(pub i64);

/// A place in the one stream of events: consecutive, and given only to what is committed.
///
/// Whoever has seen everything up to a position goes on behind it and misses nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Position(pub i64);

impl Position {
    /// The one behind it.
    pub fn next(self) -> Position {
        Position(self.0.saturating_add(1))
    }
}

/// A queue's number inside the database.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QueueId(pub i32);

/// A lane: all items of one key in one queue, named by a hash of the key.
///
/// Two keys whose hashes are equal share a lane. That makes them wait for each other, and nothing worse:
/// wherever the key itself matters (coalescing), the key is compared, not its hash.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Lane(pub i64);

impl Lane {
    /// The lane of `key`.
    pub fn of(key: &Key) -> Lane {
        let hash = blake3::hash(key.as_str().as_bytes());
        let first: [u8; 8] = hash.as_bytes()[..8].try_into().expect("a hash has 32 bytes");
        Lane(i64::from_le_bytes(first))
    }
}

/// Fresh numbers from the database's one sequence, taken while the rows of the decision were locked.
///
/// Fences, places and revisions all come from it, so each of them only ever grows.
#[derive(Debug)]
pub struct Numbers(std::vec::IntoIter<i64>);

impl Numbers {
    /// Numbers in the order in which they may be used.
    pub fn new(ascending: Vec<i64>) -> Numbers {
        Numbers(ascending.into_iter())
    }

    /// The next unused number.
    ///
    /// # Panics
    /// If the group asked the store for fewer numbers than its decision needs: a bug in the group.
    pub fn take(&mut self) -> i64 {
        self.0.next().expect("a group asks for as many numbers as its decision can use")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_checked_once_at_the_edge() {
        assert_eq!(Key::new(""), Err(BadName::Empty("key")));
        assert_eq!(Key::new("a\nb"), Err(BadName::Control("key")));
        assert_eq!(Key::new("á".repeat(201)), Err(BadName::TooLong("key")));
        assert!(Key::new("á".repeat(200)).is_ok());
    }

    #[test]
    fn an_action_is_as_long_as_a_name_and_may_be_empty() {
        assert_eq!(check_action(""), Ok(()));
        assert_eq!(check_action(&"á".repeat(200)), Ok(()));
        assert_eq!(check_action(&"á".repeat(201)), Err(BadName::TooLong("action")));
        assert_eq!(check_action("a\tb"), Err(BadName::Control("action")));
    }

    #[test]
    fn a_key_of_something_done_once_is_a_name_and_its_scope_may_hold_several() {
        let scope = format!("POST /v1/tasks {}", "á".repeat(200));
        let once = Once::new(&scope, "k").expect("valid");
        assert_eq!((once.scope(), once.key()), (scope.as_str(), "k"));
        assert_eq!(Once::new(&scope, ""), Err(BadName::Empty("key")));
        assert_eq!(Once::new("", "k"), Err(BadName::Empty("scope")));
        assert_eq!(Once::new(&"x".repeat(601), "k"), Err(BadName::TooWide("scope")));
        assert_eq!(Once::new(&format!("{scope}\n"), "k"), Err(BadName::Control("scope")));
    }

    #[test]
    fn lanes_of_different_keys_differ_and_do_not_change_between_versions() {
        let ana = Lane::of(&Key::new("ana").expect("valid"));
        let luis = Lane::of(&Key::new("luis").expect("valid"));
        assert_ne!(ana, luis);
        // The hash is stored; a different one after an upgrade would open a second lane for a busy key.
        assert_eq!(ana, Lane(i64::from_le_bytes(blake3::hash(b"ana").as_bytes()[..8].try_into().expect("8 bytes"))));
    }
}
