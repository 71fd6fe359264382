//! What a form or a program sends to get in.

use axum::extract::{FromRequest, Request};
use axum::http::{HeaderMap, header};
use serde::de::DeserializeOwned;

use crate::http::extract::Json;
use crate::http::problem::{Code, Problem};

/// How somebody wants to be answered: as they asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// A page's form: with a page, or by being sent on.
    Form,
    /// A program: with JSON.
    Json,
}

impl Way {
    pub(super) fn of(headers: &HeaderMap) -> Way {
        let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        let essence = kind.split(';').next().unwrap_or_default().trim();
        if essence.eq_ignore_ascii_case("application/x-www-form-urlencoded") { Way::Form } else { Way::Json }
    }
}

/// A body of either kind. What is wrong with it is kept, because a form's mistakes are answered with its page.
pub(super) struct Submitted<T> {
    way: Way,
    body: Result<T, Problem>,
}

impl<T> Submitted<T> {
    pub(super) fn way(&self) -> Way {
        self.way
    }

    /// Something of it for the page, which shows again what was typed.
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
        let way = Way::of(request.headers());
        let body = match way {
            Way::Json => Json::from_request(request, state).await.map(|Json(body)| body),
            Way::Form => match axum::Form::from_request(request, state).await {
                Ok(axum::Form(body)) => Ok(body),
                Err(rejection) => Err(Problem::new(Code::BadBody).cause(rejection.body_text())),
            },
        };
        Ok(Submitted { way, body })
    }
}
