//! The decision, its writes and the commit, and the bug around them if one is switched on.

use super::{Committed, Env, Progress, Read, Tx};
use crate::sim::message::{Reply, WorkerDelivery};
use crate::sim::sabotage::Bug;
use std::sync::Arc;
use turno::store::{ClaimGroup, EnqueueGroup, Group, LeaseGroup, LeaseRead, SettleGroup, SettleRead};
use turno_core::event::{Event, EventName, Topic};
use turno_core::id::Numbers;
use turno_core::lease::{Action, Beat, Decision, Outcome, Reason, State};
use turno_core::queue::{Act, Changes, ClaimRead, Ended, EnqueueRead, HandedOut, Item, Kind, ManageRead, Managed};
use turno_core::time::{Span, Time};

impl Tx {
    pub(super) fn commit(&mut self, env: &mut Env<'_>) -> Progress {
        let now = self.now.unwrap_or_default();
        let numbers = Numbers::new(std::mem::take(&mut self.numbers));
        let read = std::mem::replace(&mut self.read, Read::Nothing);
        let mut committed = Committed::nothing(now);
        let replies = &mut committed.answered.replies;
        let super::Contents::Group(group) = &self.contents else {
            return Progress::Committed(Box::new(committed));
        };
        let head = self.head.take();
        let mut events = Vec::new();
        let changes = match (group, read) {
            (Group::Lease(group), Read::Lease(states)) => {
                let (mut write, answers) = decide_leases(group, LeaseRead { now, numbers, states, head }, env.bug);
                events.append(&mut write.events);
                env.db.write_leases(&write);
                committed.leases = Some(write);
                replies.extend(
                    answers
                        .into_iter()
                        .map(|(decision, view)| Reply::Lease { answer: decision.answer, view: Arc::new(view) }),
                );
                None
            }
            (Group::Enqueue(group), Read::Enqueue { existing, fronts, .. }) => {
                let read = EnqueueRead { now, numbers, existing, fronts };
                let (changes, answers) = decide_enqueue(group, read, env);
                let strict = !env.has(Bug::DedupeForgotten) && !env.has(Bug::AckedReinserted);
                if strict && env.db.clashes(&changes) {
                    return Progress::Redo;
                }
                replies.extend(answers.into_iter().map(Reply::Enqueue));
                Some(changes)
            }
            (Group::Claim(group), Read::Claim { heads, fronts, typing }) => {
                let bytes = env.db.payload_sizes(&heads, &fronts);
                let read = ClaimRead { queue: group.queue, now, numbers, heads, fronts, typing, bytes };
                Some(self.decide_claim(group, read, env, replies))
            }
            (Group::Settle(group), Read::Settle(loaded)) => {
                let (changes, answers) = decide_settle(group, SettleRead { now, loaded, head: None }, env);
                replies.extend(answers.into_iter().map(Reply::Settle));
                Some(changes)
            }
            (Group::Manage(group), Read::Manage(read)) => {
                let read = ManageRead { now, numbers, ..*read };
                let Managed { mut changes, answer, .. } = group.decide(read, head.unwrap_or_default());
                if env.has(Bug::ManageUnaudited) {
                    changes.audit.clear();
                }
                replies.push(Reply::Manage(answer));
                Some(changes)
            }
            (Group::Typing(group), Read::Typing(fronts)) => {
                replies.push(Reply::Done);
                Some(group.decide(fronts, now))
            }
            (Group::Task(group), read) => {
                let (mut write, outcome) = super::task::decide(group, read, (now, numbers, head), env);
                if let Some(write) = &mut write {
                    events.append(&mut write.lease.events);
                    env.db.write_task(write);
                }
                committed.task = write.map(Box::new);
                replies.push(Reply::Task(Box::new(outcome)));
                None
            }
            (group, read) => unreachable!("{read:?} was read for {group:?}"),
        };
        let mut changes = changes;
        if let Some(changes) = &mut changes {
            events.append(&mut changes.events);
            env.db.write(changes);
            if env.has(Bug::ErrorsForgotten) {
                let parked = changes.update.iter().filter(|item| item.parked).map(|item| item.seq);
                let done = changes.done.iter().filter(|done| done.ended == Ended::Exhausted);
                for seq in parked.chain(done.map(|done| done.seq)) {
                    env.db.errors.remove(&seq);
                }
            }
        }
        committed.changes = changes;
        committed.events = self.write_events(env, events);
        env.db.mark = env.db.mark.max(now);
        Progress::Committed(Box::new(committed))
    }

