//! A message for people: an id of the locale files and the data for its placeholders.
//!
//! Code that finds an error builds a message. Only the edge renders it, because only the edge knows the reader's
//! language.

use std::fmt::Display;
use std::sync::LazyLock;

use fluent_bundle::FluentArgs;
use turno::access::Permission;
use turno::core::time::Span;

use super::{Language, Texts};

/// A message that is not rendered yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Message {
    id: &'static str,
    /// An attribute of the message in the locale files, such as `next`.
    attribute: Option<&'static str>,
    args: Vec<(&'static str, Arg)>,
}

/// The data of a placeholder.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Arg {
    /// A name or a text of a user, which no language changes.
    Text(String),
    /// A number, which selects the plural.
    Number(i64),
    /// A duration. A time of day would need the reader's time zone.
    Span(Span),
    /// A permission, by its name for people.
    Permission(Permission),
    /// Another message inside this one.
    Message(Message),
    /// Several messages, joined by a separator.
    List(Vec<Message>, &'static str),
}

impl Message {
    /// Makes a message without data. `id` names a message of the locale files.
    pub(crate) const fn new(id: &'static str) -> Message {
        Message { id, attribute: None, args: Vec::new() }
    }

    /// Makes a message of a text that no language changes, such as the answer of a server.
    pub(crate) fn verbatim(text: impl Display) -> Message {
        Message::new("error-text").text("text", text)
    }

    /// Selects an attribute of the message, such as its next step. The data stay.
    pub(crate) fn attribute(self, name: &'static str) -> Message {
        Message { attribute: Some(name), ..self }
    }

    /// Returns the next step that belongs to this message: its attribute `next`.
    pub(crate) fn next(&self) -> Message {
        self.clone().attribute("next")
    }

    /// Adds a name or a text, which is shown unchanged.
    pub(crate) fn text(self, name: &'static str, value: impl Display) -> Message {
        self.with(name, Arg::Text(value.to_string()))
    }

    /// Adds a number. Numbers that do not fit are shown as the largest one.
    pub(crate) fn number(self, name: &'static str, value: impl TryInto<i64>) -> Message {
        self.with(name, Arg::Number(value.try_into().unwrap_or(i64::MAX)))
    }

    /// Adds a duration, which is shown with one number and one unit.
    pub(crate) fn span(self, name: &'static str, value: Span) -> Message {
        self.with(name, Arg::Span(value))
    }

    /// Adds a permission, which is shown with its name for people.
    pub(crate) fn permission(self, name: &'static str, value: Permission) -> Message {
        self.with(name, Arg::Permission(value))
    }

    /// Adds a message, which is rendered in the same language.
    pub(crate) fn message(self, name: &'static str, value: Message) -> Message {
        self.with(name, Arg::Message(value))
    }

    /// Adds several messages, which are rendered in the same language and joined.
    pub(crate) fn list(self, name: &'static str, values: Vec<Message>, separator: &'static str) -> Message {
        self.with(name, Arg::List(values, separator))
    }

    fn with(mut self, name: &'static str, arg: Arg) -> Message {
        self.args.push((name, arg));
        self
    }

    /// Renders the message in English, for the log.
    pub(crate) fn english(&self) -> String {
        static TEXTS: LazyLock<Texts> = LazyLock::new(|| Texts::load_terminal(Language::English));
        self.render(&TEXTS, Language::English)
    }

    /// Renders the message. A missing id is shown as it is, which is better than no text; a test finds missing ids.
    pub(crate) fn render(&self, texts: &Texts, language: Language) -> String {
        let mut args = FluentArgs::new();
        for (name, arg) in &self.args {
            match arg {
                Arg::Text(text) => args.set(*name, text.as_str()),
                Arg::Number(number) => args.set(*name, *number),
                Arg::Span(span) => args.set(*name, texts.span(language, *span)),
                Arg::Permission(permission) => {
                    args.set(*name, texts.permission(language, permission.as_str()));
                }
                Arg::Message(message) => args.set(*name, message.render(texts, language)),
                Arg::List(messages, separator) => {
                    let rendered: Vec<_> = messages.iter().map(|message| message.render(texts, language)).collect();
                    args.set(*name, rendered.join(separator));
                }
            }
        }
        let id = self.attribute.map_or_else(|| self.id.to_owned(), |attribute| format!("{}.{attribute}", self.id));
        texts.find(language, &id, &args).map_or(id.clone(), std::borrow::Cow::into_owned)
    }
}
