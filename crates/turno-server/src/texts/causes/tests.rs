//! Every cause has a translation. The tests make the errors that have a type, and search the sources for the other
//! sentences.

use super::*;
use std::path::{Path, PathBuf};
use turno::core::access::{Permission, Role};
use turno::core::event::Topic;
use turno::core::id::{Resource, UserId};
use turno::core::queue::ItemState;
use turno::core::task::Status;

fn spanish(cause: &str) -> String {
    translate(&Texts::load(), Language::Spanish, cause)
}

#[test]
fn json_errors_are_translated_with_line_and_column() {
    let wrong = |text: &str| spanish(&serde_json::from_str::<serde_json::Value>(text).unwrap_err().to_string());
    for (text, said) in [
        ("{\n  \"a\": x\n}", "se espera un valor, en la línea 2, columna 8"),
        ("{\"a\": 1", "se acabó antes de que terminara un objeto, en la línea 1, columna 7"),
        ("{\"a\" 1}", "se espera `:`, en la línea 1, columna 6"),
        ("[1 2]", "se espera `,` o `]`, en la línea 1, columna 4"),
        ("{a: 1}", "el nombre de un campo va entre comillas, en la línea 1, columna 2"),
        ("{\"a\": 1,}", "sobra una coma al final, en la línea 1, columna 9"),
        ("{} x", "sobra lo que sigue, en la línea 1, columna 4"),
        ("[trua]", "se espera true, false o null, en la línea 1, columna 5"),
    ] {
        assert_eq!(wrong(text), said, "{text}");
    }
}

#[test]
fn causes_of_the_library_are_translated_to_spanish_only() {
    let long = "x".repeat(999);
    let said = [
        Resource::new("").unwrap_err().to_string(),
        UserId::new(long.as_str()).unwrap_err().to_string(),
        UserId::new("a\nb").unwrap_err().to_string(),
        "x".parse::<ItemState>().unwrap_err(),
        "x".parse::<Status>().unwrap_err(),
        "x".parse::<Topic>().unwrap_err().to_string(),
        "x".parse::<Permission>().unwrap_err(),
        "x".parse::<Role>().unwrap_err(),
        serde_json::from_str::<u32>("-1").unwrap_err().to_string(),
        serde_json::from_str::<Vec<i64>>("\"x\"").unwrap_err().to_string(),
        serde_json::from_str::<bool>("1").unwrap_err().to_string(),
        "x".parse::<u32>().unwrap_err().to_string(),
        "task 7 line 2".to_owned(),
        "queue chat".to_owned(),
    ];
    for english in &said {
        assert_ne!(spanish(english), *english);
        assert_eq!(translate(&Texts::load(), Language::English, english), *english);
    }
    assert_eq!(spanish(&said[0]), "el recurso está vacío; dele de 1 a 200 caracteres");
    assert_eq!(spanish(&format!("user: {}", said[0])), "user: el recurso está vacío; dele de 1 a 200 caracteres");
}

#[test]
fn the_refusal_of_a_source_and_its_advice_are_in_one_language() {
    use turno::core::sync::SourceRefused as Refused;
    let (table, name) = ("siper.usuarios".to_owned(), "siper.cola".to_owned());
    let said = "invalid input syntax for type integer: \"zz\" (22P02)".to_owned();
    for (refused, expected) in [
        (
            Refused::NotAKey { column: "idper".to_owned(), cause: said.clone() },
            format!(
                "esto no puede ser una clave de la columna idper: {said}; dé un valor de idper tal como está en la tabla"
            ),
        ),
        (
            Refused::NoTable(table.clone()),
            "no existe la tabla siper.usuarios; créela primero, o corrija `table` de la fuente: las mayúsculas cuentan, \
             y va sin comillas"
                .to_owned(),
        ),
        (
            Refused::Taken { what: "table", name },
            "la tabla siper.cola ya existe y no es de esta fuente; elija otro nombre en la fuente, o quite lo que hay"
                .to_owned(),
        ),
    ] {
        assert_eq!(spanish(&format!("{refused}; {}", refused.next())), expected);
    }
    let columns = Refused::NoColumns { table, columns: vec!["a".to_owned(), "b".to_owned()] };
    assert!(spanish(&format!("{columns}; {}", columns.next())).ends_with("las mayúsculas cuentan"));
}

