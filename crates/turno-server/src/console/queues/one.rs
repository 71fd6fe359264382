//! One queue: what is in it, by state and by key, and what people do to the whole of it.

use askama::Template;
use axum::response::Response;
use serde::Deserialize;
use turno::core::id::{Key, QueueName, Seq};
use turno::core::queue::{ItemState, OnExhausted};
use turno::core::time::Span;
use turno::{ItemQuery, ItemRecord, Overview, QueueHandle};

use super::super::form::{Form, address, given};
use super::super::page::Page;
use super::kind;
use crate::http::{Code, Path, Problem, Query, Wanted};

/// Exhausted items of one key counted for the preview; beyond, it says "more than".
const PREVIEW_MAX: u32 = 1_000;
/// As the API: one call retries so many at most, so that it ends.
const RETRY_MAX: u32 = 10_000;

/// Which items.
#[derive(Deserialize)]
pub(super) struct Filter {
    state: Option<String>,
    key: Option<String>,
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

    fn all(&self) -> i64 {
        self.states().iter().map(|(_, count)| count).sum()
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
pub(super) fn spoken(span: Span) -> String {
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
    let (state, key) = (given(filter.state), given(filter.key));
    let parsed = state.as_deref().map(str::parse::<ItemState>).transpose();
    let parsed = parsed.map_err(|cause| Problem::new(Code::BadQuery).cause(format_args!("state: {cause}")))?;
    let of_key = key.as_deref().map(Key::new).transpose()?;
    let handle = known(&page, name.clone()).await?;
    let queue = handle.overview().await?;
    let query =
        ItemQuery { state: parsed, key: of_key.clone(), after: wanted.after()?.map(Seq), limit: wanted.one_more() };
    let found = wanted.page(handle.items(query).await?, |record| record.body.seq.0.to_string());
    let exhausted = match of_key {
        None => queue.counts.exhausted,
        Some(key) => {
            let query =
                ItemQuery { state: Some(ItemState::Exhausted), key: Some(key), after: None, limit: PREVIEW_MAX };
            handle.items(query).await?.len() as i64
        }
    };
    let (state, key) = (state.unwrap_or_default(), key.unwrap_or_default());
    let path = format!("/queues/{}", page.part(&name));
    let to = |cursor: &str| address(&path, &[("state", &state), ("key", &key), ("cursor", cursor)]);
    let next = found.next_cursor.map(|cursor| to(&cursor)).unwrap_or_default();
    let first = filter.cursor.map(|_| to("")).unwrap_or_default();
    let managed = page.app().managed_queues.contains(&name);
    page.show(|page| One { page, queue, managed, state, key, items: found.items, exhausted, first, next })
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
pub(super) struct Exhausted {
    key: Option<String>,
    back: Option<String>,
}

pub(super) async fn retry_exhausted(page: Page, Path(name): Path<QueueName>, Form(form): Form<Exhausted>) -> Response {
    let became = async {
        let key = given(form.key).as_deref().map(Key::new).transpose()?;
        let retried = known(&page, name.clone()).await?.retry_exhausted(key, RETRY_MAX).await?;
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
