//! `Idempotency-Key`: a creating call that is repeated is answered as it was the first time.
//!
//! The answer is kept under the caller, the route and the key, with a fingerprint of what was asked. Only what succeeded
//! is kept: a refusal changed nothing and may be tried again. An effect that can remember its key itself is given it,
//! so that not even a crash between effect and answer lets it happen twice.

mod secret;

pub(crate) use secret::Revealed;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use axum::extract::{FromRequest, MatchedPath, Request};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde::de::DeserializeOwned;
use turno::core::audit::Hash;
use turno::{Answer, Once};

use super::app::Shared;
use super::caller::Caller;
use super::extract;
use super::problem::{Code, Problem};

/// What a client calls a request that it may have to repeat.
const KEY: HeaderName = HeaderName::from_static("idempotency-key");
/// Says that an answer is an old one.
const REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");
/// Longest key, in characters.
const KEY_MAX: usize = 200;

/// The body of a call that may be repeated under a key.
#[derive(Debug)]
pub(crate) struct Repeatable<T> {
    body: T,
    call: Option<Call>,
}

/// A call under a key.
#[derive(Debug)]
struct Call {
    /// Caller and route: keys of different ones have nothing to do with each other.
    scope: String,
    key: String,
    /// Of path and body.
    fingerprint: Hash,
}

/// What was made, for the answer.
#[derive(Debug)]
pub(crate) struct Made<R> {
    pub(crate) status: StatusCode,
    pub(crate) body: R,
    /// The effect remembered its key: it was made before.
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
    /// Does it, or says again what was said when it was done. With a key it goes on to its end also if the client has
    /// left, so that the answer is there when the client comes back.
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
        let running = tokio::spawn(async move { call.first_or_again(&app, making).await });
        running.await.map_err(|_| Problem::new(Code::Internal))?
    }
}

impl Call {
    async fn first_or_again<R: Serialize>(
        self,
        app: &Shared,
        making: impl Future<Output = Result<Made<R>, Problem>>,
    ) -> Result<Response, Problem> {
        let turn = app.repeats.turn(&self.scope, &self.key);
        let _turn = turn.lock().await;
        if let Some(kept) = app.trusted().answer(&self.scope, &self.key).await? {
            return self.replayed(kept);
        }
        let made = making.await?;
        let body = serde_json::to_string(&made.body).map_err(|_| Problem::new(Code::Internal))?;
        let answer = Answer { fingerprint: self.fingerprint, status: made.status.as_u16(), body };
        if !made.status.is_success() {
            return Ok(response(answer, made.repeated));
        }
        match app.trusted().keep_answer(&self.scope, &self.key, answer.clone()).await {
            // Another instance was first; whoever repeats will hear its answer, so this one says the same.
            Ok(kept) if kept != answer => self.replayed(kept),
            Ok(kept) => Ok(response(kept, made.repeated)),
            Err(error) => {
                // What was made is made, and the caller must hear of it.
                tracing::warn!(%error, "failed to keep an answer for whoever repeats the call");
                Ok(response(answer, made.repeated))
            }
        }
    }

    fn replayed(&self, kept: Answer) -> Result<Response, Problem> {
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

/// By scope and key; gone with the last who waits for it.
type Turns = HashMap<(String, String), Weak<tokio::sync::Mutex<()>>>;

/// Keyed calls under way in this process: the same one asked for twice at once is one.
#[derive(Debug, Default)]
pub(crate) struct Repeats(Mutex<Turns>);

impl Repeats {
    fn turn(&self, scope: &str, key: &str) -> Arc<tokio::sync::Mutex<()>> {
        let mut under_way = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        under_way.retain(|_, turn| turn.strong_count() > 0);
        let turn = under_way.entry((scope.to_owned(), key.to_owned())).or_default();
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
    fn a_key_is_visible_and_not_too_long() {
        let headers = |value: &str| HeaderMap::from_iter([(KEY, HeaderValue::from_str(value).expect("a header"))]);
        assert_eq!(key(&HeaderMap::new()).expect("none is good"), None);
        let longest = "k".repeat(KEY_MAX);
        for good in ["a", "0b5c-1", longest.as_str()] {
            assert_eq!(key(&headers(good)).expect("good").as_deref(), Some(good));
        }
        for bad in ["", "two words", "ñ", "k".repeat(KEY_MAX + 1).as_str()] {
            assert_eq!(key(&headers(bad)).expect_err("bad").code(), Code::BadHeader, "{bad:?}");
        }
    }

    #[test]
    fn the_same_call_under_way_has_one_turn_and_another_its_own() {
        let repeats = Repeats::default();
        let first = repeats.turn("POST /v1/tasks ana", "k");
        assert!(Arc::ptr_eq(&first, &repeats.turn("POST /v1/tasks ana", "k")));
        assert!(!Arc::ptr_eq(&first, &repeats.turn("POST /v1/tasks leo", "k")));
        drop(first);
        let _other = repeats.turn("POST /v1/tasks ana", "other");
        assert_eq!(repeats.0.lock().expect("whole").len(), 1, "what is over is forgotten");
    }
}
