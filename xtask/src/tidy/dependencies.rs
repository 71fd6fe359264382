//! Compares the manifests with the table of dependencies.

use std::collections::BTreeMap;

use super::Finding;
use super::markdown::cells;
use super::tree::{File, Tree};

const TABLE: &str = "docs/decisions/0007-dependencies.md";
/// The heading of the table. Other tables of the page are not compared.
const HEADING: &str = "## Crates";
const TESTS: &str = " (tests)";

/// Finds dependencies without a row, rows without a dependency, and rows that name other users than the manifests.
pub(super) fn have_rows(tree: &Tree) -> Vec<Finding> {
    let (mut wanted, mut findings) = (users_by_crate(tree), Vec::new());
    let page = tree.get(TABLE);
    let lines = page.map(|page| page.lines().collect::<Vec<_>>()).unwrap_or_default();
    let table = lines.into_iter().skip_while(|(_, text)| *text != HEADING).skip(1);
    for (line, text) in table.take_while(|(_, text)| !text.starts_with("## ")) {
        let [name, users, why, without] = cells(text)[..] else { continue };
        let Some(name) = name.strip_prefix('`').and_then(|name| name.strip_suffix('`')) else { continue };
        if why.is_empty() || without.is_empty() {
            findings.push(Finding::new(TABLE, line, format!("`{name}` has an empty cell")));
        }
        match wanted.remove(name).map(|users| users.join(", ")) {
            None => {
                findings.push(Finding::new(TABLE, line, format!("no crate depends on `{name}`, or it has two rows")))
            }
            Some(right) if right != users => {
                findings.push(Finding::new(TABLE, line, format!("`{name}` is used by: {right}")));
            }
            Some(_) => {}
        }
    }
    let missing = |(name, users): (&str, Vec<String>)| {
        Finding::new(TABLE, 0, format!("`{name}` has no row under \"{HEADING}\"; it is used by: {}", users.join(", ")))
    };
    findings.extend(wanted.into_iter().map(missing));
    findings
}

/// Returns the packages that depend on each crate, in the order of their paths. The packages of this repository are no
/// dependencies.
fn users_by_crate(tree: &Tree) -> BTreeMap<&str, Vec<String>> {
    let manifests: Vec<(&str, &File)> = tree.files.iter().filter_map(|file| Some((package(file)?, file))).collect();
    let mut users: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (package, file) in &manifests {
        let mut direct: BTreeMap<&str, &str> = BTreeMap::new();
        for (name, only) in dependencies(file).filter(|(name, _)| !manifests.iter().any(|(ours, _)| ours == name)) {
            // A dependency of the code and of its tests counts for the code.
            direct.entry(name).and_modify(|kind| *kind = if only.is_empty() { only } else { kind }).or_insert(only);
        }
        for (name, only) in direct {
            users.entry(name).or_default().push(format!("{package}{only}"));
        }
    }
    users
}

/// Returns the name of a manifest's package.
fn package(file: &File) -> Option<&str> {
    let manifest = (file.name() == "Cargo.toml").then_some(&file.text)?;
    let (_, package) = manifest.split_once("[package]\n")?;
    package.lines().find_map(|line| line.strip_prefix("name = \"")?.strip_suffix('"'))
}

/// Returns the names of a manifest's dependencies, with [`TESTS`] for those of tests only.
fn dependencies(file: &File) -> impl Iterator<Item = (&str, &'static str)> {
    let mut section = "";
    file.text.lines().filter_map(move |line| {
        if line.starts_with('[') {
            section = line.trim_matches(['[', ']']).rsplit('.').next().unwrap_or_default();
        }
        let only = match section {
            "dependencies" | "build-dependencies" => "",
            "dev-dependencies" => TESTS,
            _ => return None,
        };
        let name = line.split([' ', '.', '=']).next().filter(|name| !name.is_empty() && !name.starts_with(['#', '[']));
        name.map(|name| (name, only))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIBRARY: (&str, &str) = (
        "crates/turno/Cargo.toml",
        "[package]\nname = \"turno\"\n\n[features]\nx = [\"dep:c\"]\n\n[dependencies]\na.workspace = true\n\
         c = { workspace = true, optional = true }\n\n[dev-dependencies]\na.workspace = true\nb = \"1\"\n",
    );
    const SERVER: (&str, &str) = (
        "crates/turno-server/Cargo.toml",
        "[package]\nname = \"turno-server\"\n[dependencies]\nturno.workspace = true\n# d\n\
         [target.'cfg(unix)'.dependencies]\na.workspace = true\n\n[[test]]\nname = \"http\"\n",
    );

    fn messages(rows: &str) -> Vec<String> {
        let page = format!(
            "# D\n\n## Crates\n\n| crate | used by | why | without |\n|---|---|---|---|\n{rows}\n## Tools\n| `z` | a | b | c |\n"
        );
        let workspace = ("Cargo.toml", "[workspace.dependencies]\nunused = \"1\"\n");
        let tree = Tree::from_files(&[(TABLE, &page), workspace, SERVER, LIBRARY]);
        have_rows(&tree).into_iter().map(|finding| finding.message).collect()
    }

    #[test]
    fn a_table_with_a_row_per_dependency_passes() {
        let rows = "| `a` | turno-server, turno | w | l |\n| `b` | turno (tests) | w | l |\n| `c` | turno | w | l |\n";
        assert_eq!(messages(rows), Vec::<String>::new());
    }

    #[test]
    fn a_missing_row_a_surplus_row_a_wrong_user_and_an_empty_cell_are_found() {
        let rows = "| `a` | turno | w | l |\n| `b` | turno (tests) |  | l |\n| `d` | turno | w | l |\n";
        let found = messages(rows);
        let expected = [
            "`a` is used by: turno-server, turno",
            "`b` has an empty cell",
            "no crate depends on `d`, or it has two rows",
            "`c` has no row under \"## Crates\"; it is used by: turno",
        ];
        assert_eq!(found, expected);
    }
}
