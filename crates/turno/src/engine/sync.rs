//! Synchronisation of a source: what is installed for it, what it says now, and what its destination knows.
//!
//! The trigger marks keys and the queue carries them; whoever delivers asks [`SyncHandle::current`] for the data *after* the
//! claim has committed, and tells [`SyncHandle::delivered`] before the ack. Claimed first and read later, the data are at
//! least as new as the revision that the ack confirms.

mod handed;
mod walk;

pub(crate) use handed::confirm;
pub use walk::{SyncCheck, SyncProgress};

use super::Turno;
use super::access::Needs;
use super::queue::Got;
use crate::error::Error;
use crate::store::{Delivered, Part, PartState, Pulse, SourceTables, StoreError};
use serde_json::Value;
use std::sync::Arc;
use turno_core::access::Permission;
use turno_core::audit::Draft;
use turno_core::destination::Destination;
use turno_core::event::{Event, Topic};
use turno_core::id::{Key, QueueId};
use turno_core::queue::Kind;
use turno_core::sync::{Say, Source, SourceRefused, digest};
use turno_core::time::{Span, Time};

/// Failures are counted over this long for [`SyncStatus`].
const RECENT: Span = Span::from_secs(3_600);

/// One source of an open engine.
#[derive(Clone, Debug)]
pub struct SyncHandle {
    pub(super) turno: Turno,
    pub(super) source: Arc<Source>,
    /// Why it is done, for the audit.
    reason: Option<String>,
}

/// How a source is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyncStatus {
    /// Why the database cannot say more about it, if it cannot: its table is not there, or may not be read, say.
    pub trouble: Option<SourceTrouble>,
    /// What belongs to it in the database, and whether it is as configured; empty where there are no triggers.
    pub parts: Vec<Part>,
    /// Its queue at a glance: what waits, what fails, and since when the oldest one waits.
    pub pulse: Pulse,
    /// How its destination is doing; nothing if it never failed, or nobody is called.
    pub destination: Option<Destination>,
    /// Marks that could not become an event, because the key cannot be one: they are in `turno.intake_refused`.
    pub refused: i64,
    /// Keys that were delivered and whose row has stopped taking part since, without the destination being told; nothing
    /// where it was not counted.
    pub left: Option<i64>,
    /// Keys that the destination believes active, whose row is gone and that have no event on its way; nothing where it was
    /// not counted.
    pub gone: Option<i64>,
}

/// Why a source does not do what it is for. What has [left] is none: that was wished.
///
/// [left]: SyncStatus::left
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyncFault {
    /// Its triggers are not there, or not as configured, or cannot be.
    NotInstalled(Installed),
    /// So many events have no attempts left.
    Exhausted(i64),
    /// The destination believes so many keys active whose row is gone.
    Gone(i64),
    /// So many changes cannot become an event.
    Refused(i64),
}

impl SyncFault {
    /// Everything that is wrong by a status; none where not even the queue is there. A source in [trouble] is not judged
    /// here, because its trouble says more.
    ///
    /// [trouble]: SyncStatus::trouble
    pub fn all(status: Option<&SyncStatus>, has_triggers: bool) -> Vec<SyncFault> {
        let mut faults = Vec::new();
        let is_known = status.is_none_or(|status| status.trouble.is_none());
        let installed = Installed::of(status, has_triggers);
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

/// What is wrong with a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SourceTrouble {
    /// It cannot be used as it is described.
    Refused(SourceRefused),
    /// The database refuses to read its table; what it says.
    Rejected(String),
}

impl From<SourceTrouble> for Error {
    fn from(trouble: SourceTrouble) -> Error {
        match trouble {
            SourceTrouble::Refused(refused) => refused.into(),
            SourceTrouble::Rejected(cause) => StoreError::Rejected(cause).into(),
        }
    }
}

impl SyncStatus {
    /// Everything that belongs to it is there, as configured, and at work.
    pub fn is_installed(&self) -> bool {
        !self.parts.is_empty() && self.parts.iter().all(|part| part.state == PartState::Good)
    }

    /// What has a name that it needs and is not of it: then nothing can be installed.
    pub fn taken(&self) -> Option<SourceRefused> {
        self.parts.iter().find_map(|part| match part.state {
            PartState::Taken(what) => Some(SourceRefused::Taken { what, name: part.name.clone() }),
            _ => None,
        })
    }

    /// Nothing of it is there.
    pub fn is_absent(&self) -> bool {
        self.parts.iter().all(|part| part.state == PartState::Missing)
    }

