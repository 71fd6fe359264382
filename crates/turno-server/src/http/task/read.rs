//! Reading tasks and stock.

use serde::{Deserialize, Serialize};
use turno::core::id::Sku;
use turno::core::task::{Status, TaskId};
use turno::task::TaskQuery;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::task_id;
use super::view::{HappenedView, Tagged, TaskView, unknown};
use crate::http::app::Shared;
use crate::http::caller::Caller;
use crate::http::extract::{Json, Path, Query};
use crate::http::listing::{Page, PageQuery, Wanted, cursor};
use crate::http::problem::Problem;
use crate::http::reader::Reader;
use crate::texts::message::Message;

pub(super) fn routes() -> OpenApiRouter<Shared> {
    OpenApiRouter::new()
        .routes(routes!(task_list))
        .routes(routes!(task_get))
        .routes(routes!(task_history))
        .routes(routes!(stock_get))
}

/// Filters and page of a list of tasks.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct ListQuery {
    /// Only tasks in this status.
    status: Option<String>,
    /// `true`: only locked tasks. `false`: only tasks that are not locked.
    #[param(value_type = Option<bool>)]
    locked: Option<String>,
    /// Number of tasks per page, 1 to 1000. Default: 50.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<u32>,
    /// The `next_cursor` of the previous page.
    cursor: Option<String>,
}

/// Lists tasks, newest first.
#[utoipa::path(get, path = "/v1/tasks", tag = "tasks", params(ListQuery),
    responses((status = 200, body = Page<TaskView>)))]
async fn task_list(
    caller: Caller,
    reader: Reader,
    Query(query): Query<ListQuery>,
) -> Result<Json<Page<TaskView>>, Problem> {
    let wanted = Wanted::new(query.limit, query.cursor.as_deref())?;
    let given = |text: Option<String>| text.filter(|text| !text.is_empty());
    let status = given(query.status).map(|status| status.parse::<Status>()).transpose();
    let status = status.map_err(|cause| Problem::query("status", cause))?;
    let locked = given(query.locked).map(|locked| locked.parse::<bool>()).transpose();
    let locked = locked.map_err(|_| Problem::query("locked", Message::new("error-true-or-false")))?;
    let before = wanted.after()?.map(TaskId);
    let page = caller.0.tasks(TaskQuery { status, locked, before, limit: wanted.limit }).await?;
    let items = page.tasks.iter().map(|(task, lease)| TaskView::new(&caller, &reader, task, lease, page.now));
    let next_cursor = page.next.map(|next| cursor(&next.to_string()));
    Ok(Json(Page { items: items.collect(), next_cursor }))
}

/// Returns a task with its lines and its lock.
#[utoipa::path(get, path = "/v1/tasks/{id}", tag = "tasks",
    params(("id" = i64, Path)), responses((status = 200, body = TaskView)))]
async fn task_get(caller: Caller, reader: Reader, Path(id): Path<String>) -> Result<Tagged, Problem> {
    let id = task_id(&id)?;
    let (now, found) = caller.0.task_get(id).await?;
    let (task, lease) = found.ok_or_else(|| unknown(id))?;
    Ok(Tagged(TaskView::new(&caller, &reader, &task, &lease, now)))
}

/// Lists the history of a task, including past ownerships of its lock, oldest first.
#[utoipa::path(get, path = "/v1/tasks/{id}/history", tag = "tasks",
    params(("id" = i64, Path), PageQuery), responses((status = 200, body = Page<HappenedView>)))]
async fn task_history(
    caller: Caller,
    Path(id): Path<String>,
    Query(query): Query<PageQuery>,
) -> Result<Json<Page<HappenedView>>, Problem> {
    let (id, wanted) = (task_id(&id)?, query.wanted()?);
    let after = wanted.after()?;
    if caller.0.task_get(id).await?.1.is_none() {
        return Err(unknown(id));
    }
    let history = caller.0.task_history(id, after, wanted.limit).await?;
    let items = history.events.into_iter().map(HappenedView::from).collect();
    Ok(Json(Page { items, next_cursor: history.next.map(|next| cursor(&next.to_string())) }))
}

/// The stock of an article.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[schema(as = Stock)]
struct StockView {
    /// The article.
    sku: String,
    /// The number of units.
    quantity: i64,
    /// The serial numbers of serialized units, sorted.
    serials: Vec<String>,
}

/// Returns the stock of an article. An article that never moved has none.
#[utoipa::path(get, path = "/v1/stock/{sku}", tag = "tasks",
    params(("sku" = String, Path)), responses((status = 200, body = StockView)))]
async fn stock_get(caller: Caller, Path(sku): Path<Sku>) -> Result<Json<StockView>, Problem> {
    let level = caller.0.stock_level(sku).await?;
    Ok(Json(StockView { sku: level.sku.to_string(), quantity: level.quantity, serials: level.serials }))
}
