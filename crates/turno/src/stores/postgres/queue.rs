//! Queues and their policies.

use super::PostgresStore;
use super::call::{self, Call};
use super::failure::Failure;
use super::row::{self, get, kind_to};
use super::tx::Tx;
use crate::store::{QueueRow, StoreError};
use turno_core::id::{QueueId, QueueName};
use turno_core::queue::Policy;

impl PostgresStore {
    pub(super) async fn queue_get(&self, name: &QueueName) -> Result<Option<QueueRow>, StoreError> {
        let rows = self.read(vec![Call::new(&call::QUEUE_GET).text(name.as_str())]).await?.take();
        Ok(rows.first().map(row::queue).transpose()?)
    }

    pub(super) async fn queue_list(&self) -> Result<Vec<QueueRow>, StoreError> {
        let rows = self.read(vec![Call::new(&call::QUEUE_LIST)]).await?.take();
        Ok(rows.iter().map(row::queue).collect::<Result<_, _>>()?)
    }

    pub(super) async fn queue_pause(&self, queue: QueueId, paused: bool) -> Result<(), StoreError> {
        self.read(vec![Call::new(&call::QUEUE_PAUSE).int(queue.0).flag(paused)]).await?;
        Ok(())
    }

    /// Creates the queue or changes its policy, with its row locked.
    pub(super) async fn queue_put(&self, name: &QueueName, policy: &Policy) -> Result<QueueRow, StoreError> {
        let text = serde_json::to_string(policy).expect("a policy can always be written as JSON");
        let mut link = self.readers[0].take(&self.address).await?;
        let done = put(&mut Tx::new(&mut link, &self.shared.clock), name, policy, &text).await;
        match done {
            Ok(done) => {
                if done.is_err() {
                    link.abandon();
                }
                link.put_back();
                done
            }
            Err(failure) => {
                if !failure.is_lost() {
                    link.abandon();
                    link.put_back();
                }
                Err(failure.into())
            }
        }
    }
}

async fn put(
    tx: &mut Tx<'_>,
    name: &QueueName,
    policy: &Policy,
    text: &str,
) -> Result<Result<QueueRow, StoreError>, Failure> {
    let kind = kind_to(policy.kind);
    let add = Call::new(&call::QUEUE_ADD).text(name.as_str()).text(text).text(kind);
    let mut answers = tx.trip(vec![add, Call::new(&call::QUEUE_LOCK).text(name.as_str())]).await?;
    answers.take();
    let rows = answers.take();
    let mut queue =
        rows.first().map(row::queue).transpose()?.ok_or_else(|| row::garbled("a queue that is not there"))?;
    let mut last = Vec::new();
    if queue.policy != *policy {
        if queue.policy.kind != policy.kind {
            let busy = tx.trip(vec![Call::new(&call::QUEUE_BUSY).int(queue.id.0)]).await?.take();
            if busy.first().is_some_and(|row| get(row, 0).unwrap_or(true)) {
                let was = kind_to(queue.policy.kind);
                let message = format!(
                    "queue {name} is of kind {was} and has unfinished items; empty it before it becomes {kind}"
                );
                return Ok(Err(StoreError::Rejected(message)));
            }
        }
        last.push(Call::new(&call::QUEUE_CHANGE).int(queue.id.0).text(text).text(kind));
        queue.version += 1;
        queue.policy = policy.clone();
    }
    last.push(Call::new(&call::COMMIT));
    tx.trip(last).await?;
    Ok(Ok(queue))
}
