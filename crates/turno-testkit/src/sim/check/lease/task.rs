//! The locks of tasks: what a command about a task means for its lease, and which ownership a line was applied under.

use super::super::{Checked, Commit, Fault, fault};
use super::{Leases, Own};
use crate::sim::message::Ask;
use crate::sim::tx::Lined;
use turno::store::{LineStep, TaskOutcome};
use turno_core::id::{Fence, Resource};
use turno_core::lease::{Action, Beat, Command, Holder, Outcome, Refused};
use turno_core::task;
use turno_core::time::{Span, Time};

type About = (Command, Result<Outcome, Refused>);

impl Leases {
    /// What a command about a task asked of its lease, and was answered; nothing if it was not about it.
    pub(super) fn about_lease(&self, command: &task::Command, outcome: &TaskOutcome) -> Result<Option<About>, Fault> {
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
            (task::Action::Lease(action), Ok(task::Outcome::Lease(told))) => Some((action.clone(), Ok(told.clone()))),
            (task::Action::Lease(action), _) => refused.map(|refused| (action.clone(), Err(refused))),
            (task::Action::Patch { fence, .. } | task::Action::Validate { fence, .. }, _) => {
                let told = refused.map_or(Ok(Outcome::Beat(Beat::Renewed)), Err);
                Some((beat(*fence), told))
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
                if own.is_some_and(|own| !command.who.speaks_for(&own.holder)) {
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

    /// Nobody waits for a task that is over, nor is offered it.
    pub(super) fn task_over(&mut self, outcome: &TaskOutcome) -> Checked {
        let over = |task: &&task::Task| matches!(task.status, task::Status::Completed | task::Status::Cancelled);
        let Some(at) = outcome.task.as_ref().filter(over).map(|task| task.id.resource()) else {
            return Ok(());
        };
        if !outcome.lease.line.is_empty() || outcome.lease.offer.is_some() {
            return fault("K4", &at, format!("it is over, and waited for: {:?}", outcome.lease));
        }
        if let Some(lease) = self.all.get_mut(&at) {
            lease.line.close();
        }
        Ok(())
    }

    /// What was decided at `now` under a fence was decided by who owned it then, and nobody has taken it since.
    fn live(&self, at: &Resource, fence: Fence, who: &Holder, now: Time) -> Checked {
        let lease = self.all.get(at);
        let own = lease.and_then(|lease| lease.own.as_ref().or(lease.lapsed.as_ref()));
        let good = own.is_some_and(|own| {
            own.fence == fence && who.speaks_for(&own.holder) && own.locked_at <= now && now < own.expires_at
        });
        if !good {
            let text = format!("{} did something under fence {} at {}; in force: {own:?}", who.user, fence.0, now.0);
            return fault("K2", at, text);
        }
        Ok(())
    }

    /// A line was applied, or failed: under the ownership that was in force when that was decided.
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
            lease.told(&at, apply.fence, ending)?;
        }
        let Some(grant) = &lined.renewed else {
            return Ok(());
        };
        let Some(own) = self.all.get_mut(&at).and_then(|lease| lease.own.as_mut()) else {
            return fault("L3", &at, format!("work renewed {grant:?}, which was over"));
        };
        own.worked_at = own.worked_at.max(commit.now);
        let latest = apply.policy.rolling_timeout.map(|rolling| own.worked_at + rolling);
        if own.fence != grant.fence || grant.expires_at < own.expires_at {
            return fault("L6", &at, format!("work turned {own:?} into {grant:?}"));
        }
        if latest.is_some_and(|latest| latest < grant.expires_at) {
            return fault("L7", &at, format!("work kept it until {}, past {latest:?}", grant.expires_at.0));
        }
        own.expires_at = grant.expires_at;
        Ok(())
    }
}
