//! The file as a tree in which every node knows its line. The tree knows nothing of the keys and their values.

use super::origin::Origin;
use crate::failure::{Failure, io_cause};
use crate::texts::message::Message;
use std::collections::BTreeMap;
use std::path::Path;
use toml::de::{DeTable, DeValue};

/// The maximum size of the file. A configuration has a few hundred lines at most.
const FILE_MAX: u64 = 1024 * 1024;

/// A value and its line.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) line: usize,
    pub(super) content: Content,
}

/// The kinds of TOML values that the configuration uses.
#[derive(Clone, Debug)]
pub(super) enum Content {
    Text(String),
    Whole(i64),
    Switch(bool),
    List(Vec<Node>),
    Table(Nodes),
    /// A kind that no key accepts, by the id of its message.
    Other(&'static str),
}

/// The keys of a table.
pub(super) type Nodes = BTreeMap<String, Node>;

/// Returns the nodes in the order of the file, so that the first mistake of the file is reported first.
pub(super) fn by_line(nodes: &Nodes) -> Vec<(&String, &Node)> {
    let mut all: Vec<_> = nodes.iter().collect();
    all.sort_by_key(|(_, node)| node.line);
    all
}

impl Content {
    /// Describes the kind for an error message.
    pub(super) fn describe(&self) -> Message {
        match self {
            Content::Text(_) => Message::new("form-text"),
            Content::Whole(_) => Message::new("form-number"),
            Content::Switch(on) => Message::verbatim(on),
            Content::List(_) => Message::new("form-list"),
            Content::Table(_) => Message::new("form-table"),
            Content::Other(id) => Message::new(id),
        }
    }
}

/// Reads and parses the file.
pub(super) fn read(path: &Path) -> Result<Nodes, Failure> {
    let failed = |error: std::io::Error| {
        let message = Message::new("config-unreadable").text("path", path.display()).message("cause", io_cause(&error));
        // A missing file is a typing mistake, so the exit code is 2.
        match error.kind() {
            std::io::ErrorKind::NotFound => Failure::usage(message),
            _ => Failure::failed(message),
        }
    };
    let size = std::fs::metadata(path).map_err(failed)?.len();
    if size > FILE_MAX {
        let message = Message::new("config-too-large").text("path", path.display());
        return Err(Failure::failed(message.number("size", size).number("max", FILE_MAX)));
    }
    let text = std::fs::read_to_string(path).map_err(failed)?;
    parse(path, &text)
}

/// Parses the text of a file.
pub(super) fn parse(path: &Path, text: &str) -> Result<Nodes, Failure> {
    let table = DeTable::parse(text).map_err(|error| {
        let line = error.span().map_or(1, |span| line_of(text, span.start));
        let origin = Origin::File { path: path.into(), line }.message();
        let cause = error.message().replace('\n', "; ");
        Failure::usage(Message::new("config-syntax").message("origin", origin).text("cause", cause))
    })?;
    Ok(nodes(text, table.get_ref()))
}

fn nodes(text: &str, table: &DeTable<'_>) -> Nodes {
    let entry = |(key, value): (&toml::Spanned<std::borrow::Cow<'_, str>>, &toml::Spanned<DeValue<'_>>)| {
        // Takes the key's line, because a table that begins with dotted keys has no line of its own.
        let line = line_of(text, key.span().start);
        (key.get_ref().to_string(), Node { line, content: content(text, value.get_ref()) })
    };
    table.iter().map(entry).collect()
}

fn content(text: &str, value: &DeValue<'_>) -> Content {
    match value {
        DeValue::String(string) => Content::Text(string.to_string()),
        DeValue::Integer(integer) => match i64::from_str_radix(integer.as_str(), integer.radix()) {
            Ok(number) => Content::Whole(number),
            Err(_) => Content::Other("form-large-number"),
        },
        DeValue::Float(_) => Content::Other("form-fraction"),
        DeValue::Boolean(on) => Content::Switch(*on),
        DeValue::Datetime(_) => Content::Other("form-date"),
        DeValue::Array(array) => {
            let node = |one: &toml::Spanned<DeValue<'_>>| Node {
                line: line_of(text, one.span().start),
                content: content(text, one.get_ref()),
            };
            Content::List(array.iter().map(node).collect())
        }
        DeValue::Table(table) => Content::Table(nodes(text, table)),
    }
}

fn line_of(text: &str, at: usize) -> usize {
    text.as_bytes()[..at.min(text.len())].iter().filter(|byte| **byte == b'\n').count() + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_node_has_its_line() {
        let nodes = parse(Path::new("t.toml"), "listen = 1\n\n[leases.task]\nttl_ms = 0x10\n").unwrap();
        assert_eq!(nodes["listen"].line, 1);
        let Content::Table(leases) = &nodes["leases"].content else { panic!("leases is a table") };
        let Content::Table(task) = &leases["task"].content else { panic!("task is a table") };
        assert_eq!((leases["task"].line, task["ttl_ms"].line), (3, 4));
        assert!(matches!(task["ttl_ms"].content, Content::Whole(16)));
    }

    #[test]
    fn broken_toml_is_refused_with_its_line_and_never_panics() {
        let ugly = [
            ("listen = ", 1),
            ("\n\nlisten = nine", 3),
            ("a = 1\na = 2", 2),
            ("[a]\n[a]", 2),
            ("[[sync.source]]\n[sync]\nsource = 1", 3),
            ("x = \"unfinished", 1),
            ("x = '''\n", 2),
            ("\u{0}", 1),
            ("\u{feff}\u{feff}x=1", 1),
            ("[[[", 1),
            ("= 1", 1),
            ("a.b = 1\na = 2", 2),
            ("é = 1", 1),
            ("x = \"\\uD800\"", 1),
            ("x = {a = 1, a = 2}", 1),
        ];
        for (text, line) in ugly {
            let failure = parse(Path::new("t.toml"), text).unwrap_err();
            assert!(failure.cause().starts_with(&format!("t.toml line {line}: ")), "{text:?}: {}", failure.cause());
            assert!(!failure.next().is_empty());
        }
        let deep = format!("x = {}1{}", "[".repeat(5_000), "]".repeat(5_000));
        assert!(parse(Path::new("t.toml"), &deep).is_err(), "deep nesting would overflow the stack");
    }

    #[test]
    fn an_unreadable_file_is_named_with_the_cause() {
        let failure = read(Path::new("no/such/turno.toml")).unwrap_err();
        assert!(failure.cause().contains("no/such/turno.toml"), "{}", failure.cause());
        assert!(failure.next().contains("--config"));
    }
}
