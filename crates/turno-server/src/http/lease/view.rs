//! A lease as programs see it, and the problems that refusals become.

use serde::Serialize;
use turno::core::id::UserId;
use turno::core::lease::{Ending, Grant, Holder, Lost, Policy, Refused, Request, State};
use turno::core::time::Time;

use crate::http::caller::Caller;
use crate::http::problem::{Code, Problem};
use crate::http::stamp::Stamp;

/// Who holds, waits or asks.
#[derive(Clone, Debug, Serialize, utoipa::ToSchema)]
#[schema(as = Holder)]
pub(crate) struct HolderView {
    /// The person, or the machine's account.
    #[schema(value_type = String)]
    id: UserId,
    /// How people call them.
    name: String,
    /// Which process, for machines.
    instance: Option<String>,
}

impl From<&Holder> for HolderView {
    fn from(holder: &Holder) -> HolderView {
        let instance = holder.instance.as_ref().map(ToString::to_string);
        HolderView { id: holder.user.clone(), name: holder.name.clone(), instance }
    }
}

/// Somebody asked the holder to let go.
#[derive(Clone, Debug, Serialize, utoipa::ToSchema)]
#[schema(as = LeaseRequested)]
pub(crate) struct RequestView {
    by: HolderView,
    message: Option<String>,
    at: Stamp,
    /// When the holder answered that they go on; null if they have not answered.
    declined_at: Option<Stamp>,
    /// What they said to that.
    answer: Option<String>,
}

impl From<&Request> for RequestView {
    fn from(request: &Request) -> RequestView {
        let declined = request.declined.as_ref();
        RequestView {
            by: (&request.by).into(),
            message: request.message.clone(),
            at: request.at.into(),
            declined_at: declined.map(|declined| declined.at.into()),
            answer: declined.and_then(|declined| declined.message.clone()),
        }
    }
}

/// The times that govern a lease.
#[derive(Clone, Debug, Serialize, utoipa::ToSchema)]
#[schema(as = LeasePolicy)]
pub(crate) struct PolicyView {
    ttl_ms: i64,
    max_ttl_ms: i64,
    heartbeat_interval_ms: i64,
    idle_guard_ms: Option<i64>,
    rolling_timeout_ms: Option<i64>,
    offer_ms: i64,
}

impl From<&Policy> for PolicyView {
    fn from(policy: &Policy) -> PolicyView {
        PolicyView {
            ttl_ms: policy.ttl.0,
            max_ttl_ms: policy.max_ttl.0,
            heartbeat_interval_ms: policy.heartbeat_interval.0,
            idle_guard_ms: policy.idle_guard.map(|span| span.0),
            rolling_timeout_ms: policy.rolling_timeout.map(|span| span.0),
            offer_ms: policy.offer.0,
        }
    }
}

/// Whether somebody may work on it.
#[derive(Clone, Copy, Debug, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum LeaseState {
    Free,
    Locked,
    Offered,
}

/// A lease.
#[derive(Clone, Debug, Serialize, utoipa::ToSchema)]
#[schema(as = Lease)]
pub(crate) struct LeaseView {
    resource: String,
    state: LeaseState,
    /// Who holds it; null when it is free.
    holder: Option<HolderView>,
    /// Names this ownership; goes along with everything done under it.
    fence: Option<i64>,
    /// Counts the holder's claim calls.
    claim: Option<i64>,
    locked_at: Option<Stamp>,
    heartbeat_at: Option<Stamp>,
    expires_at: Option<Stamp>,
    expires_in_ms: Option<i64>,
    /// Until the rolling timeout, where there is one.
    rolling_in_ms: Option<i64>,
    server_time: Stamp,
    /// The caller holds it.
    mine: bool,
    /// How many stand in line.
    waiting: usize,
    /// The caller's place in the line, from 1; null for who does not stand in it.
    position: Option<usize>,
    offered_to: Option<HolderView>,
    /// Until the offer passes.
    offer_expires_in_ms: Option<i64>,
    requests: Vec<RequestView>,
    policy: PolicyView,
}

impl LeaseView {
    /// The lease as `who` sees it. Whoever names no instance speaks for all of their own.
    pub(crate) fn of(caller: &Caller, who: &Holder, state: &State, now: Time) -> LeaseView {
        let policy = caller.0.lease_policy(&state.resource);
        let live = state.live(now);
        let offer = state.offer.as_ref().filter(|offer| live.is_none() && now < offer.until);
        let line = || state.line.iter().filter(|ticket| now < ticket.expires_at);
        let rolling = |grant: &Grant| policy.rolling_timeout.map(|rolling| now.until(grant.worked_at + rolling).0);
        LeaseView {
            resource: state.resource.to_string(),
            state: match (live, offer) {
                (Some(_), _) => LeaseState::Locked,
                (None, Some(_)) => LeaseState::Offered,
                (None, None) => LeaseState::Free,
            },
            holder: live.map(|grant| (&grant.holder).into()),
            fence: live.map(|grant| grant.fence.0),
            claim: live.map(|grant| grant.claim),
            locked_at: live.map(|grant| grant.locked_at.into()),
            heartbeat_at: live.map(|grant| grant.heartbeat_at.into()),
            expires_at: live.map(|grant| grant.expires_at.into()),
            expires_in_ms: live.map(|grant| now.until(grant.expires_at).0),
            rolling_in_ms: live.and_then(rolling),
            server_time: now.into(),
            mine: live.is_some_and(|grant| who.speaks_for(&grant.holder)),
            waiting: line().count(),
            position: line().position(|ticket| who.speaks_for(&ticket.who)).map(|index| index + 1),
            offered_to: offer.map(|offer| (&offer.to).into()),
            offer_expires_in_ms: offer.map(|offer| now.until(offer.until).0),
            requests: live.map_or_else(Vec::new, |_| state.requests.iter().map(Into::into).collect()),
            policy: policy.into(),
        }
    }
}

