//! Invariants of leases, checked call by call in the order of the commits.

mod task;
mod verbs;

use super::line::Line;
use super::{Checked, Commit, fault};
use crate::db::Db;
use crate::db::Map;
use crate::sim::message::{Ask, Reply};
use crate::sim::setup::Setup;
use turno::store::LeaseWrite;
use turno_core::event::{Event, EventName};
use turno_core::id::{Fence, Resource};
use turno_core::lease::{Action, Command, Ending, Holder, Outcome, Reason, Refused, State};
use turno_core::time::Time;

/// The ownership in force.
#[derive(Clone, Debug)]
struct Own {
    holder: Holder,
    fence: Fence,
    claim: i64,
    locked_at: Time,
    /// The time of the last work that could have counted.
    worked_at: Time,
    expires_at: Time,
    /// Whether `leave` was accepted: the ownership then ends as released.
    leaving: bool,
    /// Whether `keep` was accepted: the holder cannot use the ownership any more, and it ends as released.
    kept: bool,
}

impl Own {
    fn is_held_by(&self, who: &Holder) -> bool {
        !self.kept && self.holder.is(who)
    }
}

/// A lease command and its answer.
#[derive(Clone, Copy)]
struct LeaseCall<'a> {
    command: &'a Command,
    answer: &'a Result<Outcome, Refused>,
    view: &'a State,
    now: Time,
}

#[derive(Clone, Debug, Default)]
struct Lease {
    decided_at: Time,
    own: Option<Own>,
    highest: Fence,
    line: Line,
    /// The last expired ownership without a successor: a line begun under it in time may still be finished.
    lapsed: Option<Own>,
    /// How every earlier ownership ended.
    over: Map<Fence, (Reason, Holder)>,
    /// Ownerships that ended in this commit and were not yet seen in the history.
    ending: Vec<Own>,
    last_end: Time,
    /// The commit that created the row, or 0.
    born: u64,
}

#[derive(Clone)]
pub(super) struct Leases {
    all: Map<Resource, Lease>,
    /// The resources that are not tasks.
    probed: Vec<Resource>,
    /// Resources whose claim must still be granted. `None` before the end of the run.
    probing: Option<Vec<Resource>>,
    /// Ownerships whose end was announced.
    announced: Map<Fence, Vec<Resource>>,
}

impl Leases {
    pub(super) fn new(setup: &Setup) -> Leases {
        let probed = setup.resources.iter().map(|(name, _)| name.clone()).collect();
        Leases { all: Map::default(), probed, probing: None, announced: Map::default() }
    }

    /// Marks the fences granted in lost commits as used.
    pub(super) fn carry_over(&mut self, lost: &Leases) {
        for (resource, before) in &lost.all {
            let lease = self.all.entry(resource.clone()).or_default();
            lease.highest = lease.highest.max(before.highest);
        }
    }

    pub(super) fn expect_free(&mut self) {
        self.probing = Some(self.probed.clone());
    }

    pub(super) fn probed(&self) -> Checked {
        match self.probing.iter().flatten().next() {
            Some(left) => fault("L13", left, "the lease is free, and no claim was granted"),
            None => Ok(()),
        }
    }

    /// Checks at the end, without heartbeats and claims, that every ownership was ended and so announced.
    pub(super) fn drained(&self) -> Checked {
        match self.all.iter().find_map(|(at, lease)| Some((at, lease.own.as_ref()?))) {
            Some((at, own)) => fault("L16", at, format!("{own:?} has expired, and its end was not announced")),
            None => Ok(()),
        }
    }

    /// Checks that the end of an ownership is announced in the commit that ends it, and in no other.
    fn announced(&mut self, commit: &Commit<'_>, write: &LeaseWrite) -> Checked {
        let ends = |event: &Event| matches!(event.name, EventName::LeaseLost | EventName::LeaseReleased);
        let mut events: Vec<&Event> = commit.events.iter().map(|(_, event)| &**event).filter(|one| ends(one)).collect();
        for (at, ending) in write.ended_of.iter().zip(&write.ended) {
            let fence = ending.grant.fence;
            let known = self.announced.entry(fence).or_default();
            let about = |event: &&Event| at.as_str() == &*event.resource && event.fence == Some(fence);
            let Some(index) = events.iter().position(about).filter(|_| !known.contains(at)) else {
                return fault("L16", at, format!("{ending:?} was not announced, or was announced before"));
            };
            events.remove(index);
            known.push(at.clone());
        }
        match events.first() {
            Some(event) => {
                fault("L16", &event.resource, format!("{event:?} was announced, and no ownership ended in this commit"))
            }
            None => Ok(()),
        }
    }

