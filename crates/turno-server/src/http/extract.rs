//! Bodies, paths and queries, read strictly: what is not understood is refused with its name, and nothing is changed.
//!
//! They carry the names of axum's own, so that the OpenAPI document is generated from the handlers' arguments.

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

/// A JSON body, in or out.
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

/// An absent body is as good as an empty object: what must be there is then named as missing.
pub(super) fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Problem> {
    let bytes = if bytes.trim_ascii().is_empty() { b"{}" } else { bytes };
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let read = T::deserialize(Objects(&mut reader)).and_then(|body| reader.end().map(|()| body));
    // Which field it was costs a slower way of reading, taken only once it is known that one is wrong.
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
    // The reader also speaks of syntax where a word of a list was expected and something else stood.
    let sound = || serde_json::from_slice::<serde::de::IgnoredAny>(bytes).is_ok();
    if (cause.is_syntax() || cause.is_eof() || cause.is_io()) && !sound() {
        return Problem::new(Code::BadBody).cause(cause);
    }
    let said = without_types(&cause.to_string());
    let path = error.path().to_string();
    let within = if path == "." { "" } else { path.as_str() };
    // A missing or unknown field is named in the sentence, not in the path to it.
    let named =
        said.split('`').nth(1).filter(|_| said.starts_with("missing field") || said.starts_with("unknown field"));
    let missing = said.starts_with("missing field");
    let field = match (within, named) {
        ("", Some(named)) => named.to_owned(),
        (within, Some(named)) if within.rsplit('.').next() != Some(named) => format!("{within}.{named}"),
        ("", None) => return Problem::new(Code::BadBody).cause(said),
        (within, _) => within.to_owned(),
    };
    let fault = match named {
        Some(_) if missing => "missing",
        Some(_) => "unknown",
        None => "other",
    };
    // The field is named; where it stands in the text helps nobody besides.
    let said = said.rfind(" at line ").map_or(said.as_str(), |end| &said[..end]);
    Problem::new(Code::BadField).field(&field).arg("fault", fault).cause(said)
}

/// Without the names that our types happen to have: to whoever sends JSON they are objects.
pub(crate) fn without_types(said: &str) -> String {
    let Some((before, after)) = said.split_once("expected struct ") else { return said.to_owned() };
    let rest = after.trim_start_matches(|one: char| one.is_alphanumeric() || one == '_');
    format!("{before}expected an object{rest}")
}

/// The parts of a path; what is malformed names nothing that exists.
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

/// What follows the question mark.
#[derive(Clone, Debug)]
pub(crate) struct Query<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Query<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        match axum::extract::Query::<T>::try_from_uri(&parts.uri) {
            Ok(axum::extract::Query(value)) => Ok(Query(value)),
            Err(rejection) => {
                let said =
                    std::error::Error::source(&rejection).map_or_else(|| rejection.to_string(), |e| e.to_string());
                // `limit: invalid digit …`, or "unknown field `limt`, …".
                let named = said.split('`').nth(1).filter(|_| said.contains("field `"));
                let named = named.or_else(|| said.split_once(':').map(|(name, _)| name));
                let problem = Problem::new(Code::BadQuery);
                let problem = match named.filter(|name| !name.contains(' ')) {
                    Some(name) => problem.field(name),
                    None => problem,
                };
                Err(problem.cause(&said))
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
        let problem = parse::<Claim>(body).expect_err("it is no claim");
        problem.document(&Texts::load(), Language::English, None)
    }

    #[test]
    fn the_wrong_field_is_named() {
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
    fn what_is_no_json_is_refused_as_such() {
        for body in
            [&b"{"[..], b"\xff\xfe", b"nope", b"[1", br#"{"instance":"a"}{"#, b"[]", br#"["a",null]"#, b"1", b"null"]
        {
            assert_eq!(refused(body)["code"], "bad_body", "{body:?}");
        }
    }

    #[test]
    fn an_absent_body_is_an_empty_object() {
        assert_eq!(parse::<Claim>(b" \n").ok(), Some(Claim { instance: None, entries: None }));
    }
}
