//! Leases: the list of held ones, a page per lease with its waiting line and history, and overrides.

use askama::Template;
use axum::Router;
use axum::response::Response;
use axum::routing::{get, post};
use serde::Deserialize;
use turno::core::id::{Fence, Resource, UserId};
use turno::core::lease::{Action, Ending, Offer, State, Ticket};
use turno::core::task::{Task, TaskId};
use turno::core::time::Time;
use turno::store::LeaseQuery;

use super::form::{Form, address, given};
use super::page::Page;
use super::titles::Titles;
use crate::http::{Code, Path, Problem, Query, Shared, Wanted, lease_act, lease_text};

pub(super) fn routes() -> Router<Shared> {
    Router::new()
        .route("/leases", get(list))
        .route("/leases/{resource}", get(show))
        .route("/console/leases/{resource}/force-release", post(force_release))
        .route("/console/leases/{resource}/force-claim", post(force_claim))
}

/// The filters in the address.
#[derive(Deserialize)]
struct Filter {
    holder: Option<String>,
    prefix: Option<String>,
    cursor: Option<String>,
}

#[derive(Template)]
#[template(path = "leases/list.html")]
struct List {
    page: Page,
    now: Time,
    holder: String,
    prefix: String,
    leases: Vec<State>,
    titles: Titles,
    first: String,
    next: String,
}

impl List {
    fn waiting(&self, state: &State) -> usize {
        waiting(state, self.now).count()
    }
}

/// Returns the live tickets of the waiting line.
fn waiting(state: &State, now: Time) -> impl Iterator<Item = &Ticket> {
    state.line.iter().filter(move |ticket| now < ticket.expires_at)
}

async fn list(page: Page, Query(filter): Query<Filter>) -> Result<Response, Problem> {
    let wanted = Wanted::new(None, filter.cursor.as_deref())?;
    let (holder, prefix) = (given(filter.holder), given(filter.prefix));
    let query = LeaseQuery {
        holder: holder.as_deref().map(|typed| UserId::new(page.user_of(typed))).transpose()?,
        prefix: prefix.clone(),
        after: wanted.after.as_deref().map(Resource::new).transpose()?,
        limit: wanted.limit,
    };
    let found = page.turno()?.leases(query).await?;
    let titles = Titles::load(page.turno()?, &found.states).await?;
    let (holder, prefix) = (holder.unwrap_or_default(), prefix.unwrap_or_default());
    let to = |cursor: &str| address("/leases", &[("holder", &holder), ("prefix", &prefix), ("cursor", cursor)]);
    let next = found.next.map(|resource| to(&Wanted::cursor(resource.as_str()))).unwrap_or_default();
    let first = filter.cursor.map(|_| to("")).unwrap_or_default();
    page.show(|page| List { page, now: found.now, holder, prefix, leases: found.states, titles, first, next })
}

#[derive(Template)]
#[template(path = "leases/one.html")]
struct LeasePage {
    page: Page,
    now: Time,
    state: State,
    history: Vec<Ending>,
    /// The task that the lease belongs to.
    task: Option<Task>,
}

impl LeasePage {
    fn word(&self) -> &'static str {
        match (self.state.live(self.now), self.offer()) {
            (Some(_), _) => "locked",
            (None, Some(_)) => "offered",
            (None, None) => "free",
        }
    }

    fn offer(&self) -> Option<&Offer> {
        self.state.offer.as_ref().filter(|offer| self.state.live(self.now).is_none() && self.now < offer.until)
    }

    fn line(&self) -> Vec<&Ticket> {
        waiting(&self.state, self.now).collect()
    }
}

/// How many ended ownerships are shown. The API returns older ones.
const HISTORY: u32 = 50;

async fn show(page: Page, Path(resource): Path<Resource>) -> Result<Response, Problem> {
    let turno = page.turno()?;
    let (now, state) = turno.lease_state(resource.clone()).await?;
    let mut history = turno.lease_history(resource, None, HISTORY).await?;
    // The row keeps the last ended ownership, even if its history has been deleted.
    if let Some(ended) = &state.ended
        && history.iter().all(|earlier| earlier.grant.fence < ended.grant.fence)
    {
        history.insert(0, ended.clone());
    }
    let task = match TaskId::from_resource(&state.resource) {
        Some(id) => turno.task_get(id).await?.1.map(|(task, _)| task),
        None => None,
    };
    page.show(|page| LeasePage { page, now, state, history, task })
}

/// The reason for an override, and the fence of the ownership that the page showed.
#[derive(Deserialize)]
struct Override {
    reason: String,
    fence: Option<Fence>,
    back: Option<String>,
}

async fn force_release(page: Page, Path(resource): Path<Resource>, Form(form): Form<Override>) -> Response {
    let fence = form.fence;
    let outcome = apply_override(&page, &resource, form.reason, |reason| Action::ForceRelease { reason, fence }).await;
    answer_override(
        &page,
        form.back.as_deref(),
        outcome.map(|()| page.t1("leases-force-released", "resource", resource)),
    )
}

async fn force_claim(page: Page, Path(resource): Path<Resource>, Form(form): Form<Override>) -> Response {
    let fence = form.fence;
    let outcome = apply_override(&page, &resource, form.reason, |reason| Action::ForceClaim { reason, fence }).await;
    answer_override(
        &page,
        form.back.as_deref(),
        outcome.map(|()| page.t1("leases-force-claimed", "resource", resource)),
    )
}

/// Answers an override. `LeaseHeld` means that another holder has the lease by now, because the fence did not match.
fn answer_override(page: &Page, back: Option<&str>, outcome: Result<String, Problem>) -> Response {
    match outcome {
        Err(problem) if problem.code() == Code::LeaseHeld => {
            page.refused(back, page.t1("leases-changed-hands", "name", problem.holder()))
        }
        outcome => page.after(back, outcome),
    }
}

async fn apply_override(
    page: &Page,
    resource: &Resource,
    reason: String,
    action: impl FnOnce(String) -> Action,
) -> Result<(), Problem> {
    let caller = page.caller()?;
    let action = action(lease_text("reason", reason, true)?);
    lease_act(&caller, resource.clone(), caller.holder(None), action).await.map(drop)
}