/// An ownership that is over.
#[derive(Clone, Debug, Serialize, utoipa::ToSchema)]
#[schema(as = LeaseEnded)]
pub(crate) struct EndedView {
    holder: HolderView,
    fence: i64,
    locked_at: Stamp,
    heartbeat_at: Stamp,
    ended_at: Stamp,
    /// `expired`, `released` or `forced`.
    reason: &'static str,
    /// What led to it: `no_heartbeat`, `idle`, `rolling_timeout`, `override`, `user_disabled` or `released`.
    cause: &'static str,
    /// Who did it, for an override.
    #[schema(value_type = Option<String>)]
    by: Option<UserId>,
    /// The override's reason.
    note: Option<String>,
}

impl From<&Ending> for EndedView {
    fn from(ending: &Ending) -> EndedView {
        let Ending { grant, at, reason, cause, by, note } = ending;
        EndedView {
            holder: (&grant.holder).into(),
            fence: grant.fence.0,
            locked_at: grant.locked_at.into(),
            heartbeat_at: grant.heartbeat_at.into(),
            ended_at: (*at).into(),
            reason: reason.as_str(),
            cause: cause.as_str(),
            by: by.clone(),
            note: note.clone(),
        }
    }
}

/// The problem that a refusal becomes, with nobody's name but the holder's.
pub(super) fn refused(caller: &Caller, who: &Holder, refused: &Refused, state: &State, now: Time) -> Problem {
    let lease = || LeaseView::of(caller, who, state, now);
    match refused {
        Refused::HeldBy { grant, position } => Problem::new(Code::LeaseHeld)
            .arg("holder", &grant.holder.name)
            .span("since", grant.locked_at.until(now))
            .with("holder", HolderView::from(&grant.holder))
            .with("locked_at", Stamp(grant.locked_at))
            .with("expires_at", Stamp(grant.expires_at))
            .with("position", position)
            // Their own other instance is somebody else: it has what they wanted.
            .with("lease", LeaseView { mine: false, ..lease() }),
        Refused::OfferedTo { offer, position } => Problem::new(Code::LeaseOffered)
            .arg("holder", &offer.to.name)
            .with("offered_to", HolderView::from(&offer.to))
            .with("until", Stamp(offer.until))
            .with("position", position)
            .with("lease", lease()),
        Refused::Lost { ending } => {
            let lost = Lost::of(ending.as_ref(), state, who, now);
            lost_problem(&lost, state.live(now)).with("lease", lease())
        }
        Refused::Pinned => Problem::new(Code::LeasePinned),
        Refused::LineFull => Problem::new(Code::LineFull),
        Refused::AlreadyHolder => Problem::new(Code::AlreadyHolder).with("lease", lease()),
        Refused::IdleMissing => Problem::new(Code::IdleRequired).field("idle_ms"),
        Refused::TtlOutOfBounds { max } => {
            Problem::new(Code::TtlOutOfBounds).field("ttl_ms").arg("max", max.0).with("max_ms", max.0)
        }
    }
}

/// Tells programs and people how an ownership was lost; the sentence is chosen by the cause, and says who has it now.
fn lost_problem(lost: &Lost<'_>, live: Option<&Grant>) -> Problem {
    let taken = live.filter(|_| lost.reason == "taken");
    Problem::new(Code::LeaseLost)
        .arg("how", lost.cause.unwrap_or(lost.reason))
        .arg("by", lost.by.map_or("-", UserId::as_str))
        .arg("note", lost.note.unwrap_or("-"))
        .arg("taken", if taken.is_some() { "yes" } else { "no" })
        .arg("holder", taken.map_or("-", |grant| grant.holder.name.as_str()))
        .with("reason", lost.reason)
        .with("cause", lost.cause)
        .with("by", lost.by)
        .with("note", lost.note)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::texts::{Language, Texts};
    use turno::core::lease::Cause;

    #[test]
    fn whoever_lost_a_lease_is_told_how_in_both_languages() {
        let (texts, eva) = (Texts::load(), UserId::new("eva").expect("a name"));
        let said = |cause: Option<&'static str>, language| {
            let lost = Lost { reason: "expired", cause, by: Some(&eva), note: Some("cierre") };
            let document = lost_problem(&lost, None).document(&texts, language, None);
            document["detail"].as_str().expect("a sentence").to_owned()
        };
        for language in [Language::Spanish, Language::English] {
            let causes = Cause::ALL.map(|cause| Some(cause.as_str()));
            let mut sentences: Vec<String> =
                causes.into_iter().chain([None]).map(|cause| said(cause, language)).collect();
            assert!(sentences.iter().all(|sentence| !sentence.contains(['{', '$'])), "{sentences:?}");
            sentences.sort();
            sentences.dedup();
            assert_eq!(sentences.len(), Cause::ALL.len() + 1, "{sentences:?}");
        }
        let english = said(Some("override"), Language::English);
        let expected = "This lease is not yours any more: eva stepped in: cierre. This request changed nothing; what was \
                        stored before stays. Claim it again if it is free";
        assert_eq!(english, expected);
    }

    #[test]
    fn what_was_applied_before_a_lock_was_lost_is_not_denied() {
        let lost = Lost { reason: "expired", cause: Some("no_heartbeat"), by: None, note: None };
        let problem = lost_problem(&lost, None).arg("kept", "some");
        let document = problem.document(&Texts::load(), Language::Spanish, None);
        let detail = document["detail"].as_str().expect("a sentence");
        assert!(
            detail.contains("Lo que ya se aplicó queda aplicado") && !detail.contains("no cambió nada"),
            "{detail}"
        );
    }
}
