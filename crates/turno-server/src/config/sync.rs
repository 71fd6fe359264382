//! `[[sync.source]]`: tables whose changes a sync queue carries elsewhere. This module reads and checks the file and
//! installs nothing. The database decides whether tables and columns exist.

use super::endpoint::{self, Endpoint, EndpointFields};
use super::field::{Field, Shape, Value};
use super::origin::{Origin, Shown};
use super::queue::{BadField, QueueFields, QueueSettings};
use super::table::{Given, Table};
use super::text;
use super::tree::{self, Content, Node, Nodes};
use crate::failure::Failure;
use crate::texts::message::Message;
use std::collections::BTreeMap;
use std::ops::Deref;
use std::path::Path;
use std::sync::Arc;
use turno::core::id::QueueName;
use turno::core::limits::{ATTEMPTS_MAX, SPAN_MAX, SPAN_MIN};
use turno::core::queue::{Kind, Policy};
use turno::core::sync::{OnLeave, Relation, Source};
use turno::core::time::Span;

const SIPER: &str = "siper";
const PRESETS: &[&str] = &[SIPER];

/// The keys of `actions`.
pub(super) const ACTION_FIELDS: &[Field] = &[
    Field { name: "update", shape: Shape::Text(text::name) },
    Field { name: "deactivate", shape: Shape::Text(text::name) },
];

/// The keys of every `[[sync.source]]`.
pub(super) const FIELDS: &[Field] = &[
    Field { name: "preset", shape: Shape::Choice(PRESETS) },
    Field { name: "name", shape: Shape::Text(text::name) },
    Field { name: "queue", shape: Shape::Text(text::name) },
    Field { name: "table", shape: Shape::Text(text::relation) },
    Field { name: "key", shape: Shape::Text(text::identifier) },
    Field { name: "watch", shape: Shape::Texts(text::identifier) },
    Field { name: "current_when", shape: Shape::Text(text::condition) },
    Field { name: "enqueue_when", shape: Shape::Text(text::condition) },
    Field { name: "on_leave", shape: Shape::Choice(&["ignore", "deactivate"]) },
    Field { name: "one_current_per_key", shape: Shape::Switch },
    Field { name: "trigger", shape: Shape::Text(text::identifier) },
    Field { name: "view", shape: Shape::Text(text::relation) },
    Field { name: "actions", shape: Shape::Table(ACTION_FIELDS) },
    Field { name: "payload", shape: Shape::Texts(text::identifier) },
    Field { name: "max_attempts", shape: Shape::Whole(1, ATTEMPTS_MAX as i64) },
    Field { name: "backoff_ms", shape: Shape::Whole(1, SPAN_MAX.0) },
    Field { name: "probe_ms", shape: Shape::Whole(SPAN_MIN.0, endpoint::PROBE_MAX_MS) },
    Field { name: "deliver", shape: Shape::Table(endpoint::DELIVER_FIELDS) },
];

/// A source with its destination. Dereferences to the library's source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SyncSource {
    /// The table and its rules.
    pub(crate) source: Source,
    /// The interval between two probes of a destination that is down.
    pub(crate) probe: Span,
    /// The endpoint for changes. `None` if workers claim them from the queue.
    pub(crate) deliver: Option<Endpoint>,
    /// Whether the destination is the preset's example and not from the file.
    pub(crate) deliver_is_presets: bool,
}

impl Deref for SyncSource {
    type Target = Source;
    fn deref(&self) -> &Source {
        &self.source
    }
}

/// A source with the values of its table in the file.
pub(super) type ReadSource = (SyncSource, Given);

/// Reads the sources of the file.
pub(super) fn read(path: &Arc<Path>, sync: &Nodes, line: usize) -> Result<Vec<ReadSource>, Failure> {
    let whole = Table { path, name: "sync".to_owned(), line, nodes: sync };
    let mut sources: Vec<ReadSource> = Vec::new();
    for (key, node) in sync {
        if key != "source" {
            return Err(whole.unknown(key, node.line, &["source"]));
        }
        for node in listed(path, node)? {
            let source = from_table(&Table::from_node(path, "sync.source".to_owned(), node)?)?;
            refuse_shared(&sources, &source)?;
            sources.push(source);
        }
    }
    Ok(sources)
}

