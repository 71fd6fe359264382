//! The shapes of single values, in the file, in a variable or in a flag.
//!
//! An error message names the place of a value and never repeats a text, because the text may be a password.

use super::suggest;
use super::tree::{Content, Node};
use crate::texts::message::Message;

/// A value of a valid shape and within its bounds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    /// A text.
    Text(String),
    /// A whole number.
    Whole(i64),
    /// On or off.
    Switch(bool),
    /// Several texts.
    Texts(Vec<String>),
    /// A nested table.
    Table(super::table::Given),
}

/// Which values are valid.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Shape {
    /// A text that the function accepts. The function returns the text to store.
    Text(fn(&str) -> Result<String, Message>),
    /// A list of texts that the function accepts.
    Texts(fn(&str) -> Result<String, Message>),
    /// A whole number between two inclusive bounds.
    Whole(i64, i64),
    /// A whole number as above, or `false` to switch it off.
    WholeOrFalse(i64, i64),
    /// `true` or `false`.
    Switch,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// A table with these keys.
    Table(&'static [Field]),
}

/// A key of a table, with its shape.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Field {
    pub(crate) name: &'static str,
    pub(crate) shape: Shape,
}

/// Returns why a value of another form is refused.
fn wrong_form(found: Message, expected: Message) -> Message {
    Message::new("setting-form").message("found", found).message("expected", expected)
}

impl Shape {
    /// Describes the valid values in words.
    pub(crate) fn expected(self) -> Message {
        match self {
            Shape::Text(_) => Message::new("form-text-quoted"),
            Shape::Texts(_) => Message::new("form-texts"),
            Shape::Whole(min, max) => Message::new("form-number-between").number("min", min).number("max", max),
            Shape::WholeOrFalse(min, max) => Message::new("form-number-or-false").number("min", min).number("max", max),
            Shape::Switch => Message::new("form-switch"),
            Shape::Choice(words) => Message::new("form-choice").text("choices", quoted(words)),
            Shape::Table(_) => Message::new("form-table"),
        }
    }

    /// Parses a value of the file. `table` reads nested tables, because it knows their origin.
    pub(super) fn parse_node(self, node: &Node) -> Result<Value, Message> {
        match (self, &node.content) {
            (Shape::Text(check), Content::Text(text)) => check(text).map(Value::Text),
            (Shape::Texts(check), Content::List(list)) => {
                let text_of = |node: &Node| match &node.content {
                    Content::Text(text) => check(text),
                    other => {
                        let found = Message::new("form-list-with").message("found", other.describe());
                        Err(wrong_form(found, self.expected()))
                    }
                };
                list.iter().map(text_of).collect::<Result<_, _>>().map(Value::Texts)
            }
            (Shape::Whole(min, max) | Shape::WholeOrFalse(min, max), Content::Whole(number)) => {
                within(*number, min, max).map(Value::Whole)
            }
            (Shape::WholeOrFalse(..), Content::Switch(false)) => Ok(Value::Switch(false)),
            (Shape::Switch, Content::Switch(on)) => Ok(Value::Switch(*on)),
            (Shape::Choice(words), Content::Text(text)) => chosen(text, words).map(Value::Text),
            (_, other) => Err(wrong_form(other.describe(), self.expected())),
        }
    }

    /// Parses the text of a variable or a flag.
    pub(crate) fn parse_text(self, text: &str) -> Result<Value, Message> {
        match self {
            Shape::Text(check) => check(text).map(Value::Text),
            Shape::Texts(check) => {
                let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
                parts.map(check).collect::<Result<_, _>>().map(Value::Texts)
            }
            Shape::WholeOrFalse(..) if text.trim() == "false" => Ok(Value::Switch(false)),
            Shape::Whole(min, max) | Shape::WholeOrFalse(min, max) => match text.trim().parse() {
                Ok(number) => within(number, min, max).map(Value::Whole),
                Err(_) => Err(wrong_form(Message::new("form-other"), self.expected())),
            },
            Shape::Switch => match text.trim() {
                "true" | "1" => Ok(Value::Switch(true)),
                "false" | "0" => Ok(Value::Switch(false)),
                _ => Err(wrong_form(Message::new("form-other"), self.expected())),
            },
            Shape::Choice(words) => chosen(text.trim(), words).map(Value::Text),
            Shape::Table(_) => Err(wrong_form(Message::new("form-text"), self.expected())),
        }
    }
}

fn within(number: i64, min: i64, max: i64) -> Result<i64, Message> {
    if (min..=max).contains(&number) {
        return Ok(number);
    }
    Err(Message::new("setting-bound").number("number", number).number("min", min).number("max", max))
}

fn chosen(text: &str, words: &[&str]) -> Result<String, Message> {
    if words.contains(&text) {
        return Ok(text.to_owned());
    }
    Err(match suggest::nearest(text, words) {
        Some(meant) => Message::new("setting-choice-meant").text("choices", quoted(words)).text("meant", meant),
        None => Message::new("setting-choice").text("choices", quoted(words)),
    })
}

fn quoted(words: &[&str]) -> String {
    words.iter().map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(", ")
}

impl Value {
    /// Renders the value as a person would write it.
    pub(crate) fn render(&self) -> String {
        match self {
            Value::Text(text) => text.clone(),
            Value::Whole(number) => number.to_string(),
            Value::Switch(on) => on.to_string(),
            Value::Texts(texts) => texts.join(", "),
            Value::Table(_) => "{…}".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::texts::terminal::render;

    #[test]
    fn texts_are_parsed_by_their_shape() {
        assert_eq!(Shape::Whole(1, 9).parse_text(" 9 "), Ok(Value::Whole(9)));
        assert_eq!(Shape::Switch.parse_text("0"), Ok(Value::Switch(false)));
        assert_eq!(Shape::WholeOrFalse(5, 9).parse_text("false"), Ok(Value::Switch(false)));
        let any = |text: &str| Ok(text.to_owned());
        assert_eq!(Shape::Texts(any).parse_text("a, ,b"), Ok(Value::Texts(vec!["a".into(), "b".into()])));
    }

    #[test]
    fn a_refused_value_names_the_bound_and_never_repeats_a_text() {
        let cause = |shape: Shape, text: &str| render(&shape.parse_text(text).unwrap_err());
        assert_eq!(cause(Shape::Whole(1, 9), "10"), "is 10, but must be between 1 and 9");
        assert_eq!(cause(Shape::Choice(&["text", "json"]), "s3cret"), "must be one of \"text\", \"json\"");
        for shape in [Shape::Whole(1, 9), Shape::WholeOrFalse(1, 9), Shape::Switch, Shape::Table(&[])] {
            assert!(!cause(shape, "s3cret").contains("s3cret"), "{shape:?}");
        }
    }

    #[test]
    fn a_misspelt_word_is_suggested() {
        let wrong = Shape::Choice(&["development", "production"]).parse_text("prodution").unwrap_err();
        assert_eq!(render(&wrong.next()), "write \"production\"");
    }
}
