//! The page of a queue: its items by state and key, and the forms for the whole queue.

use askama::Template;
use axum::response::Response;
use serde::Deserialize;
use turno::core::id::{Key, QueueName, Seq};
use turno::core::queue::{ItemState, OnExhausted};
use turno::core::time::Span;
use turno::queue::{Exhausted, ItemQuery, ItemRecord, Overview, QueueHandle};

use super::super::form::{Form, address, given};
use super::super::page::Page;
use super::{SHOWN, UNFINISHED, kind, unfinished};
use crate::http::{Path, Problem, Query, Wanted};

/// How many items one call retries, as in the API, so that the call is bounded.
const RETRY_MAX: u32 = 10_000;

/// The filters in the address.
#[derive(Deserialize)]
pub(super) struct Filter {
    /// No state means the unfinished items, `all` means all items.
    state: Option<String>,
    key: Option<String>,
    /// A part of the last error, for exhausted items.
    error: Option<String>,
    cursor: Option<String>,
}

#[derive(Template)]
#[template(path = "queues/one.html")]
struct QueuePage {
    page: Page,
    queue: Overview,
    managed: bool,
    state: String,
    key: String,
    error: String,
    items: Vec<ItemRecord>,
    /// The number of matching exhausted items, for the preview.
    exhausted: i64,
    first: String,
    next: String,
}

impl QueuePage {
    fn name(&self) -> &QueueName {
        &self.queue.row.name
    }

    fn kind(&self) -> &'static str {
        kind(self.queue.row.policy.kind)
    }

    fn states(&self) -> Vec<(&'static str, i64)> {
        ItemState::ALL.iter().map(|state| (state.as_str(), self.queue.counts.get(*state))).collect()
    }

    fn unfinished(&self) -> i64 {
        UNFINISHED.iter().map(|state| self.queue.counts.get(*state)).sum()
    }

    /// Returns whether the page shows only some of the unfinished items.
    fn is_truncated(&self) -> bool {
        self.state.is_empty() && self.items.len() >= SHOWN as usize
    }

    /// Returns the address of this page with another state.
    fn with_state(&self, state: &str) -> String {
        address(&self.path(), &[("state", state), ("key", &self.key)])
    }

    fn path(&self) -> String {
        format!("/queues/{}", self.page.part(self.name()))
    }

    fn word(&self, record: &ItemRecord) -> &'static str {
        record.state(record.now).as_str()
    }

    fn item(&self, record: &ItemRecord) -> String {
        format!("{}/items/{}", self.path(), self.page.part(&record.body.id))
    }

    fn key_path(&self, key: &Key) -> String {
        format!("{}/keys/{}", self.path(), self.page.part(key))
    }

    fn span(&self, span: &Span) -> String {
        render_span(*span)
    }

    fn holds(&self) -> bool {
        self.queue.row.policy.on_exhausted == OnExhausted::Hold
    }
}

/// Renders a duration of a policy in its largest whole unit: `30 s`, `5 min`, `2 h`, `7 d`, `1500 ms`.
pub(in crate::console) fn render_span(span: Span) -> String {
    let units = [(86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1_000, "s")];
    let unit = units.into_iter().find(|(size, _)| span.0 >= *size && span.0 % size == 0);
    unit.map_or_else(|| format!("{} ms", span.0), |(size, name)| format!("{} {name}", span.0 / size))
}

/// Returns the queue's handle in the name of the signed-in person.
pub(super) async fn open_queue(page: &Page, name: QueueName) -> Result<QueueHandle, Problem> {
    Ok(page.turno()?.queue(name).await?)
}

