//! Leases over HTTP: any resource, by any name.
//!
//! The verbs are functions of a caller and a resource, so that tasks can use them for their locks; the handlers here only
//! take the request apart.

mod batch;
mod claim;
mod keep;
mod line;
mod overrides;
mod read;
mod view;
mod wait;

use serde::Deserialize;
use turno::core::id::{Instance, Resource};
use turno::core::lease::{Action, Ending, Holder, Outcome, Refused, State};
use turno::core::limits::TEXT_MAX;
use turno::core::task::TaskId;
use turno::core::time::{Span, Time};
use turno::{Error, LeaseAnswer};
use utoipa_axum::router::OpenApiRouter;

pub(super) use claim::{ClaimBody, claim};
pub(super) use keep::{Beaten, HeartbeatBody, ReleaseBody, Released, heartbeat, release};
pub(super) use line::{Asked, DeclineBody, RequestBody, Turn, TurnBody, TurnQuery, ask, decline, join, leave};
pub(super) use overrides::{ForceBody, force_claim, force_release};
pub(super) use view::{EndedView, LeaseView};

use super::app::Shared;
use super::caller::Caller;
use super::problem::{Code, Problem};

pub(super) fn routes() -> OpenApiRouter<Shared> {
    OpenApiRouter::new()
        .merge(read::routes())
        .merge(batch::routes())
        .merge(claim::routes())
        .merge(keep::routes())
        .merge(overrides::routes())
        .merge(line::routes())
}

/// Nothing but who it is, where that is all that can be said.
#[derive(Debug, Default, Deserialize, utoipa::ToSchema)]
#[schema(as = LeaseInstance)]
#[serde(deny_unknown_fields)]
pub(super) struct InstanceBody {
    /// Which process; machines must say so.
    #[schema(value_type = Option<String>, max_length = 200)]
    pub(super) instance: Option<Instance>,
}

/// A span of a body, not negative and within a bound.
pub(super) fn span(field: &str, ms: Option<i64>, max: i64) -> Result<Option<Span>, Problem> {
    match ms {
        Some(ms) if !(0..=max).contains(&ms) => {
            let bound = if max == i64::MAX { "0 or more".to_owned() } else { format!("between 0 and {max}") };
            Err(Problem::new(Code::BadField).field(field).cause(bound))
        }
        ms => Ok(ms.map(Span)),
    }
}

/// What a person says about what they do: something, and not a book.
pub(crate) fn text(field: &str, text: String, required: bool) -> Result<String, Problem> {
    let bad = |cause: String| Err(Problem::new(Code::BadField).field(field).cause(cause));
    if required && text.trim().is_empty() {
        return bad("it is empty; say why, for whoever reads the audit".to_owned());
    }
    if text.len() > TEXT_MAX {
        return bad(format!("it has more than {TEXT_MAX} bytes; shorten it"));
    }
    Ok(text)
}

/// Carries out one command, and shows the lease that it leaves.
pub(crate) async fn act(
    caller: &Caller,
    resource: Resource,
    who: Holder,
    action: Action,
) -> Result<(LeaseView, Outcome), Problem> {
    let command = caller.0.command_of(resource, who.clone(), action);
    let answer = caller.0.lease(command).await;
    shown(caller, &who, answer).await
}

/// The lease after a command that was carried out, or the problem that its refusal becomes.
async fn shown(
    caller: &Caller,
    who: &Holder,
    answer: Result<LeaseAnswer, Error>,
) -> Result<(LeaseView, Outcome), Problem> {
    let LeaseAnswer { answer, state, now } = answer?;
    match answer {
        Ok(outcome) => Ok((LeaseView::of(caller, who, &state, now), outcome)),
        Err(why) => {
            if matches!(why, Refused::Lost { ending: None }) {
                known(caller, &state.resource).await?;
            }
            // Nothing was to be stored here: that nothing was is no news.
            Err(refused(caller, who, &why, &state, now).await.arg("kept", "beat"))
        }
    }
}

/// The problem that a refusal becomes. People know each other by their names.
pub(super) async fn refused(caller: &Caller, who: &Holder, why: &Refused, state: &State, now: Time) -> Problem {
    let problem = view::refused(caller, who, why, state, now);
    let Refused::Lost { ending: Some(Ending { by: Some(by), .. }) } = why else {
        return problem;
    };
    // Without an answer they are told by what is known.
    let name = caller.0.name_of(by.clone()).await.ok().flatten().unwrap_or_else(|| by.to_string());
    problem.arg("by", &name).with("by_name", name)
}

/// Refuses a resource that stands for a task that there is not; any other exists as soon as it is named.
pub(super) async fn known(caller: &Caller, resource: &Resource) -> Result<(), Problem> {
    match TaskId::of(resource) {
        Some(id) if caller.0.task_get(id).await?.1.is_none() => {
            Err(Problem::new(Code::NotFound).arg("thing", resource))
        }
        _ => Ok(()),
    }
}
