//! Causes from further inside, in the reader's language.
//!
//! The library and whoever reads JSON say in English what is wrong, with names and numbers in the sentence, and know nothing
//! of readers. As with gettext, the English is the key: `locales/causes.en.ftl` has each sentence with places for what
//! varies, and the other language has the same under the same name. A test goes through the sources and finds whatever was
//! added without its translation.

use std::sync::LazyLock;

use super::sentences::Book;
use super::{Language, Texts};

pub(super) const ENGLISH: &str = include_str!("../../locales/causes.en.ftl");

/// Every sentence with its name, in the order of the file.
static SENTENCES: LazyLock<Book> = LazyLock::new(|| Book::default().with(ENGLISH, "because-"));

/// The cause in this language; as it is, where nothing is known about it.
pub(crate) fn told(texts: &Texts, language: Language, cause: &str) -> String {
    match language {
        Language::English => cause.to_owned(),
        Language::Spanish => SENTENCES.told(texts, language, cause).unwrap_or_else(|| cause.to_owned()),
    }
}

#[cfg(test)]
pub(super) mod tests;
