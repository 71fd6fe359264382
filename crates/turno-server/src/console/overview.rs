//! The overview: what happens now, recent activity, and what needs attention.

use askama::Template;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use std::sync::Arc;
use turno::core::lease::State as LeaseState;
use turno::core::task::Status;
use turno::core::time::{Span, Time};
use turno::queue::{LaneLocks, Overview as QueueOverview};
use turno::store::LeaseQuery;
use turno::task::TaskQuery;

use super::form::address;
use super::page::Page;
use super::queues::has;
use super::titles::Titles;
use super::trend::{Chart, Counters};
use crate::http::{Problem, Shared, way_in};

/// How many leases are counted. Beyond that, the page says "more than".
const LEASES_MAX: u32 = 500;
/// How long the oldest item may wait without a worker before the overview reports it.
const WAITS_LONG: Span = Span::from_secs(300);
/// How many leases and queues are shown.
const SHOWN: usize = 6;
/// How many partially completed tasks are shown.
const TASKS: u32 = 5;

/// How many free tasks are counted. Beyond that, the page says "more than".
const FREE_MAX: u32 = 50;

/// Something that needs a person's attention.
struct Need {
    state: &'static str,
    text: String,
    address: String,
}

#[derive(Template)]
#[template(path = "overview.html")]
struct Overview {
    page: Page,
    held: usize,
    more_held: bool,
    lanes: LaneLocks,
    waiting: i64,
    working: i64,
    failing: i64,
    exhausted: i64,
    /// The addresses of the items behind these two figures.
    to_failing: String,
    to_exhausted: String,
    collisions: i64,
    since: Time,
    rates: Counters,
    items_chart: Chart,
    locks_chart: Chart,
    needs: Vec<Need>,
    now: Time,
    /// Held leases, newest first.
    locks: Vec<LeaseState>,
    titles: Titles,
    queues: Arc<Vec<QueueOverview>>,
}

impl Overview {
    fn queue_path(&self, queue: &QueueOverview) -> String {
        format!("/queues/{}", self.page.part(&queue.row.name))
    }

    fn waiting_in(&self, queue: &QueueOverview) -> i64 {
        queue.counts.pending + queue.counts.error
    }

    fn busiest(&self) -> Vec<&QueueOverview> {
        let mut queues: Vec<&QueueOverview> = self.queues.iter().collect();
        queues.sort_by_key(|queue| std::cmp::Reverse(queue.processed_last_minute + queue.counts.in_process));
        queues.truncate(SHOWN);
        queues
    }
}

