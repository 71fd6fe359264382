//! Synchronisation of a source: its triggers, its current data, and what its destination has received.
//!
//! A trigger marks changed keys, and the queue delivers them. [`SyncHandle::prepare`] reads the row *after* the claim
//! has committed, and [`SyncHandle::delivered`] records the change before the ack. So the data are at least as new as
//! the revision that the ack confirms.

mod kept_delivery;
mod prepare;
mod walk;

pub(crate) use kept_delivery::confirm;
pub use prepare::{Filled, Prepared, SyncChange};
pub use walk::{SyncCheck, SyncProgress};

use super::Turno;
use super::access::Needs;
use super::queue::QueueHandle;
use crate::error::Error;
use crate::store::{Part, PartState, Pulse, SourceTables, StoreError};
use serde_json::Value;
use std::sync::Arc;
use turno_core::access::Permission;
use turno_core::audit::{AuditAction, Draft};
use turno_core::destination::Destination;
use turno_core::event::{Event, EventName, Topic};
use turno_core::id::{Key, QueueId};
use turno_core::queue::Kind;
use turno_core::sync::{Outgoing, Source, SourceRefused};
use turno_core::time::{Span, Time};

/// The period over which [`SyncStatus`] counts failures.
const RECENT: Span = Span::from_secs(3_600);

/// A handle to one source.
///
/// There are three ways to send its changes, and all of them use [`SyncHandle::prepare`]:
///
/// - [`SyncHandle::worker`] runs a handler for each change.
/// - [`SyncHandle::prepare`] and [`SyncHandle::delivered`] belong around a sending of one's own.
/// - [`SyncHandle::fill`] and [`SyncHandle::acked`] hand changes to a consumer in another process.
#[derive(Clone, Debug)]
pub struct SyncHandle {
    pub(super) turno: Turno,
    pub(super) source: Arc<Source>,
    /// The reason for an action, for the audit.
    reason: Option<String>,
}

/// The status of a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyncStatus {
    /// Why the database cannot say more about the source, for example because its table is missing or unreadable.
    pub trouble: Option<SourceTrouble>,
    /// The source's parts in the database, and whether they are as configured. Empty on a database without triggers.
    pub parts: Vec<Part>,
    /// The queue's figures: waiting and failed items, and the age of the oldest one.
    pub pulse: Pulse,
    /// The state of the destination. `None` if it never failed, or if the source has none.
    pub destination: Option<Destination>,
    /// Marks whose key cannot be an item's key. They are kept in `turno.intake_refused`.
    pub refused: i64,
    /// Keys that were delivered and whose row no longer takes part, without a deactivation. `None` if not counted.
    pub left: Option<i64>,
    /// Keys that are active at the destination, whose row is gone and that have no pending item. `None` if not
    /// counted.
    pub gone: Option<i64>,
}

/// Why a source does not work as it should. Keys that have [left] are not a fault, because the configuration asks for
/// that.
///
/// [left]: SyncStatus::left
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyncFault {
    /// The triggers are missing, differ from the configuration, or cannot be installed.
    NotInstalled(Installed),
    /// This many items are exhausted.
    Exhausted(i64),
    /// This many keys are active at the destination although their row is gone.
    Gone(i64),
    /// This many changes cannot become an item.
    Refused(i64),
}

impl SyncFault {
    /// Returns all faults of a status. `None` means that not even the queue exists. A source in [trouble] gets no
    /// fault about its triggers, because the trouble says more.
    ///
    /// [trouble]: SyncStatus::trouble
    pub fn all(status: Option<&SyncStatus>, has_triggers: bool) -> Vec<SyncFault> {
        let mut faults = Vec::new();
        let is_known = status.is_none_or(|status| status.trouble.is_none());
        let installed = Installed::from_status(status, has_triggers);
        if is_known && installed != Installed::Yes {
            faults.push(SyncFault::NotInstalled(installed));
        }
        if let Some(status) = status {
            let counted = [
                (status.pulse.counts.exhausted, SyncFault::Exhausted as fn(i64) -> SyncFault),
                (status.gone.unwrap_or(0), SyncFault::Gone),
                (status.refused, SyncFault::Refused),
            ];
            faults.extend(counted.into_iter().filter(|(count, _)| *count > 0).map(|(count, fault)| fault(count)));
        }
        faults
    }
}

