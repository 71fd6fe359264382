//! Why a trip failed, and what that means for its group.

use crate::store::{DatabaseMessage, SchemaFault, StoreError, TlsFault};
use tokio_postgres::error::{Severity, SqlState};

/// Why a trip failed.
#[derive(Debug)]
pub(super) enum TripError {
    /// The connection was lost or never made. Whether a commit under way happened is unknown.
    Lost(DatabaseMessage),
    /// No TLS connection was made.
    Tls(TlsFault),
    /// The server refused a statement. The transaction is over and stored nothing.
    Refused {
        /// The error code; `None` if the statement could not be sent.
        code: Option<SqlState>,
        /// The message, for people.
        message: String,
    },
    /// An answer that a store of this version cannot have written.
    Garbled(String),
    /// The epoch of access differs from the one that the group was authorised under. Nothing must be stored.
    AccessChanged,
    /// The database is in another life. Nothing was decided, and caches are void.
    AnotherLife,
    /// A rule refused the change. The transaction is still open.
    Decided(StoreError),
}

impl From<tokio_postgres::Error> for TripError {
    fn from(error: tokio_postgres::Error) -> TripError {
        if let Some(db) = error.as_db_error() {
            let ends = matches!(db.parsed_severity(), Some(Severity::Fatal | Severity::Panic));
            let message = format!("{} ({})", db.message(), db.code().code());
            return if ends || db.code().code().starts_with("08") {
                TripError::Lost(DatabaseMessage { code: Some(db.code().code().into()), text: message })
            } else {
                TripError::Refused { code: Some(db.code().clone()), message }
            };
        }
        let source = std::error::Error::source(&error);
        let message = source.map_or_else(|| error.to_string(), |source| format!("{error}: {source}"));
        // The driver keeps its kinds of errors to itself. A failed network is an I/O error in the chain of causes.
        let io = std::iter::successors(source, |cause| cause.source()).any(|cause| cause.is::<std::io::Error>());
        if error.is_closed() || io {
            TripError::Lost(message.into())
        } else {
            TripError::Refused { code: None, message }
        }
    }
}

impl From<TlsFault> for TripError {
    fn from(fault: TlsFault) -> TripError {
        TripError::Tls(fault)
    }
}

/// For decisions.
impl From<StoreError> for TripError {
    fn from(error: StoreError) -> TripError {
        TripError::Decided(error)
    }
}

impl TripError {
    /// Returns whether a pooler caused the failure. The prepared statement is missing or exists already, which happens
    /// if a pooler gives each transaction another server connection.
    pub(super) fn is_from_pooler(&self) -> bool {
        let TripError::Refused { code: Some(code), .. } = self else {
            return false;
        };
        *code == SqlState::INVALID_SQL_STATEMENT_NAME || *code == SqlState::DUPLICATE_PSTATEMENT
    }

    /// Returns whether the server may accept the same connection without TLS.
    pub(super) fn may_pass_without_tls(&self) -> bool {
        match self {
            TripError::Tls(fault) => !matches!(fault, TlsFault::File { .. }),
            failure => failure.code() == Some(SqlState::INVALID_AUTHORIZATION_SPECIFICATION.code()),
        }
    }

    /// Returns the server's error code.
    pub(super) fn code(&self) -> Option<&str> {
        match self {
            TripError::Lost(message) => message.code.as_deref(),
            TripError::Refused { code, .. } => code.as_ref().map(SqlState::code),
            _ => None,
        }
    }

    /// Builds a refusal by this store, not by the server.
    pub(super) fn rejected(message: impl Into<String>) -> TripError {
        TripError::Refused { code: None, message: message.into() }
    }

    pub(super) fn is_lost(&self) -> bool {
        matches!(self, TripError::Lost(_))
    }
}

fn with(code: SqlState, text: String) -> DatabaseMessage {
    DatabaseMessage { code: Some(code.code().into()), text }
}

/// For a transaction that certainly stored nothing.
impl From<TripError> for StoreError {
    fn from(failure: TripError) -> StoreError {
        match failure {
            TripError::Lost(message) => StoreError::Unavailable(message),
            TripError::Tls(fault) => StoreError::Tls(fault),
            TripError::Garbled(message) => StoreError::Schema(SchemaFault::Garbled(message)),
            TripError::AccessChanged => StoreError::AccessChanged,
            TripError::AnotherLife => StoreError::Conflict("the database has begun another life".into()),
            TripError::Decided(error) => error,
            TripError::Refused { code: None, message } => StoreError::Rejected(message.into()),
            TripError::Refused { code: Some(code), message } => match code.clone() {
                SqlState::T_R_SERIALIZATION_FAILURE
                | SqlState::T_R_DEADLOCK_DETECTED
                | SqlState::UNIQUE_VIOLATION
                | SqlState::LOCK_NOT_AVAILABLE => StoreError::Conflict(message),
                SqlState::QUERY_CANCELED
                | SqlState::READ_ONLY_SQL_TRANSACTION
                | SqlState::DISK_FULL
                | SqlState::OUT_OF_MEMORY
                | SqlState::TOO_MANY_CONNECTIONS
                | SqlState::CONFIGURATION_LIMIT_EXCEEDED => StoreError::Unavailable(with(code, message)),
                _ => StoreError::Rejected(with(code, message)),
            },
        }
    }
}
