//! Strictly in order per key, one in flight per key, checked while it is measured.

use super::Bench;
use super::drain::drain;
use crate::fill;
use crate::measure::Outcome;
use crate::result::Measured;
use crate::site::Site;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use turno::Got;

const KEYS: u64 = 1_000;
const EACH: u64 = 100;
/// Each claims as many keys as it can get, so that a few suffice.
pub(super) const WORKERS: usize = 4;
pub(super) const BATCH: u32 = 1_000;

pub(super) async fn measure(bench: &Bench<'_>) -> Outcome<Measured> {
    let mut measured = Measured {
        conditions: format!(
            "lanes of {KEYS} keys with {EACH} messages each, window 0, one message per delivery, filled through the library \
             (and vacuum-analyzed on PostgreSQL); {WORKERS} workers claim up to {BATCH} deliveries and ack them; messages until \
             empty; order and one in flight per key are checked for every message"
        ),
        ..Measured::default()
    };
    let mut faults = Vec::new();
    let ours = async |site: &Site| {
        let turno = site.turno().await?;
        let queue = fill::lanes(&turno).await?;
        fill::messages(&queue, KEYS, EACH).await?;
        site.settle_down().await?;
        let watch = Watch::over(KEYS);
        let count = KEYS * EACH;
        let sample = drain(&queue, WORKERS, BATCH, count, watch.took(), watch.lets_go()).await?;
        faults.extend(watch.faults(KEYS, EACH));
        Ok(sample)
    };
    bench.our_rounds(&mut measured, ours).await?;
    if faults.is_empty() {
        measured.notes.push("order and exclusion held for every message".to_owned());
    }
    measured.faults = faults;
    Ok(measured)
}

/// Knows for every key which message must come next and whether one is in flight.
pub(super) struct Watch {
    keys: Box<[Seen]>,
    broken: AtomicU64,
    overlapping: AtomicU64,
}

#[derive(Default)]
struct Seen {
    next: AtomicU64,
    busy: AtomicBool,
}

impl Watch {
    pub(super) fn over(keys: u64) -> Arc<Watch> {
        Arc::new(Watch {
            keys: (0..keys).map(|_| Seen::default()).collect(),
            broken: AtomicU64::new(0),
            overlapping: AtomicU64::new(0),
        })
    }

    fn seen(&self, delivery: &Got) -> Option<&Seen> {
        self.keys.get(fill::key_number(delivery.key.as_ref()?)?)
    }

    /// What was handed out: the next of its key, while no other of its key is out.
    pub(super) fn took(self: &Arc<Watch>) -> super::drain::Look {
        let watch = self.clone();
        Arc::new(move |got| {
            for delivery in got {
                let Some(seen) = watch.seen(delivery) else {
                    watch.broken.fetch_add(1, Ordering::Relaxed);
                    continue;
                };
                if seen.busy.swap(true, Ordering::SeqCst) {
                    watch.overlapping.fetch_add(1, Ordering::Relaxed);
                }
                let numbers = delivery.items.iter().map(|item| fill::number(&item.payload));
                for number in numbers {
                    if number != Some(seen.next.fetch_add(1, Ordering::SeqCst)) {
                        watch.broken.fetch_add(1, Ordering::Relaxed);
                    }
                }
            }
        })
    }

    /// The same for deliveries as they come over HTTP, which are acked right afterwards.
    pub(super) fn saw(&self, deliveries: &[serde_json::Value]) {
        for delivery in deliveries {
            let key = delivery["key"].as_str().and_then(|key| key.strip_prefix("key-")?.parse::<usize>().ok());
            let Some(seen) = key.and_then(|key| self.keys.get(key)) else {
                self.broken.fetch_add(1, Ordering::Relaxed);
                continue;
            };
            let numbers = delivery["items"].as_array().into_iter().flatten().map(|item| item["payload"]["n"].as_u64());
            for number in numbers {
                if number != Some(seen.next.fetch_add(1, Ordering::SeqCst)) {
                    self.broken.fetch_add(1, Ordering::Relaxed);
                }
            }
        }
    }

    /// From here on the next of the key may be out.
    pub(super) fn lets_go(self: &Arc<Watch>) -> super::drain::Look {
        let watch = self.clone();
        Arc::new(move |got| {
            for seen in got.iter().filter_map(|delivery| watch.seen(delivery)) {
                seen.busy.store(false, Ordering::SeqCst);
            }
        })
    }

    /// What did not hold, if every key was to have `each` messages.
    pub(super) fn faults(&self, keys: u64, each: u64) -> Vec<String> {
        let unfinished = self.keys.iter().filter(|seen| seen.next.load(Ordering::SeqCst) != each).count();
        let counts = [
            (self.broken.load(Ordering::SeqCst), "messages out of order"),
            (self.overlapping.load(Ordering::SeqCst), "deliveries beside another of their key"),
            (unfinished as u64, "keys that did not get each message once"),
        ];
        counts
            .into_iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, what)| format!("{count} {what} ({keys} keys)"))
            .collect()
    }
}
