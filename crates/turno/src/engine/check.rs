//! The self-check: whether what is stored keeps the promises.

use super::Turno;
use super::access::Needs;
use crate::error::Error;
use crate::store::{Check, Finding};
use turno_core::access::{Permission, Role};

/// Findings of one check that are worth listing: who has that many needs no more.
const FINDINGS_MAX: u32 = 100;

/// How far a check is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CheckProgress {
    /// The invariant that is being looked at.
    pub invariant: &'static str,
    /// How many looks were made.
    pub done: usize,
    /// Out of how many.
    pub of: usize,
}

impl Turno {
    /// Looks whether what is stored keeps the promises, and names what does not by the invariant that is broken. Nothing is
    /// changed, and a database that is in use can be checked. Needs `audit.read`.
    ///
    /// ```
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// # let dir = std::env::temp_dir().join(format!("turno-doc-check-{}", std::process::id()));
    /// # std::fs::create_dir_all(&dir).unwrap();
    /// # let turno = turno::Turno::open(&format!("sqlite:{}/doc.db", dir.display())).await?;
    /// let findings = turno.check(|progress| println!("{}/{}", progress.done, progress.of)).await?;
    /// assert_eq!(findings, []);
    /// # std::fs::remove_dir_all(&dir).unwrap();
    /// # Ok::<(), turno::Error>(()) }).unwrap();
    /// ```
    pub async fn check(&self, mut progress: impl FnMut(CheckProgress)) -> Result<Vec<Finding>, Error> {
        self.reads(Needs::of(Permission::AuditRead)).await?;
        let of = Check::ALL.len() + 1;
        let mut findings = Vec::new();
        for (done, check) in Check::ALL.into_iter().enumerate() {
            progress(CheckProgress { invariant: check.invariant(), done, of });
            findings.extend(self.inner.store.check(check, FINDINGS_MAX).await?);
        }
        progress(CheckProgress { invariant: "U2", done: of - 1, of });
        if let Err(broken) = self.audit_verify(None, |_, _| {}).await? {
            findings.push(Finding { invariant: "U2", subject: "the audit".to_owned(), detail: broken.to_string() });
        }
        progress(CheckProgress { invariant: "U2", done: of, of });
        Ok(findings)
    }

    /// Writes a copy of an SQLite database, consistent as of one instant, to a new file. Work goes on meanwhile.
    /// PostgreSQL has tools of its own.
    ///
    /// ```
    /// # use turno::*;
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// # let dir = std::env::temp_dir().join(format!("turno-doc-backup-{}", std::process::id()));
    /// # std::fs::create_dir_all(&dir).unwrap();
    /// # let turno = Turno::open(&format!("sqlite:{}/doc.db", dir.display())).await?;
    /// let copy = dir.join("copy.db");
    /// turno.backup(&copy).await?;
    /// assert!(Turno::open(&format!("sqlite:{}", copy.display())).await.is_ok());
    /// # std::fs::remove_dir_all(&dir).unwrap();
    /// # Ok::<(), turno::Error>(()) }).unwrap();
    /// ```
    pub async fn backup(&self, to: impl Into<std::path::PathBuf>) -> Result<(), Error> {
        // It holds everything, hashes of secrets among it, and is written wherever this program may write.
        self.reads(Needs::of(Permission::UsersManage)).await?;
        if self.principal().is_some_and(|principal| !principal.is_whole(Role::Admin)) {
            return Err(Error::Invalid("only a full administrator's token can copy the database".to_owned()));
        }
        Ok(self.inner.store.backup(to.into()).await?)
    }
}
