//! The memory of large answers: lists and claims of items.
//!
//! Answers share a budget, and one caller may hold a quarter of it. A list reserves what it may need before it reads
//! from the database. A claim cannot know its size before, and is limited by the bytes that one transaction hands out;
//! its answer counts until it is sent, and a caller whose answers use up its quarter gets no new work.
//!
//! An answer goes to the connection in small pieces, so that a slow reader holds the answer and no second copy, and
//! memory is freed when the last piece is sent or the client is gone.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use http_body::{Frame, SizeHint};
use serde::Serialize;
use tokio::sync::Notify;

use super::caller::{Caller, CallerId};
use super::problem::{Code, Problem};

/// An answer of this size costs no more than the buffers of its connection, and is not counted.
pub(super) const LARGE: usize = 64 << 10;
/// The memory of all large answers.
const TOTAL: usize = 64 << 20;
/// The part of it that one caller may hold.
const PART: usize = TOTAL / 4;
/// How long a list waits for memory.
const PATIENCE: Duration = Duration::from_secs(10);

/// The memory of large answers.
#[derive(Clone, Debug, Default)]
pub(super) struct Answers(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    held: Mutex<Held>,
    freed: Notify,
}

#[derive(Debug, Default)]
struct Held {
    total: usize,
    by_caller: HashMap<CallerId, usize>,
}

impl Held {
    /// Returns whether an answer of this size has to wait, and for whose answers. One answer alone always fits.
    fn refusal(&self, caller: &CallerId, bytes: usize) -> Option<Code> {
        let mine = self.by_caller.get(caller).copied().unwrap_or(0);
        if mine > 0 && mine.saturating_add(bytes) > PART {
            return Some(Code::TooMany);
        }
        (self.total > 0 && self.total.saturating_add(bytes) > TOTAL).then_some(Code::Overloaded)
    }

    fn try_reserve(&mut self, caller: &CallerId, bytes: usize) -> bool {
        let fits = self.refusal(caller, bytes).is_none();
        if fits {
            self.add(caller, bytes);
        }
        fits
    }

    fn add(&mut self, caller: &CallerId, bytes: usize) {
        self.total = self.total.saturating_add(bytes);
        *self.by_caller.entry(caller.clone()).or_default() += bytes;
    }
}

/// Memory that an answer holds. Freed when dropped.
#[derive(Debug)]
pub(super) struct AnswerMemory {
    answers: Answers,
    caller: CallerId,
    bytes: usize,
}

impl Answers {
    fn lock(&self) -> MutexGuard<'_, Held> {
        self.0.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reserves memory, and waits for other answers to be sent. Returns `too_many_requests` if the caller's own answers
    /// stay, and `overloaded` if those of others do.
    pub(super) async fn reserve(&self, caller: &Caller, bytes: usize) -> Result<AnswerMemory, Problem> {
        let id = CallerId::from_caller(caller);
        let wait = async {
            loop {
                let freed = self.0.freed.notified();
                tokio::pin!(freed);
                freed.as_mut().enable();
                if self.lock().try_reserve(&id, bytes) {
                    return;
                }
                freed.await;
            }
        };
        if tokio::time::timeout(PATIENCE, wait).await.is_err() {
            return Err(Problem::new(self.lock().refusal(&id, bytes).unwrap_or(Code::TooMany)));
        }
        Ok(AnswerMemory { answers: self.clone(), caller: id, bytes })
    }

    /// Counts an answer that exists already.
    pub(super) fn add(&self, caller: &Caller, bytes: usize) -> AnswerMemory {
        let caller = CallerId::from_caller(caller);
        let bytes = if bytes > LARGE { bytes } else { 0 };
        if bytes > 0 {
            self.lock().add(&caller, bytes);
        }
        AnswerMemory { answers: self.clone(), caller, bytes }
    }
}

impl AnswerMemory {
    /// Renders a value as JSON, and keeps its memory until it is sent. A small answer frees the memory at once.
    pub(super) fn answer<T: Serialize>(mut self, value: &T) -> Response {
        let Ok(json) = serde_json::to_vec(value) else { return Problem::new(Code::Internal).into_response() };
        let content_type = [(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))];
        if json.len() <= LARGE {
            return (content_type, json).into_response();
        }
        self.shrink(json.len());
        let body = HeldBody { rest: Bytes::from(json), _memory: self };
        (content_type, Body::new(body)).into_response()
    }

    /// Frees what is beyond this many bytes.
    fn shrink(&mut self, bytes: usize) {
        let more = self.bytes.saturating_sub(bytes);
        self.free(more);
        self.bytes -= more;
    }

    fn free(&self, bytes: usize) {
        if bytes == 0 {
            return;
        }
        let mut held = self.answers.lock();
        held.total = held.total.saturating_sub(bytes);
        if let Some(mine) = held.by_caller.get_mut(&self.caller) {
            *mine = mine.saturating_sub(bytes);
            if *mine == 0 {
                held.by_caller.remove(&self.caller);
            }
        }
        drop(held);
        self.answers.0.freed.notify_waiters();
    }
}

impl Drop for AnswerMemory {
    fn drop(&mut self) {
        self.free(self.bytes);
    }
}

/// The rest of an answer.
struct HeldBody {
    rest: Bytes,
    _memory: AnswerMemory,
}

impl http_body::Body for HeldBody {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        if self.rest.is_empty() {
            return Poll::Ready(None);
        }
        let piece = self.rest.len().min(LARGE);
        let piece = self.rest.split_to(piece);
        Poll::Ready(Some(Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.rest.len() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(name: &str) -> CallerId {
        CallerId::user(name.try_into().expect("a valid id"))
    }

    #[test]
    fn caller_holds_at_most_a_quarter_and_one_answer_always_fits() {
        let mut held = Held::default();
        assert_eq!(held.refusal(&id("ana"), 10 * TOTAL), None, "one answer alone");
        (held.total, held.by_caller) = (PART, HashMap::from([(id("ana"), PART)]));
        assert_eq!(held.refusal(&id("ana"), 1), Some(Code::TooMany));
        assert_eq!(held.refusal(&id("leo"), PART), None);
        held.total = TOTAL;
        assert_eq!(held.refusal(&id("leo"), 1), Some(Code::Overloaded));
    }
}