/// Why a source cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SourceTrouble {
    /// The description does not fit the database.
    Refused(SourceRefused),
    /// The database refuses to read the table, with its message.
    Rejected(String),
}

impl From<SourceTrouble> for Error {
    fn from(trouble: SourceTrouble) -> Error {
        match trouble {
            SourceTrouble::Refused(refused) => refused.into(),
            SourceTrouble::Rejected(cause) => StoreError::Rejected(cause.into()).into(),
        }
    }
}

impl SyncStatus {
    /// Returns whether all parts exist as configured and are enabled.
    pub fn is_installed(&self) -> bool {
        !self.parts.is_empty() && self.parts.iter().all(|part| part.state == PartState::Good)
    }

    /// Returns the first name that the source needs and that another object has. Then nothing can be installed.
    pub fn taken(&self) -> Option<SourceRefused> {
        self.parts.iter().find_map(|part| match part.state {
            PartState::Taken(what) => Some(SourceRefused::Taken { what, name: part.name.clone() }),
            _ => None,
        })
    }

    /// Returns whether no part exists.
    pub fn is_absent(&self) -> bool {
        self.parts.iter().all(|part| part.state == PartState::Missing)
    }

    /// Returns since when the oldest item waits.
    pub fn oldest(&self) -> Option<Time> {
        self.pulse.oldest
    }
}

/// The state of a source's triggers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Installed {
    /// All parts are as configured.
    Yes,
    /// No part exists.
    Absent,
    /// Some parts are missing or differ from the configuration.
    Differs,
    /// Another object has a name that the source needs, see [`SyncStatus::taken`].
    Blocked,
    /// The database has no triggers.
    NoTriggers,
}

impl Installed {
    /// Derives the state from a status. `None` means that not even the queue exists.
    pub fn from_status(status: Option<&SyncStatus>, has_triggers: bool) -> Installed {
        match status {
            _ if !has_triggers => Installed::NoTriggers,
            None => Installed::Absent,
            Some(status) if status.is_installed() => Installed::Yes,
            Some(status) if status.is_absent() => Installed::Absent,
            Some(status) if status.taken().is_some() => Installed::Blocked,
            Some(_) => Installed::Differs,
        }
    }

    /// Returns the name used by the API.
    pub fn as_str(self) -> &'static str {
        match self {
            Installed::Yes => "installed",
            Installed::Absent => "absent",
            Installed::Differs => "differs",
            Installed::Blocked => "blocked",
            Installed::NoTriggers => "no_triggers",
        }
    }
}

impl Turno {
    /// Returns a handle to a source. Its operations need `sync.manage`, except those that deliveries use.
    ///
    /// ```
    /// # use turno::sync::Source;
    /// # turno_testkit::example(async |turno| {
    /// let source = Source { view: None, ..Source::siper() };
    /// let sync = turno.sync(source);
    /// assert!(!sync.has_triggers(), "triggers need PostgreSQL; on SQLite the API feeds the queue");
    /// assert!(sync.plan().await.is_err());
    /// # Ok(()) });
    /// ```
    pub fn sync(&self, source: Source) -> SyncHandle {
        SyncHandle { turno: self.clone(), source: Arc::new(source), reason: None }
    }
}

impl SyncHandle {
    /// Returns the source's description.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// Sets the reason that the audit records with the following actions.
    #[must_use]
    pub fn because(self, reason: Option<String>) -> SyncHandle {
        SyncHandle { reason, ..self }
    }

