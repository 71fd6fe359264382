//! The sources and the messages of the command line fit together.

use super::*;
use crate::texts::tests::{files, known_shape};
use std::collections::{BTreeSet, HashMap};
use std::path::Path;

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

/// Returns the sources of the server, each without its tests.
fn sources() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let code = |path: &std::path::PathBuf| {
        let whole = std::fs::read_to_string(path).expect("a source is readable");
        let code = whole.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default().to_owned();
        (path.display().to_string(), code)
    };
    files(&root).iter().filter(|path| !path.ends_with("tests.rs")).map(code).collect()
}

#[test]
fn every_message_in_the_sources_exists_with_its_arguments() {
    let (known, mut wrong, mut seen) = (known_shape(), Vec::new(), 0);
    for (path, code) in sources() {
        for (at, _) in code.match_indices("Message::new(\"") {
            let rest = &code[at + "Message::new(\"".len()..];
            let id = rest.split('"').next().unwrap_or_default();
            let Some(args) = known.get(id) else {
                wrong.push(format!("{path}: {id} is missing"));
                continue;
            };
            let lacks = args.iter().filter(|arg| !code.contains(&format!("(\"{arg}\",")));
            wrong.extend(lacks.map(|arg| format!("{path}: {id} lacks ${arg}")));
            wrong.extend(
                chained(rest)
                    .into_iter()
                    .filter(|arg| args.iter().all(|known| known != arg))
                    .map(|arg| format!("{path}: {id} has no ${arg}")),
            );
            seen += 1;
        }
    }
    assert!(seen > 300, "the sources are where they were: {seen}");
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Returns the names of the arguments that directly follow a message.
fn chained(mut rest: &str) -> Vec<&str> {
    let mut names = Vec::new();
    rest = rest.split_once("\")").map_or("", |(_, rest)| rest);
    loop {
        let call = rest.trim_start();
        let begins = ["text", "number", "span", "message", "list"].map(|name| format!(".{name}(\""));
        let Some(begin) = begins.iter().find(|begin| call.starts_with(begin.as_str())) else { return names };
        names.push(call[begin.len()..].split('"').next().unwrap_or_default());
        let mut depth = 0;
        let end = call.char_indices().find(|(_, one)| {
            depth += i32::from(*one == '(') - i32::from(*one == ')');
            *one == ')' && depth == 0
        });
        rest = end.map_or("", |(at, _)| &call[at + 1..]);
    }
}

#[test]
fn every_message_of_the_command_line_is_used() {
    let all: String = sources().into_iter().map(|(_, code)| code).collect();
    let own = [include_str!("../../../locales/cli.en.ftl"), include_str!("../../../locales/config.en.ftl")];
    let ids = own.iter().flat_map(|file| file.lines()).filter(|line| line.starts_with(char::is_alphabetic));
    let ids = ids.filter_map(|line| line.split_once(" =")).map(|(id, _)| id);
    // Words, and labels that codes name, are looked up by those codes.
    let coded = ["word-", "head-count-", "head-rate-", "head-event-", "head-policy-"];
    let is_used = |id: &&str| {
        coded.iter().any(|prefix| id.starts_with(prefix))
            || all.contains(&format!("\"{}\"", id.strip_prefix("head-").unwrap_or(id)))
    };
    let unused: Vec<&str> = ids.filter(|id| !is_used(id)).collect();
    assert!(unused.is_empty(), "no code names these messages: {unused:#?}");
}

#[test]
fn every_column_has_a_heading() {
    /// Names that are the same in both languages.
    const SAME: [&str; 5] = ["", "error", "fence", "id", "sku"];
    let known = known_shape();
    let mut missing = BTreeSet::new();
    for (_, code) in sources() {
        for columns in code.split("Table::new(&[").skip(1) {
            let columns = columns.split(']').next().unwrap_or_default().split('"').skip(1).step_by(2);
            let unknown = columns.filter(|name| !known.contains_key(&format!("head-{name}")) && !SAME.contains(name));
            missing.extend(unknown.map(str::to_owned));
        }
    }
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn every_message_of_the_command_line_is_in_one_file() {
    let own = [include_str!("../../../locales/cli.en.ftl"), include_str!("../../../locales/config.en.ftl")];
    let all = crate::texts::tests::english();
    let ids = own.iter().flat_map(|file| file.lines()).filter(|line| line.starts_with(char::is_alphabetic));
    for id in ids.filter_map(|line| line.split_once(" =")).map(|(id, _)| format!("{id} =")) {
        let count = all.iter().flat_map(|file| file.lines()).filter(|line| line.starts_with(&id)).count();
        assert_eq!(count, 1, "{id}");
    }
}
