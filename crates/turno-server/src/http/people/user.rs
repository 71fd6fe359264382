//! Users.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde::{Deserialize, Serialize};
use turno::access::{NewPerson, PersonChange};
use turno::core::access::{Identity, Person, Role};
use turno::core::fault::Fault;
use turno::core::id::UserId;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::{hashed, name, new_user_id};
use crate::http::app::Shared;
use crate::http::caller::Caller;
use crate::http::extract::{Json, Path, Query};
use crate::http::idempotency::{Made, Repeatable};
use crate::http::listing::{Page, PageQuery};
use crate::http::problem::{Code, Problem, bad_field};
use crate::http::stamp::Stamp;

pub(super) fn routes() -> OpenApiRouter<Shared> {
    OpenApiRouter::new()
        .routes(routes!(users_list, user_add))
        .routes(routes!(user_get, user_change, user_remove))
        .routes(routes!(user_link, user_unlink))
}

/// A user.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(super) struct UserView {
    /// The user's id.
    id: String,
    /// The display name.
    name: String,
    /// `viewer`, `editor` or `admin`.
    role: &'static str,
    /// True if the user cannot sign in or use tokens.
    disabled: bool,
    /// When the user was added.
    created_at: Stamp,
    /// The user at an OpenID provider. Null if no provider signs the user in.
    identity: Option<IdentityBody>,
}

/// A person at an OpenID provider.
#[derive(Debug, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
struct IdentityBody {
    /// The provider's issuer URL, as in `[oidc]`.
    #[schema(min_length = 1, max_length = 2000, example = "https://id.example.com")]
    issuer: String,
    /// The claim `sub` of the person.
    #[schema(min_length = 1, max_length = 255, example = "248289761001")]
    subject: String,
}

/// The longest issuer URL.
const ISSUER_MAX: usize = 2_000;
/// The longest subject, as OpenID Connect defines it.
const SUBJECT_MAX: usize = 255;

/// Checks an identity. The console and the command line use it too, so that one rule applies everywhere.
pub(crate) fn identity(issuer: &str, subject: &str) -> Result<Identity, (&'static str, Fault)> {
    for (field, text, max) in [("issuer", issuer, ISSUER_MAX), ("subject", subject, SUBJECT_MAX)] {
        if text.trim().is_empty() || text.len() > max || text.contains(char::is_control) {
            return Err((field, Fault::Length { max }));
        }
    }
    Ok(Identity { issuer: issuer.to_owned(), subject: subject.to_owned() })
}

impl From<Person> for UserView {
    fn from(person: Person) -> UserView {
        let Person { id, name, role, disabled, created_at, identity, .. } = person;
        let identity = identity.map(|Identity { issuer, subject }| IdentityBody { issuer, subject });
        UserView { id: id.to_string(), name, role: role.as_str(), disabled, created_at: created_at.into(), identity }
    }
}

/// Lists users, ordered by id.
#[utoipa::path(get, path = "/v1/users", tag = "access", params(PageQuery), responses((status = 200, body = Page<UserView>)))]
async fn users_list(caller: Caller, Query(query): Query<PageQuery>) -> Result<Json<Page<UserView>>, Problem> {
    let wanted = query.wanted()?;
    let after = wanted.after.as_deref().map(UserId::new).transpose()?;
    let people = caller.0.people(after, wanted.one_more()).await?;
    Ok(Json(wanted.page(people, |person| person.id.to_string()).map(Into::into)))
}

/// A new user.
#[derive(Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
struct NewUserBody {
    /// The user's id. It cannot be changed later.
    #[schema(min_length = 1, max_length = 200)]
    id: String,
    /// The display name. Default: the id.
    #[schema(min_length = 1, max_length = 200)]
    name: Option<String>,
    /// `viewer`, `editor` or `admin`.
    #[schema(value_type = String, example = "editor")]
    role: Role,
    /// At least 8 characters. Without a password, the user signs in with a link.
    #[schema(min_length = 8, max_length = 1000)]
    password: Option<String>,
}

impl NewUserBody {
    /// Returns all fields except the password, to compare repeated calls.
    fn without_password(&self) -> String {
        let NewUserBody { id, name, role, password } = self;
        format!("{id:?} {name:?} {role:?} {}", password.is_some())
    }
}

