//! Queues and their policies.

use super::PostgresStore;
use super::audit;
use super::call::{self, Call};
use super::changes;
use super::failure::TripError;
use super::lane;
use super::manage;
use super::row::{self, get};
use super::tx::{Moment, Tx};
use crate::store::{ManageGroup, PutQueue, QueueRow, StoreError, render_kind_refusal};
use turno_core::audit::{Actor, AuditAction, Draft, Entry, chain};
use turno_core::id::{ItemId, Lane, QueueId, QueueName};
use turno_core::queue::{Kind, Policy};

impl PostgresStore {
    pub(super) async fn queue_get(&self, name: &QueueName) -> Result<Option<QueueRow>, StoreError> {
        let rows = self.read(vec![Call::new(&call::QUEUE_GET).text(name.as_str())]).await?.take();
        Ok(rows.first().map(row::queue).transpose()?)
    }

    pub(super) async fn queue_list(&self) -> Result<Vec<QueueRow>, StoreError> {
        let rows = self.read(vec![Call::new(&call::QUEUE_LIST)]).await?.take();
        Ok(rows.iter().map(row::queue).collect::<Result<_, _>>()?)
    }

    /// Pauses or resumes a queue, in one transaction with the audit entry.
    pub(super) async fn queue_pause(&self, queue: QueueId, paused: bool, by: &Actor) -> Result<(), StoreError> {
        let mut again = true;
        loop {
            let mut link = self.keeper.take(&self.address).await?;
            match pause(&mut Tx::new(&mut link, &self.shared, None), queue, paused, by).await {
                Ok(Some((entries, xid))) => {
                    return self.commit_calls(link, audit::calls(&entries), None, xid.as_deref()).await.map(drop);
                }
                Ok(None) => {
                    link.abandon();
                    link.put_back();
                    return Ok(());
                }
                Err(failure) => self.failed(link, failure, &mut again).await?,
            }
        }
    }

    /// Creates the queue or changes its policy, with its row locked.
    pub(super) async fn queue_put(&self, wanted: &PutQueue, by: &Actor) -> Result<Option<QueueRow>, StoreError> {
        let policy = &wanted.policy;
        let text = serde_json::to_string(policy).expect("a policy can always be written as JSON");
        let mut again = true;
        loop {
            let mut link = self.keeper.take(&self.address).await?;
            match put(&mut Tx::new(&mut link, &self.shared, None), wanted, &text, by).await {
                Ok(None) => {
                    link.abandon();
                    link.put_back();
                    return Ok(None);
                }
                Ok(Some(Put { queue, entries, .. })) if entries.is_empty() => {
                    link.abandon();
                    link.put_back();
                    return Ok(Some(queue));
                }
                Ok(Some(Put { queue, changes, entries, xid })) => {
                    let mut calls = Vec::with_capacity(4);
                    if changes {
                        let kind = policy.kind.as_str();
                        calls.push(
                            Call::new(&call::QUEUE_CHANGE)
                                .int(queue.id.0)
                                .text(&text)
                                .text(kind)
                                .maybe_text(queue.push.as_deref()),
                        );
                    }
                    calls.extend(audit::calls(&entries));
                    self.commit_calls(link, calls, None, xid.as_deref()).await?;
                    return Ok(Some(queue));
                }
                Err(failure) => self.failed(link, failure, &mut again).await?,
            }
        }
    }
}

/// Audit entries, and the id of the transaction that writes them.
type Entries = (Vec<Entry>, Option<String>);

async fn pause(tx: &mut Tx<'_>, queue: QueueId, paused: bool, by: &Actor) -> Result<Option<Entries>, TripError> {
    let pause = Call::new(&call::QUEUE_PAUSE).int(queue.0).flag(paused);
    let mut answers = tx.trip(vec![pause, audit::lock(), Moment::call(0, true)]).await?;
    let rows = answers.take();
    let mut head = audit::head(&answers.take())?;
    let moment = tx.moment(&answers.take())?;
    let Some(row) = rows.first() else {
        return Ok(None);
    };
    let action = if paused { AuditAction::QueuePause } else { AuditAction::QueueResume };
    let draft = Draft::new(by.clone(), action, get::<String>(row, 0)?);
    Ok(Some((chain(&mut head, moment.now, vec![draft]), moment.xid)))
}

