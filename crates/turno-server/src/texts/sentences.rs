//! Finds the message of an English sentence, and translates the sentence with its variable parts.

use std::cell::Cell;

use fluent_bundle::FluentArgs;

use super::{Language, Texts};

/// How deep sentences may be nested in sentences. It bounds the work for texts that users chose.
const DEPTH_MAX: u32 = 6;
/// How many lookups one sentence may cost, because a text with many parts matches many sentences.
const LOOKUPS_MAX: u32 = 200;
/// Words that occur in English sentences and in no Spanish one. A part that contains one of them and has no translation
/// is an untranslated sentence. Texts that a server has translated contain none of them, and neither do most names.
const ENGLISH: [&str; 31] = [
    "the", "is", "are", "was", "were", "be", "been", "has", "have", "not", "of", "to", "and", "or", "for", "with",
    "from", "an", "it", "its", "this", "that", "cannot", "must", "did", "does", "when", "which", "but", "nothing",
    "by",
];
/// How the cause begins if a key of the configuration is wrong.
const WRONG: [&str; 8] = ["is ", "has ", "must ", "needs ", "names ", "gives ", "belongs ", "leads "];
/// The kinds of objects that `turno sync install` creates.
const PARTS: [&str; 5] = ["trigger", "function", "view", "index", "table"];

/// A piece of a sentence: fixed text or a placeholder.
#[derive(Debug)]
enum Piece {
    Fixed(String),
    /// A placeholder, by its name.
    Placeholder(&'static str),
}

/// Sentences with their message names. The first match wins.
#[derive(Debug, Default)]
pub(super) struct Book {
    sentences: Vec<(&'static str, Vec<Piece>)>,
}

impl Book {
    /// Adds the messages of a file whose names have this prefix.
    pub(super) fn with(mut self, english: &'static str, prefix: &str) -> Book {
        let lines = english.lines().filter(|line| line.starts_with(prefix));
        let named = lines.filter_map(|line| line.split_once(" = "));
        self.sentences.extend(named.map(|(name, sentence)| (name, pieces(sentence))));
        self
    }

    /// Translates a sentence. Returns `None` if no sentence matches.
    pub(super) fn translate(&self, texts: &Texts, language: Language, sentence: &str) -> Option<String> {
        let search = Search { texts, language, left: Cell::new(LOOKUPS_MAX) };
        self.translate_nested(&search, sentence, DEPTH_MAX)
    }

    /// Translates by the first sentence that matches with all of its parts. A sentence with an untranslatable part does
    /// not match, so that a reader never sees two languages in one sentence.
    fn translate_nested(&self, search: &Search<'_>, sentence: &str, depth: u32) -> Option<String> {
        let depth = depth.checked_sub(1)?;
        search.left.set(search.left.get().checked_sub(1)?);
        self.sentences.iter().find_map(|(name, pieces)| {
            let mut args = FluentArgs::new();
            for (open, text) in captured(pieces, sentence)? {
                args.set(open, self.part(search, open, text, depth)?);
            }
            search.texts.find(search.language, name, &args).map(std::borrow::Cow::into_owned)
        })
    }

    /// Translates the text of a placeholder. Keeps it as it is unless it is English prose.
    fn part(&self, search: &Search<'_>, open: &str, text: &str, depth: u32) -> Option<String> {
        let is_inner = matches!(open, "cause" | "then" | "what" | "expected" | "count" | "wrong" | "one" | "two");
        let translated = is_inner.then(|| self.translate_nested(search, text, depth)).flatten();
        let may_stay = match open {
            "count" => false,
            _ if is_inner => !is_english(text),
            // A name at the end of a sentence must not include the next sentence.
            _ => !text.split("; ").skip(1).any(is_english),
        };
        translated.or_else(|| may_stay.then(|| text.to_owned()))
    }
}

/// The state of one translation.
struct Search<'a> {
    texts: &'a Texts,
    language: Language,
    left: Cell<u32>,
}

/// Returns whether the text is English prose, apart from its quotations.
fn is_english(text: &str) -> bool {
    let unquoted = text.split(['"', '`']).step_by(2);
    let mut words = unquoted.flat_map(|part| part.split(|one: char| !one.is_alphabetic()));
    words.any(|word| ENGLISH.contains(&word))
}

fn pieces(sentence: &'static str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    for (at, part) in sentence.split("{ $").enumerate() {
        let fixed = match part.split_once(" }").filter(|_| at > 0) {
            Some((open, fixed)) => {
                pieces.push(Piece::Placeholder(open));
                fixed
            }
            None => part,
        };
        if !fixed.is_empty() {
            pieces.push(Piece::Fixed(plain(fixed)));
        }
    }
    pieces
}

/// Removes the quotes that Fluent needs around special characters.
fn plain(fixed: &str) -> String {
    ["{", "}", "[", "*", "."].iter().fold(fixed.to_owned(), |fixed, one| fixed.replace(&format!("{{\"{one}\"}}"), one))
}

/// Returns whether the text is valid for the placeholder: one word for a field, a number for a bound, anything
/// elsewhere.
fn fits(name: &str, open: &str) -> bool {
    match name {
        "field" => !open.contains(char::is_whitespace),
        "min" | "max" | "number" | "line" | "column" => open.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-'),
        "count" => open.starts_with(|one: char| one.is_ascii_digit()),
        "span" => {
            open.starts_with(|one: char| one.is_ascii_digit())
                && open.chars().all(|one| one == ' ' || one.is_ascii_alphanumeric())
        }
        "setting" => open.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte)),
        "wrong" => WRONG.iter().any(|beginning| open.starts_with(beginning)),
        "part" => PARTS.contains(&open),
        _ => true,
    }
}

/// Returns the text of each placeholder if the text matches this sentence.
fn captured<'t>(pieces: &[Piece], text: &'t str) -> Option<Vec<(&'static str, &'t str)>> {
    let (mut rest, mut found) = (text, Vec::new());
    for (at, piece) in pieces.iter().enumerate() {
        match piece {
            Piece::Fixed(fixed) if at == 0 => rest = rest.strip_prefix(fixed.as_str())?,
            // Matched together with the placeholder before it.
            Piece::Fixed(_) => {}
            Piece::Placeholder(name) => {
                let end = match pieces.get(at + 1) {
                    Some(Piece::Fixed(fixed)) if at + 2 == pieces.len() => rest.strip_suffix(fixed.as_str())?.len(),
                    Some(Piece::Fixed(fixed)) => rest.find(fixed.as_str())?,
                    _ => rest.len(),
                };
                let (open, after) = rest.split_at(end);
                if open.is_empty() || !fits(name, open) {
                    return None;
                }
                found.push((*name, open));
                rest = match pieces.get(at + 1) {
                    Some(Piece::Fixed(fixed)) => after.strip_prefix(fixed.as_str())?,
                    _ => after,
                };
            }
        }
    }
    rest.is_empty().then_some(found)
}
