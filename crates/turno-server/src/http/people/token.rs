//! Tokens. A secret is shown once, lists never contain secrets, and a revoked token is refused from the next request
//! on.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde::{Deserialize, Serialize};
use std::time::Duration;
use turno::access::NewToken;
use turno::core::access::{Permission, Token};
use turno::core::fault::Fault;
use turno::core::id::UserId;
use turno::core::limits::OVERLAP_MAX;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::{permissions, queues, resources, user_id};
use crate::http::app::Shared;
use crate::http::caller::Caller;
use crate::http::extract::{Json, Path, Query};
use crate::http::idempotency::{Repeatable, Revealed};
use crate::http::listing::{Page, Wanted};
use crate::http::problem::{Code, Problem, bad_field};
use crate::http::stamp::Stamp;

pub(super) fn routes() -> OpenApiRouter<Shared> {
    OpenApiRouter::new()
        .routes(routes!(tokens_list, token_create))
        .routes(routes!(token_revoke))
        .routes(routes!(token_rotate))
}

/// The longest expiry of a token. A token can also have none.
const EXPIRES_MAX_S: i64 = 10 * 366 * 86_400;

/// A token, without its secret.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(super) struct TokenView {
    /// The token's id.
    id: String,
    /// The user that the token acts for.
    user: String,
    /// True for a machine account.
    machine: bool,
    /// `token`, `session` (of another application's user) or `console` (a signed-in person).
    kind: &'static str,
    /// The permissions that the token is limited to. Null means all permissions of its owner.
    permissions: Option<Vec<&'static str>>,
    /// The resource prefixes that the token is limited to. Empty means all resources, or none if there are `queues`.
    resources: Vec<String>,
    /// The queues that the token is limited to: names, or prefixes that end in `*`. Empty means all queues, or none if
    /// there are `resources`.
    queues: Vec<String>,
    /// When the token expires. Null if it does not.
    expires_at: Option<Stamp>,
    /// When the token was last used, to about a minute.
    last_used_at: Option<Stamp>,
    /// When the token was created.
    created_at: Stamp,
    /// The user who created the token.
    created_by: String,
}

impl From<Token> for TokenView {
    fn from(token: Token) -> TokenView {
        TokenView {
            kind: token.kind().as_str(),
            user: token.user.to_string(),
            machine: token.machine,
            permissions: token.scope.map(|scope| scope.iter().map(Permission::as_str).collect()),
            resources: token.resources,
            queues: token.queues,
            expires_at: token.expires_at.map(Into::into),
            last_used_at: token.last_used_at.map(Into::into),
            created_at: token.created_at.into(),
            created_by: token.created_by.to_string(),
            id: token.id,
        }
    }
}

/// Filters and page of a list of tokens.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct TokensQuery {
    /// Only tokens of this user.
    user: Option<String>,
    /// Number of tokens per page, 1 to 1000. Default: 50.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<u32>,
    /// The `next_cursor` of the previous page.
    cursor: Option<String>,
}

/// Lists tokens. Without `users.manage`, only the caller's own.
#[utoipa::path(get, path = "/v1/tokens", tag = "access", params(TokensQuery), responses((status = 200, body = Page<TokenView>)))]
async fn tokens_list(caller: Caller, Query(query): Query<TokensQuery>) -> Result<Json<Page<TokenView>>, Problem> {
    let wanted = Wanted::new(query.limit, query.cursor.as_deref())?;
    let user = query.user.map(UserId::new).transpose();
    let user = user.map_err(|cause| Problem::query("user", cause))?;
    let tokens = caller.0.tokens(user, wanted.after.clone(), wanted.one_more()).await?;
    Ok(Json(wanted.page(tokens, |token| token.id.clone()).map(Into::into)))
}

/// A new token.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
struct NewTokenBody {
    /// The user that the token acts for. Default: the caller.
    #[schema(min_length = 1, max_length = 200)]
    user: Option<String>,
    /// True for a machine account, which must name an `instance` to hold a lease or claim work. Default: false.
    #[serde(default)]
    machine: bool,
    /// The permissions to limit the token to. Default: all permissions of its owner.
    #[schema(example = json!(["queues.produce"]))]
    permissions: Option<Vec<String>>,
    /// The resource prefixes to limit the token to. Default: all resources, or none if there are `queues`.
    resources: Option<Vec<String>>,
    /// The queues to limit the token to: names, or prefixes that end in `*`. Default: all queues, or none if there are
    /// `resources`.
    #[schema(example = json!(["mails", "bot-*"]))]
    queues: Option<Vec<String>>,
    /// Seconds until the token expires. Default: it does not expire.
    #[schema(minimum = 1)]
    expires_in_s: Option<i64>,
}

