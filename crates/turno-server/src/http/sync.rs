//! Sources of synchronisation: their configuration, their state in the database, and their queues.

use std::sync::PoisonError;

use axum::extract::State;
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use turno::core::id::Key;
use turno::core::sync::{OnLeave, SourceRefused};
use turno::store::Part;
use turno::sync::{Installed, SourceTrouble, SyncHandle, SyncStatus};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::app::{App, Shared};
use super::caller::Caller;
use super::extract::{Json, Path, Query};
use super::lease::text as lease_text;
use super::listing::{Page, PageQuery};
use super::problem::{Code, Problem, with_next};
use super::queue::overview::{self, QueueView};
use crate::config::sync::SyncSource;
use crate::texts::Language;
use crate::texts::causes::Cause;
use crate::texts::message::Message;

pub(super) fn routes() -> OpenApiRouter<Shared> {
    OpenApiRouter::new().routes(routes!(source_list)).routes(routes!(source_get)).routes(routes!(source_resync))
}

/// A source: a table whose changes are delivered to a destination.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[schema(as = SyncSource)]
pub(crate) struct SourceView {
    /// The name of the source.
    pub(crate) name: String,
    /// The watched table.
    pub(crate) table: String,
    /// The column with the key.
    pub(crate) key: String,
    /// The columns whose changes count.
    pub(crate) watch: Vec<String>,
    /// The columns that are sent.
    pub(crate) payload: Vec<String>,
    /// The condition for the current row of a key. Null if every row is current.
    pub(crate) current_when: Option<String>,
    /// The condition for rows that take part. Null if all rows do.
    pub(crate) enqueue_when: Option<String>,
    /// What happens if a row stops taking part: `ignore` or `deactivate`.
    pub(crate) on_leave: &'static str,
    /// The action sent with a current row.
    pub(crate) action_update: String,
    /// The action sent if the key has no current row.
    pub(crate) action_deactivate: String,
    /// The name of the source's trigger.
    pub(crate) trigger: String,
    /// The database view of the queue. Null if there is none.
    pub(crate) view: Option<String>,
    /// The state of the triggers: `installed`, `absent`, `differs` (from the configuration), `blocked` (another object
    /// has a name that the source needs, see `problem`), `no_triggers` (the database has none, and changes come over
    /// the API) or `unknown` (see `problem`).
    #[schema(example = "installed")]
    pub(crate) installed: &'static str,
    /// The database objects of the source.
    pub(crate) parts: Vec<PartView>,
    /// Why the source does not work: its state cannot be read, another object has a name that it needs, the database has
    /// no triggers, or the destination's secret is missing. Null if there is no problem.
    problem: Option<String>,
    /// The same as messages, for the console.
    #[serde(skip)]
    pub(crate) troubles: Vec<Message>,
    /// Changes that wait for their first attempt.
    pub(crate) waiting: i64,
    /// Changes that failed and will be retried.
    pub(crate) failing: i64,
    /// Changes without attempts left.
    pub(crate) exhausted: i64,
    /// Marks whose key is not valid, so that no change could be enqueued.
    pub(crate) refused: i64,
    /// Keys whose row stopped taking part without a change being sent. Null in lists, where it is not counted.
    pub(crate) left: Option<i64>,
    /// Keys that are active at the destination although their row is gone and no change is pending. Null in lists,
    /// where it is not counted.
    pub(crate) gone: Option<i64>,
    /// The queue of the source's changes, with its destination. Null until the queue exists.
    queue: Option<QueueView>,
    /// The name of the source's queue.
    pub(crate) queue_name: String,
}

/// A database object of a source.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[schema(as = SyncPart)]
pub(crate) struct PartView {
    /// `function`, `trigger`, `index` or `view`.
    pub(crate) what: &'static str,
    /// The name of the object.
    pub(crate) name: String,
    /// `good`, `missing`, `differs`, `disabled`, `stale` (from an earlier configuration) or `taken` (another object has
    /// the name).
    pub(crate) state: &'static str,
}

impl From<Part> for PartView {
    fn from(part: Part) -> PartView {
        PartView { what: part.what, state: part.state.as_str(), name: part.name }
    }
}

/// Lists the configured sources, in the order of the configuration.
#[utoipa::path(get, path = "/v1/sync/sources", tag = "sync", params(PageQuery),
    responses((status = 200, body = Page<SourceView>)))]
