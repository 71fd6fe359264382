//! `[queues.NAME]` in the file, and the body of `PUT /v1/queues/{q}`. Both have the same fields.

use super::endpoint::{self, Endpoint, EndpointFields};
use super::field::{Field, Shape};
use super::origin::{Origin, Shown};
use super::table::{Given, Table};
use super::tree::{Nodes, by_line};
use crate::failure::Failure;
use crate::http::without_types;
use crate::texts::message::Message;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use turno::core::id::QueueName;
use turno::core::limits::{ATTEMPTS_MAX, BATCH_MAX, SPAN_MAX, SPAN_MIN};
use turno::core::queue::{BadPolicy, Kind, OnExhausted, Policy};
use turno::core::time::Span;

const KINDS: &[&str] = &["lane", "inbox", "sync"];
const ON_EXHAUSTED: &[&str] = &["continue", "hold"];

/// The keys of every `[queues.NAME]`. The bounds are those of the core's policy.
pub(super) const FIELDS: &[Field] = &[
    Field { name: "kind", shape: Shape::Choice(KINDS) },
    Field { name: "lock_timeout_ms", shape: Shape::Whole(SPAN_MIN.0, SPAN_MAX.0) },
    Field { name: "max_hold_ms", shape: Shape::Whole(SPAN_MIN.0, SPAN_MAX.0) },
    Field { name: "window_ms", shape: Shape::Whole(0, SPAN_MAX.0) },
    Field { name: "typing_extension_ms", shape: Shape::Whole(0, SPAN_MAX.0) },
    Field { name: "max_wait_ms", shape: Shape::Whole(0, SPAN_MAX.0) },
    Field { name: "batch_max", shape: Shape::Whole(1, BATCH_MAX as i64) },
    Field { name: "max_attempts", shape: Shape::Whole(1, ATTEMPTS_MAX as i64) },
    Field { name: "backoff_ms", shape: Shape::Whole(1, SPAN_MAX.0) },
    Field { name: "retention_s", shape: Shape::Whole(1, SPAN_MAX.0 / 1000) },
    Field { name: "on_exhausted", shape: Shape::Choice(ON_EXHAUSTED) },
    Field { name: "push", shape: Shape::Table(endpoint::FIELDS) },
];

/// The settings of a queue. The kind of the queue gives the defaults of omitted fields.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct QueueFields {
    /// `lane`: per key in order; `inbox`: each item on its own; `sync`: per key only the newest.
    #[schema(schema_with = kind_schema)]
    pub(crate) kind: Kind,
    /// How long a hand-out lasts without a heartbeat.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 100)]
    pub(crate) lock_timeout_ms: Option<i64>,
    /// How long a hand-out lasts at most, whatever the heartbeats.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 100)]
    pub(crate) max_hold_ms: Option<i64>,
    /// Messages of a key that arrive within this time of each other are handed over together. Accepted for every kind; without effect unless it is a lane.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 0)]
    pub(crate) window_ms: Option<i64>,
    /// How much longer the window stays open after a sign of typing. Accepted for every kind; without effect unless it is a lane.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 0)]
    pub(crate) typing_extension_ms: Option<i64>,
    /// The longest that a window may be stretched. Accepted for every kind; without effect unless it is a lane.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 0)]
    pub(crate) max_wait_ms: Option<i64>,
    /// The most items in one delivery. Accepted for every kind; without effect unless it is a lane: elsewhere each item goes alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 1000)]
    pub(crate) batch_max: Option<i64>,
    /// Hand-outs before an item is exhausted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 10_000)]
    pub(crate) max_attempts: Option<i64>,
    /// The first back-off; it doubles up to a bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1)]
    pub(crate) backoff_ms: Option<i64>,
    /// How long finished items and their ids are kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1)]
    pub(crate) retention_s: Option<i64>,
    /// What an exhausted head does to its lane: `continue` or `hold`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(schema_with = on_exhausted_schema)]
    pub(crate) on_exhausted: Option<OnExhausted>,
    /// Where deliveries are sent, for a queue that is not polled. Left out, it stays as it is; null ends it.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    #[schema(value_type = Option<EndpointFields>)]
    pub(crate) push: Option<Option<EndpointFields>>,
}