    /// Since when the oldest event waits.
    pub fn oldest(&self) -> Option<Time> {
        self.pulse.oldest
    }
}

/// Whether the triggers of a source are there, in a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Installed {
    /// As configured.
    Yes,
    /// Nothing of it.
    Absent,
    /// Something of it, or not as configured.
    Differs,
    /// Not as configured, and it cannot be: something else has a name that it needs, see [`SyncStatus::taken`].
    Blocked,
    /// The database has none.
    NoTriggers,
}

impl Installed {
    /// What a status says; none where not even the queue is there.
    pub fn of(status: Option<&SyncStatus>, has_triggers: bool) -> Installed {
        match status {
            _ if !has_triggers => Installed::NoTriggers,
            None => Installed::Absent,
            Some(status) if status.is_installed() => Installed::Yes,
            Some(status) if status.is_absent() => Installed::Absent,
            Some(status) if status.taken().is_some() => Installed::Blocked,
            Some(_) => Installed::Differs,
        }
    }

    /// For programs.
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
    /// A source to work with. Everything about it needs `sync.manage`, except for what deliveries need.
    ///
    /// ```
    /// # use turno::*;
    /// # use turno::core::sync::Source;
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// # let dir = std::env::temp_dir().join(format!("turno-doc-sync-{}", std::process::id()));
    /// # std::fs::create_dir_all(&dir).unwrap();
    /// # let turno = Turno::open(&format!("sqlite:{}/doc.db", dir.display())).await?;
    /// let source = Source { view: None, ..Source::siper() };
    /// let sync = turno.sync(source);
    /// assert!(!sync.has_triggers(), "they need PostgreSQL; here the queue is fed through the API");
    /// assert!(sync.plan().await.is_err());
    /// # std::fs::remove_dir_all(&dir).unwrap();
    /// # Ok::<(), turno::Error>(()) }).unwrap();
    /// ```
    pub fn sync(&self, source: Source) -> SyncHandle {
        SyncHandle { turno: self.clone(), source: Arc::new(source), reason: None }
    }
}

impl SyncHandle {
    /// The source as it was given.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// Why it is done: written into the audit with whatever is done with it.
    #[must_use]
    pub fn because(self, reason: Option<String>) -> SyncHandle {
        SyncHandle { reason, ..self }
    }

    /// How many keys the source has now, counted up to [`SourceLook::MOST`].
    ///
    /// [`SourceLook::MOST`]: crate::store::SourceLook::MOST
    pub async fn size(&self) -> Result<i64, Error> {
        self.turno.reads(Needs::READING).await?;
        Ok(self.tables()?.size(self.source.clone()).await??)
    }

    /// Whether the database can have triggers, and the source's table be read. If not, the queue is fed through the API,
    /// and what is delivered is the item's own action and payload.
    pub fn has_triggers(&self) -> bool {
        self.turno.inner.store.source_tables().is_some()
    }

    /// What is to be told of a key now: the columns of the row that speaks for it, as JSON, or that it is to be deactivated,
    /// or nothing. To be asked after the claim, and for each attempt anew. Needs `queues.consume`.
    pub async fn current(&self, key: &Key) -> Result<Say, Error> {
        self.turno.reads(Needs::of(Permission::QueuesConsume)).await?;
        Ok(self.tables()?.current(self.source.clone(), key.clone()).await??)
    }

    /// Keys as the source's table has them: of a column of numbers `0100` is `100`, and `x` is refused, because no row can
    /// ever have it. Where there is no table to ask, they stay as they are.
    pub async fn keys(&self, given: Vec<Key>) -> Result<Vec<Key>, Error> {
        self.turno.reads(Needs::READING).await?;
        let Some(tables) = self.turno.inner.store.source_tables() else { return Ok(given) };
        let texts = given.iter().map(Key::to_string).collect();
        match tables.keys(self.source.clone(), texts).await? {
            Ok(texts) => Ok(texts.into_iter().map(Key::new).collect::<Result<_, _>>()?),
            Err(SourceRefused::NoTable(_)) => Ok(given),
            Err(refused) => Err(refused.into()),
        }
    }

    /// Keeps what the destination has confirmed for a delivery: the action and the data, or none. To be told before the
    /// ack: a crash between the two leads to one more delivery, and never to a wrong memory. Needs `queues.consume`.
    pub async fn delivered(&self, got: &Got, action: &str, data: Option<&str>) -> Result<(), Error> {
        self.turno.reads(Needs::of(Permission::QueuesConsume)).await?;
        let key =
            got.key.clone().ok_or_else(|| Error::Invalid("a delivery without a key is none of a source".into()))?;
        let delivered = Delivered {
            queue: got.handed.queue,
            seq: got.handed.seq,
            key,
            revision: got.revision,
            action: action.to_owned(),
            was: got.items.first().and_then(|item| item.action.clone()),
            digest: data.map(digest),
            at: self.turno.now(),
        };
        Ok(self.turno.inner.store.sync_delivered(delivered).await?)
    }