    /// Counts the keys of the source, up to [`SourceLook::MOST`].
    ///
    /// [`SourceLook::MOST`]: crate::store::SourceLook::MOST
    pub async fn size(&self) -> Result<i64, Error> {
        self.turno.authorize_read(Needs::permission(Permission::QueuesRead).on_queue(&self.source.queue)).await?;
        Ok(self.tables()?.size(self.source.clone()).await??)
    }

    /// Returns whether the database supports triggers and can read the source's table. If not, the queue is fed
    /// through the API, and a delivery carries the item's own action and payload.
    pub fn has_triggers(&self) -> bool {
        self.turno.inner.store.source_tables().is_some()
    }

    /// Returns what to send for a key now: the columns of its current row as JSON, a deactivation, or nothing. Consumers
    /// call [`SyncHandle::prepare`] instead. Needs `queues.consume`.
    pub async fn current(&self, key: &Key) -> Result<Outgoing, Error> {
        self.require_consume().await?;
        Ok(self.tables()?.current(self.source.clone(), key.clone()).await??)
    }

    /// Converts keys to the form that the table uses: for a numeric column, `0100` becomes `100`, and `x` is refused
    /// because no row can have it. Without a table, returns the keys unchanged.
    pub async fn keys(&self, given: Vec<Key>) -> Result<Vec<Key>, Error> {
        self.turno.authorize_read(Needs::READING.on_queue(&self.source.queue)).await?;
        let Some(tables) = self.turno.inner.store.source_tables() else { return Ok(given) };
        let texts = given.iter().map(Key::to_string).collect();
        match tables.keys(self.source.clone(), texts).await? {
            Ok(texts) => Ok(texts.into_iter().map(Key::new).collect::<Result<_, _>>()?),
            Err(SourceRefused::NoTable(_)) => Ok(given),
            Err(refused) => Err(refused.into()),
        }
    }

    /// Returns the exact SQL that [`SyncHandle::install`] runs in one transaction.
    pub async fn plan(&self) -> Result<String, Error> {
        self.require_manage().await?;
        Ok(self.tables()?.plan(self.source.clone()).await??)
    }

    /// Installs the trigger, its function and, if configured, the index and the view. Repeating it updates them to the
    /// configuration. The queue must exist. Audited.
    pub async fn install(&self) -> Result<(), Error> {
        self.require_manage().await?;
        let tables = self.tables()?;
        self.queue().await?;
        tables.install(self.source.clone()).await??;
        let table = self.source.table.display();
        self.record_action(
            AuditAction::SyncInstall,
            EventName::SourceInstalled,
            table.clone(),
            [("table", table.into())],
        )
        .await
    }

    /// Removes the parts that were installed for the source and returns their names. The queue and its items stay.
    /// Audited if there was something to remove.
    pub async fn remove(&self) -> Result<Vec<String>, Error> {
        self.require_manage().await?;
        let removed = self.tables()?.remove(self.source.clone()).await??;
        if !removed.is_empty() {
            let names = removed.join(", ");
            self.record_action(
                AuditAction::SyncRemove,
                EventName::SourceRemoved,
                names.clone(),
                [("removed", names.into())],
            )
            .await?;
        }
        Ok(removed)
    }

    /// Returns the full status: parts, waiting and failed items, the age of the oldest, and the numbers of keys that
    /// left or are gone. A source in trouble still has a status with its queue and its trouble. Fails only if there is
    /// no queue.
    pub async fn status(&self) -> Result<SyncStatus, Error> {
        self.read_status(true).await
    }

    /// Returns the status without the numbers of keys that left or are gone, because counting them reads every
    /// delivered key.
    pub async fn glance(&self) -> Result<SyncStatus, Error> {
        self.read_status(false).await
    }

