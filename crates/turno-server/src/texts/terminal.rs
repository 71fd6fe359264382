//! Translates the messages of the command line.
//!
//! The code contains the English sentences. `locales/cli.*.ftl` has a message for each of them, and a test searches the
//! sources for sentences without one. Output for programs is not translated: codes, keys, JSON.

use std::collections::HashMap;
use std::sync::{LazyLock, OnceLock};

use fluent_bundle::FluentArgs;

use super::sentences::Book;
use super::{Language, Texts, causes};

const ENGLISH: &str = include_str!("../../locales/cli.en.ftl");
const HELP: &str = include_str!("../../locales/help.en.ftl");

/// The chosen language and its texts. Unset means English.
static CHOSEN: OnceLock<Chosen> = OnceLock::new();

#[derive(Debug)]
struct Chosen {
    language: Language,
    texts: Texts,
}

/// All sentences: those of the command line first, then the causes from the library.
static SENTENCES: LazyLock<Book> = LazyLock::new(|| {
    let own = Book::default().with(ENGLISH, "cli-");
    own.with(ENGLISH, "shown-").with(causes::ENGLISH, "because-").with(ENGLISH, "rest-")
});
/// Sentences that no text of a user can be mistaken for. Only these translate values.
static VALUES: LazyLock<Book> = LazyLock::new(|| Book::default().with(ENGLISH, "shown-"));
/// The help of commands and options.
static HELPS: LazyLock<Book> = LazyLock::new(|| Book::default().with(HELP, "help-"));
/// Message names of headings, by their English text.
static HEADINGS: LazyLock<HashMap<&str, &str>> = LazyLock::new(|| {
    let lines = ENGLISH.lines().filter(|line| line.starts_with("head-"));
    lines.filter_map(|line| line.split_once(" = ").map(|(name, text)| (text, name))).collect()
});

/// Returns the language that the environment asks for: `TURNO_LANG` first, then the standard variables. Other languages
/// than Spanish mean English.
pub(crate) fn from_environment(env: impl Fn(&str) -> Option<String>) -> Language {
    let names = ["TURNO_LANG", "LC_ALL", "LC_MESSAGES", "LANG"];
    let translate_lines = names.into_iter().find_map(|name| env(name).filter(|value| !value.is_empty()));
    match translate_lines.unwrap_or_default().to_ascii_lowercase().split(['_', '-', '.', '@']).next() {
        Some("es") => Language::Spanish,
        _ => Language::English,
    }
}

/// Sets the language of this process. Only the first call has an effect.
pub(crate) fn choose(language: Language) {
    if language == Language::Spanish {
        CHOSEN.get_or_init(|| Chosen { language, texts: Texts::load() });
    }
}

/// Returns the language of this process.
pub(crate) fn language() -> Language {
    CHOSEN.get().map_or(Language::English, |chosen| chosen.language)
}

/// Translates one or more lines. Lines without a translation stay as they are.
pub(crate) fn translate(text: &str) -> String {
    translate_lines(text, &SENTENCES)
}

/// Translates a value that may be a user's own words. Only sentences that no user's text can be mistaken for are
/// translated.
pub(crate) fn translate_value(text: &str) -> String {
    translate_lines(text, &VALUES)
}

/// Translates the heading of a column or the label of a value.
pub(crate) fn heading(text: &str) -> String {
    let none = FluentArgs::new();
    let found = CHOSEN
        .get()
        .zip(HEADINGS.get(text))
        .and_then(|(chosen, name)| chosen.texts.find(chosen.language, name, &none).map(std::borrow::Cow::into_owned));
    found.unwrap_or_else(|| text.to_owned())
}

/// Translates a state or an outcome of this kind of thing. Programs read the code instead.
pub(crate) fn word(of: &str, code: &str) -> String {
    let (id, none) = (format!("word-{of}-{}", code.replace(['_', ' '], "-")), FluentArgs::new());
    let found = CHOSEN
        .get()
        .and_then(|chosen| chosen.texts.find(chosen.language, &id, &none).map(std::borrow::Cow::into_owned));
    found.unwrap_or_else(|| code.to_owned())
}

/// Translates the help of a command or an option.
pub(crate) fn help(text: &str) -> String {
    translate_lines(text, &HELPS)
}

/// Returns the examples of a command in the chosen language. `None` in English, where the definition has them.
pub(crate) fn examples(command: &str) -> Option<String> {
    let chosen = CHOSEN.get()?;
    let none = FluentArgs::new();
    let found = chosen.texts.find(chosen.language, &format!("examples-{command}"), &none);
    found.map(std::borrow::Cow::into_owned)
}

fn translate_lines(text: &str, book: &Book) -> String {
    let Some(chosen) = CHOSEN.get() else { return text.to_owned() };
    let line = |line: &str| {
        let sentence = line.trim_start_matches([' ', '-', '\n']);
        let (before, _) = line.split_at(line.len() - sentence.len());
        let translated = book.translate(&chosen.texts, chosen.language, sentence);
        format!("{before}{}", translated.as_deref().unwrap_or(sentence))
    };
    text.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
pub(crate) mod tests;
