//! What is said on a terminal, in the language of whoever typed.
//!
//! The code says it in English, in plain sight; `locales/cli.*.ftl` has each sentence under its English text, and a test goes
//! through the sources for what was added without its translation. What programs read is not looked up: codes, keys, JSON.

use std::collections::HashMap;
use std::sync::{LazyLock, OnceLock};

use fluent_bundle::FluentArgs;

use super::sentences::Book;
use super::{Language, Texts, causes};

const ENGLISH: &str = include_str!("../../locales/cli.en.ftl");
const HELP: &str = include_str!("../../locales/help.en.ftl");

/// Who speaks here, once it is chosen; until then it is English.
static SPEAKER: OnceLock<Speaker> = OnceLock::new();

#[derive(Debug)]
struct Speaker {
    language: Language,
    texts: Texts,
}

/// Everything that is said: the command line's own sentences, then those from further inside.
static SENTENCES: LazyLock<Book> = LazyLock::new(|| {
    let own = Book::default().with(ENGLISH, "cli-");
    own.with(ENGLISH, "shown-").with(causes::ENGLISH, "because-").with(ENGLISH, "rest-")
});
/// What may stand beside what people have named, and is not mistaken for it.
static SHOWN: LazyLock<Book> = LazyLock::new(|| Book::default().with(ENGLISH, "shown-"));
/// What stands beside commands and options.
static HELPS: LazyLock<Book> = LazyLock::new(|| Book::default().with(HELP, "help-"));
/// Headings by their English text.
static HEADINGS: LazyLock<HashMap<&str, &str>> = LazyLock::new(|| {
    let lines = ENGLISH.lines().filter(|line| line.starts_with("head-"));
    lines.filter_map(|line| line.split_once(" = ").map(|(name, text)| (text, name))).collect()
});

/// The language that the environment asks for: `TURNO_LANG`, then the variables of every program. Whoever says nothing that is
/// understood reads English.
pub(crate) fn asked_for(env: impl Fn(&str) -> Option<String>) -> Language {
    let names = ["TURNO_LANG", "LC_ALL", "LC_MESSAGES", "LANG"];
    let said = names.into_iter().find_map(|name| env(name).filter(|value| !value.is_empty()));
    match said.unwrap_or_default().to_ascii_lowercase().split(['_', '-', '.', '@']).next() {
        Some("es") => Language::Spanish,
        _ => Language::English,
    }
}

/// Speaks this language from now on; the first who says so is heard.
pub(crate) fn choose(language: Language) {
    // English needs no book.
    if language == Language::Spanish {
        SPEAKER.get_or_init(|| Speaker { language, texts: Texts::load() });
    }
}

/// What is spoken.
pub(crate) fn language() -> Language {
    SPEAKER.get().map_or(Language::English, |speaker| speaker.language)
}

/// A sentence, or several lines of them, as the reader knows it; as it is, where nothing is known about it.
pub(crate) fn told(text: &str) -> String {
    said(text, &SENTENCES)
}

/// The same for a value that may be somebody's own words: only what can be nothing but ours is looked up.
pub(crate) fn shown(text: &str) -> String {
    said(text, &SHOWN)
}

/// The heading of a column, or the name of a value.
pub(crate) fn heading(text: &str) -> String {
    let none = FluentArgs::new();
    let found = SPEAKER.get().zip(HEADINGS.get(text)).and_then(|(speaker, name)| {
        speaker.texts.find(speaker.language, name, &none).map(std::borrow::Cow::into_owned)
    });
    found.unwrap_or_else(|| text.to_owned())
}

/// A state or an outcome, as it is said of this kind of thing; programs know it by the code.
pub(crate) fn word(of: &str, code: &str) -> String {
    let (id, none) = (format!("word-{of}-{}", code.replace(['_', ' '], "-")), FluentArgs::new());
    let found = SPEAKER
        .get()
        .and_then(|speaker| speaker.texts.find(speaker.language, &id, &none).map(std::borrow::Cow::into_owned));
    found.unwrap_or_else(|| code.to_owned())
}

/// What stands beside a command or an option.
pub(crate) fn help(text: &str) -> String {
    said(text, &HELPS)
}

/// What stands below the help of a command, where it is not the definition's own English.
pub(crate) fn examples(command: &str) -> Option<String> {
    let speaker = SPEAKER.get()?;
    let none = FluentArgs::new();
    let found = speaker.texts.find(speaker.language, &format!("examples-{command}"), &none);
    found.map(std::borrow::Cow::into_owned)
}

fn said(text: &str, book: &Book) -> String {
    let Some(speaker) = SPEAKER.get() else { return text.to_owned() };
    let line = |line: &str| {
        let sentence = line.trim_start_matches([' ', '-', '\n']);
        let (before, _) = line.split_at(line.len() - sentence.len());
        let told = book.told(&speaker.texts, speaker.language, sentence);
        format!("{before}{}", told.as_deref().unwrap_or(sentence))
    };
    text.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
pub(crate) mod tests;
