//! Metrics for Prometheus: `GET /metrics` with a token, or without one on a listener of its own.
//!
//! Some values are read from the database at each scrape, within bounds: queues are counted at most every ten seconds,
//! for at most two seconds, and at most the first two hundred.

use std::fmt::Write as _;
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::header;
use axum::response::IntoResponse;
use axum::routing::get;
use tokio::sync::Mutex;
use turno::queue::QueueHandle;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::app::{App, Shared};
use super::callers::{CallerFigures, Limit};
use super::room::Room;
use crate::figures;
use crate::stopwatch::Stopwatch;

/// Counting a long queue is expensive, and values need not be newer than a scrape interval.
const QUEUES_EVERY: Duration = Duration::from_secs(10);
/// A scraper gives up after ten seconds. Queues that were not counted in time keep their old values.
const QUEUES_TIME: Duration = Duration::from_secs(2);
/// The most queues, as in the library, because a metric series lives for ever.
const QUEUES_MAX: usize = 200;

/// Tokens that expire within this time are counted, and marked in the console: a week, in which a person can act.
pub(crate) const TOKENS_SOON: Duration = Duration::from_secs(7 * 86_400);

/// When the queues were last counted, and at which queue that stopped.
#[derive(Debug, Default)]
pub(crate) struct Counting(Mutex<Counted>);

#[derive(Debug, Default)]
struct Counted {
    at: Option<Stopwatch>,
    /// The queue to begin with, where the time ran out.
    next: usize,
}

pub(super) fn routes() -> OpenApiRouter<Shared> {
    OpenApiRouter::new().routes(routes!(figures_get))
}

/// The router of the separate listener, which serves only metrics.
pub(super) fn alone(app: Shared) -> Router {
    Router::new().route("/metrics", get(figures_get)).with_state(app)
}

/// Returns metrics in the text format of Prometheus.
#[utoipa::path(
    get, path = "/metrics", tag = "operation",
    responses((status = 200, body = String, content_type = "text/plain"))
)]
async fn figures_get(State(app): State<Shared>) -> impl IntoResponse {
    refresh(&app).await;
    let headers =
        [(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8"), (header::CACHE_CONTROL, "no-store")];
    (headers, figures::installed().render() + &callers(&app))
}

/// Renders the callers with the most under way. They are written anew at each scrape, so that old callers leave no
/// series behind.
fn callers(app: &App) -> String {
    let mut text = "# HELP turno_caller_usage What the ten largest callers have under way\n\
                    # TYPE turno_caller_usage gauge\n"
        .to_owned();
    for CallerFigures { caller, requests, waiting, streams, leases } in app.callers.largest() {
        let caller = caller.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', " ");
        for (kind, count) in [("requests", requests), ("waiting", waiting), ("streams", streams), ("leases", leases)] {
            let _ = writeln!(text, "turno_caller_usage{{caller=\"{caller}\",kind=\"{kind}\"}} {count}");
        }
    }
    text
}

async fn refresh(app: &App) {
    metrics::gauge!("turno_build_info", "version" => env!("CARGO_PKG_VERSION")).set(1.0);
    metrics::gauge!("turno_uptime_seconds").set(app.uptime.elapsed().as_secs_f64());
    metrics::gauge!("turno_live_listeners").set(app.trusted().listeners() as f64);
    metrics::gauge!("turno_process_tasks").set(tokio::runtime::Handle::current().metrics().num_alive_tasks() as f64);
    for (room, name) in
        [(Room::Usual, "usual"), (Room::Reserved, "kept"), (Room::Waiting, "waiting"), (Room::Stream, "stream")]
    {
        metrics::gauge!("turno_http_in_progress", "room" => name).set(app.rooms.inside(room) as f64);
    }
    for limit in Limit::ALL {
        metrics::counter!("turno_caller_refused_total", "limit" => limit.setting()).increment(0);
    }
    for (budget, bytes) in app.bodies.reserved() {
        metrics::gauge!("turno_http_body_bytes", "budget" => budget).set(bytes as f64);
    }
    process();
    database(app).await;
    let mut counted = app.counting.0.lock().await;
    if counted.at.is_none_or(|at| at.elapsed() >= QUEUES_EVERY) {
        counted.at = Some(Stopwatch::start());
        // Counting only reads, so it can be cancelled at any point.
        let _ = tokio::time::timeout(QUEUES_TIME, count_queues(app, &mut counted.next)).await;
    }
}

async fn database(app: &App) {
    let span = match app.trusted().store() {
        Ok(store) => store.event_span().await.ok(),
        Err(_) => None,
    };
    metrics::gauge!("turno_database_up").set(if span.is_some() { 1.0 } else { 0.0 });
    if let Some(span) = span {
        metrics::gauge!("turno_event_position").set(span.newest.0 as f64);
    }
    if let Ok(expiring) = app.trusted().tokens_expiring(TOKENS_SOON).await {
        metrics::gauge!("turno_tokens_expiring_soon").set(expiring as f64);
    }
    if app.database.place.kind == "SQLite" {
        for (file, suffix) in [("main", ""), ("log", "-wal")] {
            let size = std::fs::metadata(format!("{}{suffix}", app.database.place.name)).map_or(0, |file| file.len());
            metrics::gauge!("turno_database_bytes", "file" => file).set(size as f64);
        }
    }
}

/// Counts the queues, beginning where the last count stopped, so that a long queue does not hide the others for ever.
async fn count_queues(app: &App, next: &mut usize) {
    let Ok(mut queues) = app.trusted().queues().await else { return };
    queues.sort_by_key(|queue| queue.id);
    queues.truncate(QUEUES_MAX);
    let first = if *next < queues.len() { *next } else { 0 };
    for number in (first..queues.len()).chain(0..first) {
        *next = number;
        if let Ok(queue) = app.trusted().queue(queues[number].name.clone()).await {
            count(queues[number].name.to_string(), &queue).await;
        }
    }
    *next = 0;
}

async fn count(name: String, queue: &QueueHandle) {
    let Ok(overview) = queue.overview().await else { return };
    let counts = overview.counts;
    let states = [
        ("pending", counts.pending),
        ("in_process", counts.in_process),
        ("error", counts.error),
        ("exhausted", counts.exhausted),
    ];
    for (state, count) in states {
        metrics::gauge!("turno_queue_items", "queue" => name.clone(), "state" => state).set(count as f64);
    }
    let waits = overview.oldest_waiting.map_or(0, |since| (overview.now - since).0.max(0));
    metrics::gauge!("turno_queue_oldest_seconds", "queue" => name).set(waits as f64 / 1_000.0);
}

/// Sets memory and open files of the process. Only Linux has these files, so elsewhere the metrics are missing.
fn process() {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kibibytes = resident.and_then(|text| text.split_whitespace().next()).and_then(|text| text.parse::<f64>().ok());
    if let Some(kibibytes) = kibibytes {
        metrics::gauge!("turno_process_resident_bytes").set(kibibytes * 1_024.0);
    }
    if let Ok(files) = std::fs::read_dir("/proc/self/fd") {
        metrics::gauge!("turno_process_open_files").set(files.count() as f64);
    }
}
