//! Queues and their policies.

use super::PostgresStore;
use super::audit;
use super::call::Call;
use super::changes;
use super::error::TripError;
use super::lane;
use super::manage;
use super::row::{self, get};
use super::sql;
use super::tx::{Moment, Tx};
use crate::store::{ManageGroup, PauseQueue, Pending, PutDecision, PutQueue, QueueRow, QueueStore};
use turno_core::audit::{Actor, Entry, chain};
use turno_core::id::{ItemId, Lane, QueueId, QueueName};
use turno_core::queue::Policy;

/// Audit entries, and the id of the transaction that writes them.
type Entries = (Vec<Entry>, Option<String>);

async fn pause(tx: &mut Tx<'_>, request: &PauseQueue) -> Result<Entries, TripError> {
    let pause = Call::new(&sql::QUEUE_PAUSE).int(request.queue.0).flag(request.paused);
    let mut answers = tx.trip(vec![pause, audit::lock(), Moment::call(0, true)]).await?;
    let name = answers.take().first().map(|row| get::<String>(row, 0)).transpose()?;
    let mut head = audit::head(&answers.take())?;
    let moment = tx.moment(&answers.take())?;
    let draft = request.decide(name.as_deref())?;
    Ok((chain(&mut head, moment.now, vec![draft]), moment.xid))
}

/// The queue after the request, whether its row must still be updated, and the audit entries: none if nothing changes.
#[derive(Default)]
struct Put {
    queue: Option<QueueRow>,
    changed: bool,
    entries: Vec<Entry>,
    xid: Option<String>,
}

/// Releases lanes that exhausted items hold. All lanes are locked at once and before the audit, in the order that all
/// transactions use.
async fn release(tx: &mut Tx<'_>, queue: &QueueRow, policy: &Policy, by: &Actor) -> Result<(), TripError> {
    let rows = tx.trip(vec![Call::new(&sql::QUEUE_PARKED).int(queue.id.0)]).await?.take();
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

/// Locks the queue's row, decides, and writes all but the row. `text` is the policy as stored.
async fn put(tx: &mut Tx<'_>, wanted: &PutQueue, text: &str, by: &Actor) -> Result<Put, TripError> {
    let (name, policy) = (wanted.name.as_str(), &wanted.policy);
    let fresh = wanted.push.text(None);
    let add = Call::new(&sql::QUEUE_ADD).text(name).text(text).text(policy.kind.as_str());
    let lock = Call::new(&sql::QUEUE_LOCK).text(name);
    let mut answers = tx.trip(vec![add.maybe_text(fresh.as_deref()), lock]).await?;
    let created = !answers.take().is_empty();
    let queue =
        answers.take().first().map(row::queue).transpose()?.ok_or_else(|| row::garbled("a queue that is not there"))?;
    let stored = (!created).then_some(&queue);
    let busy = wanted.changes_kind(stored) && is_busy(tx, queue.id).await?;
    let change = match wanted.decide(stored, busy, by.clone())? {
        PutDecision::Late => return Ok(Put::default()),
        PutDecision::Unchanged => return Ok(Put { queue: Some(queue), ..Put::default() }),
        PutDecision::Change(change) => change,
    };
    if change.releases {
        release(tx, &queue, policy, by).await?;
    }
    if change.looks_again {
        tx.trip(vec![Call::new(&sql::QUEUE_LOOK_AGAIN).int(queue.id.0)]).await?;
    }
    let mut answers = tx.trip(vec![audit::lock(), Moment::call(0, true)]).await?;
    let mut head = audit::head(&answers.take())?;
    let Moment { now, xid, .. } = tx.moment(&answers.take())?;
    let entries = chain(&mut head, now, vec![change.audit]);
    let queue = if created {
        queue
    } else {
        QueueRow { version: queue.version + 1, policy: policy.clone(), push: change.push, ..queue }
    };
    Ok(Put { queue: Some(queue), changed: !created, entries, xid })
}

async fn is_busy(tx: &mut Tx<'_>, queue: QueueId) -> Result<bool, TripError> {
    let rows = tx.trip(vec![Call::new(&sql::QUEUE_BUSY).int(queue.0)]).await?.take();
    rows.first().map_or(Ok(true), |row| get(row, 0))
}

impl QueueStore for PostgresStore {
    fn queue(&self, name: QueueName) -> Pending<'_, Option<QueueRow>> {
        Box::pin(async move { self.first(Call::new(&sql::QUEUE_FIND).text(name.as_str()), row::queue).await })
    }

    fn queues(&self) -> Pending<'_, Vec<QueueRow>> {
        Box::pin(self.all(Call::new(&sql::QUEUE_LIST), row::queue))
    }

    /// Creates the queue or changes its policy, with its row locked.
    fn put_queue(&self, wanted: PutQueue, by: Actor) -> Pending<'_, Option<QueueRow>> {
        Box::pin(async move {
            let text = serde_json::to_string(&wanted.policy).expect("a policy can always be written as JSON");
            let mut again = true;
            loop {
                let mut link = self.keeper.take(&self.address).await?;
                match put(&mut Tx::new(&mut link, &self.shared, None), &wanted, &text, &by).await {
                    Ok(Put { queue, entries, .. }) if entries.is_empty() => {
                        link.cancel();
                        return Ok(queue);
                    }
                    Ok(Put { queue, changed, entries, xid }) => {
                        let save = queue.as_ref().filter(|_| changed).map(|queue| {
                            let call = Call::new(&sql::QUEUE_SAVE).int(queue.id.0).text(&text);
                            call.text(wanted.policy.kind.as_str()).maybe_text(queue.push.as_deref())
                        });
                        let calls = save.into_iter().chain(audit::calls(&entries)).collect();
                        self.commit_calls(link, calls, None, xid.as_deref()).await?;
                        return Ok(queue);
                    }
                    Err(failure) => self.failed(link, failure, &mut again).await?,
                }
            }
        })
    }

    /// Pauses or resumes a queue, in one transaction with the audit entry.
    fn pause_queue(&self, request: PauseQueue) -> Pending<'_, ()> {
        Box::pin(async move {
            let mut again = true;
            loop {
                let mut link = self.keeper.take(&self.address).await?;
                match pause(&mut Tx::new(&mut link, &self.shared, None), &request).await {
                    Ok((entries, xid)) => {
                        return self.commit_calls(link, audit::calls(&entries), None, xid.as_deref()).await.map(drop);
                    }
                    Err(failure) => self.failed(link, failure, &mut again).await?,
                }
            }
        })
    }
}
