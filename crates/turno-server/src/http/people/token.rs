//! Tokens: shown once when they are made, listed without their secrets, dead from the next request when revoked.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde::{Deserialize, Serialize};
use turno::NewToken;
use turno::core::access::{Permission, Token};
use turno::core::id::UserId;
use turno::core::time::Span;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::{permissions, resources, user_id};
use crate::http::app::Shared;
use crate::http::caller::Caller;
use crate::http::extract::{Json, Path, Query};
use crate::http::idempotency::{Repeatable, Revealed};
use crate::http::listing::{Page, Wanted};
use crate::http::problem::{Code, Problem};
use crate::http::stamp::Stamp;

pub(super) fn routes() -> OpenApiRouter<Shared> {
    OpenApiRouter::new().routes(routes!(tokens_list, token_create)).routes(routes!(token_revoke))
}

/// The longest life that a token can be given: what should live longer is one without an end.
const EXPIRES_MAX_S: i64 = 10 * 366 * 86_400;

/// A token, without its secret.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(super) struct TokenView {
    id: String,
    /// For whom it speaks.
    user: String,
    machine: bool,
    /// `token`, `session` (of another application's user) or `console` (somebody signed in).
    kind: &'static str,
    /// At most these; null means all that its owner may do.
    permissions: Option<Vec<&'static str>>,
    /// Only leases whose names begin with one of these; empty means all.
    resources: Vec<String>,
    expires_at: Option<Stamp>,
    /// To about a minute.
    last_used_at: Option<Stamp>,
    created_at: Stamp,
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
            expires_at: token.expires_at.map(Into::into),
            last_used_at: token.last_used_at.map(Into::into),
            created_at: token.created_at.into(),
            created_by: token.created_by.to_string(),
            id: token.id,
        }
    }
}

/// Whose tokens.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct TokensQuery {
    /// Only this user's.
    user: Option<String>,
    /// Items per page, 1 to 1000 [default: 50].
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<u32>,
    /// The `next_cursor` of the page before.
    cursor: Option<String>,
}

/// Tokens; without `users.manage` only one's own.
#[utoipa::path(get, path = "/v1/tokens", tag = "access", params(TokensQuery), responses((status = 200, body = Page<TokenView>)))]
async fn tokens_list(caller: Caller, Query(query): Query<TokensQuery>) -> Result<Json<Page<TokenView>>, Problem> {
    let wanted = Wanted::new(query.limit, query.cursor.as_deref())?;
    let user = query.user.map(UserId::new).transpose();
    let user = user.map_err(|cause| Problem::query("user", cause))?;
    let tokens = caller.0.tokens(user, wanted.after.clone(), wanted.one_more()).await?;
    Ok(Json(wanted.page(tokens, |token| token.id.clone()).map(Into::into)))
}

/// A token to be made.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
struct NewTokenBody {
    /// For whom it speaks [default: whoever calls].
    #[schema(min_length = 1, max_length = 200)]
    user: Option<String>,
    /// It speaks for a machine, which names an `instance` wherever it holds something.
    #[serde(default)]
    machine: bool,
    /// At most these [default: all that its owner may do].
    #[schema(example = json!(["queues.produce"]))]
    permissions: Option<Vec<String>>,
    /// Only leases whose names begin with one of these.
    resources: Option<Vec<String>>,
    /// How long it lives [default: until it is revoked].
    #[schema(minimum = 1)]
    expires_in_s: Option<i64>,
}

/// A token with its secret, which is shown this once.
#[derive(Debug, Serialize, utoipa::ToSchema)]
struct MadeToken {
    /// The secret, for `Authorization: Bearer`.
    token: String,
    #[serde(flatten)]
    view: TokenView,
}

/// Makes a token. With an `Idempotency-Key`, a repetition is told which one was made, without its secret.
#[utoipa::path(post, path = "/v1/tokens", tag = "access", request_body = NewTokenBody, responses((status = 201, body = MadeToken)))]
async fn token_create(
    State(app): State<Shared>,
    caller: Caller,
    repeatable: Repeatable<NewTokenBody>,
) -> Result<Response, Problem> {
    repeatable.reveal(&app, |body| made(caller, body)).await
}

async fn made(caller: Caller, body: NewTokenBody) -> Result<Revealed<MadeToken>, Problem> {
    let me = caller.0.principal().ok_or_else(|| Problem::new(Code::Unauthenticated))?;
    let user = body.user.map_or_else(|| Ok(me.user.clone()), |user| user_id("user", &user))?;
    let new = NewToken {
        user,
        name: None,
        machine: body.machine,
        scope: permissions(body.permissions)?,
        resources: resources(body.resources)?,
        expires_in: expires_in(body.expires_in_s)?,
    };
    let (token, secret) = caller.0.create_token(new).await?;
    Ok(Revealed { id: token.id.clone(), body: MadeToken { token: secret, view: token.into() } })
}

fn expires_in(seconds: Option<i64>) -> Result<Option<Span>, Problem> {
    match seconds {
        Some(seconds) if !(1..=EXPIRES_MAX_S).contains(&seconds) => {
            let cause = format!("between 1 and {EXPIRES_MAX_S}");
            Err(Problem::new(Code::BadField).field("expires_in_s").cause(cause))
        }
        seconds => Ok(seconds.map(|seconds| Span(seconds * 1_000))),
    }
}

/// Kills a token and the sessions made by it, from the next request on.
#[utoipa::path(delete, path = "/v1/tokens/{id}", tag = "access", params(("id" = String, Path)), responses((status = 204)))]
async fn token_revoke(caller: Caller, Path(id): Path<String>) -> Result<StatusCode, Problem> {
    let known = (1..=64).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_graphic());
    if !known {
        return Err(Problem::new(Code::NotFound).arg("thing", id));
    }
    caller.0.revoke_token(&id).await?;
    Ok(StatusCode::NO_CONTENT)
}
