//! Invariants over all rows together, checked at intervals and at the end, and that no item is stuck at the end.

use super::model::{Is, Queues};
use super::{Checked, fault};
use crate::db::Db;
use crate::sim::sabotage::Bug;
use crate::sim::setup::{QUEUES, queue_id};
use turno::store::Counts;
use turno_core::id::{QueueId, Seq};
use turno_core::queue::{Ended, ItemState, Kind};
use turno_core::time::Time;

impl Queues<'_> {
    pub(super) fn audit(&self, db: &Db, bug: Option<Bug>) -> Checked {
        if self.accepted != (db.hot.len() + db.done.len()) as u64 {
            let text = format!(
                "accepted {}, stored are {} unfinished and {} finished",
                self.accepted,
                db.hot.len(),
                db.done.len()
            );
            return fault("Q5", "", text);
        }
        let mut counts = [Counts::default(); QUEUES];
        for (seq, item) in &self.items {
            let count = &mut counts[item.queue.0 as usize];
            *match item.is {
                Is::Waiting => &mut count.pending,
                Is::Failed | Is::Tried => &mut count.error,
                // An item that changed during a delivery counts as pending.
                Is::HandedOut(_) if item.revision > item.handed => &mut count.pending,
                Is::HandedOut(_) => &mut count.in_process,
                Is::Parked | Is::Done(Ended::Exhausted) => &mut count.exhausted,
                Is::Done(Ended::Processed) => &mut count.processed,
                Is::Done(Ended::Cancelled) => &mut count.cancelled,
            } += 1;
            let exhausted = matches!(item.is, Is::Parked | Is::Done(Ended::Exhausted));
            let kept = db.bodies.get(seq).is_some_and(|body| body.payload == item.payload);
            if !kept || exhausted && db.errors.get(seq).is_none_or(Vec::is_empty) {
                let id = if exhausted { "Q9" } else { "Q5" };
                return fault(id, self.name(*seq), format!("the payload or the errors of {:?} are gone", item.id));
            }
            let there = match item.is {
                Is::Done(ended) => db.done.get(seq).is_some_and(|done| done.ended == ended),
                _ => db.hot.contains_key(seq),
            };
            if !there {
                return fault("Q5", self.name(*seq), format!("the item is {:?} and its row is missing", item.is));
            }
        }
        for (queue, model) in counts.iter().enumerate() {
            let counted = count(db, queue_id(queue), bug);
            if counted != *model {
                return fault("Q15", queue, format!("counted {counted:?}, expected {model:?}"));
            }
        }
        Ok(())
    }

    /// Returns an unfinished item that nothing blocks, if there is one.
    pub(super) fn stuck(&self) -> Option<Seq> {
        if let Some(seq) = self.loose.first() {
            return Some(*seq);
        }
        for ((queue, _), lane) in &self.lanes {
            let sync = self.policy(*queue).kind == Kind::Sync;
            let waits = |seq: &&Seq| self.items[*seq].is != Is::Parked;
            let stuck = if sync { lane.open.iter().find(waits) } else { lane.open.first().filter(waits) };
            if stuck.is_some() {
                return stuck.copied();
            }
        }
        None
    }

    pub(super) fn drained(&self) -> Checked {
        if let Some(seq) = self.stuck() {
            let text = format!("{seq:?} was never finished: {:?}", self.items[&seq]);
            return fault("Q14", self.name(seq), text);
        }
        for ((queue, key), lane) in &self.lanes {
            let sync = self.policy(*queue).kind == Kind::Sync;
            if sync && lane.open.is_empty() && lane.delivered < lane.changes {
                let text = format!("change {} of {} was the last to arrive", lane.delivered, lane.changes);
                return fault("S1", format!("{}/{key}", queue.0), text);
            }
        }
        Ok(())
    }
}

/// Counts the rows, as the stores do.
fn count(db: &Db, queue: QueueId, bug: Option<Bug>) -> Counts {
    let mut counts = Counts::default();
    for item in db.hot.values().filter(|item| item.queue == queue) {
        // Evaluated before any expiry: a delivery that was not taken back counts as in process.
        counts.add(match item.state(Time(i64::MIN)) {
            ItemState::Error if bug == Some(Bug::CountsWrong) => ItemState::Pending,
            state => state,
        });
    }
    for done in db.done.values().filter(|done| done.queue == queue) {
        let count = match done.ended {
            Ended::Processed => &mut counts.processed,
            Ended::Exhausted => &mut counts.exhausted,
            Ended::Cancelled => &mut counts.cancelled,
        };
        *count += 1;
    }
    counts
}
