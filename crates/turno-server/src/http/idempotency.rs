//! `Idempotency-Key`: a repeated creating call gets the answer of the first one.
//!
//! The answer is stored under the caller, the route and the key, with a fingerprint of the request. Only successes are
//! stored, because a refusal changed nothing and may be tried again. An effect that can store the key itself receives
//! it, so that even a crash between effect and answer does not repeat the effect.

mod secret;

pub(crate) use secret::Revealed;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use axum::extract::{FromRequest, MatchedPath, Request};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde::de::DeserializeOwned;
use turno::Answer;
use turno::core::audit::Hash;
use turno::id::Once;

use super::app::Shared;
use super::caller::Caller;
use super::extract;
use super::problem::{Code, Problem};

/// The header with the client's key.
const KEY: HeaderName = HeaderName::from_static("idempotency-key");
/// The header that marks a repeated answer.
const REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");
/// The longest key, in characters.
const KEY_MAX: usize = 200;

/// The body of a call that may be repeated under a key.
#[derive(Debug)]
pub(crate) struct Repeatable<T> {
    body: T,
    call: Option<Call>,
}

/// A call with a key.
#[derive(Debug)]
struct Call {
    /// The caller and the route. Keys of different callers or routes are independent.
    scope: String,
    key: String,
    /// A hash of the path and the body.
    fingerprint: Hash,
}

/// What the call created, for the answer.
#[derive(Debug)]
pub(crate) struct Made<R> {
    pub(crate) status: StatusCode,
    pub(crate) body: R,
    /// True if the effect had stored the key, so it was created before.
    pub(crate) repeated: bool,
}

impl<T: DeserializeOwned> FromRequest<Shared> for Repeatable<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &Shared) -> Result<Self, Problem> {
        let key = key(request.headers())?;
        let user = request.extensions().get::<Caller>().and_then(|caller| caller.0.principal());
        let route = request.extensions().get::<MatchedPath>().map_or("", MatchedPath::as_str);
        let scope = user.map_or_else(String::new, |user| {
            let via = user.via.as_ref().map_or_else(String::new, |via| format!(" via {via}"));
            format!("{} {route} {}{via}", request.method(), user.user)
        });
        let path = request.uri().path().to_owned();
        let bytes = extract::bytes(request.into_body()).await?;
        let body = extract::parse(&bytes)?;
        let call = key.map(|key| {
            let mut hasher = blake3::Hasher::new();
            hasher.update(path.as_bytes()).update(b"\n").update(&bytes);
            Call { scope, key, fingerprint: Hash(*hasher.finalize().as_bytes()) }
        });
        Ok(Repeatable { body, call })
    }
}

fn key(headers: &HeaderMap) -> Result<Option<String>, Problem> {
    let Some(value) = headers.get(&KEY) else {
        return Ok(None);
    };
    let sane = |key: &&str| (1..=KEY_MAX).contains(&key.len()) && key.bytes().all(|byte| byte.is_ascii_graphic());
    let key = value.to_str().ok().filter(sane);
    let bad = || Problem::new(Code::BadHeader).arg("header", "Idempotency-Key").with("header", "Idempotency-Key");
    key.map(|key| Some(key.to_owned())).ok_or_else(bad)
}

impl<T> Repeatable<T> {
    /// Makes the call, or returns the stored answer. A call with a key runs to its end even if the client disconnects,
    /// so that the answer is stored when the client repeats it.
    pub(crate) async fn answer<R, F>(
        self,
        app: &Shared,
        make: impl FnOnce(T, Option<Once>) -> F,
    ) -> Result<Response, Problem>
    where
        R: Serialize + Send,
        F: Future<Output = Result<Made<R>, Problem>> + Send + 'static,
    {
        let Repeatable { body, call } = self;
        let Some(call) = call else {
            let made = make(body, None).await?;
            return Ok((made.status, extract::Json(made.body)).into_response());
        };
        let once = Once::new(&call.scope, &call.key)?;
        let making = make(body, Some(once));
        let app = app.clone();
        let running = tokio::spawn(async move { call.run(&app, making).await });
        running.await.map_err(|_| Problem::new(Code::Internal))?
    }
}

