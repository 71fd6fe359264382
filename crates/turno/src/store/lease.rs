//! A group of lease commands and its decision.

use std::collections::HashMap;
use turno_core::audit::{Entry, Head, chain};
use turno_core::event::Event;
use turno_core::id::{Numbers, Resource};
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
        let keeps = |action: &Action| {
            matches!(action, Action::Heartbeat { .. } | Action::Release { .. } | Action::Leave { .. } | Action::Look)
        };
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
