//! The items that a run with `--until-empty` has returned. The run does not process them again: a second try so soon
//! would return them, too, and the run would never end.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use super::site::{Delivery, ItemRevision};

/// Returned items, shared by all slots of a run.
#[derive(Debug, Default)]
pub(super) struct GivenBack(Mutex<HashSet<ItemRevision>>);

impl GivenBack {
    /// Records the items. Called before they are returned, so that no other slot takes them for new.
    pub(super) fn note(&self, taken: &Delivery) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend(taken.items.iter().cloned());
    }

    /// Returns whether one of the items was returned before. Items behind it in its lane wait with it.
    pub(super) fn has(&self, taken: &Delivery) -> bool {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        taken.items.iter().any(|item| known.contains(item))
    }

    pub(super) fn count(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).len()
    }
}
