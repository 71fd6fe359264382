//! Faults of a body or a query, as data.
//!
//! serde's own errors are sentences. [`BadValue`] keeps the parts that serde passes to its constructors instead, so that
//! the reader gets a message in their language.

use std::fmt;

use serde::de::{Expected, Unexpected};
use turno::core::limits::NAME_MAX;

use crate::texts::causes::Cause;
use crate::texts::message::Message;

/// A fault of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum BadValue {
    /// A required field is missing.
    Missing(&'static str),
    /// The object has a field that the call does not know.
    Unknown { field: String, known: &'static [&'static str] },
    /// A field occurs twice.
    Duplicate(&'static str),
    /// The word is none of the known ones.
    Word { given: String, known: &'static [&'static str] },
    /// The value has another type, or is out of the type's bounds. `None` until the reader fills in what it asked for.
    Type(Option<Asked>),
    /// The text has too few or too many characters for a name.
    Length,
    /// The text contains a control character.
    Control,
    /// The text is not JSON from here on.
    Syntax { is_cut: bool, line: usize, column: usize },
    /// Any other error.
    Other,
}

/// The type of value that a reader asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    Any,
    Boolean,
    Integer,
    Unsigned,
    Number,
    Text,
    List,
    Object,
    Word,
}

impl BadValue {
    /// Makes the error of a text that is not JSON.
    pub(super) fn syntax(error: &serde_json::Error) -> BadValue {
        BadValue::Syntax { is_cut: error.is_eof(), line: error.line(), column: error.column() }
    }

    /// Fills in what the reader asked for.
    pub(super) fn asked(self, asked: Asked) -> BadValue {
        match self {
            BadValue::Type(None) => BadValue::Type(Some(asked)),
            other => other,
        }
    }

    /// Returns the field that the error names, which the path does not contain yet.
    pub(super) fn named(&self) -> Option<&str> {
        match self {
            BadValue::Missing(field) => Some(field),
            BadValue::Unknown { field, .. } => Some(field),
            _ => None,
        }
    }

    /// Returns which variant of the problem's sentence applies.
    pub(super) fn variant(&self) -> &'static str {
        match self {
            BadValue::Missing(_) => "missing",
            BadValue::Unknown { .. } => "unknown",
            _ => "other",
        }
    }
}

impl serde::de::Error for BadValue {
    fn custom<T: fmt::Display>(_: T) -> BadValue {
        BadValue::Other
    }

    fn invalid_type(_: Unexpected<'_>, _: &dyn Expected) -> BadValue {
        BadValue::Type(None)
    }

    fn invalid_value(found: Unexpected<'_>, _: &dyn Expected) -> BadValue {
        match found {
            Unexpected::Char(one) if one.is_control() => BadValue::Control,
            _ => BadValue::Type(None),
        }
    }

    fn invalid_length(_: usize, _: &dyn Expected) -> BadValue {
        BadValue::Length
    }

    fn unknown_variant(given: &str, known: &'static [&'static str]) -> BadValue {
        BadValue::Word { given: given.to_owned(), known }
    }

    fn unknown_field(field: &str, known: &'static [&'static str]) -> BadValue {
        BadValue::Unknown { field: field.to_owned(), known }
    }

    fn missing_field(field: &'static str) -> BadValue {
        BadValue::Missing(field)
    }

    fn duplicate_field(field: &'static str) -> BadValue {
        BadValue::Duplicate(field)
    }
}

impl std::error::Error for BadValue {}

impl fmt::Display for BadValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

impl Cause for BadValue {
    fn message(&self) -> Message {
        match self {
            BadValue::Missing(field) => Message::new("json-missing").text("field", field),
            BadValue::Unknown { field, known } => {
                Message::new("json-unknown").text("field", field).text("known", known.join(", "))
            }
            BadValue::Duplicate(field) => Message::new("json-duplicate").text("field", field),
            BadValue::Word { given, known } => {
                Message::new("json-word").text("given", given).text("known", known.join(", "))
            }
            BadValue::Type(asked) => {
                Message::new("json-type").message("expected", expected(asked.unwrap_or(Asked::Any)))
            }
            BadValue::Length => Message::new("error-length").number("max", NAME_MAX),
            BadValue::Control => Message::new("json-control"),
            BadValue::Syntax { is_cut, line, column } => {
                let id = if *is_cut { "json-cut" } else { "json-syntax" };
                Message::new(id).number("line", *line).number("column", *column)
            }
            BadValue::Other => Message::new("json-other"),
        }
    }
}

fn expected(asked: Asked) -> Message {
    Message::new(match asked {
        Asked::Any => "expected-value",
        Asked::Boolean => "expected-boolean",
        Asked::Integer => "expected-integer",
        Asked::Unsigned => "expected-unsigned",
        Asked::Number => "expected-number",
        Asked::Text => "expected-text",
        Asked::List => "expected-list",
        Asked::Object => "expected-object",
        Asked::Word => "expected-word",
    })
}
