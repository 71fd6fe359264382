//! Settles a failed probe: the exhausted item that was sent as a probe is exhausted again.

use super::{Item, Last, SettleOutcome, Settlement};

impl Settlement<'_> {
    /// Makes the item exhausted again, unless a newer change has arrived. The error is stored only as
    /// [`UncountedDelivery`], of which the newest few are kept, because probes may go on for days.
    ///
    /// [`UncountedDelivery`]: crate::queue::UncountedDelivery
    pub(super) fn park(&mut self, members: Vec<Item>, error: Option<&str>) -> SettleOutcome {
        let mut outcome = SettleOutcome::Returned;
        for mut item in members {
            if item.revision > item.handed {
                self.supersede(item, Last::Superseded, error);
                outcome = SettleOutcome::Superseded;
                continue;
            }
            self.record_uncounted(&item, Last::Returned, error);
            item.put_back(Last::Failed);
            item.parked = true;
            self.left.push(item);
        }
        outcome
    }
}