    pub(super) fn commit(&mut self, commit: &Commit<'_>, write: &LeaseWrite, number: u64) -> Checked {
        let now = commit.now;
        for (call, reply) in commit.calls.iter().zip(commit.replies) {
            let made;
            let (command, answer, view) = match (&call.ask, reply) {
                (Ask::Lease(command), Reply::Lease { answer, view }) => (command, answer, &**view),
                (Ask::Task(command), Reply::Task(outcome)) => {
                    self.task_over(outcome)?;
                    let Some(about) = self.about_lease(command, outcome)? else {
                        continue;
                    };
                    made = about;
                    (&made.0, &made.1, &outcome.lease)
                }
                _ => continue,
            };
            let lease = self.all.entry(command.resource.clone()).or_default();
            // Heartbeats and releases create no row, so they may have read, without a lock, before the row existed.
            let passive = matches!(command.action, Action::Heartbeat { .. } | Action::Release { .. } | Action::Look);
            let unseen = passive && *view == State::unseen(command.resource.clone());
            if unseen && (lease.born == 0 || commit.began < lease.born) {
                continue;
            }
            lease.step(&LeaseCall { command, answer, view, now })?;
            if let Some(left) = &mut self.probing
                && matches!(answer, Ok(Outcome::Claimed { .. }))
            {
                left.retain(|resource| *resource != command.resource);
            }
        }
        for (resource, ending) in write.ended_of.iter().zip(&write.ended) {
            if let Some(lease) = self.all.get_mut(resource) {
                lease.ended(resource, ending)?;
            }
        }
        for call in commit.calls {
            let made;
            let resource = match &call.ask {
                Ask::Lease(command) => &command.resource,
                Ask::Task(command) => {
                    made = command.task.unwrap_or_default().resource();
                    &made
                }
                _ => continue,
            };
            let lease = self.all.get(resource);
            if let Some(missing) = lease.and_then(|lease| lease.ending.first()) {
                let text = format!("fence {} ended and is not in the history", missing.fence.0);
                return fault("L12", resource, text);
            }
        }
        self.announced(commit, write)?;
        for state in &write.states {
            self.row(state)?;
            if let Some(lease) = self.all.get_mut(&state.resource)
                && lease.born == 0
            {
                lease.born = number;
            }
        }
        Ok(())
    }

    /// Checks that the written row equals the answer.
    fn row(&self, state: &State) -> Checked {
        let own = self.all.get(&state.resource).and_then(|lease| lease.own.as_ref());
        let answered = own.map(|own| (own.fence, own.expires_at, own.locked_at));
        let written = state.grant.as_ref().map(|grant| (grant.fence, grant.expires_at, grant.locked_at));
        if answered != written {
            return fault("L1", &state.resource, format!("answered {answered:?} and wrote {written:?}"));
        }
        Ok(())
    }

    pub(super) fn audit(&self, db: &Db) -> Checked {
        db.leases.values().try_for_each(|state| self.row(state))
    }
}

