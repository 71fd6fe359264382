//! Decides one command about one lease.

use super::line;
use super::{Action, Beat, Cause, Command, Decision, Ending, Grant, Holder, Outcome, Policy, Reason, Refused, State};
use crate::audit::{Actor, AuditAction, Draft};
use crate::event::{Event, EventName, Topic};
use crate::id::{Fence, Numbers, UserId};
use crate::limits::SPAN_MIN;
use crate::text::clip_text;
use crate::time::{Span, Time};
use serde_json::Value;

/// Decides `command` and changes `state` accordingly. The caller has locked `state` before it read `now`.
///
/// Every command first ends an ownership that has expired. The end is final, so a clock that later steps back cannot
/// revive the ownership. Then a lapsed offer is passed on, so that the stored offer is the one that the next claim
/// meets. Only then the command itself is decided.
pub fn decide(state: &mut State, command: &Command, now: Time, numbers: &mut Numbers) -> Decision {
    // After a clock step two processes may read different times, so time never goes back behind the last decision.
    let now = now.max(state.decided_at());
    let (ended, events, audit) = (Vec::new(), Vec::new(), Vec::new());
    let mut builder = DecisionBuilder { state, command, now, ended, events, audit, changed: false };
    builder.end_expired();
    builder.evaluate_offer();
    let answer = match &command.action {
        Action::Claim { ttl, wait } => builder.claim(*ttl, *wait, numbers),
        Action::Heartbeat { fence, idle, worked } => builder.heartbeat(*fence, *idle, *worked),
        Action::Release { fence, claim } => builder.release(*fence, *claim),
        Action::Leave { fence, claim, grace } => builder.leave(*fence, *claim, *grace),
        Action::Keep { fence, claim, keep } => builder.keep(*fence, *claim, *keep),
        Action::ForceClaim { reason, fence } => builder.force_claim(reason, *fence, numbers),
        Action::ForceRelease { reason, fence } => builder.force_release(reason, *fence),
        Action::Expel { user } => builder.expel(user),
        Action::RequestRelease { message } => builder.request_release(message.as_deref()),
        Action::Decline { fence, message } => builder.decline(*fence, message.as_deref()),
        Action::JoinLine => builder.join_line(),
        Action::RenewTicket => builder.keep_place(),
        Action::LeaveLine => builder.leave_line(),
        Action::Look => Ok(Outcome::Looked { news: !builder.events.is_empty() }),
    };
    builder.set_look();
    Decision { answer, changed: builder.changed, ended: builder.ended, events: builder.events, audit: builder.audit }
}

/// Collects the parts of a [`Decision`] while the command is decided.
struct DecisionBuilder<'a> {
    state: &'a mut State,
    command: &'a Command,
    now: Time,
    ended: Vec<Ending>,
    events: Vec<Event>,
    audit: Vec<Draft>,
    changed: bool,
}

