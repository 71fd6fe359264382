//! `GET /locks` and `POST /locks/clear`: the state of lane queues, in the format that existing monitors read.

use axum::extract::State;
use serde::Serialize;
use turno::core::queue::{Kind, Policy};
use turno::queue::LaneLocks;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::app::Shared;
use super::caller::Caller;
use super::extract::Json;
use super::problem::{Code, Problem};
use super::queue::EmptyBody;
use super::stamp::Stamp;
use crate::config::Environment;

pub(super) fn routes() -> OpenApiRouter<Shared> {
    OpenApiRouter::new().routes(routes!(locks_get)).routes(routes!(locks_clear))
}

/// The state of all lane queues.
#[derive(Debug, Serialize, utoipa::ToSchema)]
struct Locks {
    #[schema(example = "SimpleLockManager")]
    system: &'static str,
    timestamp: Stamp,
    #[schema(example = "development")]
    environment: &'static str,
    stats: Stats,
    configuration: Configuration,
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
#[schema(as = LocksStats)]
#[serde(rename_all = "camelCase")]
struct Stats {
    /// Keys with a live delivery.
    active_locks: i64,
    /// Keys with waiting items.
    active_queues: i64,
    /// Keys with a live delivery or waiting items.
    total_users: i64,
}

/// The defaults of lane queues.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[schema(as = LocksConfiguration)]
#[serde(rename_all = "camelCase")]
struct Configuration {
    timeout_seconds: i64,
    #[schema(example = "user-based")]
    lock_type: &'static str,
    queue_enabled: bool,
    auto_release: bool,
}

/// Returns how many keys of lane queues have a live delivery, and how many have waiting items.
#[utoipa::path(get, path = "/locks", tag = "queues", responses((status = 200, body = Locks)))]
async fn locks_get(State(app): State<Shared>, caller: Caller) -> Result<Json<Locks>, Problem> {
    let LaneLocks { active_locks, active_queues, total_users } = caller.0.lane_locks().await?;
    Ok(Json(Locks {
        system: "SimpleLockManager",
        timestamp: Stamp(caller.0.now()),
        environment: app.environment.as_str(),
        stats: Stats { active_locks, active_queues, total_users },
        configuration: Configuration {
            timeout_seconds: Policy::for_kind(Kind::Lane).lock_timeout.0 / 1_000,
            lock_type: "user-based",
            queue_enabled: true,
            auto_release: true,
        },
    }))
}

/// The message of a clear. It is the same in every language, because existing monitors compare it.
const CLEARED: &str = "Todos los locks y colas han sido limpiados";

/// All lane queues are cleared.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[schema(as = LocksCleared)]
struct Cleared {
    #[schema(example = "Todos los locks y colas han sido limpiados")]
    message: &'static str,
    timestamp: Stamp,
}

/// Cancels the waiting and in-process items of all lane queues. Development only.
///
/// Exhausted items stay.
#[utoipa::path(post, path = "/locks/clear", tag = "queues", responses((status = 200, body = Cleared)))]
async fn locks_clear(
    State(app): State<Shared>,
    caller: Caller,
    Json(_body): Json<EmptyBody>,
) -> Result<Json<Cleared>, Problem> {
    check_development(app.environment)?;
    caller.0.lane_clear().await?;
    Ok(Json(Cleared { message: CLEARED, timestamp: Stamp(caller.0.now()) }))
}

/// Refuses the call in production, so that one call cannot cancel the messages of real users.
fn check_development(environment: Environment) -> Result<(), Problem> {
    match environment {
        Environment::Development => Ok(()),
        Environment::Production => Err(Problem::new(Code::DevelopmentOnly)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_cleared_in_production() {
        assert!(check_development(Environment::Development).is_ok());
        assert_eq!(
            check_development(Environment::Production).expect_err("production refuses").code(),
            Code::DevelopmentOnly
        );
    }
}
