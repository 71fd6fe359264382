//! Where deliveries are sent: `push` of a queue and `deliver` of a source.

use super::field::{Field, Shape, Wrong};
use super::queue::BadField;
use super::text;
use crate::failure::Failure;
use serde::{Deserialize, Serialize};
use std::time::Duration;
use turno::core::limits::SPAN_MIN;
use turno::core::queue::Policy;
use turno::core::time::Span;

/// Longer than this nobody should keep a delivery waiting for an answer.
const TIMEOUT_MAX_MS: i64 = 300_000;
const TIMEOUT_MIN_MS: i64 = 100;
const TIMEOUT_MS: i64 = 10_000;

/// More calls at once are more than one receiver should get from one server.
const CONCURRENCY_MAX: i64 = 256;
const CONCURRENCY: i64 = 8;
/// A destination that is down is asked again at least this often.
pub(super) const PROBE_MAX_MS: i64 = 3_600_000;
pub(super) const PROBE_MS: i64 = 30_000;
/// Of the server's variables, only those that begin so can be named over the API: otherwise whoever may set an endpoint
/// could have anything signed with any secret of the server's.
pub(crate) const SECRET_PREFIX: &str = "TURNO_PUSH_SECRET";

const METHODS: &[&str] = &["POST", "PUT", "PATCH"];

const URL: Field = Field { name: "url", shape: Shape::Text(text::endpoint_url) };
const METHOD: Field = Field { name: "method", shape: Shape::Choice(METHODS) };
const TIMEOUT: Field = Field { name: "timeout_ms", shape: Shape::Whole(TIMEOUT_MIN_MS, TIMEOUT_MAX_MS) };
const SECRET: Field = Field { name: "secret_env", shape: Shape::Text(text::variable) };
const HANDS: Field = Field { name: "concurrency", shape: Shape::Whole(1, CONCURRENCY_MAX) };
const PROBE: Field = Field { name: "probe_ms", shape: Shape::Whole(SPAN_MIN.0, PROBE_MAX_MS) };

/// The keys of `push` in the file.
pub(super) const FIELDS: &[Field] = &[URL, METHOD, TIMEOUT, SECRET, HANDS, PROBE];
/// The keys of `deliver`: there the source itself has `probe_ms`.
pub(super) const DELIVER_FIELDS: &[Field] = &[URL, METHOD, TIMEOUT, SECRET, HANDS];

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
    /// The server's variable with the secret that signs requests; without it they are unsigned. Over the API its name
    /// must begin with `TURNO_PUSH_SECRET`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) secret_env: Option<String>,
    /// Calls at the same time, of each server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 256)]
    pub(crate) concurrency: Option<i64>,
    /// How often the destination is asked again while it is down as a whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 100, maximum = 3_600_000)]
    pub(crate) probe_ms: Option<i64>,
}

