//! Queues, as an application calls them.

mod manage;
mod settle;

pub use settle::{Settled, Settlement};

use super::access::Needs;
use super::commit::Job;
use super::{LOOK_AGAIN, Turno};
use crate::clock::Clock;
use crate::error::Error;
use crate::store::{ClaimOutcome, QueueRow};
use std::sync::Arc;
use turno_core::access::Permission;
use turno_core::id::{ItemId, Key, QueueName};
use turno_core::limits::{BATCH_MAX, NAME_MAX, PAYLOAD_MAX};
use turno_core::queue::{Accepted, Delivery, Enqueue, Handed, Kind, NewItem, Policy, Want};
use turno_core::time::{Span, Time};

/// An item to be queued.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Draft {
    /// An id of the caller's, accepted once; made up if there is none.
    pub id: Option<ItemId>,
    /// Whose it is; required in lanes and sync queues.
    pub key: Option<Key>,
    /// What to do, for receivers that tell actions apart.
    pub action: Option<String>,
    /// JSON, kept and returned as it is.
    pub payload: Arc<str>,
    /// Not before this long from now.
    pub delay: Span,
}

impl Draft {
    /// An item that carries `payload` as JSON.
    ///
    /// ```
    /// let draft = turno::Draft::json(&("hola", 7))?.key("ana")?.id("m-1")?;
    /// assert_eq!(&*draft.payload, r#"["hola",7]"#);
    /// # Ok::<(), turno::Error>(())
    /// ```
    pub fn json(payload: &(impl serde::Serialize + ?Sized)) -> Result<Draft, Error> {
        let json = serde_json::to_string(payload);
        let payload = json.map_err(|error| Error::Invalid(format!("/payload: {error}")))?.into();
        Ok(Draft { payload, ..Draft::default() })
    }

    /// With an id of the caller's, which is accepted once.
    pub fn id(self, id: &str) -> Result<Draft, Error> {
        Ok(Draft { id: Some(ItemId::new(id)?), ..self })
    }

    /// Whose it is.
    pub fn key(self, key: &str) -> Result<Draft, Error> {
        Ok(Draft { key: Some(Key::new(key)?), ..self })
    }

    /// Not before this long from now.
    pub fn delay(self, delay: Span) -> Draft {
        Draft { delay, ..self }
    }
}

/// What a worker was handed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Got {
    /// Names the delivery in every settlement, fence included.
    pub handed: Handed,
    /// Whose it is.
    pub key: Option<Key>,
    /// The first item's attempt.
    pub attempt: u32,
    /// The change that is handed out, in a sync queue.
    pub revision: i64,
    /// The database's time of the hand-out.
    pub now: Time,
    /// Over from here on unless settled or renewed.
    pub expires_at: Time,
    /// The items in order.
    pub items: Vec<GotItem>,
}

/// One item of a delivery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GotItem {
    /// Its id.
    pub id: ItemId,
    /// What to do.
    pub action: Option<String>,
    /// What it carries.
    pub payload: Arc<str>,
    /// Which attempt this is.
    pub attempt: u32,
    /// When it was accepted.
    pub enqueued_at: Time,
}

/// What taking and settling items needs.
const CONSUME: Needs<'static> = Needs::of(Permission::QueuesConsume);

/// One queue of an open engine.
#[derive(Clone, Debug)]
pub struct QueueHandle {
    turno: Turno,
    name: QueueName,
}

impl Turno {
    /// Creates a queue, or changes its policy. Needs `queues.manage`.
    ///
    /// ```
    /// # use turno::{Draft, Kind, Policy, Turno};
    /// # use turno::core::time::Span;
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// # let dir = std::env::temp_dir().join(format!("turno-doc-queue-{}", std::process::id()));
    /// # std::fs::create_dir_all(&dir).unwrap();
    /// # let turno = Turno::open(&format!("sqlite:{}/doc.db", dir.display())).await?;
    /// let queue = turno.put_queue("mails", Policy::of(Kind::Inbox)).await?;
    /// queue.enqueue(vec![Draft::json("hola")?.id("m-1")?]).await?;
    /// let got = queue.claim("worker-1", 10, Span::ZERO).await?;
    /// assert_eq!(got[0].items[0].id.as_str(), "m-1");
    /// queue.ack([got[0].handed]).await?;
    /// # std::fs::remove_dir_all(&dir).unwrap();
    /// # Ok::<(), turno::Error>(()) }).unwrap();
    /// ```
    pub async fn put_queue<N>(&self, name: N, policy: Policy) -> Result<QueueHandle, Error>
    where
        N: TryInto<QueueName>,
        Error: From<N::Error>,
    {
        let name: QueueName = name.try_into()?;
        policy.check()?;
        self.reads(Needs::of(Permission::QueuesManage)).await?;
        let row = self.inner.store.put_queue(name.clone(), policy, self.actor()).await?;
        self.inner.remember(row);
        Ok(QueueHandle { turno: self.clone(), name })
    }

