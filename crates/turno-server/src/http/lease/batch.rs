//! Many leases in one call: one result per entry, each allowed, refused and carried out on its own. What is no name is a
//! problem of its entry, as a path with it would be not found; only a body of another shape is refused as a whole.

use axum::extract::State;
use futures_util::future::join_all;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use turno::core::id::{Fence, Instance, Resource};
use turno::core::lease::{Command, Outcome};
use turno::core::limits::BATCH_MAX;
use turno::{Error, LeaseAnswer};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::{Beaten, ClaimBody, HeartbeatBody, LeaseView, ReleaseBody, Released, read, shown, wait};
use crate::http::app::Shared;
use crate::http::caller::Caller;
use crate::http::extract::Json;
use crate::http::problem::{Code, Problem};
use crate::http::reader::Reader;

/// Beside each batch stands the lease of that name: a path without a parameter would hide it.
pub(super) fn routes() -> OpenApiRouter<Shared> {
    OpenApiRouter::new()
        .routes(routes!(leases_claim, lease_named_claim))
        .routes(routes!(leases_heartbeat, lease_named_heartbeat))
        .routes(routes!(leases_release, lease_named_release))
}

/// One lease to claim. What is wrong with it is a problem of its own, as the call for one lease would say it.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[schema(as = LeaseClaimEntry)]
#[serde(deny_unknown_fields)]
struct ClaimEntry {
    resource: String,
    /// Which process holds it; machines must say so.
    instance: Option<String>,
    /// For how long a claim and its renewals last, within the policy's maximum.
    ttl_ms: Option<i64>,
    /// Stand in line for at most this long.
    wait_ms: Option<i64>,
}

/// Leases to claim.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[schema(as = LeaseClaims)]
#[serde(deny_unknown_fields)]
struct ClaimBatch {
    #[schema(max_items = 1000)]
    leases: Vec<ClaimEntry>,
}

/// One lease to keep. What is wrong with it is a problem of its own, as the call for one lease would say it.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[schema(as = LeaseHeartbeatEntry)]
#[serde(deny_unknown_fields)]
struct HeartbeatEntry {
    resource: String,
    /// Which ownership.
    #[schema(value_type = i64)]
    fence: Fence,
    /// For how long the person has done nothing; required where the policy has an idle guard.
    idle_ms: Option<i64>,
    /// There was real work since the last beat.
    #[serde(default)]
    worked: bool,
    /// Which process beats, if the claim named one.
    instance: Option<String>,
}

/// Leases to keep.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[schema(as = LeaseHeartbeats)]
#[serde(deny_unknown_fields)]
struct HeartbeatBatch {
    #[schema(max_items = 1000)]
    leases: Vec<HeartbeatEntry>,
}

/// One lease to give back. What is wrong with it is a problem of its own, as the call for one lease would say it.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[schema(as = LeaseReleaseEntry)]
#[serde(deny_unknown_fields)]
struct ReleaseEntry {
    resource: String,
    /// Which ownership.
    #[schema(value_type = i64)]
    fence: Fence,
    /// As of which claim call; an older one frees nothing.
    claim: Option<i64>,
    /// Which process releases, if the claim named one.
    instance: Option<String>,
}

/// Leases to give back.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[schema(as = LeaseReleases)]
#[serde(deny_unknown_fields)]
struct ReleaseBatch {
    #[schema(max_items = 1000)]
    leases: Vec<ReleaseEntry>,
}

/// What became of one entry.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[schema(as = LeaseResult)]
#[serde(untagged)]
enum Entry<T> {
    /// As the call for one lease answers.
    Done {
        /// Which.
        resource: String,
        lease: T,
    },
    /// Why not, as the call for one lease would say.
    Refused {
        /// Which.
        resource: String,
        #[schema(value_type = Object)]
        problem: Value,
    },
}

/// One result per entry, in their order.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[schema(as = LeaseResults)]
struct Results<T> {
    results: Vec<Entry<T>>,
}

/// What one entry asks for: a command, or the problem that it has.
type Asked = Result<Command, Problem>;

/// Takes many leases; those that cannot be had stop nobody.
#[utoipa::path(post, path = "/v1/leases/claim", tag = "leases", responses((status = 200, body = Results<LeaseView>)))]
async fn leases_claim(
    State(app): State<Shared>,
    reader: Reader,
    caller: Caller,
    Json(batch): Json<ClaimBatch>,
) -> Result<Json<Results<LeaseView>>, Problem> {
    bounded(batch.leases.len())?;
    if app.is_stopping() {
        return Err(Problem::new(Code::Stopping));
    }
    let (mut names, mut asked, mut waiting) = (Vec::new(), Vec::new(), Vec::new());
    for (place, entry) in batch.leases.into_iter().enumerate() {
        let ClaimEntry { resource, instance, ttl_ms, wait_ms } = entry;
        let command = named(&resource, instance)
            .and_then(|(resource, instance)| ClaimBody { instance, ttl_ms, wait_ms }.command(&caller, resource));
        names.push(resource);
        match command {
            Ok((command, Some(wait))) => waiting.push((place, command, wait)),
            Ok((command, None)) => asked.push((place, Ok(command))),
            Err(problem) => asked.push((place, Err(problem))),
        }
    }
    let waiting = join_all(waiting.into_iter().map(async |(place, command, span)| {
        let who = command.who.clone();
        let answer = match wait::wait(&app, &caller, command, span).await {
            Ok(answer) => shown(&caller, &who, Ok(answer)).await,
            Err(problem) => Err(problem),
        };
        (place, answer)
    }));
    let (waited, done) = tokio::join!(waiting, carried_out(&caller, asked));
    let mut answers: Vec<_> = waited.into_iter().chain(done).collect();
    answers.sort_by_key(|(place, _)| *place);
    Ok(told(&reader, names, answers, |(lease, _)| lease))
}

