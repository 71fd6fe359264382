//! The API for queues.

mod claim;
mod destination;
mod exhausted;
mod lanes;
mod look;
mod manage;
mod settle;

pub use claim::{Claim, ClaimedItem};
pub use exhausted::Exhausted;
pub use look::Overview;
pub use settle::{Settled, Settlement};
use std::time::Duration;

use super::Turno;
use super::access::Needs;
use super::commit::Job;
use crate::clock::Clock;
use crate::error::Error;
use crate::store::{PushChange, PutQueue, QueueRow, StoreError};
use std::sync::Arc;
use turno_core::access::Permission;
use turno_core::fault::{Fault, Invalid};
use turno_core::id::{ItemId, Key, QueueName, check_action};
use turno_core::limits::{BATCH_MAX, PAYLOAD_DEPTH_MAX, SPAN_MAX};
use turno_core::queue::{Accepted, DeliveryRef, Enqueue, Kind, NewItem, Policy};
use turno_core::text::json_is_within;
use turno_core::time::{Span, Time};

/// An item to enqueue.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Draft {
    /// The caller's id, accepted once. `None` generates one.
    pub id: Option<ItemId>,
    /// The key that the item belongs to. Required in lanes and sync queues.
    pub key: Option<Key>,
    /// The action, for receivers that distinguish several.
    pub action: Option<String>,
    /// JSON, stored and returned unchanged.
    pub payload: Arc<str>,
    /// How long the item waits before it is due.
    pub delay: Span,
}

impl Draft {
    /// Creates an item with `payload` as JSON.
    ///
    /// ```
    /// let draft = turno::queue::Draft::json(&("hola", 7))?.key("ana")?.id("m-1")?;
    /// assert_eq!(&*draft.payload, r#"["hola",7]"#);
    /// # Ok::<(), turno::Error>(())
    /// ```
    pub fn json(payload: &(impl serde::Serialize + ?Sized)) -> Result<Draft, Error> {
        let json = serde_json::to_string(payload);
        let payload = json.map_err(|error| Invalid::new("payload", Fault::NotJson(error.to_string())))?.into();
        Ok(Draft { payload, ..Draft::default() })
    }

    /// Sets the item's id. An id is accepted once.
    pub fn id(self, id: &str) -> Result<Draft, Error> {
        Ok(Draft { id: Some(ItemId::new(id)?), ..self })
    }

    /// Sets the item's key.
    pub fn key(self, key: &str) -> Result<Draft, Error> {
        Ok(Draft { key: Some(Key::new(key)?), ..self })
    }

    /// Sets how long the item waits before it is due.
    pub fn delay(self, delay: Duration) -> Draft {
        Draft { delay: delay.into(), ..self }
    }
}

/// A delivery: the items that a claim returned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// Identifies the delivery in every settlement, including its fence.
    pub reference: DeliveryRef,
    /// The key of the items.
    pub key: Option<Key>,
    /// The attempt of the first item.
    pub attempt: u32,
    /// The revision of the change, in a sync queue.
    pub revision: i64,
    /// The database's time of the hand-out.
    pub now: Time,
    /// When the delivery expires unless it is settled or renewed.
    pub expires_at: Time,
    /// The items, in order.
    pub items: Vec<DeliveryItem>,
}

/// One item of a delivery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeliveryItem {
    /// The item's id.
    pub id: ItemId,
    /// The item's action.
    pub action: Option<String>,
    /// The item's payload.
    pub payload: Arc<str>,
    /// The number of this attempt.
    pub attempt: u32,
    /// When the item was accepted.
    pub enqueued_at: Time,
}

/// A handle to one queue.
#[derive(Clone, Debug)]
pub struct QueueHandle {
    turno: Turno,
    name: QueueName,
}

impl Turno {
    /// Creates a queue or changes its policy. The push destination stays unchanged. Needs `queues.manage`.
    ///
    /// ```
    /// # use turno::queue::{Claim, Draft, Kind, Policy};
    /// # turno_testkit::example(async |turno| {
    /// let queue = turno.put_queue("mails", Policy::for_kind(Kind::Inbox)).await?;
    /// queue.enqueue(vec![Draft::json("hola")?.id("m-1")?]).await?;
    /// let deliveries = queue.claim(Claim::by("worker-1").max(10)).await?;
    /// assert_eq!(deliveries[0].items[0].id.as_str(), "m-1");
    /// queue.ack([deliveries[0].reference]).await?;
    /// # Ok(()) });
    /// ```
    pub async fn put_queue<N>(&self, name: N, policy: Policy) -> Result<QueueHandle, Error>
    where
        N: TryInto<QueueName>,
        Error: From<N::Error>,
    {
        self.put_queue_pushed(name.try_into()?, policy, PushChange::Keep).await
    }

