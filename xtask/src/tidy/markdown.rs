//! Checks Markdown files: links resolve, and translations have the form of the English page.

use std::collections::HashSet;

use super::Finding;
use super::tree::{File, Tree};

/// Finds relative links without a file or folder, and anchors without a heading.
pub(super) fn links_resolve(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.with_extension("md") {
        for (line, text) in prose(file) {
            for target in links(&without_code(text)) {
                if let Some(problem) = problem(tree, file, &target) {
                    findings.push(Finding::new(&file.path, line, format!("link `{target}`: {problem}")));
                }
            }
        }
    }
    findings
}

/// Compares the headings of both READMEs: their number, and their levels in order.
pub(super) fn readmes_match(tree: &Tree) -> Vec<Finding> {
    let [english, spanish] = ["README.md", "README.es.md"].map(|path| (path, tree.get(path)));
    let (Some(first), Some(second)) = (english.1, spanish.1) else {
        let missing = if english.1.is_none() { english.0 } else { spanish.0 };
        return vec![Finding::new(missing, 0, "it does not exist")];
    };
    heading_difference(first, second).into_iter().collect()
}

/// Pages and folders that exist in Spanish, too.
const TRANSLATED: &[&str] = &["docs/concepts.md", "docs/guides/", "docs/operating/"];

/// Compares the pages under `docs/es/` with their English twins, and finds pages without a Spanish page.
pub(super) fn translations_match(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.with_extension("md") {
        if let Some(page) = file.path.strip_prefix("docs/es/") {
            let twin = format!("docs/{page}");
            match tree.get(&twin) {
                Some(english) => {
                    findings.extend(heading_difference(english, file));
                    findings.extend(code_difference(english, file));
                }
                // Each language has its own home page.
                None if page == "index.md" => {}
                None => findings.push(Finding::new(&file.path, 0, format!("{twin} does not exist"))),
            }
        } else if TRANSLATED.iter().any(|path| file.path.starts_with(path)) {
            let twin = file.path.replacen("docs/", "docs/es/", 1);
            if tree.get(&twin).is_none() {
                findings.push(Finding::new(&file.path, 0, format!("{twin}, its Spanish page, does not exist")));
            }
        }
    }
    findings
}

/// Returns the first difference in the number or the levels of headings.
fn heading_difference(english: &File, spanish: &File) -> Option<Finding> {
    let (first, second) = (headings(english), headings(spanish));
    let differs = first.iter().zip(&second).find(|(one, other)| one.1 != other.1);
    if let Some(((_, level, title), (line, other, _))) = differs {
        let message = format!("level {other} where {} has \"{title}\" at level {level}", english.path);
        return Some(Finding::new(&spanish.path, *line, message));
    }
    let message = || format!("{} headings, {} has {}", second.len(), english.path, first.len());
    (first.len() != second.len()).then(|| Finding::new(&spanish.path, 0, message()))
}

/// Returns the first difference in fenced code.
fn code_difference(english: &File, spanish: &File) -> Option<Finding> {
    let (first, second) = (code(english), code(spanish));
    if let Some(((line, _), (other, _))) = first.iter().zip(&second).find(|(one, other)| one.1 != other.1) {
        return Some(Finding::new(&spanish.path, *other, format!("its code differs from {}:{line}", english.path)));
    }
    let message = || format!("{} lines of code, {} has {}", second.len(), english.path, first.len());
    (first.len() != second.len()).then(|| Finding::new(&spanish.path, 0, message()))
}

/// READMEs and pages with the same section, word for word.
const DISCLAIMERS: &[(&str, &str, &str)] = &[
    ("README.md", "docs/promises.md", "What is not promised"),
    ("README.es.md", "docs/es/promises.md", "Lo que no se promete"),
];

/// Compares the section about what is not promised in the READMEs and in the pages.
pub(super) fn disclaimers_match(tree: &Tree) -> Vec<Finding> {
    let section = |path: &str, heading: &str| {
        let (_, rest) = tree.get(path)?.text.split_once(&format!("\n## {heading}\n"))?;
        Some(rest.split("\n## ").next().unwrap_or_default().trim().to_owned())
    };
    let differ = |(readme, page, heading): &&(&str, &str, &str)| {
        let first = section(readme, heading);
        first.is_none() || first != section(page, heading)
    };
    let finding = |(readme, page, heading): &(&str, &str, &str)| {
        Finding::new(page, 0, format!("its section \"{heading}\" is not the one of {readme}"))
    };
    DISCLAIMERS.iter().filter(differ).map(finding).collect()
}

/// Returns the cells of a table's row, or nothing if the line is not a row.
pub(super) fn cells(line: &str) -> Vec<&str> {
    let Some(row) = line.trim().strip_prefix('|') else {
        return Vec::new();
    };
    row.trim_end_matches('|').split('|').map(str::trim).collect()
}

/// Returns the texts between backticks in a line.
pub(super) fn code_spans(line: &str) -> impl Iterator<Item = &str> {
    let pieces = line.split('`').count();
    // The text after an unpaired backtick is not code.
    line.split('`').enumerate().filter(move |(at, _)| at % 2 == 1 && at + 1 < pieces).map(|(_, span)| span)
}

/// Returns the lines outside fenced code, with their numbers.
pub(super) fn prose(file: &File) -> Vec<(usize, &str)> {
    let mut fenced = false;
    let mut lines = Vec::new();
    for (number, line) in file.lines() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        } else if !fenced {
            lines.push((number, line));
        }
    }
    lines
}

/// Returns the lines of fenced code and its fences, with their numbers.
fn code(file: &File) -> Vec<(usize, &str)> {
    let outside: HashSet<usize> = prose(file).into_iter().map(|(number, _)| number).collect();
    file.lines().filter(|(number, _)| !outside.contains(number)).collect()
}

