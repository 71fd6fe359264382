//! Prepares the deliveries of a source: reads the row after the claim and decides what to send.
//!
//! Every consumer uses this file: the pusher, claims over HTTP, and [`SyncHandle::worker`]. The rules are in
//! `turno_core::sync`.

use super::SyncHandle;
use crate::engine::queue::{Delivery, DeliveryItem, Settlement};
use crate::error::{Error, Misuse};
use crate::store::Delivered;
use std::sync::Arc;
use turno_core::id::{Fence, Key};
use turno_core::queue::{Act, DeliveryRef};
use turno_core::sync::{Content, Outgoing, SourceRefused, UNREADABLE_WAIT, digest, has_content, wait_for_row};

/// A change to send to the destination of a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyncChange {
    /// The key. A delivery of a sync queue always has one.
    pub key: Option<Key>,
    /// The destination's name for the action.
    pub action: String,
    /// The row as JSON. `None` for a deactivation.
    pub data: Option<Arc<str>>,
    /// The revision of the change.
    pub revision: i64,
    /// The fence of the delivery.
    pub fence: Fence,
    pub(super) reference: DeliveryRef,
    /// The item's own action.
    pub(super) was: Option<String>,
    /// The content was read from the table.
    from_table: bool,
}

/// What to do with a delivery of a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Prepared {
    /// Send the change, call [`SyncHandle::delivered`], and ack.
    Send(SyncChange),
    /// There is nothing to send. This is stored with the item. Settle with [`Act::Skip`].
    Nothing,
    /// The row cannot be read. Settle with `act`, which makes the delivery wait and spends no attempt.
    Wait {
        /// The error.
        error: String,
        /// The settlement.
        act: Act,
    },
}

/// The deliveries of a claim, with their rows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filled {
    /// The deliveries that have something to send.
    pub deliveries: Vec<Delivery>,
    /// The first error of a row that cannot be read.
    pub unreadable: Option<String>,
}

impl SyncChange {
    fn new(got: &Delivery, item: &DeliveryItem, content: Content, from_table: bool) -> SyncChange {
        SyncChange {
            key: got.key.clone(),
            action: content.action,
            data: content.data,
            revision: got.revision,
            fence: got.reference.fence,
            reference: got.reference,
            was: item.action.clone(),
            from_table,
        }
    }

    /// Replaces the action and the payload of the delivery's item by those of the change.
    pub(crate) fn fill(&self, got: &mut Delivery) {
        if let Some(item) = got.items.first_mut() {
            item.action = Some(self.action.clone());
            item.payload = self.data.clone().unwrap_or_else(|| "null".into());
        }
    }
}

impl SyncHandle {
    /// Decides what to send for a delivery: the key's current row, a deactivation, or nothing. Call it after the claim,
    /// and again for each attempt. Without a table to read, sends the item's own action and payload. Needs
    /// `queues.consume`.
    ///
    /// ```
    /// # use turno::queue::{Claim, Draft, Kind, Policy, Settlement};
    /// # use turno::sync::Prepared;
    /// use turno::{queue::Act, sync::Source};
    /// # turno_testkit::example(async |turno| {
    /// let sync = turno.sync(Source::siper());
    /// let queue = turno.put_queue(sync.source().queue.clone(), Policy::for_kind(Kind::Sync)).await?;
    /// queue.enqueue(vec![Draft::json("Ana")?.key("7")?]).await?;
    /// for got in queue.claim(Claim::by("sender-1")).await? {
    ///     let act = match sync.prepare(&got).await? {
    ///         Prepared::Send(change) => {
    ///             println!("{} {:?}", change.action, change.data); // send it here
    ///             sync.delivered(&change).await?;
    ///             Act::Ack { through: None }
    ///         }
    ///         Prepared::Nothing => Act::Skip,
    ///         Prepared::Wait { act, .. } => act,
    ///     };
    ///     queue.settle(vec![Settlement { reference: got.reference, act }]).await?;
    /// }
    /// assert_eq!(queue.counts().await?.processed, 1);
    /// # Ok(()) });
    /// ```
    pub async fn prepare(&self, got: &Delivery) -> Result<Prepared, Error> {
        self.require_consume().await?;
        Ok(match self.change(got).await {
            Ok(Some(change)) => Prepared::Send(change),
            Ok(None) => Prepared::Nothing,
            Err(error) => self.wait(got, error).await,
        })
    }

