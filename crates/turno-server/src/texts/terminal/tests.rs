//! Every sentence of the command line has a translation: these tests read the sources.

use super::*;
use crate::texts::causes::tests::{files, filled};
use std::path::Path;

/// The texts, without choosing a language for the whole process.
static SPANISH: LazyLock<Texts> = LazyLock::new(Texts::load);

fn in_spanish(book: &Book, text: &str) -> Option<String> {
    book.translate(&SPANISH, Language::Spanish, text)
}

/// Returns the Spanish help of a command or an option.
pub(crate) fn help_in_spanish(text: &str) -> Option<String> {
    in_spanish(&HELPS, text)
}

/// Returns the Spanish examples of a command.
pub(crate) fn examples_in_spanish(command: &str) -> Option<String> {
    let none = FluentArgs::new();
    let found = SPANISH.find(Language::Spanish, &format!("examples-{command}"), &none);
    found.map(std::borrow::Cow::into_owned)
}

/// Returns every English help text that has a translation.
pub(crate) fn helps() -> impl Iterator<Item = String> {
    let texts = HELP.lines().filter(|line| line.starts_with("help-")).filter_map(|line| line.split_once(" = "));
    texts.map(|(_, text)| text.replace("{\"{\"}", "{").replace("{\"}\"}", "}"))
}

#[test]
fn the_first_set_variable_decides_the_language() {
    let asked = |said: &[(&str, &str)]| {
        let said: HashMap<&str, &str> = said.iter().copied().collect();
        from_environment(|name| said.get(name).map(|value| (*value).to_owned()))
    };
    for spanish in [
        &[("LANG", "es_AR.UTF-8")][..],
        &[("LANG", "es")],
        &[("LC_ALL", "es_ES@euro"), ("LANG", "de_DE.UTF-8")],
        &[("LC_MESSAGES", "es-MX"), ("LANG", "C")],
        &[("LC_ALL", ""), ("LANG", "es_AR.UTF-8")],
        &[("TURNO_LANG", "es"), ("LC_ALL", "C")],
    ] {
        assert_eq!(asked(spanish), Language::Spanish, "{spanish:?}");
    }
    for english in [
        &[][..],
        &[("LANG", "C")],
        &[("LANG", "POSIX")],
        &[("LC_ALL", "C"), ("LANG", "es_AR.UTF-8")],
        &[("TURNO_LANG", "en"), ("LANG", "es_AR.UTF-8")],
        &[("LANG", "de_DE.UTF-8")],
        &[("LANG", "est_EE")],
    ] {
        assert_eq!(asked(english), Language::English, "{english:?}");
    }
}

#[test]
fn a_sentence_is_translated_with_its_variable_parts() {
    for (english, spanish) in [
        ("caja:3 is free: nobody holds it", "caja:3 está libre: nadie lo tiene"),
        ("12 s ago", "hace 12 s"),
        ("1 finding in /var/turno.db", "1 hallazgo en /var/turno.db"),
        ("3 findings in /var/turno.db", "3 hallazgos en /var/turno.db"),
        (
            "turno.toml line 3: limits.requests is 0, but must be between 1 and 9",
            "turno.toml línea 3: limits.requests es 0, y debe estar entre 1 y 9",
        ),
        ("--listen: listen is no address", "--listen: listen no es una dirección"),
        (
            "failed to read items.json: No such file or directory (os error 2)",
            "no se pudo leer items.json: no existe el archivo o la carpeta (os error 2)",
        ),
        ("the only placeholder is {key}", "lo único que se reemplaza es {key}"),
    ] {
        assert_eq!(in_spanish(&SENTENCES, english).as_deref(), Some(spanish));
    }
}

