//! Compares the sources in `Cargo.lock` with `deny.toml`, without cargo-deny.

use super::Finding;
use super::tree::{File, Tree};
use crate::deny;

/// Finds packages that come from another place than `deny.toml` allows.
pub(super) fn are_allowed(tree: &Tree) -> Vec<Finding> {
    let allowed = tree.get(deny::FILE).map(|file| deny::list(&file.text, "allow-registry")).unwrap_or_default();
    let lock = tree.get("Cargo.lock").into_iter().flat_map(File::lines);
    let sources = lock.filter_map(|(line, text)| Some((line, text.strip_prefix("source = \"")?.strip_suffix('"')?)));
    let is_allowed =
        |source: &str| source.strip_prefix("registry+").is_some_and(|registry| allowed.contains(&registry));
    let foreign = sources.filter(|(_, source)| !is_allowed(source));
    foreign
        .map(|(line, source)| Finding::new("Cargo.lock", line, format!("{} allows no `{source}`", deny::FILE)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_that_is_not_listed_is_found() {
        let lines = |lock: &str| {
            let config = (deny::FILE, "[sources]\nallow-registry = [\"https://a/index\"]\n");
            let tree = Tree::from_files(&[config, ("Cargo.lock", lock)]);
            are_allowed(&tree).iter().map(|finding| finding.line).collect::<Vec<_>>()
        };
        let good = "name = \"x\"\nsource = \"registry+https://a/index\"\n";
        assert!(lines(good).is_empty());
        assert_eq!(
            lines(&format!("{good}source = \"git+https://a/index\"\nsource = \"registry+https://b\"\n")),
            [3, 4]
        );
    }
}
