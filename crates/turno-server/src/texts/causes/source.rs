//! Messages of refused sources. Each has the next step as its attribute `next`.

use turno::core::sync::{BadIdent, IDENT_MAX, SourceRefused};

use super::Cause;
use crate::texts::message::Message;

/// How people reach the queue of a source without triggers.
const ENQUEUE: &str = "POST /v1/queues/{q}/items";

impl Cause for SourceRefused {
    fn message(&self) -> Message {
        match self {
            SourceRefused::NoTriggers => Message::new("error-source-no-triggers").text("route", ENQUEUE),
            SourceRefused::NoTable(table) => Message::new("error-source-no-table").text("table", table),
            SourceRefused::NotATable(table) => Message::new("error-source-not-a-table").text("table", table),
            SourceRefused::NoColumns { table, columns } => {
                let count = columns.len();
                let message = Message::new("error-source-no-columns").text("table", table).number("count", count);
                message.text("columns", columns.join(", "))
            }
            SourceRefused::KeyType { column, kind } => {
                Message::new("error-source-key-type").text("column", column).text("type", kind)
            }
            SourceRefused::NotAKey { column, cause } => {
                Message::new("error-source-not-a-key").text("column", column).text("cause", cause)
            }
            SourceRefused::Unreadable { table, role } => {
                Message::new("error-source-unreadable").text("table", table).text("role", role)
            }
            SourceRefused::Hidden { table, role } => {
                Message::new("error-source-hidden").text("table", table).text("role", role)
            }
            SourceRefused::Condition(cause) => Message::new("error-source-condition").text("cause", cause),
            SourceRefused::NoQueue(queue) => Message::new("error-source-no-queue").text("queue", queue),
            SourceRefused::Taken { what, name } => {
                let kind = what.replace(' ', "_");
                let kind = Message::new("error-object-kind").text("kind", kind);
                Message::new("error-source-taken").message("kind", kind).text("name", name)
            }
            SourceRefused::Duplicates { table, found, count } => {
                let message = Message::new("error-source-duplicates").text("table", table).number("count", *count);
                let keys = found.iter().map(|(key, rows)| format!("{key} ({rows})"));
                let more = (*count > found.len() as i64).then(|| "…".to_owned());
                message.text("keys", keys.chain(more).collect::<Vec<_>>().join(", "))
            }
            SourceRefused::Name(bad) => bad.message(),
        }
    }
}

impl Cause for BadIdent {
    fn message(&self) -> Message {
        match self {
            BadIdent::Empty => Message::new("error-ident-empty").number("max", IDENT_MAX),
            BadIdent::TooLong(name) => Message::new("error-ident-long").text("name", name).number("max", IDENT_MAX),
            BadIdent::Nul => Message::new("error-ident-nul"),
        }
    }
}
