//! Calls that show a secret once, under a key: what is kept of their answer is what was made, never its secret.
//!
//! So a repetition cannot be answered as the first time. It makes nothing either, and says what was made, which can be
//! revoked if its secret was lost.

use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use turno::Answer;
use turno::core::audit::Hash;

use super::{Call, Repeatable};
use crate::http::app::Shared;
use crate::http::extract::Json;
use crate::http::problem::{Code, Problem};

/// A token that was made, and the answer that shows its secret.
#[derive(Debug)]
pub(crate) struct Revealed<R> {
    pub(crate) id: String,
    pub(crate) body: R,
}

impl<T> Repeatable<T> {
    /// Two calls are the same if these texts are; for bodies that hold a password, of which no quick hash may be kept.
    pub(crate) fn told_apart_by(mut self, text: impl FnOnce(&T) -> String) -> Repeatable<T> {
        if let Some(call) = &mut self.call {
            call.fingerprint = Hash(*blake3::hash(text(&self.body).as_bytes()).as_bytes());
        }
        self
    }

    /// Makes a token and shows its secret; a repetition is told which one was made.
    pub(crate) async fn reveal<R, F>(self, app: &Shared, make: impl FnOnce(T) -> F) -> Result<Response, Problem>
    where
        R: Serialize + Send + 'static,
        F: Future<Output = Result<Revealed<R>, Problem>> + Send + 'static,
    {
        let Repeatable { body, call } = self;
        let making = make(body);
        let made = match call {
            None => making.await?,
            Some(call) => {
                let app = app.clone();
                // To its end also if the client has left: a token that nobody knows of must at least be kept account of.
                let running = tokio::spawn(async move { call.once(&app, making).await });
                running.await.map_err(|_| Problem::new(Code::Internal))??
            }
        };
        Ok((StatusCode::CREATED, [(header::CACHE_CONTROL, "no-store")], Json(made.body)).into_response())
    }
}

impl Call {
    async fn once<R>(
        self,
        app: &Shared,
        making: impl Future<Output = Result<Revealed<R>, Problem>>,
    ) -> Result<Revealed<R>, Problem> {
        let turn = app.repeats.turn(&self.scope, &self.key);
        let _turn = turn.lock().await;
        if let Some(kept) = app.trusted().answer(&self.scope, &self.key).await? {
            return Err(self.made_before(&kept));
        }
        let made = making.await?;
        let answer = Answer { fingerprint: self.fingerprint, status: 201, body: made.id.clone() };
        let kept = app.trusted().keep_answer(&self.scope, &self.key, answer.clone()).await;
        match kept {
            Ok(kept) if kept == answer => Ok(made),
            other => {
                // Another instance was first, or nobody could be told later: one token too many is none.
                app.trusted().revoke_token(&made.id).await?;
                Err(other.map_or_else(Problem::from, |kept| self.made_before(&kept)))
            }
        }
    }

    fn made_before(&self, kept: &Answer) -> Problem {
        if kept.fingerprint != self.fingerprint {
            return Problem::new(Code::KeyReused);
        }
        Problem::new(Code::AlreadyCreated).arg("thing", format_args!("token {}", kept.body)).with("id", &kept.body)
    }
}
