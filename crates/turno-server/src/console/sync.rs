//! Synchronisation: sources with their triggers, the state of their destinations, and their items.

use askama::Template;
use axum::Router;
use axum::response::Response;
use axum::routing::{get, post};
use serde::Deserialize;
use turno::core::destination::Destination;
use turno::core::id::{Key, QueueName, Seq};
use turno::core::queue::{ItemState, Kind};
use turno::queue::{ItemQuery, ItemRecord, Overview};

use super::badge::Badge;
use super::form::{Form, address, given};
use super::page::Page;
use super::queues::Act;
use super::queues::unfinished;
use crate::http::{
    Path, Problem, Query, Shared, SourceView, Wanted, lease_text, sync_resync, sync_resync_all, sync_size, sync_sources,
};

pub(super) fn routes() -> Router<Shared> {
    Router::new()
        .route("/sync", get(show))
        .route("/console/sync/{name}/resync", post(resync))
        .route("/console/sync/{name}/resync-all", post(resync_all))
}

/// The filters in the address.
#[derive(Deserialize)]
struct Filter {
    queue: Option<String>,
    state: Option<String>,
    key: Option<String>,
    cursor: Option<String>,
    /// The source for which the resync of all keys must be confirmed.
    all: Option<String>,
}

/// A sync queue, with its source if the configuration has one.
struct Line {
    queue: Overview,
    source: Option<SourceView>,
    /// The state of the destination. `None` if there is no endpoint.
    destination: Option<Destination>,
    calls: bool,
}

impl Line {
    fn name(&self) -> &str {
        self.source.as_ref().map_or(self.queue.row.name.as_str(), |source| &source.name)
    }

    fn down(&self) -> Option<&Destination> {
        self.destination.as_ref().filter(|destination| destination.is_down())
    }

    /// Returns the destination if its last calls failed and it is not down.
    fn failing(&self) -> Option<&Destination> {
        self.destination.as_ref().filter(|destination| !destination.is_down() && destination.failures > 0)
    }

    fn condition(&self) -> &'static str {
        match self.down() {
            Some(_) => "down",
            None => "healthy",
        }
    }
}

/// A source whose resync of all keys awaits confirmation. Its keys are counted only then, because counting reads the
/// whole table.
struct Whole {
    name: String,
    keys: i64,
}

#[derive(Template)]
#[template(path = "sync.html")]
struct Sync {
    page: Page,
    lines: Vec<Line>,
    /// Sources whose queue does not exist yet.
    absent: Vec<SourceView>,
    queue: String,
    state: String,
    key: String,
    events: Vec<ItemRecord>,
    all: Option<Whole>,
    first: String,
    next: String,
}

impl Sync {
    /// Renders a state with the words of the queue's database view.
    fn badge(&self, record: &ItemRecord) -> Badge {
        let state = record.state(record.now).as_str();
        Badge::new(state, self.page.t(&format!("seed-{state}")))
    }

    fn states(&self) -> Vec<&'static str> {
        ItemState::ALL.iter().map(|state| state.as_str()).collect()
    }

    fn count(&self, line: &Line, state: &str) -> i64 {
        state.parse().map_or(0, |state| line.queue.counts.get(state))
    }

    fn events_of(&self, line: &Line, state: &str) -> String {
        address("/sync", &[("queue", line.queue.row.name.as_str()), ("state", state)])
    }

    fn whole(&self, line: &Line, source: &SourceView) -> String {
        address("/sync", &[("queue", line.queue.row.name.as_str()), ("all", &source.name)])
    }

    fn how_many(&self, whole: &Whole) -> String {
        let most = turno::store::SourceLook::MOST;
        self.page.t1(if whole.keys < most { "sync-all-what" } else { "sync-all-many" }, "count", whole.keys)
    }

    /// Returns the action of an item.
    fn action(&self, record: &ItemRecord) -> Act {
        Act::from_record(record, &self.page)
    }

    fn unfiltered(&self) -> String {
        address("/sync", &[("queue", &self.queue)])
    }

    fn item(&self, record: &ItemRecord) -> String {
        format!("/queues/{}/items/{}", self.page.part(&self.queue), self.page.part(&record.body.id))
    }

    fn retry(&self, record: &ItemRecord) -> String {
        format!("/console{}/retry", self.item(record))
    }

    fn can_retry(&self, record: &ItemRecord) -> bool {
        let state = record.state(record.now);
        self.page.may("queues.manage") && [ItemState::Exhausted, ItemState::Error].contains(&state)
    }
}

