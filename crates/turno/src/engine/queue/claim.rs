//! Claiming deliveries: due items of a queue, or one certain item.

use super::{Delivery, DeliveryItem, QueueHandle};
use crate::engine::access::Needs;
use crate::engine::worker::WorkerLimit;
use crate::engine::{Job, LOOK_AGAIN};
use crate::error::Error;
use crate::store::{ClaimOutcome, QueueRow};
use std::sync::Arc;
use std::time::Duration;
use turno_core::access::Permission;
use turno_core::fault::{Fault, Invalid};
use turno_core::id::{Instance, ItemId, RequestId};
use turno_core::limits::BATCH_MAX;
use turno_core::queue::{self, ClaimRequest, DeliveryRef, Why, WhyReason, WorkerName, why_alone};
use turno_core::time::Span;

/// Claiming and settling need this permission.
const CONSUME: Needs<'static> = Needs::permission(Permission::QueuesConsume);
/// How far back a claim that found nothing looks for items that became due. Longer than a commit takes, so that an
/// item made due by a slow commit is not missed.
const LOOK_BACK: Span = Span::from_secs(10);
/// How often `claim_item` retries an item that is ready, before it answers `NotYet`.
const ASK_MAX: u32 = 8;

/// The answer to a claim of one certain item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClaimedItem {
    /// The delivery. It may contain other items of the same key.
    Delivered(Delivery),
    /// Another worker holds the item.
    AlreadyClaimed,
    /// The caller itself, with the same instance, holds the item from an earlier claim.
    AlreadyYours,
    /// The item is processed, exhausted or cancelled.
    AlreadyProcessed,
    /// The item is not due, for this reason.
    NotYet(Why),
    /// The item does not exist, or is no longer stored.
    Unknown,
}

impl ClaimedItem {
    /// Returns the delivery, if there is one.
    pub fn delivery(self) -> Option<Delivery> {
        match self {
            ClaimedItem::Delivered(got) => Some(got),
            _ => None,
        }
    }
}

/// A claim of deliveries: who claims, how many, and how long to wait.
///
/// ```
/// # use turno::queue::Claim;
/// # use std::time::Duration;
/// let claim = Claim::by("worker-1").max(10).wait(Duration::from_secs(20)).request("r-7");
/// ```
#[derive(Clone, Debug)]
#[must_use = "a claim does nothing until a queue gets it"]
pub struct Claim {
    instance: Arc<str>,
    max: u32,
    wait: Span,
    request: Option<Arc<str>>,
    probes: bool,
}

impl Claim {
    /// Claims one delivery for a process, without waiting.
    pub fn by(instance: impl AsRef<str>) -> Claim {
        Claim { instance: instance.as_ref().into(), max: 1, wait: Span::ZERO, request: None, probes: false }
    }

    /// Claims up to `max` deliveries.
    pub fn max(self, max: u32) -> Claim {
        Claim { max, ..self }
    }

    /// Waits if nothing is due.
    pub fn wait(self, wait: Duration) -> Claim {
        Claim { wait: wait.into(), ..self }
    }

    /// Makes the claim repeatable. A repeat with the same request id and the same instance returns the same deliveries
    /// while one of them is live, with the same fences and without a new attempt. So a caller can repeat a claim whose
    /// answer was lost.
    ///
    /// This holds across processes and restarts. Repeats that overlap run one after another, and only the first gets
    /// new deliveries. Once all deliveries are settled or expired, the request id is free for a new claim. If the
    /// caller disconnects, its deliveries are kept for the repeat until they expire.
    pub fn request<'a>(self, id: impl Into<Option<&'a str>>) -> Claim {
        Claim { request: id.into().map(Arc::from), ..self }
    }

    /// Claims for a worker with this limit.
    pub(in crate::engine) fn limited(self, limit: WorkerLimit) -> Claim {
        let max = u32::try_from(limit.count()).unwrap_or(u32::MAX);
        Claim { max, probes: limit == WorkerLimit::Probe, ..self }
    }
}

