//! Signing in: one-time links and console sessions.
//!
//! These calls are for the embedding program, which verifies the person's identity. Handles with a caller cannot make
//! links or open sessions.

use super::{Needs, NewToken, Turno, secret};
use crate::error::Error;
use std::time::Duration;
use turno_core::access::{Change, ChangeRefused, Link, LinkFor, SignIn, Token};
use turno_core::audit::Hash;
use turno_core::id::UserId;
use turno_core::time::{Span, Time};

impl Turno {
    /// Returns whether there is an administrator who can sign in.
    ///
    /// ```
    /// # use turno::access::{NewPerson, Role};
    /// # turno_testkit::example(async |turno| {
    /// assert!(!turno.has_admin().await?);
    /// turno.add_person(NewPerson::new("eva", "Eva", Role::Admin)?).await?;
    /// assert!(turno.has_admin().await?);
    /// # Ok(()) });
    /// ```
    pub async fn has_admin(&self) -> Result<bool, Error> {
        self.authorize_read(Needs::READING).await?;
        Ok(self.inner.store.admins().await? > 0)
    }

    /// Creates a one-time link and returns its secret. It signs in the first administrator, while there is none, or a
    /// person without their password. It is valid for up to a week. Turno stores only the hash.
    ///
    /// ```
    /// # use turno::access::{NewPerson, Role};
    /// # turno_testkit::example(async |turno| {
    /// use std::time::Duration;
    /// use turno::access::LinkFor;
    /// let secret = turno.make_link(LinkFor::Setup, Duration::from_secs(3600)).await?;
    /// assert_eq!(turno.redeem_link(&secret).await?, Some(LinkFor::Setup));
    /// turno.add_person(NewPerson::new("eva", "Eva", Role::Admin)?).await?;
    /// assert!(turno.make_link(LinkFor::Setup, Duration::from_secs(3600)).await.is_err(), "an administrator exists now");
    /// # Ok(()) });
    /// ```
    pub async fn make_link(&self, to: LinkFor, ttl: Duration) -> Result<String, Error> {
        self.link_for(to, ttl, secret::hash).await
    }

    async fn link_for(&self, to: LinkFor, ttl: Duration, hash: impl Fn(&str) -> Option<Hash>) -> Result<String, Error> {
        self.store()?;
        let (_, secret) = secret::fresh()?;
        let hash = hash(&secret).ok_or(Error::Bug("a generated secret is malformed"))?;
        let link = Link { hash, to, expires_at: Time::default(), created_at: Time::default() };
        self.change_access(Change::MakeLink { link, ttl: ttl.into() }).await?;
        Ok(secret)
    }

    /// Uses up a link and returns its purpose. Returns `None` if the link is unknown, used or expired. If several
    /// requests use one link at the same time, on any instance, one succeeds.
    ///
    /// ```
    /// # use turno::access::{NewPerson, Role};
    /// # turno_testkit::example(async |turno| {
    /// use std::time::Duration;
    /// use turno::access::LinkFor;
    /// turno.add_person(NewPerson::new("ana", "Ana", Role::Editor)?).await?;
    /// let ana = LinkFor::SignIn("ana".try_into()?);
    /// let secret = turno.make_link(ana.clone(), Duration::from_secs(3600)).await?;
    /// assert_eq!(turno.redeem_link(&secret).await?, Some(ana));
    /// assert_eq!(turno.redeem_link(&secret).await?, None, "a link works once");
    /// # Ok(()) });
    /// ```
    pub async fn redeem_link(&self, secret: &str) -> Result<Option<LinkFor>, Error> {
        self.redeem(secret::hash(secret)).await
    }

    /// Creates a link as [`Turno::make_link`] does. Only a caller that knows `binding` can use it, and
    /// [`Turno::redeem_link`] never finds it. For codes that travel through addresses, such as those of a sign-in from
    /// the command line.
    ///
    /// ```
    /// # use turno::access::{NewPerson, Role};
    /// # turno_testkit::example(async |turno| {
    /// use std::time::Duration;
    /// use turno::access::LinkFor;
    /// turno.add_person(NewPerson::new("ana", "Ana", Role::Editor)?).await?;
    /// let ana = LinkFor::SignIn("ana".try_into()?);
    /// let code = turno.make_bound_link(ana.clone(), Duration::from_secs(60), "challenge").await?;
    /// assert_eq!(turno.redeem_link(&code).await?, None, "the code alone is not enough");
    /// assert_eq!(turno.redeem_bound_link(&code, "other").await?, None);
    /// assert_eq!(turno.redeem_bound_link(&code, "challenge").await?, Some(ana));
    /// # Ok(()) });
    /// ```
    pub async fn make_bound_link(&self, to: LinkFor, ttl: Duration, binding: &str) -> Result<String, Error> {
        self.link_for(to, ttl, |secret| secret::bound_hash(secret, binding)).await
    }

    /// Uses up a link of [`Turno::make_bound_link`], as [`Turno::redeem_link`] does.
    pub async fn redeem_bound_link(&self, secret: &str, binding: &str) -> Result<Option<LinkFor>, Error> {
        self.redeem(secret::bound_hash(secret, binding)).await
    }