    /// Keeps with the item that there was nothing to tell of its key; to be told before it is settled with [`Act::Skip`].
    /// What the destination knows stays as it was. Needs `queues.consume`.
    ///
    /// [`Act::Skip`]: turno_core::queue::Act::Skip
    pub async fn skipped(&self, got: &Got) -> Result<(), Error> {
        self.turno.reads(Needs::of(Permission::QueuesConsume)).await?;
        let was = got.items.first().and_then(|item| item.action.clone());
        Ok(self.tables()?.skipped(got.handed.queue, got.handed.seq, was).await?)
    }

    /// Exactly the SQL that [`SyncHandle::install`] runs, in one transaction.
    pub async fn plan(&self) -> Result<String, Error> {
        self.managed().await?;
        Ok(self.tables()?.plan(self.source.clone()).await??)
    }

    /// Installs the trigger with its function and, where the source has them, its index and its view. Done again, it brings
    /// what is there to what the source says. Its queue must exist. Audited.
    pub async fn install(&self) -> Result<(), Error> {
        self.managed().await?;
        let tables = self.tables()?;
        self.queue().await?;
        tables.install(self.source.clone()).await??;
        let table = self.source.table.shown();
        self.noted("sync_install", "source.installed", table.clone(), [("table", table.into())]).await
    }

    /// Removes what was installed for the source, and nothing else; answers what that was. The queue stays with what is in
    /// it. Audited, if there was something.
    pub async fn remove(&self) -> Result<Vec<String>, Error> {
        self.managed().await?;
        let removed = self.tables()?.remove(self.source.clone()).await??;
        if !removed.is_empty() {
            let names = removed.join(", ");
            self.noted("sync_remove", "source.removed", names.clone(), [("removed", names.into())]).await?;
        }
        Ok(removed)
    }

    /// Whether what is installed is what the source says, what waits, what fails, how old the oldest is, how many have
    /// left without the destination being told, and how many are gone. A source that is in trouble still has a queue: that is told, and what the
    /// trouble is. Refused only where there is not even a queue.
    pub async fn status(&self) -> Result<SyncStatus, Error> {
        self.look(true).await
    }

    /// The same without counting who has left or is gone, which goes through all that was ever delivered.
    pub async fn glance(&self) -> Result<SyncStatus, Error> {
        self.look(false).await
    }

    async fn look(&self, count_unmatched: bool) -> Result<SyncStatus, Error> {
        self.turno.reads(Needs::READING).await?;
        let tables = self.turno.inner.store.source_tables();
        let queue = match (self.queue().await, tables) {
            // What keeps it from being installed is worth more than that nobody has.
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
        // Without a table that could be read, every key has what was enqueued for it.
        let none = (count_unmatched && tables.is_none()).then_some(0);
        let mut status = SyncStatus { trouble, parts, pulse, destination, refused, left: none, gone: none };
        let Some(tables) = tables else { return Ok(status) };
        match tables.look(self.source.clone(), queue, count_unmatched).await {
            Ok(Ok(look)) => {
                (status.parts, status.refused) = (look.parts, look.refused);
                (status.left, status.gone) = (look.left, look.gone);
            }
            Ok(Err(refused)) => status.trouble = Some(SourceTrouble::Refused(refused)),
            Err(StoreError::Rejected(cause)) => status.trouble = Some(SourceTrouble::Rejected(cause)),
            Err(error) => return Err(error.into()),
        }
        Ok(status)
    }

    /// Writes down who did it, and tells it those who watch.
    async fn noted<const N: usize>(
        &self,
        action: &'static str,
        name: &'static str,
        detail: String,
        details: [(&str, Value); N],
    ) -> Result<(), Error> {
        let actor = self.turno.actor();
        let told = Event {
            topic: Topic::Sync,
            name: name.into(),
            resource: self.source.name.as_str().into(),
            key: None,
            at: self.turno.now(),
            fence: None,
            by: Some(actor.user.clone()),
            detail: Some(detail),
        };
        let reason = self.reason.as_ref().map(|reason| ("reason", reason.as_str().into()));
        let draft = Draft::new(actor, action, format!("sync/{}", self.source.name));
        let draft = draft.with(details.into_iter().chain(reason));
        self.tables()?.audit(draft, told).await?;
        self.turno.inner.signals.wrote.notify_one();
        Ok(())
    }

    async fn managed(&self) -> Result<(), Error> {
        self.turno.reads(Needs::of(Permission::SyncManage)).await
    }

    pub(super) fn tables(&self) -> Result<&dyn SourceTables, SourceRefused> {
        self.turno.inner.store.source_tables().ok_or(SourceRefused::NoTriggers)
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