async fn source_list(
    State(app): State<Shared>,
    caller: Caller,
    Query(query): Query<PageQuery>,
) -> Result<Json<Page<SourceView>>, Problem> {
    let wanted = query.wanted()?;
    let after = wanted.after::<usize>()?.unwrap_or(0);
    let reached = app.sync_sources.iter().enumerate().filter(|(_, source)| reaches(&caller, source));
    let found = reached.skip_while(|(index, _)| *index < after).take(wanted.one_more() as usize);
    let page = wanted.page(found.collect(), |(index, _)| (index + 1).to_string());
    let mut items = Vec::new();
    for (_, source) in page.items {
        let handle = caller.0.sync(source.source.clone());
        items.push(load_view(&app, &caller, source, &handle, handle.glance().await).await?);
    }
    Ok(Json(Page { items, next_cursor: page.next_cursor }))
}

/// Returns whether the caller's token reaches the queue of the source.
fn reaches(caller: &Caller, source: &SyncSource) -> bool {
    caller.0.principal().is_none_or(|principal| principal.reaches_queue(source.source.queue.as_str()))
}

/// Returns all sources, for the console.
pub(crate) async fn sources(app: &Shared, caller: &Caller) -> Result<Vec<SourceView>, Problem> {
    let mut sources = Vec::new();
    for source in &app.sync_sources {
        let handle = caller.0.sync(source.source.clone());
        sources.push(load_view(app, caller, source, &handle, handle.glance().await).await?);
    }
    Ok(sources)
}

/// Returns a source, including the counts `left` and `gone`.
#[utoipa::path(get, path = "/v1/sync/sources/{name}", tag = "sync", params(("name" = String, Path)),
    responses((status = 200, body = SourceView)))]
async fn source_get(
    State(app): State<Shared>,
    caller: Caller,
    Path(name): Path<String>,
) -> Result<Json<SourceView>, Problem> {
    let source = find_source(&app, &name)?;
    if !reaches(&caller, source) {
        return Err(Problem::new(Code::OtherResource).arg("resource", name));
    }
    let handle = caller.0.sync(source.source.clone());
    load_view(&app, &caller, source, &handle, handle.status().await).await.map(Json)
}

/// The keys to send again.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[schema(as = SyncResync)]
#[serde(deny_unknown_fields)]
struct ResyncBody {
    /// A key to send again, even if it has no row.
    #[schema(value_type = Option<String>)]
    key: Option<Key>,
    /// True to send every key of the source again. Default: false.
    #[serde(default)]
    all: bool,
    /// The reason, shown in the audit.
    #[schema(max_length = 500)]
    reason: Option<String>,
}

/// Sends one key again, or all keys.
///
/// A resync of all keys first sends the keys with a row, in key order and a few hundred at a time, so that
/// applications can write meanwhile. Then it sends the keys that were delivered and have no row any more. It does not
/// retry exhausted items: use `POST /v1/queues/{queue}/retry-exhausted`.
#[utoipa::path(post, path = "/v1/sync/sources/{name}/resync", tag = "sync", params(("name" = String, Path)),
    responses((status = 202, description = "The resync was accepted.")))]
async fn source_resync(
    State(app): State<Shared>,
    caller: Caller,
    Path(name): Path<String>,
    Json(body): Json<ResyncBody>,
) -> Result<StatusCode, Problem> {
    let reason = body.reason.map(|reason| lease_text("reason", reason, false)).transpose()?;
    match (body.key, body.all) {
        (Some(key), false) => resync(&app, &caller, &name, key, reason).await.map(drop)?,
        (None, true) => resync_all(&app, &caller, &name, reason).await?,
        _ => return Err(Problem::new(Code::BadField).field("key").cause(Message::new("error-key-or-all"))),
    }
    Ok(StatusCode::ACCEPTED)
}

/// Starts a resync of every key in the background, because its duration grows with the table. If one is running
/// already, does nothing.
pub(crate) async fn resync_all(
    app: &Shared,
    caller: &Caller,
    name: &str,
    reason: Option<String>,
) -> Result<(), Problem> {
    let handle = caller.0.sync(find_source(app, name)?.source.clone()).because(reason);
    if !handle.has_triggers() {
        return Err(turno::Error::from(SourceRefused::NoTriggers).into());
    }
    // Checks for known problems first, while the caller can still be told.
    if let Some(trouble) = handle.glance().await?.trouble {
        return Err(turno::Error::from(trouble).into());
    }
    let Some(running) = RunningResync::begin(app, name) else { return Ok(()) };
    tokio::spawn(async move {
        let name = running.name.as_str();
        match handle.resync_all(None, |_| {}).await {
            Ok(done) => tracing::info!(source = name, queued = done.queued, unfit = done.unfit, "sent again"),
            Err(error) => tracing::warn!(source = name, %error, "sending again has stopped midway; ask for it again"),
        }
    });
    Ok(())
}

