//! Store errors, and faults of an embedded database's file.

/// Why a group was not committed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// The database could not be reached, and nothing was stored: try again.
    #[error("the database is not reachable: {0}")]
    Unavailable(String),
    /// The connection was lost at commit and its outcome could not be found out.
    #[error("the outcome of the commit is unknown: {0}")]
    Unknown(String),
    /// Another transaction interfered (a deadlock, the same new id): redo the group.
    #[error("another transaction came in between: {0}")]
    Conflict(String),
    /// The database refused a statement, and nothing was stored. At least one command of the group caused that.
    #[error("the database refused: {0}")]
    Rejected(String),
    /// The epoch of access has changed since the caller's rights were read, and nothing was stored: read them again.
    #[error("what the caller may do has changed; ask again")]
    AccessChanged,
    /// A queue of the group does not exist, and nothing was stored: look the queue up again.
    #[error("a queue of the group does not exist")]
    QueueGone,
    /// This version cannot use the schema.
    #[error("{0}")]
    Schema(String),
    /// The file of an embedded database is damaged or gone, and nothing was stored.
    #[error(transparent)]
    File(#[from] FileFault),
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
            FileFault::Unwritable(_) => "unwritable",
        }
    }
}
