//! Many leases in one call. Each entry is authorized, executed and answered on its own.
//!
//! A bad name is a problem of its entry, as a bad path is of a single call. Only a malformed body is refused as a
//! whole.

use axum::extract::State;
use futures_util::future::join_all;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use turno::Error;
use turno::core::fault::Fault;
use turno::core::id::{Fence, Instance, Resource};
use turno::core::lease::{Command, Outcome};
use turno::core::limits::BATCH_MAX;
use turno::lease::LeaseAnswer;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::{ClaimBody, HeartbeatBody, HeartbeatResult, LeaseView, ReleaseBody, Released, read, to_view, wait};
use crate::http::app::Shared;
use crate::http::caller::Caller;
use crate::http::callers::LeasePlaces;
use crate::http::extract::Json;
use crate::http::problem::{Code, Problem, bad_field};
use crate::http::reader::Reader;

/// Each batch path also serves GET for the resource of that name, because a literal path hides `/v1/leases/{resource}`.
pub(super) fn routes() -> OpenApiRouter<Shared> {
    OpenApiRouter::new()
        .routes(routes!(leases_claim, lease_named_claim))
        .routes(routes!(leases_heartbeat, lease_named_heartbeat))
        .routes(routes!(leases_release, lease_named_release))
}

/// A lease to claim. Errors are reported per entry, as in the call for one lease.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[schema(as = LeaseClaimEntry)]
#[serde(deny_unknown_fields)]
struct ClaimEntry {
    /// The name of the resource.
    resource: String,
    /// The process that will hold the lease. Required for machine accounts.
    instance: Option<String>,
    /// How long the claim and its renewals last, up to the policy's maximum. Default: the policy's `ttl_ms`.
    ttl_ms: Option<i64>,
    /// How long to wait in line if the lease is held. Default: 0, which does not wait.
    wait_ms: Option<i64>,
}

/// Leases to claim.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[schema(as = LeaseClaims)]
#[serde(deny_unknown_fields)]
struct ClaimBatch {
    /// The entries, at most 1000.
    #[schema(max_items = 1000)]
    leases: Vec<ClaimEntry>,
}

/// A lease to renew. Errors are reported per entry, as in the call for one lease.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[schema(as = LeaseHeartbeatEntry)]
#[serde(deny_unknown_fields)]
struct HeartbeatEntry {
    /// The name of the resource.
    resource: String,
    /// The fence of the ownership to renew.
    #[schema(value_type = i64)]
    fence: Fence,
    /// How long the person has been inactive. Required if the policy has an idle guard.
    idle_ms: Option<i64>,
    /// True if real work was done since the last heartbeat. It restarts the rolling timeout. Default: false.
    #[serde(default)]
    worked: bool,
    /// The process that sends the heartbeat, if the claim named one.
    instance: Option<String>,
}

/// Leases to renew.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[schema(as = LeaseHeartbeats)]
#[serde(deny_unknown_fields)]
struct HeartbeatBatch {
    /// The entries, at most 1000.
    #[schema(max_items = 1000)]
    leases: Vec<HeartbeatEntry>,
}

/// A lease to release. Errors are reported per entry, as in the call for one lease.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[schema(as = LeaseReleaseEntry)]
#[serde(deny_unknown_fields)]
struct ReleaseEntry {
    /// The name of the resource.
    resource: String,
    /// The fence of the ownership to end.
    #[schema(value_type = i64)]
    fence: Fence,
    /// The `claim` number that the caller has seen. If the holder has claimed again since, the release frees nothing.
    claim: Option<i64>,
    /// How long the lease stays held after the release, as for one lease. A wrong value is a problem of this entry.
    keep_ms: Option<i64>,
    /// The process that releases, if the claim named one.
    instance: Option<String>,
}

/// Leases to release.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[schema(as = LeaseReleases)]
#[serde(deny_unknown_fields)]
struct ReleaseBatch {
    /// The entries, at most 1000.
    #[schema(max_items = 1000)]
    leases: Vec<ReleaseEntry>,
}

