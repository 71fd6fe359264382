//! Settling deliveries, including repeated settlements.

use super::QueueHandle;
use crate::engine::Job;
use crate::engine::access::Needs;
use crate::error::Error;
use crate::store::{ItemQuery, ItemRecord};
use std::time::Duration;
use turno_core::access::Permission;
use turno_core::fault::{Fault, Invalid};
use turno_core::id::{ItemId, Seq};
use turno_core::limits::BATCH_MAX;
use turno_core::queue::{Act, DeliveryRef, Settle, SettleOutcome, Settler, Trace};

/// A worker's settlement of a delivery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settlement {
    /// The delivery, as the claim returned it.
    pub reference: DeliveryRef,
    /// Ack, fail, return or heartbeat.
    pub act: Act,
}

impl Settlement {
    /// The delivery is done.
    pub fn ack(reference: DeliveryRef) -> Settlement {
        Settlement { reference, act: Act::Ack { through: None } }
    }

    /// The items up to and including `item` are done. The others return to the head of their lane.
    pub fn ack_through(reference: DeliveryRef, item: ItemId) -> Settlement {
        Settlement { reference, act: Act::Ack { through: Some(item) } }
    }

    /// The attempt failed. The policy decides when the delivery is retried.
    pub fn fail(reference: DeliveryRef, error: impl Into<String>) -> Settlement {
        let act = Act::Fail { error: error.into(), item: None, retry_in: None, give_up: false };
        Settlement { reference, act }
    }

    /// The attempt failed. It is retried after `delay`, whatever the policy says.
    pub fn retry_in(reference: DeliveryRef, error: impl Into<String>, delay: Duration) -> Settlement {
        let act = Act::Fail { error: error.into(), item: None, retry_in: Some(delay.into()), give_up: false };
        Settlement { reference, act }
    }

    /// The attempt failed, and no further attempt is made.
    pub fn give_up(reference: DeliveryRef, error: impl Into<String>) -> Settlement {
        let act = Act::Fail { error: error.into(), item: None, retry_in: None, give_up: true };
        Settlement { reference, act }
    }

    /// The delivery was not attempted. Its attempt is taken back.
    pub fn give_back(reference: DeliveryRef) -> Settlement {
        Settlement { reference, act: Act::Return { error: None } }
    }
}

/// The answer to a settlement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settled {
    /// The effect on the delivery.
    pub outcome: SettleOutcome,
    /// Whether the same settlement had already succeeded. Then `outcome` is that first answer.
    pub repeated: bool,
}

impl QueueHandle {
    /// Settles deliveries and returns one answer per settlement, in order. A stale settlement changes nothing.
    ///
    /// ```
    /// # use turno::queue::{Claim, Draft, Settlement};
    /// # turno_testkit::queue_example(async |_, queue| {
    /// queue.enqueue(vec![Draft::json("hola")?]).await?;
    /// let reference = queue.claim(Claim::by("worker-1")).await?[0].reference;
    /// let answer = queue.settle(vec![Settlement::fail(reference, "busy")]).await?.remove(0);
    /// assert!(matches!(answer.outcome, turno::queue::SettleOutcome::Retrying { .. }));
    /// # Ok(()) });
    /// ```
    pub async fn settle(&self, settlements: Vec<Settlement>) -> Result<Vec<Settled>, Error> {
        if settlements.len() > BATCH_MAX {
            let fault = Fault::TooMany { max: BATCH_MAX, given: settlements.len() };
            return Err(Invalid::new("deliveries", fault).into());
        }
        let row = self.row().await?;
        // A delivery of another queue is stale here, because no item has the sequence number 0.
        let in_this_queue = |reference: DeliveryRef| {
            let seq = if reference.queue == row.id { reference.seq } else { Seq(0) };
            DeliveryRef { queue: row.id, seq, ..reference }
        };
        let acts: Vec<(DeliveryRef, Act)> =
            settlements.into_iter().map(|settlement| (in_this_queue(settlement.reference), settlement.act)).collect();
        // The settler is built for each submission, because access may have changed since the last one.
        let job = |acts: Vec<(DeliveryRef, Act)>, reply| {
            let (policy, by) = (&row.policy, self.settler());
            let settle = |(reference, act)| Settle { reference, policy: policy.clone(), act, by: by.clone() };
            Job::Settle(acts.into_iter().map(settle).collect(), reply)
        };
        let needs = Needs::permission(Permission::QueuesConsume).on_queue(&self.name);
        let (_, outcomes) = self.turno.submit(needs, acts.clone(), job).await?;
        let mut answers: Vec<Settled> =
            outcomes.into_iter().map(|outcome| Settled { outcome, repeated: false }).collect();
        self.recognise_repeats(&acts, &mut answers).await?;
        Ok(answers)
    }

