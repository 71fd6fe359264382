//! Creating the first administrator, with the link that the server prints while there is none.

use axum::Extension;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use serde::Deserialize;
use turno::access::{NewPerson, Role, SignInMethod};
use turno::core::access::LinkFor;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::form::{Format, Submitted};
use super::page::Page;
use super::{LinkQuery, Source, begin, open};
use crate::http::app::{App, Shared};
use crate::http::caller;
use crate::http::extract::Query;
use crate::http::people::{self, Me};
use crate::http::problem::{Code, Problem};
use crate::http::server::Peer;

pub(super) fn routes() -> OpenApiRouter<Shared> {
    OpenApiRouter::new().routes(routes!(setup_page, setup))
}

/// The first administrator.
#[derive(Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
struct SetupBody {
    /// The secret of the link.
    link: String,
    /// The user's id, which is also the display name.
    #[schema(min_length = 1, max_length = 200)]
    user: String,
    #[schema(min_length = 8, max_length = 1000)]
    password: String,
}

/// Returns the page to create the first administrator.
#[utoipa::path(
    get, path = "/setup", tag = "sign-in",
    params(("link" = Option<String>, Query, description = "The secret of the setup link that the server printed.")),
    responses((status = 200, content_type = "text/html", body = String))
)]
async fn setup_page(State(app): State<Shared>, headers: HeaderMap, Query(query): Query<LinkQuery>) -> Response {
    let page = Page::setup(&app, &headers);
    match (query.link, app.trusted().has_admin().await) {
        (Some(link), Ok(false)) => page.with_link(link).render(),
        (_, Ok(_)) => page.render_problem(&Problem::new(Code::LinkUsed)),
        (_, Err(error)) => page.render_problem(&error.into()),
    }
}

/// Creates the first administrator and signs them in.
#[utoipa::path(
    post, path = "/setup", tag = "sign-in",
    request_body(content((SetupBody = "application/json"), (SetupBody = "application/x-www-form-urlencoded"))),
    responses((status = 201, body = Me), (status = 303, description = "Signed in; redirects a form."))
)]
async fn setup(
    State(app): State<Shared>,
    peer: Option<Extension<Peer>>,
    headers: HeaderMap,
    body: Submitted<SetupBody>,
) -> Result<Response, Problem> {
    let format = body.format();
    let (user, link) = (body.peek(|body| body.user.clone()), body.peek(|body| body.link.clone()));
    let entered = async {
        caller::not_foreign(&headers)?;
        let source = Source::new(peer);
        let attempt = begin(&app, source, "").await?;
        let secret = create_first_admin(&app, source, body.read()?).await?;
        app.pace.succeed(app.trusted(), attempt).await?;
        Ok(secret)
    };
    match (entered.await, format) {
        (Ok(secret), format) => format.signed_in(&app, &headers, &secret, StatusCode::CREATED, None).await,
        (Err(problem), Format::Form) => {
            Ok(Page::setup(&app, &headers).with_link(link.unwrap_or_default()).with_user(user).render_problem(&problem))
        }
        (Err(problem), Format::Json) => Err(problem),
    }
}

/// Creates the administrator. Checks everything else before it redeems the link, because the link works only once.
async fn create_first_admin(app: &App, source: Source, body: SetupBody) -> Result<String, Problem> {
    let turno = app.trusted();
    if turno.has_admin().await? {
        return Err(Problem::new(Code::LinkUsed));
    }
    let id = people::new_user_id("user", &body.user)?;
    let name = people::name("user", id.to_string())?;
    if turno.person(id.clone()).await?.is_some() {
        return Err(Problem::new(Code::Exists).arg("thing", &id));
    }
    let password = app.passwords.hash(body.password, &[id.as_str()]).await;
    let password = password.map_err(|refused| people::password_problem("password", refused))?;
    if turno.redeem_link(&body.link).await? != Some(LinkFor::Setup) {
        return Err(Problem::new(Code::LinkUsed));
    }
    let person = NewPerson { name, id, role: Role::Admin, password: Some(password) };
    let person = turno.add_person(person).await?;
    open(app, person.id, SignInMethod::Link, source).await
}
