//! A table of the file, read against the list of its keys. Unknown keys and invalid values are refused.

use super::field::{Field, Shape, Value};
use super::origin::Origin;
use super::suggest;
use super::tree::{Content, Node, Nodes, by_line};
use crate::failure::Failure;
use crate::texts::message::Message;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// The page that explains every key.
pub(super) const PAGE: &str = "docs/reference/configuration.md";

/// The values of a table, each with its origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Given {
    /// The dotted name of the table, as in `leases.task`. Empty for the file itself.
    pub(super) name: String,
    /// Where the table begins.
    pub(super) origin: Origin,
    values: BTreeMap<&'static str, (Value, Origin)>,
}

/// A table of the file before it is read.
#[derive(Clone, Debug)]
pub(super) struct Table<'a> {
    pub(super) path: &'a Arc<Path>,
    pub(super) name: String,
    pub(super) line: usize,
    pub(super) nodes: &'a Nodes,
}

impl<'a> Table<'a> {
    /// Returns the table in a node. Refuses a node that is no table.
    pub(super) fn from_node(path: &'a Arc<Path>, name: String, node: &'a Node) -> Result<Table<'a>, Failure> {
        match &node.content {
            Content::Table(nodes) => Ok(Table { path, name, line: node.line, nodes }),
            other => {
                let origin = Origin::File { path: path.clone(), line: node.line }.message();
                let message = Message::new("setting-no-table").message("origin", origin).text("setting", name);
                Err(Failure::usage(message.message("found", other.describe()).text("page", PAGE)))
            }
        }
    }

    /// Reads the table. Refuses the first key that is unknown or invalid, with its line.
    pub(super) fn read(&self, fields: &'static [Field]) -> Result<Given, Failure> {
        let mut values = BTreeMap::new();
        for (key, node) in by_line(self.nodes) {
            let Some(field) = fields.iter().find(|field| field.name == key) else {
                let names: Vec<&str> = fields.iter().map(|field| field.name).collect();
                return Err(self.unknown(key, node.line, &names));
            };
            let value = self.value(field, node)?;
            values.insert(field.name, (value, self.origin(node.line)));
        }
        Ok(Given { name: self.name.clone(), origin: self.origin(self.line), values })
    }

    fn value(&self, field: &Field, node: &Node) -> Result<Value, Failure> {
        let name = qualified(&self.name, field.name);
        if let Shape::Table(fields) = field.shape {
            return Table::from_node(self.path, name, node)?.read(fields).map(Value::Table);
        }
        field.shape.parse_node(node).map_err(|wrong| refusal(&self.origin(node.line), &name, wrong))
    }

    /// Returns the refusal of an unknown key, with a suggestion if a known key is similar.
    pub(super) fn unknown(&self, key: &str, line: usize, names: &[&str]) -> Failure {
        let key: String = key.chars().take(100).flat_map(char::escape_debug).collect();
        let (id, meant) = match (suggest::nearest(&key, names), self.name.is_empty()) {
            (Some(meant), true) => ("setting-unknown-meant", meant),
            (Some(meant), false) => ("setting-unknown-meant-in", meant),
            (None, true) => ("setting-unknown", ""),
            (None, false) => ("setting-unknown-in", ""),
        };
        let message = Message::new(id).message("origin", self.origin(line).message()).text("key", key);
        let message = message.text("table", &self.name).text("meant", meant).text("page", PAGE);
        Failure::usage(message.text("names", names.join(", ")))
    }

    fn origin(&self, line: usize) -> Origin {
        Origin::File { path: self.path.clone(), line }
    }
}

impl Given {
    /// Returns a table without values.
    pub(super) fn nothing(name: impl Into<String>) -> Given {
        Given { name: name.into(), origin: Origin::Default, values: BTreeMap::new() }
    }

    /// Returns whether the table has this key.
    pub(super) fn has(&self, field: &str) -> bool {
        self.values.contains_key(field)
    }

    /// Returns the value, or `None` if the table does not have the key.
    pub(super) fn value(&self, field: &str) -> Option<&Value> {
        self.values.get(field).map(|(value, _)| value)
    }

    pub(super) fn whole(&self, field: &str) -> Option<i64> {
        match self.value(field) {
            Some(Value::Whole(number)) => Some(*number),
            _ => None,
        }
    }

    pub(super) fn text(&self, field: &str) -> Option<&str> {
        match self.value(field) {
            Some(Value::Text(text)) => Some(text),
            _ => None,
        }
    }

    pub(super) fn texts(&self, field: &str) -> Option<&[String]> {
        match self.value(field) {
            Some(Value::Texts(texts)) => Some(texts),
            _ => None,
        }
    }

    pub(super) fn switch(&self, field: &str) -> Option<bool> {
        match self.value(field) {
            Some(Value::Switch(on)) => Some(*on),
            _ => None,
        }
    }

    pub(super) fn table(&self, field: &str) -> Option<&Given> {
        match self.value(field) {
            Some(Value::Table(given)) => Some(given),
            _ => None,
        }
    }

    /// Returns the origin of a value.
    pub(super) fn origin(&self, field: &str) -> Origin {
        self.values.get(field).map_or(Origin::Default, |(_, origin)| origin.clone())
    }

    /// Adds the values of a preset for keys that this table does not have. A nested table is taken whole.
    pub(super) fn filled_from(mut self, preset: &'static str, other: Given) -> Given {
        for (field, (value, _)) in other.values {
            self.values.entry(field).or_insert((value, Origin::Preset(preset)));
        }
        self
    }

    /// Copies the values of these keys, with their origins, from another table.
    pub(super) fn borrowing(mut self, fields: &[&'static str], other: &Given) -> Given {
        for field in fields {
            if let Some(value) = other.values.get(field) {
                self.values.insert(field, value.clone());
            }
        }
        self
    }

    /// Returns the refusal of a value, or of a missing key.
    pub(super) fn wrong(&self, field: &str, wrong: Message) -> Failure {
        let origin = if self.has(field) { self.origin(field) } else { self.origin.clone() };
        refusal(&origin, &qualified(&self.name, field), wrong)
    }

    /// Returns the table as JSON, which is how the same fields arrive over HTTP.
    pub(super) fn json(&self) -> serde_json::Value {
        let entry = |(field, (value, _)): (&&'static str, &(Value, Origin))| {
            let value = match value {
                Value::Text(text) => text.as_str().into(),
                Value::Whole(number) => (*number).into(),
                Value::Switch(on) => (*on).into(),
                Value::Texts(texts) => texts.clone().into(),
                Value::Table(given) => given.json(),
            };
            ((*field).to_owned(), value)
        };
        serde_json::Value::Object(self.values.iter().map(entry).collect())
    }
}

/// Returns the dotted name of a field.
pub(super) fn qualified(table: &str, field: &str) -> String {
    if table.is_empty() { field.to_owned() } else { format!("{table}.{field}") }
}

/// Returns the refusal of a value, with its origin.
pub(super) fn refusal(origin: &Origin, name: &str, wrong: Message) -> Failure {
    let id = if *origin == Origin::Default { "setting-refused-default" } else { "setting-refused" };
    let message = Message::new(id).message("origin", origin.message()).text("setting", name);
    Failure::usage(message.message("next", wrong.next()).message("wrong", wrong).text("page", PAGE))
}
