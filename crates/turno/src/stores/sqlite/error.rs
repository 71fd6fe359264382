//! Translates SQLite's errors: whether the engine tries again, redoes the group, or searches for the faulty command.

use crate::store::{FileFault, StoreError};
use rusqlite::ffi::{SQLITE_CONSTRAINT_PRIMARYKEY, SQLITE_CONSTRAINT_ROWID, SQLITE_CONSTRAINT_UNIQUE};
use rusqlite::{Error, ErrorCode};

/// Extended codes for a row that exists already.
const TAKEN: [i32; 3] = [SQLITE_CONSTRAINT_UNIQUE, SQLITE_CONSTRAINT_PRIMARYKEY, SQLITE_CONSTRAINT_ROWID];

impl From<Error> for StoreError {
    fn from(error: Error) -> StoreError {
        let text = error.to_string();
        let Error::SqliteFailure(failure, _) = &error else {
            return StoreError::Rejected(text.into());
        };
        match failure.code {
            ErrorCode::DatabaseBusy
            | ErrorCode::DatabaseLocked
            | ErrorCode::SystemIoFailure
            | ErrorCode::DiskFull
            | ErrorCode::CannotOpen
            | ErrorCode::ReadOnly
            | ErrorCode::PermissionDenied
            | ErrorCode::OutOfMemory => StoreError::Unavailable(text.into()),
            ErrorCode::ConstraintViolation if TAKEN.contains(&failure.extended_code) => StoreError::Conflict(text),
            ErrorCode::NotADatabase => FileFault::NotADatabase.into(),
            ErrorCode::DatabaseCorrupt => FileFault::Damaged.into(),
            _ => StoreError::Rejected(text.into()),
        }
    }
}

/// Translates an error of the commit itself.
///
/// If the log was written but could not be synced, a crash may or may not preserve the commit. So the outcome is
/// unknown.
pub(super) fn at_commit(error: Error) -> StoreError {
    match error.sqlite_error_code() {
        Some(ErrorCode::SystemIoFailure) => StoreError::Unknown(error.to_string()),
        _ => error.into(),
    }
}
