//! Signing in: links that let somebody in once, and sessions of the console.
//!
//! For the program that embeds Turno, which makes sure of who it is: nobody who is signed in can do any of this.

use super::{Needs, NewToken, Turno, secret};
use crate::error::Error;
use turno_core::access::{Change, ChangeRefused, Link, LinkFor, Token};
use turno_core::audit::Hash;
use turno_core::id::UserId;
use turno_core::time::{Span, Time};

impl Turno {
    /// Whether there is an administrator who can sign in.
    ///
    /// ```
    /// # use turno::*;
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// # let dir = std::env::temp_dir().join(format!("turno-doc-has-admin-{}", std::process::id()));
    /// # std::fs::create_dir_all(&dir).unwrap();
    /// # let turno = Turno::open(&format!("sqlite:{}/doc.db", dir.display())).await?;
    /// assert!(!turno.has_admin().await?);
    /// turno.add_person(NewPerson::new("eva", "Eva", Role::Admin)?).await?;
    /// assert!(turno.has_admin().await?);
    /// # std::fs::remove_dir_all(&dir).unwrap();
    /// # Ok::<(), turno::Error>(()) }).unwrap();
    /// ```
    pub async fn has_admin(&self) -> Result<bool, Error> {
        self.reads(Needs::READING).await?;
        Ok(self.inner.store.admins().await? > 0)
    }

    /// Makes the secret of a link that lets somebody in once: as the first administrator, while there is none, or as a
    /// person without their password. It lives up to a week; only its hash is kept.
    ///
    /// ```
    /// # use turno::*;
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// # let dir = std::env::temp_dir().join(format!("turno-doc-make-link-{}", std::process::id()));
    /// # std::fs::create_dir_all(&dir).unwrap();
    /// # let turno = Turno::open(&format!("sqlite:{}/doc.db", dir.display())).await?;
    /// use turno::core::{access::LinkFor, time::Span};
    /// let secret = turno.make_link(LinkFor::Setup, Span::from_secs(3600)).await?;
    /// assert_eq!(turno.redeem_link(&secret).await?, Some(LinkFor::Setup));
    /// turno.add_person(NewPerson::new("eva", "Eva", Role::Admin)?).await?;
    /// assert!(turno.make_link(LinkFor::Setup, Span::from_secs(3600)).await.is_err(), "there is one now");
    /// # std::fs::remove_dir_all(&dir).unwrap();
    /// # Ok::<(), turno::Error>(()) }).unwrap();
    /// ```
    pub async fn make_link(&self, to: LinkFor, ttl: Span) -> Result<String, Error> {
        self.store()?;
        let (_, secret) = secret::fresh()?;
        let link = Link { hash: hash_of(&secret), to, expires_at: Time::default(), created_at: Time::default() };
        self.change_access(Change::MakeLink { link, ttl }).await?;
        Ok(secret)
    }

