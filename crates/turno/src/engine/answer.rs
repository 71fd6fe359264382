//! Kept answers, for calls that are repeated with an idempotency key.
//!
//! A server keeps the answer to a creating call under the caller's key. The server may crash between the effect and
//! keeping the answer, so the effect must remember its key too, as a task does ([`NewTask::once`](crate::task::NewTask::once)).

use super::Turno;
use crate::error::Error;
use crate::store::Answer;
use turno_core::fault::{Fault, Invalid};
use turno_core::id::Once;
use turno_core::limits::{ANSWER_KEPT, PAYLOAD_MAX};
use turno_core::time::Time;

impl Turno {
    /// Returns the answer kept under a key within the last day. Only for the embedding program.
    ///
    /// ```
    /// # turno_testkit::example(async |turno| {
    /// assert_eq!(turno.answer("POST /v1/tasks ana", "key-1").await?, None);
    /// # Ok(()) });
    /// ```
    pub async fn answer(&self, scope: &str, key: &str) -> Result<Option<Answer>, Error> {
        let found = self.store()?.answer(Once::new(scope, key)?).await?;
        Ok(found.filter(|(_, at)| self.answers_lapsed() <= *at).map(|(answer, _)| answer))
    }

    /// Keeps an answer for a day. The first answer under a key wins. Returns the kept one.
    ///
    /// ```
    /// # turno_testkit::example(async |turno| {
    /// use turno::core::audit::Hash;
    /// use turno::store::Answer;
    /// let answer = |body: &str| Answer { fingerprint: Hash::default(), status: 201, body: body.to_owned() };
    /// turno.keep_answer("POST /v1/tasks ana", "key-1", answer("first")).await?;
    /// let kept = turno.keep_answer("POST /v1/tasks ana", "key-1", answer("second")).await?;
    /// assert_eq!(kept.body, "first");
    /// # Ok(()) });
    /// ```
    pub async fn keep_answer(&self, scope: &str, key: &str, answer: Answer) -> Result<Answer, Error> {
        if answer.body.len() > PAYLOAD_MAX {
            return Err(Invalid::new("body", Fault::TooLarge { max: PAYLOAD_MAX }).into());
        }
        if answer.body.contains('\0') {
            return Err(Invalid::new("body", Fault::Nul).into());
        }
        let (now, lapsed) = (self.inner.clock.estimate(), self.answers_lapsed());
        Ok(self.store()?.keep_answer(Once::new(scope, key)?, answer, now, lapsed).await?)
    }

    /// Answers kept before this time are ignored.
    fn answers_lapsed(&self) -> Time {
        Time(self.inner.clock.estimate().0.saturating_sub(ANSWER_KEPT.0))
    }
}