/// Renders the overview, or the sign-in page for a caller who is not signed in.
pub(super) async fn show(
    State(app): State<Shared>,
    headers: HeaderMap,
    page: Option<Page>,
) -> Result<Response, Problem> {
    let Some(page) = page else {
        return Ok(way_in(&app, &headers));
    };
    let turno = page.turno()?;
    let held = turno.leases(LeaseQuery { limit: LEASES_MAX, ..LeaseQuery::default() }).await?;
    let lanes = turno.lane_locks().await?;
    let query = TaskQuery { status: Some(Status::PartiallyCompleted), limit: TASKS, ..TaskQuery::default() };
    let tasks = turno.tasks(query).await?;
    let queues = page.app().glance.queues(page.app().trusted()).await?;
    let now = held.now;
    let mut needs: Vec<Need> = queues.iter().flat_map(|queue| queue_needs(&page, queue)).collect();
    for (id, down) in turno.destinations().await?.into_iter().filter(|(_, destination)| destination.is_down()) {
        let Some(queue) = queues.iter().find(|queue| queue.row.id == id) else { continue };
        let text = page.t2("needs-down", "queue", &queue.row.name, "error", &down.error);
        needs.push(Need { state: "down", text, address: format!("/queues/{}", page.part(&queue.row.name)) });
    }
    needs.extend(tasks.tasks.iter().map(|(task, _)| Need {
        state: "partially_completed",
        text: page.t1("needs-task", "title", &task.title),
        address: format!("/tasks/{}", task.id.0),
    }));
    for (status, text) in [(Status::Ready, "needs-ready"), (Status::Processing, "needs-processing")] {
        needs.extend(task_needs(&page, status, text).await?);
    }
    let sum = |of: fn(&QueueOverview) -> i64| queues.iter().map(of).sum::<i64>();
    let trend = &page.app().trend;
    let rates = trend.rates(now);
    let items = vec![
        rates.line(page.t("chart-processed"), "good", |counters| counters.processed),
        rates.line(page.t("chart-failed"), "bad", |counters| counters.failed),
    ];
    let lock_lines = vec![
        rates.line(page.t("chart-claimed"), "work", |counters| counters.claimed),
        rates.line(page.t("chart-collisions"), "warn", |counters| counters.collisions),
    ];
    let (collisions, since) = (trend.last_day(|counters| counters.collisions), trend.counting_since(now));
    let (last, times) = (rates.last(), rates.times);
    let (waiting, working) =
        (sum(|queue| queue.counts.pending + queue.counts.error), sum(|queue| queue.counts.in_process));
    let (failing, exhausted) = (sum(|queue| queue.counts.error), sum(|queue| queue.counts.exhausted));
    let [to_failing, to_exhausted] = ["error", "exhausted"].map(|state| items_or_queues_path(&page, &queues, state));
    let (count, more) = (held.states.len(), held.next.is_some());
    let mut locks: Vec<LeaseState> = held.states;
    locks.sort_by_key(|state| std::cmp::Reverse(state.grant.as_ref().map(|grant| grant.locked_at)));
    locks.truncate(SHOWN);
    let titles = Titles::load(turno, &locks).await?;
    page.show(|page| Overview {
        page,
        to_failing,
        to_exhausted,
        held: count,
        more_held: more,
        lanes,
        waiting,
        working,
        failing,
        exhausted,
        collisions,
        since,
        rates: last,
        items_chart: Chart { times: times.clone(), series: items },
        locks_chart: Chart { times, series: lock_lines },
        needs,
        now,
        locks,
        titles,
        queues,
    })
}

/// Returns an entry for the free tasks in this status, if the person may process tasks.
async fn task_needs(page: &Page, status: Status, text: &'static str) -> Result<Option<Need>, Problem> {
    if !page.may("inventory.manage") {
        return Ok(None);
    }
    let query = TaskQuery { status: Some(status), locked: Some(false), limit: FREE_MAX, ..TaskQuery::default() };
    let found = page.turno()?.tasks(query).await?;
    let more = if found.next.is_some() { "yes" } else { "no" };
    let text = page.t2(text, "count", found.tasks.len(), "more", more);
    let address = address("/tasks", &[("status", status.as_str()), ("lock", "free")]);
    Ok((!found.tasks.is_empty()).then_some(Need { state: status.as_str(), text, address }))
}

/// Returns the address of the items in this state if one queue has all of them, or else of the queues that have some.
fn items_or_queues_path(page: &Page, queues: &[QueueOverview], state: &str) -> String {
    let mut having = queues.iter().filter(|queue| has(queue, state));
    match (having.next(), having.next()) {
        (Some(one), None) => address(&format!("/queues/{}", page.part(&one.row.name)), &[("state", state)]),
        _ => address("/queues", &[("state", state)]),
    }
}

/// Returns what needs attention in a queue.
fn queue_needs(page: &Page, queue: &QueueOverview) -> Vec<Need> {
    let name = &queue.row.name;
    let address = |state: &str| address(&format!("/queues/{}", page.part(name)), &[("state", state)]);
    let mut needs = Vec::new();
    if queue.counts.exhausted > 0 {
        let text = if page.may("queues.manage") { "needs-exhausted" } else { "needs-exhausted-others" };
        let text = page.t2(text, "count", queue.counts.exhausted, "queue", name);
        needs.push(Need { state: "exhausted", text, address: address("exhausted") });
    }
    if queue.row.paused {
        let text = page.t2("needs-paused", "count", queue.counts.pending, "queue", name);
        needs.push(Need { state: "paused", text, address: address("") });
    }
    let long = queue.oldest_waiting.is_some_and(|since| since.until(queue.now).0 > WAITS_LONG.0);
    if long && !queue.row.paused && queue.counts.in_process == 0 && queue.processed_last_minute == 0 {
        let text = page.t1("needs-workers", "queue", name);
        needs.push(Need { state: "pending", text, address: address("pending") });
    }
    needs
}
