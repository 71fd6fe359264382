//! Leases over HTTP, for any resource.
//!
//! Each verb is a function of a caller and a resource, so that the task routes can use it for task locks. The handlers
//! only extract the request.

mod batch;
mod claim;
mod keep;
mod line;
mod overrides;
mod read;
mod view;
mod wait;

use crate::texts::message::Message;
use serde::Deserialize;
use turno::Error;
use turno::core::fault::Fault;
use turno::core::id::{Instance, Resource};
use turno::core::lease::{Action, Ending, Holder, Outcome, Refused, State};
use turno::core::limits::TEXT_MAX;
use turno::core::task::TaskId;
use turno::core::time::{Span, Time};
use turno::lease::LeaseAnswer;
use utoipa_axum::router::OpenApiRouter;

pub(super) use claim::{ClaimBody, claim};
pub(super) use keep::{HeartbeatBody, HeartbeatResult, ReleaseBody, Released, heartbeat, release};
pub(super) use line::{DeclineBody, RequestBody, RequestResult, Turn, TurnBody, TurnQuery, ask, decline, join, leave};
pub(super) use overrides::{ForceBody, force_claim, force_release};
pub(super) use view::{EndedView, LeaseView};

use super::app::Shared;
use super::caller::Caller;
use super::problem::{Code, Problem, bad_field};

pub(super) fn routes() -> OpenApiRouter<Shared> {
    OpenApiRouter::new()
        .merge(read::routes())
        .merge(batch::routes())
        .merge(claim::routes())
        .merge(keep::routes())
        .merge(overrides::routes())
        .merge(line::routes())
}

/// Names the calling process.
#[derive(Debug, Default, Deserialize, utoipa::ToSchema)]
#[schema(as = LeaseInstance)]
#[serde(deny_unknown_fields)]
pub(super) struct InstanceBody {
    /// The calling process. Required for machine accounts.
    #[schema(value_type = Option<String>, max_length = 200)]
    pub(super) instance: Option<Instance>,
}

/// Converts milliseconds of a body to a span. Refuses a negative value and one above `max`.
pub(super) fn span(field: &str, ms: Option<i64>, max: i64) -> Result<Option<Span>, Problem> {
    match ms {
        Some(ms) if !(0..=max).contains(&ms) => {
            let zero_or_more = || Problem::new(Code::BadField).field(field).cause(Message::new("error-zero-or-more"));
            Err(if max == i64::MAX { zero_or_more() } else { bad_field(field, &Fault::OutOfBounds { min: 0, max }) })
        }
        ms => Ok(ms.map(Span)),
    }
}

/// Checks a text that a person entered, such as a reason: its length, and that it is not empty if it is required.
pub(crate) fn text(field: &str, text: String, required: bool) -> Result<String, Problem> {
    if required && text.trim().is_empty() {
        return Err(Problem::new(Code::BadField).field(field).cause(Message::new("error-reason-empty")));
    }
    if text.len() > TEXT_MAX {
        return Err(bad_field(field, &Fault::TooLarge { max: TEXT_MAX }));
    }
    Ok(text)
}

/// Executes one command and returns the lease after it.
pub(crate) async fn act(
    caller: &Caller,
    resource: Resource,
    who: Holder,
    action: Action,
) -> Result<(LeaseView, Outcome), Problem> {
    let command = caller.0.command_of(resource, who.clone(), action);
    let answer = caller.0.lease_command(command).await;
    to_view(caller, &who, answer).await
}

/// Converts an answer of the library to the lease after the command, or to the problem of its refusal.
async fn to_view(
    caller: &Caller,
    who: &Holder,
    answer: Result<LeaseAnswer, Error>,
) -> Result<(LeaseView, Outcome), Problem> {
    let LeaseAnswer { answer, state, now } = answer?;
    caller.record_lease(&state, now);
    match answer {
        Ok(outcome) => Ok((LeaseView::new(caller, who, &state, now), outcome)),
        Err(why) => {
            if matches!(why, Refused::Lost { ending: None }) {
                check_task_exists(caller, &state.resource).await?;
            }
            // A refused lease command never stores anything, so the message omits that.
            Err(refusal_problem(caller, who, &why, &state, now).await.arg("kept", "beat"))
        }
    }
}

/// Converts a refusal to a problem. If an override ended the lease, looks up the display name of the user who did it.
pub(super) async fn refusal_problem(caller: &Caller, who: &Holder, why: &Refused, state: &State, now: Time) -> Problem {
    let problem = view::refusal_problem(caller, who, why, state, now);
    let Refused::Lost { ending: Some(Ending { by: Some(by), .. }) } = why else {
        return problem;
    };
    // Without a display name, the message shows the user's id.
    let name = caller.0.name_of(by.clone()).await.ok().flatten().unwrap_or_else(|| by.to_string());
    problem.arg("by", &name).with("by_name", name)
}

/// Refuses the resource of a task that does not exist. Any other resource exists as soon as it is named.
pub(super) async fn check_task_exists(caller: &Caller, resource: &Resource) -> Result<(), Problem> {
    match TaskId::from_resource(resource) {
        Some(id) if caller.0.task_get(id).await?.1.is_none() => {
            Err(Problem::new(Code::NotFound).arg("thing", resource))
        }
        _ => Ok(()),
    }
}
