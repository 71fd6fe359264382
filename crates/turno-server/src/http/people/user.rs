//! People.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde::{Deserialize, Serialize};
use turno::core::access::{Person, Role};
use turno::core::id::UserId;
use turno::{NewPerson, PersonChange};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::{hashed, name, user_id};
use crate::http::app::Shared;
use crate::http::caller::Caller;
use crate::http::extract::{Json, Path, Query};
use crate::http::idempotency::{Made, Repeatable};
use crate::http::listing::{Page, PageQuery};
use crate::http::problem::{Code, Problem};
use crate::http::stamp::Stamp;

pub(super) fn routes() -> OpenApiRouter<Shared> {
    OpenApiRouter::new().routes(routes!(users_list, user_add)).routes(routes!(user_get, user_change, user_remove))
}

/// A person.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(super) struct UserView {
    id: String,
    name: String,
    /// `viewer`, `editor` or `admin`.
    role: &'static str,
    /// Locked out.
    disabled: bool,
    created_at: Stamp,
}

impl From<Person> for UserView {
    fn from(person: Person) -> UserView {
        let Person { id, name, role, disabled, created_at, .. } = person;
        UserView { id: id.to_string(), name, role: role.as_str(), disabled, created_at: created_at.into() }
    }
}

/// Everybody whom Turno knows, in the order of their ids.
#[utoipa::path(get, path = "/v1/users", tag = "access", params(PageQuery), responses((status = 200, body = Page<UserView>)))]
async fn users_list(caller: Caller, Query(query): Query<PageQuery>) -> Result<Json<Page<UserView>>, Problem> {
    let wanted = query.wanted()?;
    let after = wanted.after.as_deref().map(UserId::new).transpose()?;
    let people = caller.0.people(after, wanted.one_more()).await?;
    Ok(Json(wanted.page(people, |person| person.id.to_string()).map(Into::into)))
}

/// Somebody new.
#[derive(Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
struct NewUserBody {
    #[schema(min_length = 1, max_length = 200)]
    id: String,
    /// How people call them [default: the id].
    #[schema(min_length = 1, max_length = 200)]
    name: Option<String>,
    #[schema(value_type = String, example = "editor")]
    role: Role,
    /// At least 8 characters; without one they sign in by a link.
    #[schema(min_length = 8, max_length = 1000)]
    password: Option<String>,
}

impl NewUserBody {
    /// Everything but the password.
    fn without_password(&self) -> String {
        let NewUserBody { id, name, role, password } = self;
        format!("{id:?} {name:?} {role:?} {}", password.is_some())
    }
}

/// Adds a person.
#[utoipa::path(post, path = "/v1/users", tag = "access", request_body = NewUserBody, responses((status = 201, body = UserView)))]
async fn user_add(
    State(app): State<Shared>,
    caller: Caller,
    repeatable: Repeatable<NewUserBody>,
) -> Result<Response, Problem> {
    let here = app.clone();
    repeatable.told_apart_by(NewUserBody::without_password).answer(&app, |body, _| added(here, caller, body)).await
}

async fn added(app: Shared, caller: Caller, body: NewUserBody) -> Result<Made<UserView>, Problem> {
    let id = user_id("id", &body.id)?;
    let name = name("name", body.name.unwrap_or(body.id))?;
    let password = match body.password {
        Some(password) => Some(hashed(&app, "password", password).await?),
        None => None,
    };
    let person = caller.0.add_person(NewPerson { id, name, role: body.role, password }).await?;
    Ok(Made { status: StatusCode::CREATED, body: person.into(), repeated: false })
}

/// A person.
#[utoipa::path(get, path = "/v1/users/{id}", tag = "access", params(("id" = String, Path)), responses((status = 200, body = UserView)))]
async fn user_get(caller: Caller, Path(id): Path<UserId>) -> Result<Json<UserView>, Problem> {
    let unknown = || Problem::new(Code::NotFound).arg("thing", &id);
    let person = caller.0.person(id.clone()).await?.ok_or_else(unknown)?;
    Ok(Json(person.into()))
}

/// What is to change; what is not given stays.
#[derive(Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
struct UserChangeBody {
    #[schema(min_length = 1, max_length = 200)]
    name: Option<String>,
    #[schema(value_type = Option<String>, example = "viewer")]
    role: Option<Role>,
    /// Whoever is locked out loses what they hold.
    disabled: Option<bool>,
    /// Ends their sessions of the console.
    #[schema(min_length = 8, max_length = 1000)]
    password: Option<String>,
}

/// Changes a person.
#[utoipa::path(
    patch, path = "/v1/users/{id}", tag = "access", params(("id" = String, Path)),
    request_body = UserChangeBody, responses((status = 200, body = UserView))
)]
async fn user_change(
    State(app): State<Shared>,
    caller: Caller,
    Path(id): Path<UserId>,
    Json(body): Json<UserChangeBody>,
) -> Result<Json<UserView>, Problem> {
    let name = body.name.map(|text| name("name", text)).transpose()?;
    let password = match body.password {
        Some(password) => Some(hashed(&app, "password", password).await?),
        None => None,
    };
    // Whoever gives themselves a new password stays where they are.
    let spare = caller.0.principal().filter(|me| me.user == id).map(|me| me.token.clone());
    let change = PersonChange { name, role: body.role, disabled: body.disabled, password, spare };
    Ok(Json(caller.0.change_person(id, change).await?.into()))
}

/// Removes a person with their tokens; what they hold is free again.
#[utoipa::path(delete, path = "/v1/users/{id}", tag = "access", params(("id" = String, Path)), responses((status = 204)))]
async fn user_remove(caller: Caller, Path(id): Path<UserId>) -> Result<StatusCode, Problem> {
    caller.0.remove_person(id).await?;
    Ok(StatusCode::NO_CONTENT)
}