/// Reads a field in which `null` differs from a missing field.
fn present<'de, D, T>(given: D) -> Result<Option<Option<T>>, D::Error>
where
    D: serde::Deserializer<'de>,
    T: Deserialize<'de>,
{
    Option::deserialize(given).map(Some)
}

fn words(words: &'static [&'static str]) -> utoipa::openapi::Object {
    utoipa::openapi::ObjectBuilder::new()
        .schema_type(utoipa::openapi::schema::Type::String)
        .enum_values(Some(words.iter().copied()))
        .build()
}

fn kind_schema() -> utoipa::openapi::Object {
    words(KINDS)
}

fn on_exhausted_schema() -> utoipa::openapi::Object {
    use utoipa::openapi::schema::{ObjectBuilder, SchemaType, Type};
    let words = ON_EXHAUSTED.iter().copied().map(Some).chain([None::<&str>]);
    ObjectBuilder::new()
        .schema_type(SchemaType::from_iter([Type::String, Type::Null]))
        .description(Some("What an exhausted head does to its lane; null is as if it were left out."))
        .enum_values(Some(words))
        .build()
}

/// A refused field, for an answer 400 that names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BadField {
    /// The field. A nested field has a dotted name, as in `push.url`.
    pub(crate) field: String,
    /// The mistake, as a fragment after the field's name, with what to write instead.
    pub(crate) wrong: Message,
}

impl From<BadPolicy> for BadField {
    fn from(bad: BadPolicy) -> BadField {
        BadField::bound(bad.field, bad.min, bad.max)
    }
}

impl BadField {
    pub(crate) fn new(field: impl Into<String>, wrong: Message) -> BadField {
        BadField { field: field.into(), wrong }
    }

    pub(super) fn bound(field: &str, min: i64, max: i64) -> BadField {
        BadField::new(field, Message::new("setting-between").number("min", min).number("max", max))
    }

    /// Returns what is wrong and what to write instead, in one message.
    pub(crate) fn message(&self) -> Message {
        let detail = Message::new("setting-detail").message("wrong", self.wrong.clone());
        detail.message("next", self.wrong.next())
    }
}

impl QueueFields {
    /// Returns the fields of a queue with the defaults of its kind.
    pub(crate) fn with_defaults(kind: Kind) -> QueueFields {
        QueueFields {
            kind,
            lock_timeout_ms: None,
            max_hold_ms: None,
            window_ms: None,
            typing_extension_ms: None,
            max_wait_ms: None,
            batch_max: None,
            max_attempts: None,
            backoff_ms: None,
            retention_s: None,
            on_exhausted: None,
            push: None,
        }
    }

    /// Returns the policy: the defaults of the kind, overridden by the given fields.
    pub(crate) fn policy(&self) -> Result<Policy, BadField> {
        let base = Policy::for_kind(self.kind);
        let time = |given: Option<i64>, inherited| given.map_or(inherited, Span);
        let lock_timeout = time(self.lock_timeout_ms, base.lock_timeout);
        // A given lock timeout may be longer than the default maximum, which then grows with it.
        let max_hold = self.max_hold_ms.map(Span).or(base.max_hold.map(|hold| hold.max(lock_timeout)));
        let policy = Policy {
            kind: self.kind,
            lock_timeout,
            max_hold,
            window: time(self.window_ms, base.window),
            typing_extension: time(self.typing_extension_ms, base.typing_extension),
            max_wait: time(self.max_wait_ms, base.max_wait),
            batch_max: counted("batch_max", self.batch_max, base.batch_max, BATCH_MAX as i64)?,
            max_attempts: counted("max_attempts", self.max_attempts, base.max_attempts, ATTEMPTS_MAX.into())?,
            backoff: time(self.backoff_ms, base.backoff),
            retention: self.retention_s.map_or(base.retention, Span::from_secs),
            on_exhausted: self.on_exhausted.unwrap_or(base.on_exhausted),
        };
        policy.check()?;
        Ok(policy)
    }