/// The queue after the change, whether its row must still be updated, and the audit entries: none if nothing changed.
struct Put {
    queue: QueueRow,
    changes: bool,
    entries: Vec<Entry>,
    xid: Option<String>,
}

/// Releases lanes that exhausted items hold, in the transaction that changes the policy. Otherwise a lane would be held
/// by a policy that is not in force. All lanes are locked at once and before the audit, in the order that all
/// transactions use.
async fn release(tx: &mut Tx<'_>, queue: &QueueRow, policy: &Policy, by: &Actor) -> Result<(), TripError> {
    let rows = tx.trip(vec![Call::new(&call::QUEUE_PARKED).int(queue.id.0)]).await?.take();
    let parked = rows.iter().map(|row| Ok((row::name(row, 0, ItemId::new)?, get::<Option<i64>>(row, 1)?.map(Lane))));
    let parked = parked.collect::<Result<Vec<(ItemId, Option<Lane>)>, TripError>>()?;
    tx.trip(vec![lane::lock(parked.iter().filter_map(|(_, lane)| Some((queue.id, (*lane)?))))]).await?;
    // In order: if several exhausted items are in one lane, releasing the last makes the next item the head.
    for (id, _) in parked {
        let plan = manage::plan(tx, &ManageGroup::release(queue.id, &queue.name, policy, id, by)).await?;
        if let Some(changes) = plan.changes() {
            tx.trip(changes::calls(changes)).await?;
        }
    }
    Ok(())
}

/// Decides the change. `text` is the policy as stored. Returns `None` if the queue has changed since it was seen.
async fn put(tx: &mut Tx<'_>, wanted: &PutQueue, text: &str, by: &Actor) -> Result<Option<Put>, TripError> {
    let PutQueue { name, policy, push, .. } = wanted;
    let kind = policy.kind.as_str();
    let fresh = push.text(None);
    let add = Call::new(&call::QUEUE_ADD).text(name.as_str()).text(text).text(kind).maybe_text(fresh.as_deref());
    let lock = Call::new(&call::QUEUE_LOCK).text(name.as_str());
    let mut answers = tx.trip(vec![add, lock]).await?;
    let created = !answers.take().is_empty();
    let mut queue =
        answers.take().first().map(row::queue).transpose()?.ok_or_else(|| row::garbled("a queue that is not there"))?;
    if wanted.is_late((!created).then_some(&queue)) {
        return Ok(None);
    }
    if queue.policy.holds_exhausted() && !policy.holds_exhausted() {
        release(tx, &queue, policy, by).await?;
    }
    if queue.policy.kind == Kind::Lane && queue.policy != *policy {
        tx.trip(vec![Call::new(&call::QUEUE_LOOK_AGAIN).int(queue.id.0)]).await?;
    }
    let mut answers = tx.trip(vec![audit::lock(), Moment::call(0, true)]).await?;
    let mut head = audit::head(&answers.take())?;
    let Moment { now, xid, .. } = tx.moment(&answers.take())?;
    let before = queue.push.clone();
    let kept = push.text(before.as_ref());
    let changes = queue.policy != *policy || before != kept;
    if queue.policy.kind != policy.kind {
        let busy = tx.trip(vec![Call::new(&call::QUEUE_BUSY).int(queue.id.0)]).await?.take();
        if busy.first().is_some_and(|row| get(row, 0).unwrap_or(true)) {
            return Err(TripError::rejected(render_kind_refusal(name, queue.policy.kind)));
        }
    }
    if changes {
        queue.version += 1;
        queue.policy = policy.clone();
        queue.push = kept;
    }
    let mut drafts = Vec::new();
    if changes || created {
        let policy = serde_json::from_str(text).map_err(row::garbled)?;
        let detail = [("policy", policy), ("push", push.audited(before.as_ref())), ("created", created.into())];
        drafts.push(Draft::new(by.clone(), AuditAction::QueuePut, name.as_str()).with(detail));
    }
    Ok(Some(Put { queue, changes, entries: chain(&mut head, now, drafts), xid }))
}
