//! Queues: the list, a page per queue, key and item, and the forms on them.

mod item;
mod key;
mod page;

use askama::Template;
use axum::Router;
use axum::response::Response;
use axum::routing::{get, post};
use serde::Deserialize;
use turno::core::id::Key;
use turno::core::queue::{ItemState, Kind, Latency};
use turno::core::sync::NOTHING;
use turno::core::time::Span;
use turno::queue::{ItemQuery, ItemRecord, Overview, QueueHandle};

pub(super) use page::render_span;

use super::form::given;
use super::page::Page;
use crate::http::{Problem, Query, Shared};

pub(super) fn routes() -> Router<Shared> {
    Router::new()
        .route("/queues", get(list))
        .route("/queues/{queue}", get(page::show))
        .route("/queues/{queue}/keys/{key}", get(key::show))
        .route("/queues/{queue}/items/{id}", get(item::show))
        .route("/console/queues/{queue}/pause", post(page::pause))
        .route("/console/queues/{queue}/resume", post(page::resume))
        .route("/console/queues/{queue}/retry-exhausted", post(page::retry_exhausted))
        .route("/console/queues/{queue}/items/{id}/retry", post(item::retry))
        .route("/console/queues/{queue}/items/{id}/cancel", post(item::cancel))
}

/// Returns the name of a kind.
pub(super) fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Lane => "lane",
        Kind::Inbox => "inbox",
        Kind::Sync => "sync",
    }
}

/// The action of an item, before or after its delivery.
pub(super) enum Act {
    /// The action as the receiver knows it.
    Word(String),
    /// A text for people.
    Text(String),
}

impl Act {
    /// Returns the action of an item. A trigger's mark has none, because its action is decided when it is delivered.
    pub(super) fn from_record(record: &ItemRecord, page: &Page) -> Act {
        match record.body.action.as_deref() {
            Some(NOTHING) => Act::Text(page.t("sync-nothing")),
            Some(word) => Act::Word(word.to_owned()),
            None if record.done.is_none() && &*record.body.payload == "null" => Act::Text(page.t("sync-decided")),
            None => Act::Text("–".to_owned()),
        }
    }
}

/// The filters in the address.
#[derive(Deserialize)]
struct Filter {
    name: Option<String>,
    kind: Option<String>,
    /// Queues with items in this state, or `paused`.
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

    /// Renders the waiting times of items processed in the last minute: median and 95th percentile.
    fn waited(&self, latency: &Latency) -> String {
        let measured = |span: Span| measured(span, self.page.lang());
        format!("{} / {}", measured(latency.waited.p50), measured(latency.waited.p95))
    }

    /// Returns the address of a queue's items in this state.
    fn items_path(&self, queue: &Overview, state: &str) -> String {
        super::form::address(&format!("/queues/{}", self.page.part(&queue.row.name)), &[("state", state)])
    }
}

/// Renders a measured time: milliseconds below a second, tenths of a second above.
fn measured(span: Span, language: &str) -> String {
    match span.0 {
        ..1_000 => format!("{} ms", span.0),
        ms => {
            let seconds = format!("{}.{} s", ms / 1_000, ms % 1_000 / 100);
            if language == "es" { seconds.replace('.', ",") } else { seconds }
        }
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

/// Returns whether a queue has items in this state. An empty state matches every queue.
pub(super) fn has(queue: &Overview, state: &str) -> bool {
    match state.parse::<ItemState>() {
        Ok(state) => queue.counts.get(state) > 0,
        Err(_) => state.is_empty() || (state == "paused" && queue.row.paused),
    }
}

/// The unfinished states, those that need attention first.
pub(super) const UNFINISHED: [ItemState; 4] =
    [ItemState::Exhausted, ItemState::Error, ItemState::InProcess, ItemState::Pending];
/// How many unfinished items are shown together.
pub(super) const SHOWN: u32 = 50;
/// Returns the first items of each unfinished state, up to `SHOWN` in all.
pub(super) async fn unfinished(queue: &QueueHandle, key: Option<Key>) -> Result<Vec<ItemRecord>, Problem> {
    let mut items: Vec<ItemRecord> = Vec::new();
    for state in UNFINISHED {
        let left = SHOWN - u32::try_from(items.len()).unwrap_or(SHOWN).min(SHOWN);
        if left > 0 {
            let query = ItemQuery { state: Some(state), key: key.clone(), limit: left, ..ItemQuery::listed() };
            items.extend(queue.items(query).await?);
        }
    }
    Ok(items)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measured_times_have_milliseconds_below_a_second_and_tenths_above() {
        for (ms, spanish, english) in [(0, "0 ms", "0 ms"), (999, "999 ms", "999 ms"), (2_057, "2,0 s", "2.0 s")] {
            assert_eq!([measured(Span(ms), "es"), measured(Span(ms), "en")], [spanish, english]);
        }
    }
}
