//! Fills queues through the library, in batches, before the measurement.

use crate::measure::{BoxError, Outcome};
use std::sync::Arc;
use tokio::task::JoinSet;
use turno::Turno;
use turno::core::id::{Key, QueueName};
use turno::core::queue::{Kind, Policy};
use turno::core::time::Span;
use turno::queue::{Draft, QueueHandle};

/// Items per call.
const BATCH: u64 = 1_000;
/// Concurrent calls.
const CALLERS: u64 = 4;

/// Creates an inbox with the defaults of its kind.
pub(crate) async fn inbox(turno: &Turno) -> Outcome<QueueHandle> {
    let name = QueueName::new("inbox")?;
    Ok(turno.put_queue(name, Policy::for_kind(Kind::Inbox)).await?)
}

/// Creates a queue of lanes that delivers one message at a time, without a window.
pub(crate) async fn lanes(turno: &Turno) -> Outcome<QueueHandle> {
    let policy = Policy {
        window: Span::ZERO,
        batch_max: 1,
        lock_timeout: Span::from_secs(60),
        max_hold: None,
        ..Policy::for_kind(Kind::Lane)
    };
    Ok(turno.put_queue(QueueName::new("lanes")?, policy).await?)
}

/// Returns an item of about ten bytes, the size that peers were measured with.
pub(crate) fn draft(number: u64) -> Draft {
    Draft { payload: format!("{{\"n\":{number}}}").into(), ..Draft::default() }
}

/// Returns the number in the payload of a [`draft`].
pub(crate) fn number(payload: &str) -> Option<u64> {
    payload.strip_prefix("{\"n\":")?.strip_suffix('}')?.parse().ok()
}

/// Returns the key with this number.
pub(crate) fn key(number: u64) -> Outcome<Key> {
    Ok(Key::new(format!("key-{number}"))?)
}

/// Returns the number of a key.
pub(crate) fn key_number(key: &Key) -> Option<usize> {
    key.as_str().strip_prefix("key-")?.parse().ok()
}

/// Enqueues `count` items into an inbox.
pub(crate) async fn items(queue: &QueueHandle, count: u64) -> Outcome<()> {
    let mut tasks = JoinSet::new();
    for caller in 0..CALLERS {
        let queue = queue.clone();
        tasks.spawn(async move {
            let (mut at, end) = (count * caller / CALLERS, count * (caller + 1) / CALLERS);
            while at < end {
                let next = end.min(at + BATCH);
                queue.enqueue((at..next).map(draft).collect()).await?;
                at = next;
            }
            Ok::<(), BoxError>(())
        });
    }
    join(tasks).await
}

/// Enqueues `each` messages into each of `keys` lanes, in rounds over all keys. One caller fills a key, so that the
/// order of its messages is known: they are numbered from 0.
pub(crate) async fn messages(queue: &QueueHandle, keys: u64, each: u64) -> Outcome<()> {
    let mut tasks = JoinSet::new();
    for caller in 0..CALLERS {
        let queue = queue.clone();
        tasks.spawn(async move {
            let mine: Vec<Key> =
                (keys * caller / CALLERS..keys * (caller + 1) / CALLERS).map(key).collect::<Outcome<_>>()?;
            let mine: Arc<[Key]> = mine.into();
            let mut batch = Vec::new();
            for number in 0..each {
                for key in mine.iter() {
                    batch.push(Draft { key: Some(key.clone()), ..draft(number) });
                    if batch.len() as u64 == BATCH {
                        queue.enqueue(std::mem::take(&mut batch)).await?;
                    }
                }
            }
            if !batch.is_empty() {
                queue.enqueue(batch).await?;
            }
            Ok::<(), BoxError>(())
        });
    }
    join(tasks).await
}

async fn join(mut tasks: JoinSet<Outcome<()>>) -> Outcome<()> {
    while let Some(done) = tasks.join_next().await {
        done??;
    }
    Ok(())
}
