//! Taking work: whatever is due, or a certain item.

use super::{Got, GotItem, QueueHandle};
use crate::engine::access::Needs;
use crate::engine::worker::Hands;
use crate::engine::{Job, LOOK_AGAIN};
use crate::error::Error;
use crate::store::{ClaimOutcome, QueueRow};
use std::sync::Arc;
use turno_core::access::Permission;
use turno_core::id::{Instance, ItemId, RequestId};
use turno_core::limits::{BATCH_MAX, SPAN_MAX};
use turno_core::queue::{Delivery, Handed, Taker, Want, Why, WhyReason, why_alone};
use turno_core::time::Span;

/// What taking and settling items needs.
const CONSUME: Needs<'static> = Needs::of(Permission::QueuesConsume);
/// Longer than it takes to commit what was made due: a claim that finds nothing looks once more if there is any of it.
const LOOK_BACK: Span = Span::from_secs(10);
/// How often an item that nothing keeps is asked for, before its caller is told so.
const ASK_MAX: u32 = 8;

/// What became of the wish for a certain item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClaimedItem {
    /// Here it is, perhaps with others of its key that go along.
    Got(Got),
    /// Somebody else works on it.
    AlreadyClaimed,
    /// The same process, in the same name, took it before and has it still.
    AlreadyYours,
    /// It is done, exhausted or cancelled.
    AlreadyProcessed,
    /// It waits, and this is why.
    NotYet(Why),
    /// There is no such item, or no longer.
    Unknown,
}

impl ClaimedItem {
    /// The delivery, if it was had.
    pub fn got(self) -> Option<Got> {
        match self {
            ClaimedItem::Got(got) => Some(got),
            _ => None,
        }
    }
}

