//! A group of lease commands and its decision, and reads of leases.

use super::Pending;
use std::collections::HashMap;
use turno_core::access::Epoch;
use turno_core::audit::{Entry, Head, chain};
use turno_core::event::Event;
use turno_core::id::{Fence, Numbers, Resource, UserId};
use turno_core::lease::{Action, Command, Decision, Ending, Reason, State, decide};
use turno_core::time::Time;

/// Lease commands that are decided together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaseGroup {
    /// In the order of arrival.
    pub commands: Vec<Command>,
}

/// The rows that the store read after it had locked every resource of the group.
#[derive(Debug)]
pub struct LeaseRead {
    /// The database's clock, read after the locks.
    pub now: Time,
    /// As many fresh numbers as [`LeaseGroup::numbers`] returns.
    pub numbers: Numbers,
    /// One per resource of [`LeaseGroup::resources`]; [`State::unseen`] where no row exists.
    pub states: Vec<State>,
    /// The head of the audit, locked, if [`LeaseGroup::audits`] is true.
    pub head: Option<Head>,
}

/// The rows to write.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LeaseWrite {
    /// The states that changed.
    pub states: Vec<State>,
    /// The ownerships that ended, for the history.
    pub ended: Vec<Ending>,
    /// The resource of each entry of `ended`.
    pub ended_of: Vec<Resource>,
    /// The events to announce.
    pub events: Vec<Event>,
    /// The audit entries of overrides.
    pub audit: Vec<Entry>,
}

impl LeaseGroup {
    /// Returns the resources to lock: each once, in the order that all transactions use.
    pub fn resources(&self) -> Vec<Resource> {
        let mut resources: Vec<Resource> = self.commands.iter().map(|command| command.resource.clone()).collect();
        resources.sort();
        resources.dedup();
        resources
    }

    /// Returns whether a command may create a lease. Then missing rows are inserted before they are locked.
    pub fn may_create(&self) -> bool {
        let keeps = |action: &Action| action.releases() || matches!(action, Action::Heartbeat { .. } | Action::Look);
        !self.commands.iter().all(|command| keeps(&command.action))
    }

    /// Returns whether the head of the audit must be locked, after all other rows.
    pub fn audits(&self) -> bool {
        let overrides =
            |command: &Command| matches!(command.action, Action::ForceClaim { .. } | Action::ForceRelease { .. });
        self.commands.iter().any(overrides)
    }

    /// Returns how many fresh numbers the decision may use.
    pub fn numbers(&self) -> usize {
        let grants = |command: &&Command| matches!(command.action, Action::Claim { .. } | Action::ForceClaim { .. });
        self.commands.iter().filter(grants).count()
    }

    /// Decides every command in the order of arrival.
    pub fn decide(&self, read: LeaseRead) -> (LeaseWrite, Vec<(Decision, State)>) {
        let LeaseRead { now, mut numbers, states, head } = read;
        let mut head = head.unwrap_or_default();
        let mut index: HashMap<Resource, usize> = HashMap::with_capacity(states.len());
        let mut states: Vec<(State, bool)> = states.into_iter().map(|state| (state, false)).collect();
        for (position, (state, _)) in states.iter().enumerate() {
            index.insert(state.resource.clone(), position);
        }
        let mut write = LeaseWrite::default();
        let mut answers = Vec::with_capacity(self.commands.len());
        for command in &self.commands {
            let position = *index.get(&command.resource).expect("the store reads every resource of the group");
            let (state, changed) = &mut states[position];
            let mut decision = decide(state, command, now, &mut numbers);
            *changed |= decision.changed;
            write.ended_of.extend(decision.ended.iter().map(|_| command.resource.clone()));
            // Expired ownerships stay in the answer too. No command asked for their end, so the engine has to report
            // it.
            let expired = decision.ended.iter().filter(|ending| ending.reason == Reason::Expired).cloned().collect();
            write.ended.append(&mut decision.ended);
            decision.ended = expired;
            write.events.append(&mut decision.events);
            write.audit.append(&mut chain(&mut head, now, std::mem::take(&mut decision.audit)));
            answers.push((decision, state.clone()));
        }
        write.states = states.into_iter().filter(|(_, changed)| *changed).map(|(state, _)| state).collect();
        (write, answers)
    }
}

/// Leases read without locks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peeked {
    /// The database's clock, read afterwards.
    pub now: Time,
    /// The epoch of access, read together with the clock.
    pub epoch: Epoch,
    /// One state per resource, in the given order; a resource never seen is free.
    pub states: Vec<State>,
}

/// A filter for leases.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LeaseQuery {
    /// Only leases held by this user.
    pub holder: Option<UserId>,
    /// Only resources whose names begin with this.
    pub prefix: Option<String>,
    /// Only resources behind this one.
    pub after: Option<Resource>,
    /// The maximum number of leases.
    pub limit: u32,
}

impl LeaseQuery {
    /// Returns the first text behind all texts that begin with the prefix; `None` if there is none. The stores compare
    /// bytes, and UTF-8 keeps the order of characters.
    pub(crate) fn prefix_end(&self) -> Option<String> {
        let mut text = self.prefix.clone().unwrap_or_default();
        while let Some(last) = text.pop() {
            // Skips the code points that are no characters.
            let next = (u32::from(last) + 1..=u32::from(char::MAX)).find_map(char::from_u32);
            if let Some(next) = next {
                text.push(next);
                return Some(text);
            }
        }
        None
    }
}

/// A part of a resource's history. Fences only grow, so they serve as cursors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Past {
    /// Newest first.
    Newest {
        /// Only ownerships with a smaller fence.
        before: Option<Fence>,
    },
    /// Oldest first.
    Oldest {
        /// Only ownerships with a larger fence.
        after: Fence,
    },
}

/// Reads of leases and their history.
pub trait LeaseReader {
    /// Returns the states of some leases without locking them, and the clock, read afterwards.
    fn peek(&self, resources: Vec<Resource>) -> Pending<'_, Peeked>;

    /// Returns leases with an ownership, live or expired, ordered by resource name.
    fn leases(&self, query: LeaseQuery) -> Pending<'_, Peeked>;

    /// Returns leases whose `look_at` has passed by the database's clock, earliest first, and the next `look_at`. A
    /// store may return `None` for the next one if it is more than a second away. Locks nothing: the command `Look`
    /// decides again under the lock.
    fn due_leases(&self, limit: u32) -> Pending<'_, (Vec<Resource>, Option<Time>)>;

    /// Returns leases that have a waiting line or a pending request to the holder, ordered by resource name.
    fn lines(&self, after: Option<Resource>, limit: u32) -> Pending<'_, Vec<State>>;

    /// Returns how an ownership ended, from the history. The lease's own row keeps only the latest ending.
    fn ending(&self, resource: Resource, fence: Fence) -> Pending<'_, Option<Ending>>;

    /// Returns ended ownerships of a resource, from the history.
    fn history(&self, resource: Resource, from: Past, limit: u32) -> Pending<'_, Vec<Ending>>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_prefix_is_the_first_text_behind_it() {
        let end = |prefix: &str| LeaseQuery { prefix: Some(prefix.to_owned()), ..LeaseQuery::default() }.prefix_end();
        assert_eq!(end("task:").as_deref(), Some("task;"));
        assert_eq!(end("a\u{d7ff}").as_deref(), Some("a\u{e000}"));
        assert_eq!(end("a\u{10ffff}").as_deref(), Some("b"));
        assert_eq!(end(""), None);
    }
}