pub(super) async fn show(
    page: Page,
    Path(name): Path<QueueName>,
    Query(filter): Query<Filter>,
) -> Result<Response, Problem> {
    let wanted = Wanted::new(None, filter.cursor.as_deref())?;
    let [state, key, error] = [filter.state, filter.key, filter.error].map(given);
    let key_filter = key.as_deref().map(Key::new).transpose()?;
    let handle = open_queue(&page, name.clone()).await?;
    let queue = handle.overview().await?;
    let (items, cursor) = match state.as_deref() {
        None => (unfinished(&handle, key_filter.clone()).await?, None),
        Some(state) => {
            let found = in_state(&handle, state, key_filter.clone(), &wanted).await?;
            (found.items, found.next_cursor)
        }
    };
    let exhausted = match (&key_filter, &error) {
        (None, None) => queue.counts.exhausted,
        _ if !page.may("queues.manage") => 0,
        _ => {
            let which = Exhausted { key: key_filter, error: error.clone(), since: None };
            i64::try_from(handle.count_matching(&which, RETRY_MAX).await?).unwrap_or(i64::MAX)
        }
    };
    let [state, key, error] = [state, key, error].map(Option::unwrap_or_default);
    let path = format!("/queues/{}", page.part(&name));
    let to = |cursor: &str| address(&path, &[("state", &state), ("key", &key), ("error", &error), ("cursor", cursor)]);
    let (next, first) = (cursor.map(|cursor| to(&cursor)), filter.cursor.map(|_| to("")));
    let [next, first] = [next, first].map(Option::unwrap_or_default);
    let managed = page.app().managed_queues.contains(&name);
    page.show(|page| QueuePage { page, queue, managed, state, key, error, items, exhausted, first, next })
}

async fn in_state(
    queue: &QueueHandle,
    state: &str,
    key: Option<Key>,
    wanted: &Wanted,
) -> Result<crate::http::Page<ItemRecord>, Problem> {
    let bad = |cause| Problem::query("state", cause);
    let state = if state == "all" { None } else { Some(state.parse::<ItemState>().map_err(bad)?) };
    let query = ItemQuery { state, key, after: wanted.after()?.map(Seq), limit: wanted.limit, ..ItemQuery::listed() };
    Ok(crate::http::Page::of_items(queue.item_page(query).await?))
}

/// The address to return to.
#[derive(Deserialize)]
pub(super) struct Back {
    back: Option<String>,
}

pub(super) async fn pause(page: Page, Path(name): Path<QueueName>, Form(form): Form<Back>) -> Response {
    let outcome = async {
        open_queue(&page, name.clone()).await?.pause().await?;
        page.app().glance.forget().await;
        Ok(page.t1("queues-paused", "name", &name))
    };
    page.after(form.back.as_deref(), outcome.await)
}

pub(super) async fn resume(page: Page, Path(name): Path<QueueName>, Form(form): Form<Back>) -> Response {
    let outcome = async {
        open_queue(&page, name.clone()).await?.resume().await?;
        page.app().glance.forget().await;
        Ok(page.t1("queues-resumed", "name", &name))
    };
    page.after(form.back.as_deref(), outcome.await)
}

/// The filters of the exhausted items to retry.
#[derive(Deserialize)]
pub(super) struct Matching {
    key: Option<String>,
    error: Option<String>,
    back: Option<String>,
}

pub(super) async fn retry_exhausted(page: Page, Path(name): Path<QueueName>, Form(form): Form<Matching>) -> Response {
    let outcome = async {
        let key = given(form.key).as_deref().map(Key::new).transpose()?;
        let which = Exhausted { key, error: given(form.error), since: None };
        let retried = open_queue(&page, name.clone()).await?.retry_matching(&which, RETRY_MAX).await?;
        page.app().glance.forget().await;
        Ok(page.t1("queues-retried", "count", retried))
    };
    page.after(form.back.as_deref(), outcome.await)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_is_written_in_its_largest_whole_unit() {
        for (ms, text) in
            [(1_500, "1500 ms"), (30_000, "30 s"), (90_000, "90 s"), (300_000, "5 min"), (604_800_000, "7 d")]
        {
            assert_eq!(render_span(Span(ms)), text);
        }
    }
}
