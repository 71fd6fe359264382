//! What becomes of an exhausted item with which a destination was probed in vain.

use super::{Item, Last, SettleOutcome, Work};

impl Work<'_> {
    /// Makes the item exhausted as before, unless a newer change has come meanwhile. The error is kept among the newest
    /// that came back only, because probes may go on for days.
    pub(super) fn park(&mut self, members: Vec<Item>, error: Option<&str>) -> SettleOutcome {
        let mut outcome = SettleOutcome::Returned;
        for mut item in members {
            if item.revision > item.handed {
                self.supersede(item, Last::Superseded, error);
                outcome = SettleOutcome::Superseded;
                continue;
            }
            self.back(&item, Last::Returned, error);
            item.put_back(Last::Failed);
            item.parked = true;
            self.left.push(item);
        }
        outcome
    }
}