    /// Acks whole deliveries.
    ///
    /// ```
    /// # use turno::queue::{Claim, Draft};
    /// # turno_testkit::queue_example(async |_, queue| {
    /// # use turno::{queue::SettleOutcome, id::Span};
    /// queue.enqueue(vec![Draft::json("hola")?]).await?;
    /// let deliveries = queue.claim(Claim::by("worker-1")).await?;
    /// assert_eq!(queue.ack([deliveries[0].reference]).await?[0].outcome, SettleOutcome::Acked);
    /// assert!(queue.ack([deliveries[0].reference]).await?[0].repeated, "a repeated ack gets the same answer");
    /// # Ok(()) });
    /// ```
    pub async fn ack(&self, references: impl IntoIterator<Item = DeliveryRef>) -> Result<Vec<Settled>, Error> {
        let ack = |reference| Settlement { reference, act: Act::Ack { through: None } };
        self.settle(references.into_iter().map(ack).collect()).await
    }

    /// Returns the caller of this handle, for its settlements.
    fn settler(&self) -> Settler {
        match self.turno.principal() {
            None => Settler::Server,
            Some(principal) if principal.permissions.has(Permission::QueuesManage) => {
                Settler::Manager { actor: principal.actor(), queue: self.name.clone() }
            }
            Some(principal) => Settler::Account(principal.user.clone()),
        }
    }

    /// Reads the items of a delivery that are still stored.
    async fn members(&self, reference: &DeliveryRef) -> Result<Vec<ItemRecord>, Error> {
        let before = Some(Seq(reference.seq.0 - 1));
        let first = ItemQuery { after: before, limit: 1, ..ItemQuery::without_payloads() };
        let first = self.turno.inner.store.items(reference.queue, first).await?.items.pop();
        let Some(key) = first.filter(|record| record.body.seq == reference.seq).and_then(|record| record.body.key)
        else {
            return Ok(Vec::new());
        };
        let all = ItemQuery {
            key: Some(key),
            after: before,
            limit: reference.size.min(BATCH_MAX as u32),
            ..ItemQuery::without_payloads()
        };
        Ok(self.turno.inner.store.items(reference.queue, all).await?.items)
    }

    /// Replaces `Stale` by the first answer where a caller repeats a successful settlement, for example after a lost
    /// answer.
    async fn recognise_repeats(&self, acts: &[(DeliveryRef, Act)], answers: &mut [Settled]) -> Result<(), Error> {
        let stale: Vec<usize> = answers
            .iter()
            .enumerate()
            .filter(|(_, answer)| answer.outcome == SettleOutcome::Stale)
            .map(|(index, _)| index)
            .collect();
        if stale.is_empty() {
            return Ok(());
        }
        let references = stale.iter().map(|index| acts[*index].0).collect();
        let traces = self.turno.inner.store.settled(references).await?;
        let by = self.settler();
        for (index, trace) in stale.into_iter().zip(traces) {
            let (reference, act) = &acts[index];
            // The delivery of another account stays stale, because its outcome is not the caller's.
            if !by.may(act, trace.holder.as_ref()) {
                continue;
            }
            let outcome = trace.settled();
            let outcome = match act {
                // These acts end at another item than the first, so that item's record has the outcome.
                Act::Fail { item: Some(id), .. } | Act::Ack { through: Some(id) } => {
                    let record = self.turno.inner.store.item(reference.queue, id.clone()).await?;
                    record.and_then(|record| settled_under(reference, &record))
                }
                // A group was acked only if every item was.
                Act::Ack { through: None } if reference.size > 1 => {
                    let members = self.members(reference).await?;
                    let acked = |record: &ItemRecord| settled_under(reference, record) == Some(SettleOutcome::Acked);
                    let all = members.len() == reference.size as usize && members.iter().all(acked);
                    outcome.filter(|outcome| *outcome != SettleOutcome::Acked || all)
                }
                _ => outcome,
            };
            if let Some(outcome) = outcome.filter(|outcome| repeats(act, outcome)) {
                answers[index] = Settled { outcome, repeated: true };
            }
        }
        Ok(())
    }
}

/// Returns how an item was settled under the delivery's fence, if it was.
fn settled_under(reference: &DeliveryRef, record: &ItemRecord) -> Option<SettleOutcome> {
    Trace::find(reference.fence, record.done.as_ref(), &record.errors, &record.came_back).settled()
}

/// Returns whether `act` can have led to `outcome`.
fn repeats(act: &Act, outcome: &SettleOutcome) -> bool {
    use SettleOutcome::{Acked, Exhausted, Retrying, Returned, Superseded};
    match act {
        Act::Ack { .. } | Act::Complete | Act::Skip => matches!(outcome, Acked | Superseded),
        Act::Fail { .. } => matches!(outcome, Retrying { .. } | Exhausted | Superseded),
        Act::Return { .. } => matches!(outcome, Returned),
        Act::Park { .. } => matches!(outcome, Returned | Superseded),
        Act::Defer { .. } => matches!(outcome, Retrying { .. } | Superseded),
        Act::Beat | Act::Expire => false,
    }
}
