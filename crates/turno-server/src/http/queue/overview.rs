//! Overview of queues: policy, counts, age, throughput.

use axum::extract::State;
use axum::http::{HeaderName, header};
use futures_util::{StreamExt, TryStreamExt, stream};
use serde::Serialize;
use turno::core::destination::Destination;
use turno::core::id::QueueName;
use turno::core::queue::{Kind, Latency};
use turno::queue::Overview;
use turno::store::Counts;

use super::policy::{PolicyView, PushView};
use crate::http::app::{App, Shared};
use crate::http::caller::Caller;
use crate::http::extract::{Json, Path, Query};
use crate::http::listing::{Page, PageQuery};
use crate::http::problem::Problem;
use crate::http::stamp::Stamp;

/// How many queues of a page are read at once. More would be faster, but leave fewer database connections for other
/// requests.
const CONCURRENT_READS: usize = 4;

/// The number of items in each state.
#[derive(Clone, Copy, Debug, Serialize, utoipa::ToSchema)]
#[schema(as = QueueCounts)]
pub(super) struct CountsView {
    /// Items that wait.
    pending: i64,
    /// Items in a live delivery.
    in_process: i64,
    /// Items that are done.
    processed: i64,
    /// Items that failed and will be retried.
    error: i64,
    /// Items without attempts left.
    exhausted: i64,
    /// Cancelled items.
    cancelled: i64,
}

impl From<Counts> for CountsView {
    fn from(counts: Counts) -> CountsView {
        let Counts { pending, in_process, error, processed, exhausted, cancelled } = counts;
        CountsView { pending, in_process, processed, error, exhausted, cancelled }
    }
}

/// Throughput of the last minute.
#[derive(Clone, Copy, Debug, Serialize, utoipa::ToSchema)]
#[schema(as = QueueRates)]
pub(super) struct RatesView {
    /// Items processed in the last minute.
    processed_per_minute: i64,
    /// Attempts that failed in the last minute, including those that expired.
    failed_per_minute: i64,
}

/// A queue.
#[derive(Clone, Debug, Serialize, utoipa::ToSchema)]
#[schema(as = Queue)]
pub(in crate::http) struct QueueView {
    /// The queue's name.
    name: String,
    /// `lane`, `inbox` or `sync`.
    #[schema(value_type = String, example = "lane")]
    kind: Kind,
    /// The policy in force.
    policy: PolicyView,
    /// The endpoint that deliveries are sent to. Null if workers claim them.
    push: Option<PushView>,
    /// The state of that endpoint. Null if the queue has none.
    destination: Option<DestinationView>,
    /// True if the queue hands out nothing until it is resumed.
    paused: bool,
    /// True if the configuration file defines the queue. Then it cannot be changed over the API.
    managed_by_config: bool,
    /// Grows with every change of the policy or of `push`. Send it as `If-Match`, so that you overwrite no change that
    /// you have not read.
    version: i64,
    /// The number of items in each state.
    counts: CountsView,
    /// When the oldest waiting item was enqueued. Null if none waits.
    oldest_waiting_at: Option<Stamp>,
    /// How long the oldest waiting item has waited.
    oldest_waiting_ms: Option<i64>,
    /// Throughput of the last minute.
    rates: RatesView,
    /// Latency of the items processed in the last minute. Null if there were none.
    latency: Option<LatencyView>,
    /// The server's time.
    server_time: Stamp,
}

/// Latency of the items processed in the last minute.
#[derive(Clone, Copy, Debug, Serialize, utoipa::ToSchema)]
#[schema(as = QueueLatency)]
pub(super) struct LatencyView {
    /// The number of items measured, at most 1000.
    items: u64,
    /// Median time from enqueueing to the last hand-out, including windows and delays.
    wait_p50_ms: i64,
    /// 95th percentile of the time from enqueueing to the last hand-out.
    wait_p95_ms: i64,
    /// Median time from enqueueing to completion.
    done_p50_ms: i64,
    /// 95th percentile of the time from enqueueing to completion.
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

/// The state of a queue's destination, shared by all servers.
#[derive(Clone, Debug, Serialize, utoipa::ToSchema)]
#[schema(as = QueueDestination)]
pub(super) struct DestinationView {
    /// True if the destination as a whole is down. No attempts are spent until it answers a probe.
    down: bool,
    /// When the outage began. Null unless the destination is down.
    down_since: Option<Stamp>,
    /// When the next probe is due. Null unless the destination is down or a key is stuck.
    next_probe_at: Option<Stamp>,
    /// The number of failed calls in a row.
    failures: u32,
    /// The error of the last call. Null if it succeeded.
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

/// Returns the queue as it is now.
pub(in crate::http) async fn load_view(app: &App, caller: &Caller, name: QueueName) -> Result<QueueView, Problem> {
    let queue = super::find_queue(caller, name).await?;
    let overview = queue.overview().await?;
    let destination = match app.deliveries.endpoint(&overview.row) {
        Some(_) => queue.destination().await?,
        None => None,
    };
    Ok(QueueView::new(app, &overview, destination))
}

/// Lists queues, ordered by name.
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
    let views = items.into_iter().map(|name| load_view(&app, &caller, name));
    let items = stream::iter(views).buffered(CONCURRENT_READS).try_collect().await?;
    Ok(Json(Page { items, next_cursor }))
}

/// Returns a queue: its policy, counts, age and throughput.
///
/// Its `version` is also its `ETag`.
#[utoipa::path(get, path = "/v1/queues/{queue}", tag = "queues", params(("queue" = String, Path)),
    responses((status = 200, body = QueueView)))]
pub(super) async fn queue_get(
    State(app): State<Shared>,
    caller: Caller,
    Path(name): Path<QueueName>,
) -> Result<([(HeaderName, String); 1], Json<QueueView>), Problem> {
    let view = load_view(&app, &caller, name).await?;
    Ok((etag(view.version), Json(view)))
}

/// Returns the `ETag` header with the version.
pub(super) fn etag(version: i64) -> [(HeaderName, String); 1] {
    [(header::ETAG, format!("\"{version}\""))]
}
