//! Sources of synchronisation, as the configuration describes them, and how their queues are.

use axum::extract::State;
use serde::Serialize;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::app::Shared;
use super::caller::Caller;
use super::extract::{Json, Query};
use super::listing::{Page, PageQuery};
use super::problem::Problem;
use super::queue::overview::{self, QueueView};
use crate::config::sync::SyncSource;

pub(super) fn routes() -> OpenApiRouter<Shared> {
    OpenApiRouter::new().routes(routes!(source_list))
}

/// A table whose changes are carried elsewhere.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(super) struct SourceView {
    /// What it is called.
    name: String,
    /// The table it watches.
    table: String,
    /// The column that names an identity.
    key: String,
    /// The columns whose changes count.
    watch: Vec<String>,
    /// Where its changes wait; null until the queue exists.
    queue: Option<QueueView>,
    queue_name: String,
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
        items.push(shown(&app, &caller, source).await?);
    }
    Ok(Json(Page { items, next_cursor: page.next_cursor }))
}

async fn shown(app: &Shared, caller: &Caller, source: &SyncSource) -> Result<SourceView, Problem> {
    let queue = match caller.0.queue(source.queue.clone()).await {
        Ok(_) => Some(overview::seen(app, caller, source.queue.clone()).await?),
        Err(turno::Error::Unknown(_)) => None,
        Err(error) => return Err(error.into()),
    };
    Ok(SourceView {
        name: source.name.clone(),
        table: source.table.shown(),
        key: source.key.clone(),
        watch: source.watch.clone(),
        queue,
        queue_name: source.queue.to_string(),
    })
}