impl DecisionBuilder<'_> {
    fn who(&self) -> &Holder {
        &self.command.who
    }

    fn policy(&self) -> &Policy {
        &self.command.policy
    }

    fn claim(&mut self, ttl: Option<Span>, wait: bool, numbers: &mut Numbers) -> Result<Outcome, Refused> {
        let ttl = ttl.unwrap_or(self.policy().ttl);
        let max = self.policy().longest();
        if ttl < SPAN_MIN || ttl > max {
            return Err(Refused::TtlOutOfBounds { max });
        }
        if let Some(grant) = &self.state.grant {
            if self.state.held_by(self.who()) {
                self.renew_by_claim(ttl);
                // A person may have continued in another window, so the first window needs an event. An instance is one
                // process, which knows about its own claims.
                if self.who().instance.is_none() {
                    self.announce(EventName::LeaseClaimedAgain, None);
                }
                return Ok(Outcome::Claimed { renewed: true });
            }
            let grant = grant.clone();
            let position = if wait { Some(self.stand_in_line()?) } else { None };
            return Err(Refused::HeldBy { grant, position });
        }
        if self.state.pinned {
            return Err(Refused::Pinned);
        }
        match &self.state.offer {
            Some(offer) if !offer.to.is(self.who()) => {
                let offer = offer.clone();
                let position = if wait { Some(self.stand_in_line()?) } else { None };
                Err(Refused::OfferedTo { offer, position })
            }
            _ => {
                self.grant(ttl, numbers);
                Ok(Outcome::Claimed { renewed: false })
            }
        }
    }

    fn heartbeat(&mut self, fence: Fence, idle: Option<Span>, worked: bool) -> Result<Outcome, Refused> {
        let now = self.now;
        let policy = &self.command.policy;
        let owned = self.state.owned(fence, self.who());
        let Some(grant) = self.state.grant.as_mut().filter(|_| owned) else {
            return Err(self.lost(fence));
        };
        // A heartbeat shortly after the last stored one writes nothing, so that frequent heartbeats cost no writes.
        let quiet = Span((grant.ttl.0 / 20).min(1_000));
        if let Some(guard) = policy.idle_guard {
            let Some(idle) = idle else {
                return Err(Refused::IdleMissing);
            };
            if idle >= guard {
                self.changed |= !grant.idle;
                grant.idle = true;
                return Ok(Outcome::Beat(Beat::Idle));
            }
        }
        if worked && now - grant.worked_at >= quiet {
            grant.worked_at = now;
            self.changed = true;
        }
        // The holder still works in another page of the same ownership, so the grace period of a closed page ends.
        self.changed |= std::mem::take(&mut self.state.leaving);
        let cap = policy.rolling_timeout.map(|rolling| grant.worked_at + rolling);
        if cap.is_some_and(|cap| cap <= grant.expires_at) {
            self.changed |= grant.idle;
            grant.idle = false;
            return Ok(Outcome::Beat(Beat::RollingTimeout));
        }
        if self.changed || grant.idle || now - grant.heartbeat_at >= quiet {
            // An operator who lowers `max_ttl` shortens running leases, too.
            let wanted = now + grant.ttl.min(policy.longest());
            grant.expires_at = grant.expires_at.max(cap.map_or(wanted, |cap| cap.min(wanted)));
            grant.heartbeat_at = now;
            grant.idle = false;
            self.changed = true;
        }
        Ok(Outcome::Beat(Beat::Renewed))
    }

    fn release(&mut self, fence: Fence, claim: Option<i64>) -> Result<Outcome, Refused> {
        match &self.state.grant {
            Some(_) if self.state.kept && self.state.names(fence, self.who()) => {
                Ok(Outcome::Released { released: true, repeated: true })
            }
            Some(grant) if self.state.owned(fence, self.who()) => {
                if claim.is_some_and(|claim| claim < grant.claim) {
                    return Ok(Outcome::Released { released: false, repeated: false });
                }
                if self.state.pinned {
                    return Err(Refused::Pinned);
                }
                self.end(Reason::Released, Cause::Released, None, None, self.now);
                self.evaluate_offer();
                Ok(Outcome::Released { released: true, repeated: false })
            }
            _ => match &self.state.ended {
                Some(ending) if ending.repeats_release(fence, self.who()) => {
                    Ok(Outcome::Released { released: true, repeated: true })
                }
                _ => Err(self.lost(fence)),
            },
        }
    }

    /// Shortens the expiry to the grace period and marks the ownership as leaving; it then ends by expiring. A grace of
    /// zero releases an ownership that is already leaving.
    fn leave(&mut self, fence: Fence, claim: Option<i64>, grace: Span) -> Result<Outcome, Refused> {
        if grace <= Span::ZERO && self.state.leaving {
            return self.release(fence, claim);
        }
        let until = self.now + grace;
        let owned = self.state.owned(fence, self.who());
        let Some(grant) = self.state.grant.as_mut().filter(|_| owned) else {
            return self.release(fence, claim);
        };
        if grace > Span::ZERO && claim.is_none_or(|claim| claim >= grant.claim) {
            grant.expires_at = grant.expires_at.min(until);
            self.state.leaving = true;
            self.changed = true;
            // Tells listeners in the waiting line that the lease will soon be free.
            self.announce(EventName::LeaseLeaving, None);
        }
        Ok(Outcome::Released { released: false, repeated: false })
    }

    /// Marks the ownership as kept and sets its expiry; it then ends by expiring, as released. The rolling timeout does
    /// not count, because a kept lease is not worked under.
    fn keep(&mut self, fence: Fence, claim: Option<i64>, keep: Span) -> Result<Outcome, Refused> {
        let max = self.policy().longest();
        if keep > max {
            return Err(Refused::KeepOutOfBounds { max });
        }
        let (now, owned) = (self.now, self.state.owned(fence, self.who()));
        if owned && self.state.pinned {
            return Err(Refused::Pinned);
        }
        let current = |grant: &&mut Grant| owned && claim.is_none_or(|claim| claim >= grant.claim);
        let Some(grant) = self.state.grant.as_mut().filter(current).filter(|_| keep > Span::ZERO) else {
            return self.release(fence, claim);
        };
        grant.expires_at = now + keep;
        grant.heartbeat_at = now;
        self.state.kept = true;
        self.state.leaving = false;
        self.state.requests.clear();
        self.changed = true;
        self.announce(EventName::LeaseKept, None);
        Ok(Outcome::Released { released: true, repeated: false })
    }

    fn force_claim(&mut self, reason: &str, fence: Option<Fence>, numbers: &mut Numbers) -> Result<Outcome, Refused> {
        let ttl = self.policy().ttl;
        self.check_target(fence)?;
        let before = self.state.grant.clone();
        let own = self.state.held_by(self.who());
        if self.state.pinned && !own {
            return Err(Refused::Pinned);
        }
        let renewed = match &self.state.grant {
            Some(_) if own => {
                self.renew_by_claim(ttl);
                true
            }
            held => {
                if held.is_some() {
                    self.end_by_override(reason);
                }
                // An override skips the waiting line; its tickets stay.
                self.state.offer = None;
                self.grant(ttl, numbers);
                false
            }
        };
        self.announce_to(EventName::LeaseForceClaimed, Some(reason), holder_of(before.as_ref()));
        self.audit(AuditAction::LockForceClaim, reason, before.as_ref(), !renewed);
        Ok(Outcome::Claimed { renewed })
    }

    /// Refuses an override whose `fence` names another ownership than the live one, unless the caller holds the lease.
    fn check_target(&self, fence: Option<Fence>) -> Result<(), Refused> {
        match (&self.state.grant, fence) {
            (Some(grant), Some(fence)) if grant.fence != fence && !self.state.held_by(self.who()) => {
                Err(Refused::HeldBy { grant: grant.clone(), position: None })
            }
            _ => Ok(()),
        }
    }

    fn force_release(&mut self, reason: &str, fence: Option<Fence>) -> Result<Outcome, Refused> {
        self.check_target(fence)?;
        if self.state.pinned {
            return Err(Refused::Pinned);
        }
        let before = self.state.grant.clone();
        let changed = before.is_some();
        if changed {
            self.end_by_override(reason);
            self.evaluate_offer();
        }
        self.announce_to(EventName::LeaseForceReleased, Some(reason), holder_of(before.as_ref()));
        self.audit(AuditAction::LockForceRelease, reason, before.as_ref(), changed);
        Ok(Outcome::ForceReleased { changed })
    }

    /// Ends the ownership, the tickets and the offer of a disabled user. Writes no audit entry, because disabling the
    /// user has its own.
    fn expel(&mut self, user: &UserId) -> Result<Outcome, Refused> {
        let changed = self.state.grant.as_ref().is_some_and(|grant| grant.holder.user == *user);
        if changed && self.state.pinned {
            return Err(Refused::Pinned);
        }
        self.changed |= line::leave_all(&mut self.state.line, user);
        if self.state.offer.as_ref().is_some_and(|offer| offer.to.user == *user) {
            self.state.offer = None;
            self.changed = true;
            self.evaluate_offer();
        }
        if changed {
            let by = self.command.who.user.clone();
            self.end(Reason::Forced, Cause::UserDisabled, Some(by), None, self.now);
            self.evaluate_offer();
        }
        Ok(Outcome::ForceReleased { changed })
    }

    fn request_release(&mut self, message: Option<&str>) -> Result<Outcome, Refused> {
        // The holder of a kept lease has released it already.
        if self.state.grant.is_none() || self.state.kept {
            return Ok(Outcome::ReleaseRequested { delivered: false });
        }
        let message = message.map(clip_text);
        line::ask(&mut self.state.requests, self.command.who.clone(), message.clone(), self.now);
        self.changed = true;
        let to = holder_of(self.state.grant.as_ref());
        self.announce_to(EventName::LeaseRequested, message.as_deref(), to);
        Ok(Outcome::ReleaseRequested { delivered: true })
    }

    fn decline(&mut self, fence: Fence, message: Option<&str>) -> Result<Outcome, Refused> {
        if !self.state.owned(fence, self.who()) {
            return Err(self.lost(fence));
        }
        let message = message.map(clip_text);
        let declined_any = line::decline(&mut self.state.requests, message.as_deref(), self.now);
        if declined_any {
            self.changed = true;
            let to = self.state.requests.iter().map(|request| request.by.user.clone()).collect();
            self.announce_to(EventName::LeaseDeclined, message.as_deref(), to);
        }
        Ok(Outcome::ReleaseRequested { delivered: declined_any })
    }

    fn join_line(&mut self) -> Result<Outcome, Refused> {
        if self.state.held_by(self.who()) {
            return Err(Refused::AlreadyHolder);
        }
        let position = self.stand_in_line()?;
        self.evaluate_offer();
        let offered = self.state.offer.as_ref().is_some_and(|offer| offer.to.is(self.who()));
        Ok(Outcome::InLine { position, offered, ticket: crate::limits::TICKET_TTL })
    }

    fn keep_place(&mut self) -> Result<Outcome, Refused> {
        let (who, now) = (&self.command.who, self.now);
        let waits = self.state.line.iter().any(|ticket| ticket.who.is(who) && now < ticket.expires_at);
        if waits { self.join_line() } else { Ok(Outcome::LeftLine) }
    }

    fn leave_line(&mut self) -> Result<Outcome, Refused> {
        let who = self.command.who.clone();
        self.changed |= line::leave(&mut self.state.line, &who);
        if self.state.offer.as_ref().is_some_and(|offer| offer.to.is(&who)) {
            self.state.offer = None;
            self.changed = true;
            self.evaluate_offer();
        }
        Ok(Outcome::LeftLine)
    }

    /// Takes or renews the caller's ticket and returns its place in the line, from 1.
    fn stand_in_line(&mut self) -> Result<usize, Refused> {
        let who = self.command.who.clone();
        let position = line::stand(&mut self.state.line, who, self.now).ok_or(Refused::LineFull)?;
        self.changed = true;
        Ok(position)
    }

    /// Offers a free resource to the first live ticket.
    fn evaluate_offer(&mut self) {
        if self.state.grant.is_some() {
            return;
        }
        let before = (self.state.offer.clone(), self.state.line.len());
        let offer = self.command.policy.offer;
        line::evaluate(&mut self.state.line, &mut self.state.offer, offer, self.now);
        if before.0 != self.state.offer {
            if let Some(offer) = &self.state.offer {
                let to = offer.to.user.clone();
                self.event(EventName::LeaseOffered, None, Some(to), None, Vec::new());
            }
            self.changed = true;
        }
        self.changed |= before.1 != self.state.line.len();
    }

    fn grant(&mut self, ttl: Span, numbers: &mut Numbers) {
        let now = self.now;
        let wanted = now + ttl;
        let cap = self.policy().rolling_timeout.map_or(wanted, |rolling| now + rolling);
        line::leave(&mut self.state.line, &self.command.who);
        self.state.offer = None;
        self.state.requests.clear();
        self.state.leaving = false;
        self.state.kept = false;
        self.state.grant = Some(Grant {
            holder: Holder { name: clip_text(&self.command.who.name), ..self.command.who.clone() },
            fence: Fence(numbers.take()),
            claim: 1,
            ttl,
            locked_at: now,
            worked_at: now,
            heartbeat_at: now,
            expires_at: wanted.min(cap),
            idle: false,
        });
        self.changed = true;
        self.announce(EventName::LeaseClaimed, None);
    }

    /// Renews the live ownership by a claim of its holder. Keeps the fence, `locked_at` and the start of the rolling
    /// timeout.
    fn renew_by_claim(&mut self, ttl: Span) {
        let now = self.now;
        let rolling = self.command.policy.rolling_timeout;
        let Some(grant) = self.state.grant.as_mut() else {
            return;
        };
        let wanted = now + ttl;
        let cap = rolling.map_or(wanted, |rolling| grant.worked_at + rolling);
        grant.claim += 1;
        grant.ttl = ttl;
        grant.heartbeat_at = now;
        grant.expires_at = grant.expires_at.max(wanted.min(cap));
        grant.idle = false;
        self.state.leaving = false;
        self.changed = true;
    }

    fn end_expired(&mut self) {
        if let Some(Ending { reason, cause, at, .. }) = self.state.ran_out(self.policy(), self.now) {
            self.end(reason, cause, None, None, at);
        }
    }

    /// Sets when the engine looks at the lease next. [`Action::Look`] sets the exact instant. Other commands only move
    /// it to an earlier time: an early look is harmless, but a late one would announce the expiry late.
    fn set_look(&mut self) {
        let due = self.state.due_at();
        let late = due.is_some_and(|due| self.state.look_at.is_none_or(|look_at| due < look_at));
        let exact = self.command.action == Action::Look;
        if self.state.look_at != due && (late || exact) {
            self.state.look_at = due;
            self.changed = true;
        }
    }

    fn end_by_override(&mut self, reason: &str) {
        let by = self.command.who.user.clone();
        self.end(Reason::Forced, Cause::Override, Some(by), Some(clip_text(reason)), self.now);
    }

    fn end(&mut self, reason: Reason, cause: Cause, by: Option<UserId>, note: Option<String>, at: Time) {
        let Some(grant) = self.state.grant.take() else {
            return;
        };
        let (name, detail) = match reason {
            Reason::Released => (EventName::LeaseReleased, None),
            Reason::Expired => (EventName::LeaseLost, Some(reason.as_str())),
            Reason::Forced => (EventName::LeaseLost, note.as_deref()),
        };
        self.event(name, Some(grant.fence), Some(grant.holder.user.clone()), detail, by.iter().cloned().collect());
        let ending = Ending { grant, at, reason, cause, by, note };
        self.ended.push(ending.clone());
        self.state.end(ending);
        self.changed = true;
    }

    fn lost(&self, fence: Fence) -> Refused {
        Refused::Lost { ending: self.state.ending_of(fence) }
    }

    /// Audits an override, even if it changed nothing, because the attempt matters, too.
    fn audit(&mut self, action: AuditAction, reason: &str, before: Option<&Grant>, changed: bool) {
        let actor = Actor { user: self.command.who.user.clone(), via: self.command.via.clone() };
        let fence = self.state.grant.as_ref().map(|grant| grant.fence.0);
        self.audit.push(Draft::new(actor, action, self.state.resource.as_str()).with([
            ("reason", Value::from(reason)),
            ("changed", Value::from(changed)),
            ("holder_before", before.map_or(Value::Null, |grant| Value::from(grant.holder.user.as_str()))),
            ("fence_before", Value::from(before.map(|grant| grant.fence.0))),
            ("fence", Value::from(fence)),
        ]));
    }

    fn announce(&mut self, name: EventName, detail: Option<&str>) {
        self.announce_to(name, detail, Vec::new());
    }

    /// Announces an event by the caller. Only the caller and the users in `to` may read a private detail.
    fn announce_to(&mut self, name: EventName, detail: Option<&str>, to: Vec<UserId>) {
        let fence = self.state.grant.as_ref().map(|grant| grant.fence);
        self.event(name, fence, Some(self.command.who.user.clone()), detail, to);
    }

    fn event(
        &mut self,
        name: EventName,
        fence: Option<Fence>,
        by: Option<UserId>,
        detail: Option<&str>,
        mut to: Vec<UserId>,
    ) {
        to.sort();
        to.dedup();
        let resource = self.state.resource.as_str().into();
        let detail = detail.map(clip_text);
        let topic = Topic::Leases;
        self.events.push(Event { topic, name, resource, key: None, queue: None, at: self.now, fence, by, detail, to });
    }
}

/// Returns the user who holds the ownership, if there is one.
fn holder_of(grant: Option<&Grant>) -> Vec<UserId> {
    grant.map(|grant| grant.holder.user.clone()).into_iter().collect()
}
