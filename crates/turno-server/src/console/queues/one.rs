//! One queue: what is in it, by state and by key, and what people do to the whole of it.

use askama::Template;
use axum::response::Response;
use serde::Deserialize;
use turno::core::id::{Key, QueueName, Seq};
use turno::core::queue::{ItemState, OnExhausted};
use turno::core::time::Span;
use turno::{Exhausted, ItemQuery, ItemRecord, Overview, QueueHandle};

use super::super::form::{Form, address, given};
use super::super::page::Page;
use super::{SHOWN, UNFINISHED, kind, unfinished};
use crate::http::{Path, Problem, Query, Wanted};

/// As the API: one call retries so many at most, so that it ends.
const RETRY_MAX: u32 = 10_000;

/// Which items.
#[derive(Deserialize)]
pub(super) struct Filter {
    /// Nothing means what is unfinished, `all` means all.
    state: Option<String>,
    key: Option<String>,
    /// Part of the last error, of exhausted ones.
    error: Option<String>,
    cursor: Option<String>,
}

#[derive(Template)]
#[template(path = "queues/one.html")]
struct One {
    page: Page,
    queue: Overview,
    managed: bool,
    state: String,
    key: String,
    error: String,
    items: Vec<ItemRecord>,
    /// Exhausted ones that match, for the preview.
    exhausted: i64,
    first: String,
    next: String,
}

impl One {
    fn name(&self) -> &QueueName {
        &self.queue.row.name
    }

    fn kind(&self) -> &'static str {
        kind(self.queue.row.policy.kind)
    }

    fn states(&self) -> Vec<(&'static str, i64)> {
        ItemState::ALL.iter().map(|state| (state.as_str(), self.queue.counts.of(*state))).collect()
    }

    fn unfinished(&self) -> i64 {
        UNFINISHED.iter().map(|state| self.queue.counts.of(*state)).sum()
    }

    /// Not all that is unfinished is on the page.
    fn is_cut(&self) -> bool {
        self.state.is_empty() && self.items.len() >= SHOWN as usize
    }

    /// The same page with another state.
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

    fn of_key(&self, key: &Key) -> String {
        format!("{}/keys/{}", self.path(), self.page.part(key))
    }

    fn span(&self, span: &Span) -> String {
        spoken(*span)
    }

    fn holds(&self) -> bool {
        self.queue.row.policy.on_exhausted == OnExhausted::Hold
    }
}

/// A setting as it would be written: `30 s`, `5 min`, `2 h`, `7 d`, `1500 ms`.
pub(in crate::console) fn spoken(span: Span) -> String {
    let units = [(86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1_000, "s")];
    let unit = units.into_iter().find(|(size, _)| span.0 >= *size && span.0 % size == 0);
    unit.map_or_else(|| format!("{} ms", span.0), |(size, name)| format!("{} {name}", span.0 / size))
}

/// The queue in the name of whoever looks.
pub(super) async fn known(page: &Page, name: QueueName) -> Result<QueueHandle, Problem> {
    Ok(page.turno()?.queue(name).await?)
}

pub(super) async fn show(
    page: Page,
    Path(name): Path<QueueName>,
    Query(filter): Query<Filter>,
) -> Result<Response, Problem> {
    let wanted = Wanted::new(None, filter.cursor.as_deref())?;
    let [state, key, error] = [filter.state, filter.key, filter.error].map(given);
    let of_key = key.as_deref().map(Key::new).transpose()?;
    let handle = known(&page, name.clone()).await?;
    let queue = handle.overview().await?;
    let (items, cursor) = match state.as_deref() {
        None => (unfinished(&handle, of_key.clone()).await?, None),
        Some(state) => {
            let found = in_state(&handle, state, of_key.clone(), &wanted).await?;
            (found.items, found.next_cursor)
        }
    };
    let exhausted = match (&of_key, &error) {
        (None, None) => queue.counts.exhausted,
        _ if !page.may("queues.manage") => 0,
        _ => {
            let which = Exhausted { key: of_key, error: error.clone(), since: None };
            i64::try_from(handle.count_matching(&which, RETRY_MAX).await?).unwrap_or(i64::MAX)
        }
    };
    let [state, key, error] = [state, key, error].map(Option::unwrap_or_default);
    let path = format!("/queues/{}", page.part(&name));
    let to = |cursor: &str| address(&path, &[("state", &state), ("key", &key), ("error", &error), ("cursor", cursor)]);
    let (next, first) = (cursor.map(|cursor| to(&cursor)), filter.cursor.map(|_| to("")));
    let [next, first] = [next, first].map(Option::unwrap_or_default);
    let managed = page.app().managed_queues.contains(&name);
    page.show(|page| One { page, queue, managed, state, key, error, items, exhausted, first, next })
}

async fn in_state(
    queue: &QueueHandle,
    state: &str,
    key: Option<Key>,
    wanted: &Wanted,
) -> Result<crate::http::Page<ItemRecord>, Problem> {
    let bad = |cause: String| Problem::query("state", cause);
    let state = if state == "all" { None } else { Some(state.parse::<ItemState>().map_err(bad)?) };
    let query = ItemQuery { state, key, after: wanted.after()?.map(Seq), limit: wanted.one_more() };
    Ok(wanted.page(queue.items(query).await?, |record| record.body.seq.0.to_string()))
}

/// Nothing but where to go back to.
#[derive(Deserialize)]
pub(super) struct Back {
    back: Option<String>,
}

pub(super) async fn pause(page: Page, Path(name): Path<QueueName>, Form(form): Form<Back>) -> Response {
    let became = async {
        known(&page, name.clone()).await?.pause().await?;
        page.app().glance.forget().await;
        Ok(page.t1("queues-paused", "name", &name))
    };
    page.after(form.back.as_deref(), became.await)
}

pub(super) async fn resume(page: Page, Path(name): Path<QueueName>, Form(form): Form<Back>) -> Response {
    let became = async {
        known(&page, name.clone()).await?.resume().await?;
        page.app().glance.forget().await;
        Ok(page.t1("queues-resumed", "name", &name))
    };
    page.after(form.back.as_deref(), became.await)
}

/// Which exhausted items go round again.
#[derive(Deserialize)]
pub(super) struct Matching {
    key: Option<String>,
    error: Option<String>,
    back: Option<String>,
}

pub(super) async fn retry_exhausted(page: Page, Path(name): Path<QueueName>, Form(form): Form<Matching>) -> Response {
    let became = async {
        let key = given(form.key).as_deref().map(Key::new).transpose()?;
        let which = Exhausted { key, error: given(form.error), since: None };
        let retried = known(&page, name.clone()).await?.retry_matching(&which, RETRY_MAX).await?;
        page.app().glance.forget().await;
        Ok(page.t1("queues-retried", "count", retried))
    };
    page.after(form.back.as_deref(), became.await)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_is_written_in_its_largest_whole_unit() {
        for (ms, text) in
            [(1_500, "1500 ms"), (30_000, "30 s"), (90_000, "90 s"), (300_000, "5 min"), (604_800_000, "7 d")]
        {
            assert_eq!(spoken(Span(ms)), text);
        }
    }
}
