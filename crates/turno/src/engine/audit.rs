//! Reading and verifying the audit.

use super::Turno;
use super::access::Needs;
use crate::error::Error;
use crate::store::AuditQuery;
use turno_core::access::Permission;
use turno_core::audit::{Broken, Entry, Head, Verifier};

/// Entries read at a time while verifying.
const PAGE: u32 = 1_000;

impl Turno {
    /// Returns entries of the audit. Needs `audit.read`.
    ///
    /// ```
    /// # turno_testkit::example(async |turno| {
    /// turno.lease("caja:3").force_claim("eva", "urgent").await?;
    /// use turno::event::AuditQuery;
    /// let entries = turno.audit(AuditQuery { limit: 10, ..AuditQuery::default() }).await?;
    /// assert_eq!((entries[0].action.as_str(), entries[0].actor.user.as_str()), ("lock_force_claim", "eva"));
    /// # Ok(()) });
    /// ```
    pub async fn audit(&self, query: AuditQuery) -> Result<Vec<Entry>, Error> {
        self.authorize_read(Needs::permission(Permission::AuditRead)).await?;
        Ok(self.inner.store.audit(query).await?)
    }

    /// Verifies the chain from its first entry and returns its head. Keep the head outside the database: passed as
    /// `kept` later, it shows whether any entry up to it was rewritten.
    ///
    /// Calls `progress` with the entries verified so far and the total.
    ///
    /// ```
    /// # turno_testkit::example(async |turno| {
    /// turno.lease("caja:3").force_claim("eva", "urgent").await?;
    /// let head = turno.audit_verify(None, |_, _| {}).await?.expect("the chain is intact");
    /// println!("keep this elsewhere: {head}");
    /// assert_eq!(turno.audit_verify(Some(head), |_, _| {}).await?, Ok(head));
    /// # Ok(()) });
    /// ```
    pub async fn audit_verify(
        &self,
        kept: Option<Head>,
        mut progress: impl FnMut(i64, i64),
    ) -> Result<Result<Head, Broken>, Error> {
        self.authorize_read(Needs::permission(Permission::AuditRead)).await?;
        // Entries written during the verification come after this head and are left for the next one.
        let head = self.inner.store.audit_head().await?;
        let mut verifier = Verifier::against(kept);
        loop {
            let after = Some(verifier.head().n);
            let mut page = self.inner.store.audit(AuditQuery { after, limit: PAGE, ..AuditQuery::default() }).await?;
            page.retain(|entry| entry.n <= head.n);
            if page.is_empty() {
                break;
            }
            for entry in &page {
                if let Err(broken) = verifier.follow(entry) {
                    return Ok(Err(broken));
                }
            }
            progress(verifier.head().n, head.n);
        }
        Ok(verifier.end(head).map(|()| head))
    }
}