    /// All queues with their policies.
    ///
    /// ```
    /// # use turno::*;
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// # let dir = std::env::temp_dir().join(format!("turno-doc-queues-{}", std::process::id()));
    /// # std::fs::create_dir_all(&dir).unwrap();
    /// # let turno = Turno::open(&format!("sqlite:{}/doc.db", dir.display())).await?;
    /// turno.put_queue("mails", Policy::of(Kind::Inbox)).await?;
    /// assert_eq!(turno.queues().await?[0].name.as_str(), "mails");
    /// # std::fs::remove_dir_all(&dir).unwrap();
    /// # Ok::<(), turno::Error>(()) }).unwrap();
    /// ```
    pub async fn queues(&self) -> Result<Vec<QueueRow>, Error> {
        self.reads(Needs::READING).await?;
        Ok(self.inner.store.queues().await?)
    }

    /// A queue that exists.
    ///
    /// ```
    /// # use turno::*;
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// # let dir = std::env::temp_dir().join(format!("turno-doc-queue-{}", std::process::id()));
    /// # std::fs::create_dir_all(&dir).unwrap();
    /// # let turno = Turno::open(&format!("sqlite:{}/doc.db", dir.display())).await?;
    /// turno.put_queue("mails", Policy::of(Kind::Inbox)).await?;
    /// assert!(turno.queue("mails").await.is_ok());
    /// assert!(turno.queue("letters").await.is_err(), "nobody has made it");
    /// # std::fs::remove_dir_all(&dir).unwrap();
    /// # Ok::<(), turno::Error>(()) }).unwrap();
    /// ```
    pub async fn queue<N>(&self, name: N) -> Result<QueueHandle, Error>
    where
        N: TryInto<QueueName>,
        Error: From<N::Error>,
    {
        let name: QueueName = name.try_into()?;
        self.inner.queue(&name).await?;
        Ok(QueueHandle { turno: self.clone(), name })
    }
}

impl QueueHandle {
    /// The engine's clock.
    pub(super) fn clock(&self) -> &Arc<Clock> {
        &self.turno.inner.clock
    }

    /// Queues the items: all of them, or none if one is not acceptable.
    ///
    /// ```
    /// # use turno::*;
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// # let dir = std::env::temp_dir().join(format!("turno-doc-enqueue-{}", std::process::id()));
    /// # std::fs::create_dir_all(&dir).unwrap();
    /// # let turno = Turno::open(&format!("sqlite:{}/doc.db", dir.display())).await?;
    /// # let queue = turno.put_queue("mails", Policy::of(Kind::Inbox)).await?;
    /// use turno::core::queue::Accepted;
    /// let twice = vec![Draft::json("hola")?.id("m-1")?, Draft::json("adiós")?.id("m-1")?];
    /// let answers = queue.enqueue(twice).await?;
    /// assert_eq!(answers[0].1, Accepted::Queued);
    /// assert_eq!(answers[1].1, Accepted::Duplicate { differs: true }, "ids decide, never contents");
    /// # std::fs::remove_dir_all(&dir).unwrap();
    /// # Ok::<(), turno::Error>(()) }).unwrap();
    /// ```
    pub async fn enqueue(&self, items: Vec<Draft>) -> Result<Vec<(ItemId, Accepted)>, Error> {
        if items.len() > BATCH_MAX {
            return Err(Error::Invalid(format!("at most {BATCH_MAX} items at once, not {}", items.len())));
        }
        let row = self.row().await?;
        let items: Vec<NewItem> = items
            .into_iter()
            .enumerate()
            .map(|(index, draft)| {
                admit(draft, row.policy.kind).map_err(|error| Error::Invalid(format!("/{index}{error}")))
            })
            .collect::<Result<_, _>>()?;
        let ids: Vec<ItemId> = items.iter().map(|item| item.id.clone()).collect();
        let call = Enqueue { queue: row.id, policy: row.policy.clone(), items };
        let answers = self.turno.submit(Needs::of(Permission::QueuesProduce), call, Job::Enqueue).await?;
        Ok(ids.into_iter().zip(answers).collect())
    }

