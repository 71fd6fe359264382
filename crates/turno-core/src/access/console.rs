//! Signing in: console sessions, and links that a person can use once.
//!
//! Only the program that embeds Turno can make them, after it has checked who the person is. A request with a token
//! cannot. This module does not handle passwords, cookies or limits on sign-in attempts.

use super::change::{Change, ChangeContext, Changed, View, only_audit};
use super::{BadChange, ChangeRefused, Denied, Person, Token};
use crate::audit::{Actor, AuditAction, Draft, Hash};
use crate::fault::Thing;
use crate::id::UserId;
use crate::limits::{CONSOLE_TTL_MAX, CONSOLES_MAX, LINK_TTL_MAX};
use crate::time::{Span, Time};
use serde_json::Value;

/// The purpose of a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinkFor {
    /// Become the first administrator.
    Setup,
    /// Sign in as this person, without a password.
    SignIn(UserId),
}

impl LinkFor {
    /// Returns the person, unless the link is for the setup.
    pub fn user(&self) -> Option<&UserId> {
        match self {
            LinkFor::Setup => None,
            LinkFor::SignIn(user) => Some(user),
        }
    }
}

/// A stored link. It contains the hash of the secret, never the secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// The hash of the secret.
    pub hash: Hash,
    /// The purpose.
    pub to: LinkFor,
    /// When the link expires.
    pub expires_at: Time,
    /// When the link was made.
    pub created_at: Time,
}

/// How a person signed in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignIn {
    /// The way.
    pub method: SignInMethod,
    /// The address of the person's machine.
    pub source: String,
}

/// The way in which a person signed in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignInMethod {
    /// With a password.
    Password,
    /// With a link.
    Link,
    /// With an OpenID provider.
    Provider,
}

impl SignInMethod {
    /// Returns the word in audit entries.
    pub fn as_str(self) -> &'static str {
        match self {
            SignInMethod::Password => "password",
            SignInMethod::Link => "link",
            SignInMethod::Provider => "provider",
        }
    }
}

/// Failed sign-ins from one source at one user, counted together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedSignIns {
    /// The user; `None` if there is no such user, or for several users.
    pub user: Option<UserId>,
    /// The address, or `*` for several addresses.
    pub source: String,
    /// The attempts with a wrong password, or of a disabled user.
    pub failed: u32,
    /// The attempts that the pace refused.
    pub refused: u32,
}

/// The resource of an entry that names no user.
const UNKNOWN_USER: &str = "unknown user";

impl Change {
    /// Returns the person that the store must read for the change.
    pub fn user(&self) -> Option<&UserId> {
        match self {
            Change::AddPerson { id, .. } | Change::ChangePerson { id, .. } | Change::RemovePerson { id } => Some(id),
            Change::CreateToken(token) | Change::MintSession { token, .. } | Change::OpenSession { token, .. } => {
                Some(&token.user)
            }
            Change::MakeLink { link, .. } | Change::RedeemLink(link) => link.to.user(),
            Change::LinkIdentity { id, .. } | Change::SignInIdentity { id, .. } => Some(id),
            Change::RevokeToken { .. } | Change::RotateToken { .. } | Change::RecordFailures(_) => None,
        }
    }

    /// Returns the token that the store must read for the change.
    pub fn token(&self) -> Option<&str> {
        match self {
            Change::RevokeToken { id } | Change::RotateToken { id, .. } => Some(id),
            _ => None,
        }
    }

    /// Returns the link that the store must read for the change.
    pub fn link(&self) -> Option<Hash> {
        match self {
            Change::RedeemLink(link) => Some(link.hash),
            _ => None,
        }
    }
}

