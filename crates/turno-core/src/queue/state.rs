//! The state of an item, as people see it.

use super::{Ended, Item, Last};
use crate::fault::Vocabulary;
use crate::named::named;
use crate::time::Time;

named! {
    /// The state of an item. Every item is in exactly one state. Counts and lists of a queue use these states.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum ItemState {
        /// The item waits for its turn. A sync item with a newer change during its delivery is pending, too.
        Pending = "pending",
        /// A worker has the item.
        InProcess = "in_process",
        /// A worker acked the item.
        Processed = "processed",
        /// The last attempt failed or expired. The item will be retried.
        Error = "error",
        /// The item has no attempts left.
        Exhausted = "exhausted",
        /// A person cancelled the item.
        Cancelled = "cancelled",
    } else Vocabulary::ItemState
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
    /// Returns the item's state at `now`. The stores repeat this rule in SQL to count and list items.
    pub fn state(&self, now: Time) -> ItemState {
        match self.expires_at {
            _ if self.parked => ItemState::Exhausted,
            Some(_) if self.revision > self.handed => ItemState::Pending,
            Some(at) if now < at => ItemState::InProcess,
            Some(_) => ItemState::Error,
            None if self.last == Last::Failed => ItemState::Error,
            // A return takes its attempt back, so the remaining attempts failed before. After an expiry the attempt is
            // the expired one, unless a newer change has reset the attempts to 0.
            None if matches!(self.last, Last::Returned | Last::Expired) && self.attempt > 0 => ItemState::Error,
            None => ItemState::Pending,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn item_state_is_parsed_from_its_exact_name_only() {
        for state in ItemState::ALL {
            assert_eq!(state.as_str().parse(), Ok(state));
        }
        assert_eq!(
            ItemState::ALL.map(ItemState::as_str).join(" "),
            "pending in_process processed error exhausted cancelled"
        );
        assert!("Pending".parse::<ItemState>().is_err_and(|error| error.known.contains(&"in_process")));
    }
}
