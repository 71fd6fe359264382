//! Invariants of the lease actions claim, heartbeat, leave, keep and release.

use super::super::{Checked, fault};
use super::{Lease, LeaseCall, Own};
use turno_core::id::Fence;
use turno_core::lease::{Action, Beat, Command, Holder, Outcome, Policy, Reason, Refused};
use turno_core::time::Time;

impl Lease {
    pub(super) fn claim(&mut self, call: &LeaseCall<'_>) -> Checked {
        let LeaseCall { command, answer, view, now } = *call;
        let (at, who) = (&command.resource, &command.who);
        let forced = matches!(command.action, Action::ForceClaim { .. });
        match answer {
            Ok(Outcome::Claimed { renewed: true }) => {
                let (Some(own), Some(grant)) = (&mut self.own, &view.grant) else {
                    return fault("L9", at, "a free lease was renewed");
                };
                let same = own.is_held_by(who) && own.fence == grant.fence && own.locked_at == grant.locked_at;
                if !same || grant.claim != own.claim + 1 || grant.expires_at < own.expires_at {
                    return fault("L9", at, format!("{own:?} was renewed to {grant:?}"));
                }
                own.claim += 1;
                own.leaving = false;
                own.expires_at = grant.expires_at;
                Ok(())
            }
            Ok(Outcome::Claimed { renewed: false }) => {
                let Some(grant) = &view.grant else {
                    return fault("L1", at, "the claim was granted, and no grant exists");
                };
                match self.own.take() {
                    Some(own) if !forced => {
                        return fault("L1", at, format!("granted while {own:?} was live"));
                    }
                    Some(own) if own.is_held_by(who) => {
                        return fault("L9", at, "the holder's own override must renew");
                    }
                    Some(own) => self.over(own, Reason::Forced),
                    None => {}
                }
                let turn = self.line.first();
                if !forced && turn.is_some_and(|first| !first.is(who)) {
                    return fault("L14", at, format!("{} was served before {turn:?}", who.user));
                }
                if grant.fence <= self.highest {
                    let text = format!("fence {} after {}", grant.fence.0, self.highest.0);
                    return fault("L2", at, text);
                }
                self.highest = grant.fence;
                self.line.leave(who);
                self.line.offer = None;
                self.own = Some(Own {
                    holder: who.clone(),
                    fence: grant.fence,
                    claim: 1,
                    locked_at: now,
                    worked_at: now,
                    expires_at: grant.expires_at,
                    leaving: false,
                    kept: false,
                });
                Ok(())
            }
            Err(Refused::HeldBy { grant, position }) => {
                let held = self
                    .own
                    .as_ref()
                    .is_some_and(|own| own.fence == grant.fence && !own.is_held_by(who) && now < own.expires_at);
                if !held {
                    return fault("L13", at, format!("refused for {grant:?}, which is not live"));
                }
                self.stood(command, *position, now)
            }
            Err(Refused::OfferedTo { offer, position }) => {
                let free = self.own.is_none();
                if !free || !self.line.first().is_some_and(|first| first.is(&offer.to)) {
                    return fault("L14", at, format!("refused for {offer:?}, whose turn it is not"));
                }
                self.stood(command, *position, now)
            }
            Err(Refused::TtlOutOfBounds { .. }) => Ok(()),
            other => fault("L1", at, format!("a claim was answered {other:?}")),
        }
    }

    pub(super) fn stood(&mut self, command: &Command, answered: Option<usize>, now: Time) -> Checked {
        let Some(answered) = answered else { return Ok(()) };
        let position = self.line.stand(&command.who, now);
        if position != answered {
            let text = format!("{} is number {position} and was answered {answered}", command.who.user);
            return fault("L14", &command.resource, text);
        }
        Ok(())
    }

    fn is_live(&self, fence: Fence, who: &Holder) -> bool {
        self.own.as_ref().is_some_and(|own| own.fence == fence && !own.kept && who.speaks_for(&own.holder))
    }

    pub(super) fn beat(&mut self, call: &LeaseCall<'_>) -> Checked {
        let LeaseCall { command, answer, view, now } = *call;
        let Action::Heartbeat { fence, idle, worked } = &command.action else {
            return Ok(());
        };
        let (at, Policy { idle_guard, rolling_timeout, .. }) = (&command.resource, &command.policy);
        let live = self.is_live(*fence, &command.who);
        let Ok(outcome) = answer else {
            let missing = matches!(answer, Err(Refused::IdleMissing)) && idle_guard.is_some() && idle.is_none();
            return match answer {
                _ if live && !missing => fault("L3", at, format!("the live holder was refused: {answer:?}")),
                Err(Refused::Lost { ending: Some(ending) }) => self.check_ending(at, *fence, ending),
                _ => Ok(()),
            };
        };
        let (Some(own), Some(grant), true) = (&mut self.own, &view.grant, live) else {
            let id = if self.over.get(fence).is_some_and(|over| over.0 == Reason::Expired) { "L5" } else { "L3" };
            return fault(id, at, format!("fence {} is not live at {} and was answered {outcome:?}", fence.0, now.0));
        };
        let is_idle = idle_guard.is_some_and(|guard| idle.is_some_and(|idle| idle >= guard));
        if is_idle && (grant.expires_at != own.expires_at || *outcome != Outcome::Beat(Beat::Idle)) {
            return fault("L8", at, format!("an idle heartbeat was answered {outcome:?}: {grant:?}"));
        }
        if *worked && !is_idle {
            own.worked_at = now;
        }
        if grant.expires_at < own.expires_at {
            return fault("L6", at, format!("a heartbeat moved {} back to {}", own.expires_at.0, grant.expires_at.0));
        }
        let latest = rolling_timeout.map(|rolling| own.worked_at + rolling);
        if latest.is_some_and(|latest| latest < grant.expires_at) {
            return fault("L7", at, format!("heartbeats kept the lease until {}, past {latest:?}", grant.expires_at.0));
        }
        own.expires_at = grant.expires_at;
        own.leaving &= is_idle;
        Ok(())
    }