    /// Uses a link up, and says what it was for; nothing if there is no such link, or not any more. Of several who come
    /// with the same one at once, on any instance, one is let in.
    ///
    /// ```
    /// # use turno::*;
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// # let dir = std::env::temp_dir().join(format!("turno-doc-redeem-link-{}", std::process::id()));
    /// # std::fs::create_dir_all(&dir).unwrap();
    /// # let turno = Turno::open(&format!("sqlite:{}/doc.db", dir.display())).await?;
    /// use turno::core::{access::LinkFor, time::Span};
    /// turno.add_person(NewPerson::new("ana", "Ana", Role::Editor)?).await?;
    /// let ana = LinkFor::SignIn("ana".try_into()?);
    /// let secret = turno.make_link(ana.clone(), Span::from_secs(3600)).await?;
    /// assert_eq!(turno.redeem_link(&secret).await?, Some(ana));
    /// assert_eq!(turno.redeem_link(&secret).await?, None, "it was good once");
    /// # std::fs::remove_dir_all(&dir).unwrap();
    /// # Ok::<(), turno::Error>(()) }).unwrap();
    /// ```
    pub async fn redeem_link(&self, secret: &str) -> Result<Option<LinkFor>, Error> {
        // Looked for before access is locked: whoever guesses must not make others wait.
        let store = self.store()?;
        let Some(hash) = secret::hash(secret) else {
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

    /// Opens a session for a person who has signed in, with all that they may do. It ends after `ttl`, up to a month, by
    /// [`Turno::revoke_token`], when they are locked out, and when their password changes
    /// ([`PersonChange::spare`](super::PersonChange::spare) spares the one in which that is done).
    ///
    /// ```
    /// # use turno::*;
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// # let dir = std::env::temp_dir().join(format!("turno-doc-open-session-{}", std::process::id()));
    /// # std::fs::create_dir_all(&dir).unwrap();
    /// # let turno = Turno::open(&format!("sqlite:{}/doc.db", dir.display())).await?;
    /// use turno::core::{access::TokenKind, time::Span};
    /// turno.add_person(NewPerson::new("ana", "Ana", Role::Editor)?).await?;
    /// let (token, secret) = turno.open_session("ana".try_into()?, Span::from_secs(3600)).await?;
    /// assert_eq!(token.kind(), TokenKind::Console);
    /// let ana = turno.authenticate(&secret).await?;
    /// let password = PersonChange { password: Some("hash".to_owned()), ..PersonChange::default() };
    /// turno.change_person("ana".try_into()?, password).await?;
    /// assert!(ana.tokens(None, None, 10).await.is_err(), "from the next request on");
    /// # std::fs::remove_dir_all(&dir).unwrap();
    /// # Ok::<(), turno::Error>(()) }).unwrap();
    /// ```
    pub async fn open_session(&self, user: UserId, ttl: Span) -> Result<(Token, String), Error> {
        self.store()?;
        let (token, secret) = NewToken::whole(user).into_token(self.inner.clock.estimate())?;
        let changed = self.change_access(Change::OpenSession { token, ttl }).await?;
        Ok((changed.token.ok_or(Error::Closed)?, secret))
    }

    /// Lets the session in which this handle's person works live on: for another `ttl` from now, once less than half of
    /// that is left, and not beyond `most` after they signed in. Says whether it lives longer now; for anybody else, and
    /// before it is time, nothing happens.
    ///
    /// ```
    /// # use turno::*;
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// # let dir = std::env::temp_dir().join(format!("turno-doc-renew-session-{}", std::process::id()));
    /// # std::fs::create_dir_all(&dir).unwrap();
    /// # let turno = Turno::open(&format!("sqlite:{}/doc.db", dir.display())).await?;
    /// use turno::core::time::Span;
    /// turno.add_person(NewPerson::new("ana", "Ana", Role::Editor)?).await?;
    /// let (_, secret) = turno.open_session("ana".try_into()?, Span::from_secs(3600)).await?;
    /// let ana = turno.authenticate(&secret).await?;
    /// assert!(!ana.renew_session(Span::from_secs(3600), Span::from_secs(86_400)).await?, "it has only begun");
    /// # std::fs::remove_dir_all(&dir).unwrap();
    /// # Ok::<(), turno::Error>(()) }).unwrap();
    /// ```
    pub async fn renew_session(&self, ttl: Span, most: Span) -> Result<bool, Error> {
        let Some(caller) = &self.caller else {
            return Ok(false);
        };
        let ends = caller.settled().principal.expires_at;
        if ends.is_none_or(|ends| self.inner.clock.estimate().until(ends).0 * 2 >= ttl.0) {
            return Ok(false);
        }
        // What is remembered may be older than what another request, or another instance, has made of it.
        let found = self.inner.store.token(caller.hash).await?;
        let Some((token, _)) = found.token else {
            return Ok(false);
        };
        let renewed = match renewed(&token, found.now, ttl, most) {
            Some(until) => self.inner.store.renew_session(token.id, until).await?,
            None => false,
        };
        self.renew().await?;
        Ok(renewed)
    }
}

/// Until when a session lives on in which somebody works at `now`: for another `ttl`, once less than half of it is left, and
/// not beyond `most` after they signed in. Nothing where it need not, or cannot, live longer.
fn renewed(token: &Token, now: Time, ttl: Span, most: Span) -> Option<Time> {
    let ends = token.expires_at.filter(|&ends| token.console && now < ends)?;
    let until = Time((now + ttl).0.min((token.created_at + most).0));
    (now.until(ends).0 * 2 < ttl.0 && ends < until).then_some(until)
}

fn hash_of(secret: &str) -> Hash {
    secret::hash(secret).expect("a secret that was just made has the shape of one")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::access::NewToken;

    #[test]
    fn a_session_lives_on_from_its_half_to_its_most_and_nothing_else_does() {
        let (ttl, most) = (Span(100), Span(250));
        let user = UserId::new("ana").expect("a name");
        let (made, _) = NewToken::whole(user).into_token(Time(0)).expect("a token");
        let session = |expires_at| Token { console: true, created_at: Time(0), expires_at, ..made.clone() };
        let at = |ends, now| renewed(&session(Some(Time(ends))), Time(now), ttl, most);
        assert_eq!((at(100, 50), at(100, 51)), (None, Some(Time(151))), "not before half of it is over");
        assert_eq!(at(100, 100), None, "what is over stays over");
        assert_eq!((at(240, 230), at(250, 230)), (Some(Time(250)), None), "not beyond the most");
        assert_eq!(renewed(&session(None), Time(51), ttl, most), None);
        let token = Token { console: false, ..session(Some(Time(100))) };
        assert_eq!(renewed(&token, Time(51), ttl, most), None, "a token is no session");
    }
}