impl Call {
    async fn run<R: Serialize>(
        self,
        app: &Shared,
        making: impl Future<Output = Result<Made<R>, Problem>>,
    ) -> Result<Response, Problem> {
        let turn = app.repeats.lock_for(&self.scope, &self.key);
        let _turn = turn.lock().await;
        if let Some(kept) = app.trusted().answer(&self.scope, &self.key).await? {
            return self.replay(kept);
        }
        let made = making.await?;
        let body = serde_json::to_string(&made.body).map_err(|_| Problem::new(Code::Internal))?;
        let answer = Answer { fingerprint: self.fingerprint, status: made.status.as_u16(), body };
        if !made.status.is_success() {
            return Ok(response(answer, made.repeated));
        }
        match app.trusted().keep_answer(&self.scope, &self.key, answer.clone()).await {
            // Another server was first. A repeated call will get its answer, so this call returns the same.
            Ok(kept) if kept != answer => self.replay(kept),
            Ok(kept) => Ok(response(kept, made.repeated)),
            Err(error) => {
                // The effect has happened, so the caller must get the answer even if it could not be stored.
                tracing::warn!(%error, "failed to keep an answer for whoever repeats the call");
                Ok(response(answer, made.repeated))
            }
        }
    }

    fn replay(&self, kept: Answer) -> Result<Response, Problem> {
        if kept.fingerprint == self.fingerprint { Ok(response(kept, true)) } else { Err(Problem::new(Code::KeyReused)) }
    }
}

fn response(answer: Answer, replayed: bool) -> Response {
    let status = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::OK);
    let json = HeaderValue::from_static("application/json");
    let mut response = (status, [(header::CONTENT_TYPE, json)], answer.body).into_response();
    if replayed {
        response.headers_mut().insert(REPLAYED, HeaderValue::from_static("true"));
    }
    response
}

/// A lock per scope and key. It is removed once no call uses it.
type CallLocks = HashMap<(String, String), Weak<tokio::sync::Mutex<()>>>;

/// Locks for calls with a key in this process, so that two equal calls at once run one after the other.
#[derive(Debug, Default)]
pub(crate) struct Repeats(Mutex<CallLocks>);

impl Repeats {
    fn lock_for(&self, scope: &str, key: &str) -> Arc<tokio::sync::Mutex<()>> {
        let mut locks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        locks.retain(|_, turn| turn.strong_count() > 0);
        let turn = locks.entry((scope.to_owned(), key.to_owned())).or_default();
        turn.upgrade().unwrap_or_else(|| {
            let fresh = Arc::new(tokio::sync::Mutex::new(()));
            *turn = Arc::downgrade(&fresh);
            fresh
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_must_be_visible_and_short() {
        let headers =
            |value: &str| HeaderMap::from_iter([(KEY, HeaderValue::from_str(value).expect("a valid header"))]);
        assert_eq!(key(&HeaderMap::new()).expect("a missing key is valid"), None);
        let longest = "k".repeat(KEY_MAX);
        for good in ["a", "0b5c-1", longest.as_str()] {
            assert_eq!(key(&headers(good)).expect("a valid key").as_deref(), Some(good));
        }
        for bad in ["", "two words", "ñ", "k".repeat(KEY_MAX + 1).as_str()] {
            assert_eq!(key(&headers(bad)).expect_err("an invalid key").code(), Code::BadHeader, "{bad:?}");
        }
    }

    #[test]
    fn equal_calls_share_a_lock() {
        let repeats = Repeats::default();
        let first = repeats.lock_for("POST /v1/tasks ana", "k");
        assert!(Arc::ptr_eq(&first, &repeats.lock_for("POST /v1/tasks ana", "k")));
        assert!(!Arc::ptr_eq(&first, &repeats.lock_for("POST /v1/tasks leo", "k")));
        drop(first);
        let _other = repeats.lock_for("POST /v1/tasks ana", "other");
        assert_eq!(repeats.0.lock().expect("not poisoned").len(), 1, "the unused lock is removed");
    }
}