impl ChangeContext<'_> {
    pub(super) fn open_session(
        &self,
        token: &Token,
        ttl: Span,
        sign_in: Option<&SignIn>,
        view: View,
    ) -> Result<Changed, ChangeRefused> {
        self.require_embedding_program()?;
        check_ttl(ttl, CONSOLE_TTL_MAX, BadChange::SessionTtl { max: CONSOLE_TTL_MAX })?;
        let owner = enabled(view.person, &token.user)?;
        let token = Token {
            name: None,
            machine: false,
            scope: None,
            resources: Vec::new(),
            queues: Vec::new(),
            expires_at: Some(self.now + ttl),
            created_at: self.now,
            created_by: owner.id,
            parent: None,
            console: true,
            ..token.clone()
        };
        // The person who signs in is the actor, not the program that checked the password or the link.
        let actor = Actor::user(token.user.clone());
        let audit = match sign_in {
            None => Draft { actor, ..self.token_entry(AuditAction::SessionOpen, &token) },
            Some(sign_in) => Draft { actor, ..self.token_entry(AuditAction::SignIn, &token) }
                .and("method", Value::from(sign_in.method.as_str()))
                .and("source", Value::from(sign_in.source.as_str())),
        };
        let surplus = (view.consoles.len() + 1).saturating_sub(CONSOLES_MAX);
        let revoked: Vec<String> = view.consoles.into_iter().take(surplus).collect();
        let raises_epoch = !revoked.is_empty();
        Ok(Changed { token: Some(token), revoked, raises_epoch, ..only_audit(audit) })
    }

    /// Records failed sign-ins. The entry names the user only if there is such a user, because people enter passwords as
    /// user names by mistake, and entries cannot be deleted.
    pub(super) fn record_failures(&self, failures: &FailedSignIns) -> Result<Changed, ChangeRefused> {
        self.require_embedding_program()?;
        let user = failures.user.as_ref().map_or_else(|| UNKNOWN_USER.to_owned(), UserId::to_string);
        let audit = self.entry(AuditAction::SignInFailed, user).with([
            ("source", Value::from(failures.source.as_str())),
            ("failed", Value::from(failures.failed)),
            ("refused", Value::from(failures.refused)),
        ]);
        Ok(only_audit(audit))
    }

    pub(super) fn make_link(&self, link: &Link, ttl: Span, view: View) -> Result<Changed, ChangeRefused> {
        self.require_embedding_program()?;
        check_ttl(ttl, LINK_TTL_MAX, BadChange::LinkTtl { max: LINK_TTL_MAX })?;
        match &link.to {
            LinkFor::Setup if view.admins > 0 => return Err(ChangeRefused::HasAdmin),
            LinkFor::Setup => {}
            LinkFor::SignIn(user) => drop(enabled(view.person, user)?),
        }
        let link = Link { expires_at: self.now + ttl, created_at: self.now, ..link.clone() };
        let audit =
            self.entry(AuditAction::LinkMake, subject(&link)).with([("expires_at_ms", Value::from(link.expires_at.0))]);
        Ok(Changed { link: Some(link), ..only_audit(audit) })
    }

    /// Uses up a link. Changes of access are serialised, so a second use of the same link finds it gone.
    pub(super) fn redeem_link(&self, link: &Link, view: View) -> Result<Changed, ChangeRefused> {
        self.require_embedding_program()?;
        let unknown = || ChangeRefused::Unknown(Thing::Link);
        let link = view.link.filter(|found| found.to == link.to && self.now < found.expires_at).ok_or_else(unknown)?;
        let good = match &link.to {
            LinkFor::Setup => view.admins == 0,
            LinkFor::SignIn(user) => enabled(view.person, user).is_ok(),
        };
        if !good {
            return Err(unknown());
        }
        let actor = link.to.user().map_or_else(Actor::system, |user| Actor::user(user.clone()));
        let audit = Draft::new(actor, AuditAction::LinkRedeem, subject(&link));
        Ok(Changed { spent: Some(link.hash), ..only_audit(audit) })
    }

    /// Refuses a change that only the program that embeds Turno may make.
    pub(super) fn require_embedding_program(&self) -> Result<(), ChangeRefused> {
        if self.by.is_none() { Ok(()) } else { Err(BadChange::ProgramOnly.into()) }
    }
}

fn enabled(person: Option<Person>, user: &UserId) -> Result<Person, ChangeRefused> {
    let person = person.ok_or_else(|| ChangeRefused::Unknown(Thing::User(user.clone())))?;
    if person.disabled { Err(ChangeRefused::Denied(Denied::Unauthenticated)) } else { Ok(person) }
}

fn check_ttl(ttl: Span, max: Span, bad: BadChange) -> Result<(), ChangeRefused> {
    if (Span::from_secs(1)..=max).contains(&ttl) { Ok(()) } else { Err(bad.into()) }
}

/// Returns the resource of the audit entry.
fn subject(link: &Link) -> String {
    link.to.user().map_or_else(|| "setup".to_owned(), UserId::to_string)
}
