//! Who has an item: a process, and the user in whose name it asked.
//!
//! Kept as one text, because it goes into every row that is handed out and nobody searches by its parts: the instance,
//! and behind a separator that no name can contain, the user. A text without one is what a program that embeds the
//! library took for itself.

use crate::id::{Instance, UserId};
use std::fmt;
use std::sync::Arc;

/// No id has control characters.
const BETWEEN: char = '\u{1f}';

/// A process that takes work, perhaps in somebody's name.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Taker(Arc<str>);

impl Taker {
    /// This process, in the name of this user.
    pub fn of(instance: &Instance, user: &UserId) -> Taker {
        Taker(format!("{instance}{BETWEEN}{user}").into())
    }

    /// What is stored.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The process.
    pub fn instance(&self) -> &str {
        self.0.split_once(BETWEEN).map_or(&*self.0, |(instance, _)| instance)
    }

    /// In whose name it asked; nobody's if the engine was asked directly.
    pub fn user(&self) -> Option<&str> {
        self.0.split_once(BETWEEN).map(|(_, user)| user)
    }
}

/// As people read it: the process, and in whose name.
impl fmt::Display for Taker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.user() {
            Some(user) => write!(f, "{} ({user})", self.instance()),
            None => f.write_str(self.instance()),
        }
    }
}

/// From what is stored; an instance alone is a worker in nobody's name.
impl<T: Into<Arc<str>>> From<T> for Taker {
    fn from(stored: T) -> Taker {
        Taker(stored.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_is_read_back_as_the_process_and_the_user_it_was_made_of() {
        let (instance, user) = (Instance::new("bot/1 (ñ)").expect("valid"), UserId::new("ana@x").expect("valid"));
        let worker = Taker::from(Taker::of(&instance, &user).as_str());
        assert_eq!((worker.instance(), worker.user()), ("bot/1 (ñ)", Some("ana@x")));
        let alone = Taker::from("bot-1");
        assert_eq!((alone.instance(), alone.user()), ("bot-1", None));
    }

    #[test]
    fn no_name_can_contain_what_stands_between() {
        assert!(Instance::new(format!("a{BETWEEN}b")).is_err() && UserId::new(format!("a{BETWEEN}b")).is_err());
    }
}