    /// Creates or changes a queue, including its push destination. Turno stores `push` for the server that sends the
    /// deliveries and does not interpret it. A queue without `push` is served by workers only.
    ///
    /// ```
    /// # use turno::queue::{Kind, Policy};
    /// # use turno::store::{Push, PushChange};
    /// # turno_testkit::example(async |turno| {
    /// let push = Push { text: r#"{"to":"the till"}"#.into(), display: "the till".into() };
    /// let queue = turno.put_queue_pushed("mails".try_into()?, Policy::for_kind(Kind::Inbox), PushChange::Set(push)).await?;
    /// assert_eq!(queue.row().await?.push.as_deref(), Some(r#"{"to":"the till"}"#));
    /// # Ok(()) });
    /// ```
    pub async fn put_queue_pushed(
        &self,
        name: QueueName,
        policy: Policy,
        push: PushChange,
    ) -> Result<QueueHandle, Error> {
        self.change_queue(PutQueue { name: name.clone(), policy, push, seen: None }).await?;
        Ok(QueueHandle { turno: self.clone(), name })
    }

    /// Changes a queue only if its version is still `seen`. Returns `false` and changes nothing if another change came
    /// first. Without `seen` it always applies.
    ///
    /// ```
    /// # use turno::queue::{Kind, Policy};
    /// # use turno::store::{PushChange, PutQueue};
    /// # turno_testkit::example(async |turno| {
    /// let row = turno.put_queue("mails", Policy::for_kind(Kind::Inbox)).await?.row().await?;
    /// let change = |max_attempts| PutQueue {
    ///     name: row.name.clone(),
    ///     policy: Policy { max_attempts, ..row.policy.clone() },
    ///     push: PushChange::Keep,
    ///     seen: Some(row.version),
    /// };
    /// assert!(turno.change_queue(change(7)).await?);
    /// assert!(!turno.change_queue(change(8)).await?);
    /// # Ok(()) });
    /// ```
    pub async fn change_queue(&self, put: PutQueue) -> Result<bool, Error> {
        put.policy.check()?;
        self.authorize_read(Needs::permission(Permission::QueuesManage).on_queue(&put.name)).await?;
        let Some(row) = self.inner.store.put_queue(put, self.actor()).await? else { return Ok(false) };
        // Items may be due under the new policy, and other processes cache the old one.
        let row = self.inner.remember(row);
        self.inner.announce_policy(row.id).await;
        Ok(true)
    }

    /// Returns all queues that the caller reaches, with their policies.
    ///
    /// ```
    /// # use turno::queue::{Kind, Policy};
    /// # turno_testkit::example(async |turno| {
    /// turno.put_queue("mails", Policy::for_kind(Kind::Inbox)).await?;
    /// assert_eq!(turno.queues().await?[0].name.as_str(), "mails");
    /// # Ok(()) });
    /// ```
    pub async fn queues(&self) -> Result<Vec<QueueRow>, Error> {
        self.authorize_read(Needs::permission(Permission::QueuesRead)).await?;
        let mut queues = self.inner.store.queues().await?;
        queues.retain(|row| self.reaches_queue(&row.name));
        Ok(queues)
    }

    /// Returns a handle to an existing queue, or [`Error::Unknown`].
    ///
    /// ```
    /// # use turno::queue::{Kind, Policy};
    /// # turno_testkit::example(async |turno| {
    /// turno.put_queue("mails", Policy::for_kind(Kind::Inbox)).await?;
    /// assert!(turno.queue("mails").await.is_ok());
    /// assert!(turno.queue("letters").await.is_err(), "the queue does not exist");
    /// # Ok(()) });
    /// ```
    pub async fn queue<N>(&self, name: N) -> Result<QueueHandle, Error>
    where
        N: TryInto<QueueName>,
        Error: From<N::Error>,
    {
        let name: QueueName = name.try_into()?;
        self.authorize(Needs::READING.on_queue(&name)).await?;
        self.inner.queue(&name).await?;
        Ok(QueueHandle { turno: self.clone(), name })
    }
}