    /// Takes up to `max` deliveries, waiting for at most `wait` if there are none.
    ///
    /// It may be dropped at any time: what was handed out and not yet taken goes back.
    ///
    /// ```
    /// # use turno::*;
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// # let dir = std::env::temp_dir().join(format!("turno-doc-claim-{}", std::process::id()));
    /// # std::fs::create_dir_all(&dir).unwrap();
    /// # let turno = Turno::open(&format!("sqlite:{}/doc.db", dir.display())).await?;
    /// # let queue = turno.put_queue("mails", Policy::of(Kind::Inbox)).await?;
    /// use turno::core::time::Span;
    /// queue.enqueue(vec![Draft::json("hola")?]).await?;
    /// let got = queue.claim("worker-1", 10, Span::from_secs(5)).await?;
    /// assert_eq!(&*got[0].items[0].payload, "\"hola\"");
    /// assert!(queue.claim("worker-2", 10, Span::ZERO).await?.is_empty(), "somebody has it");
    /// # std::fs::remove_dir_all(&dir).unwrap();
    /// # Ok::<(), turno::Error>(()) }).unwrap();
    /// ```
    pub async fn claim(&self, instance: &str, max: u32, wait: Span) -> Result<Vec<Got>, Error> {
        self.claim_unless(instance, max, wait, std::future::pending()).await
    }

    /// As [`QueueHandle::claim`]; waits no longer once `leave` is there, and still answers what it was handed.
    pub(super) async fn claim_unless(
        &self,
        instance: &str,
        max: u32,
        wait: Span,
        leave: impl Future<Output = ()>,
    ) -> Result<Vec<Got>, Error> {
        if max == 0 || max as usize > BATCH_MAX {
            return Err(Error::Invalid(format!("max must be between 1 and {BATCH_MAX}")));
        }
        let inner = &self.turno.inner;
        let mut row = self.row().await?;
        let want = Want { instance: instance_name(instance)?, max };
        let signal = inner.signals.queue(row.id);
        let deadline = inner.clock.estimate() + wait;
        let mut swept = false;
        tokio::pin!(leave);
        loop {
            let changed = signal.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            let asked = inner.clock.estimate();
            let claim = (row.clone(), want.clone());
            let outcome =
                self.turno.submit(CONSUME, claim, |(row, want), reply| Job::Claim(row, want, reply)).await?.take();
            let next = match outcome {
                ClaimOutcome::PolicyChanged => {
                    row = inner.refresh(&self.name).await?;
                    continue;
                }
                ClaimOutcome::Paused => None,
                ClaimOutcome::Dealt { now, more, .. } => {
                    let got = unpack(&row, outcome);
                    if !got.is_empty() {
                        return Ok(got);
                    }
                    if more {
                        // The heads that were looked at went to others or were not ripe; there may be some behind them.
                        continue;
                    }
                    // Nothing was due: perhaps an application left something, or somebody's hand-out has expired.
                    let fresh = inner.intake.try_now().await;
                    let (found, next_expiry) = inner.sweep.now().await?;
                    if (fresh || found) && !std::mem::replace(&mut swept, true) {
                        continue;
                    }
                    if wait == Span::ZERO {
                        return Ok(got);
                    }
                    // What became due between the choice of heads and the reading of the clock was not looked at.
                    let next_look = inner.store.next_look(row.id, asked.min(now)).await?;
                    next_expiry.into_iter().chain(next_look).min()
                }
            };
            let now = inner.clock.estimate();
            if deadline <= now {
                return Ok(Vec::new());
            }
            let look = deadline.min(now + LOOK_AGAIN).min(next.unwrap_or(deadline));
            tokio::select! {
                () = changed => {}
                () = inner.clock.sleep_until(look) => {}
                () = &mut leave => return Ok(Vec::new()),
            }
            swept = false;
        }
    }

