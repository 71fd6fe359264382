//! The page of `turno login`: the person confirms that a command may act for them.
//!
//! The command listens on a loopback address and opens `/login`. The person signs in as usual and confirms. The server
//! then redirects a code to the loopback address. The redirect goes to 127.0.0.1 only, so that no other machine can get
//! a code. `http/login.rs` exchanges the code for a token.

use askama::Template;
use axum::Router;
use axum::extract::State;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use serde::Deserialize;
use std::time::Duration;
use turno::access::{LinkFor, TokenKind};
use turno::core::limits::TOKENS_MAX;

use super::form::Form;
use super::page::Page;
use crate::http::{Code, Problem, Query, Shared};
use crate::oidc::pkce;
use crate::texts::message::Message;

pub(super) fn routes() -> Router<Shared> {
    Router::new().route("/login", get(ask)).route("/console/login", post(confirm))
}

/// How long the code is valid. The command exchanges it at once.
const CODE: Duration = Duration::from_secs(60);
/// The longest name of a machine on the page.
const MACHINE_MAX: usize = 100;

/// The command that waits for a code.
#[derive(Clone, Debug, Deserialize)]
struct Waiting {
    /// The port on 127.0.0.1.
    port: u16,
    /// The PKCE challenge.
    challenge: String,
    /// The value by which the command recognises its own request.
    state: String,
    /// The name of the machine, for the page.
    #[serde(default)]
    machine: String,
}

impl Waiting {
    fn check(self) -> Result<Waiting, Problem> {
        let well_formed = pkce::is_well_formed(&self.challenge) && pkce::is_well_formed(&self.state);
        if self.port == 0 || !well_formed {
            return Err(Problem::query("challenge", Message::new("login-malformed")));
        }
        let machine = self.machine.chars().filter(|one| !one.is_control()).take(MACHINE_MAX).collect();
        Ok(Waiting { machine, ..self })
    }
}

#[derive(Template)]
#[template(path = "login.html")]
struct Confirm {
    page: Page,
    waiting: Waiting,
}

/// Returns the page that asks the person to confirm. A page of another site cannot confirm, and cannot frame this one.
async fn ask(page: Page, Query(waiting): Query<Waiting>) -> Result<Response, Problem> {
    let waiting = waiting.check()?;
    // The form ends with a redirect to the command, which the policy of other pages does not allow.
    let policy = format!(
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; \
         form-action 'self' http://127.0.0.1:{}; frame-ancestors 'none'",
        waiting.port
    );
    let mut answer = page.show(|page| Confirm { page, waiting })?;
    if let Ok(policy) = HeaderValue::from_str(&policy) {
        answer.headers_mut().insert(header::CONTENT_SECURITY_POLICY, policy);
    }
    Ok(answer)
}

/// Makes a code for the signed-in person and sends it to the command.
async fn confirm(State(app): State<Shared>, page: Page, Form(waiting): Form<Waiting>) -> Result<Response, Problem> {
    let waiting = waiting.check()?;
    let me = page.turno()?.principal().ok_or_else(|| Problem::new(Code::Unauthenticated))?;
    // Only a person at the console may confirm. A program with a restricted token would get a token with all rights.
    let most = u32::try_from(2 * TOKENS_MAX).unwrap_or(u32::MAX);
    let tokens = page.turno()?.tokens(Some(me.user.clone()), None, most).await?;
    if !tokens.iter().any(|token| token.id == me.token && token.kind() == TokenKind::Console) {
        return Err(Problem::new(Code::Unauthenticated));
    }
    let code = app.trusted().make_bound_link(LinkFor::SignIn(me.user.clone()), CODE, &waiting.challenge).await?;
    let Waiting { port, state, .. } = waiting;
    let mut answer = Redirect::to(&format!("http://127.0.0.1:{port}/?code={code}&state={state}")).into_response();
    answer.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(answer)
}