/// The result of one entry.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[schema(as = LeaseResult)]
#[serde(untagged)]
enum Entry<T> {
    /// The entry succeeded, with the answer of the call for one lease.
    Done {
        /// The entry's resource.
        resource: String,
        lease: T,
    },
    /// The entry was refused, with the problem of the call for one lease.
    Refused {
        /// The entry's resource.
        resource: String,
        #[schema(value_type = Object)]
        problem: Value,
    },
}

/// One result per entry, in the order of the request.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[schema(as = LeaseResults)]
struct Results<T> {
    results: Vec<Entry<T>>,
}

/// The command of an entry, or the problem with it.
type Parsed = Result<Command, Problem>;

/// Claims many leases. An entry that is refused does not affect the others.
#[utoipa::path(post, path = "/v1/leases/claim", tag = "leases", responses((status = 200, body = Results<LeaseView>)))]
async fn leases_claim(
    State(app): State<Shared>,
    reader: Reader,
    caller: Caller,
    Json(batch): Json<ClaimBatch>,
) -> Result<Json<Results<LeaseView>>, Problem> {
    check_size(batch.leases.len())?;
    if app.is_stopping() {
        return Err(Problem::new(Code::Stopping));
    }
    let (mut names, mut commands) = (Vec::new(), Vec::new());
    let (mut asked, mut waiting) = (Vec::new(), Vec::new());
    for (index, entry) in batch.leases.into_iter().enumerate() {
        let ClaimEntry { resource, instance, ttl_ms, wait_ms } = entry;
        let command = parse_names(&resource, instance)
            .and_then(|(resource, instance)| Ok((resource.for_creation()?, instance)))
            .and_then(|(resource, instance)| ClaimBody { instance, ttl_ms, wait_ms }.command(&caller, resource));
        names.push(resource);
        commands.push((index, command));
    }
    let wanted = commands.iter().filter_map(|(_, command)| command.as_ref().ok()).map(|(command, _)| &command.resource);
    let (_places, fits) = caller.lease_places(&app, wanted);
    let mut fits = fits.into_iter();
    for (index, command) in commands {
        let placed = command.and_then(|command| match fits.next() {
            Some(true) => Ok(command),
            _ => Err(LeasePlaces::refusal()),
        });
        match placed {
            Ok((command, Some(wait))) => waiting.push((index, command, wait)),
            Ok((command, None)) => asked.push((index, Ok(command))),
            Err(problem) => asked.push((index, Err(problem))),
        }
    }
    let waiting = join_all(waiting.into_iter().map(async |(index, command, span)| {
        let who = command.who.clone();
        let answer = match wait::wait(&app, &caller, command, span).await {
            Ok(answer) => to_view(&caller, &who, Ok(answer)).await,
            Err(problem) => Err(problem),
        };
        (index, answer)
    }));
    let (waited, done) = tokio::join!(waiting, execute(&caller, asked));
    let mut answers: Vec<_> = waited.into_iter().chain(done).collect();
    answers.sort_by_key(|(index, _)| *index);
    Ok(render(&reader, names, answers, |(lease, _)| lease))
}

/// Sends a heartbeat for many leases.
#[utoipa::path(post, path = "/v1/leases/heartbeat", tag = "leases",
    responses((status = 200, body = Results<HeartbeatResult>)))]
async fn leases_heartbeat(
    reader: Reader,
    caller: Caller,
    Json(batch): Json<HeartbeatBatch>,
) -> Result<Json<Results<HeartbeatResult>>, Problem> {
    check_size(batch.leases.len())?;
    let (names, asked): (Vec<_>, Vec<_>) = batch
        .leases
        .into_iter()
        .map(|entry| {
            let HeartbeatEntry { resource, fence, idle_ms, worked, instance } = entry;
            let action = HeartbeatBody { fence, idle_ms, worked, instance: None }.action();
            let command = parse_names(&resource, instance)
                .and_then(|(resource, instance)| Ok(caller.0.command_of(resource, caller.holder(instance), action?)));
            (resource, command)
        })
        .unzip();
    let answers = execute(&caller, asked.into_iter().enumerate().collect()).await;
    Ok(render(&reader, names, answers, HeartbeatResult::new))
}

