//! What can happen to the file of an embedded database while it is open.

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
