//! People of an OpenID provider, and the rotation of tokens.

use super::{Needs, NewToken, Turno};
use crate::error::Error;
use std::time::Duration;
use turno_core::access::{Change, ChangeRefused, Identity, Person, Role, Token};
use turno_core::id::UserId;
use turno_core::time::Span;

/// A person at an OpenID provider, as the provider describes them at a sign-in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdentityClaims {
    /// The identity.
    pub identity: Identity,
    /// The id of the person, if the person is new.
    pub id: UserId,
    /// The display name of the person, if the person is new.
    pub name: String,
    /// The role that the provider gives, if it gives one.
    pub role: Option<Role>,
}

impl Turno {
    /// Links a person to an identity of an OpenID provider, or removes the link. Needs `users.manage`.
    ///
    /// ```
    /// # use turno::access::{NewPerson, Role};
    /// # turno_testkit::example(async |turno| {
    /// use turno::core::access::Identity;
    /// turno.add_person(NewPerson::new("ana", "Ana", Role::Editor)?).await?;
    /// let identity = Identity { issuer: "https://id.example".to_owned(), subject: "s-1".to_owned() };
    /// let ana = turno.link_identity("ana".try_into()?, Some(identity.clone())).await?;
    /// assert_eq!(ana.identity, Some(identity));
    /// # Ok(()) });
    /// ```
    pub async fn link_identity(&self, id: UserId, identity: Option<Identity>) -> Result<Person, Error> {
        let changed = self.change_access(Change::LinkIdentity { id, identity }).await?;
        changed.person.ok_or(Error::Bug("a changed person is not there"))
    }

    /// Signs in a person of an OpenID provider, for the embedding program, which has checked the provider's answer. Adds
    /// the person at the first sign-in, and sets the role to that of the claims.
    ///
    /// Returns `None` if the claims give no role. Then all sessions and tokens of the person have ended. Refuses with
    /// `Exists` if a local person with the same id is not linked to the identity.
    ///
    /// ```
    /// # use turno::access::Role;
    /// # turno_testkit::example(async |turno| {
    /// use turno::access::IdentityClaims;
    /// use turno::core::access::Identity;
    /// let identity = Identity { issuer: "https://id.example".to_owned(), subject: "s-1".to_owned() };
    /// let claims = IdentityClaims { identity, id: "ana".try_into()?, name: "Ana".to_owned(), role: Some(Role::Editor) };
    /// let ana = turno.sign_in_identity(claims.clone()).await?.expect("the claims have a role");
    /// assert_eq!((ana.id.as_str(), ana.role), ("ana", Role::Editor));
    /// assert!(turno.sign_in_identity(IdentityClaims { role: None, ..claims }).await?.is_none());
    /// # Ok(()) });
    /// ```
    pub async fn sign_in_identity(&self, claims: IdentityClaims) -> Result<Option<Person>, Error> {
        let store = self.store()?;
        let IdentityClaims { identity, id, name, role } = claims;
        // Most sign-ins change nothing, so they need no change of access.
        let known = store.person_of(identity.clone()).await?;
        if let Some(person) = known.filter(|person| !person.disabled && Some(person.role) == role) {
            return Ok(Some(person));
        }
        match self.change_access(Change::SignInIdentity { identity, id, name, role }).await {
            Ok(changed) => Ok(changed.person),
            Err(Error::Refused(ChangeRefused::Unknown(_))) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Replaces a token by a new one with the same rights and lifetime, and returns it with its secret. The old token
    /// stays valid for `overlap`, at most 30 days.
    ///
    /// ```
    /// # use turno::access::{NewPerson, NewToken, Role};
    /// # turno_testkit::example(async |turno| {
    /// use std::time::Duration;
    /// turno.add_person(NewPerson::new("ana", "Ana", Role::Editor)?).await?;
    /// let (old, secret) = turno.create_token(NewToken::for_user("ana")?).await?;
    /// let (_, fresh) = turno.rotate_token(&old.id, Duration::ZERO).await?;
    /// assert!(turno.authenticate(&fresh).await.is_ok() && turno.authenticate(&secret).await.is_err());
    /// # Ok(()) });
    /// ```
    pub async fn rotate_token(&self, id: &str, overlap: Duration) -> Result<(Token, String), Error> {
        // The rotated token decides everything but id and secret, its owner too.
        let owner = self.principal().map_or_else(|| turno_core::audit::Actor::system().user, |me| me.user.clone());
        let (token, secret) = NewToken::whole(owner).into_token(self.inner.clock.estimate())?;
        let wish = Change::RotateToken { id: id.to_owned(), token, overlap: overlap.into() };
        let changed = self.change_access(wish).await?;
        Ok((changed.token.ok_or(Error::Bug("a created token is not there"))?, secret))
    }

    /// Counts the tokens of programs and people that expire within `span` from now. Sessions do not count. Needs no
    /// permission, because the count names no token.
    ///
    /// ```
    /// # use turno::access::{NewPerson, NewToken, Role};
    /// # turno_testkit::example(async |turno| {
    /// use std::time::Duration;
    /// turno.add_person(NewPerson::new("ana", "Ana", Role::Editor)?).await?;
    /// let hour = Duration::from_secs(3_600);
    /// turno.create_token(NewToken { expires_in: Some(hour), ..NewToken::for_user("ana")? }).await?;
    /// assert_eq!((turno.tokens_expiring(hour * 2).await?, turno.tokens_expiring(hour / 2).await?), (1, 0));
    /// # Ok(()) });
    /// ```
    pub async fn tokens_expiring(&self, span: Duration) -> Result<i64, Error> {
        self.authorize_read(Needs::READING).await?;
        let now = self.inner.clock.estimate();
        Ok(self.inner.store.tokens_expiring(now, now + Span::from(span)).await?)
    }
}
