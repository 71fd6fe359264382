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
}

fn hash_of(secret: &str) -> Hash {
    secret::hash(secret).expect("a secret that was just made has the shape of one")
}
