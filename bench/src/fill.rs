//! Filling queues through the library, in batches, before anything is measured.

use crate::measure::{Failure, Outcome};
use std::sync::Arc;
use tokio::task::JoinSet;
use turno::core::id::{Key, QueueName};
use turno::core::queue::{Kind, Policy};
use turno::core::time::Span;
use turno::{Draft, QueueHandle, Turno};

/// Entries of one call.
const BATCH: u64 = 1_000;
/// Calls under way at once.
const CALLERS: u64 = 4;

/// An inbox with a history and the defaults of its kind.
pub(crate) async fn inbox(turno: &Turno) -> Outcome<QueueHandle> {
    let name = QueueName::new("inbox")?;
    Ok(turno.put_queue(name, Policy::of(Kind::Inbox)).await?)
}

/// Lanes that hand over one message at a time, at once.
pub(crate) async fn lanes(turno: &Turno) -> Outcome<QueueHandle> {
    let policy = Policy {
        window: Span::ZERO,
        batch_max: 1,
        lock_timeout: Span::from_secs(60),
        max_hold: None,
        ..Policy::of(Kind::Lane)
    };
    Ok(turno.put_queue(QueueName::new("lanes")?, policy).await?)
}

/// An item as peers were measured with: about ten bytes.
pub(crate) fn draft(number: u64) -> Draft {
    Draft { payload: format!("{{\"n\":{number}}}").into(), ..Draft::default() }
}

/// The number in an item of [`draft`].
pub(crate) fn number(payload: &str) -> Option<u64> {
    payload.strip_prefix("{\"n\":")?.strip_suffix('}')?.parse().ok()
}

/// A key by its number.
pub(crate) fn key(number: u64) -> Outcome<Key> {
    Ok(Key::new(format!("key-{number}"))?)
}

/// The number of a key.
pub(crate) fn key_number(key: &Key) -> Option<usize> {
    key.as_str().strip_prefix("key-")?.parse().ok()
}

/// Puts `count` items into an inbox.
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
            Ok::<(), Failure>(())
        });
    }
    join(tasks).await
}

/// Puts `each` messages into every one of `keys` lanes, a round of all keys after the other. A key is filled by
/// one caller, so that the order of its messages is known: they are numbered from 0.
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
            Ok::<(), Failure>(())
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
