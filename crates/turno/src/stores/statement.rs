//! Statements: named texts from the `sql` folder of a store.
//!
//! A file holds one long statement, or the short statements of one table. A statement begins with the line
//! `-- name: NAME`. In its text `{hot}` stands for the columns of `hot`, and `{h.hot}` for those of the alias `h`.

use std::ops::Deref;
use std::sync::LazyLock;

/// The columns of `hot`, in the order in which both stores read them.
const HOT: &str = "seq, queue, lane, enqueued_at, not_before, ready_at, expires_at, claimed_at, attempt, fence, grp, \
                   last, revision, handed, parked, holder, size";

/// A statement that is read when it is first used.
pub(super) type Sql = LazyLock<Statement>;

/// A statement: its name and its text.
#[derive(Debug)]
pub(super) struct Statement {
    pub(super) name: String,
    pub(super) text: String,
}

impl Statement {
    /// Finds a statement by the name of its constant, which is the statement's name in capitals. A test of each store
    /// reads every statement, so that a missing one is found.
    pub(super) fn find(file: &str, constant: &str) -> Statement {
        let name = constant.to_lowercase();
        let (_, text) = blocks(file).find(|(found, _)| *found == name).expect("the file contains its statements");
        Statement { text: format!("-- {name}\n{}", expand(text)), name }
    }
}

impl Deref for Statement {
    type Target = str;

    fn deref(&self) -> &str {
        &self.text
    }
}

/// Returns the statements of a file, each with its name.
fn blocks(file: &str) -> impl Iterator<Item = (&str, &str)> {
    file.split("-- name: ").skip(1).map(|block| {
        let (name, text) = block.split_once('\n').unwrap_or((block, ""));
        (name.trim(), text.trim_end())
    })
}

/// Replaces the placeholders for columns.
fn expand(text: &str) -> String {
    let mut parts = text.split('{');
    let mut expanded = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part.split_once("hot}") {
            Some((alias, rest)) if alias.is_empty() || alias.ends_with('.') => {
                let columns = HOT.split(", ").map(|column| format!("{alias}{column}"));
                expanded.push_str(&columns.collect::<Vec<_>>().join(", "));
                expanded.push_str(rest);
            }
            _ => {
                expanded.push('{');
                expanded.push_str(part);
            }
        }
    }
    expanded
}

/// Declares the statements of a store: for each file its constants, and apart the checks, which are found by name. A
/// macro, because a function cannot include a file.
macro_rules! statements {
    ($($file:literal: $($constant:ident)+;)* checks { $($check:literal: $found:ident;)* }) => {
        $($(statements!($file, $constant);)+)*
        $(statements!($check, $found);)*

        /// The statements of the checks.
        static CHECKS: &[&Sql] = &[$(&$found),*];

        /// All statements. Tests prepare each one and compare the list with the folder.
        #[cfg(test)]
        pub(super) static ALL: &[&Sql] = &[$($(&$constant,)+)* $(&$found),*];

        /// Returns the statement of a check.
        pub(super) fn of_check(check: crate::store::Check) -> &'static Sql {
            CHECKS.iter().find(|sql| sql.name == check.statement).expect("a test runs every check")
        }
    };
    ($file:literal, $constant:ident) => {
        pub(super) static $constant: Sql = Sql::new(|| {
            Statement::find(include_str!(concat!("sql/", $file, ".sql")), stringify!($constant))
        });
    };
}
pub(super) use statements;

/// Returns the names of all statements in a folder.
#[cfg(test)]
pub(super) fn names_in(folder: &std::path::Path) -> std::collections::BTreeSet<String> {
    let files = std::fs::read_dir(folder).unwrap().map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap());
    let names = |file: String| blocks(&file).map(|(name, _)| name.to_owned()).collect::<Vec<_>>();
    files.flat_map(names).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_statement_of_a_file_is_found_by_its_constant() {
        let file = "-- name: item_add\n-- Why.\ninsert into item\n\n-- name: item_read\nselect {a.b}, 1\n";
        let add = Statement::find(file, "ITEM_ADD");
        assert_eq!((add.name.as_str(), &*add), ("item_add", "-- item_add\n-- Why.\ninsert into item"));
        assert_eq!(
            &*Statement::find(file, "ITEM_READ"),
            "-- item_read\nselect {a.b}, 1",
            "only known placeholders are replaced"
        );
    }

    #[test]
    fn the_columns_of_hot_are_expanded_with_and_without_an_alias() {
        let text = expand("select {hot} from (select {h.hot}, b.id from hot h)");
        assert!(text.starts_with("select seq, queue, lane,") && text.contains("size from (select h.seq, h.queue,"));
        assert!(text.ends_with("h.holder, h.size, b.id from hot h)"));
    }
}
