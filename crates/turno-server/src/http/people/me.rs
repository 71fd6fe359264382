//! The caller's own account and password.

use axum::Extension;
use axum::extract::State;
use axum::http::StatusCode;
use serde::{Deserialize, Serialize};
use turno::access::PersonChange;
use turno::core::access::{Permission, Principal, Role, TokenKind};
use turno::core::limits::TOKENS_MAX;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::{hashed, password_problem};
use crate::http::app::{App, Shared};
use crate::http::caller::Caller;
use crate::http::extract::Json;
use crate::http::problem::{Code, Problem};
use crate::http::server::Peer;
use crate::http::sign_in::{self, Source};
use crate::http::stamp::Stamp;
use crate::texts::message::Message;

pub(super) fn routes() -> OpenApiRouter<Shared> {
    OpenApiRouter::new().routes(routes!(me_get)).routes(routes!(me_password))
}

/// The caller and what the caller may do.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct Me {
    /// The user's id.
    id: String,
    /// The display name.
    name: String,
    /// `viewer`, `editor` or `admin`. Absent for users of other applications.
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<&'static str>,
    /// The permissions of this token.
    permissions: Vec<&'static str>,
    /// True for a machine account, which must name an `instance` to hold a lease or claim work.
    machine: bool,
    /// The account that acts for the user. Null if the user acts.
    via: Option<String>,
    /// The resource prefixes that the token is limited to. Empty means all resources, or none if there are `queues`. For
    /// a session, all leases outside `task:`.
    resources: Vec<String>,
    /// The queues that the token is limited to: names, or prefixes that end in `*`. Empty means all queues, or none if
    /// there are `resources` or if this is a session.
    queues: Vec<String>,
    /// The token's id.
    token: String,
    /// When the token expires. Null if it does not.
    expires_at: Option<Stamp>,
}

impl Me {
    pub(crate) async fn load(caller: &Caller) -> Result<Me, Problem> {
        // The cached access may be outdated.
        caller.0.recheck().await?;
        let me = caller.0.principal().ok_or_else(|| Problem::new(Code::Unauthenticated))?;
        let role = match me.via {
            None => caller.0.person(me.user.clone()).await?.map(|person| person.role),
            Some(_) => None,
        };
        Ok(Me::new(&me, role))
    }

    fn new(me: &Principal, role: Option<Role>) -> Me {
        Me {
            id: me.user.to_string(),
            name: me.name.clone(),
            role: role.map(Role::as_str),
            permissions: me.permissions.iter().map(Permission::as_str).collect(),
            machine: me.machine,
            via: me.via.as_ref().map(ToString::to_string),
            resources: me.resources.clone(),
            queues: me.queues.clone(),
            token: me.token.clone(),
            expires_at: me.expires_at.map(Into::into),
        }
    }
}

/// Returns the caller and what the caller may do.
#[utoipa::path(get, path = "/v1/me", tag = "access", responses((status = 200, body = Me)))]
async fn me_get(caller: Caller) -> Result<Json<Me>, Problem> {
    Me::load(&caller).await.map(Json)
}

/// The current password and the new one.
#[derive(Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
struct PasswordBody {
    /// Required, unless the user has no password yet and signed in with a link.
    current: Option<String>,
    /// At least 8 characters.
    #[schema(min_length = 8, max_length = 1000)]
    new: String,
}

/// Changes the caller's own password. The caller's other console sessions end.
#[utoipa::path(post, path = "/v1/me/password", tag = "access", request_body = PasswordBody, responses((status = 204)))]
async fn me_password(
    State(app): State<Shared>,
    caller: Caller,
    peer: Option<Extension<Peer>>,
    Json(body): Json<PasswordBody>,
) -> Result<StatusCode, Problem> {
    let me = caller.0.principal().ok_or_else(|| Problem::new(Code::Unauthenticated))?;
    if me.via.is_some() {
        return Err(Problem::new(Code::Invalid).cause(Message::new("error-own-password")));
    }
    crate::passwords::acceptable(&body.new, &[me.user.as_str()]).map_err(|refused| password_problem("new", refused))?;
    let source = Source::new(peer);
    let attempt = sign_in::begin(&app, source, me.user.as_str()).await?;
    if let Err(problem) = check_current_password(&app, &caller, &me, body.current).await {
        if problem.code() == Code::WrongPassword {
            app.failures.add(app.trusted(), source, Some(&me.user), Code::WrongPassword);
        }
        return Err(problem);
    }
    app.pace.succeed(app.trusted(), attempt).await?;
    let password = Some(hashed(&app, "new", body.new, &[me.user.as_str()]).await?);
    let change = PersonChange { password, spare: Some(me.token.clone()), ..PersonChange::default() };
    caller.0.change_person(me.user.clone(), change).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Checks that the caller is the person, and not only a program with the person's token.
async fn check_current_password(
    app: &App,
    caller: &Caller,
    me: &Principal,
    current: Option<String>,
) -> Result<(), Problem> {
    // Only the server's own handle can read password hashes.
    let known = app.trusted().person(me.user.clone()).await?.and_then(|person| person.password);
    let proof = match (current, known) {
        (None, None) => has_console_session(caller, me).await?,
        (None, Some(_)) => return Err(Problem::new(Code::BadField).field("current").arg("fault", "missing")),
        (Some(current), known) => {
            let same = app.passwords.matches(current, known).await;
            same.map_err(|refused| password_problem("current", refused))?
        }
    };
    if proof { Ok(()) } else { Err(Problem::new(Code::WrongPassword)) }
}

/// Returns whether the caller uses a console session. A plain token may have been found by another person.
async fn has_console_session(caller: &Caller, me: &Principal) -> Result<bool, Problem> {
    let most = u32::try_from(2 * TOKENS_MAX).unwrap_or(u32::MAX);
    let tokens = caller.0.tokens(Some(me.user.clone()), None, most).await?;
    Ok(tokens.iter().any(|token| token.id == me.token && token.kind() == TokenKind::Console))
}