impl Turno {
    /// Returns whether the caller's token reaches this queue.
    pub(crate) fn reaches_queue(&self, queue: &QueueName) -> bool {
        self.check_cached(Needs::READING.on_queue(queue)).is_ok()
    }
}

impl QueueHandle {
    /// Returns the engine handle of this queue, with the same caller.
    pub(crate) fn turno(&self) -> &Turno {
        &self.turno
    }

    /// Returns the queue's name.
    pub(super) fn name(&self) -> &QueueName {
        &self.name
    }

    /// Returns the engine's clock.
    pub(super) fn clock(&self) -> &Arc<Clock> {
        &self.turno.inner.clock
    }

    /// Enqueues all the items, or none if one of them is invalid.
    ///
    /// ```
    /// # use turno::queue::Draft;
    /// # turno_testkit::queue_example(async |_, queue| {
    /// use turno::queue::Accepted;
    /// let twice = vec![Draft::json("hola")?.id("m-1")?, Draft::json("adiós")?.id("m-1")?];
    /// let answers = queue.enqueue(twice).await?;
    /// assert_eq!(answers[0].1, Accepted::Queued);
    /// assert_eq!(answers[1].1, Accepted::Duplicate { differs: true }, "ids decide, never contents");
    /// # Ok(()) });
    /// ```
    pub async fn enqueue(&self, items: Vec<Draft>) -> Result<Vec<(ItemId, Accepted)>, Error> {
        if items.len() > BATCH_MAX {
            return Err(Invalid::new("items", Fault::TooMany { max: BATCH_MAX, given: items.len() }).into());
        }
        let row = self.row().await?;
        let items: Vec<NewItem> = items
            .into_iter()
            .enumerate()
            .map(|(index, draft)| {
                let max = self.turno.inner.payload_bytes;
                admit(draft, row.policy.kind, max).map_err(|invalid| invalid.at(index))
            })
            .collect::<Result<_, _>>()?;
        let ids: Vec<ItemId> = items.iter().map(|item| item.id.clone()).collect();
        let group_bytes = self.turno.inner.answer_bytes;
        let call = Enqueue { queue: row.id, policy: row.policy.clone(), items, group_bytes };
        match self
            .turno
            .submit(Needs::permission(Permission::QueuesProduce).on_queue(&self.name), call, Job::Enqueue)
            .await
        {
            Ok(answers) => Ok(ids.into_iter().zip(answers).collect()),
            // The cached queue does not exist any more: a failover lost it, or it was created again.
            Err(Error::Store(StoreError::QueueGone)) => {
                self.turno.inner.refresh(&self.name).await?;
                Err(Error::Store(StoreError::Unavailable("the database has begun another life; try again".into())))
            }
            Err(error) => Err(error),
        }
    }
}

/// Checks that receivers can parse the payload and that the stores can keep it. `max` is the largest size.
fn check_payload(payload: &str, max: usize) -> Result<(), Invalid> {
    let fault = match payload {
        _ if !json_is_within(payload, PAYLOAD_DEPTH_MAX) => Fault::TooDeep { max: PAYLOAD_DEPTH_MAX },
        _ if payload.len() > max => Fault::TooLarge { max },
        _ if payload.contains('\0') => Fault::Nul,
        _ => return Ok(()),
    };
    Err(Invalid::new("payload", fault))
}

fn admit(draft: Draft, kind: Kind, payload_max: usize) -> Result<NewItem, Invalid> {
    check_payload(&draft.payload, payload_max)?;
    if kind.needs_key() && draft.key.is_none() {
        return Err(Invalid::new("key", Fault::KeyRequired));
    }
    draft.action.as_deref().map_or(Ok(()), check_action).map_err(|bad| Invalid::new("action", bad.into()))?;
    if draft.delay < Span::ZERO || draft.delay > SPAN_MAX {
        return Err(Invalid::new("delay_ms", Fault::OutOfBounds { min: 0, max: SPAN_MAX.0 }));
    }
    let id_given = draft.id.is_some();
    let id = match draft.id {
        Some(id) => id,
        None => ItemId::new(uuid::Uuid::now_v7().to_string()).map_err(|bad| Invalid::new("id", bad.into()))?,
    };
    let Draft { key, action, payload, delay, .. } = draft;
    Ok(NewItem { id, id_given, key, action, payload, delay, since: None })
}
