//! Queues at a glance: policy, what is in them, how old, how fast.

use axum::extract::State;
use axum::http::{HeaderName, header};
use futures_util::{StreamExt, TryStreamExt, stream};
use serde::Serialize;
use turno::Overview;
use turno::core::destination::Destination;
use turno::core::id::QueueName;
use turno::core::queue::{Kind, Latency};
use turno::store::Counts;

use super::policy::{PolicyView, PushView};
use crate::http::app::{App, Shared};
use crate::http::caller::Caller;
use crate::http::extract::{Json, Path, Query};
use crate::http::listing::{Page, PageQuery};
use crate::http::problem::Problem;
use crate::http::stamp::Stamp;

/// Queues looked at side by side for one page, so that a page of many takes not many times as long, and yet leaves
/// connections to the database for others.
const SIDE_BY_SIDE: usize = 4;

/// How many items are in which state.
#[derive(Clone, Copy, Debug, Serialize, utoipa::ToSchema)]
#[schema(as = QueueCounts)]
pub(super) struct CountsView {
    pending: i64,
    in_process: i64,
    processed: i64,
    error: i64,
    exhausted: i64,
    cancelled: i64,
}

impl From<Counts> for CountsView {
    fn from(counts: Counts) -> CountsView {
        let Counts { pending, in_process, error, processed, exhausted, cancelled } = counts;
        CountsView { pending, in_process, processed, error, exhausted, cancelled }
    }
}

/// What went on in the last minute.
#[derive(Clone, Copy, Debug, Serialize, utoipa::ToSchema)]
#[schema(as = QueueRates)]
pub(super) struct RatesView {
    /// Items done in the last minute.
    processed_per_minute: i64,
    /// Attempts that failed in the last minute, those that were not settled in time included.
    failed_per_minute: i64,
}

/// A queue at a glance.
#[derive(Clone, Debug, Serialize, utoipa::ToSchema)]
#[schema(as = Queue)]
pub(in crate::http) struct QueueView {
    name: String,
    #[schema(value_type = String, example = "lane")]
    kind: Kind,
    policy: PolicyView,
    /// Where its deliveries are sent, beside what workers claim; null if they only claim.
    push: Option<PushView>,
    /// How that destination is doing; null if none is called.
    destination: Option<DestinationView>,
    /// Nothing is handed out until somebody resumes it.
    paused: bool,
    /// It is set in the configuration file, and cannot be changed here.
    managed_by_config: bool,
    /// Grows with every change of the policy or of `push`. Whoever changes what they have read gives it back as `If-Match`.
    version: i64,
    counts: CountsView,
    /// When the oldest item came that waits; null if none does.
    oldest_waiting_at: Option<Stamp>,
    oldest_waiting_ms: Option<i64>,
    rates: RatesView,
    /// How quick it was with what was done in the last minute; null if nothing was.
    latency: Option<LatencyView>,
    server_time: Stamp,
}

/// How long items waited and took that were done in the last minute.
#[derive(Clone, Copy, Debug, Serialize, utoipa::ToSchema)]
#[schema(as = QueueLatency)]
pub(super) struct LatencyView {
    /// So many of them were looked at, at most 1000.
    items: u64,
    /// Half of them were handed out, the last time, within this time of their acceptance; windows and delays included.
    wait_p50_ms: i64,
    wait_p95_ms: i64,
    /// Half of them were done within this time of their acceptance.
    done_p50_ms: i64,
    done_p95_ms: i64,
}

impl From<Latency> for LatencyView {
    fn from(latency: Latency) -> LatencyView {
        let Latency { items, waited, took } = latency;
        LatencyView {
            items,
            wait_p50_ms: waited.p50.0,
            wait_p95_ms: waited.p95.0,
            done_p50_ms: took.p50.0,
            done_p95_ms: took.p95.0,
        }
    }
}

/// How the destination of a queue is doing, as all servers see it.
#[derive(Clone, Debug, Serialize, utoipa::ToSchema)]
#[schema(as = QueueDestination)]
pub(super) struct DestinationView {
    /// It fails as a whole: no attempts are spent on it until it answers a probe.
    down: bool,
    /// Since when; null unless it is down.
    down_since: Option<Stamp>,
    /// When it is asked again; null unless it is down, or a key has run out of attempts while it answered nobody.
    next_probe_at: Option<Stamp>,
    /// Calls that failed in a row.
    failures: u32,
    /// What the last failure said; null if the last call succeeded.
    last_error: Option<String>,
}

