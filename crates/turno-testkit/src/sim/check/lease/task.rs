//! The locks of tasks: the lease call within a task command, and the ownership that a line was applied under.

use super::super::{Checked, Commit, Fault, fault};
use super::{Leases, Own};
use crate::sim::message::Ask;
use crate::sim::tx::Lined;
use turno::store::{LineStep, TaskOutcome};
use turno_core::id::{Fence, Resource};
use turno_core::lease::{Action, Beat, Command, Holder, Outcome, Refused};
use turno_core::task;
use turno_core::time::{Span, Time};

type Answered = (Command, Result<Outcome, Refused>);

impl Leases {
    /// Returns the lease call within a task command and its answer, or `None` if the command has no lease call.
    pub(super) fn about_lease(
        &self,
        command: &task::Command,
        outcome: &TaskOutcome,
    ) -> Result<Option<Answered>, Fault> {
        let Some(id) = command.task else {
            return Ok(None);
        };
        let resource = id.resource();
        let refused = match &outcome.answer {
            Err(task::Refused::Lease(refused)) => Some(refused.clone()),
            _ => None,
        };
        let beat = |fence: Fence| Action::Heartbeat { fence, idle: Some(Span::ZERO), worked: true };
        let about = match (&command.action, &outcome.answer) {
            (_, Err(task::Refused::Unknown | task::Refused::Invalid(_))) => None,
            (task::Action::Lease(_) | task::Action::Close { .. }, Err(task::Refused::WrongStatus(_))) => None,
            (task::Action::Lease(action), Ok(task::Outcome::Lease(answer))) => {
                Some((action.clone(), Ok(answer.clone())))
            }
            (task::Action::Lease(action), _) => refused.map(|refused| (action.clone(), Err(refused))),
            (task::Action::Patch { fence, .. } | task::Action::Validate { fence, .. }, _) => {
                let answer = refused.map_or(Ok(Outcome::Beat(Beat::Renewed)), Err);
                Some((beat(*fence), answer))
            }
            (task::Action::Close { fence, .. }, answer) => {
                let release = Action::Release { fence: *fence, claim: None };
                match answer {
                    Ok(task::Outcome::Finalized { repeated: true, .. }) => None,
                    Ok(_) => {
                        self.live(&resource, *fence, &command.who, outcome.now)?;
                        Some((release, Ok(Outcome::Released { released: true, repeated: false })))
                    }
                    Err(_) => refused.map(|refused| (release, Err(refused))),
                }
            }
            (task::Action::Cancel { .. }, Ok(_)) => {
                let own = self.all.get(&resource).and_then(|lease| lease.own.as_ref());
                let own = own.filter(|own| outcome.now < own.expires_at);
                if own.is_some_and(|own| own.kept || !command.who.speaks_for(&own.holder)) {
                    return fault("L3", &resource, format!("cancelled under {own:?}"));
                }
                let release = |own: &Own| Action::Release { fence: own.fence, claim: None };
                own.map(|own| (release(own), Ok(Outcome::Released { released: true, repeated: false })))
            }
            _ => None,
        };
        Ok(about.map(|(action, answer)| {
            let task::Command { who, via, policy, .. } = command.clone();
            (Command { resource, who, via, policy, action }, answer)
        }))
    }

    /// Checks that a completed or cancelled task has neither tickets nor an offer.
    pub(super) fn task_over(&mut self, outcome: &TaskOutcome) -> Checked {
        let over = |task: &&task::Task| matches!(task.status, task::Status::Completed | task::Status::Cancelled);
        let Some(at) = outcome.task.as_ref().filter(over).map(|task| task.id.resource()) else {
            return Ok(());
        };
        if !outcome.lease.line.is_empty() || outcome.lease.offer.is_some() {
            return fault("K4", &at, format!("the task is over, and its line is not empty: {:?}", outcome.lease));
        }
        if let Some(lease) = self.all.get_mut(&at) {
            lease.line.close();
        }
        Ok(())
    }

    /// Checks that a decision at `now` under a fence was made for its owner, and that the lease was not taken since.
    fn live(&self, at: &Resource, fence: Fence, who: &Holder, now: Time) -> Checked {
        let lease = self.all.get(at);
        let own = lease.and_then(|lease| lease.own.as_ref().or(lease.lapsed.as_ref()));
        let good = own.is_some_and(|own| {
            own.fence == fence
                && !own.kept
                && who.speaks_for(&own.holder)
                && own.locked_at <= now
                && now < own.expires_at
        });
        if !good {
            let text = format!("{} acted under fence {} at {}; in force: {own:?}", who.user, fence.0, now.0);
            return fault("K2", at, text);
        }
        Ok(())
    }

    /// Checks that a line was applied, or failed, under the ownership in force at its decision.
    pub(in super::super) fn lined(&mut self, commit: &Commit<'_>, lined: &Lined) -> Checked {
        let Ask::Apply(apply) = &commit.calls[0].ask else {
            return Ok(());
        };
        let at = apply.task.resource();
        if lined.line.is_some() {
            self.live(&at, apply.fence, &apply.who, commit.now)?;
        }
        if let LineStep::Refused(task::Refused::Lease(Refused::Lost { ending: Some(ending) })) = &lined.step
            && let Some(lease) = self.all.get(&at)
            && lease.own.as_ref().is_none_or(|own| own.fence != apply.fence)
        {
            lease.check_ending(&at, apply.fence, ending)?;
        }
        let Some(grant) = &lined.renewed else {
            return Ok(());
        };
        let Some(own) = self.all.get_mut(&at).and_then(|lease| lease.own.as_mut()) else {
            return fault("L3", &at, format!("a line renewed {grant:?}, which was over"));
        };
        own.worked_at = own.worked_at.max(commit.now);
        let latest = apply.policy.rolling_timeout.map(|rolling| own.worked_at + rolling);
        if own.fence != grant.fence || grant.expires_at < own.expires_at {
            return fault("L6", &at, format!("a line turned {own:?} into {grant:?}"));
        }
        if latest.is_some_and(|latest| latest < grant.expires_at) {
            return fault("L7", &at, format!("a line kept the lease until {}, past {latest:?}", grant.expires_at.0));
        }
        own.expires_at = grant.expires_at;
        Ok(())
    }
}
