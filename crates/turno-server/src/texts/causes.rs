//! Causes from further inside, in the reader's language.
//!
//! The library and whoever reads JSON say in English what is wrong, with names and numbers in the sentence, and know nothing
//! of readers. As with gettext, the English is the key: `locales/causes.en.ftl` has each sentence with places for what
//! varies, and the other language has the same under the same name. A test goes through the sources and finds whatever was
//! added without its translation.

use std::sync::LazyLock;

use fluent_bundle::FluentArgs;

use super::{Language, Texts};

const ENGLISH: &str = include_str!("../../locales/causes.en.ftl");
/// A sentence within a sentence, and no further: what people name must not keep us busy.
const DEPTH_MAX: u32 = 6;

/// A part of a sentence.
#[derive(Debug)]
enum Piece {
    Said(&'static str),
    /// What varies, by its name.
    Open(&'static str),
}

/// Every sentence with its name, in the order of the file.
static SENTENCES: LazyLock<Vec<(&'static str, Vec<Piece>)>> = LazyLock::new(|| {
    let lines = ENGLISH.lines().filter(|line| line.starts_with("because-"));
    lines.filter_map(|line| line.split_once(" = ")).map(|(name, sentence)| (name, pieces(sentence))).collect()
});

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
            pieces.push(Piece::Said(said));
        }
    }
    pieces
}

/// What may stand in an open place: a word for a field, a number for a bound, and anything else elsewhere.
fn fits(name: &str, open: &str) -> bool {
    match name {
        "field" => !open.contains(char::is_whitespace),
        "min" | "max" | "number" | "line" | "column" => open.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-'),
        _ => true,
    }
}

/// The cause in this language; as it is, where nothing is known about it.
pub(crate) fn told(texts: &Texts, language: Language, cause: &str) -> String {
    match language {
        Language::English => cause.to_owned(),
        Language::Spanish => translated(texts, language, cause, DEPTH_MAX).unwrap_or_else(|| cause.to_owned()),
    }
}

fn translated(texts: &Texts, language: Language, cause: &str, depth: u32) -> Option<String> {
    let depth = depth.checked_sub(1)?;
    let (name, found) = SENTENCES.iter().find_map(|(name, pieces)| Some((name, captured(pieces, cause)?)))?;
    let mut args = FluentArgs::new();
    for (open, text) in found {
        let inner = matches!(open, "cause" | "then" | "what" | "expected");
        let inner = inner.then(|| translated(texts, language, text, depth)).flatten();
        args.set(open, inner.unwrap_or_else(|| text.to_owned()));
    }
    texts.find(language, name, &args).map(std::borrow::Cow::into_owned)
}

/// What stands in the open places, if the text is this sentence.
fn captured<'t>(pieces: &[Piece], text: &'t str) -> Option<Vec<(&'static str, &'t str)>> {
    let (mut rest, mut found) = (text, Vec::new());
    for (at, piece) in pieces.iter().enumerate() {
        match piece {
            Piece::Said(said) if at == 0 => rest = rest.strip_prefix(said)?,
            // Taken together with the open place before it.
            Piece::Said(_) => {}
            Piece::Open(name) => {
                let end = match pieces.get(at + 1) {
                    Some(Piece::Said(said)) if at + 2 == pieces.len() => rest.strip_suffix(said)?.len(),
                    Some(Piece::Said(said)) => rest.find(said)?,
                    _ => rest.len(),
                };
                let (open, after) = rest.split_at(end);
                if open.is_empty() || !fits(name, open) {
                    return None;
                }
                found.push((*name, open));
                rest = match pieces.get(at + 1) {
                    Some(Piece::Said(said)) => after.strip_prefix(said)?,
                    _ => after,
                };
            }
        }
    }
    rest.is_empty().then_some(found)
}

#[cfg(test)]
mod tests;
