//! What people call the condition of an item, finished or not.

use super::{Ended, Item, Last};
use crate::time::Time;
use std::fmt;
use std::str::FromStr;

/// The state of an item. Every item is in exactly one; queues are counted and listed by them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ItemState {
    /// Waits for its turn. Also a sync item that changed while it was being processed.
    Pending,
    /// Somebody works on it.
    InProcess,
    /// Acked.
    Processed,
    /// Its last attempt failed, or was not settled in time; it will be tried again.
    Error,
    /// No attempts left.
    Exhausted,
    /// A person took it out.
    Cancelled,
}

impl ItemState {
    /// All of them.
    pub const ALL: [ItemState; 6] = [
        ItemState::Pending,
        ItemState::InProcess,
        ItemState::Processed,
        ItemState::Error,
        ItemState::Exhausted,
        ItemState::Cancelled,
    ];

    /// The word for it, outside and in the stores' statements.
    pub fn as_str(self) -> &'static str {
        match self {
            ItemState::Pending => "pending",
            ItemState::InProcess => "in_process",
            ItemState::Processed => "processed",
            ItemState::Error => "error",
            ItemState::Exhausted => "exhausted",
            ItemState::Cancelled => "cancelled",
        }
    }
}

impl fmt::Display for ItemState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for ItemState {
    type Err = String;
    fn from_str(text: &str) -> Result<ItemState, String> {
        let found = ItemState::ALL.into_iter().find(|state| state.as_str() == text);
        found.ok_or_else(|| {
            let known = ItemState::ALL.map(ItemState::as_str).join(", ");
            format!("{text:?} is no state of an item; the states are {known}")
        })
    }
}

impl From<Ended> for ItemState {
    fn from(ended: Ended) -> ItemState {
        match ended {
            Ended::Processed => ItemState::Processed,
            Ended::Exhausted => ItemState::Exhausted,
            Ended::Cancelled => ItemState::Cancelled,
        }
    }
}

impl Item {
    /// What people call its condition at `now`. Stores count and list by the same rule in SQL.
    pub fn state(&self, now: Time) -> ItemState {
        match self.expires_at {
            _ if self.parked => ItemState::Exhausted,
            Some(_) if self.revision > self.handed => ItemState::Pending,
            Some(at) if now < at => ItemState::InProcess,
            Some(_) => ItemState::Error,
            None if self.last == Last::Failed => ItemState::Error,
            // As if it had not been handed out: what it has still spent are attempts that failed before. After an expiry that
            // is the expired one, unless a change came meanwhile, of which nothing was tried.
            None if matches!(self.last, Last::Returned | Last::Expired) && self.attempt > 0 => ItemState::Error,
            None => ItemState::Pending,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_state_is_read_from_its_own_word_and_from_no_other() {
        for state in ItemState::ALL {
            assert_eq!(state.as_str().parse(), Ok(state));
        }
        assert_eq!(
            ItemState::ALL.map(ItemState::as_str).join(" "),
            "pending in_process processed error exhausted cancelled"
        );
        assert!("Pending".parse::<ItemState>().is_err_and(|error| error.contains("in_process")));
    }
}
