//! Why a source cannot be used as it is described, for people: what is wrong, and what to do about it.

use super::BadIdent;
use crate::text::counted;

/// Why a source is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SourceRefused {
    /// This database has no triggers of ours.
    #[error("triggers need PostgreSQL; on SQLite a sync queue is fed through the API")]
    NoTriggers,
    /// There is no such table.
    #[error("there is no table {0}")]
    NoTable(String),
    /// It is something else.
    #[error("{0} is not a table")]
    NotATable(String),
    /// Columns are missing.
    #[error("table {table} has no column {}", columns.join(", "))]
    NoColumns {
        /// The table.
        table: String,
        /// What it lacks.
        columns: Vec<String>,
    },
    /// The key's text would depend on settings of a session, or it has no order.
    #[error("column {column} is of type {kind}, which cannot be a key")]
    KeyType {
        /// The key.
        column: String,
        /// Its type.
        kind: String,
    },
    /// A text is no value of the key's column: no row can ever have it.
    #[error("this cannot be a key of column {column}: {cause}")]
    NotAKey {
        /// The column.
        column: String,
        /// What the database says.
        cause: String,
    },
    /// The engine's role may not read the table.
    #[error("{role} may not read {table}")]
    Unreadable {
        /// The table.
        table: String,
        /// Who may not.
        role: String,
    },
    /// The engine's role sees only some of the rows.
    #[error("row security of {table} hides rows from {role}, which would look as if they were gone")]
    Hidden {
        /// The table.
        table: String,
        /// From whom.
        role: String,
    },
    /// The database does not understand a condition.
    #[error("the conditions cannot be used: {0}")]
    Condition(String),
    /// The queue is not there, or of another kind.
    #[error("there is no queue {0} of kind sync")]
    NoQueue(String),
    /// Something else has the name already.
    #[error("{what} {name} exists already and is not of this source")]
    Taken {
        /// What it is.
        what: &'static str,
        /// Its name.
        name: String,
    },
    /// Several rows speak for one key.
    #[error("more than one current row for {} of {table}: {}", counted(*count, "key", "keys"), listed(found, *count))]
    Duplicates {
        /// The table.
        table: String,
        /// Some of the keys, each with its count of rows.
        found: Vec<(String, i64)>,
        /// How many keys there are.
        count: i64,
    },
    /// Something cannot be part of a statement.
    #[error(transparent)]
    Name(#[from] BadIdent),
}

impl SourceRefused {
    /// What a person can do.
    pub fn next(&self) -> String {
        match self {
            SourceRefused::NoTriggers => {
                "put changes into the queue with `turno queue enqueue` or POST /v1/queues/{q}/items, or use PostgreSQL"
                    .to_owned()
            }
            SourceRefused::NoTable(_) => {
                "create it first, or correct `table` of the source: capitals count, and it is written without quotes"
                    .to_owned()
            }
            SourceRefused::NotATable(_) => "name an ordinary or a partitioned table".to_owned(),
            SourceRefused::NoColumns { .. } => {
                "correct `key`, `watch` and `payload` of the source; capitals count".to_owned()
            }
            SourceRefused::KeyType { .. } => {
                "choose a column of whole numbers, numeric, text, uuid or an enum".to_owned()
            }
            SourceRefused::NotAKey { column, .. } => format!("pass a value of {column} as it stands in the table"),
            SourceRefused::Unreadable { table, role } => {
                format!("grant usage on its schema, and select on {table}, to {role}")
            }
            SourceRefused::Hidden { role, .. } => format!("give {role} bypassrls, or a policy for all rows"),
            SourceRefused::Condition(_) => {
                "correct `current_when` and `enqueue_when`; names outside pg_catalog need their schema".to_owned()
            }
            SourceRefused::NoQueue(_) => "create it, or let `turno sync install` do it".to_owned(),
            SourceRefused::Taken { .. } => "choose another name in the source, or remove what is there".to_owned(),
            SourceRefused::Duplicates { .. } => {
                "leave one current row per key, then install again; or set one_current_per_key = false".to_owned()
            }
            SourceRefused::Name(_) => "correct it in the configuration".to_owned(),
        }
    }
}

fn listed(found: &[(String, i64)], count: i64) -> String {
    let mut shown: Vec<String> =
        found.iter().map(|(key, rows)| format!("{key} ({})", counted(*rows, "row", "rows"))).collect();
    if count > found.len() as i64 {
        shown.push("…".to_owned());
    }
    shown.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn duplicates_are_listed_and_their_number_is_said() {
        let found = vec![("42".to_owned(), 2), ("43".to_owned(), 3)];
        let refused = SourceRefused::Duplicates { table: "siper.usuarios".to_owned(), found, count: 9 };
        let said = "more than one current row for 9 keys of siper.usuarios: 42 (2 rows), 43 (3 rows), …";
        assert_eq!(refused.to_string(), said);
        assert!(refused.next().contains("one_current_per_key"));
    }
}
