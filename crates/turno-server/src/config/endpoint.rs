//! Where deliveries are sent: `push` of a queue and `deliver` of a source.

use super::field::{Field, Shape, Wrong};
use super::queue::BadField;
use super::text;
use crate::failure::Failure;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Longer than this nobody should keep a delivery waiting for an answer.
const TIMEOUT_MAX_MS: i64 = 300_000;
const TIMEOUT_MIN_MS: i64 = 100;
const TIMEOUT_MS: i64 = 10_000;

const METHODS: &[&str] = &["POST", "PUT", "PATCH"];

/// The keys of an endpoint in the file.
pub(super) const FIELDS: &[Field] = &[
    Field { name: "url", shape: Shape::Text(text::endpoint_url) },
    Field { name: "method", shape: Shape::Choice(METHODS) },
    Field { name: "timeout_ms", shape: Shape::Whole(TIMEOUT_MIN_MS, TIMEOUT_MAX_MS) },
    Field { name: "secret_env", shape: Shape::Text(text::variable) },
];

/// An endpoint as it is written, in the file and over HTTP.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct EndpointFields {
    /// Where to send: http or https, without user and password; `{key}` stands for the key, percent-encoded.
    #[schema(example = "https://example.com/hooks/{key}")]
    pub(crate) url: String,
    /// `POST`, `PUT` or `PATCH`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(schema_with = method_schema)]
    pub(crate) method: Option<String>,
    /// How long an answer may take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 100, maximum = 300_000)]
    pub(crate) timeout_ms: Option<i64>,
    /// The server's variable with the secret that signs requests; without it they are unsigned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) secret_env: Option<String>,
}

fn method_schema() -> utoipa::openapi::Object {
    utoipa::openapi::ObjectBuilder::new()
        .schema_type(utoipa::openapi::schema::Type::String)
        .enum_values(Some(METHODS.iter().copied()))
        .build()
}

/// An endpoint that can be called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Endpoint {
    /// The URL, with `{key}` where the key belongs.
    pub(crate) url: String,
    /// The method.
    pub(crate) method: &'static str,
    /// How long an answer may take.
    pub(crate) timeout: Duration,
    /// The variable with the secret.
    pub(crate) secret_env: Option<String>,
}

impl EndpointFields {
    /// The endpoint, if everything about it is good; `method` where none is given.
    pub(crate) fn endpoint(&self, method: &'static str) -> Result<Endpoint, BadField> {
        text::endpoint_url(&self.url).map_err(|wrong| BadField::new("url", wrong))?;
        let method = match &self.method {
            None => method,
            Some(given) => METHODS.iter().find(|known| *known == given).copied().ok_or_else(|| {
                BadField::new("method", Wrong::new("must be POST, PUT or PATCH", "write one of them, in capitals"))
            })?,
        };
        let timeout = self.timeout_ms.unwrap_or(TIMEOUT_MS);
        if !(TIMEOUT_MIN_MS..=TIMEOUT_MAX_MS).contains(&timeout) {
            return Err(BadField::bound("timeout_ms", TIMEOUT_MIN_MS, TIMEOUT_MAX_MS));
        }
        if let Some(variable) = &self.secret_env {
            text::variable(variable).map_err(|wrong| BadField::new("secret_env", wrong))?;
        }
        Ok(Endpoint {
            url: self.url.clone(),
            method,
            timeout: Duration::from_millis(timeout.unsigned_abs()),
            secret_env: self.secret_env.clone(),
        })
    }
}

impl Endpoint {
    /// The secret that signs requests, if there is to be one. A variable that is not set is refused: unsigned requests
    /// would be sent where signed ones are expected.
    pub(crate) fn secret(&self, env: impl Fn(&str) -> Option<String>) -> Result<Option<String>, Failure> {
        let Some(variable) = &self.secret_env else { return Ok(None) };
        match env(variable).filter(|secret| !secret.is_empty()) {
            Some(secret) => Ok(Some(secret)),
            None => Err(Failure::usage(
                format!("the variable {variable}, which is to sign deliveries, is not set"),
                format!("set {variable} to the secret, or remove `secret_env` to send unsigned requests"),
            )),
        }
    }

    /// In a line, fit to be shown.
    pub(super) fn shown(&self) -> String {
        let signed =
            self.secret_env.as_ref().map_or("unsigned".to_owned(), |variable| format!("signed with {variable}"));
        format!("{} {} ({} ms, {signed})", self.method, text::without_query(&self.url), self.timeout.as_millis())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(json: serde_json::Value) -> EndpointFields {
        serde_json::from_value(json).unwrap()
    }

    #[test]
    fn what_is_not_said_has_a_default() {
        let endpoint = fields(serde_json::json!({"url": "http://127.0.0.1:9/x"})).endpoint("PUT").unwrap();
        assert_eq!((endpoint.method, endpoint.timeout), ("PUT", Duration::from_secs(10)));
        assert_eq!(endpoint.secret(|_| None).unwrap(), None);
    }

    #[test]
    fn each_wrong_field_is_named() {
        let wrong = [
            ("url", serde_json::json!({"url": "ftp://a/"})),
            ("method", serde_json::json!({"url": "http://a/", "method": "put"})),
            ("timeout_ms", serde_json::json!({"url": "http://a/", "timeout_ms": -1})),
            ("secret_env", serde_json::json!({"url": "http://a/", "secret_env": "the secret"})),
        ];
        for (field, json) in wrong {
            assert_eq!(fields(json).endpoint("POST").unwrap_err().field, field);
        }
    }

    #[test]
    fn a_secret_that_is_not_there_is_not_replaced_by_silence() {
        let json = serde_json::json!({"url": "http://a/?t=s3cret", "secret_env": "MODULE_SECRET"});
        let endpoint = fields(json).endpoint("POST").unwrap();
        assert!(endpoint.secret(|_| Some(String::new())).unwrap_err().cause.contains("MODULE_SECRET"));
        let found = endpoint.secret(|name| (name == "MODULE_SECRET").then(|| "s3cret".to_owned())).unwrap();
        assert_eq!(found.as_deref(), Some("s3cret"));
        assert!(!endpoint.shown().contains("s3cret"), "{}", endpoint.shown());
    }
}