/// Adds a user.
#[utoipa::path(post, path = "/v1/users", tag = "access", request_body = NewUserBody, responses((status = 201, body = UserView)))]
async fn user_add(
    State(app): State<Shared>,
    caller: Caller,
    repeatable: Repeatable<NewUserBody>,
) -> Result<Response, Problem> {
    let here = app.clone();
    repeatable.fingerprint_of(NewUserBody::without_password).answer(&app, |body, _| add_user(here, caller, body)).await
}

async fn add_user(app: Shared, caller: Caller, body: NewUserBody) -> Result<Made<UserView>, Problem> {
    let id = new_user_id("id", &body.id)?;
    let name = name("name", body.name.unwrap_or(body.id))?;
    let password = match body.password {
        Some(password) => Some(hashed(&app, "password", password, &[id.as_str(), &name]).await?),
        None => None,
    };
    let person = caller.0.add_person(NewPerson { id, name, role: body.role, password }).await?;
    Ok(Made { status: StatusCode::CREATED, body: person.into(), repeated: false })
}

/// Returns a user.
#[utoipa::path(get, path = "/v1/users/{id}", tag = "access", params(("id" = String, Path)), responses((status = 200, body = UserView)))]
async fn user_get(caller: Caller, Path(id): Path<UserId>) -> Result<Json<UserView>, Problem> {
    let unknown = || Problem::new(Code::NotFound).arg("thing", &id);
    let person = caller.0.person(id.clone()).await?.ok_or_else(unknown)?;
    Ok(Json(person.into()))
}

/// Changes to a user. Omitted fields keep their value.
#[derive(Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
struct UserChangeBody {
    /// The display name.
    #[schema(min_length = 1, max_length = 200)]
    name: Option<String>,
    /// `viewer`, `editor` or `admin`.
    #[schema(value_type = Option<String>, example = "viewer")]
    role: Option<Role>,
    /// True disables the user, which also ends all leases that the user holds.
    disabled: Option<bool>,
    /// A new password. It ends the user's console sessions.
    #[schema(min_length = 8, max_length = 1000)]
    password: Option<String>,
}

/// Changes a user.
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
        Some(password) => {
            let about = [id.as_str(), name.as_deref().unwrap_or_default()];
            Some(hashed(&app, "password", password, &about).await?)
        }
        None => None,
    };
    // A user who changes their own password keeps the current session.
    let spare = caller.0.principal().filter(|me| me.user == id).map(|me| me.token.clone());
    let change = PersonChange { name, role: body.role, disabled: body.disabled, password, spare };
    Ok(Json(caller.0.change_person(id, change).await?.into()))
}

/// Removes a user and their tokens. Leases that the user holds end.
#[utoipa::path(delete, path = "/v1/users/{id}", tag = "access", params(("id" = String, Path)), responses((status = 204)))]
async fn user_remove(caller: Caller, Path(id): Path<UserId>) -> Result<StatusCode, Problem> {
    caller.0.remove_person(id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Links a user to a person at an OpenID provider, who signs in as the user from then on.
#[utoipa::path(
    put, path = "/v1/users/{id}/identity", tag = "access", params(("id" = String, Path)),
    request_body = IdentityBody, responses((status = 200, body = UserView))
)]
async fn user_link(
    caller: Caller,
    Path(id): Path<UserId>,
    Json(body): Json<IdentityBody>,
) -> Result<Json<UserView>, Problem> {
    let identity = identity(&body.issuer, &body.subject).map_err(|(field, fault)| bad_field(field, &fault))?;
    Ok(Json(caller.0.link_identity(id, Some(identity)).await?.into()))
}

/// Removes the link of a user to a person at an OpenID provider.
#[utoipa::path(delete, path = "/v1/users/{id}/identity", tag = "access", params(("id" = String, Path)), responses((status = 204)))]
async fn user_unlink(caller: Caller, Path(id): Path<UserId>) -> Result<StatusCode, Problem> {
    caller.0.link_identity(id, None).await?;
    Ok(StatusCode::NO_CONTENT)
}
