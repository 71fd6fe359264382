//! Sessions: short-lived tokens that an application's backend makes for its own users and hands to its own page.

use axum::extract::State;
use axum::response::Response;
use serde::{Deserialize, Serialize};
use turno::NewToken;
use turno::core::time::Span;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::{name, permissions, resources, user_id};
use crate::http::app::Shared;
use crate::http::caller::Caller;
use crate::http::idempotency::{Repeatable, Revealed};
use crate::http::problem::{Code, Problem};
use crate::http::stamp::Stamp;

pub(super) fn routes() -> OpenApiRouter<Shared> {
    OpenApiRouter::new().routes(routes!(session_mint))
}

/// How long a session lives at most, and unless asked otherwise.
const TTL_MAX_S: i64 = turno::core::limits::SESSION_TTL_MAX.0 / 1_000;

/// A user of the application.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
struct SessionUser {
    #[schema(min_length = 1, max_length = 200)]
    id: String,
    /// How people call them [default: the id, or the name that Turno knows].
    #[schema(min_length = 1, max_length = 200)]
    name: Option<String>,
}

/// A session to be made.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
struct NewSessionBody {
    user: SessionUser,
    /// At most what whoever calls may do [default: `leases.use` and `inventory.manage`].
    permissions: Option<Vec<String>>,
    /// Only leases whose names begin with one of these.
    resources: Option<Vec<String>>,
    #[schema(minimum = 1, maximum = 900)]
    ttl_s: Option<i64>,
}

/// A session.
#[derive(Debug, Serialize, utoipa::ToSchema)]
struct MadeSession {
    /// For listing and revoking it.
    id: String,
    /// For the page, as `Authorization: Bearer`.
    token: String,
    expires_at: Option<Stamp>,
}

/// Makes a short-lived token for a user of an application, whom Turno need not know. With an `Idempotency-Key`, a
/// repetition is told which one was made, without its secret.
#[utoipa::path(post, path = "/v1/sessions", tag = "access", request_body = NewSessionBody, responses((status = 201, body = MadeSession)))]
async fn session_mint(
    State(app): State<Shared>,
    caller: Caller,
    repeatable: Repeatable<NewSessionBody>,
) -> Result<Response, Problem> {
    repeatable.reveal(&app, |body| minted(caller, body)).await
}

async fn minted(caller: Caller, body: NewSessionBody) -> Result<Revealed<MadeSession>, Problem> {
    let ttl_s = body.ttl_s.unwrap_or(TTL_MAX_S);
    if !(1..=TTL_MAX_S).contains(&ttl_s) {
        return Err(Problem::new(Code::BadField).field("ttl_s").cause(format_args!("between 1 and {TTL_MAX_S}")));
    }
    let new = NewToken {
        user: user_id("user.id", &body.user.id)?,
        name: body.user.name.map(|text| name("user.name", text)).transpose()?,
        machine: false,
        scope: permissions(body.permissions)?,
        resources: resources(body.resources)?,
        expires_in: None,
    };
    let (token, secret) = caller.0.mint_session(new, Span::from_secs(ttl_s)).await?;
    let made = MadeSession { id: token.id.clone(), token: secret, expires_at: token.expires_at.map(Into::into) };
    Ok(Revealed { id: token.id, body: made })
}