fn method_schema() -> utoipa::openapi::Object {
    use utoipa::openapi::schema::{SchemaType, Type};
    utoipa::openapi::ObjectBuilder::new()
        .schema_type(SchemaType::from_iter([Type::String, Type::Null]))
        .enum_values(Some(METHODS.iter().copied().map(Some).chain([None])))
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
    /// Calls at the same time.
    pub(crate) concurrency: usize,
    /// How often it is asked again while it is down.
    pub(crate) probe: Span,
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
        let bounded = |field, given: Option<i64>, default: i64, min: i64, max: i64| match given.unwrap_or(default) {
            good if (min..=max).contains(&good) => Ok(good),
            _ => Err(BadField::bound(field, min, max)),
        };
        let timeout = bounded("timeout_ms", self.timeout_ms, TIMEOUT_MS, TIMEOUT_MIN_MS, TIMEOUT_MAX_MS)?;
        let concurrency = bounded("concurrency", self.concurrency, CONCURRENCY, 1, CONCURRENCY_MAX)?;
        let probe = bounded("probe_ms", self.probe_ms, PROBE_MS, SPAN_MIN.0, PROBE_MAX_MS)?;
        if let Some(variable) = &self.secret_env {
            text::variable(variable).map_err(|wrong| BadField::new("secret_env", wrong))?;
        }
        Ok(Endpoint {
            url: self.url.clone(),
            method,
            timeout: Duration::from_millis(timeout.unsigned_abs()),
            secret_env: self.secret_env.clone(),
            concurrency: usize::try_from(concurrency).unwrap_or(1),
            probe: Span(probe),
        })
    }

    /// With the URL as it is kept, if this one is that with its query hidden: so what was read can be written back.
    pub(crate) fn unhidden(mut self, kept: Option<&EndpointFields>) -> EndpointFields {
        if let Some(kept) = kept.filter(|kept| self.url == text::without_query(&kept.url)) {
            self.url.clone_from(&kept.url);
        }
        self
    }

    /// The endpoint of a queue with this policy. A call that may take longer than the delivery lasts would be cut off
    /// each time.
    pub(crate) fn push(&self, policy: &Policy) -> Result<Endpoint, BadField> {
        let inside = |bad: BadField| BadField { field: format!("push.{}", bad.field), ..bad };
        let endpoint = self.endpoint("POST").map_err(inside)?;
        match (self.timeout_ms, policy.max_hold) {
            (Some(timeout), Some(hold)) if timeout > hold.0 => {
                let cause = format!("is longer than a delivery of this queue lasts, which is {} ms", hold.0);
                let next = "shorten it, or give the queue a longer max_hold_ms";
                Err(BadField::new("push.timeout_ms", Wrong::new(cause, next)))
            }
            _ => Ok(endpoint),
        }
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

    /// The URL, fit to be shown.
    pub(crate) fn shown_url(&self) -> String {
        text::without_query(&self.url)
    }

    /// In a line, fit to be shown.
    pub(crate) fn shown(&self) -> String {
        let signed =
            self.secret_env.as_ref().map_or("unsigned".to_owned(), |variable| format!("signed with {variable}"));
        format!("{} {} ({} ms, {signed})", self.method, self.shown_url(), self.timeout.as_millis())
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
    fn a_call_does_not_outlast_its_delivery() {
        use turno::core::queue::Kind;
        let push = |timeout: i64| fields(serde_json::json!({"url": "http://a/", "timeout_ms": timeout}));
        assert!(push(15_000).push(&Policy::of(Kind::Lane)).is_ok());
        assert_eq!(push(15_001).push(&Policy::of(Kind::Lane)).unwrap_err().field, "push.timeout_ms");
        assert!(push(15_001).push(&Policy::of(Kind::Inbox)).is_ok(), "heartbeats stretch it");
    }

    #[test]
    fn a_url_with_its_query_hidden_stands_for_the_one_that_is_kept_and_for_no_other() {
        let url = |url: &str| fields(serde_json::json!({ "url": url }));
        let kept = url("http://a/in?token=s3cret");
        assert_eq!(url("http://a/in?***").unhidden(Some(&kept)).url, kept.url);
        assert_eq!(url("http://b/in?***").unhidden(Some(&kept)).endpoint("POST").unwrap_err().field, "url");
        assert_eq!(url("http://a/in?***").unhidden(None).endpoint("POST").unwrap_err().field, "url");
        assert_eq!(url("http://a/in?token=other").unhidden(Some(&kept)).url, "http://a/in?token=other");
    }

    #[test]
    fn each_wrong_field_is_named() {
        let wrong = [
            ("url", serde_json::json!({"url": "ftp://a/"})),
            ("method", serde_json::json!({"url": "http://a/", "method": "put"})),
            ("timeout_ms", serde_json::json!({"url": "http://a/", "timeout_ms": -1})),
            ("secret_env", serde_json::json!({"url": "http://a/", "secret_env": "the secret"})),
            ("concurrency", serde_json::json!({"url": "http://a/", "concurrency": 0})),
            ("probe_ms", serde_json::json!({"url": "http://a/", "probe_ms": 99})),
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
