//! The client of an OpenID provider: discovery, the authorization code with PKCE, and ID tokens.
//!
//! Signatures are verified with ring, which TLS uses anyway. `docs/decisions/0022-oidc.md` says why there is no crate for
//! OpenID Connect. This module knows neither routes nor cookies.

pub(crate) mod claims;
pub(crate) mod pkce;
mod provider;
mod token;

pub(crate) use provider::{Attempt, Provider};

use crate::texts::message::Message;

/// The reason why the provider cannot sign a person in.
#[derive(Debug)]
pub(crate) enum OidcFault {
    /// The provider does not answer, or not as OpenID Connect requires. The text is for the log.
    Unavailable(String),
    /// The sign-in was not begun in this browser, or too long ago.
    State,
    /// The provider refused the sign-in, with this error code.
    Provider(String),
    /// The ID token is not valid, for this reason.
    Token(&'static str),
    /// The provider does not send this claim, or not as a valid user id.
    Claim(String),
}

impl OidcFault {
    /// Describes the fault for the log.
    pub(crate) fn reason(&self) -> String {
        match self {
            OidcFault::Unavailable(cause) => cause.clone(),
            OidcFault::State => "the state does not match the cookie".to_owned(),
            OidcFault::Provider(code) => format!("the provider answered {code}"),
            OidcFault::Token(reason) => format!("the ID token is refused: {reason}"),
            OidcFault::Claim(claim) => format!("no valid claim {claim}"),
        }
    }

    /// Returns the cause for people.
    pub(crate) fn message(&self) -> Message {
        match self {
            OidcFault::Unavailable(_) => Message::new("oidc-cause-unavailable"),
            OidcFault::State => Message::new("oidc-cause-state"),
            OidcFault::Provider(code) => Message::new("oidc-cause-provider").text("code", code),
            OidcFault::Token(_) => Message::new("oidc-cause-token"),
            OidcFault::Claim(claim) => Message::new("oidc-cause-claim").text("claim", claim),
        }
    }
}
