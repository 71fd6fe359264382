//! Synchronisation of a source: what is installed for it, what it says now, and what its destination knows.
//!
//! The trigger marks keys and the queue carries them; whoever delivers asks [`SyncHandle::current`] for the data *after* the
//! claim has committed, and tells [`SyncHandle::delivered`] before the ack. Claimed first and read later, the data are at
//! least as new as the revision that the ack confirms.

mod handed;
mod walk;

pub use walk::{SyncCheck, SyncProgress};

use super::Turno;
use super::access::Needs;
use super::queue::Got;
use crate::error::Error;
use crate::store::{Delivered, Part, PartState, Pulse, SourceTables};
use serde_json::Value;
use std::sync::Arc;
use turno_core::access::Permission;
use turno_core::audit::Draft;
use turno_core::destination::Destination;
use turno_core::id::{Key, QueueId};
use turno_core::queue::Kind;
use turno_core::sync::{Source, SourceRefused, digest};
use turno_core::time::{Span, Time};

/// Failures are counted over this long for [`SyncStatus`].
const RECENT: Span = Span::from_secs(3_600);

/// One source of an open engine.
#[derive(Clone, Debug)]
pub struct SyncHandle {
    pub(super) turno: Turno,
    pub(super) source: Arc<Source>,
}

/// How a source is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyncStatus {
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
}

impl SyncStatus {
    /// Everything that belongs to it is there, as configured, and at work.
    pub fn is_installed(&self) -> bool {
        !self.parts.is_empty() && self.parts.iter().all(|part| part.state == PartState::Good)
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
            Some(_) => Installed::Differs,
        }
    }

    /// For programs.
    pub fn as_str(self) -> &'static str {
        match self {
            Installed::Yes => "installed",
            Installed::Absent => "absent",
            Installed::Differs => "differs",
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
        SyncHandle { turno: self.clone(), source: Arc::new(source) }
    }
}

impl SyncHandle {
    /// The source as it was given.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// Whether the database can have triggers, and the source's table be read. If not, the queue is fed through the API,
    /// and what is delivered is the item's own action and payload.
    pub fn has_triggers(&self) -> bool {
        self.turno.inner.store.source_tables().is_some()
    }

    /// What is to be sent for a key now: the columns of the row that speaks for it, as JSON, or nothing, and the key is to be
    /// deactivated. To be asked after the claim, and for each attempt anew. Needs `queues.consume`.
    pub async fn current(&self, key: &Key) -> Result<Option<String>, Error> {
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
        self.noted("sync_install", [("table", self.source.table.shown().into())]).await
    }

    /// Removes what was installed for the source, and nothing else; answers what that was. The queue stays with what is in
    /// it. Audited, if there was something.
    pub async fn remove(&self) -> Result<Vec<String>, Error> {
        self.managed().await?;
        let removed = self.tables()?.remove(self.source.clone()).await??;
        if !removed.is_empty() {
            self.noted("sync_remove", [("removed", removed.join(", ").into())]).await?;
        }
        Ok(removed)
    }

    /// Whether what is installed is what the source says, what waits, what fails, how old the oldest is, and how many have
    /// left without the destination being told.
    pub async fn status(&self) -> Result<SyncStatus, Error> {
        self.look(true).await
    }

    /// The same without counting who has left, which goes through all that was ever delivered.
    pub async fn glance(&self) -> Result<SyncStatus, Error> {
        self.look(false).await
    }

    async fn look(&self, count_left: bool) -> Result<SyncStatus, Error> {
        self.turno.reads(Needs::READING).await?;
        let queue = self.queue().await?;
        self.turno.inner.intake.now().await?;
        let since = Time(self.turno.now().0.saturating_sub(RECENT.0));
        let pulse = self.turno.inner.store.pulse(queue, since).await?;
        let destination = self.turno.inner.store.destination(queue).await?;
        match self.turno.inner.store.source_tables() {
            None => Ok(SyncStatus { parts: Vec::new(), pulse, destination, refused: 0, left: None }),
            Some(tables) => {
                let look = tables.look(self.source.clone(), queue, count_left).await??;
                Ok(SyncStatus { parts: look.parts, pulse, destination, refused: look.refused, left: look.left })
            }
        }
    }

    /// Writes down who did it.
    async fn noted<const N: usize>(&self, action: &'static str, details: [(&str, Value); N]) -> Result<(), Error> {
        let draft = Draft::new(self.turno.actor(), action, format!("sync/{}", self.source.name)).with(details);
        Ok(self.tables()?.audit(draft).await?)
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
