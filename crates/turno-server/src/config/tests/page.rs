//! `docs/reference/configuration.md` matches the program: the page lists every key and no other, and its examples are
//! valid.

use super::settings;
use crate::config::field::{Field, Shape};
use crate::config::key::KEYS;
use crate::config::{Environment, endpoint, lease, oidc, queue, sync};
use std::collections::BTreeSet;

const PAGE: &str = include_str!("../../../../../docs/reference/configuration.md");

/// Returns the first block of TOML on the page.
pub(super) fn example() -> &'static str {
    blocks()[0]
}

fn blocks() -> Vec<&'static str> {
    PAGE.split("```toml\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect()
}

/// Returns the rows of the table under a heading, by their keys.
fn rows(heading: &str) -> Vec<(&'static str, &'static str)> {
    let section = PAGE.split("\n#").find(|part| part.trim_start_matches('#').trim_start().starts_with(heading));
    let section = section.unwrap_or_else(|| panic!("the page has no heading {heading}"));
    let key = |line: &'static str| Some((line.strip_prefix("| `")?.split_once('`')?.0, line));
    section.lines().filter_map(key).collect()
}

/// Returns the texts that a row must contain about its valid values.
fn bounds(shape: Shape) -> Vec<String> {
    match shape {
        Shape::Whole(min, max) => vec![format!(" {min} to {max}")],
        Shape::WholeOrFalse(min, max) => vec![format!(" {min} to {max}"), "or `false`".to_owned()],
        Shape::Choice(words) => words.iter().map(|word| format!("`\"{word}\"`")).collect(),
        Shape::Switch => vec!["`true` or `false`".to_owned()],
        Shape::Texts(_) => vec!["list of".to_owned()],
        Shape::Text(_) | Shape::Table(_) => Vec::new(),
    }
}

fn check_section(heading: &str, fields: &[Field]) {
    let rows = rows(heading);
    let known: Vec<&str> = fields.iter().map(|field| field.name).collect();
    assert_eq!(rows.iter().map(|(key, _)| *key).collect::<Vec<_>>(), known, "under {heading}");
    for (field, (_, row)) in fields.iter().zip(&rows) {
        for bound in bounds(field.shape) {
            assert!(row.contains(&bound), "{heading} {}: {bound} is missing", field.name);
        }
    }
}

#[test]
fn every_single_value_is_on_the_page_and_nothing_else() {
    let sections = ["Single values", "[log]", "[limits]", "[push]"];
    let rows: Vec<_> = sections.into_iter().flat_map(rows).collect();
    assert_eq!(
        rows.iter().map(|(key, _)| *key).collect::<Vec<_>>(),
        KEYS.iter().map(|key| key.name).collect::<Vec<_>>()
    );
    for (key, (_, row)) in KEYS.iter().zip(&rows) {
        let default = match key.default {
            Some("") => "| empty |".to_owned(),
            Some(default) => format!("| `{default}` |"),
            None => "| none |".to_owned(),
        };
        let flag = format!("`--{}", key.flag);
        for part in bounds(key.shape).into_iter().chain([default, format!("`{}`", key.variable), flag]) {
            assert!(row.contains(&part), "{}: {part} is missing", key.name);
        }
    }
}

#[test]
fn every_key_of_a_table_is_on_the_page_and_nothing_else() {
    check_section("[oidc]", oidc::FIELDS);
    check_section("[leases.PREFIX]", lease::FIELDS);
    check_section("[queues.NAME]", queue::FIELDS);
    check_section("Endpoints", endpoint::FIELDS);
    check_section("[[sync.source]]", sync::FIELDS);
    check_section("actions", sync::ACTION_FIELDS);
}

#[test]
fn the_defaults_on_the_page_are_those_in_force() {
    let shown = |file: &str, key: &str| {
        let row = settings(file).explain().iter().find(|row| row.key == key).cloned().unwrap();
        row.value.map_or("none".to_owned(), |value| format!("`{value}`"))
    };
    let cell = |row: &str, at: usize| row.split(" | ").nth(at).unwrap().to_owned();
    for (key, row) in rows("[leases.PREFIX]") {
        assert_eq!(cell(row, 2), shown("", &format!("leases.default.{key}")), "{key}");
        assert_eq!(cell(row, 3), shown("", &format!("leases.task.{key}")), "{key} of task");
    }
    for (at, kind) in ["lane", "inbox", "sync"].into_iter().enumerate() {
        let file = format!("[queues.q]\nkind = \"{kind}\"");
        for (key, row) in rows("[queues.NAME]").into_iter().filter(|(key, _)| *key != "kind") {
            assert_eq!(cell(row, 2 + at), shown(&file, &format!("queues.q.{key}")), "{key} of {kind}");
        }
    }
}

#[test]
fn the_example_is_accepted_and_uses_every_key() {
    let settings = settings(example());
    assert_eq!(settings.environment, Environment::Production);
    assert!(settings.check_production().is_ok());
    assert_eq!((settings.queues.len(), settings.sync.len()), (3, 2));
    let keys: BTreeSet<&str> =
        example().lines().filter_map(|line| line.split_once(" = ")).map(|(key, _)| key.trim()).collect();
    let tables = [oidc::FIELDS, lease::FIELDS, queue::FIELDS, sync::FIELDS].concat();
    let singles = KEYS.iter().map(|key| key.table_and_name().1);
    for key in tables.iter().map(|field| field.name).chain(singles) {
        assert!(keys.contains(key), "{key} is not in the example");
    }
}

#[test]
fn the_page_shows_the_preset() {
    let preset = include_str!("../sync/siper.toml");
    assert_eq!(blocks()[1], preset.split_once('\n').unwrap().1);
}