/// A token with its secret, which is shown only once.
#[derive(Debug, Serialize, utoipa::ToSchema)]
struct MadeToken {
    /// The secret, for `Authorization: Bearer`.
    token: String,
    #[serde(flatten)]
    view: TokenView,
}

/// Creates a token.
///
/// With an `Idempotency-Key`, a repeated call gets 409 `already_created` with the id of the token.
#[utoipa::path(post, path = "/v1/tokens", tag = "access", request_body = NewTokenBody, responses((status = 201, body = MadeToken)))]
async fn token_create(
    State(app): State<Shared>,
    caller: Caller,
    repeatable: Repeatable<NewTokenBody>,
) -> Result<Response, Problem> {
    repeatable.reveal(&app, |body| create(caller, body)).await
}

async fn create(caller: Caller, body: NewTokenBody) -> Result<Revealed<MadeToken>, Problem> {
    let me = caller.0.principal().ok_or_else(|| Problem::new(Code::Unauthenticated))?;
    let user = body.user.map_or_else(|| Ok(me.user.clone()), |user| user_id("user", &user))?;
    let new = NewToken {
        user,
        name: None,
        machine: body.machine,
        scope: permissions(body.permissions)?,
        resources: resources(body.resources)?,
        queues: queues(body.queues)?,
        expires_in: expires_in(body.expires_in_s)?,
    };
    let (token, secret) = caller.0.create_token(new).await?;
    Ok(Revealed { id: token.id.clone(), body: MadeToken { token: secret, view: token.into() } })
}

fn expires_in(seconds: Option<i64>) -> Result<Option<Duration>, Problem> {
    match seconds {
        Some(seconds) if !(1..=EXPIRES_MAX_S).contains(&seconds) => {
            Err(bad_field("expires_in_s", &Fault::OutOfBounds { min: 1, max: EXPIRES_MAX_S }))
        }
        seconds => Ok(seconds.map(|seconds| Duration::from_secs(seconds.unsigned_abs()))),
    }
}

/// Revokes a token and the sessions that it created, from the next request on.
///
/// A token that does not have all rights of its owner can revoke only itself.
#[utoipa::path(delete, path = "/v1/tokens/{id}", tag = "access", params(("id" = String, Path)), responses((status = 204)))]
async fn token_revoke(caller: Caller, Path(id): Path<String>) -> Result<StatusCode, Problem> {
    let known = (1..=64).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_graphic());
    if !known {
        return Err(Problem::new(Code::NotFound).arg("thing", id));
    }
    caller.0.revoke_token(&id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// How to replace a token.
#[derive(Debug, Default, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
struct RotateBody {
    /// Seconds for which the old token stays valid. Default: 0.
    #[schema(minimum = 0, maximum = 2_592_000)]
    overlap_s: Option<i64>,
}

/// Replaces a token by a new one with the same rights and the same lifetime from now on.
///
/// A token that does not have all rights of its owner cannot rotate itself. With an `Idempotency-Key`, a repeated call
/// gets 409 `already_created` with the id of the new token.
#[utoipa::path(
    post, path = "/v1/tokens/{id}/rotate", tag = "access", params(("id" = String, Path)),
    request_body = RotateBody, responses((status = 201, body = MadeToken))
)]
async fn token_rotate(
    State(app): State<Shared>,
    caller: Caller,
    Path(id): Path<String>,
    repeatable: Repeatable<RotateBody>,
) -> Result<Response, Problem> {
    repeatable.reveal(&app, |body| rotate(caller, id, body)).await
}

async fn rotate(caller: Caller, id: String, body: RotateBody) -> Result<Revealed<MadeToken>, Problem> {
    let (seconds, max) = (body.overlap_s.unwrap_or(0), OVERLAP_MAX.0 / 1_000);
    if !(0..=max).contains(&seconds) {
        return Err(bad_field("overlap_s", &Fault::OutOfBounds { min: 0, max }));
    }
    let (token, secret) = caller.0.rotate_token(&id, Duration::from_secs(seconds.unsigned_abs())).await?;
    Ok(Revealed { id: token.id.clone(), body: MadeToken { token: secret, view: token.into() } })
}