    async fn read_status(&self, count_unmatched: bool) -> Result<SyncStatus, Error> {
        self.turno.authorize_read(Needs::permission(Permission::QueuesRead).on_queue(&self.source.queue)).await?;
        let tables = self.turno.inner.store.source_tables();
        let queue = match (self.queue().await, tables) {
            // Report first what prevents the installation, because that is more useful than the missing queue.
            (Err(Error::Source(SourceRefused::NoQueue(name))), Some(tables)) => {
                tables.plan(self.source.clone()).await??;
                return Err(SourceRefused::NoQueue(name).into());
            }
            (queue, _) => queue?,
        };
        self.turno.inner.intake.read(queue).await?;
        let since = Time(self.turno.now().0.saturating_sub(RECENT.0));
        let pulse = self.turno.inner.store.pulse(queue, since).await?;
        let destination = self.turno.inner.store.destination(queue).await?;
        let (trouble, parts, refused) = (None, Vec::new(), 0);
        // Without a readable table, no key can have left or be gone.
        let none = (count_unmatched && tables.is_none()).then_some(0);
        let mut status = SyncStatus { trouble, parts, pulse, destination, refused, left: none, gone: none };
        let Some(tables) = tables else { return Ok(status) };
        match tables.look(self.source.clone(), queue, count_unmatched).await {
            Ok(Ok(look)) => {
                (status.parts, status.refused) = (look.parts, look.refused);
                (status.left, status.gone) = (look.left, look.gone);
            }
            Ok(Err(refused)) => status.trouble = Some(SourceTrouble::Refused(refused)),
            Err(StoreError::Rejected(cause)) => status.trouble = Some(SourceTrouble::Rejected(cause.text)),
            Err(error) => return Err(error.into()),
        }
        Ok(status)
    }

    /// Writes the audit entry and the event of an action.
    async fn record_action<const N: usize>(
        &self,
        action: AuditAction,
        name: EventName,
        detail: String,
        details: [(&str, Value); N],
    ) -> Result<(), Error> {
        let actor = self.turno.actor();
        let event = Event {
            topic: Topic::Sync,
            name,
            resource: self.source.name.as_str().into(),
            key: None,
            queue: None,
            at: self.turno.now(),
            fence: None,
            by: Some(actor.user.clone()),
            detail: Some(detail),
            to: Vec::new(),
        };
        let reason = self.reason.as_ref().map(|reason| ("reason", reason.as_str().into()));
        let draft = Draft::new(actor, action, format!("sync/{}", self.source.name));
        let draft = draft.with(details.into_iter().chain(reason));
        self.tables()?.audit(draft, event).await?;
        self.turno.inner.signals.wrote.notify_one();
        Ok(())
    }

    async fn require_manage(&self) -> Result<(), Error> {
        self.turno.authorize_read(Needs::permission(Permission::SyncManage).on_queue(&self.source.queue)).await
    }

    async fn require_consume(&self) -> Result<(), Error> {
        self.turno.authorize_read(Needs::permission(Permission::QueuesConsume).on_queue(&self.source.queue)).await
    }

    pub(super) fn tables(&self) -> Result<&dyn SourceTables, SourceRefused> {
        self.turno.inner.store.source_tables().ok_or(SourceRefused::NoTriggers)
    }

    /// Returns a handle to the source's queue. Refuses a queue that is not a sync queue.
    pub(super) async fn consumed_queue(&self) -> Result<QueueHandle, Error> {
        self.queue().await?;
        self.turno.queue(self.source.queue.clone()).await
    }

    pub(super) async fn queue(&self) -> Result<QueueId, Error> {
        let refused = || SourceRefused::NoQueue(self.source.queue.to_string());
        match self.turno.inner.queue(&self.source.queue).await {
            Ok(row) if row.policy.kind == Kind::Sync => Ok(row.id),
            Ok(_) | Err(Error::Unknown(_)) => Err(refused().into()),
            Err(error) => Err(error),
        }
    }
}