async fn show(page: Page, Query(filter): Query<Filter>) -> Result<Response, Problem> {
    let wanted = Wanted::new(None, filter.cursor.as_deref())?;
    let (lines, absent) = lines(&page).await?;
    let [queue, state, key] = [filter.queue, filter.state, filter.key].map(given);
    // The first queue is the default.
    let queue = queue.or_else(|| lines.first().map(|line| line.queue.row.name.to_string())).unwrap_or_default();
    let all = match given(filter.all).filter(|_| page.may("sync.manage")) {
        Some(name) => Some(Whole { keys: sync_size(page.app(), &page.caller()?, &name).await?, name }),
        None => None,
    };
    let (mut events, mut cursor) = (Vec::new(), None);
    if !queue.is_empty() {
        let bad = |cause| Problem::query("state", cause);
        let query = ItemQuery {
            state: state.as_deref().map(str::parse::<ItemState>).transpose().map_err(bad)?,
            key: key.as_deref().map(Key::new).transpose()?,
            after: wanted.after()?.map(Seq),
            limit: wanted.limit,
            ..ItemQuery::listed()
        };
        let handle = page.turno()?.queue(QueueName::new(queue.as_str())?).await?;
        if query.state.is_none() {
            events = unfinished(&handle, query.key).await?;
        } else {
            let found = crate::http::Page::of_items(handle.item_page(query).await?);
            (events, cursor) = (found.items, found.next_cursor);
        }
    }
    let [state, key] = [state, key].map(Option::unwrap_or_default);
    let to =
        |cursor: &str| address("/sync", &[("queue", &queue), ("state", &state), ("key", &key), ("cursor", cursor)]);
    let next = cursor.map(|cursor| to(&cursor)).unwrap_or_default();
    let first = filter.cursor.map(|_| to("")).unwrap_or_default();
    page.show(|page| Sync { page, lines, absent, queue, state, key, events, all, first, next })
}

/// Returns all sync queues, those of configured sources first, and the sources without a queue.
async fn lines(page: &Page) -> Result<(Vec<Line>, Vec<SourceView>), Problem> {
    let (app, caller) = (page.shared(), page.caller()?);
    let all = app.glance.queues(app.trusted()).await?;
    let mut queues: Vec<&Overview> = all.iter().filter(|queue| queue.row.policy.kind == Kind::Sync).collect();
    let (mut lines, mut absent) = (Vec::new(), Vec::new());
    for source in sync_sources(&app, &caller).await? {
        match queues.iter().position(|queue| queue.row.name.as_str() == source.queue_name) {
            Some(at) => lines.push(line(page, queues.remove(at), Some(source)).await?),
            None => absent.push(source),
        }
    }
    for queue in queues {
        lines.push(line(page, queue, None).await?);
    }
    Ok((lines, absent))
}

async fn line(page: &Page, queue: &Overview, source: Option<SourceView>) -> Result<Line, Problem> {
    let calls = page.app().deliveries.endpoint(&queue.row).is_some();
    let destination = match calls {
        true => page.turno()?.queue(queue.row.name.clone()).await?.destination().await?,
        false => None,
    };
    Ok(Line { queue: queue.clone(), source, destination, calls })
}

/// The key to resync.
#[derive(Deserialize)]
struct Resync {
    key: String,
    back: Option<String>,
}

async fn resync(page: Page, Path(name): Path<String>, Form(form): Form<Resync>) -> Response {
    let outcome = async {
        let key = Key::new(form.key.trim())?;
        let key = sync_resync(page.app(), &page.caller()?, &name, key, None).await?;
        Ok(page.t1("sync-resynced", "key", key))
    };
    page.after(form.back.as_deref(), outcome.await)
}

/// The reason for resyncing all keys.
#[derive(Deserialize)]
struct ResyncAll {
    reason: String,
    back: Option<String>,
}

async fn resync_all(page: Page, Path(name): Path<String>, Form(form): Form<ResyncAll>) -> Response {
    let outcome = async {
        let reason = lease_text("reason", form.reason, true)?;
        sync_resync_all(&page.shared(), &page.caller()?, &name, Some(reason)).await?;
        Ok(page.t1("sync-all-sent", "name", &name))
    };
    page.after(form.back.as_deref(), outcome.await)
}
