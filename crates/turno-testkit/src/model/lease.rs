//! The model's leases and their ended ownerships.

use super::Rows;
use turno::core::time::Time;
use turno::store::{LeaseGroup, LeaseRead, LeaseWrite, Outcomes};

impl Rows {
    pub(super) fn lease(&mut self, group: &LeaseGroup, now: Time) -> Outcomes {
        let states = group.resources().into_iter().map(|resource| self.db.lease(&resource)).collect();
        let numbers = self.numbers(group.numbers());
        let head = group.audits().then_some(self.db.head);
        let (write, answers) = group.decide(LeaseRead { now, numbers, states, head });
        self.db.write_leases(&write);
        self.record_ended(write);
        Outcomes::Lease { now, answers }
    }

    /// Writes the history, the events and the audit entries of a lease decision.
    fn record_ended(&mut self, write: LeaseWrite) {
        self.history.extend(write.ended_of.into_iter().zip(write.ended));
        self.announce(write.events);
        self.enter(write.audit);
    }
}