fn listed<'a>(path: &Arc<Path>, node: &'a Node) -> Result<&'a [Node], Failure> {
    match &node.content {
        Content::List(list) => Ok(list),
        other => {
            let origin = Origin::File { path: path.clone(), line: node.line }.message();
            let message = Message::new("setting-source-list").message("origin", origin);
            Err(Failure::usage(message.message("found", other.describe())))
        }
    }
}

fn from_table(table: &Table<'_>) -> Result<ReadSource, Failure> {
    let mut given = table.read(FIELDS)?;
    if given.text("preset") == Some(SIPER) {
        given = given.filled_from(SIPER, siper()?);
    }
    if let Some(name) = given.text("name") {
        given.name = format!("sync.{name}");
    }
    let source = checked(&given)?;
    Ok((source, given))
}

/// Returns the preset `siper`, read by the same rules as a file.
fn siper() -> Result<Given, Failure> {
    let path: Arc<Path> = Path::new("preset siper").into();
    let nodes = tree::parse(&path, include_str!("sync/siper.toml"))?;
    Table { path: &path, name: "sync.source".to_owned(), line: 1, nodes: &nodes }.read(FIELDS)
}

fn checked(given: &Given) -> Result<SyncSource, Failure> {
    let text = |field: &str| given.text(field).map(str::to_owned);
    let needed = |field: &str| {
        let wrong = || Message::new("setting-source-missing").text("field", field).text("preset", SIPER);
        text(field).ok_or_else(|| given.wrong(field, wrong()))
    };
    let name = needed("name")?;
    let key = needed("key")?;
    let watch = columns(given, "watch")?.ok_or_else(|| given.wrong("watch", Message::new("setting-source-watch")))?;
    let payload = columns(given, "payload")?.unwrap_or_else(|| {
        // By default the payload is the key and the watched columns.
        [&key].into_iter().chain(watch.iter().filter(|column| **column != key)).cloned().collect()
    });
    let one_current_per_key = given.switch("one_current_per_key").unwrap_or(false);
    if one_current_per_key && !given.has("current_when") {
        return Err(given.wrong("one_current_per_key", Message::new("setting-source-current")));
    }
    let (update, deactivate) = actions(given)?;
    let probe = Span(given.whole("probe_ms").unwrap_or(endpoint::PROBE_MS));
    let queue = QueueName::new(needed("queue")?)
        .map_err(|bad| given.wrong("queue", Message::new("setting-source-queue").text("cause", bad)))?;
    let source = Source {
        queue,
        table: Relation::parse(&needed("table")?),
        trigger: trigger(given, &name)?,
        view: text("view").map(|view| Relation::parse(&view)),
        current_when: text("current_when"),
        enqueue_when: text("enqueue_when"),
        on_leave: if given.text("on_leave") == Some("deactivate") { OnLeave::Deactivate } else { OnLeave::Ignore },
        name,
        key,
        watch,
        payload,
        one_current_per_key,
        update,
        deactivate,
    };
    let deliver_is_presets = matches!(given.origin("deliver"), Origin::Preset(_));
    Ok(SyncSource { source, probe, deliver: deliver(given, probe)?, deliver_is_presets })
}

/// Returns a list of columns. Refuses an empty list and duplicates.
fn columns(given: &Given, field: &str) -> Result<Option<Vec<String>>, Failure> {
    let Some(columns) = given.texts(field) else { return Ok(None) };
    if columns.is_empty() {
        return Err(given.wrong(field, Message::new("setting-columns-empty")));
    }
    let twice = columns.iter().enumerate().find(|(at, column)| columns[..*at].contains(column));
    match twice {
        Some((_, column)) => Err(given.wrong(field, Message::new("setting-columns-twice").text("column", column))),
        None => Ok(Some(columns.to_vec())),
    }
}

fn trigger(given: &Given, name: &str) -> Result<String, Failure> {
    match given.text("trigger") {
        Some(trigger) => Ok(trigger.to_owned()),
        None => text::identifier(&format!("turno_sync_{name}"))
            .map_err(|_| given.wrong("trigger", Message::new("setting-trigger-missing"))),
    }
}