#[test]
fn a_sentence_with_an_untranslated_part_stays_english() {
    for english in [
        "frob must be one of the \"red\" or \"green\" ones",
        "the moon or a star fell from it",
        "failed to read items.json: the moon is in the way of it",
        "write what is to be written",
    ] {
        assert_eq!(in_spanish(&SENTENCES, english), None, "{english}");
    }
    for (english, spanish) in [
        ("1 in process", "1 en proceso"),
        ("Task 2 is cancelled", "La tarea 2 está cancelada"),
        // A server has already translated the part after the colon.
        ("stopping the command: el bloqueo venció", "se detiene el comando: el bloqueo venció"),
    ] {
        assert_eq!(in_spanish(&SENTENCES, english).as_deref(), Some(spanish));
    }
}

#[test]
fn names_that_users_chose_are_not_translated() {
    for own in ["free", "locked", "by Ana, today", "in 5 s", "the payload", "Entrega a las 10"] {
        assert_eq!(in_spanish(&VALUES, own), None, "{own}");
    }
    assert!(in_spanish(&VALUES, "in 5 s unless there is work").is_some());
}

/// The code before a sentence that people read.
const BEGINNINGS: [&str; 7] =
    ["talk(", "translate(", "Failure::failed(", "Failure::usage(", "Wrong::new(", "Problem::new(", ".print("];
/// Sentences whose parts are translated by themselves, or that are no sentences.
const PARTS: [&str; 14] = [
    "7 in 7",
    "7; queued",
    "7 cannot be queued: 7",
    "exhausted: 7",
    "cannot be sent: 7",
    "active at the destination, without a row: 7",
    "the chain of 7 is whole; keep its head elsewhere",
    "7 was 7 and is 7 now; 7",
    "7 7",
    "7 (7)",
    ", yours",
    "has 7 where it may not be",
    "use 7 in the path or behind ? only",
    "the only placeholder is 7",
];

#[test]
fn every_sentence_of_the_command_line_has_a_translation() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut all = vec![];
    for name in ["cli", "client", "config"] {
        all.extend(files(&root.join(name)));
    }
    let single = ["cli.rs", "client.rs", "config.rs", "database.rs", "logging.rs", "http/server.rs", "http/stop.rs"];
    all.extend(single.map(|name| root.join(name)));
    let mut found = Vec::new();
    for file in all.iter().filter(|file| !file.ends_with("reference.rs")) {
        let whole = std::fs::read_to_string(file).expect("a source");
        let code = whole.split("#[cfg(test)]").next().unwrap_or_default();
        found.extend(BEGINNINGS.iter().flat_map(|beginning| texts_after(code, beginning)));
    }
    assert!(found.len() > 200, "the sources are where they were: {}", found.len());
    found.retain(|sentence| !PARTS.contains(&sentence.trim()));
    let missing: Vec<_> = found.iter().filter(|sentence| in_spanish(&SENTENCES, sentence.trim()).is_none()).collect();
    assert!(missing.is_empty(), "add them to locales/cli.*.ftl: {missing:#?}");
}

/// Returns the texts within the parentheses that open after `beginning`.
fn texts_after(code: &str, beginning: &str) -> Vec<String> {
    // Joins a literal that continues on the next line.
    let code = code.split("\\\n").map(str::trim_start).collect::<String>();
    code.split(beginning).skip(1).flat_map(within).filter(|text| text.trim().contains(' ')).collect()
}

fn within(mut rest: &str) -> Vec<String> {
    let (mut depth, mut found) = (1, Vec::new());
    while depth > 0 {
        let Some(at) = rest.find(['(', ')', '"']) else { break };
        let (what, after) = (rest.as_bytes()[at], &rest[at + 1..]);
        rest = match what {
            b'"' => {
                found.extend(filled(after));
                &after[end_of_literal(after)..]
            }
            _ => after,
        };
        depth += i32::from(what == b'(') - i32::from(what == b')');
    }
    found
}

/// Returns the length of the literal, with its closing quote.
fn end_of_literal(text: &str) -> usize {
    let mut escaped = false;
    let end = text.bytes().position(|byte| {
        let ends = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        ends
    });
    end.map_or(text.len(), |at| at + 1)
}
