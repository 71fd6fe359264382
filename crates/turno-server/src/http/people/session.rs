//! Sessions: short-lived tokens that an application's backend creates for its own users, for use in its pages.

use axum::extract::State;
use axum::response::Response;
use serde::{Deserialize, Serialize};
use turno::access::NewToken;
use turno::core::fault::Fault;
use turno::core::time::Span;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::{name, permissions, queues, resources, user_id};
use crate::http::app::Shared;
use crate::http::caller::Caller;
use crate::http::idempotency::{Repeatable, Revealed};
use crate::http::problem::{Problem, bad_field};
use crate::http::stamp::Stamp;

pub(super) fn routes() -> OpenApiRouter<Shared> {
    OpenApiRouter::new().routes(routes!(session_mint))
}

/// The longest and the default lifetime of a session.
const TTL_MAX_S: i64 = turno::core::limits::SESSION_TTL_MAX.0 / 1_000;

/// A user of the application.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
struct SessionUser {
    /// The user's id in the application.
    #[schema(min_length = 1, max_length = 200)]
    id: String,
    /// The display name. Default: the name that Turno has stored, otherwise the id.
    #[schema(min_length = 1, max_length = 200)]
    name: Option<String>,
}

/// A new session.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
struct NewSessionBody {
    /// The user to create the session for.
    user: SessionUser,
    /// The permissions of the session, at most the caller's own. Default: `leases.use` and `inventory.manage`.
    permissions: Option<Vec<String>>,
    /// The resource prefixes that the session reaches: leases, and with `task:` tasks. Default: all leases outside
    /// `task:`, or none if there are `queues`.
    resources: Option<Vec<String>>,
    /// The queues that the session reaches: names, or prefixes that end in `*`. Default: none.
    queues: Option<Vec<String>>,
    /// Seconds until the session expires. Default: 900.
    #[schema(minimum = 1, maximum = 900)]
    ttl_s: Option<i64>,
}

/// A session with its secret.
#[derive(Debug, Serialize, utoipa::ToSchema)]
struct MadeSession {
    /// The session's id, to list and revoke it.
    id: String,
    /// The secret, for `Authorization: Bearer` in the page.
    token: String,
    /// When the session expires.
    expires_at: Option<Stamp>,
}

/// Creates a short-lived token for a user of an application. Turno does not need to know the user.
///
/// With an `Idempotency-Key`, a repeated call gets 409 `already_created` with the id of the session.
#[utoipa::path(post, path = "/v1/sessions", tag = "access", request_body = NewSessionBody, responses((status = 201, body = MadeSession)))]
async fn session_mint(
    State(app): State<Shared>,
    caller: Caller,
    repeatable: Repeatable<NewSessionBody>,
) -> Result<Response, Problem> {
    repeatable.reveal(&app, |body| mint(caller, body)).await
}

async fn mint(caller: Caller, body: NewSessionBody) -> Result<Revealed<MadeSession>, Problem> {
    let ttl_s = body.ttl_s.unwrap_or(TTL_MAX_S);
    if !(1..=TTL_MAX_S).contains(&ttl_s) {
        return Err(bad_field("ttl_s", &Fault::OutOfBounds { min: 1, max: TTL_MAX_S }));
    }
    let new = NewToken {
        user: user_id("user.id", &body.user.id)?,
        name: body.user.name.map(|text| name("user.name", text)).transpose()?,
        machine: false,
        scope: permissions(body.permissions)?,
        resources: resources(body.resources)?,
        queues: queues(body.queues)?,
        expires_in: None,
    };
    let (token, secret) = caller.0.mint_session(new, Span::from_secs(ttl_s).into()).await?;
    let made = MadeSession { id: token.id.clone(), token: secret, expires_at: token.expires_at.map(Into::into) };
    Ok(Revealed { id: token.id, body: made })
}
