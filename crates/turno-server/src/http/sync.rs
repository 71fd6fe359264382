//! Sources of synchronisation: as the configuration describes them, as the database has them, and how their queues are.

use std::sync::PoisonError;

use axum::extract::State;
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use turno::core::id::Key;
use turno::core::sync::{OnLeave, SourceRefused};
use turno::store::Part;
use turno::{Installed, SourceTrouble, SyncHandle, SyncStatus};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::app::{App, Shared};
use super::caller::Caller;
use super::extract::{Json, Path, Query};
use super::lease::text as lease_text;
use super::listing::{Page, PageQuery};
use super::problem::{Code, Problem};
use super::queue::overview::{self, QueueView};
use crate::config::sync::SyncSource;

pub(super) fn routes() -> OpenApiRouter<Shared> {
    OpenApiRouter::new().routes(routes!(source_list)).routes(routes!(source_get)).routes(routes!(source_resync))
}

/// A table whose changes are carried elsewhere.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[schema(as = SyncSource)]
pub(crate) struct SourceView {
    /// What it is called.
    pub(crate) name: String,
    /// The table it watches.
    pub(crate) table: String,
    /// The column that names an identity.
    pub(crate) key: String,
    /// The columns whose changes count.
    pub(crate) watch: Vec<String>,
    /// The columns that are sent.
    pub(crate) payload: Vec<String>,
    /// Which row speaks for its key; null if every row does.
    pub(crate) current_when: Option<String>,
    /// Which rows take part; null if all do.
    pub(crate) enqueue_when: Option<String>,
    /// What happens when a row stops taking part: `ignore` or `deactivate`.
    pub(crate) on_leave: &'static str,
    /// What the destination is told to do with a row.
    pub(crate) action_update: String,
    /// What it is told to do when there is none any more.
    pub(crate) action_deactivate: String,
    pub(crate) trigger: String,
    /// Where people of the database look at the queue; null if there is no such view.
    pub(crate) view: Option<String>,
    /// Whether the triggers are there: `installed`, `absent`, `differs` (from the configuration), `blocked` (something else has
    /// a name that it needs, see `problem`), `no_triggers` (the database has none, and the queue is fed over the API), `unknown`
    /// (see `problem`).
    #[schema(example = "installed")]
    pub(crate) installed: &'static str,
    /// What belongs to it in the database, each with its state.
    pub(crate) parts: Vec<PartView>,
    /// Why it does not work: the database cannot say how it is, something else has a name that it needs, or its destination
    /// is not called for want of a secret. Null if none of them.
    pub(crate) problem: Option<String>,
    /// Changes that wait for their first attempt.
    pub(crate) waiting: i64,
    /// Changes that failed and will be tried again.
    pub(crate) failing: i64,
    /// Changes with no attempts left.
    pub(crate) exhausted: i64,
    /// Marks that could not become an event, because the key cannot be one.
    pub(crate) refused: i64,
    /// Keys whose row stopped taking part without the destination being told; null in lists, where it is not counted.
    pub(crate) left: Option<i64>,
    /// Keys that the destination believes active, whose row is gone, with nothing on its way; null in lists, where it is not
    /// counted.
    pub(crate) gone: Option<i64>,
    /// Where its changes wait, with its destination; null until the queue exists.
    queue: Option<QueueView>,
    pub(crate) queue_name: String,
}

/// Something that belongs to a source in the database.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[schema(as = SyncPart)]
pub(crate) struct PartView {
    /// `function`, `trigger`, `index` or `view`.
    pub(crate) what: &'static str,
    pub(crate) name: String,
    /// `good`, `missing`, `differs`, `disabled`, `stale`: of an earlier configuration, or `taken`: something that is not of
    /// the source has the name.
    pub(crate) state: &'static str,
}

impl From<Part> for PartView {
    fn from(part: Part) -> PartView {
        PartView { what: part.what, state: part.state.as_str(), name: part.name }
    }
}

/// The sources of the configuration, in their order.
#[utoipa::path(get, path = "/v1/sync/sources", tag = "sync", params(PageQuery),
    responses((status = 200, body = Page<SourceView>)))]
async fn source_list(
    State(app): State<Shared>,
    caller: Caller,
    Query(query): Query<PageQuery>,
) -> Result<Json<Page<SourceView>>, Problem> {
    let wanted = query.wanted()?;
    let after = wanted.after::<usize>()?.unwrap_or(0);
    let found = app.sync_sources.iter().enumerate().skip(after).take(wanted.one_more() as usize);
    let page = wanted.page(found.collect(), |(index, _)| (index + 1).to_string());
    let mut items = Vec::new();
    for (_, source) in page.items {
        let handle = caller.0.sync(source.source.clone());
        items.push(shown(&app, &caller, source, &handle, handle.glance().await).await?);
    }
    Ok(Json(Page { items, next_cursor: page.next_cursor }))
}

/// All sources, for the console.
pub(crate) async fn sources(app: &Shared, caller: &Caller) -> Result<Vec<SourceView>, Problem> {
    let mut sources = Vec::new();
    for source in &app.sync_sources {
        let handle = caller.0.sync(source.source.clone());
        sources.push(shown(app, caller, source, &handle, handle.glance().await).await?);
    }
    Ok(sources)
}

/// One source, with how many have left without the destination being told, and how many are gone.
#[utoipa::path(get, path = "/v1/sync/sources/{name}", tag = "sync", params(("name" = String, Path)),
    responses((status = 200, body = SourceView)))]
