//! Strict extraction of bodies, paths and queries: an unknown or bad field is refused by name, and nothing changes.
//!
//! The types have the names of axum's own, because utoipa recognises the handlers' arguments by them.

mod fault;
mod objects;
mod query;

use axum::body::{Body, Bytes};
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use http_body_util::BodyExt;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::problem::{Code, Problem};
use crate::texts::causes::Cause;
use crate::texts::message::Message;
use fault::BadValue;
use objects::{Kept, Objects};

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
    let whole = body.collect().await.map_err(|_| Problem::new(Code::BadBody).cause(Message::new("json-broke-off")))?;
    Ok(whole.to_bytes())
}

/// Parses a body. An absent body counts as an empty object, so that a missing field is reported by name.
pub(super) fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Problem> {
    let bytes = if bytes.trim_ascii().is_empty() { b"{}" } else { bytes };
    if let Ok(body) = read(bytes, &Kept::default()) {
        return Ok(body);
    }
    check_syntax(bytes)?;
    // Finding the path of the bad field costs more, so it happens only after an error.
    let kept = Kept::traced();
    let bad = read::<T>(bytes, &kept).err().unwrap_or(BadValue::Other);
    Err(wrong_field(&kept.path(), &bad))
}

fn read<T: DeserializeOwned>(bytes: &[u8], kept: &Kept) -> Result<T, BadValue> {
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let body = T::deserialize(Objects::new(&mut reader, kept))?;
    reader.end().map_err(|error| BadValue::syntax(&error))?;
    Ok(body)
}

/// Refuses a text that is not JSON. The strict reader does not tell a syntax error from a wrong type.
fn check_syntax(bytes: &[u8]) -> Result<(), Problem> {
    match serde_json::from_slice::<serde::de::IgnoredAny>(bytes) {
        Ok(_) => Ok(()),
        Err(error) => Err(Problem::new(Code::BadBody).cause(BadValue::syntax(&error))),
    }
}

fn wrong_field(within: &str, bad: &BadValue) -> Problem {
    // The path ends at the object, if a field is missing or unknown.
    let field = match (within, bad.named()) {
        ("", Some(named)) => named.to_owned(),
        (within, Some(named)) => format!("{within}.{named}"),
        ("", None) => return Problem::new(Code::BadBody).cause(bad.message()),
        (within, _) => within.to_owned(),
    };
    Problem::new(Code::BadField).field(&field).arg("fault", bad.variant()).cause(bad.message())
}

/// Returns the message of a text that is not JSON.
pub(crate) fn syntax_message(error: &serde_json::Error) -> Message {
    BadValue::syntax(error).message()
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
        let read = query::read(parts.uri.query().unwrap_or_default().as_bytes());
        read.map(Query).map_err(|(field, bad)| match field {
            Some(field) => Problem::query(&field, bad),
            None => Problem::new(Code::BadQuery).cause(bad),
        })
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
        kind: Option<Kind>,
        limits: Option<std::collections::BTreeMap<String, i64>>,
    }

    #[derive(Debug, serde::Deserialize, PartialEq)]
    #[serde(rename_all = "snake_case", deny_unknown_fields)]
    enum Kind {
        Lane { gap: i64 },
        Plain(i64),
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
            (r#"{"kind":{"lane":{"gap":"x"}}}"#, "kind.lane.gap"),
            (r#"{"kind":{"lane":{}}}"#, "kind.lane.gap"),
            (r#"{"kind":{"plain":[]}}"#, "kind.plain"),
            (r#"{"kind":{"other":1}}"#, "kind"),
            (r#"{"limits":{"a":1,"b":null}}"#, "limits.b"),
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
        assert_eq!(
            parse::<Claim>(b" \n").ok(),
            Some(Claim { instance: None, entries: None, kind: None, limits: None })
        );
    }
}