/// Returns line, level and title of each heading.
fn headings(file: &File) -> Vec<(usize, usize, &str)> {
    let lines = prose(file).into_iter().filter_map(|(number, line)| {
        let level = line.chars().take_while(|one| *one == '#').count();
        let title = line[level..].strip_prefix(' ')?;
        (1..=6).contains(&level).then_some((number, level, title.trim()))
    });
    lines.collect()
}

pub(super) fn without_code(line: &str) -> String {
    line.split('`').step_by(2).collect::<Vec<_>>().join("code")
}

fn links(line: &str) -> Vec<String> {
    let begins = line.match_indices("](").map(|(at, _)| &line[at + 2..]);
    let targets = begins.filter_map(|rest| rest.split([')', ' ']).next());
    targets.map(String::from).collect()
}

fn problem(tree: &Tree, file: &File, target: &str) -> Option<String> {
    if target.contains("://") || target.starts_with("mailto:") {
        return None;
    }
    let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
    let path = if path.is_empty() { file.path.clone() } else { resolve(&file.path, path) };
    if !tree.contains(&path) {
        return Some(format!("{path} does not exist"));
    }
    if anchor.is_empty() {
        return None;
    }
    let known = tree.get(&path).is_some_and(|file| headings(file).iter().any(|(_, _, title)| slug(title) == anchor));
    (!known).then(|| format!("{path} has no heading for #{anchor}"))
}

/// Resolves a link relative to the file that contains it.
fn resolve(from: &str, path: &str) -> String {
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            // A path above the root is kept as it is, so that it is not found.
            ".." if parts.last().is_none_or(|last| *last == "..") => parts.push(".."),
            ".." => drop(parts.pop()),
            name => parts.push(name),
        }
    }
    parts.join("/")
}

/// Returns the anchor of a heading, as common hosts create it.
fn slug(title: &str) -> String {
    let kept = title.chars().filter(|one| one.is_alphanumeric() || matches!(one, ' ' | '-' | '_'));
    kept.flat_map(char::to_lowercase).map(|one| if one == ' ' { '-' } else { one }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_without_a_target_is_found() {
        let guide = "[a](../README.md) [b](../README.md#two-words) [c](https://example.org/x) `[d](no)`\n\
                     [e](gone.md)\n[f](../README.md#three)\n[g](../../README.md)\n```\n[h](no)\n```";
        let tree =
            Tree::from_files(&[("README.md", "# Two, words\n[i](docs) [j](#two-words)"), ("docs/guide.md", guide)]);
        let lines: Vec<usize> = links_resolve(&tree).iter().map(|finding| finding.line).collect();
        assert_eq!(lines, [2, 3, 4]);
    }

    #[test]
    fn readmes_with_different_headings_are_found() {
        let english = ("README.md", "# A\n## B\n```\n# no heading\n```\n## C");
        let differ = |spanish| readmes_match(&Tree::from_files(&[english, ("README.es.md", spanish)])).len();
        assert_eq!(differ("# A\n## Be\n## Ce"), 0);
        assert_eq!(differ("# A\n## Be\n### Ce"), 1);
        assert_eq!(differ("# A\n## Be"), 1);
        assert_eq!(readmes_match(&Tree::from_files(&[english])).len(), 1);
    }

    #[test]
    fn translations_with_other_headings_or_code_and_missing_ones_are_found() {
        let english = ("docs/guides/a.md", "# A\ntext\n```sh\nb\n```\n## C");
        let found = |spanish| {
            let tree = Tree::from_files(&[english, ("docs/es/guides/a.md", spanish), ("docs/es/index.md", "# I")]);
            translations_match(&tree).iter().map(|finding| finding.line).collect::<Vec<_>>()
        };
        assert!(found("# A\n\notro texto\n```sh\nb\n```\n## Ce").is_empty());
        assert_eq!(found("# A\n```sh\nbe\n```\n## Ce"), [3]);
        assert_eq!(found("# A\n```sh\nb\n```\n### Ce"), [5]);
        assert_eq!(found("# A\n## Ce"), [0]);
        let translated = ["docs/concepts.md", "docs/guides/a.md", "docs/operating/a.md"].map(|path| (path, ""));
        assert_eq!(translations_match(&Tree::from_files(&translated)).len(), 3);
        let others = ["docs/internals/b.md", "docs/es/internals/c.md"].map(|path| (path, ""));
        assert_eq!(translations_match(&Tree::from_files(&others)).len(), 1);
    }

    #[test]
    fn a_disclaimer_that_differs_or_is_missing_is_found() {
        let files = |page| {
            Tree::from_files(&[
                ("README.md", "# A\n\n## What is not promised\n\n- B\n\n## License\n"),
                ("docs/promises.md", page),
                ("README.es.md", "\n## Lo que no se promete\n\n- B\n"),
                ("docs/es/promises.md", "\n## Lo que no se promete\n\n- B\n"),
            ])
        };
        assert_eq!(disclaimers_match(&files("# P\n\n## What is not promised\n\n- B\n")), []);
        assert_eq!(disclaimers_match(&files("# P\n\n## What is not promised\n\n- C\n")).len(), 1);
        assert_eq!(disclaimers_match(&files("# P\n")).len(), 1);
    }

    #[test]
    fn cells_and_code_spans_are_split_as_rendered() {
        assert_eq!(cells("| L1 | a `b` |"), ["L1", "a `b`"]);
        assert!(cells("no row").is_empty());
        assert_eq!(code_spans("`a` b `c` d `e").collect::<Vec<_>>(), ["a", "c"]);
    }
}