impl QueueHandle {
    /// Claims due deliveries. If nothing is due, waits as long as the claim says.
    ///
    /// The future may be dropped at any time: deliveries that it did not return go back to the queue.
    ///
    /// ```
    /// # use turno::queue::Draft;
    /// # turno_testkit::queue_example(async |_, queue| {
    /// use std::time::Duration;
    /// use turno::queue::Claim;
    /// queue.enqueue(vec![Draft::json("hola")?]).await?;
    /// let deliveries = queue.claim(Claim::by("worker-1").max(10).wait(Duration::from_secs(5))).await?;
    /// assert_eq!(&*deliveries[0].items[0].payload, "\"hola\"");
    /// assert!(queue.claim(Claim::by("worker-2")).await?.is_empty(), "worker-1 has it");
    /// # Ok(()) });
    /// ```
    pub async fn claim(&self, claim: Claim) -> Result<Vec<Delivery>, Error> {
        self.claim_until(claim, std::future::pending()).await
    }

    /// Claims like [`QueueHandle::claim`], but stops waiting when `leave` completes. Deliveries that were already
    /// handed out are still returned, so that a stopping caller leaves none behind.
    ///
    /// ```
    /// # turno_testkit::queue_example(async |_, queue| {
    /// use std::time::Duration;
    /// use turno::queue::Claim;
    /// let claim = Claim::by("worker-1").wait(Duration::from_secs(30));
    /// assert!(queue.claim_until(claim, std::future::ready(())).await?.is_empty(), "at once");
    /// # Ok(()) });
    /// ```
    pub async fn claim_until(&self, claim: Claim, leave: impl Future<Output = ()>) -> Result<Vec<Delivery>, Error> {
        let request = self.check(&claim)?;
        self.claim_wanted(request, claim.wait, leave).await
    }

    /// Checks a claim and adds the caller.
    fn check(&self, claim: &Claim) -> Result<ClaimRequest, Error> {
        if claim.max == 0 || claim.max as usize > BATCH_MAX {
            return Err(Invalid::new("max", Fault::OutOfBounds { min: 1, max: BATCH_MAX as i64 }).into());
        }
        let instance = Instance::new(&*claim.instance)?;
        let taker = match self.turno.principal() {
            Some(principal) => WorkerName::new(&instance, &principal.user),
            None => WorkerName::from(instance.as_str()),
        };
        claim.request.as_deref().map(RequestId::new).transpose()?;
        let (request, bytes) = (claim.request.clone(), self.turno.inner.answer_bytes);
        Ok(ClaimRequest { taker, max: claim.max, request, probes: claim.probes, bytes })
    }

