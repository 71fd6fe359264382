//! Sentences that are looked up by their English text, with places for what varies.

use std::cell::Cell;

use fluent_bundle::FluentArgs;

use super::{Language, Texts};

/// A sentence within a sentence, and no further: what people name must not keep us busy.
const DEPTH_MAX: u32 = 6;
/// Lookups for one sentence, with all that is within it: a text of many parts fits many sentences.
const LOOKUPS_MAX: u32 = 200;
/// Words that stand in English sentences and in no Spanish one: what has them, and has no translation, is prose that was
/// forgotten. What comes translated from a server has none of them, and neither have most names.
const ENGLISH: [&str; 31] = [
    "the", "is", "are", "was", "were", "be", "been", "has", "have", "not", "of", "to", "and", "or", "for", "with",
    "from", "an", "it", "its", "this", "that", "cannot", "must", "did", "does", "when", "which", "but", "nothing",
    "by",
];
/// How it begins when something is wrong with a key of the configuration.
const WRONG: [&str; 8] = ["is ", "has ", "must ", "needs ", "names ", "gives ", "belongs ", "leads "];
/// What `turno sync install` makes.
const PARTS: [&str; 5] = ["trigger", "function", "view", "index", "table"];

/// A part of a sentence.
#[derive(Debug)]
enum Piece {
    Said(String),
    /// What varies, by its name.
    Open(&'static str),
}

/// Sentences with their names. The first that fits is taken.
#[derive(Debug, Default)]
pub(super) struct Book {
    sentences: Vec<(&'static str, Vec<Piece>)>,
}

impl Book {
    /// With the messages of a file whose names begin so.
    pub(super) fn with(mut self, english: &'static str, prefix: &str) -> Book {
        let lines = english.lines().filter(|line| line.starts_with(prefix));
        let named = lines.filter_map(|line| line.split_once(" = "));
        self.sentences.extend(named.map(|(name, sentence)| (name, pieces(sentence))));
        self
    }

    /// The sentence in this language; nothing, if it is none of these.
    pub(super) fn told(&self, texts: &Texts, language: Language, sentence: &str) -> Option<String> {
        let search = Search { texts, language, left: Cell::new(LOOKUPS_MAX) };
        self.translated(&search, sentence, DEPTH_MAX)
    }

    /// The first sentence that fits with all that is within it. One with a part that has no translation does not: a reader is
    /// told in one language or in the other, and never in both at once.
    fn translated(&self, search: &Search<'_>, sentence: &str, depth: u32) -> Option<String> {
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

    /// What stands in an open place: translated, or as it is if it is no prose of ours.
    fn part(&self, search: &Search<'_>, open: &str, text: &str, depth: u32) -> Option<String> {
        let is_inner = matches!(open, "cause" | "then" | "what" | "expected" | "count" | "wrong" | "one" | "two");
        let told = is_inner.then(|| self.translated(search, text, depth)).flatten();
        let may_stay = match open {
            "count" => false,
            _ if is_inner => !is_english(text),
            // What is named at a sentence's end must not take the next sentence in.
            _ => !text.split("; ").skip(1).any(is_english),
        };
        told.or_else(|| may_stay.then(|| text.to_owned()))
    }
}

/// What one search goes on with.
struct Search<'a> {
    texts: &'a Texts,
    language: Language,
    left: Cell<u32>,
}

/// Whether it is English prose, apart from what it quotes.
fn is_english(text: &str) -> bool {
    let unquoted = text.split(['"', '`']).step_by(2);
    let mut words = unquoted.flat_map(|part| part.split(|one: char| !one.is_alphabetic()));
    words.any(|word| ENGLISH.contains(&word))
}

fn pieces(sentence: &'static str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    for (at, part) in sentence.split("{ $").enumerate() {
        let said = match part.split_once(" }").filter(|_| at > 0) {
            Some((open, said)) => {
                pieces.push(Piece::Open(open));
                said
            }
            None => part,
        };
        if !said.is_empty() {
            pieces.push(Piece::Said(plain(said)));
        }
    }
    pieces
}

/// Without the marks that keep a file's reader from taking a character for more than itself.
fn plain(said: &str) -> String {
    ["{", "}", "[", "*", "."].iter().fold(said.to_owned(), |said, one| said.replace(&format!("{{\"{one}\"}}"), one))
}

/// What may stand in an open place: a word for a field, a number for a bound, and anything else elsewhere.
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

/// What stands in the open places, if the text is this sentence.
fn captured<'t>(pieces: &[Piece], text: &'t str) -> Option<Vec<(&'static str, &'t str)>> {
    let (mut rest, mut found) = (text, Vec::new());
    for (at, piece) in pieces.iter().enumerate() {
        match piece {
            Piece::Said(said) if at == 0 => rest = rest.strip_prefix(said.as_str())?,
            // Taken together with the open place before it.
            Piece::Said(_) => {}
            Piece::Open(name) => {
                let end = match pieces.get(at + 1) {
                    Some(Piece::Said(said)) if at + 2 == pieces.len() => rest.strip_suffix(said.as_str())?.len(),
                    Some(Piece::Said(said)) => rest.find(said.as_str())?,
                    _ => rest.len(),
                };
                let (open, after) = rest.split_at(end);
                if open.is_empty() || !fits(name, open) {
                    return None;
                }
                found.push((*name, open));
                rest = match pieces.get(at + 1) {
                    Some(Piece::Said(said)) => after.strip_prefix(said.as_str())?,
                    _ => after,
                };
            }
        }
    }
    rest.is_empty().then_some(found)
}
