//! Signing in: sessions of the console, and links that let somebody in once.
//!
//! Both are made by the program that embeds Turno, after it has made sure of who it is: nobody who is signed in can
//! make them. Deliberately not here: passwords, cookies, and how often somebody may try.

use super::change::{Change, ChangeRefused, Changed, View, Work, nothing};
use super::{Denied, Person, Token};
use crate::audit::{Actor, Draft, Hash};
use crate::id::UserId;
use crate::limits::{CONSOLE_TTL_MAX, CONSOLES_MAX, LINK_TTL_MAX};
use crate::time::{Span, Time};
use serde_json::Value;

/// What a link lets somebody do, once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinkFor {
    /// Become the first administrator.
    Setup,
    /// Sign in as this person, without a password.
    SignIn(UserId),
}

impl LinkFor {
    /// As whom, if there is somebody yet.
    pub fn user(&self) -> Option<&UserId> {
        match self {
            LinkFor::Setup => None,
            LinkFor::SignIn(user) => Some(user),
        }
    }
}

/// A link as it is kept: never the secret, only its hash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// The hash of its secret.
    pub hash: Hash,
    /// What it is for.
    pub to: LinkFor,
    /// Dead from here on.
    pub expires_at: Time,
    /// Since when.
    pub created_at: Time,
}

impl Change {
    /// The person that the store reads for it.
    pub fn user(&self) -> Option<&UserId> {
        match self {
            Change::AddPerson { id, .. } | Change::ChangePerson { id, .. } | Change::RemovePerson { id } => Some(id),
            Change::CreateToken(token) | Change::MintSession { token, .. } | Change::OpenSession { token, .. } => {
                Some(&token.user)
            }
            Change::MakeLink { link, .. } | Change::RedeemLink(link) => link.to.user(),
            Change::RevokeToken { .. } => None,
        }
    }

    /// The token that the store reads for it.
    pub fn token(&self) -> Option<&str> {
        match self {
            Change::RevokeToken { id } => Some(id),
            _ => None,
        }
    }

    /// The link that the store reads for it.
    pub fn link(&self) -> Option<Hash> {
        match self {
            Change::RedeemLink(link) => Some(link.hash),
            _ => None,
        }
    }
}

impl Work<'_> {
    pub(super) fn open_session(&self, token: &Token, ttl: Span, view: View) -> Result<Changed, ChangeRefused> {
        self.is_nobodys("sign somebody in")?;
        within("a session", ttl, CONSOLE_TTL_MAX)?;
        let owner = enabled(view.person, &token.user)?;
        let token = Token {
            name: None,
            machine: false,
            scope: None,
            resources: Vec::new(),
            expires_at: Some(self.now + ttl),
            created_at: self.now,
            created_by: owner.id,
            parent: None,
            console: true,
            ..token.clone()
        };
        // Whoever signs in does so themselves; the program only looks at what they show.
        let audit = Draft { actor: Actor::user(token.user.clone()), ..self.token_entry("session_open", &token) };
        let surplus = (view.consoles.len() + 1).saturating_sub(CONSOLES_MAX);
        let revoked: Vec<String> = view.consoles.into_iter().take(surplus).collect();
        let raises_epoch = !revoked.is_empty();
        Ok(Changed { token: Some(token), revoked, raises_epoch, ..nothing(audit) })
    }

    pub(super) fn make_link(&self, link: &Link, ttl: Span, view: View) -> Result<Changed, ChangeRefused> {
        self.is_nobodys("make a link")?;
        within("a link", ttl, LINK_TTL_MAX)?;
        match &link.to {
            LinkFor::Setup if view.admins > 0 => return Err(ChangeRefused::HasAdmin),
            LinkFor::Setup => {}
            LinkFor::SignIn(user) => drop(enabled(view.person, user)?),
        }
        let link = Link { expires_at: self.now + ttl, created_at: self.now, ..link.clone() };
        let audit = self.entry("link_make", subject(&link)).with([("expires_at_ms", Value::from(link.expires_at.0))]);
        Ok(Changed { link: Some(link), ..nothing(audit) })
    }

    /// Two who come with one link come one after the other, since access is locked: the second one finds it gone.
    pub(super) fn redeem_link(&self, link: &Link, view: View) -> Result<Changed, ChangeRefused> {
        self.is_nobodys("use a link")?;
        let unknown = || ChangeRefused::Unknown("the link".to_owned());
        let link = view.link.filter(|found| found.to == link.to && self.now < found.expires_at).ok_or_else(unknown)?;
        let good = match &link.to {
            LinkFor::Setup => view.admins == 0,
            LinkFor::SignIn(user) => enabled(view.person, user).is_ok(),
        };
        if !good {
            return Err(unknown());
        }
        let actor = link.to.user().map_or_else(Actor::system, |user| Actor::user(user.clone()));
        let audit = Draft::new(actor, "link_redeem", subject(&link));
        Ok(Changed { spent: Some(link.hash), ..nothing(audit) })
    }

    /// What only the program that embeds Turno does.
    fn is_nobodys(&self, what: &str) -> Result<(), ChangeRefused> {
        if self.by.is_none() {
            return Ok(());
        }
        Err(ChangeRefused::Invalid(format!("nobody who is signed in can {what}; the program itself does")))
    }
}

fn enabled(person: Option<Person>, user: &UserId) -> Result<Person, ChangeRefused> {
    let person = person.ok_or_else(|| ChangeRefused::Unknown(user.to_string()))?;
    if person.disabled { Err(ChangeRefused::Denied(Denied::Unauthenticated)) } else { Ok(person) }
}

fn within(what: &str, ttl: Span, max: Span) -> Result<(), ChangeRefused> {
    if (Span::from_secs(1)..=max).contains(&ttl) {
        return Ok(());
    }
    Err(ChangeRefused::Invalid(format!("{what} lives 1 to {} seconds", max.0 / 1000)))
}

/// What the audit says it is about.
fn subject(link: &Link) -> String {
    link.to.user().map_or_else(|| "setup".to_owned(), UserId::to_string)
}
