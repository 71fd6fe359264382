//! Reads of the audit.

use super::Pending;
use turno_core::audit::{Entry, Head};
use turno_core::id::UserId;

/// A filter for audit entries.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditQuery {
    /// Only entries behind this number, oldest first.
    pub after: Option<i64>,
    /// Only entries before this number, newest first; ignored if `after` is given.
    pub before: Option<i64>,
    /// Only entries with this action.
    pub action: Option<String>,
    /// Only entries by this user, or by a principal on whose behalf this user acted.
    pub actor: Option<UserId>,
    /// Only entries about this resource.
    pub resource: Option<String>,
    /// The maximum number of entries.
    pub limit: u32,
}

/// Reads of the audit.
pub trait AuditReader {
    /// Returns audit entries.
    fn audit(&self, query: AuditQuery) -> Pending<'_, Vec<Entry>>;

    /// Returns the head of the audit.
    fn audit_head(&self) -> Pending<'_, Head>;
}
