//! Reading leases.

use serde::Deserialize;
use turno::core::id::{Resource, UserId};
use turno::store::LeaseQuery;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::{EndedView, LeaseView, check_task_exists};
use crate::http::app::Shared;
use crate::http::caller::Caller;
use crate::http::extract::{Json, Path, Query};
use crate::http::listing::{Page, PageQuery, Wanted, cursor};
use crate::http::problem::Problem;

pub(super) fn routes() -> OpenApiRouter<Shared> {
    OpenApiRouter::new().routes(routes!(lease_get)).routes(routes!(lease_list)).routes(routes!(lease_history))
}

/// Returns the lease of a resource. A resource that was never claimed is free.
#[utoipa::path(get, path = "/v1/leases/{resource}", tag = "leases",
    params(("resource" = String, Path)), responses((status = 200, body = LeaseView)))]
async fn lease_get(caller: Caller, Path(resource): Path<Resource>) -> Result<Json<LeaseView>, Problem> {
    get(&caller, resource).await.map(Json)
}

/// Returns the lease as it is now.
pub(super) async fn get(caller: &Caller, resource: Resource) -> Result<LeaseView, Problem> {
    check_task_exists(caller, &resource).await?;
    let (now, state) = caller.0.lease_state(resource).await?;
    Ok(LeaseView::new(caller, &caller.holder(None), &state, now))
}

/// Filters and page of a list of leases.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct ListQuery {
    /// Only leases that this user holds.
    holder: Option<String>,
    /// Only resources whose name begins with this.
    prefix: Option<String>,
    /// Number of leases per page, 1 to 1000. Default: 50.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<u32>,
    /// The `next_cursor` of the previous page.
    cursor: Option<String>,
}

/// Lists the held leases, ordered by resource.
#[utoipa::path(get, path = "/v1/leases", tag = "leases", params(ListQuery),
    responses((status = 200, body = Page<LeaseView>)))]
async fn lease_list(caller: Caller, Query(query): Query<ListQuery>) -> Result<Json<Page<LeaseView>>, Problem> {
    let wanted = Wanted::new(query.limit, query.cursor.as_deref())?;
    let holder = query.holder.filter(|holder| !holder.is_empty()).map(UserId::new).transpose();
    let holder = holder.map_err(|cause| Problem::query("holder", cause))?;
    let prefix = query.prefix.filter(|prefix| !prefix.is_empty());
    if let Some(prefix) = &prefix {
        // A prefix with characters that no name can have matches nothing, but some databases refuse to search for it.
        Resource::new(prefix.as_str()).map_err(|cause| Problem::query("prefix", cause))?;
    }
    let after = wanted.after.map(Resource::new).transpose().map_err(|cause| Problem::query("cursor", cause))?;
    let page = caller.0.leases(LeaseQuery { holder, prefix, after, limit: wanted.limit }).await?;
    let who = caller.holder(None);
    let items = page.states.iter().map(|state| LeaseView::new(&caller, &who, state, page.now)).collect();
    Ok(Json(Page { items, next_cursor: page.next.map(|next| cursor(next.as_str())) }))
}

/// Lists the past ownerships of a lease and how each ended, newest first.
#[utoipa::path(get, path = "/v1/leases/{resource}/history", tag = "leases",
    params(("resource" = String, Path), PageQuery), responses((status = 200, body = Page<EndedView>)))]
async fn lease_history(
    caller: Caller,
    Path(resource): Path<Resource>,
    Query(query): Query<PageQuery>,
) -> Result<Json<Page<EndedView>>, Problem> {
    let wanted = query.wanted()?;
    check_task_exists(&caller, &resource).await?;
    let before = wanted.after()?.map(turno::core::id::Fence);
    let endings = caller.0.lease_history(resource, before, wanted.one_more()).await?;
    let page = wanted.page(endings, |ending| ending.grant.fence.0.to_string());
    Ok(Json(page.map(|ending| EndedView::from(&ending))))
}
