//! Sign-in attempts: their pace, and their audit. For the embedding program, like the rest of signing in.

use super::{Turno, secret};
use crate::error::Error;
use std::time::Duration;
use turno_core::access::{Change, FailedSignIns, LinkFor, PaceKeys, PaceStep, PaceVerdict, SignIn, Token};
use turno_core::id::UserId;

impl Turno {
    /// Counts a sign-in attempt and returns whether it may go on. Call it with [`PaceStep::Attempt`] before the password
    /// is checked, and with [`PaceStep::Success`] if it was right. `user` is the entered text. All instances share the
    /// counts.
    ///
    /// ```
    /// # turno_testkit::example(async |turno| {
    /// use turno::access::{PaceStep, PaceVerdict};
    /// for _ in 0..20 {
    ///     turno.pace_sign_in("192.0.2.7", "ana", PaceStep::Attempt).await?;
    /// }
    /// let guesser = turno.pace_sign_in("192.0.2.7", "ana", PaceStep::Attempt).await?;
    /// assert!(matches!(guesser, PaceVerdict::Refused { .. }));
    /// let ana = turno.pace_sign_in("192.0.2.8", "ana", PaceStep::Attempt).await?;
    /// assert!(matches!(ana, PaceVerdict::Allowed { .. }), "only the guesser is refused");
    /// # Ok(()) });
    /// ```
    pub async fn pace_sign_in(&self, source: &str, user: &str, step: PaceStep) -> Result<PaceVerdict, Error> {
        Ok(self.store()?.pace_sign_in(PaceKeys::new(source, user), step).await?)
    }

    /// Opens a console session as [`Turno::open_session`] does. The audit entry says how the person signed in.
    ///
    /// ```
    /// # use turno::access::{NewPerson, Role};
    /// # turno_testkit::example(async |turno| {
    /// use std::time::Duration;
    /// use turno::access::{SignIn, SignInMethod};
    /// turno.add_person(NewPerson::new("ana", "Ana", Role::Editor)?).await?;
    /// let by = SignIn { method: SignInMethod::Password, source: "192.0.2.7".to_owned() };
    /// let (_, secret) = turno.sign_in("ana".try_into()?, Duration::from_secs(3600), by).await?;
    /// assert!(turno.authenticate(&secret).await.is_ok());
    /// # Ok(()) });
    /// ```
    pub async fn sign_in(&self, user: UserId, ttl: Duration, by: SignIn) -> Result<(Token, String), Error> {
        self.open_session_by(user, ttl, Some(by)).await
    }

    /// Writes one audit entry about failed sign-ins. Entries cannot be deleted, so the caller bounds their number.
    ///
    /// ```
    /// # turno_testkit::example(async |turno| {
    /// use turno::access::FailedSignIns;
    /// let failures = FailedSignIns { user: None, source: "192.0.2.7".to_owned(), failed: 3, refused: 0 };
    /// turno.record_failed_sign_ins(failures).await?;
    /// # Ok(()) });
    /// ```
    pub async fn record_failed_sign_ins(&self, failures: FailedSignIns) -> Result<(), Error> {
        self.store()?;
        self.change_access(Change::RecordFailures(failures)).await.map(drop)
    }

    /// Returns the purpose of a link and does not use it up. Returns `None` if the link is unknown, used or expired.
    ///
    /// ```
    /// # turno_testkit::example(async |turno| {
    /// use std::time::Duration;
    /// use turno::access::LinkFor;
    /// let secret = turno.make_link(LinkFor::Setup, Duration::from_secs(3600)).await?;
    /// assert_eq!(turno.peek_link(&secret).await?, Some(LinkFor::Setup));
    /// assert_eq!(turno.redeem_link(&secret).await?, Some(LinkFor::Setup), "the link was not used up");
    /// # Ok(()) });
    /// ```
    pub async fn peek_link(&self, secret: &str) -> Result<Option<LinkFor>, Error> {
        let store = self.store()?;
        let Some(hash) = secret::hash(secret) else {
            return Ok(None);
        };
        let link = store.link(hash).await?;
        Ok(link.filter(|link| self.inner.clock.estimate() < link.expires_at).map(|link| link.to))
    }
}
