//! Checks Markdown files: links resolve, and both READMEs have the same headings.

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
    let (first, second) = (headings(first), headings(second));
    let differs = first.iter().zip(&second).find(|(one, other)| one.1 != other.1);
    if let Some(((_, level, title), (line, other, _))) = differs {
        let message = format!("level {other} where README.md has \"{title}\" at level {level}");
        return vec![Finding::new("README.es.md", *line, message)];
    }
    if first.len() != second.len() {
        let message = format!("{} headings, README.md has {}", second.len(), first.len());
        return vec![Finding::new("README.es.md", 0, message)];
    }
    Vec::new()
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
    fn cells_and_code_spans_are_split_as_rendered() {
        assert_eq!(cells("| L1 | a `b` |"), ["L1", "a `b`"]);
        assert!(cells("no row").is_empty());
        assert_eq!(code_spans("`a` b `c` d `e").collect::<Vec<_>>(), ["a", "c"]);
    }
}
