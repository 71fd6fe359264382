//! The self-check and the repair: whether the stored data fulfil the invariants.

use super::Turno;
use super::access::Needs;
use crate::error::{Error, Misuse};
use crate::store::{Check, Damaged, Finding, Problem, QueueRow, RepairGroup, StoreError, Subject};
use std::collections::HashSet;
use turno_core::access::{Permission, Role};
use turno_core::id::{Key, QueueName};
use turno_core::queue::Repaired;

/// The largest number of findings listed per check.
const FINDINGS_MAX: u32 = 100;

/// How often the repair of a lane is retried after a conflict with another transaction.
const REPAIR_TRIES: u32 = 10;

/// The progress of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CheckProgress {
    /// The invariant that is being checked.
    pub invariant: &'static str,
    /// How many checks are done.
    pub done: usize,
    /// How many checks there are.
    pub of: usize,
}

/// The result of a repair.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Repair {
    /// The lanes that were rebuilt, in order.
    pub mended: Vec<RepairedLane>,
    /// What a check found afterwards: damage that no repair covers, or deliveries that an application was completing.
    pub left: Vec<Finding>,
}

/// A rebuilt lane, or a rebuilt item without a lane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RepairedLane {
    /// The queue.
    pub queue: QueueName,
    /// The lane's key, if known.
    pub key: Option<Key>,
    /// The subject of the finding.
    pub subject: Subject,
    /// The repair.
    pub repaired: Repaired,
}

impl Turno {
    /// Checks the stored data and returns a finding for each violated invariant. Changes nothing and can run on a
    /// database in use. Needs `audit.read`.
    ///
    /// ```
    /// # turno_testkit::example(async |turno| {
    /// let findings = turno.check(|progress| println!("{}/{}", progress.done, progress.of)).await?;
    /// assert_eq!(findings, []);
    /// # Ok(()) });
    /// ```
    pub async fn check(&self, mut progress: impl FnMut(CheckProgress)) -> Result<Vec<Finding>, Error> {
        self.authorize_read(Needs::permission(Permission::AuditRead)).await?;
        let of = Check::ALL.len() + 1;
        let mut findings = Vec::new();
        for (done, check) in Check::ALL.into_iter().enumerate() {
            progress(CheckProgress { invariant: check.invariant, done, of });
            findings.extend(self.inner.store.check(check, FINDINGS_MAX).await?);
        }
        progress(CheckProgress { invariant: "U2", done: of - 1, of });
        if let Err(broken) = self.audit_verify(None, |_, _| {}).await? {
            let problem = Problem::AuditBroken(broken);
            findings.push(Finding { invariant: "U2", subject: Subject::default(), problem, damaged: None });
        }
        progress(CheckProgress { invariant: "U2", done: of, of });
        Ok(findings)
    }

    /// Rebuilds damaged lanes and then checks again. Each lane is rebuilt in its own transaction, under its lock,
    /// while other servers may work on the database. Needs `queues.manage` and `audit.read`. Audited as
    /// `queue_repair`, one entry per lane.
    ///
    /// A delivery that is incomplete, or that runs beside another one of its lane, is ended: its items return to their
    /// positions, the attempt does not count, and a late settlement is stale. No accepted item is lost, and the order
    /// stays.
    ///
    /// ```
    /// # turno_testkit::example(async |turno| {
    /// let repair = turno.repair(|_| ()).await?;
    /// assert!(repair.mended.is_empty() && repair.left.is_empty(), "an intact database is not changed");
    /// # Ok(()) });
    /// ```
    pub async fn repair(&self, progress: impl FnMut(CheckProgress)) -> Result<Repair, Error> {
        self.authorize_read(Needs::permission(Permission::QueuesManage)).await?;
        let queues = self.inner.store.queues().await?;
        let (mut mended, mut tried) = (Vec::new(), HashSet::new());
        for check in Check::ALL.into_iter().filter(|check| check.mendable) {
            loop {
                let mut found = self.inner.store.check(check, FINDINGS_MAX).await?;
                found.retain(|finding| finding.damaged.is_some_and(|damaged| tried.insert((check.invariant, damaged))));
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

    /// Tells the engine that the database was restored from a copy that it cannot recognise: a snapshot of PostgreSQL's
    /// data directory, or a file copied over the old one. Task ids and event positions jump past those of the lost time,
    /// and listeners get a reset. Needs `audit.read`. Audited as `database_life`.
    ///
    /// ```
    /// # turno_testkit::example(async |turno| {
    /// turno.declare_restored().await?;
    /// # Ok(()) });
    /// ```
    pub async fn declare_restored(&self) -> Result<(), Error> {
        self.authorize_read(Needs::permission(Permission::AuditRead)).await?;
        Ok(self.inner.store.restored().await?)
    }

    /// Rebuilds one lane, in as many steps as it needs.
    async fn mend(
        &self,
        queue: &QueueRow,
        subject: Subject,
        damaged: Damaged,
        mended: &mut Vec<RepairedLane>,
    ) -> Result<(), Error> {
        let mut tries = 0;
        loop {
            let (name, policy, by) = (queue.name.clone(), queue.policy.clone(), self.actor());
            let outcome = match self.inner.store.repair(RepairGroup { damaged, name, policy, by }).await {
                // Another transaction is working on the lane: try again.
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
            mended.push(RepairedLane { queue: queue.name.clone(), key: outcome.key, subject, repaired });
            self.inner.wake_queue(queue.id).await;
            if !outcome.more {
                return Ok(());
            }
        }
    }

    /// Writes a consistent copy of an SQLite database to a new file while work continues. PostgreSQL has its own
    /// tools.
    ///
    /// ```
    /// # use turno::Turno;
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
        // The copy contains everything, including hashes of secrets, and is written wherever this program may write.
        self.authorize_read(Needs::permission(Permission::UsersManage)).await?;
        if self.principal().is_some_and(|principal| !principal.is_unrestricted(Role::Admin)) {
            return Err(Misuse::FullAdminOnly.into());
        }
        Ok(self.inner.store.backup(to.into()).await?)
    }
}
