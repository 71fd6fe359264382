//! The committed `web/turno.js` is what its modules join to.

use super::Finding;
use super::tree::Tree;
use crate::bundle::{FOLDER, JOINED, join};

/// Compares the committed file with the joined modules.
pub(super) fn is_joined(tree: &Tree) -> Vec<Finding> {
    let modules =
        tree.files.iter().filter_map(|file| Some((file.path.strip_prefix(FOLDER)?.to_owned(), file.text.clone())));
    let found = tree.get(JOINED).map(|file| file.text.as_str()).unwrap_or_default();
    match join(&modules.collect()) {
        Err(problem) => vec![Finding::new(FOLDER, 0, problem)],
        Ok(wanted) if wanted == found => Vec::new(),
        Ok(_) => vec![Finding::new(JOINED, 0, "is not what web/turno/ joins to; run `cargo xtask bundle`")],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_module_that_was_not_joined_is_found() {
        let index = ("web/turno/index.js", "// All.\n\nexport { A } from './a.js';\n");
        let joined =
            "// All.\n// Joined from web/turno/ by `cargo xtask bundle`.\n\n// a.js: A.\nclass A {}\n\nexport { A };\n";
        let tree = |a| Tree::from_files(&[index, ("web/turno/a.js", a), ("web/turno.js", joined)]);
        assert_eq!(is_joined(&tree("// A.\nexport class A {}\n")), []);
        assert_eq!(is_joined(&tree("// A.\nexport class A { x; }\n")).len(), 1);
        assert_eq!(is_joined(&tree("// A.\nexport class B {}\n")).len(), 1);
    }
}