impl From<Option<Destination>> for DestinationView {
    fn from(known: Option<Destination>) -> DestinationView {
        let Some(known) = known.filter(|known| known.failures > 0) else {
            return DestinationView {
                down: false,
                down_since: None,
                next_probe_at: None,
                failures: 0,
                last_error: None,
            };
        };
        DestinationView {
            down: known.is_down(),
            down_since: known.down_at.map(|_| Stamp(known.began_at)),
            next_probe_at: known.is_probed().then_some(Stamp(known.probe_at)),
            failures: known.failures,
            last_error: Some(known.error),
        }
    }
}

impl QueueView {
    fn new(app: &App, overview: &Overview, destination: Option<Destination>) -> QueueView {
        let Overview { row, counts, oldest_waiting, processed_last_minute, failed_last_minute, latency, now } =
            overview;
        QueueView {
            name: row.name.to_string(),
            kind: row.policy.kind,
            policy: (&row.policy).into(),
            push: app.deliveries.endpoint(row).as_ref().map(PushView::from),
            destination: app.deliveries.endpoint(row).map(|_| destination.into()),
            paused: row.paused,
            managed_by_config: app.managed_queues.contains(&row.name),
            version: row.version,
            counts: (*counts).into(),
            oldest_waiting_at: oldest_waiting.map(Stamp),
            oldest_waiting_ms: oldest_waiting.map(|oldest| oldest.until(*now).0),
            rates: RatesView { processed_per_minute: *processed_last_minute, failed_per_minute: *failed_last_minute },
            latency: latency.map(Into::into),
            server_time: Stamp(*now),
        }
    }
}

/// One queue as it is now.
pub(in crate::http) async fn seen(app: &App, caller: &Caller, name: QueueName) -> Result<QueueView, Problem> {
    let queue = super::known(caller, name).await?;
    let overview = queue.overview().await?;
    let destination = match app.deliveries.endpoint(&overview.row) {
        Some(_) => queue.destination().await?,
        None => None,
    };
    Ok(QueueView::new(app, &overview, destination))
}

/// The queues by name, each at a glance.
#[utoipa::path(get, path = "/v1/queues", tag = "queues", params(PageQuery),
    responses((status = 200, body = Page<QueueView>)))]
pub(super) async fn queue_list(
    State(app): State<Shared>,
    caller: Caller,
    Query(query): Query<PageQuery>,
) -> Result<Json<Page<QueueView>>, Problem> {
    let wanted = query.wanted()?;
    let mut names: Vec<QueueName> = caller.0.queues().await?.into_iter().map(|row| row.name).collect();
    names.sort();
    let behind = |name: &QueueName| wanted.after.as_deref().is_none_or(|after| name.as_str() > after);
    let found: Vec<QueueName> = names.into_iter().filter(behind).take(wanted.one_more() as usize).collect();
    let Page { items, next_cursor } = wanted.page(found, ToString::to_string);
    let looks = items.into_iter().map(|name| seen(&app, &caller, name));
    let items = stream::iter(looks).buffered(SIDE_BY_SIDE).try_collect().await?;
    Ok(Json(Page { items, next_cursor }))
}

/// One queue: its policy, what is in it, how old, how fast. Its `version` is also its `ETag`.
#[utoipa::path(get, path = "/v1/queues/{queue}", tag = "queues", params(("queue" = String, Path)),
    responses((status = 200, body = QueueView)))]
pub(super) async fn queue_get(
    State(app): State<Shared>,
    caller: Caller,
    Path(name): Path<QueueName>,
) -> Result<([(HeaderName, String); 1], Json<QueueView>), Problem> {
    let view = seen(&app, &caller, name).await?;
    Ok((tag(view.version), Json(view)))
}

/// The version as `If-Match` takes it.
pub(super) fn tag(version: i64) -> [(HeaderName, String); 1] {
    [(header::ETAG, format!("\"{version}\""))]
}
