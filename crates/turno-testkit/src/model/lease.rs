//! The model's leases and their history.

use super::Rows;
use turno::core::id::{Resource, UserId};
use turno::core::lease::{Ending, State};
use turno::core::time::Time;
use turno::store::{LeaseGroup, LeaseQuery, LeaseRead, LeaseWrite, Outcomes, Past};

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
    pub(super) fn record_ended(&mut self, write: LeaseWrite) {
        self.history.extend(write.ended_of.into_iter().zip(write.ended));
        self.announce(write.events);
        self.enter(write.audit);
    }

    pub(super) fn leases(&self, query: &LeaseQuery) -> Vec<State> {
        let wanted = |state: &&State| {
            let prefix = query.prefix.as_deref().unwrap_or_default();
            let holder = |user: &UserId| state.grant.as_ref().is_some_and(|grant| grant.holder.user == *user);
            state.grant.is_some()
                && state.resource.as_str().starts_with(prefix)
                && query.holder.as_ref().is_none_or(holder)
                && query.after.as_ref().is_none_or(|after| state.resource > *after)
        };
        let mut states: Vec<State> = self.db.leases.values().filter(wanted).cloned().collect();
        states.sort_by(|a, b| a.resource.cmp(&b.resource));
        states.truncate(query.limit as usize);
        states
    }

    pub(super) fn lines(&self, after: Option<&Resource>, limit: usize) -> Vec<State> {
        let waits = |state: &&State| !state.line.is_empty() || state.offer.is_some() || !state.requests.is_empty();
        let mut states: Vec<State> = self.db.leases.values().filter(waits).cloned().collect();
        states.retain(|state| after.is_none_or(|after| state.resource > *after));
        states.sort_by(|a, b| a.resource.cmp(&b.resource));
        states.truncate(limit);
        states
    }

    pub(super) fn purge_leases(
        &mut self,
        after: Option<&Resource>,
        before: Time,
        limit: usize,
    ) -> (u64, Option<Resource>) {
        let mut names: Vec<Resource> = self.db.leases.keys().cloned().collect();
        names.retain(|name| after.is_none_or(|after| name > after));
        names.sort();
        names.truncate(limit);
        let says_nothing = |state: &State| {
            let waits = !state.line.is_empty() || state.offer.is_some() || !state.requests.is_empty();
            state.grant.is_none() && !waits && state.ended.as_ref().is_none_or(|ending| ending.at < before)
        };
        let count = self.db.leases.len();
        for name in &names {
            if self.db.leases.get(name).is_some_and(says_nothing) {
                self.db.leases.remove(name);
            }
        }
        ((count - self.db.leases.len()) as u64, names.pop())
    }

    pub(super) fn past(&self, resource: &Resource, from: Past, limit: usize) -> Vec<Ending> {
        let of = self.history.iter().filter(|(of, _)| of == resource).map(|(_, ending)| ending);
        match from {
            Past::Newest { before } => {
                let earlier = |ending: &&Ending| before.is_none_or(|before| ending.grant.fence < before);
                of.rev().filter(earlier).take(limit).cloned().collect()
            }
            Past::Oldest { after } => of.filter(|ending| ending.grant.fence > after).take(limit).cloned().collect(),
        }
    }
}
