//! What a run that ends by itself has given back, and does not take again: whoever cannot do it now cannot do it a moment
//! later either, and a run that tried it over and over would never end.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use super::site::{Taken, Work};

/// All that the hands of a run have given back.
#[derive(Debug, Default)]
pub(super) struct GivenBack(Mutex<HashSet<Work>>);

impl GivenBack {
    /// Before it is given back, so that no other hand takes it for new.
    pub(super) fn note(&self, taken: &Taken) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend(taken.work.iter().cloned());
    }

    /// Whether any of it was given back. What has arrived behind it in its lane waits with it.
    pub(super) fn has(&self, taken: &Taken) -> bool {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        taken.work.iter().any(|work| known.contains(work))
    }

    pub(super) fn count(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).len()
    }
}
