//! Queues over HTTP: lanes, inboxes and sync queues are one engine with three policies.
//!
//! A file per thing that callers do; here only what these share.

mod claim;
mod items;
mod look;
mod manage;
pub(super) mod overview;
mod policy;
mod settle;
mod timeline;
mod why;

pub(crate) use claim::DeliveryView;
pub(crate) use manage::refused;
pub(crate) use timeline::{Happened, audited, of as timeline};
pub(crate) use why::explained;

use turno::QueueHandle;
use turno::core::id::QueueName;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::app::Shared;
use super::caller::Caller;
use super::problem::Problem;

pub(super) fn routes() -> OpenApiRouter<Shared> {
    OpenApiRouter::new()
        .routes(routes!(overview::queue_list))
        .routes(routes!(overview::queue_get, policy::queue_put))
        .routes(routes!(items::item_add, look::item_list))
        .routes(routes!(items::queue_typing))
        .routes(routes!(claim::queue_claim))
        .routes(routes!(settle::queue_heartbeat))
        .routes(routes!(settle::queue_ack))
        .routes(routes!(settle::queue_fail))
        .routes(routes!(settle::queue_return))
        .routes(routes!(look::item_get))
        .routes(routes!(claim::item_claim))
        .routes(routes!(why::item_why))
        .routes(routes!(why::key_why))
        .routes(routes!(manage::item_retry))
        .routes(routes!(manage::item_cancel))
        .routes(routes!(manage::queue_pause))
        .routes(routes!(manage::queue_resume))
        .routes(routes!(manage::queue_retry_exhausted))
        .routes(routes!(manage::queue_purge))
}

/// The queue as the caller may use it; one that nobody has made is not found.
async fn known(caller: &Caller, name: QueueName) -> Result<QueueHandle, Problem> {
    Ok(caller.0.queue(name).await?)
}
