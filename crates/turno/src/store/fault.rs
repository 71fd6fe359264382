//! Why something was not stored, and what can happen to the file of an embedded database while it is open.

/// Why a group was not committed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// The database could not be reached, and nothing was stored: try again.
    #[error("the database is not reachable: {0}")]
    Unavailable(String),
    /// The connection was lost at commit and its outcome could not be found out.
    #[error("the outcome of the commit is unknown: {0}")]
    Unknown(String),
    /// Another transaction got in between (a deadlock, the same new id): redo the group.
    #[error("another transaction came in between: {0}")]
    Conflict(String),
    /// The database refused a statement, and nothing was stored: some command of the group is the culprit.
    #[error("the database refused: {0}")]
    Rejected(String),
    /// What somebody may do has changed since it was looked up, and nothing was stored: look it up again.
    #[error("what the caller may do has changed; ask again")]
    AccessChanged,
    /// A queue of the group does not exist, and nothing was stored: look it up again.
    #[error("a queue of the group does not exist")]
    QueueGone,
    /// The schema is not one that this version can use.
    #[error("{0}")]
    Schema(String),
    /// The file of an embedded database is not good any more, and nothing was stored.
    #[error(transparent)]
    File(#[from] FileFault),
}

/// Why the file is not good any more.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FileFault {
    /// Its name leads nowhere.
    #[error("the database file was deleted or moved; stop the server and put the file or a backup in its place")]
    Gone,
    /// Its name leads to another file.
    #[error("the database file was replaced by another one; restart the server to use that, or put the first one back")]
    Replaced,
    /// It is shorter than it was.
    #[error("the database file was cut short; stop the server and put a backup in its place")]
    CutShort,
    /// The log beside it, where commits go first, was deleted or replaced.
    #[error(
        "the log beside the database file (-wal) was deleted or replaced; stop the server and put a backup in its place"
    )]
    LogGone,
    /// Nothing can be written into it.
    #[error("the database file cannot be written, see whether the disk is full or read-only: {0}")]
    Unwritable(String),
}

impl FileFault {
    /// A stable word for programs.
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