impl QueueHandle {
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
        self.claim_wanted(self.want(instance, max)?, wait, std::future::pending()).await
    }

    /// As [`QueueHandle::claim`], under a name of the caller's: repeating it with the same `request`, from the same
    /// instance, gets the same deliveries for as long as one of them lives, with the same fences and without a new
    /// attempt. So whoever lost the answer can ask again.
    ///
    /// It holds over all processes on the database and over restarts; repeats that overlap come one after another, and
    /// only the first of them is handed new work. Once all of it is settled or expired, the name is free again: a later
    /// claim under it is a new one. What was handed out and not taken, because the caller left, is kept for the repeat
    /// and does not go back before it expires.
    ///
    /// ```
    /// # use turno::*;
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// # let dir = std::env::temp_dir().join(format!("turno-doc-claim-as-{}", std::process::id()));
    /// # std::fs::create_dir_all(&dir).unwrap();
    /// # let turno = Turno::open(&format!("sqlite:{}/doc.db", dir.display())).await?;
    /// # let queue = turno.put_queue("mails", Policy::of(Kind::Inbox)).await?;
    /// use turno::core::time::Span;
    /// queue.enqueue(vec![Draft::json("hola")?, Draft::json("adiós")?]).await?;
    /// let got = queue.claim_as("worker-1", 1, Span::ZERO, Some("r-1")).await?;
    /// let again = queue.claim_as("worker-1", 1, Span::ZERO, Some("r-1")).await?;
    /// assert_eq!(again[0].handed, got[0].handed, "the same delivery under the same fence");
    /// assert_ne!(queue.claim_as("worker-1", 1, Span::ZERO, Some("r-2")).await?[0].handed, got[0].handed);
    /// # std::fs::remove_dir_all(&dir).unwrap();
    /// # Ok::<(), turno::Error>(()) }).unwrap();
    /// ```
    pub async fn claim_as(
        &self,
        instance: &str,
        max: u32,
        wait: Span,
        request: Option<&str>,
    ) -> Result<Vec<Got>, Error> {
        self.claim_until(instance, max, wait, request, std::future::pending()).await
    }

    /// As [`QueueHandle::claim_as`], but waits no longer once `leave` is there: what had been handed out by then is
    /// answered, so that whoever stops neither waits on nor leaves anything behind.
    ///
    /// ```
    /// # use turno::*;
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// # let dir = std::env::temp_dir().join(format!("turno-doc-claim-until-{}", std::process::id()));
    /// # std::fs::create_dir_all(&dir).unwrap();
    /// # let turno = Turno::open(&format!("sqlite:{}/doc.db", dir.display())).await?;
    /// # let queue = turno.put_queue("mails", Policy::of(Kind::Inbox)).await?;
    /// use turno::core::time::Span;
    /// let leaving = std::future::ready(());
    /// assert!(queue.claim_until("worker-1", 1, Span::from_secs(30), None, leaving).await?.is_empty(), "at once");
    /// # std::fs::remove_dir_all(&dir).unwrap();
    /// # Ok::<(), turno::Error>(()) }).unwrap();
    /// ```
    pub async fn claim_until(
        &self,
        instance: &str,
        max: u32,
        wait: Span,
        request: Option<&str>,
        leave: impl Future<Output = ()>,
    ) -> Result<Vec<Got>, Error> {
        let request = request.map(|request| RequestId::new(request).map(|_| Arc::from(request))).transpose()?;
        self.claim_wanted(Want { request, ..self.want(instance, max)? }, wait, leave).await
    }

    /// For a worker: waits until there is something or `leave` is there, and then still answers what it was handed.
    pub(in crate::engine) async fn claim_for(
        &self,
        instance: &str,
        hands: Hands,
        leave: impl Future<Output = ()>,
    ) -> Result<Vec<Got>, Error> {
        let max = u32::try_from(hands.count()).unwrap_or(u32::MAX);
        let want = Want { probes: hands == Hands::Probe, ..self.want(instance, max)? };
        self.claim_wanted(want, SPAN_MAX, leave).await
    }

    /// What the caller wants, if it can be asked for.
    fn want(&self, instance: &str, max: u32) -> Result<Want, Error> {
        if max == 0 || max as usize > BATCH_MAX {
            return Err(Error::Invalid(format!("max must be between 1 and {BATCH_MAX}")));
        }
        let instance = Instance::new(instance)?;
        let taker = match self.turno.principal() {
            Some(principal) => Taker::of(&instance, &principal.user),
            None => Taker::from(instance.as_str()),
        };
        Ok(Want { taker, max, request: None, probes: false })
    }

    async fn claim_wanted(&self, want: Want, wait: Span, leave: impl Future<Output = ()>) -> Result<Vec<Got>, Error> {
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
                    let fresh = inner.intake.try_slice(row.id).await;
                    if fresh.more {
                        // What was taken in may not be due; something behind it may be.
                        continue;
                    }
                    let (found, next_expiry) = inner.sweep.now().await?;
                    if (fresh.found || found) && !std::mem::replace(&mut swept, true) {
                        continue;
                    }
                    if wait == Span::ZERO {
                        // Another sweep, here or in another process, may have been taking back what had expired, and have
                        // kept it locked or done so just after the look: then it is due by now.
                        let since = asked.min(now) + Span(-LOOK_BACK.0);
                        let due = inner.store.next_look(row.id, since).await?;
                        if due.is_some_and(|at| at <= inner.clock.estimate()) && !std::mem::replace(&mut looked, true) {
                            continue;
                        }
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

    /// Takes this very item, if it is due and heads its lane; of many who want it, exactly one gets it.
    ///
    /// ```
    /// # use turno::*;
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// # let dir = std::env::temp_dir().join(format!("turno-doc-claim-item-{}", std::process::id()));
    /// # std::fs::create_dir_all(&dir).unwrap();
    /// # let turno = Turno::open(&format!("sqlite:{}/doc.db", dir.display())).await?;
    /// # let queue = turno.put_queue("mails", Policy::of(Kind::Inbox)).await?;
    /// let (id, _) = queue.enqueue(vec![Draft::json("hola")?]).await?.remove(0);
    /// assert!(matches!(queue.claim_item("worker-1", id.clone()).await?, ClaimedItem::Got(_)));
    /// assert_eq!(queue.claim_item("worker-2", id).await?, ClaimedItem::AlreadyClaimed, "one wins");
    /// # std::fs::remove_dir_all(&dir).unwrap();
    /// # Ok::<(), turno::Error>(()) }).unwrap();
    /// ```
    pub async fn claim_item(&self, instance: &str, id: ItemId) -> Result<ClaimedItem, Error> {
        self.claim_item_as(instance, id, None).await
    }

    /// As [`QueueHandle::claim_item`], under a name of the caller's, as in [`QueueHandle::claim_as`]: repeating it gets the
    /// same delivery for as long as it lives. The name is the item's own: with another item it names another claim.
    ///
    /// ```
    /// # use turno::*;
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// # let dir = std::env::temp_dir().join(format!("turno-doc-claim-item-as-{}", std::process::id()));
    /// # std::fs::create_dir_all(&dir).unwrap();
    /// # let turno = Turno::open(&format!("sqlite:{}/doc.db", dir.display())).await?;
    /// # let queue = turno.put_queue("mails", Policy::of(Kind::Inbox)).await?;
    /// let (id, _) = queue.enqueue(vec![Draft::json("hola")?]).await?.remove(0);
    /// let got = queue.claim_item_as("worker-1", id.clone(), Some("r-1")).await?.got().expect("it is due");
    /// let again = queue.claim_item_as("worker-1", id.clone(), Some("r-1")).await?.got().expect("the answer was lost");
    /// assert_eq!(again.handed, got.handed, "the same delivery under the same fence");
    /// assert_eq!(queue.claim_item("worker-1", id).await?, ClaimedItem::AlreadyYours, "without the name");
    /// # std::fs::remove_dir_all(&dir).unwrap();
    /// # Ok::<(), turno::Error>(()) }).unwrap();
    /// ```
    pub async fn claim_item_as(&self, instance: &str, id: ItemId, request: Option<&str>) -> Result<ClaimedItem, Error> {
        let inner = &self.turno.inner;
        // Behind a separator that no name can contain.
        let named = |request| RequestId::new(request).map(|_| Arc::from(format!("{request}\u{1f}{id}")));
        let want = Want { request: request.map(named).transpose()?, ..self.want(instance, 1)? };
        let mut row = self.row().await?;
        let (mut swept, mut asked) = (false, 0);
        loop {
            let claim = (row.clone(), want.clone(), id.clone());
            let dealt = self
                .turno
                .submit(CONSUME, claim, |(row, want, id), reply| Job::ClaimItem(row, want, id, reply))
                .await?;
            match dealt.take() {
                ClaimOutcome::PolicyChanged => {
                    row = inner.refresh(&self.name).await?;
                    continue;
                }
                ClaimOutcome::Paused => {}
                outcome @ ClaimOutcome::Dealt { .. } => {
                    if let Some(got) = unpack(&row, outcome).pop() {
                        return Ok(ClaimedItem::Got(got));
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
                // It has become free since.
                WhyReason::Ready if asked < ASK_MAX => asked += 1,
                _ => return Ok(ClaimedItem::NotYet(why)),
            }
        }
    }
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