    fn decide_claim(&self, group: &ClaimGroup, read: ClaimRead, env: &Env<'_>, replies: &mut Vec<Reply>) -> Changes {
        let HandedOut { mut changes, deliveries: deliveries_by_claim, .. } = if env.has(Bug::WindowIgnored) {
            let mut hasty = group.clone();
            hasty.policy.window = Span::ZERO;
            hasty.decide(read)
        } else {
            group.decide(read)
        };
        if env.has(Bug::AttemptNotCounted) {
            for item in changes.update.iter_mut().filter(|item| item.expires_at.is_some()) {
                item.attempt -= 1;
            }
        }
        replies.extend(deliveries_by_claim.into_iter().map(|deliveries| {
            let work = deliveries.into_iter().map(|delivery| WorkerDelivery {
                bodies: delivery
                    .items
                    .iter()
                    .map(|(seq, _)| self.snapshot.get(seq).unwrap_or(&env.db.bodies[seq]).clone())
                    .collect(),
                delivery,
            });
            Reply::Claim(work.collect())
        }));
        changes
    }
}

/// Returns the event that announced the expiry of the last ownership.
fn announcement(state: &State, at: Time) -> Option<Event> {
    let ending = state.ended.as_ref().filter(|ending| ending.reason == Reason::Expired)?;
    Some(Event {
        topic: Topic::Leases,
        name: EventName::LeaseLost,
        resource: state.resource.as_str().into(),
        key: None,
        queue: None,
        at,
        fence: Some(ending.grant.fence),
        by: Some(ending.grant.holder.user.clone()),
        detail: None,
        to: Vec::new(),
    })
}

type LeaseDecisions = (turno::store::LeaseWrite, Vec<(Decision, State)>);

