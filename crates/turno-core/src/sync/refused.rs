//! The reasons why a source cannot be installed or used, with the next step for a person.

use super::BadIdent;
use crate::text::pluralize;

/// The reason why a source is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SourceRefused {
    /// The database is SQLite, for which Turno generates no triggers.
    #[error("triggers need PostgreSQL; on SQLite a sync queue is fed through the API")]
    NoTriggers,
    /// There is no such table.
    #[error("there is no table {0}")]
    NoTable(String),
    /// The name belongs to something that is not a table.
    #[error("{0} is not a table")]
    NotATable(String),
    /// The table lacks columns.
    #[error("table {table} has no column {}", columns.join(", "))]
    NoColumns {
        /// The table.
        table: String,
        /// The missing columns.
        columns: Vec<String>,
    },
    /// The type of the key's column has no order, or its text depends on settings of the session.
    #[error("column {column} is of type {kind}, which cannot be a key")]
    KeyType {
        /// The column.
        column: String,
        /// The type of the column.
        kind: String,
    },
    /// The given key is not a valid value of the key's column.
    #[error("this cannot be a key of column {column}: {cause}")]
    NotAKey {
        /// The column.
        column: String,
        /// The database's error.
        cause: String,
    },
    /// The engine's role may not read the table.
    #[error("{role} may not read {table}")]
    Unreadable {
        /// The table.
        table: String,
        /// The role.
        role: String,
    },
    /// Row security hides rows from the engine's role.
    #[error("row security of {table} hides rows from {role}, which would look as if they were gone")]
    Hidden {
        /// The table.
        table: String,
        /// The role.
        role: String,
    },
    /// A condition is not valid SQL for this table.
    #[error("the conditions cannot be used: {0}")]
    Condition(String),
    /// The queue does not exist or has another kind.
    #[error("there is no queue {0} of kind sync")]
    NoQueue(String),
    /// Another object of the database has the name.
    #[error("{what} {name} exists already and is not of this source")]
    Taken {
        /// The kind of object.
        what: &'static str,
        /// The name.
        name: String,
    },
    /// Keys have several current rows.
    #[error("more than one current row for {} of {table}: {}", pluralize(*count, "key", "keys"), render_keys(found, *count))]
    Duplicates {
        /// The table.
        table: String,
        /// Some of these keys, each with its number of current rows.
        found: Vec<(String, i64)>,
        /// The number of these keys.
        count: i64,
    },
    /// A name or a text cannot be part of a statement.
    #[error(transparent)]
    Name(#[from] BadIdent),
}

impl SourceRefused {
    /// Returns the next step for a person.
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

fn render_keys(found: &[(String, i64)], count: i64) -> String {
    let mut parts: Vec<String> =
        found.iter().map(|(key, rows)| format!("{key} ({})", pluralize(*rows, "row", "rows"))).collect();
    if count > found.len() as i64 {
        parts.push("…".to_owned());
    }
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn duplicate_keys_are_listed_with_their_number() {
        let found = vec![("42".to_owned(), 2), ("43".to_owned(), 3)];
        let refused = SourceRefused::Duplicates { table: "siper.usuarios".to_owned(), found, count: 9 };
        let text = "more than one current row for 9 keys of siper.usuarios: 42 (2 rows), 43 (3 rows), …";
        assert_eq!(refused.to_string(), text);
        assert!(refused.next().contains("one_current_per_key"));
    }
}
