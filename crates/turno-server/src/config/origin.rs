//! The origin of a value, which tells an operator where to change it.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use crate::texts::message::Message;
use crate::texts::terminal::render;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// No layer sets the value.
    Default,
    /// A line of the file.
    File {
        /// The path as it was given.
        path: Arc<Path>,
        /// The line, counted from 1.
        line: usize,
    },
    /// A preset that the file names.
    Preset(&'static str),
    /// An environment variable.
    Environment(&'static str),
    /// A flag on the command line, without its dashes.
    Flag(&'static str),
    /// The demo, which has its own settings.
    Demo,
}

impl Origin {
    /// Returns the origin for people.
    pub(crate) fn message(&self) -> Message {
        match self {
            Origin::Default => Message::new("from-default"),
            Origin::File { path, line } => Message::new("from-file").text("path", path.display()).number("line", *line),
            Origin::Preset(name) => Message::new("from-preset").text("name", name),
            Origin::Environment(_) | Origin::Flag(_) => Message::verbatim(self),
            Origin::Demo => Message::new("from-demo"),
        }
    }
}

/// The form for programs, which is the same in every language.
impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Default => f.write_str("default"),
            Origin::File { path, line } => write!(f, "{} line {line}", path.display()),
            Origin::Preset(name) => write!(f, "preset {name}"),
            Origin::Environment(variable) => f.write_str(variable),
            Origin::Flag(flag) => write!(f, "--{flag}"),
            Origin::Demo => f.write_str("demo"),
        }
    }
}

impl serde::Serialize for Origin {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A setting in force, without secrets.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub(crate) struct Shown {
    /// The dotted key, as in `limits.requests`.
    pub(crate) key: String,
    /// The value, with secrets masked. `None` if unset.
    pub(crate) value: Option<String>,
    pub(crate) origin: Origin,
}

impl Shown {
    pub(crate) fn new(key: impl Into<String>, value: impl Into<Option<String>>, origin: Origin) -> Shown {
        Shown { key: key.into(), value: value.into(), origin }
    }
}

/// Renders key, value and origin in three columns, for a terminal.
pub(crate) fn columns(rows: &[Shown]) -> String {
    let cells: Vec<[String; 3]> =
        rows.iter().map(|row| [row.key.clone(), one_line(row), render(&row.origin.message())]).collect();
    let width = |column: usize| cells.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let (keys, values) = (width(0), width(1).min(60));
    let line = |[key, value, origin]: &[String; 3]| format!("{key:keys$}  {value:values$}  {origin}\n");
    cells.iter().map(line).collect()
}

fn one_line(row: &Shown) -> String {
    let value = row.value.as_deref().unwrap_or("-");
    value.chars().map(|one| if one.is_control() { ' ' } else { one }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_and_name_the_origin() {
        let file = Origin::File { path: Path::new("turno.toml").into(), line: 3 };
        let rows = [
            Shown::new("listen", "127.0.0.1:1".to_owned(), Origin::Environment("TURNO_LISTEN")),
            Shown::new("log.format", "json".to_owned(), file),
            Shown::new("public_url", None, Origin::Default),
        ];
        let shown = columns(&rows);
        let lines: Vec<&str> = shown.lines().collect();
        assert_eq!(lines[0], "listen      127.0.0.1:1  TURNO_LISTEN");
        assert_eq!(lines[1], "log.format  json         turno.toml line 3");
        assert_eq!(lines[2], "public_url  -            default");
    }

    #[test]
    fn a_row_serializes_to_json() {
        let row = Shown::new("migrate", "false".to_owned(), Origin::Flag("no-migrate"));
        let json = serde_json::to_value(row).unwrap();
        assert_eq!(json, serde_json::json!({"key": "migrate", "value": "false", "origin": "--no-migrate"}));
    }
}
