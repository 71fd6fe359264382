//! Locks: every lease that somebody holds, one lease with its line and its history, and overrides.

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
        .route("/leases/{resource}", get(one))
        .route("/console/leases/{resource}/force-release", post(force_release))
        .route("/console/leases/{resource}/force-claim", post(force_claim))
}

/// What the address says about which leases.
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

/// Who still stands in line.
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
    let titles = Titles::of_locked(page.turno()?, &found.states).await?;
    let (holder, prefix) = (holder.unwrap_or_default(), prefix.unwrap_or_default());
    let to = |cursor: &str| address("/leases", &[("holder", &holder), ("prefix", &prefix), ("cursor", cursor)]);
    let next = found.next.map(|resource| to(&Wanted::cursor(resource.as_str()))).unwrap_or_default();
    let first = filter.cursor.map(|_| to("")).unwrap_or_default();
    page.show(|page| List { page, now: found.now, holder, prefix, leases: found.states, titles, first, next })
}

#[derive(Template)]
#[template(path = "leases/one.html")]
struct One {
    page: Page,
    now: Time,
    state: State,
    history: Vec<Ending>,
    /// The task whose lock it is.
    task: Option<Task>,
}

impl One {
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

/// Endings that are shown; older ones are in the API.
const HISTORY: u32 = 50;

async fn one(page: Page, Path(resource): Path<Resource>) -> Result<Response, Problem> {
    let turno = page.turno()?;
    let (now, state) = turno.lease_state(resource.clone()).await?;
    let mut history = turno.lease_history(resource, None, HISTORY).await?;
    // What was ended last is in the row, also where the history has been forgotten.
    if let Some(ended) = &state.ended
        && history.iter().all(|one| one.grant.fence < ended.grant.fence)
    {
        history.insert(0, ended.clone());
    }
    let task = match TaskId::of(&state.resource) {
        Some(id) => turno.task_get(id).await?.1.map(|(task, _)| task),
        None => None,
    };
    page.show(|page| One { page, now, state, history, task })
}

/// An override's reason, and the ownership that was shown when it was asked for.
#[derive(Deserialize)]
struct Override {
    reason: String,
    fence: Option<Fence>,
    back: Option<String>,
}

async fn force_release(page: Page, Path(resource): Path<Resource>, Form(form): Form<Override>) -> Response {
    let fence = form.fence;
    let became = overridden(&page, &resource, form.reason, |reason| Action::ForceRelease { reason, fence }).await;
    told(&page, form.back.as_deref(), became.map(|()| page.t1("leases-force-released", "resource", resource)))
}

async fn force_claim(page: Page, Path(resource): Path<Resource>, Form(form): Form<Override>) -> Response {
    let fence = form.fence;
    let became = overridden(&page, &resource, form.reason, |reason| Action::ForceClaim { reason, fence }).await;
    told(&page, form.back.as_deref(), became.map(|()| page.t1("leases-force-claimed", "resource", resource)))
}

/// What became of an override. The only way in which somebody's lock stands in its way is that it is another one by now.
fn told(page: &Page, back: Option<&str>, became: Result<String, Problem>) -> Response {
    match became {
        Err(problem) if problem.code() == Code::LeaseHeld => {
            page.refused(back, page.t1("leases-changed-hands", "name", problem.holder()))
        }
        became => page.after(back, became),
    }
}

async fn overridden(
    page: &Page,
    resource: &Resource,
    reason: String,
    action: impl FnOnce(String) -> Action,
) -> Result<(), Problem> {
    let caller = page.caller()?;
    let action = action(lease_text("reason", reason, true)?);
    lease_act(&caller, resource.clone(), caller.holder(None), action).await.map(drop)
}
