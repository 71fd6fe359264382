//! The JSON of a lease, and the problems for refused lease commands.

use serde::Serialize;
use turno::core::access::Permission;
use turno::core::id::UserId;
use turno::core::lease::{Ending, Grant, Holder, Lost, Policy, Refused, Request, State};
use turno::core::limits::SPAN_MIN;
use turno::core::time::{Span, Time};

use crate::http::caller::Caller;
use crate::http::problem::{Code, Problem};
use crate::http::stamp::Stamp;

/// A holder, a waiting caller or a caller who asked for the lease.
#[derive(Clone, Debug, Serialize, utoipa::ToSchema)]
#[schema(as = Holder)]
pub(crate) struct HolderView {
    /// The person, or the machine account.
    #[schema(value_type = String)]
    id: UserId,
    /// The display name.
    name: String,
    /// The process, for machine accounts.
    instance: Option<String>,
}

impl From<&Holder> for HolderView {
    fn from(holder: &Holder) -> HolderView {
        let instance = holder.instance.as_ref().map(ToString::to_string);
        HolderView { id: holder.user.clone(), name: holder.name.clone(), instance }
    }
}

/// A request to the holder to release the lease.
#[derive(Clone, Debug, Serialize, utoipa::ToSchema)]
#[schema(as = LeaseRequested)]
pub(crate) struct RequestView {
    /// The caller who asked.
    by: HolderView,
    /// The message to the holder.
    message: Option<String>,
    /// When the request was made.
    at: Stamp,
    /// When the holder declined. Null if the holder has not answered.
    declined_at: Option<Stamp>,
    /// The holder's message with the answer.
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

/// The durations that govern a lease.
#[derive(Clone, Debug, Serialize, utoipa::ToSchema)]
#[schema(as = LeasePolicy)]
pub(crate) struct PolicyView {
    /// How long a claim or a renewal lasts by default.
    ttl_ms: i64,
    /// The longest `ttl_ms` that a claim may ask for.
    max_ttl_ms: i64,
    /// How often the holder should send a heartbeat.
    heartbeat_interval_ms: i64,
    /// The time without activity after which a heartbeat renews nothing. Null if there is no idle guard.
    idle_guard_ms: Option<i64>,
    /// The longest time between two pieces of work. Null if there is no rolling timeout.
    rolling_timeout_ms: Option<i64>,
    /// How long a free lease is reserved for the first caller in line.
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

/// Whether the lease can be claimed. `offered` means that it is free but reserved for the first caller in line.
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
    /// The name of the resource.
    resource: String,
    /// Whether the lease can be claimed.
    state: LeaseState,
    /// The holder. Null if the lease is free.
    holder: Option<HolderView>,
    /// The fence of this ownership. Send it with every call that relies on the lease.
    fence: Option<i64>,
    /// The number of claim calls in this ownership. Send it with a release.
    claim: Option<i64>,
    /// When this ownership began.
    locked_at: Option<Stamp>,
    /// When the holder last sent a heartbeat or claimed.
    heartbeat_at: Option<Stamp>,
    /// When the lease expires.
    expires_at: Option<Stamp>,
    /// Time until the lease expires, at `server_time`.
    expires_in_ms: Option<i64>,
    /// True if the holder has released the lease with `keep_ms`. It stays held until `expires_at`.
    kept: bool,
    /// Time until the rolling timeout. Null if the policy has none, or if the lease is kept.
    rolling_in_ms: Option<i64>,
    /// The server's time. Compute remaining times from it, not from the client's clock.
    server_time: Stamp,
    /// True if the caller holds the lease.
    mine: bool,
    /// The number of callers in the waiting line.
    waiting: usize,
    /// The caller's place in the waiting line, from 1. Null if the caller is not in it.
    position: Option<usize>,
    /// The first caller in line, for whom the free lease is reserved. Null unless `state` is `offered`.
    offered_to: Option<HolderView>,
    /// Time until the offer passes to the next in line.
    offer_expires_in_ms: Option<i64>,
    /// Requests to release the lease, including declined ones.
    requests: Vec<RequestView>,
    /// The durations that govern the lease.
    policy: PolicyView,
}

impl LeaseView {
    /// Returns the lease as `who` sees it. A holder without an instance matches all instances of its user.
    pub(crate) fn new(caller: &Caller, who: &Holder, state: &State, now: Time) -> LeaseView {
        let shown = as_seen_by(caller, state);
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
            kept: live.is_some() && state.kept,
            rolling_in_ms: live.filter(|_| !state.kept).and_then(rolling),
            server_time: now.into(),
            mine: live.is_some_and(|grant| !state.kept && who.speaks_for(&grant.holder)),
            waiting: line().count(),
            position: line().position(|ticket| who.speaks_for(&ticket.who)).map(|index| index + 1),
            offered_to: offer.map(|offer| (&offer.to).into()),
            offer_expires_in_ms: offer.map(|offer| now.until(offer.until).0),
            requests: live.map_or_else(Vec::new, |_| shown.requests.iter().map(Into::into).collect()),
            policy: policy.into(),
        }
    }
}

