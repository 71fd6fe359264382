//! Exchanges the code of `turno login` for a token.
//!
//! The page `/login` (`console/login.rs`) sends the code to the command. The code works once, for a minute, and only with
//! the PKCE verifier, which never leaves the command before this call.

use axum::Extension;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use std::time::Duration;
use turno::access::{LinkFor, NewToken};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::app::Shared;
use super::caller;
use super::extract::Json;
use super::problem::{Code, Problem};
use super::server::Peer;
use super::sign_in;
use super::stamp::Stamp;
use crate::oidc::pkce;

pub(super) fn routes() -> OpenApiRouter<Shared> {
    OpenApiRouter::new().routes(routes!(login_token))
}

/// How long the token is valid. The provider may take the person's role away without informing this server, so a token
/// that a sign-in gave ends after a month.
const TOKEN: Duration = Duration::from_secs(30 * 86_400);

/// A code and the secret that it is bound to.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
struct LoginBody {
    /// The code of the redirect.
    code: String,
    /// The PKCE verifier, whose S256 challenge the page `/login` got.
    verifier: String,
}

/// A token of the signed-in person.
#[derive(Debug, Serialize, utoipa::ToSchema)]
struct LoginToken {
    /// The secret, for `Authorization: Bearer`.
    token: String,
    /// The token's id.
    id: String,
    /// The user that the token acts for.
    user: String,
    /// When the token expires.
    expires_at: Option<Stamp>,
}

/// Exchanges the code of a sign-in on the command line for a token.
///
/// The code works once, for a minute, and only with the verifier of its challenge. Otherwise the answer is 410
/// `link_used`. The token has all rights of the user and lives for 30 days.
#[utoipa::path(post, path = "/v1/login", tag = "sign-in", request_body = LoginBody, responses((status = 201, body = LoginToken)))]
async fn login_token(
    State(app): State<Shared>,
    peer: Option<Extension<Peer>>,
    headers: HeaderMap,
    Json(body): Json<LoginBody>,
) -> Result<Response, Problem> {
    caller::not_foreign(&headers)?;
    let attempt = sign_in::begin(&app, sign_in::Source::new(peer), "").await?;
    let turno = app.trusted();
    let redeemed = turno.redeem_bound_link(&body.code, &pkce::challenge(&body.verifier)).await?;
    let Some(LinkFor::SignIn(user)) = redeemed else {
        return Err(Problem::new(Code::LinkUsed));
    };
    app.pace.succeed(turno, attempt).await?;
    let new = NewToken { expires_in: Some(TOKEN), ..NewToken::for_user(user.as_str())? };
    let (token, secret) = turno.create_token(new).await?;
    let expires_at = token.expires_at.map(Into::into);
    let body = LoginToken { token: secret, id: token.id, user: user.to_string(), expires_at };
    let mut answer = (StatusCode::CREATED, Json(body)).into_response();
    answer.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(answer)
}
