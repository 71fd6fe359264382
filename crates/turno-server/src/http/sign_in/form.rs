//! The bodies of sign-in calls, from forms and from programs.

use axum::extract::{FromRequest, Request};
use axum::http::{HeaderMap, header};
use serde::de::DeserializeOwned;

use crate::http::extract::Json;
use crate::http::problem::{Code, Problem};
use crate::texts::message::Message;

/// How the caller wants the answer: in the format of its request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    /// A form of a page, answered with a page or a redirect.
    Form,
    /// A program, answered with JSON.
    Json,
}

impl Format {
    pub(super) fn from_headers(headers: &HeaderMap) -> Format {
        let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        let essence = kind.split(';').next().unwrap_or_default().trim();
        if essence.eq_ignore_ascii_case("application/x-www-form-urlencoded") { Format::Form } else { Format::Json }
    }
}

/// A body from a form or a program. A parse error is kept, because a form's errors are shown on its page.
pub(super) struct Submitted<T> {
    format: Format,
    body: Result<T, Problem>,
}

impl<T> Submitted<T> {
    pub(super) fn format(&self) -> Format {
        self.format
    }

    /// Returns a part of the body for the page, which shows the entered values again.
    pub(super) fn peek<U>(&self, take: impl FnOnce(&T) -> U) -> Option<U> {
        self.body.as_ref().ok().map(take)
    }

    pub(super) fn read(self) -> Result<T, Problem> {
        self.body
    }
}

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Submitted<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let format = Format::from_headers(request.headers());
        let body = match format {
            Format::Json => Json::from_request(request, state).await.map(|Json(body)| body),
            Format::Form => match axum::Form::from_request(request, state).await {
                Ok(axum::Form(body)) => Ok(body),
                Err(_) => Err(Problem::new(Code::BadBody).cause(Message::new("json-form"))),
            },
        };
        Ok(Submitted { format, body })
    }
}