fn actions(given: &Given) -> Result<(String, String), Failure> {
    let Some(actions) = given.table("actions") else { return Ok(("update".to_owned(), "deactivate".to_owned())) };
    match (actions.text("update"), actions.text("deactivate")) {
        (Some(update), Some(deactivate)) if update != deactivate => Ok((update.to_owned(), deactivate.to_owned())),
        (Some(_), Some(_)) => Err(given.wrong("actions", Message::new("setting-actions-same"))),
        _ => Err(given.wrong("actions", Message::new("setting-actions-both"))),
    }
}

fn deliver(given: &Given, probe: Span) -> Result<Option<Endpoint>, Failure> {
    let Some(deliver) = given.table("deliver") else { return Ok(None) };
    let fields: EndpointFields = serde_json::from_value(deliver.json())
        .map_err(|_| given.wrong("deliver", Message::new("setting-deliver-url")))?;
    // PUT is the default method, because a change carries the complete state and can be repeated.
    let endpoint = fields.endpoint("PUT").map_err(|BadField { field, wrong }| {
        let nested = Message::new("setting-nested").text("field", field).message("next", wrong.next());
        given.wrong("deliver", nested.message("wrong", wrong))
    })?;
    Ok(Some(Endpoint { probe, ..endpoint }))
}

/// Refuses a source that shares its name, queue, view or trigger with another one.
fn refuse_shared(others: &[ReadSource], (source, given): &ReadSource) -> Result<(), Failure> {
    for (other, _) in others {
        let shared = if other.name == source.name {
            "name"
        } else if other.queue == source.queue {
            "queue"
        } else if other.view.is_some() && other.view == source.view {
            "view"
        } else if other.table == source.table && other.trigger == source.trigger {
            "trigger"
        } else {
            continue;
        };
        let wrong = Message::new("setting-source-shared").text("source", &other.name).text("field", shared);
        return Err(given.wrong(shared, wrong));
    }
    Ok(())
}

/// Returns the queue of a source: the settings of `[queues.NAME]`, if present, with the values of the source.
pub(super) fn queue(
    (source, given): &ReadSource,
    queues: &BTreeMap<QueueName, (QueueSettings, Given)>,
) -> Result<QueueSettings, Failure> {
    let base = match queues.get(&source.queue) {
        None => QueueFields::with_defaults(Kind::Sync).policy().unwrap_or_else(|_| Policy::for_kind(Kind::Sync)),
        Some((settings, table)) => {
            let name = &source.name;
            if settings.policy.kind != Kind::Sync {
                return Err(table.wrong("kind", Message::new("setting-source-kind").text("source", name)));
            }
            if let Some(field) = ["max_attempts", "backoff_ms", "push"].into_iter().find(|field| table.has(field)) {
                let own = if field == "push" { "deliver" } else { field };
                let wrong = Message::new("setting-source-owns").text("source", name).text("field", own);
                return Err(table.wrong(field, wrong));
            }
            settings.policy.clone()
        }
    };
    let attempts = given.whole("max_attempts").and_then(|count| u32::try_from(count).ok());
    let policy = Policy {
        max_attempts: attempts.unwrap_or(base.max_attempts),
        backoff: given.whole("backoff_ms").map_or(base.backoff, Span),
        ..base
    };
    Ok(QueueSettings { policy, push: None })
}

/// Returns the rows for `turno config`.
pub(super) fn rows((source, given): &ReadSource, queue: &QueueSettings) -> Vec<Shown> {
    let known = |field: &str| match field {
        "trigger" => Some(source.trigger.clone()),
        "payload" => Some(source.payload.join(", ")),
        "on_leave" => Some(if source.on_leave == OnLeave::Ignore { "ignore" } else { "deactivate" }.to_owned()),
        "one_current_per_key" => Some(source.one_current_per_key.to_string()),
        "actions" => Some(format!("{}, {}", source.update, source.deactivate)),
        "max_attempts" => Some(queue.policy.max_attempts.to_string()),
        "backoff_ms" => Some(queue.policy.backoff.0.to_string()),
        "probe_ms" => Some(source.probe.0.to_string()),
        "deliver" => source.deliver.as_ref().map(Endpoint::display),
        other => given.value(other).map(Value::render),
    };
    let row = |field: &Field| {
        Shown::new(format!("{}.{}", given.name, field.name), known(field.name), given.origin(field.name))
    };
    FIELDS.iter().filter(|field| field.name != "preset").map(row).collect()
}

#[cfg(test)]
mod tests;