/// Marks a resync as running until it is dropped.
struct RunningResync {
    app: Shared,
    name: String,
}

impl RunningResync {
    fn begin(app: &Shared, name: &str) -> Option<RunningResync> {
        let began = app.resyncs.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned());
        began.then(|| RunningResync { app: app.clone(), name: name.to_owned() })
    }
}

impl Drop for RunningResync {
    fn drop(&mut self) {
        self.app.resyncs.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.name);
    }
}

/// Sends one key again. Returns the key in the spelling of the table.
pub(crate) async fn resync(
    app: &App,
    caller: &Caller,
    name: &str,
    key: Key,
    reason: Option<String>,
) -> Result<Key, Problem> {
    Ok(caller.0.sync(find_source(app, name)?.source.clone()).because(reason).resync(key).await?)
}

/// Returns the number of keys of a source, counted up to a bound.
pub(crate) async fn size(app: &App, caller: &Caller, name: &str) -> Result<i64, Problem> {
    Ok(caller.0.sync(find_source(app, name)?.source.clone()).size().await?)
}

fn find_source<'a>(app: &'a App, name: &str) -> Result<&'a SyncSource, Problem> {
    let found = app.sync_sources.iter().find(|source| source.name == name);
    found.ok_or_else(|| Problem::not_found(Message::new("thing-source").text("source", name)))
}

async fn load_view(
    app: &Shared,
    caller: &Caller,
    source: &SyncSource,
    handle: &SyncHandle,
    status: Result<SyncStatus, turno::Error>,
) -> Result<SourceView, Problem> {
    let queue = match caller.0.queue(source.queue.clone()).await {
        Ok(_) => Some(overview::load_view(app, caller, source.queue.clone()).await?),
        Err(turno::Error::Unknown(_)) => None,
        Err(error) => return Err(error.into()),
    };
    // A table that is missing or not readable is shown as a problem of the source.
    let (status, trouble) = match status {
        Ok(status) => (Some(status.clone()), status.trouble),
        Err(turno::Error::Source(SourceRefused::NoQueue(_))) => (None, None),
        Err(turno::Error::Source(refused)) => (None, Some(SourceTrouble::Refused(refused))),
        Err(error) => return Err(error.into()),
    };
    let installed = match &trouble {
        Some(_) => "unknown",
        None => Installed::from_status(status.as_ref(), handle.has_triggers()).as_str(),
    };
    let taken = status.as_ref().and_then(SyncStatus::taken).map(SourceTrouble::Refused);
    let trouble = trouble.or(taken).map(|trouble| match trouble {
        SourceTrouble::Refused(refused) => with_next(refused.message()),
        SourceTrouble::Rejected(cause) => Message::verbatim(cause),
    });
    let unwatched = (!handle.has_triggers()).then(|| with_next(SourceRefused::NoTriggers.message()));
    let unsigned = app.deliveries.unsigned(&source.queue).cloned().map(with_next);
    let troubles: Vec<Message> = trouble.or(unwatched).into_iter().chain(unsigned).collect();
    let problems: Vec<String> = troubles.iter().map(|trouble| trouble.render(&app.texts, Language::English)).collect();
    let counts = status.as_ref().map(|status| status.pulse.counts).unwrap_or_default();
    Ok(SourceView {
        name: source.name.clone(),
        table: source.table.display(),
        key: source.key.clone(),
        watch: source.watch.clone(),
        payload: source.payload.clone(),
        current_when: source.current_when.clone(),
        enqueue_when: source.enqueue_when.clone(),
        on_leave: if source.on_leave == OnLeave::Ignore { "ignore" } else { "deactivate" },
        action_update: source.update.clone(),
        action_deactivate: source.deactivate.clone(),
        trigger: source.trigger.clone(),
        view: source.view.as_ref().map(ToString::to_string),
        installed,
        problem: (!problems.is_empty()).then(|| problems.join(". ")),
        troubles,
        waiting: counts.pending,
        failing: counts.error,
        exhausted: counts.exhausted,
        refused: status.as_ref().map_or(0, |status| status.refused),
        left: status.as_ref().and_then(|status| status.left),
        gone: status.as_ref().and_then(|status| status.gone),
        parts: status.map(|status| status.parts.into_iter().map(PartView::from).collect()).unwrap_or_default(),
        queue,
        queue_name: source.queue.to_string(),
    })
}