    /// Fills claimed deliveries with their action and current row, for a consumer that acks them later. Keeps what
    /// was handed out, so that [`SyncHandle::acked`] can record it. Settles the deliveries that have nothing to send,
    /// and those whose row cannot be read. Needs `queues.consume`.
    pub async fn fill(&self, got: Vec<Delivery>) -> Result<Filled, Error> {
        let mut filled = Filled::default();
        let mut settled = Vec::new();
        for mut delivery in got {
            let reference = delivery.reference;
            let mut prepared = self.prepare(&delivery).await?;
            if let Prepared::Send(change) = &prepared
                && change.from_table
            {
                match self.keep(change).await {
                    Ok(()) => change.fill(&mut delivery),
                    Err(error) => prepared = self.wait(&delivery, error.to_string()).await,
                }
            }
            match prepared {
                Prepared::Send(_) => filled.deliveries.push(delivery),
                Prepared::Nothing => settled.push(Settlement { reference, act: Act::Skip }),
                Prepared::Wait { error, act } => {
                    settled.push(Settlement { reference, act });
                    filled.unreadable.get_or_insert(error);
                }
            }
        }
        if !settled.is_empty() {
            self.engine().queue(self.source.queue.clone()).await?.settle(settled).await?;
        }
        Ok(filled)
    }

    /// Stores the change that the destination has confirmed. Call it before the ack: a crash between the two then
    /// causes one more delivery, but never a wrong record. Needs `queues.consume`.
    pub async fn delivered(&self, change: &SyncChange) -> Result<(), Error> {
        self.require_consume().await?;
        let key = change.key.clone().ok_or(Misuse::NoKey)?;
        let delivered = Delivered {
            queue: change.reference.queue,
            seq: change.reference.seq,
            key,
            revision: change.revision,
            action: change.action.clone(),
            was: change.was.clone(),
            digest: change.data.as_deref().map(digest),
            at: self.turno.now(),
        };
        Ok(self.turno.inner.store.sync_delivered(delivered).await?)
    }

    /// Stores the change that the destination has confirmed, and logs a failure. If the record is lost, a later check
    /// of the source finds the difference and sends the key again.
    pub(crate) async fn note_delivered(&self, change: &SyncChange) {
        let noted = self.delivered(change).await;
        let queue = &self.source.queue;
        noted.unwrap_or_else(|error| tracing::warn!(%error, %queue, "what was delivered is not remembered"));
    }

    /// Returns the change to send. If there is nothing to send, stores that with the item and returns `None`.
    async fn change(&self, got: &Delivery) -> Result<Option<SyncChange>, String> {
        let item = got.items.first().ok_or("the delivery is empty")?;
        let Some(outgoing) = self.read_row(got, item).await? else {
            let content = self.source.enqueued_content(item.action.as_deref(), &item.payload);
            return Ok(Some(SyncChange::new(got, item, content, false)));
        };
        if let Some(content) = self.source.content(outgoing) {
            return Ok(Some(SyncChange::new(got, item, content, true)));
        }
        let tables = self.tables().map_err(|refused| refused.to_string())?;
        let skipped = tables.skipped(got.reference.queue, got.reference.seq, item.action.clone()).await;
        skipped.map(|()| None).map_err(|error| error.to_string())
    }

    /// Reads the row of a delivery's key. Returns `None` if there is no table to read. This happens after the claim
    /// has committed: a row read together with the claim could be older than the change that the claim is about.
    async fn read_row(&self, got: &Delivery, item: &DeliveryItem) -> Result<Option<Outgoing>, String> {
        let Some(key) = got.key.as_ref().filter(|_| self.has_triggers()) else { return Ok(None) };
        match self.current(key).await {
            Ok(outgoing) => Ok(Some(outgoing)),
            // Without its table the queue gets its changes through the API, as on SQLite. But a trigger's mark has no
            // content, and a table that is missing for a moment must not look as if all its rows were deleted.
            Err(Error::Source(SourceRefused::NoTable(_))) if has_content(item.action.as_deref(), &item.payload) => {
                Ok(None)
            }
            Err(error) => Err(format!("failed to read the row to be delivered: {error}")),
        }
    }

    /// Decides how the delivery waits.
    async fn wait(&self, got: &Delivery, error: String) -> Prepared {
        let act = self.try_wait(got, &error).await;
        // If the history cannot be read either, the longest wait is right: the database itself has a fault.
        let act = act.unwrap_or_else(|_| Act::Defer { error: Some(error.clone()), retry_in: UNREADABLE_WAIT });
        Prepared::Wait { error, act }
    }

    async fn try_wait(&self, got: &Delivery, error: &str) -> Result<Act, Error> {
        let queue = self.engine().queue(self.source.queue.clone()).await?;
        let record = match got.items.first() {
            Some(item) => queue.item(item.id.clone()).await?,
            None => None,
        };
        let backoff = queue.row().await?.policy.backoff_after(got.reference.seq, got.attempt);
        let last = record.as_ref().and_then(|record| record.errors.last());
        Ok(wait_for_row(error, last, backoff, self.turno.now()))
    }
}
