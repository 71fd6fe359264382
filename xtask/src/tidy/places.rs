//! Finds paths of one machine and addresses of package registries, because the repository must work everywhere.

use super::Finding;
use super::tree::Tree;

/// This file, and lock files, which name their registry by design.
const EXEMPT: &[&str] = &["xtask/src/tidy/places.rs", "Cargo.lock"];
/// Folders of users, on different systems.
const FOLDERS: &[&str] = &["/root/", "/home/", "/Users/"];
/// Beginnings of the addresses of package registries.
const HOSTS: &[&str] = &["//registry.", "//index.", "//static.", "//files.", "//deb."];

pub(super) fn nowhere(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in &tree.files {
        if EXEMPT.contains(&file.path.as_str()) || file.name() == "package-lock.json" {
            continue;
        }
        for (line, text) in file.lines() {
            for folder in FOLDERS.iter().filter(|folder| is_absolute_in(text, folder)) {
                findings.push(Finding::new(&file.path, line, format!("`{folder}` is a path of one machine")));
            }
            for host in HOSTS.iter().filter(|host| text.contains(**host)) {
                findings.push(Finding::new(&file.path, line, format!("`{host}…` is a package registry's address")));
            }
        }
    }
    findings
}

/// Returns whether the folder begins a path, and is not in the middle of one.
fn is_absolute_in(text: &str, folder: &str) -> bool {
    text.match_indices(folder).any(|(at, _)| {
        let before = text[..at].chars().last();
        !before.is_some_and(|one| one.is_alphanumeric() || matches!(one, '.' | '_' | '-' | '}' | '*'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machines_path_and_a_registrys_host_are_found() {
        let text = "see ../home/a and src/root/b\n`/home/c`\nfile:///root/d\nhttps://registry.example/e";
        let found: Vec<usize> = nowhere(&Tree::from_files(&[("README.md", text)])).iter().map(|one| one.line).collect();
        assert_eq!(found, [2, 3, 4]);
        assert!(nowhere(&Tree::from_files(&[("Cargo.lock", text)])).is_empty());
    }
}
