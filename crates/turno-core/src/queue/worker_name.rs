//! The worker that has an item: a process (instance), and the user in whose name it claims.
//!
//! Both are stored as one text, because every row that is handed out contains it and no query searches by its parts.
//! The text is the instance, a separator that no name can contain, and the user. A program that embeds the library and
//! claims without a user stores the instance alone.

use crate::id::{Instance, UserId};
use std::fmt;
use std::sync::Arc;

/// Separates instance and user. No name contains it, because names have no control characters.
const BETWEEN: char = '\u{1f}';

/// The worker of a delivery: an instance, and the user in whose name it claims, if any.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct WorkerName(Arc<str>);

impl WorkerName {
    /// Makes the worker from an instance and its user.
    pub fn new(instance: &Instance, user: &UserId) -> WorkerName {
        WorkerName(format!("{instance}{BETWEEN}{user}").into())
    }

    /// Returns the stored text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the instance.
    pub fn instance(&self) -> &str {
        self.0.split_once(BETWEEN).map_or(&*self.0, |(instance, _)| instance)
    }

    /// Returns the user, or `None` if the engine was called without one.
    pub fn user(&self) -> Option<&str> {
        self.0.split_once(BETWEEN).map(|(_, user)| user)
    }
}

/// Renders the worker for people: `instance (user)`.
impl fmt::Display for WorkerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.user() {
            Some(user) => write!(f, "{} ({user})", self.instance()),
            None => f.write_str(self.instance()),
        }
    }
}

/// Reads the stored text. An instance alone is a worker without a user.
impl<T: Into<Arc<str>>> From<T> for WorkerName {
    fn from(stored: T) -> WorkerName {
        WorkerName(stored.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instance_and_user_are_read_back_from_the_stored_text() {
        let (instance, user) = (Instance::new("bot/1 (ñ)").expect("valid"), UserId::new("ana@x").expect("valid"));
        let worker = WorkerName::from(WorkerName::new(&instance, &user).as_str());
        assert_eq!((worker.instance(), worker.user()), ("bot/1 (ñ)", Some("ana@x")));
        let alone = WorkerName::from("bot-1");
        assert_eq!((alone.instance(), alone.user()), ("bot-1", None));
    }

    #[test]
    fn no_name_can_contain_the_separator() {
        assert!(Instance::new(format!("a{BETWEEN}b")).is_err() && UserId::new(format!("a{BETWEEN}b")).is_err());
    }
}