/// Keeps many leases.
#[utoipa::path(post, path = "/v1/leases/heartbeat", tag = "leases", responses((status = 200, body = Results<Beaten>)))]
async fn leases_heartbeat(
    reader: Reader,
    caller: Caller,
    Json(batch): Json<HeartbeatBatch>,
) -> Result<Json<Results<Beaten>>, Problem> {
    bounded(batch.leases.len())?;
    let (names, asked): (Vec<_>, Vec<_>) = batch
        .leases
        .into_iter()
        .map(|entry| {
            let HeartbeatEntry { resource, fence, idle_ms, worked, instance } = entry;
            let action = HeartbeatBody { fence, idle_ms, worked, instance: None }.action();
            let command = named(&resource, instance)
                .and_then(|(resource, instance)| Ok(caller.0.command_of(resource, caller.holder(instance), action?)));
            (resource, command)
        })
        .unzip();
    let answers = carried_out(&caller, asked.into_iter().enumerate().collect()).await;
    Ok(told(&reader, names, answers, Beaten::new))
}

/// Gives many leases back.
#[utoipa::path(post, path = "/v1/leases/release", tag = "leases", responses((status = 200, body = Results<Released>)))]
async fn leases_release(
    reader: Reader,
    caller: Caller,
    Json(batch): Json<ReleaseBatch>,
) -> Result<Json<Results<Released>>, Problem> {
    bounded(batch.leases.len())?;
    let (names, asked): (Vec<_>, Vec<_>) = batch
        .leases
        .into_iter()
        .map(|entry| {
            let ReleaseEntry { resource, fence, claim, instance } = entry;
            let action = ReleaseBody { fence, claim, grace_ms: None, instance: None }.action();
            let command = named(&resource, instance)
                .and_then(|(resource, instance)| Ok(caller.0.command_of(resource, caller.holder(instance), action?)));
            (resource, command)
        })
        .unzip();
    let answers = carried_out(&caller, asked.into_iter().enumerate().collect()).await;
    Ok(told(&reader, names, answers, Released::new))
}

/// The names of an entry, or the problem that the call for one lease would have with them.
fn named(resource: &str, instance: Option<String>) -> Result<(Resource, Option<Instance>), Problem> {
    let Ok(name) = Resource::new(resource) else {
        return Err(Problem::new(Code::NotFound).arg("thing", resource).field("resource"));
    };
    let instance = instance.map(Instance::new).transpose();
    Ok((name, instance.map_err(|bad| Problem::new(Code::BadField).field("instance").cause(bad))?))
}

fn bounded(entries: usize) -> Result<(), Problem> {
    if entries <= BATCH_MAX {
        return Ok(());
    }
    let cause = format!("at most {BATCH_MAX}, not {entries}; split it");
    Err(Problem::new(Code::BadField).field("leases").cause(cause))
}

/// An entry's answer, with its place in the batch.
type Answered = (usize, Result<(LeaseView, Outcome), Problem>);

/// Carries out what can be asked for; the rest keeps its problem. In the order of their places.
async fn carried_out(caller: &Caller, asked: Vec<(usize, Asked)>) -> Vec<Answered> {
    let (mut refused, mut places, mut commands) = (Vec::new(), Vec::new(), Vec::new());
    for (place, asked) in asked {
        match asked {
            Ok(command) => {
                places.push((place, command.who.clone()));
                commands.push(command);
            }
            Err(problem) => refused.push((place, Err(problem))),
        }
    }
    let answers: Vec<Result<LeaseAnswer, Error>> = caller.0.lease_batch(commands).await;
    let mut answered = Vec::with_capacity(answers.len() + refused.len());
    for ((place, who), answer) in places.into_iter().zip(answers) {
        answered.push((place, shown(caller, &who, answer).await));
    }
    answered.append(&mut refused);
    answered.sort_by_key(|(place, _): &Answered| *place);
    answered
}

/// The answers in the reader's language.
fn told<T>(
    reader: &Reader,
    names: Vec<String>,
    answers: Vec<Answered>,
    show: impl Fn((LeaseView, Outcome)) -> T,
) -> Json<Results<T>> {
    let told = names.into_iter().zip(answers).map(|(resource, (_, answer))| match answer {
        Ok(done) => Entry::Done { resource, lease: show(done) },
        Err(problem) => Entry::Refused { resource, problem: reader.problem(&problem) },
    });
    Json(Results { results: told.collect() })
}

/// The lease of the resource that is called `claim`.
#[utoipa::path(get, path = "/v1/leases/claim", tag = "leases", responses((status = 200, body = LeaseView)))]
async fn lease_named_claim(caller: Caller) -> Result<Json<LeaseView>, Problem> {
    read::get(&caller, Resource::new("claim")?).await.map(Json)
}

/// The lease of the resource that is called `heartbeat`.
#[utoipa::path(get, path = "/v1/leases/heartbeat", tag = "leases", responses((status = 200, body = LeaseView)))]
async fn lease_named_heartbeat(caller: Caller) -> Result<Json<LeaseView>, Problem> {
    read::get(&caller, Resource::new("heartbeat")?).await.map(Json)
}

/// The lease of the resource that is called `release`.
#[utoipa::path(get, path = "/v1/leases/release", tag = "leases", responses((status = 200, body = LeaseView)))]
async fn lease_named_release(caller: Caller) -> Result<Json<LeaseView>, Problem> {
    read::get(&caller, Resource::new("release")?).await.map(Json)
}