async fn source_get(
    State(app): State<Shared>,
    caller: Caller,
    Path(name): Path<String>,
) -> Result<Json<SourceView>, Problem> {
    let source = known(&app, &name)?;
    let handle = caller.0.sync(source.source.clone());
    shown(&app, &caller, source, &handle, handle.status().await).await.map(Json)
}

/// What is to be sent again.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[schema(as = SyncResync)]
#[serde(deny_unknown_fields)]
struct ResyncBody {
    /// This key, whether there is a row for it or not.
    #[schema(value_type = Option<String>)]
    key: Option<Key>,
    /// Every key of the source.
    #[serde(default)]
    all: bool,
    /// Why, for the audit.
    #[schema(max_length = 500)]
    reason: Option<String>,
}

/// Sends one key again, or all of them: those with a row in the order of the key, some hundred at a time beside your
/// applications, and then those that were delivered and have none any more. What is exhausted is retried by
/// `POST /v1/queues/{queue}/retry-exhausted`.
#[utoipa::path(post, path = "/v1/sync/sources/{name}/resync", tag = "sync", params(("name" = String, Path)),
    responses((status = 202, description = "It is on its way.")))]
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
        _ => return Err(Problem::new(Code::BadField).field("key").cause("either key, or all")),
    }
    Ok(StatusCode::ACCEPTED)
}

/// Sends every key of a source again. It takes as long as the table is large, so nobody waits for its end; asked for
/// again meanwhile, it is the same one.
pub(crate) async fn resync_all(
    app: &Shared,
    caller: &Caller,
    name: &str,
    reason: Option<String>,
) -> Result<(), Problem> {
    let handle = caller.0.sync(known(app, name)?.source.clone()).because(reason);
    if !handle.has_triggers() {
        return Err(turno::Error::from(SourceRefused::NoTriggers).into());
    }
    // What would stop it is said now, while somebody listens.
    if let Some(trouble) = handle.glance().await?.trouble {
        return Err(turno::Error::from(trouble).into());
    }
    let Some(under_way) = UnderWay::begin(app, name) else { return Ok(()) };
    tokio::spawn(async move {
        let name = under_way.name.as_str();
        match handle.resync_all(None, |_| {}).await {
            Ok(done) => tracing::info!(source = name, queued = done.queued, unfit = done.unfit, "sent again"),
            Err(error) => tracing::warn!(source = name, %error, "sending again has stopped midway; ask for it again"),
        }
    });
    Ok(())
}

/// A source that is being sent again, until it is dropped.
struct UnderWay {
    app: Shared,
    name: String,
}

impl UnderWay {
    fn begin(app: &Shared, name: &str) -> Option<UnderWay> {
        let began = app.resyncs.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned());
        began.then(|| UnderWay { app: app.clone(), name: name.to_owned() })
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.app.resyncs.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.name);
    }
}

/// Sends one key of a source again; answers it as the table has it.
pub(crate) async fn resync(
    app: &App,
    caller: &Caller,
    name: &str,
    key: Key,
    reason: Option<String>,
) -> Result<Key, Problem> {
    Ok(caller.0.sync(known(app, name)?.source.clone()).because(reason).resync(key).await?)
}

/// How many keys a source has, counted up to a bound.
pub(crate) async fn size(app: &App, caller: &Caller, name: &str) -> Result<i64, Problem> {
    Ok(caller.0.sync(known(app, name)?.source.clone()).size().await?)
}

fn known<'a>(app: &'a App, name: &str) -> Result<&'a SyncSource, Problem> {
    let found = app.sync_sources.iter().find(|source| source.name == name);
    found.ok_or_else(|| Problem::new(Code::NotFound).arg("thing", format!("source {name}")))
}

async fn shown(
    app: &Shared,
    caller: &Caller,
    source: &SyncSource,
    handle: &SyncHandle,
    status: Result<SyncStatus, turno::Error>,
) -> Result<SourceView, Problem> {
    let queue = match caller.0.queue(source.queue.clone()).await {
        Ok(_) => Some(overview::seen(app, caller, source.queue.clone()).await?),
        Err(turno::Error::Unknown(_)) => None,
        Err(error) => return Err(error.into()),
    };
    // A table that is not there, or may not be read, is something to be shown and not a failure of the page.
    let (status, trouble) = match status {
        Ok(status) => (Some(status.clone()), status.trouble),
        Err(turno::Error::Source(SourceRefused::NoQueue(_))) => (None, None),
        Err(turno::Error::Source(refused)) => (None, Some(SourceTrouble::Refused(refused))),
        Err(error) => return Err(error.into()),
    };
    let installed = match &trouble {
        Some(_) => "unknown",
        None => Installed::of(status.as_ref(), handle.has_triggers()).as_str(),
    };
    let taken = status.as_ref().and_then(SyncStatus::taken).map(SourceTrouble::Refused);
    let problem = trouble.or(taken).map(|trouble| match trouble {
        SourceTrouble::Refused(refused) => format!("{refused}; {}", refused.next()),
        SourceTrouble::Rejected(cause) => cause,
    });
    let problem = problem.or_else(|| app.deliveries.unsigned(&source.queue).map(str::to_owned));
    let counts = status.as_ref().map(|status| status.pulse.counts).unwrap_or_default();
    Ok(SourceView {
        name: source.name.clone(),
        table: source.table.shown(),
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
        problem,
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
