//! Calls with a key that show a secret once. The stored answer holds the id of what was created, never the secret.
//!
//! So a repeated call cannot get the same answer. It creates nothing, and returns the id of what was created. If the
//! secret was lost, the token can be revoked by that id.

use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use turno::Answer;
use turno::core::audit::Hash;
use turno::core::fault::Thing;

use super::{Call, Repeatable};
use crate::http::app::Shared;
use crate::http::extract::Json;
use crate::http::problem::{Code, Problem};

/// A created token, and the answer that shows its secret.
#[derive(Debug)]
pub(crate) struct Revealed<R> {
    pub(crate) id: String,
    pub(crate) body: R,
}

impl<T> Repeatable<T> {
    /// Uses a hash of this text as the fingerprint. For bodies with a password, because a fast hash of a password must
    /// not be stored.
    pub(crate) fn fingerprint_of(mut self, text: impl FnOnce(&T) -> String) -> Repeatable<T> {
        if let Some(call) = &mut self.call {
            call.fingerprint = Hash(*blake3::hash(text(&self.body).as_bytes()).as_bytes());
        }
        self
    }

    /// Creates a token and shows its secret. A repeated call gets the problem `already_created` with the token's id.
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
                // The call runs to its end even if the client disconnects, so that the id of the created token is
                // stored.
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
        let turn = app.repeats.lock_for(&self.scope, &self.key);
        let _turn = turn.lock().await;
        if let Some(kept) = app.trusted().answer(&self.scope, &self.key).await? {
            return Err(self.already_created(&kept));
        }
        let made = making.await?;
        let answer = Answer { fingerprint: self.fingerprint, status: 201, body: made.id.clone() };
        let kept = app.trusted().keep_answer(&self.scope, &self.key, answer.clone()).await;
        match kept {
            Ok(kept) if kept == answer => Ok(made),
            other => {
                // Another server was first, or the id could not be stored. The token of this call is revoked, because
                // no client will get it.
                app.trusted().revoke_token(&made.id).await?;
                Err(other.map_or_else(Problem::from, |kept| self.already_created(&kept)))
            }
        }
    }

    fn already_created(&self, kept: &Answer) -> Problem {
        if kept.fingerprint != self.fingerprint {
            return Problem::new(Code::KeyReused);
        }
        Problem::new(Code::AlreadyCreated).named("thing", Thing::Token(kept.body.clone())).with("id", &kept.body)
    }
}