    /// Takes this very item, if it is due and heads its lane; nothing otherwise.
    ///
    /// ```
    /// # use turno::*;
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// # let dir = std::env::temp_dir().join(format!("turno-doc-claim-item-{}", std::process::id()));
    /// # std::fs::create_dir_all(&dir).unwrap();
    /// # let turno = Turno::open(&format!("sqlite:{}/doc.db", dir.display())).await?;
    /// # let queue = turno.put_queue("mails", Policy::of(Kind::Inbox)).await?;
    /// let (id, _) = queue.enqueue(vec![Draft::json("hola")?]).await?.remove(0);
    /// assert!(queue.claim_item("worker-1", id.clone()).await?.is_some());
    /// assert!(queue.claim_item("worker-2", id).await?.is_none(), "one wins");
    /// # std::fs::remove_dir_all(&dir).unwrap();
    /// # Ok::<(), turno::Error>(()) }).unwrap();
    /// ```
    pub async fn claim_item(&self, instance: &str, id: ItemId) -> Result<Option<Got>, Error> {
        let inner = &self.turno.inner;
        let want = Want { instance: instance_name(instance)?, max: 1 };
        let mut row = self.row().await?;
        let mut swept = false;
        loop {
            let claim = (row.clone(), want.clone(), id.clone());
            let dealt = self
                .turno
                .submit(CONSUME, claim, |(row, want, id), reply| Job::ClaimItem(row, want, id, reply))
                .await?;
            let outcome = dealt.take();
            match outcome {
                ClaimOutcome::PolicyChanged => row = inner.refresh(&self.name).await?,
                ClaimOutcome::Paused => return Ok(None),
                ClaimOutcome::Dealt { .. } => {
                    let got = unpack(&row, outcome).pop();
                    if got.is_some() || std::mem::replace(&mut swept, true) {
                        return Ok(got);
                    }
                    let fresh = inner.intake.try_now().await;
                    if !inner.sweep.now().await?.0 && !fresh {
                        return Ok(None);
                    }
                }
            }
        }
    }
}

fn admit(draft: Draft, kind: Kind) -> Result<NewItem, String> {
    if kind != Kind::Inbox && draft.key.is_none() {
        return Err("/key: a lane or sync queue needs to know whose item it is".to_owned());
    }
    if draft.payload.len() > PAYLOAD_MAX {
        return Err(format!("/payload: larger than {PAYLOAD_MAX} bytes"));
    }
    if draft.payload.contains('\0') {
        return Err("/payload: contains a NUL character, which no JSON text has".to_owned());
    }
    if draft.action.as_ref().is_some_and(|action| action.len() > NAME_MAX || action.contains('\0')) {
        return Err(format!("/action: longer than {NAME_MAX} bytes, or contains a NUL character"));
    }
    if draft.delay < Span::ZERO || draft.delay > turno_core::limits::SPAN_MAX {
        return Err("/delay_ms: must lie between 0 and a year".to_owned());
    }
    let id_given = draft.id.is_some();
    let id = match draft.id {
        Some(id) => id,
        None => ItemId::new(uuid::Uuid::now_v7().to_string()).map_err(|bad| format!("/id: {bad}"))?,
    };
    Ok(NewItem { id, id_given, key: draft.key, action: draft.action, payload: draft.payload, delay: draft.delay })
}

fn instance_name(instance: &str) -> Result<Arc<str>, Error> {
    turno_core::id::Instance::new(instance)?;
    Ok(instance.into())
}

/// A caller's deliveries with what they carry.
fn unpack(row: &QueueRow, outcome: ClaimOutcome) -> Vec<Got> {
    let ClaimOutcome::Dealt { now, deliveries, mut bodies, .. } = outcome else {
        return Vec::new();
    };
    let mut got = |delivery: Delivery| {
        let mut key = None;
        let items: Vec<GotItem> = delivery
            .items
            .iter()
            .filter_map(|(seq, attempt)| {
                let body = bodies.remove(seq)?;
                key = body.key;
                Some(GotItem {
                    id: body.id,
                    action: body.action,
                    payload: body.payload,
                    attempt: *attempt,
                    enqueued_at: body.enqueued_at,
                })
            })
            .collect();
        let handed = Handed::of(row.id, &delivery);
        let Delivery { attempt, revision, expires_at, .. } = delivery;
        Got { handed, key, attempt, revision, now, expires_at, items }
    };
    deliveries.into_iter().flatten().map(&mut got).collect()
}