    /// Checks `leave`: it shortens the caller's own lease, never lengthens it, and affects no other.
    pub(super) fn leave(&mut self, call: &LeaseCall<'_>) -> Checked {
        let LeaseCall { command, answer, view, now } = *call;
        let Action::Leave { fence, claim, grace } = &command.action else {
            return Ok(());
        };
        let live = self.is_live(*fence, &command.who);
        let (Some(own), true) = (&mut self.own, live) else {
            let action = Action::Release { fence: *fence, claim: *claim };
            return self.release(&LeaseCall { command: &Command { action, ..command.clone() }, ..*call });
        };
        if claim.is_none_or(|claim| claim >= own.claim) {
            own.expires_at = own.expires_at.min(now + *grace);
            own.leaving = true;
        }
        let seen = view.grant.as_ref().map(|grant| (grant.fence, grant.expires_at));
        let kept = matches!(answer, Ok(Outcome::Released { released: false, repeated: false }));
        if !kept || seen != Some((own.fence, own.expires_at)) {
            let text = format!("leaving {own:?} was answered {answer:?}; seen is {seen:?}");
            return fault("L10", &command.resource, text);
        }
        Ok(())
    }

    /// Checks `keep`: the caller's own lease stays held for exactly the given time, and no other lease changes.
    pub(super) fn keep(&mut self, call: &LeaseCall<'_>) -> Checked {
        let LeaseCall { command, answer, view, now } = *call;
        let Action::Keep { fence, claim, keep } = &command.action else {
            return Ok(());
        };
        let max = command.policy.max_ttl.max(command.policy.ttl);
        if let Err(Refused::KeepOutOfBounds { .. }) = answer {
            return if *keep > max { Ok(()) } else { fault("L10", &command.resource, format!("{keep:?} was refused")) };
        }
        let live = self.is_live(*fence, &command.who);
        let current = |own: &&mut Own| live && claim.is_none_or(|claim| claim >= own.claim);
        let Some(own) = self.own.as_mut().filter(current) else {
            let action = Action::Release { fence: *fence, claim: *claim };
            return self.release(&LeaseCall { command: &Command { action, ..command.clone() }, ..*call });
        };
        own.expires_at = now + *keep;
        (own.kept, own.leaving) = (true, false);
        let seen = view.grant.as_ref().map(|grant| (grant.fence, grant.expires_at));
        let released = matches!(answer, Ok(Outcome::Released { released: true, repeated: false }));
        if !released || *keep > max || seen != Some((own.fence, own.expires_at)) {
            let text = format!("keeping {own:?} was answered {answer:?}; seen is {seen:?}");
            return fault("L10", &command.resource, text);
        }
        Ok(())
    }

    pub(super) fn release(&mut self, call: &LeaseCall<'_>) -> Checked {
        let LeaseCall { command, answer, now, .. } = *call;
        let Action::Release { fence, claim } = &command.action else {
            return Ok(());
        };
        let at = &command.resource;
        let live = self.is_live(*fence, &command.who);
        let older = self.own.as_ref().is_some_and(|own| claim.is_some_and(|claim| claim < own.claim));
        let ended = self.over.get(fence);
        let kept = self.own.as_ref().filter(|own| own.kept && own.fence == *fence).map(|own| &own.holder);
        let ended = ended.filter(|(how, _)| *how == Reason::Released).map(|(_, who)| who);
        let was_mine = kept.or(ended).is_some_and(|who| command.who.speaks_for(who));
        let right = match answer {
            Ok(Outcome::Released { released: true, repeated: false }) => live && !older,
            Ok(Outcome::Released { released: true, repeated: true }) => !live && was_mine,
            Ok(Outcome::Released { released: false, .. }) => live && older,
            Err(Refused::Lost { ending }) => {
                if let Some(ending) = ending {
                    self.check_ending(at, *fence, ending)?;
                }
                !live
            }
            _ => false,
        };
        if !right {
            let text = format!("release of {} at {} was answered {answer:?}; in force: {:?}", fence.0, now.0, self.own);
            return fault("L10", at, text);
        }
        if live
            && !older
            && let Some(own) = self.own.take()
        {
            self.over(own, Reason::Released);
        }
        Ok(())
    }
}