/// Releases many leases.
#[utoipa::path(post, path = "/v1/leases/release", tag = "leases", responses((status = 200, body = Results<Released>)))]
async fn leases_release(
    reader: Reader,
    caller: Caller,
    Json(batch): Json<ReleaseBatch>,
) -> Result<Json<Results<Released>>, Problem> {
    check_size(batch.leases.len())?;
    let (names, asked): (Vec<_>, Vec<_>) = batch
        .leases
        .into_iter()
        .map(|entry| {
            let ReleaseEntry { resource, fence, claim, keep_ms, instance } = entry;
            let action = ReleaseBody { fence, claim, grace_ms: None, keep_ms, instance: None }.action();
            let command = parse_names(&resource, instance)
                .and_then(|(resource, instance)| Ok(caller.0.command_of(resource, caller.holder(instance), action?)));
            (resource, command)
        })
        .unzip();
    let answers = execute(&caller, asked.into_iter().enumerate().collect()).await;
    Ok(render(&reader, names, answers, Released::new))
}

/// Parses the names of an entry. Returns the problem that the call for one lease would return.
fn parse_names(resource: &str, instance: Option<String>) -> Result<(Resource, Option<Instance>), Problem> {
    let Ok(name) = Resource::new(resource) else {
        return Err(Problem::new(Code::NotFound).arg("thing", resource).field("resource"));
    };
    let instance = instance.map(Instance::new).transpose();
    Ok((name, instance.map_err(|bad| Problem::new(Code::BadField).field("instance").cause(bad))?))
}

fn check_size(entries: usize) -> Result<(), Problem> {
    if entries <= BATCH_MAX {
        return Ok(());
    }
    Err(bad_field("leases", &Fault::TooMany { max: BATCH_MAX, given: entries }))
}

/// The position of an entry in the batch, and its answer.
type Answered = (usize, Result<(LeaseView, Outcome), Problem>);

/// Executes the valid entries in one batch and keeps the problems of the others. Returns them in the order of the
/// request.
async fn execute(caller: &Caller, asked: Vec<(usize, Parsed)>) -> Vec<Answered> {
    let (mut refused, mut indexes, mut commands) = (Vec::new(), Vec::new(), Vec::new());
    for (index, asked) in asked {
        match asked {
            Ok(command) => {
                indexes.push((index, command.who.clone()));
                commands.push(command);
            }
            Err(problem) => refused.push((index, Err(problem))),
        }
    }
    let answers: Vec<Result<LeaseAnswer, Error>> = caller.0.lease_batch(commands).await;
    let mut answered = Vec::with_capacity(answers.len() + refused.len());
    for ((index, who), answer) in indexes.into_iter().zip(answers) {
        answered.push((index, to_view(caller, &who, answer).await));
    }
    answered.append(&mut refused);
    answered.sort_by_key(|(index, _): &Answered| *index);
    answered
}

/// Renders the answers in the reader's language.
fn render<T>(
    reader: &Reader,
    names: Vec<String>,
    answers: Vec<Answered>,
    show: impl Fn((LeaseView, Outcome)) -> T,
) -> Json<Results<T>> {
    let results = names.into_iter().zip(answers).map(|(resource, (_, answer))| match answer {
        Ok(done) => Entry::Done { resource, lease: show(done) },
        Err(problem) => Entry::Refused { resource, problem: reader.problem(&problem) },
    });
    Json(Results { results: results.collect() })
}

/// Returns the lease of the resource named `claim`.
#[utoipa::path(get, path = "/v1/leases/claim", tag = "leases", responses((status = 200, body = LeaseView)))]
async fn lease_named_claim(caller: Caller) -> Result<Json<LeaseView>, Problem> {
    read::get(&caller, Resource::new("claim")?).await.map(Json)
}

/// Returns the lease of the resource named `heartbeat`.
#[utoipa::path(get, path = "/v1/leases/heartbeat", tag = "leases", responses((status = 200, body = LeaseView)))]
async fn lease_named_heartbeat(caller: Caller) -> Result<Json<LeaseView>, Problem> {
    read::get(&caller, Resource::new("heartbeat")?).await.map(Json)
}

/// Returns the lease of the resource named `release`.
#[utoipa::path(get, path = "/v1/leases/release", tag = "leases", responses((status = 200, body = LeaseView)))]
async fn lease_named_release(caller: Caller) -> Result<Json<LeaseView>, Problem> {
    read::get(&caller, Resource::new("release")?).await.map(Json)
}