/// Returns the lease without messages and reasons that do not concern the caller.
fn as_seen_by(caller: &Caller, state: &State) -> State {
    match caller.0.principal() {
        Some(me) if !me.permissions.has(Permission::AuditRead) => state.clone().as_seen_by(&me.user),
        _ => state.clone(),
    }
}

/// A past ownership of a lease.
#[derive(Clone, Debug, Serialize, utoipa::ToSchema)]
#[schema(as = LeaseEnded)]
pub(crate) struct EndedView {
    /// The past holder.
    holder: HolderView,
    /// The fence of the ownership.
    fence: i64,
    /// When the ownership began.
    locked_at: Stamp,
    /// When the holder last sent a heartbeat or claimed.
    heartbeat_at: Stamp,
    /// When the ownership ended.
    ended_at: Stamp,
    /// How it ended: `expired`, `released` or `forced`.
    reason: &'static str,
    /// What led to the end: `no_heartbeat`, `idle`, `rolling_timeout`, `override`, `user_disabled` or `released`.
    cause: &'static str,
    /// The user who did the override.
    #[schema(value_type = Option<String>)]
    by: Option<UserId>,
    /// The reason of the override.
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

/// Converts a refusal to a problem. The only display name in it is the holder's.
pub(super) fn refusal_problem(caller: &Caller, who: &Holder, refused: &Refused, state: &State, now: Time) -> Problem {
    let lease = || LeaseView::new(caller, who, state, now);
    match refused {
        Refused::HeldBy { grant, position } => Problem::new(Code::LeaseHeld)
            .arg("holder", &grant.holder.name)
            .span("since", grant.locked_at.until(now))
            .with("holder", HolderView::from(&grant.holder))
            .with("locked_at", Stamp(grant.locked_at))
            .with("expires_at", Stamp(grant.expires_at))
            .with("position", position)
            // If another instance of the caller holds the lease, it still is not this caller's.
            .with("lease", LeaseView { mine: false, ..lease() }),
        Refused::OfferedTo { offer, position } => Problem::new(Code::LeaseOffered)
            .arg("holder", &offer.to.name)
            .with("offered_to", HolderView::from(&offer.to))
            .with("until", Stamp(offer.until))
            .with("position", position)
            .with("lease", lease()),
        Refused::Lost { ending } => {
            // A caller can send the fence of another holder, so the ending need not concern the caller.
            let concerned = State { ended: ending.clone(), ..State::unseen(state.resource.clone()) };
            let ending = as_seen_by(caller, &concerned).ended;
            let lost = Lost::describe(ending.as_ref(), state, who, now);
            lost_problem(&lost, state.live(now)).with("lease", lease())
        }
        Refused::Pinned => Problem::new(Code::LeasePinned),
        Refused::LineFull => Problem::new(Code::LineFull),
        Refused::AlreadyHolder => Problem::new(Code::AlreadyHolder).with("lease", lease()),
        Refused::IdleMissing => Problem::new(Code::IdleRequired).field("idle_ms"),
        Refused::TtlOutOfBounds { max } => out_of_bounds("ttl_ms", SPAN_MIN, *max),
        Refused::KeepOutOfBounds { max } => out_of_bounds("keep_ms", Span::ZERO, *max),
    }
}

fn out_of_bounds(field: &str, min: Span, max: Span) -> Problem {
    let problem = Problem::new(Code::TtlOutOfBounds).field(field).arg("field", field);
    problem.arg("min", min.0).arg("max", max.0).with("max_ms", max.0)
}

/// Builds the problem for a lost lease. The cause selects the sentence, which also names the new holder.
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
    fn every_cause_of_a_lost_lease_has_its_own_sentence() {
        let (texts, eva) = (Texts::load(), UserId::new("eva").expect("a valid id"));
        let sentence = |cause: Option<&'static str>, language| {
            let lost = Lost { reason: "expired", cause, by: Some(&eva), note: Some("cierre") };
            let document = lost_problem(&lost, None).document(&texts, language, None);
            document["detail"].as_str().expect("the problem has a detail").to_owned()
        };
        for language in [Language::Spanish, Language::English] {
            let causes = Cause::ALL.map(|cause| Some(cause.as_str()));
            let mut sentences: Vec<String> =
                causes.into_iter().chain([None]).map(|cause| sentence(cause, language)).collect();
            assert!(sentences.iter().all(|sentence| !sentence.contains(['{', '$'])), "{sentences:?}");
            sentences.sort();
            sentences.dedup();
            assert_eq!(sentences.len(), Cause::ALL.len() + 1, "{sentences:?}");
        }
        let english = sentence(Some("override"), Language::English);
        let expected = "This lease is not yours any more: eva took or released it. Reason: cierre. This request changed nothing; what was \
                        stored before stays. Claim it again if it is free";
        assert_eq!(english, expected);
    }

    #[test]
    fn message_about_a_lost_lock_keeps_applied_lines() {
        let lost = Lost { reason: "expired", cause: Some("no_heartbeat"), by: None, note: None };
        let problem = lost_problem(&lost, None).arg("kept", "some");
        let document = problem.document(&Texts::load(), Language::Spanish, None);
        let detail = document["detail"].as_str().expect("the problem has a detail");
        assert!(
            detail.contains("Lo que ya se aplicó queda aplicado") && !detail.contains("no cambió nada"),
            "{detail}"
        );
    }
}