fn decide_leases(group: &LeaseGroup, mut read: LeaseRead, bug: Option<Bug>) -> LeaseDecisions {
    let Some(bug) = bug else {
        return group.decide(read);
    };
    let now = read.now;
    let mut group = group.clone();
    for command in &mut group.commands {
        let state = read.states.iter_mut().find(|state| state.resource == command.resource);
        let Some(state) = state else { continue };
        if bug == Bug::LineReversed {
            state.line.sort_by_key(|ticket| std::cmp::Reverse(ticket.since));
        }
        let who = command.who.clone();
        match (&mut command.action, state.grant.as_mut(), bug) {
            (Action::Heartbeat { fence, .. }, Some(grant), Bug::BeatIgnoresFence)
            | (Action::Release { fence, .. }, Some(grant), Bug::ReleaseIgnoresFence) => {
                *fence = grant.fence;
                command.who = grant.holder.clone();
            }
            (Action::Release { claim, .. }, _, Bug::ReleaseFreesNewerClaim) => *claim = None,
            (Action::Heartbeat { idle, .. }, _, Bug::IdleIgnored) => *idle = Some(Span::ZERO),
            (Action::Heartbeat { .. }, _, Bug::RollingIgnored) => command.policy.rolling_timeout = None,
            (Action::Heartbeat { fence, .. }, Some(grant), Bug::BeatRevivesExpired) if grant.fence == *fence => {
                grant.expires_at = grant.expires_at.max(now + Span(1));
            }
            (Action::Claim { .. }, Some(grant), Bug::ExpiryNeedsSweeper) if !grant.holder.is(&who) => {
                grant.expires_at = grant.expires_at.max(now + Span(1));
            }
            (Action::Look, Some(grant), Bug::LookUnconditional) => grant.expires_at = grant.expires_at.min(now),
            _ => {}
        }
    }
    let (mut write, mut answers) = group.decide(read);
    let mut spoil = |resource: &turno_core::id::Resource, change: &dyn Fn(&mut State)| {
        write.states.iter_mut().filter(|state| state.resource == *resource).for_each(change);
    };
    for (decision, state) in &mut answers {
        let shorten = |state: &mut State| {
            if let Some(grant) = &mut state.grant {
                grant.expires_at = now + Span(grant.ttl.0 / 2);
            }
        };
        let restart = |state: &mut State| {
            if let Some(grant) = &mut state.grant {
                grant.locked_at = now;
            }
        };
        match (&decision.answer, bug) {
            (Ok(Outcome::Beat(Beat::Renewed)), Bug::BeatShortens) => {
                shorten(state);
                spoil(&state.resource, &shorten);
            }
            (Ok(Outcome::Claimed { renewed: true }), Bug::ReclaimRestarts) => {
                restart(state);
                spoil(&state.resource, &restart);
            }
            _ => {}
        }
    }
    match bug {
        Bug::HistoryMissing => {
            write.ended.clear();
            write.ended_of.clear();
        }
        Bug::HistoryOverlaps => write.ended.iter_mut().for_each(|ending| ending.at = ending.at + Span(2_000)),
        Bug::OverrideUnaudited => write.audit.clear(),
        Bug::LookNotSet => write.states.iter_mut().for_each(|state| state.look_at = None),
        Bug::LookAnnouncesAgain => {
            let looked = |(decision, _): &&(Decision, State)| decision.answer == Ok(Outcome::Looked { news: false });
            let again = answers.iter().filter(looked).filter_map(|(_, state)| announcement(state, now));
            write.events.extend(again);
        }
        _ => {}
    }
    (write, answers)
}

fn decide_enqueue(
    group: &EnqueueGroup,
    read: EnqueueRead,
    env: &Env<'_>,
) -> (Changes, Vec<Vec<turno_core::queue::Accepted>>) {
    let (mut changes, answers) = group.decide(read);
    let sync =
        |item: &&mut Item| group.calls.iter().any(|call| call.queue == item.queue && call.policy.kind == Kind::Sync);
    for item in changes.update.iter_mut().filter(sync) {
        let Some(before) = env.db.hot.get(&item.seq) else {
            continue;
        };
        match env.bug {
            Some(Bug::ChangeKeepsAttempts) => item.attempt = before.attempt,
            Some(Bug::RevisionGoesBack) => item.revision = before.revision,
            _ => {}
        }
    }
    (changes, answers)
}

fn decide_settle(
    group: &SettleGroup,
    read: SettleRead,
    env: &Env<'_>,
) -> (Changes, Vec<turno_core::queue::SettleOutcome>) {
    let mut spoiled = None;
    match env.bug {
        Some(Bug::SettleIgnoresFence) => {
            let group = spoiled.insert(group.clone());
            for (settle, loaded) in group.settlements.iter_mut().zip(&read.loaded) {
                if let Some(first) = loaded.members.first() {
                    settle.reference.fence = first.item.fence;
                }
            }
        }
        Some(Bug::PoisonTakesNeighbours) => {
            for settle in &mut spoiled.insert(group.clone()).settlements {
                if let Act::Fail { item: None, give_up, .. } = &mut settle.act {
                    *give_up |= settle.reference.size > 1;
                }
            }
        }
        _ => {}
    }
    let (mut changes, answers) = spoiled.as_ref().unwrap_or(group).decide(read);
    if env.has(Bug::AckedDisappears) {
        changes.done.retain(|done| done.ended != Ended::Processed);
    }
    (changes, answers)
}
