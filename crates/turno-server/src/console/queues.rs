//! Queues: all of them, one with its items, one key's lane, one item; and what people do to them.

mod item;
mod key;
mod one;

use askama::Template;
use axum::Router;
use axum::response::Response;
use axum::routing::{get, post};
use serde::Deserialize;
use turno::core::id::Key;
use turno::core::queue::{ItemState, Kind, Latency};
use turno::{ItemQuery, ItemRecord, Overview, QueueHandle};

pub(super) use one::spoken;

use super::form::given;
use super::page::Page;
use crate::http::{Problem, Query, Shared};

pub(super) fn routes() -> Router<Shared> {
    Router::new()
        .route("/queues", get(list))
        .route("/queues/{queue}", get(one::show))
        .route("/queues/{queue}/keys/{key}", get(key::show))
        .route("/queues/{queue}/items/{id}", get(item::show))
        .route("/console/queues/{queue}/pause", post(one::pause))
        .route("/console/queues/{queue}/resume", post(one::resume))
        .route("/console/queues/{queue}/retry-exhausted", post(one::retry_exhausted))
        .route("/console/queues/{queue}/items/{id}/retry", post(item::retry))
        .route("/console/queues/{queue}/items/{id}/cancel", post(item::cancel))
}

/// The kind as it is called outside.
pub(super) fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Lane => "lane",
        Kind::Inbox => "inbox",
        Kind::Sync => "sync",
    }
}

/// Which queues.
#[derive(Deserialize)]
struct Filter {
    name: Option<String>,
    kind: Option<String>,
    /// Those that have something in this state, or are paused.
    state: Option<String>,
}

#[derive(Template)]
#[template(path = "queues/list.html")]
struct List {
    page: Page,
    name: String,
    kind: String,
    state: String,
    queues: Vec<Overview>,
}

impl List {
    fn kind_of(&self, queue: &Overview) -> &'static str {
        kind(queue.row.policy.kind)
    }

    fn state_of(&self, queue: &Overview) -> &'static str {
        if queue.row.paused { "paused" } else { "active" }
    }

    fn waiting(&self, queue: &Overview) -> i64 {
        queue.counts.pending + queue.counts.error
    }

    /// How long items waited that were done in the last minute: half of them, and nearly all.
    fn waited(&self, latency: &Latency) -> String {
        format!("{} / {}", one::spoken(latency.waited.p50), one::spoken(latency.waited.p95))
    }

    /// Items of one queue in this state.
    fn of(&self, queue: &Overview, state: &str) -> String {
        super::form::address(&format!("/queues/{}", self.page.part(&queue.row.name)), &[("state", state)])
    }
}

async fn list(page: Page, Query(filter): Query<Filter>) -> Result<Response, Problem> {
    let all = page.app().glance.queues(page.app().trusted()).await?;
    let [name, wanted, state] = [filter.name, filter.kind, filter.state].map(given).map(Option::unwrap_or_default);
    let fits = |queue: &&Overview| {
        let named = queue.row.name.as_str().contains(&name);
        named && (wanted.is_empty() || wanted == kind(queue.row.policy.kind)) && has(queue, &state)
    };
    let queues = all.iter().filter(fits).cloned().collect();
    page.show(|page| List { page, name, kind: wanted, state, queues })
}

/// Whether a queue has something in this state; any has nothing in particular.
pub(super) fn has(queue: &Overview, state: &str) -> bool {
    match state.parse::<ItemState>() {
        Ok(state) => queue.counts.of(state) > 0,
        Err(_) => state.is_empty() || (state == "paused" && queue.row.paused),
    }
}

/// What somebody may still have to do with, first what needs it most.
pub(super) const UNFINISHED: [ItemState; 4] =
    [ItemState::Exhausted, ItemState::Error, ItemState::InProcess, ItemState::Pending];
/// Unfinished items that are shown together.
pub(super) const SHOWN: u32 = 50;
/// The first of each unfinished state: a page that is looked at needs no more.
pub(super) async fn unfinished(queue: &QueueHandle, key: Option<Key>) -> Result<Vec<ItemRecord>, Problem> {
    let mut items: Vec<ItemRecord> = Vec::new();
    for state in UNFINISHED {
        let left = SHOWN - u32::try_from(items.len()).unwrap_or(SHOWN).min(SHOWN);
        if left > 0 {
            let query = ItemQuery { state: Some(state), key: key.clone(), after: None, limit: left };
            items.extend(queue.items(query).await?);
        }
    }
    Ok(items)
}