    async fn redeem(&self, hash: Option<Hash>) -> Result<Option<LinkFor>, Error> {
        // Read the link before locking access, so that guessed secrets delay no other change.
        let store = self.store()?;
        let Some(hash) = hash else {
            return Ok(None);
        };
        let Some(link) = store.link(hash).await? else {
            return Ok(None);
        };
        let to = link.to.clone();
        match self.change_access(Change::RedeemLink(link)).await {
            Ok(_) => Ok(Some(to)),
            Err(Error::Refused(ChangeRefused::Unknown(_))) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Opens a console session for a person who has signed in, with all of their permissions. It ends after `ttl` (at
    /// most a month), by [`Turno::revoke_token`], when the person is disabled, and when their password changes, unless
    /// [`PersonChange::spare`](super::PersonChange::spare) names this session.
    ///
    /// ```
    /// # use turno::access::{NewPerson, PersonChange, Role};
    /// # turno_testkit::example(async |turno| {
    /// use std::time::Duration;
    /// use turno::access::TokenKind;
    /// turno.add_person(NewPerson::new("ana", "Ana", Role::Editor)?).await?;
    /// let (token, secret) = turno.open_session("ana".try_into()?, Duration::from_secs(3600)).await?;
    /// assert_eq!(token.kind(), TokenKind::Console);
    /// let ana = turno.authenticate(&secret).await?;
    /// let password = PersonChange { password: Some("hash".to_owned()), ..PersonChange::default() };
    /// turno.change_person("ana".try_into()?, password).await?;
    /// assert!(ana.tokens(None, None, 10).await.is_err(), "the session ended with the password");
    /// # Ok(()) });
    /// ```
    pub async fn open_session(&self, user: UserId, ttl: Duration) -> Result<(Token, String), Error> {
        self.open_session_by(user, ttl, None).await
    }

    pub(super) async fn open_session_by(
        &self,
        user: UserId,
        ttl: Duration,
        sign_in: Option<SignIn>,
    ) -> Result<(Token, String), Error> {
        self.store()?;
        let (token, secret) = NewToken::whole(user).into_token(self.inner.clock.estimate())?;
        let changed = self.change_access(Change::OpenSession { token, ttl: ttl.into(), sign_in }).await?;
        Ok((changed.token.ok_or(Error::Bug("a created token is not there"))?, secret))
    }

    /// Extends the console session of this handle to `ttl` from now, if less than half of `ttl` is left, but not
    /// beyond `most` after sign-in. Returns whether it was extended. Does nothing for other tokens.
    ///
    /// ```
    /// # use turno::access::{NewPerson, Role};
    /// # turno_testkit::example(async |turno| {
    /// use std::time::Duration;
    /// turno.add_person(NewPerson::new("ana", "Ana", Role::Editor)?).await?;
    /// let (_, secret) = turno.open_session("ana".try_into()?, Duration::from_secs(3600)).await?;
    /// let ana = turno.authenticate(&secret).await?;
    /// assert!(!ana.renew_session(Duration::from_secs(3600), Duration::from_secs(86_400)).await?, "most of the ttl is left");
    /// # Ok(()) });
    /// ```
    pub async fn renew_session(&self, ttl: Duration, most: Duration) -> Result<bool, Error> {
        let (ttl, most) = (Span::from(ttl), Span::from(most));
        let Some(caller) = &self.caller else {
            return Ok(false);
        };
        let ends = caller.settled().principal.expires_at;
        if ends.is_none_or(|ends| self.inner.clock.estimate().until(ends).0 * 2 >= ttl.0) {
            return Ok(false);
        }
        // The cached expiry may be older than a renewal by another request or instance.
        let found = self.inner.store.token(caller.hash).await?;
        let Some((token, _)) = found.token else {
            return Ok(false);
        };
        let renewed = match extended_expiry(&token, found.now, ttl, most) {
            Some(until) => self.inner.store.renew_session(token.id, until).await?,
            None => false,
        };
        self.renew().await?;
        Ok(renewed)
    }
}

/// Returns the new expiry of a console session: `ttl` from `now`, if less than half of `ttl` is left, and at most
/// `most` after sign-in. `None` if it need not or cannot be extended.
fn extended_expiry(token: &Token, now: Time, ttl: Span, most: Span) -> Option<Time> {
    let ends = token.expires_at.filter(|&ends| token.console && now < ends)?;
    let until = Time((now + ttl).0.min((token.created_at + most).0));
    (now.until(ends).0 * 2 < ttl.0 && ends < until).then_some(until)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::access::NewToken;

    #[test]
    fn only_console_sessions_are_extended_after_half_their_ttl_up_to_the_most() {
        let (ttl, most) = (Span(100), Span(250));
        let user = UserId::new("ana").expect("a valid name");
        let (made, _) = NewToken::whole(user).into_token(Time(0)).expect("the system has randomness");
        let session = |expires_at| Token { console: true, created_at: Time(0), expires_at, ..made.clone() };
        let at = |ends, now| extended_expiry(&session(Some(Time(ends))), Time(now), ttl, most);
        assert_eq!((at(100, 50), at(100, 51)), (None, Some(Time(151))), "not before half of the ttl is over");
        assert_eq!(at(100, 100), None, "an expired session is not extended");
        assert_eq!((at(240, 230), at(250, 230)), (Some(Time(250)), None), "not beyond `most`");
        assert_eq!(extended_expiry(&session(None), Time(51), ttl, most), None);
        let token = Token { console: false, ..session(Some(Time(100))) };
        assert_eq!(extended_expiry(&token, Time(51), ttl, most), None, "an ordinary token is not extended");
    }
}
