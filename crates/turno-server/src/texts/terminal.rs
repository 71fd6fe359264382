//! The language of this process, and its texts.
//!
//! Output for programs has no language: codes, keys, JSON.

use std::borrow::Cow;
use std::sync::{LazyLock, OnceLock};

use fluent_bundle::FluentArgs;

use super::message::Message;
use super::{Language, Texts};

/// The chosen language. Unset means English.
static LANGUAGE: OnceLock<Language> = OnceLock::new();
/// The texts of the chosen language. Loaded at the first use, because many commands print nothing for people.
static TEXTS: LazyLock<Texts> = LazyLock::new(|| Texts::load_terminal(language()));

/// Returns the language that the environment asks for: `TURNO_LANG` first, then the standard variables. Other languages
/// than Spanish mean English.
pub(crate) fn from_environment(env: impl Fn(&str) -> Option<String>) -> Language {
    let names = ["TURNO_LANG", "LC_ALL", "LC_MESSAGES", "LANG"];
    let chosen = names.into_iter().find_map(|name| env(name).filter(|value| !value.is_empty()));
    match chosen.unwrap_or_default().to_ascii_lowercase().split(['_', '-', '.', '@']).next() {
        Some("es") => Language::Spanish,
        _ => Language::English,
    }
}

/// Sets the language of this process. Only the first call has an effect.
pub(crate) fn choose(language: Language) {
    LANGUAGE.get_or_init(|| language);
}

/// Returns the language of this process.
pub(crate) fn language() -> Language {
    LANGUAGE.get().copied().unwrap_or(Language::English)
}

/// Renders a message in the language of this process.
pub(crate) fn render(message: &Message) -> String {
    message.render(&TEXTS, language())
}

/// Returns a message without data, or `None` if the language does not have it.
pub(crate) fn find(id: &str) -> Option<String> {
    TEXTS.find(language(), id, &FluentArgs::new()).map(Cow::into_owned)
}

/// Returns the label of a value or a column: the message `head-NAME`.
pub(crate) fn heading(name: &str) -> String {
    find(&format!("head-{name}")).unwrap_or_else(|| name.to_owned())
}

/// Translates a state or an outcome of this kind of thing. Programs read the code instead.
pub(crate) fn word(kind: &str, code: &str) -> String {
    find(&format!("word-{kind}-{}", code.replace('_', "-"))).unwrap_or_else(|| code.to_owned())
}

#[cfg(test)]
pub(crate) mod tests;