    async fn claim_wanted(
        &self,
        want: ClaimRequest,
        wait: Span,
        leave: impl Future<Output = ()>,
    ) -> Result<Vec<Delivery>, Error> {
        let inner = &self.turno.inner;
        let mut row = self.row().await?;
        let signal = inner.signals.queue(row.id);
        let deadline = inner.clock.estimate() + wait;
        let (mut swept, mut looked) = (false, false);
        tokio::pin!(leave);
        loop {
            let changed = signal.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            let asked = inner.clock.estimate();
            let claim = (row.clone(), want.clone());
            let outcome = self
                .turno
                .submit(CONSUME.on_queue(&self.name), claim, |(row, want), reply| Job::Claim(row, want, reply))
                .await?
                .take();
            let next = match outcome {
                ClaimOutcome::PolicyChanged => {
                    row = inner.refresh(&self.name).await?;
                    continue;
                }
                ClaimOutcome::Paused => None,
                ClaimOutcome::Claimed { now, more, .. } => {
                    let deliveries = join_bodies(&row, outcome);
                    if !deliveries.is_empty() {
                        return Ok(deliveries);
                    }
                    if more {
                        // The examined heads went to other claims or were not due. There may be due heads behind them.
                        continue;
                    }
                    // Nothing was due. An application may have enqueued something, or a delivery may have expired.
                    let fresh = inner.intake.try_slice(row.id).await;
                    if fresh.more {
                        // The items taken in may not be due, but items behind them may be.
                        continue;
                    }
                    let (found, next_expiry) = inner.sweep.now().await?;
                    if (fresh.found || found) && !std::mem::replace(&mut swept, true) {
                        continue;
                    }
                    if wait == Span::ZERO {
                        // Another sweep may have held an expired item locked during this claim, or taken it back just
                        // after. Such an item is due by now.
                        let since = asked.min(now) + Span(-LOOK_BACK.0);
                        let due = inner.store.next_look(row.id, since).await?;
                        if due.is_some_and(|at| at <= inner.clock.estimate()) && !std::mem::replace(&mut looked, true) {
                            continue;
                        }
                        return Ok(deliveries);
                    }
                    // An item that became due between the choice of heads and the reading of the clock was not
                    // examined, so look from the earlier of the two.
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

    /// Claims one certain item if it is due and heads its lane. Of several concurrent callers, exactly one gets it.
    ///
    /// A request id of the claim belongs to the item: the same id with another item is another claim. The claim's `max`
    /// and `wait` have no effect.
    ///
    /// ```
    /// # use turno::queue::{ClaimedItem, Draft};
    /// # turno_testkit::queue_example(async |_, queue| {
    /// use turno::queue::Claim;
    /// let (id, _) = queue.enqueue(vec![Draft::json("hola")?]).await?.remove(0);
    /// let first = Claim::by("worker-1").request("r-1");
    /// let delivery = queue.claim_item(id.clone(), first.clone()).await?.delivery().expect("the item is due");
    /// let again = queue.claim_item(id.clone(), first).await?.delivery().expect("a repeat gets the same delivery");
    /// assert_eq!(again.reference, delivery.reference);
    /// assert_eq!(queue.claim_item(id, Claim::by("worker-2")).await?, ClaimedItem::AlreadyClaimed);
    /// # Ok(()) });
    /// ```
    pub async fn claim_item(&self, id: ItemId, claim: Claim) -> Result<ClaimedItem, Error> {
        let inner = &self.turno.inner;
        let checked = self.check(&claim.max(1))?;
        // The separator cannot occur in a request id.
        let request = checked.request.map(|request| Arc::from(format!("{request}\u{1f}{id}")));
        let want = ClaimRequest { request, ..checked };
        let mut row = self.row().await?;
        let (mut swept, mut asked) = (false, 0);
        loop {
            let claim = (row.clone(), want.clone(), id.clone());
            let outcome = self
                .turno
                .submit(CONSUME.on_queue(&self.name), claim, |(row, want, id), reply| {
                    Job::ClaimItem(row, want, id, reply)
                })
                .await?;
            match outcome.take() {
                ClaimOutcome::PolicyChanged => {
                    row = inner.refresh(&self.name).await?;
                    continue;
                }
                ClaimOutcome::Paused => {}
                outcome @ ClaimOutcome::Claimed { .. } => {
                    if let Some(got) = join_bodies(&row, outcome).pop() {
                        return Ok(ClaimedItem::Delivered(got));
                    }
                }
            }
            if !std::mem::replace(&mut swept, true) {
                let fresh = inner.intake.read(row.id).await?;
                if inner.sweep.now().await?.0 || fresh.found {
                    continue;
                }
            }
            let Some(why) = self.why_now(&id, why_alone).await? else {
                return Ok(ClaimedItem::Unknown);
            };
            match why.reason {
                WhyReason::Running { taker: Some(taker), .. } if taker == want.taker => {
                    return Ok(ClaimedItem::AlreadyYours);
                }
                WhyReason::Running { .. } | WhyReason::Completing { .. } => return Ok(ClaimedItem::AlreadyClaimed),
                WhyReason::Processed { .. } | WhyReason::Exhausted { .. } | WhyReason::Cancelled { .. } => {
                    return Ok(ClaimedItem::AlreadyProcessed);
                }
                // The item became free after the claim: try again.
                WhyReason::Ready if asked < ASK_MAX => asked += 1,
                _ => return Ok(ClaimedItem::NotYet(why)),
            }
        }
    }
}

/// Joins a caller's deliveries with the bodies of their items.
fn join_bodies(row: &QueueRow, outcome: ClaimOutcome) -> Vec<Delivery> {
    let ClaimOutcome::Claimed { now, deliveries, mut bodies, .. } = outcome else {
        return Vec::new();
    };
    let mut to_delivery = |delivery: queue::Delivery| {
        let mut key = None;
        let items: Vec<DeliveryItem> = delivery
            .items
            .iter()
            .filter_map(|(seq, attempt)| {
                let body = bodies.remove(seq)?;
                key = body.key;
                Some(DeliveryItem {
                    id: body.id,
                    action: body.action,
                    payload: body.payload,
                    attempt: *attempt,
                    enqueued_at: body.enqueued_at,
                })
            })
            .collect();
        let reference = DeliveryRef::new(row.id, &delivery);
        let queue::Delivery { attempt, revision, expires_at, .. } = delivery;
        Delivery { reference, key, attempt, revision, now, expires_at, items }
    };
    deliveries.into_iter().flatten().map(&mut to_delivery).collect()
}
