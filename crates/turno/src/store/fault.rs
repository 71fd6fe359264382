//! Store errors, and faults of an embedded database's file.

use super::TlsFault;
use turno_core::id::QueueName;
use turno_core::queue::Kind;

/// Why a group was not committed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// The database could not be reached, and nothing was stored: try again.
    #[error("the database is not reachable: {0}")]
    Unavailable(DatabaseMessage),
    /// No TLS connection to the database was made, and nothing was stored: correct the settings and try again.
    #[error(transparent)]
    Tls(#[from] TlsFault),
    /// The connection was lost at commit and its outcome could not be found out.
    #[error("the outcome of the commit is unknown: {0}")]
    Unknown(String),
    /// Another transaction interfered (a deadlock, the same new id): redo the group.
    #[error("another transaction came in between: {0}")]
    Conflict(String),
    /// The database refused a statement, and nothing was stored. At least one command of the group caused that.
    #[error("the database refused: {0}")]
    Rejected(DatabaseMessage),
    /// A queue with unfinished or exhausted items keeps its kind, and nothing was stored.
    #[error("queue {name} has unfinished or exhausted items, so it stays of kind {}; empty it first, or use another name", .kind.as_str())]
    KindStays {
        /// The queue.
        name: QueueName,
        /// Its kind.
        kind: Kind,
    },
    /// This program broke its own rule, and nothing was stored.
    #[error("a bug in this program: {0}")]
    Bug(&'static str),
    /// The epoch of access has changed since the caller's rights were read, and nothing was stored: read them again.
    #[error("what the caller may do has changed; ask again")]
    AccessChanged,
    /// A queue of the group does not exist, and nothing was stored: look the queue up again.
    #[error("a queue of the group does not exist")]
    QueueGone,
    /// This version cannot use the schema.
    #[error(transparent)]
    Schema(SchemaFault),
    /// The file of an embedded database is damaged or gone, and nothing was stored.
    #[error(transparent)]
    File(#[from] FileFault),
}

/// The words of a database or of its driver, for operators.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatabaseMessage {
    /// The SQLSTATE of PostgreSQL. `None` on SQLite, and if the database said nothing.
    pub code: Option<Box<str>>,
    /// The words.
    pub text: String,
}

impl<T: Into<String>> From<T> for DatabaseMessage {
    fn from(text: T) -> DatabaseMessage {
        DatabaseMessage { code: None, text: text.into() }
    }
}

impl std::fmt::Display for DatabaseMessage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

/// Why this program cannot use a schema.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SchemaFault {
    /// The database has no schema.
    #[error("the database has no schema yet, and this program needs {wanted}; run turno migrate")]
    Missing {
        /// The version that this program needs.
        wanted: u32,
    },
    /// The schema is older than this program needs.
    #[error("the database has schema {found}, and this program needs {wanted}; run turno migrate")]
    Old {
        /// The version of the schema.
        found: u32,
        /// The version that this program needs.
        wanted: u32,
    },
    /// The schema needs a newer program.
    #[error("the database has schema {found}, which needs a newer program; this one knows {wanted}: upgrade it")]
    New {
        /// The version of the schema.
        found: u32,
        /// The newest version that this program knows.
        wanted: u32,
    },
    /// A row holds a value that this version cannot have written.
    #[error("{0}")]
    Garbled(String),
}

/// A fault of the database file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FileFault {
    /// The path leads to no file.
    #[error("the database file was deleted or moved; stop the server and put the file or a backup in its place")]
    Gone,
    /// The path leads to another file.
    #[error("the database file was replaced by another one; restart the server to use that, or put the first one back")]
    Replaced,
    /// The file is shorter than it was.
    #[error("the database file was cut short; stop the server and put a backup in its place")]
    CutShort,
    /// The log beside it, where commits go first, was deleted or replaced.
    #[error(
        "the log beside the database file (-wal) was deleted or replaced; stop the server and put a backup in its place"
    )]
    LogGone,
    /// The file is damaged inside.
    #[error("the database file is damaged; stop the server and put a backup in its place")]
    Damaged,
    /// The file is no SQLite database.
    #[error("the file is not a SQLite database; give another path")]
    NotADatabase,
    /// The file cannot be written.
    #[error("the database file cannot be written, see whether the disk is full or read-only: {0}")]
    Unwritable(String),
}

impl FileFault {
    /// Returns a stable word for programs.
    pub fn code(&self) -> &'static str {
        match self {
            FileFault::Gone => "gone",
            FileFault::Replaced => "replaced",
            FileFault::CutShort => "cut_short",
            FileFault::LogGone => "log_gone",
            FileFault::Damaged => "damaged",
            FileFault::NotADatabase => "not_a_database",
            FileFault::Unwritable(_) => "unwritable",
        }
    }
}
