//! Endpoints of deliveries: `push` of a queue and `deliver` of a source.

use super::field::{Field, Shape};
use super::queue::BadField;
use super::text;
use crate::failure::Failure;
use crate::texts::message::Message;
use serde::{Deserialize, Serialize};
use std::time::Duration;
use turno::core::limits::SPAN_MIN;
use turno::core::queue::Policy;
use turno::core::time::Span;

/// The longest timeout. A delivery must not wait longer for an answer.
const TIMEOUT_MAX_MS: i64 = 300_000;
const TIMEOUT_MIN_MS: i64 = 100;
const TIMEOUT_MS: i64 = 10_000;

/// The most concurrent calls that one server makes to one receiver.
const CONCURRENCY_MAX: i64 = 256;
const CONCURRENCY: i64 = 8;
/// The longest interval between two probes of a destination that is down.
pub(super) const PROBE_MAX_MS: i64 = 3_600_000;
pub(super) const PROBE_MS: i64 = 30_000;
/// The required prefix of variables that are named over the API. Without it, every caller that may set an endpoint
/// could have requests signed with any secret of the server.
pub(crate) const SECRET_PREFIX: &str = "TURNO_PUSH_SECRET";

const METHODS: &[&str] = &["POST", "PUT", "PATCH"];

const URL: Field = Field { name: "url", shape: Shape::Text(text::endpoint_url) };
const METHOD: Field = Field { name: "method", shape: Shape::Choice(METHODS) };
const TIMEOUT: Field = Field { name: "timeout_ms", shape: Shape::Whole(TIMEOUT_MIN_MS, TIMEOUT_MAX_MS) };
const SECRET: Field = Field { name: "secret_env", shape: Shape::Text(text::variable) };
const CONCURRENT: Field = Field { name: "concurrency", shape: Shape::Whole(1, CONCURRENCY_MAX) };
const PROBE: Field = Field { name: "probe_ms", shape: Shape::Whole(SPAN_MIN.0, PROBE_MAX_MS) };

/// The keys of `push` in the file.
pub(super) const FIELDS: &[Field] = &[URL, METHOD, TIMEOUT, SECRET, CONCURRENT, PROBE];
/// The keys of `deliver`. It has no `probe_ms`, because the source has one.
pub(super) const DELIVER_FIELDS: &[Field] = &[URL, METHOD, TIMEOUT, SECRET, CONCURRENT];

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

/// A valid endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Endpoint {
    /// The URL, with `{key}` as the placeholder of the key.
    pub(crate) url: String,
    pub(crate) method: &'static str,
    /// The longest time a call may take.
    pub(crate) timeout: Duration,
    /// The variable with the secret.
    pub(crate) secret_env: Option<String>,
    /// Concurrent calls.
    pub(crate) concurrency: usize,
    /// The interval between two probes while the destination is down.
    pub(crate) probe: Span,
}

impl EndpointFields {
    /// Checks the fields and returns the endpoint. `method` is the default method.
    pub(crate) fn endpoint(&self, method: &'static str) -> Result<Endpoint, BadField> {
        text::endpoint_url(&self.url).map_err(|wrong| BadField::new("url", wrong))?;
        let method = match &self.method {
            None => method,
            Some(given) => {
                let known = METHODS.iter().find(|known| *known == given).copied();
                known.ok_or_else(|| BadField::new("method", Message::new("setting-push-method")))?
            }
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

    /// Restores the stored URL if this one is the stored URL with its query hidden, so that a client can send back what
    /// it read.
    pub(crate) fn unhidden(mut self, kept: Option<&EndpointFields>) -> EndpointFields {
        if let Some(kept) = kept.filter(|kept| self.url == text::hide_query(&kept.url)) {
            self.url.clone_from(&kept.url);
        }
        self
    }

    /// Returns the endpoint of a queue with this policy. Refuses a timeout longer than a delivery lasts, because such a
    /// call would always be cut off.
    pub(crate) fn push(&self, policy: &Policy) -> Result<Endpoint, BadField> {
        let inside = |bad: BadField| BadField { field: format!("push.{}", bad.field), ..bad };
        let endpoint = self.endpoint("POST").map_err(inside)?;
        match (self.timeout_ms, policy.max_hold) {
            (Some(timeout), Some(hold)) if timeout > hold.0 => {
                Err(BadField::new("push.timeout_ms", Message::new("setting-push-timeout").number("hold", hold.0)))
            }
            _ => Ok(endpoint),
        }
    }
}

impl Endpoint {
    /// Returns the secret that signs requests, or `None` for unsigned requests. Refuses a variable that is not set,
    /// because the receiver would get unsigned requests where it expects signed ones.
    pub(crate) fn secret(&self, env: impl Fn(&str) -> Option<String>) -> Result<Option<String>, Failure> {
        let Some(variable) = &self.secret_env else { return Ok(None) };
        match env(variable).filter(|secret| !secret.is_empty()) {
            Some(secret) => Ok(Some(secret)),
            None => Err(Failure::usage(Message::new("secret-unset").text("variable", variable))),
        }
    }

    /// Returns the URL with its query hidden.
    pub(crate) fn shown_url(&self) -> String {
        text::hide_query(&self.url)
    }

    /// Renders the endpoint on one line, without secrets.
    pub(crate) fn display(&self) -> String {
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
    fn a_field_that_is_left_out_has_its_default() {
        let endpoint = fields(serde_json::json!({"url": "http://127.0.0.1:9/x"})).endpoint("PUT").unwrap();
        assert_eq!((endpoint.method, endpoint.timeout), ("PUT", Duration::from_secs(10)));
        assert_eq!(endpoint.secret(|_| None).unwrap(), None);
    }

    #[test]
    fn a_timeout_longer_than_the_delivery_is_refused() {
        use turno::core::queue::Kind;
        let push = |timeout: i64| fields(serde_json::json!({"url": "http://a/", "timeout_ms": timeout}));
        assert!(push(15_000).push(&Policy::for_kind(Kind::Lane)).is_ok());
        assert_eq!(push(15_001).push(&Policy::for_kind(Kind::Lane)).unwrap_err().field, "push.timeout_ms");
        assert!(push(15_001).push(&Policy::for_kind(Kind::Inbox)).is_ok(), "an inbox has no maximum hold");
    }

    #[test]
    fn a_hidden_query_is_restored_from_the_same_stored_url_only() {
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
    fn a_missing_secret_is_refused() {
        let json = serde_json::json!({"url": "http://a/?t=s3cret", "secret_env": "MODULE_SECRET"});
        let endpoint = fields(json).endpoint("POST").unwrap();
        assert!(endpoint.secret(|_| Some(String::new())).unwrap_err().cause().contains("MODULE_SECRET"));
        let found = endpoint.secret(|name| (name == "MODULE_SECRET").then(|| "s3cret".to_owned())).unwrap();
        assert_eq!(found.as_deref(), Some("s3cret"));
        assert!(!endpoint.display().contains("s3cret"), "{}", endpoint.display());
    }
}
