//! Translates causes from the library and from the JSON parser.
//!
//! Both write their causes as English sentences with names and numbers in them. As with gettext, the English sentence
//! is the key: `locales/causes.en.ftl` has each sentence with placeholders for its variable parts, and the other
//! language has the same message name. A test searches the sources for sentences without a translation.

use std::sync::LazyLock;

use super::sentences::Book;
use super::{Language, Texts};

pub(super) const ENGLISH: &str = include_str!("../../locales/causes.en.ftl");

/// Every sentence with its message name, in the order of the file.
static SENTENCES: LazyLock<Book> = LazyLock::new(|| Book::default().with(ENGLISH, "because-"));

/// Translates a cause. Returns it unchanged if no sentence matches.
pub(crate) fn translate(texts: &Texts, language: Language, cause: &str) -> String {
    match language {
        Language::English => cause.to_owned(),
        Language::Spanish => SENTENCES.translate(texts, language, cause).unwrap_or_else(|| cause.to_owned()),
    }
}

#[cfg(test)]
pub(super) mod tests;
