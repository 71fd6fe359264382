//! The kinds of old data that a purge deletes, and the care of the database.

use super::{Check, Finding, Pending, RepairGroup, RepairOutcome, SchemaState, StoreError};
use turno_core::audit::Actor;
use turno_core::id::{QueueId, Resource};
use turno_core::time::Time;

/// The kind of old rows to delete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Purge {
    /// Finished items of a queue, with their bodies, errors and ids. Audited as `queue_purge` by this actor with the
    /// count, which is also added to the queue's count of purged items.
    Items(QueueId, Actor),
    /// Ended ownerships.
    LeaseHistory,
    /// Expired tokens.
    Tokens,
    /// Expired links.
    Links,
    /// Ids of changes that sync items of a queue absorbed.
    Absorbed(QueueId),
    /// Delivered states of deactivated keys of a sync queue.
    Delivered(QueueId),
    /// Kept answers.
    Answers,
}

/// The care of the database: its schema, purges, checks, repairs and backups.
pub trait Upkeep: Send + Sync {
    /// Returns how many finished items a purge with the same `before` would delete.
    fn count_purgeable(&self, queue: QueueId, before: Time) -> Pending<'_, u64>;

    /// Returns database settings, as text for people, under which a committed transaction can be lost. Empty where the
    /// store sets them itself.
    fn unsafe_settings(&self) -> Pending<'_, Vec<String>> {
        Box::pin(std::future::ready(Ok(Vec::new())))
    }

    /// Reads the schema's version, in one round trip.
    fn schema(&self) -> Pending<'_, SchemaState>;

    /// Checks that the database answers and that this program can use its schema. For a file, also checks that the path
    /// still leads to the opened file and that the file can be written.
    fn ready(&self) -> Pending<'_, ()> {
        Box::pin(async move { self.schema().await?.required() })
    }

    /// Deletes up to `limit` rows that finished, ended, expired or were made before `before`. Returns how many. Purged items are audited as [`purge_entry`](super::purge_entry) says.
    fn purge(&self, what: Purge, before: Time, limit: u32) -> Pending<'_, u64>;

    /// Examines the next `limit` leases behind `after`, ordered by resource name, and deletes those that have no
    /// holder, no waiting line, and no ownership since `before`. Returns how many were deleted and where to continue;
    /// `None` at the end.
    ///
    /// A deleted lease is like a resource never seen. Its fences keep growing, because they come from the one sequence.
    fn purge_leases(&self, after: Option<Resource>, before: Time, limit: u32) -> Pending<'_, (u64, Option<Resource>)>;

    /// Runs one check and returns at most `limit` findings.
    fn check(&self, check: Check, limit: u32) -> Pending<'_, Vec<Finding>>;

    /// Rebuilds a damaged lane in one transaction, under the lane's lock, and audits that as `queue_repair`. A lane
    /// that is sound by then is not changed and leaves no entry. Other processes clear their cached lane floors.
    fn repair(&self, repair: RepairGroup) -> Pending<'_, RepairOutcome> {
        let message = format!("this store repairs nothing; queue {} stays as it is", repair.name);
        Box::pin(std::future::ready(Err(StoreError::Rejected(message.into()))))
    }

    /// Begins another life of the database, because an operator says that it was restored: counters jump, listeners get
    /// `reset`, and the audit gets an entry `database_life`.
    fn restored(&self) -> Pending<'_, ()> {
        Box::pin(std::future::ready(Err(StoreError::Rejected("this store has no lives".into()))))
    }

    /// Writes a copy of the database, consistent as of one instant, to a new file. Returns `Rejected` where the
    /// database has its own backup tools.
    fn backup(&self, to: std::path::PathBuf) -> Pending<'_, ()>;
}