impl Lease {
    fn step(&mut self, call: &LeaseCall<'_>) -> Checked {
        let LeaseCall { command, answer, view, now } = *call;
        let at = &command.resource;
        if now < self.decided_at {
            let text = format!("decided at {} after {}", now.0, self.decided_at.0);
            return fault("T3", at, text);
        }
        self.decided_at = now;
        self.line.forget_dead(now);
        let expired = self.own.take_if(|own| own.expires_at <= now);
        if let Some(own) = &expired {
            self.over(own.clone(), if own.leaving || own.kept { Reason::Released } else { Reason::Expired });
            self.lapsed = Some(own.clone());
        }
        let pinned = matches!(answer, Err(Refused::Pinned));
        if self.own.is_none() {
            self.line.drop_passed(now);
        }
        match &command.action {
            Action::Heartbeat { .. } if pinned => return fault("L3", at, "a finalize blocked a heartbeat"),
            // A finalize pins the lease, so no other holder may take it.
            _ if pinned => {}
            Action::Claim { .. } | Action::ForceClaim { .. } => self.claim(call)?,
            Action::Heartbeat { .. } => self.beat(call)?,
            Action::Release { .. } => self.release(call)?,
            Action::Leave { .. } => self.leave(call)?,
            Action::Keep { .. } => self.keep(call)?,
            Action::ForceRelease { .. } => {
                if let Some(own) = self.own.take() {
                    self.over(own, Reason::Forced);
                }
            }
            Action::RequestRelease { .. } | Action::Decline { .. } | Action::Expel { .. } | Action::Look => {}
            Action::JoinLine => {
                let holds = self.own.as_ref().is_some_and(|own| own.is_held_by(&command.who));
                if let Ok(Outcome::InLine { position, .. }) = answer {
                    self.stood(command, Some(*position), now)?;
                } else if !holds {
                    return fault("L14", at, format!("could not join the line: {answer:?}"));
                }
            }
            Action::RenewTicket => match (answer, self.line.index_of(&command.who)) {
                (Ok(Outcome::InLine { position, .. }), Some(_)) => self.stood(command, Some(*position), now)?,
                (Ok(Outcome::LeftLine), None) => {}
                (answer, place) => {
                    return fault("L14", at, format!("a ticket at {place:?} was kept with the answer {answer:?}"));
                }
            },
            Action::LeaveLine => self.line.leave(&command.who),
        }
        self.view(at, view, now)?;
        self.offered(at, view, now)
    }

    fn over(&mut self, own: Own, reason: Reason) {
        self.lapsed = None;
        self.over.insert(own.fence, (reason, own.holder.clone()));
        self.ending.push(own);
    }

    /// Checks that a late holder learns how its ownership really ended.
    fn check_ending(&self, at: &Resource, fence: Fence, ending: &Ending) -> Checked {
        let kept = self.own.as_ref().is_some_and(|own| own.kept && own.fence == fence);
        match self.over.get(&fence) {
            None if kept && ending.reason == Reason::Released => Ok(()),
            Some((reason, _)) if *reason == ending.reason && ending.grant.fence == fence => Ok(()),
            other => fault("L3", at, format!("answered that it ended as {ending:?}, but it was {other:?}")),
        }
    }

    /// Checks that the answer shows the ownership in force, so a refused call has changed nothing.
    fn view(&self, at: &Resource, view: &State, now: Time) -> Checked {
        let seen = view.live(now).map(|grant| (grant.fence, grant.expires_at, grant.claim, grant.locked_at));
        let own = self.own.as_ref().map(|own| (own.fence, own.expires_at, own.claim, own.locked_at));
        if seen != own {
            return fault("L3", at, format!("in force is {own:?}, the answer shows {seen:?}"));
        }
        Ok(())
    }

    fn offered(&mut self, at: &Resource, view: &State, now: Time) -> Checked {
        let seen = view.offer.as_ref().map(|offer| (offer.to.clone(), offer.until));
        if self.own.is_some() && seen.is_some() {
            return fault("L14", at, "the lease is held and offered at the same time");
        }
        if let Some((to, until)) = &seen
            && *until > now
            && !self.line.first().is_some_and(|first| first.is(to))
        {
            return fault("L14", at, format!("offered to {to:?}, whose turn it is not"));
        }
        self.line.offer = seen;
        Ok(())
    }

    /// Checks a history entry: it ends an ownership that ended in this commit.
    fn ended(&mut self, at: &Resource, ending: &Ending) -> Checked {
        let grant = &ending.grant;
        let Some(index) = self.ending.iter().position(|own| own.fence == grant.fence) else {
            return fault("L12", at, format!("{ending:?} was written, and no ownership ended in this commit"));
        };
        let own = self.ending.remove(index);
        let right = self.over.get(&own.fence).is_some_and(|(reason, _)| *reason == ending.reason)
            && grant.locked_at == own.locked_at
            && grant.locked_at >= self.last_end
            && ending.at >= grant.locked_at
            && ending.at <= self.decided_at;
        if !right {
            let text = format!("{ending:?} does not fit after {} ", self.last_end.0);
            return fault("L12", at, text);
        }
        self.last_end = ending.at;
        Ok(())
    }
}
