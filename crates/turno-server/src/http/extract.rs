//! Strict extraction of bodies, paths and queries: an unknown or bad field is refused by name, and nothing changes.
//!
//! The types have the names of axum's own, because utoipa recognises the handlers' arguments by them.

mod objects;

use axum::body::{Body, Bytes};
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use http_body_util::BodyExt;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::problem::{Code, Problem};
use objects::Objects;

/// A JSON body of a request or an answer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Json<T>(pub(crate) T);

impl<T: Serialize> IntoResponse for Json<T> {
    fn into_response(self) -> Response {
        axum::Json(self.0).into_response()
    }
}

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Json<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Self, Problem> {
        parse(&bytes(request.into_body()).await?).map(Json)
    }
}

/// Returns the body, which the guard has read before the handler runs.
pub(super) async fn bytes(body: Body) -> Result<Bytes, Problem> {
    let whole = body.collect().await.map_err(|error| Problem::new(Code::BadBody).cause(error))?;
    Ok(whole.to_bytes())
}

/// Parses a body. An absent body counts as an empty object, so that a missing field is reported by name.
pub(super) fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Problem> {
    let bytes = if bytes.trim_ascii().is_empty() { b"{}" } else { bytes };
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let read = T::deserialize(Objects(&mut reader)).and_then(|body| reader.end().map(|()| body));
    // Finding the bad field needs a slower parser, so it runs only after an error.
    read.map_err(|_| {
        let mut reader = serde_json::Deserializer::from_slice(bytes);
        match serde_path_to_error::deserialize::<_, T>(Objects(&mut reader)) {
            Err(error) => wrong_field(bytes, &error),
            Ok(_) => match reader.end() {
                Err(error) => Problem::new(Code::BadBody).cause(error),
                Ok(()) => Problem::new(Code::BadBody),
            },
        }
    })
}

fn wrong_field(bytes: &[u8], error: &serde_path_to_error::Error<serde_json::Error>) -> Problem {
    let cause = error.inner();
    // The parser also reports a syntax error if an enum has the wrong JSON type. The body is still valid JSON then.
    let sound = || serde_json::from_slice::<serde::de::IgnoredAny>(bytes).is_ok();
    if (cause.is_syntax() || cause.is_eof() || cause.is_io()) && !sound() {
        return Problem::new(Code::BadBody).cause(cause);
    }
    let text = without_types(&cause.to_string());
    let path = error.path().to_string();
    let within = if path == "." { "" } else { path.as_str() };
    // For a missing or unknown field, the message names the field and the path does not.
    let named =
        text.split('`').nth(1).filter(|_| text.starts_with("missing field") || text.starts_with("unknown field"));
    let missing = text.starts_with("missing field");
    let field = match (within, named) {
        ("", Some(named)) => named.to_owned(),
        (within, Some(named)) if within.rsplit('.').next() != Some(named) => format!("{within}.{named}"),
        ("", None) => return Problem::new(Code::BadBody).cause(text),
        (within, _) => within.to_owned(),
    };
    let fault = match named {
        Some(_) if missing => "missing",
        Some(_) => "unknown",
        None => "other",
    };
    // The field is named, so the position in the text is cut.
    let text = text.rfind(" at line ").map_or(text.as_str(), |end| &text[..end]);
    Problem::new(Code::BadField).field(&field).arg("fault", fault).cause(text)
}

/// Removes names of Rust types from a message. A client that sends JSON knows them as objects.
pub(crate) fn without_types(text: &str) -> String {
    let Some((before, after)) = text.split_once("expected struct ") else { return text.to_owned() };
    let rest = after.trim_start_matches(|c: char| c.is_alphanumeric() || c == '_');
    format!("{before}expected an object{rest}")
}

/// The parameters of a path. A malformed path is not found.
#[derive(Clone, Debug)]
pub(crate) struct Path<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for Path<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        match axum::extract::Path::<T>::from_request_parts(parts, state).await {
            Ok(axum::extract::Path(value)) => Ok(Path(value)),
            Err(_) => Err(Problem::new(Code::NotFound).arg("thing", parts.uri.path())),
        }
    }
}

/// The query string.
#[derive(Clone, Debug)]
pub(crate) struct Query<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Query<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        match axum::extract::Query::<T>::try_from_uri(&parts.uri) {
            Ok(axum::extract::Query(value)) => Ok(Query(value)),
            Err(rejection) => {
                let text =
                    std::error::Error::source(&rejection).map_or_else(|| rejection.to_string(), |e| e.to_string());
                // The text is like `limit: invalid digit …`, or like "unknown field `limt`, …".
                let named = text.split('`').nth(1).filter(|_| text.contains("field `"));
                let named = named.or_else(|| text.split_once(':').map(|(name, _)| name));
                let problem = Problem::new(Code::BadQuery);
                let problem = match named.filter(|name| !name.contains(' ')) {
                    Some(name) => problem.field(name),
                    None => problem,
                };
                Err(problem.cause(&text))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::texts::{Language, Texts};

    #[derive(Debug, serde::Deserialize, PartialEq)]
    #[serde(deny_unknown_fields)]
    struct Claim {
        instance: Option<String>,
        entries: Option<Vec<Entry>>,
    }

    #[derive(Debug, serde::Deserialize, PartialEq)]
    #[serde(deny_unknown_fields)]
    struct Entry {
        fence: i64,
    }

    fn refused(body: &[u8]) -> serde_json::Value {
        let problem = parse::<Claim>(body).expect_err("the body is not a claim");
        problem.document(&Texts::load(), Language::English, None)
    }

    #[test]
    fn refused_field_is_named() {
        for (body, field) in [
            (r#"{"instance":1}"#, "instance"),
            (r#"{"instnace":"a"}"#, "instnace"),
            (r#"{"entries":[{"fence":1},{"fence":"x"}]}"#, "entries[1].fence"),
            (r#"{"entries":[{}]}"#, "entries[0].fence"),
            (r#"{"entries":[{"fence":1,"also":2}]}"#, "entries[0].also"),
            (r#"{"entries":[{"fence":1},[2]]}"#, "entries[1]"),
        ] {
            let problem = refused(body.as_bytes());
            assert_eq!((&problem["code"], &problem["field"]), (&"bad_field".into(), &field.into()), "{body}");
        }
    }

    #[test]
    fn body_that_is_not_a_json_object_is_refused() {
        for body in
            [&b"{"[..], b"\xff\xfe", b"nope", b"[1", br#"{"instance":"a"}{"#, b"[]", br#"["a",null]"#, b"1", b"null"]
        {
            assert_eq!(refused(body)["code"], "bad_body", "{body:?}");
        }
    }

    #[test]
    fn absent_body_counts_as_an_empty_object() {
        assert_eq!(parse::<Claim>(b" \n").ok(), Some(Claim { instance: None, entries: None }));
    }
}
