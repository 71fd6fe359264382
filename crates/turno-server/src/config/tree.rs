//! The file as a tree in which everything knows its line. What the values mean is not known here.

use crate::failure::Failure;
use std::collections::BTreeMap;
use std::path::Path;
use toml::de::{DeTable, DeValue};

/// Larger files are something else: the longest sensible one has a few hundred lines.
const FILE_MAX: u64 = 1024 * 1024;

/// A value and the line where it stands.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) line: usize,
    pub(super) what: What,
}

/// The forms of TOML that the configuration knows.
#[derive(Clone, Debug)]
pub(super) enum What {
    Text(String),
    Whole(i64),
    Switch(bool),
    List(Vec<Node>),
    Table(Nodes),
    /// Something that no key takes, in words.
    Other(&'static str),
}

/// The keys of a table.
pub(super) type Nodes = BTreeMap<String, Node>;

/// In the order of the file, so that the first mistake is the first one that people see.
pub(super) fn by_line(nodes: &Nodes) -> Vec<(&String, &Node)> {
    let mut all: Vec<_> = nodes.iter().collect();
    all.sort_by_key(|(_, node)| node.line);
    all
}

impl What {
    /// What it is, for a message.
    pub(super) fn named(&self) -> &'static str {
        match self {
            What::Text(_) => "a text",
            What::Whole(_) => "a whole number",
            What::Switch(true) => "true",
            What::Switch(false) => "false",
            What::List(_) => "a list",
            What::Table(_) => "a table",
            What::Other(words) => words,
        }
    }
}

/// Reads and takes apart the file.
pub(super) fn read(path: &Path) -> Result<Nodes, Failure> {
    let cause = |why: String| format!("failed to read the configuration {}: {why}", path.display());
    let next = "check the path given with --config or TURNO_CONFIG, and that this user may read it";
    let failed = |why: String| Failure::failed(cause(why), next);
    let size = std::fs::metadata(path).map_err(|error| match error.kind() {
        // A slip in what was typed, not something that may work the next time.
        std::io::ErrorKind::NotFound => Failure::usage(cause(error.to_string()), next),
        _ => failed(error.to_string()),
    });
    let size = size?.len();
    if size > FILE_MAX {
        return Err(failed(format!("it has {size} bytes, more than {FILE_MAX}")));
    }
    let text = std::fs::read_to_string(path).map_err(|error| failed(error.to_string()))?;
    parse(path, &text)
}

/// Takes a text apart.
pub(super) fn parse(path: &Path, text: &str) -> Result<Nodes, Failure> {
    let table = DeTable::parse(text).map_err(|error| {
        let line = error.span().map_or(1, |span| line_of(text, span.start));
        let cause = format!("{} line {line}: {}", path.display(), error.message().replace('\n', "; "));
        Failure::usage(cause, "correct the line; the file is TOML, where texts stand in quotes")
    })?;
    Ok(nodes(text, table.get_ref()))
}

fn nodes(text: &str, table: &DeTable<'_>) -> Nodes {
    let entry = |(key, value): (&toml::Spanned<std::borrow::Cow<'_, str>>, &toml::Spanned<DeValue<'_>>)| {
        // The key's line, not the value's: a table that began with dotted keys has no line of its own.
        let line = line_of(text, key.span().start);
        (key.get_ref().to_string(), Node { line, what: what(text, value.get_ref()) })
    };
    table.iter().map(entry).collect()
}

fn what(text: &str, value: &DeValue<'_>) -> What {
    match value {
        DeValue::String(string) => What::Text(string.to_string()),
        DeValue::Integer(integer) => match i64::from_str_radix(integer.as_str(), integer.radix()) {
            Ok(number) => What::Whole(number),
            Err(_) => What::Other("a number beyond 64 bits"),
        },
        DeValue::Float(_) => What::Other("a number with a fraction"),
        DeValue::Boolean(on) => What::Switch(*on),
        DeValue::Datetime(_) => What::Other("a date"),
        DeValue::Array(array) => {
            let node = |one: &toml::Spanned<DeValue<'_>>| Node {
                line: line_of(text, one.span().start),
                what: what(text, one.get_ref()),
            };
            What::List(array.iter().map(node).collect())
        }
        DeValue::Table(table) => What::Table(nodes(text, table)),
    }
}

fn line_of(text: &str, at: usize) -> usize {
    text.as_bytes()[..at.min(text.len())].iter().filter(|byte| **byte == b'\n').count() + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_knows_its_line() {
        let nodes = parse(Path::new("t.toml"), "listen = 1\n\n[leases.task]\nttl_ms = 0x10\n").unwrap();
        assert_eq!(nodes["listen"].line, 1);
        let What::Table(leases) = &nodes["leases"].what else { panic!("leases is a table") };
        let What::Table(task) = &leases["task"].what else { panic!("task is a table") };
        assert_eq!((leases["task"].line, task["ttl_ms"].line), (3, 4));
        assert!(matches!(task["ttl_ms"].what, What::Whole(16)));
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
            assert!(failure.cause.starts_with(&format!("t.toml line {line}: ")), "{text:?}: {}", failure.cause);
            assert!(!failure.next.is_empty());
        }
        let deep = format!("x = {}1{}", "[".repeat(5_000), "]".repeat(5_000));
        assert!(parse(Path::new("t.toml"), &deep).is_err(), "it would overflow the stack of whoever walks it");
    }

    #[test]
    fn a_file_that_cannot_be_read_says_which_and_why() {
        let failure = read(Path::new("no/such/turno.toml")).unwrap_err();
        assert!(failure.cause.contains("no/such/turno.toml"), "{}", failure.cause);
        assert!(failure.next.contains("--config"));
    }
}
