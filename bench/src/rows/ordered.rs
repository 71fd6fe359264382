//! Strict order per key, one delivery in flight per key, checked during the measurement.

use super::Bench;
use super::drain::drain;
use crate::fill;
use crate::measure::Outcome;
use crate::result::Measured;
use crate::site::Site;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use turno::queue::Delivery;

const KEYS: u64 = 1_000;
const EACH: u64 = 100;
/// Each worker claims as many keys as it can get, so a few suffice.
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
        let sample = drain(&queue, WORKERS, BATCH, count, watch.after_claim(), watch.before_ack()).await?;
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

/// Tracks for every key the next expected message and whether a delivery is in flight.
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

    fn seen(&self, delivery: &Delivery) -> Option<&Seen> {
        self.keys.get(fill::key_number(delivery.key.as_ref()?)?)
    }

    /// Returns the callback for claimed deliveries: each must be the next of its key, with no other in flight.
    pub(super) fn after_claim(self: &Arc<Watch>) -> super::drain::Look {
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

    /// Checks deliveries that came over HTTP and are acked right afterwards.
    pub(super) fn check(&self, deliveries: &[serde_json::Value]) {
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

    /// Returns the callback before an ack: afterwards the next delivery of the key may be in flight.
    pub(super) fn before_ack(self: &Arc<Watch>) -> super::drain::Look {
        let watch = self.clone();
        Arc::new(move |got| {
            for seen in got.iter().filter_map(|delivery| watch.seen(delivery)) {
                seen.busy.store(false, Ordering::SeqCst);
            }
        })
    }

    /// Returns the violations, if every key was to get `each` messages.
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
            .map(|(count, fault)| format!("{count} {fault} ({keys} keys)"))
            .collect()
    }
}
