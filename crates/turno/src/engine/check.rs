//! The self-check: whether what is stored keeps the promises.

use super::Turno;
use super::access::Needs;
use crate::error::Error;
use crate::store::{Check, Damaged, Finding, QueueRow, RepairGroup, StoreError};
use std::collections::HashSet;
use turno_core::access::{Permission, Role};
use turno_core::id::{Key, QueueName};
use turno_core::queue::Repaired;

/// Findings of one check that are worth listing: who has that many needs no more.
const FINDINGS_MAX: u32 = 100;

/// How often a lane is tried again when another transaction came in between.
const REPAIR_TRIES: u32 = 10;

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

/// What a repair has done, and what it has left.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Repair {
    /// What was rebuilt, in order.
    pub mended: Vec<Mended>,
    /// What a check found afterwards: what no repair mends, or what an application was completing at that moment.
    pub left: Vec<Finding>,
}

/// A lane, or an item without one, that was rebuilt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mended {
    /// The queue.
    pub queue: QueueName,
    /// Whose lane it is, if that is known.
    pub key: Option<Key>,
    /// What the finding said it was about.
    pub subject: String,
    /// What was changed.
    pub repaired: Repaired,
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
            let (subject, detail) = ("the audit".to_owned(), broken.to_string());
            findings.push(Finding { invariant: "U2", subject, detail, damaged: None });
        }
        progress(CheckProgress { invariant: "U2", done: of, of });
        Ok(findings)
    }

    /// Rebuilds what [`Turno::check`] finds damaged in queues, lane by lane, each in a transaction of its own and under the
    /// lane's lock, and then checks again. Other servers may work on the database meanwhile. Needs `queues.manage` and
    /// `audit.read`; audited (`queue_repair`), one entry per lane.
    ///
    /// A delivery that is not whole, or that runs beside another one of its lane, is ended: its items go back to their
    /// places without the attempt, and a late settlement is stale. No accepted item is lost, and the order stays.
    ///
    /// ```
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// # let dir = std::env::temp_dir().join(format!("turno-doc-repair-{}", std::process::id()));
    /// # std::fs::create_dir_all(&dir).unwrap();
    /// # let turno = turno::Turno::open(&format!("sqlite:{}/doc.db", dir.display())).await?;
    /// let repair = turno.repair(|_| ()).await?;
    /// assert!(repair.mended.is_empty() && repair.left.is_empty(), "a sound database stays as it is");
    /// # std::fs::remove_dir_all(&dir).unwrap();
    /// # Ok::<(), turno::Error>(()) }).unwrap();
    /// ```
    pub async fn repair(&self, progress: impl FnMut(CheckProgress)) -> Result<Repair, Error> {
        self.reads(Needs::of(Permission::QueuesManage)).await?;
        let queues = self.inner.store.queues().await?;
        let (mut mended, mut tried) = (Vec::new(), HashSet::new());
        for check in Check::ALL.into_iter().filter(|check| check.is_mendable()) {
            loop {
                let mut found = self.inner.store.check(check, FINDINGS_MAX).await?;
                found.retain(|finding| {
                    finding.damaged.is_some_and(|damaged| tried.insert((check.invariant(), damaged)))
                });
                if found.is_empty() {
                    break;
                }
                for Finding { subject, damaged, .. } in found {
                    let Some(damaged) = damaged else { continue };
                    let Some(queue) = queues.iter().find(|queue| queue.id == damaged.queue) else { continue };
                    self.mend(queue, subject, damaged, &mut mended).await?;
                }
            }
        }
        Ok(Repair { mended, left: self.check(progress).await? })
    }

    /// Rebuilds one lane, in as many steps as it takes.
    async fn mend(
        &self,
        queue: &QueueRow,
        subject: String,
        damaged: Damaged,
        mended: &mut Vec<Mended>,
    ) -> Result<(), Error> {
        let mut tries = 0;
        loop {
            let (name, policy, by) = (queue.name.clone(), queue.policy.clone(), self.actor());
            let outcome = match self.inner.store.repair(RepairGroup { damaged, name, policy, by }).await {
                // Somebody works on the lane at this moment.
                Err(StoreError::Conflict(_)) if tries < REPAIR_TRIES => {
                    tries += 1;
                    continue;
                }
                outcome => outcome?,
            };
            if outcome.repaired.is_nothing() {
                return Ok(());
            }
            let (subject, repaired) = (subject.clone(), outcome.repaired);
            mended.push(Mended { queue: queue.name.clone(), key: outcome.key, subject, repaired });
            self.inner.wake_queue(queue.id).await;
            if !outcome.more {
                return Ok(());
            }
        }
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