    /// Returns the policy, and the endpoint of a pushed queue.
    pub(crate) fn settings(&self) -> Result<QueueSettings, BadField> {
        let policy = self.policy()?;
        let push = self.push.as_ref().and_then(Option::as_ref).map(|push| push.push(&policy)).transpose()?;
        Ok(QueueSettings { policy, push })
    }
}

fn counted(field: &str, given: Option<i64>, inherited: u32, most: i64) -> Result<u32, BadField> {
    match given {
        None => Ok(inherited),
        Some(count) if (1..=most).contains(&count) => u32::try_from(count).map_err(|_| BadField::bound(field, 1, most)),
        Some(_) => Err(BadField::bound(field, 1, most)),
    }
}

/// The settings of a queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct QueueSettings {
    pub(crate) policy: Policy,
    /// The endpoint of a pushed queue.
    pub(crate) push: Option<Endpoint>,
}

/// Reads the queues of the file.
pub(super) fn read(path: &Arc<Path>, queues: &Nodes) -> Result<BTreeMap<QueueName, (QueueSettings, Given)>, Failure> {
    let mut all = BTreeMap::new();
    for (name, node) in by_line(queues) {
        let queue = QueueName::new(name.as_str()).map_err(|bad| {
            let origin = Origin::File { path: path.clone(), line: node.line }.message();
            Failure::usage(Message::new("setting-queue-name").message("origin", origin).text("cause", bad))
        })?;
        let given = Table::from_node(path, format!("queues.{name}"), node)?.read(FIELDS)?;
        let settings = from_table(&given)?;
        all.insert(queue, (settings, given));
    }
    Ok(all)
}

fn from_table(given: &Given) -> Result<QueueSettings, Failure> {
    if !given.has("kind") {
        return Err(given.wrong("kind", Message::new("setting-queue-kind")));
    }
    if given.table("push").is_some_and(|push| !push.has("url")) {
        return Err(given.wrong("push", Message::new("setting-push-url")));
    }
    // Forms and bounds were checked before. This checks the rules that depend on the kind.
    let fields: QueueFields = serde_json::from_value(given.json()).map_err(|error| {
        let cause = without_types(&error.to_string());
        given.wrong("kind", Message::new("setting-queue-fields").text("cause", cause))
    })?;
    fields.settings().map_err(|bad| {
        let field = bad.field.split('.').next().unwrap_or_default();
        given.wrong(field, bad.wrong)
    })
}

/// Returns the rows for `turno config`.
pub(super) fn rows(settings: &QueueSettings, given: &Given) -> Vec<Shown> {
    let QueueSettings { policy, push } = settings;
    let word = |value: serde_json::Result<serde_json::Value>| {
        value.ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
    };
    let values = [
        ("kind", Some(word(serde_json::to_value(policy.kind)))),
        ("lock_timeout_ms", Some(policy.lock_timeout.0.to_string())),
        ("max_hold_ms", policy.max_hold.map(|hold| hold.0.to_string())),
        ("window_ms", Some(policy.window.0.to_string())),
        ("typing_extension_ms", Some(policy.typing_extension.0.to_string())),
        ("max_wait_ms", Some(policy.max_wait.0.to_string())),
        ("batch_max", Some(policy.batch_max.to_string())),
        ("max_attempts", Some(policy.max_attempts.to_string())),
        ("backoff_ms", Some(policy.backoff.0.to_string())),
        ("retention_s", Some((policy.retention.0 / 1000).to_string())),
        ("on_exhausted", Some(word(serde_json::to_value(policy.on_exhausted)))),
        ("push", push.as_ref().map(Endpoint::display)),
    ];
    let row = |(field, value): (&str, Option<String>)| {
        Shown::new(format!("{}.{field}", given.name), value, given.origin(field))
    };
    values.into_iter().map(row).collect()
}

#[cfg(test)]
mod tests;
