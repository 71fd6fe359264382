//! Statements: named texts from the `sql` folder of a store.
//!
//! A file holds one long statement, or the short statements of one table. A statement begins with the line
//! `-- name: NAME`. In its text `{hot}` stands for the columns in [`COLUMNS`] under `hot`, and `{h.hot}` for those of the
//! alias `h`.

use std::ops::Deref;
use std::sync::LazyLock;

/// Columns that several statements list, in the order in which the stores read them: of `hot`, of `done`, of an
/// ownership, and of the last ending of an ownership (SQLite).
const COLUMNS: [(&str, &str); 4] = [
    (
        "hot",
        "seq, queue, lane, enqueued_at, not_before, ready_at, expires_at, claimed_at, attempt, fence, grp, last, \
         revision, handed, parked, holder, size",
    ),
    ("done", "seq, queue, ended, at, attempt, fence, revision, holder, handed_at"),
    (
        "grant",
        "holder_user, holder_name, holder_instance, fence, claim, ttl_ms, locked_at, worked_at, heartbeat_at, \
         expires_at, idle",
    ),
    (
        "ended",
        "ended_user, ended_name, ended_instance, ended_fence, ended_claim, ended_ttl_ms, ended_locked_at, \
         ended_worked_at, ended_heartbeat_at, ended_expires_at, ended_idle, ended_at, ended_reason, ended_cause, \
         ended_by, ended_note",
    ),
];

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
        match part.split_once('}').and_then(|(placeholder, rest)| Some((columns(placeholder)?, rest))) {
            Some((columns, rest)) => expanded.extend([&columns, rest]),
            None => expanded.extend(["{", part]),
        }
    }
    expanded
}

/// Returns the columns of a placeholder such as `hot` or `h.hot`.
fn columns(placeholder: &str) -> Option<String> {
    let name = placeholder.rsplit('.').next()?;
    let alias = placeholder.strip_suffix(name)?;
    let (_, columns) = COLUMNS.iter().find(|(known, _)| *known == name)?;
    Some(columns.split(", ").map(|column| format!("{alias}{column}")).collect::<Vec<_>>().join(", "))
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
