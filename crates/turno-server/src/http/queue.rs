//! Queues over HTTP. Lanes, inboxes and sync queues share one engine and differ in their policy.
//!
//! Each file holds one kind of call.

mod claim;
mod items;
mod look;
mod manage;
pub(super) mod overview;
mod policy;
mod settle;
mod timeline;
mod why;

pub(crate) use claim::{DeliveryView, Payload};
pub(crate) use manage::{EmptyBody, refused};
pub(crate) use timeline::{Happened, audited, build as timeline};
pub(crate) use why::explained;

use crate::texts::message::Message;
use turno::core::id::QueueName;
use turno::core::sync::SourceRefused;
use turno::queue::QueueHandle;
use turno::sync::SyncHandle;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::app::{App, Shared};
use super::caller::Caller;
use super::problem::{Code, Problem};

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

/// Returns the queue as the caller may use it. A queue that does not exist is not found.
async fn find_queue(caller: &Caller, name: QueueName) -> Result<QueueHandle, Problem> {
    Ok(caller.0.queue(name).await?)
}

/// Returns the source whose changes the queue carries, if the configuration names one.
fn source(app: &App, queue: &QueueName) -> Option<SyncHandle> {
    let found = app.sync_sources.iter().find(|source| source.queue == *queue)?;
    Some(app.trusted().sync(found.source.clone()))
}

/// Refuses a corrected payload in the queue of a source. A delivery carries the current row, so the payload would be
/// ignored.
pub(crate) async fn payload_may_change(app: &App, queue: &QueueName) -> Result<(), Problem> {
    let Some(sync) = source(app, queue).filter(SyncHandle::has_triggers) else { return Ok(()) };
    match sync.glance().await {
        // Without its table, the source gets its changes through the API and delivers the stored payload.
        Err(turno::Error::Source(SourceRefused::NoTable(_))) => Ok(()),
        _ => {
            let table = sync.source().table.display();
            let cause = Message::new("error-row-is-delivered").text("table", table);
            Err(Problem::new(Code::BadField).field("payload").cause(cause))
        }
    }
}

/// Refuses to claim from a queue that Turno itself delivers. An item that another worker acks would look delivered.
fn refuse_if_delivered_here(app: &App, queue: &QueueName) -> Result<(), Problem> {
    match app.deliveries.has_changes_of(queue) {
        true => Err(Problem::new(Code::DeliveredHere).arg("queue", queue)),
        false => Ok(()),
    }
}