#[test]
fn names_are_not_taken_for_sentences() {
    for name in ["/v1/nothing", "ana", "0192-a", "un texto cualquiera; con algo", "a or b c", "{ $cause }"] {
        assert!(!spanish(name).contains('$') || name.contains('$'), "{name}");
    }
    let deep = "a: ".repeat(10_000);
    assert!(spanish(&deep).len() <= deep.len() * 2);
}

/// The code before a sentence that people read.
const BEGINNINGS: [&str; 7] =
    [".cause(", "Invalid(", "bad(\"", "let cause = ", "let bound = ", "Err(format!(\"/", "return Err(\"/"];
/// Files whose error texts reach people.
const ERRORS: [&str; 7] =
    ["event.rs", "id.rs", "queue/policy.rs", "audit.rs", "sync/refused.rs", "sync/quote.rs", "queue/token.rs"];

#[test]
fn every_cause_in_the_sources_has_a_translation() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the folder of crates");
    let mut found = Vec::new();
    for folder in ["turno-core/src", "turno/src/engine", "turno-server/src/http", "turno-server/src/console"] {
        // The tests of the command line cover the messages on a terminal.
        for file in files(&root.join(folder)).into_iter().filter(|file| !file.ends_with("http/stop.rs")) {
            let whole = std::fs::read_to_string(&file).expect("a source");
            let code = whole.split("#[cfg(test)]").next().unwrap_or_default();
            let errors = ERRORS.iter().any(|name| file.ends_with(Path::new("turno-core/src").join(name)));
            let beginnings = BEGINNINGS.iter().copied().chain(errors.then_some("#[error("));
            found.extend(beginnings.flat_map(|beginning| sentences(code, beginning)));
        }
    }
    assert!(found.len() > 50, "the sources are where they were: {found:?}");
    let missing: Vec<_> = found.iter().filter(|sentence| spanish(sentence) == **sentence).collect();
    assert!(missing.is_empty(), "add them to locales/causes.*.ftl: {missing:#?}");
}

pub(in crate::texts) fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a folder of sources");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let (folders, files): (Vec<_>, Vec<_>) = paths.partition(|path| path.is_dir());
    let own = files.into_iter().filter(|file| file.extension().is_some_and(|kind| kind == "rs"));
    let own = own.filter(|file| !file.ends_with("tests.rs"));
    own.chain(folders.iter().flat_map(|folder| self::files(folder))).collect()
}

/// Returns the literals after `beginning`, with a value in each placeholder.
fn sentences(code: &str, beginning: &str) -> Vec<String> {
    let after = code.split(beginning).skip(1);
    after.filter_map(|rest| literal(if beginning.ends_with(['"', '/']) { rest } else { opened(rest)? })).collect()
}

/// Returns the text after the next quote, if the quote belongs to the same statement.
fn opened(rest: &str) -> Option<&str> {
    let (before, text) = rest.split_once('"')?;
    (before.len() < 80 && !before.contains([';', '|', ')'])).then_some(text)
}

fn literal(text: &str) -> Option<String> {
    let sentence = filled(text)?;
    // Removes the JSON pointer before the sentence, as the HTTP layer does.
    let sentence = sentence.strip_prefix('/').unwrap_or(&sentence);
    let sentence = match sentence.split_once(": ") {
        Some((place, rest)) if !place.contains(' ') => rest,
        _ => sentence,
    };
    // Skips names and sentences that consist of placeholders only.
    sentence.contains(' ').then(|| sentence.to_owned()).filter(|sentence| !["7; 7"].contains(&sentence.as_str()))
}

/// Returns the literal up to its closing quote, with a value in each placeholder.
pub(in crate::texts) fn filled(text: &str) -> Option<String> {
    let text = text.replace("\\\"", "\u{1}");
    let text = text.split('"').next()?.replace('\u{1}', "\"");
    let mut sentence = String::new();
    for (at, part) in text.split('{').enumerate() {
        sentence.push_str(if at == 0 { part } else { part.split_once('}').map_or(part, |(_, rest)| rest) });
        sentence.push('7');
    }
    sentence.pop();
    Some(sentence)
}
