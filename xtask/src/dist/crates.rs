//! The crates in the program: normal dependencies of `turno-server` with default features, for this machine's target.
//!
//! `cargo tree` resolves features as the build does. `cargo metadata` would add the features of the other packages of
//! the workspace.

use std::collections::{BTreeMap, BTreeSet};

use super::files;
use super::program::tool;
use crate::tools::{Problem, root};

/// Name and version.
pub(super) type Id = (String, String);

/// A crate, and what it depends on.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Crate {
    /// An SPDX expression, or nothing if the manifest has none.
    pub(super) licence: String,
    /// The SHA-256 of the package in the registry. `None` for the crates of this repository.
    pub(super) checksum: Option<String>,
    /// `false` for macros and their dependencies, which run in the compiler only.
    pub(super) is_linked: bool,
    pub(super) dependencies: BTreeSet<Id>,
}

/// Reads all crates.
pub(super) fn read() -> Result<BTreeMap<Id, Crate>, Problem> {
    let mut crates = parse(&tree(&["--edges", "normal", "--prefix", "depth", "--format", "|{p}|{l}|"])?);
    let linked = ids(&tree(&["--edges", "normal,no-proc-macro", "--prefix", "none", "--format", "{p}"])?);
    let mut checksums = checksums(&files::read(&root().join("Cargo.lock"))?);
    for (id, entry) in &mut crates {
        entry.is_linked = linked.contains(id);
        entry.checksum = checksums.remove(id);
    }
    Ok(crates)
}

/// Returns the name and version of every crate, from a call of its own.
pub(super) fn list() -> Result<BTreeSet<Id>, Problem> {
    Ok(ids(&tree(&["--edges", "normal", "--prefix", "none", "--format", "{p}"])?))
}

fn tree(arguments: &[&str]) -> Result<String, Problem> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
    tool(&cargo).args(["tree", "--locked", "--package", "turno-server"]).args(arguments).within(&root()).capture()
}

/// Parses lines such as `2|bytes v1.11.0|MIT| (*)`. The number is the depth, and the mark says that the dependencies of
/// this crate stand where it came first.
fn parse(tree: &str) -> BTreeMap<Id, Crate> {
    let mut crates: BTreeMap<Id, Crate> = BTreeMap::new();
    let mut above: Vec<Id> = Vec::new();
    for line in tree.lines() {
        let [depth, package, licence, _] = line.split('|').collect::<Vec<_>>()[..] else { continue };
        let (Ok(depth), Some(id)) = (depth.parse(), id(package)) else { continue };
        above.truncate(depth);
        if let Some(user) = above.last().and_then(|user| crates.get_mut(user)) {
            user.dependencies.insert(id.clone());
        }
        // The old way to write `OR`.
        crates.entry(id.clone()).or_default().licence = licence.replace('/', " OR ");
        above.push(id);
    }
    crates
}

fn ids(list: &str) -> BTreeSet<Id> {
    list.lines().filter_map(id).collect()
}

/// Parses `bytes v1.11.0`, with or without remarks in parentheses.
fn id(package: &str) -> Option<Id> {
    let mut words = package.split_whitespace();
    Some((words.next()?.to_owned(), words.next()?.strip_prefix('v')?.to_owned()))
}

/// Returns the checksums in `Cargo.lock`.
fn checksums(lock: &str) -> BTreeMap<Id, String> {
    let packages = lock.split("[[package]]").filter_map(|package| {
        let value = |key: &str| package.lines().find_map(|line| line.strip_prefix(key)?.strip_suffix('"'));
        let id = (value("name = \"")?.to_owned(), value("version = \"")?.to_owned());
        Some((id, value("checksum = \"")?.to_owned()))
    });
    packages.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str, version: &str) -> Id {
        (name.into(), version.into())
    }

    #[test]
    fn a_crate_depends_on_those_one_level_below_it() {
        let tree = "0|a v1.0.0 (/somewhere/a)|MIT|\n1|b v2.0.0|MIT/ISC|\n2|c v3.0.0 (proc-macro)|ISC|\n1|d v4.0.0||\n\
                    2|b v2.0.0|MIT/ISC| (*)\n";
        let crates = parse(tree);
        let dependencies =
            |name, version| crates[&named(name, version)].dependencies.iter().cloned().collect::<Vec<_>>();
        assert_eq!(dependencies("a", "1.0.0"), [named("b", "2.0.0"), named("d", "4.0.0")]);
        assert_eq!(dependencies("b", "2.0.0"), [named("c", "3.0.0")]);
        assert_eq!(dependencies("d", "4.0.0"), [named("b", "2.0.0")]);
        assert_eq!(crates[&named("b", "2.0.0")].licence, "MIT OR ISC");
        assert_eq!(crates.len(), 4);
    }

    #[test]
    fn packages_of_the_repository_have_no_checksum() {
        let lock = "version = 4\n\n[[package]]\nname = \"a\"\nversion = \"1.0.0\"\n\n[[package]]\nname = \"b\"\n\
                    version = \"2.0.0\"\nsource = \"registry+x\"\nchecksum = \"0f\"\ndependencies = [\n \"a\",\n]\n";
        assert_eq!(checksums(lock), BTreeMap::from([(named("b", "2.0.0"), "0f".to_owned())]));
    }
}
