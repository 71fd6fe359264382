//! The cache of where scans for a queue's due heads start.
//!
//! Handed-out heads leave dead entries at the beginning of the index while any transaction is open. A claim that
//! started there would scan over all of them, so it starts at a floor that is cached per queue. The floor is only a
//! hint: a head below the floor is found later, and never lost.
//!
//! - A scan raises the floor to where it stopped, unless a row was written below in the meantime.
//! - Every write of a `ready_at` by this process lowers the floor, also for scans under way.
//! - Hints from other processes reset the floor, and so does a scan that was not confirmed.
//! - A scan that finds nothing scans again a little below the floor, and every few seconds the whole queue is scanned.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use turno_core::id::{QueueId, Seq};
use turno_core::queue::Changes;
use turno_core::time::{Span, Time};

/// The longest time for which a head below the floor can be missed while other work is due.
const RESCAN: Span = Span::from_secs(5);
/// The position before any possible head.
pub(super) const BOTTOM: HeadPosition = (Time(i64::MIN), Seq(0));

/// A position in the index of a queue's heads. Many heads share a millisecond, so the seq is part of it.
pub(super) type HeadPosition = (Time, Seq);

/// The floors of all queues.
#[derive(Clone, Debug, Default)]
pub(super) struct Floors(Arc<Mutex<HashMap<QueueId, Floor>>>);

#[derive(Debug)]
struct Floor {
    at: HeadPosition,
    /// When the whole queue was last scanned.
    full: Time,
    /// Scans under way, each with the lowest position written since it began.
    scans: Vec<(u64, HeadPosition)>,
    next: u64,
}

/// One scan of a queue's heads. If it is dropped without [`Scan::confirm`], the floor is reset: the heads that it
/// locked were invisible to other scans, and they are still due.
#[derive(Debug)]
pub(super) struct Scan {
    floors: Floors,
    queue: QueueId,
    token: u64,
    /// Where the scan starts.
    pub(super) from: HeadPosition,
    up_to: Option<HeadPosition>,
    confirmed: bool,
}

impl Floors {
    /// Begins a scan at about `now`.
    pub(super) fn scan(&self, queue: QueueId, now: Time) -> Scan {
        let mut all = self.lock();
        let floor = all.entry(queue).or_insert(Floor { at: BOTTOM, full: now, scans: Vec::new(), next: 0 });
        if floor.full + RESCAN <= now || now < floor.full {
            (floor.at, floor.full) = (BOTTOM, now);
        }
        let token = floor.next;
        floor.next += 1;
        floor.scans.push((token, (Time(i64::MAX), Seq(i64::MAX))));
        Scan { floors: self.clone(), queue, token, from: floor.at, up_to: None, confirmed: false }
    }

    /// Lowers floors to what these committed changes wrote.
    pub(super) fn wrote(&self, changes: &Changes) {
        let mut lowest: HashMap<QueueId, HeadPosition> = HashMap::new();
        for item in changes.insert.iter().chain(&changes.update) {
            if let Some(ready_at) = item.ready_at {
                let low = lowest.entry(item.queue).or_insert((ready_at, item.seq));
                *low = (ready_at, item.seq).min(*low);
            }
        }
        for (queue, position) in lowest {
            self.lower(queue, position);
        }
    }

    /// Resets the floor of a queue, after a hint from another process.
    pub(super) fn drop_one(&self, queue: QueueId) {
        self.lower(queue, BOTTOM);
    }

    /// Resets all floors, after a hint from another process that names no queue.
    pub(super) fn drop_all(&self) {
        for floor in self.lock().values_mut() {
            floor.lower(BOTTOM);
        }
    }

    fn lower(&self, queue: QueueId, to: HeadPosition) {
        if let Some(floor) = self.lock().get_mut(&queue) {
            floor.lower(to);
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<QueueId, Floor>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Floor {
    fn lower(&mut self, to: HeadPosition) {
        self.at = self.at.min(to);
        for (_, lowest) in &mut self.scans {
            *lowest = to.min(*lowest);
        }
    }
}

impl Scan {
    /// Records that this scan saw no other due head below `up_to`.
    pub(super) fn found(&mut self, up_to: HeadPosition) {
        self.up_to = Some(up_to);
    }

    /// Raises the floor: the heads that were found are handed out and the transaction is committed.
    pub(super) fn confirm(mut self) {
        self.confirmed = true;
    }
}

impl Drop for Scan {
    fn drop(&mut self) {
        let mut all = self.floors.lock();
        let Some(floor) = all.get_mut(&self.queue) else {
            return;
        };
        let Some(index) = floor.scans.iter().position(|(token, _)| *token == self.token) else {
            return;
        };
        let (_, lowest) = floor.scans.swap_remove(index);
        match self.up_to.filter(|_| self.confirmed) {
            Some(up_to) => floor.at = up_to.min(lowest),
            None => floor.lower(BOTTOM),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUEUE: QueueId = QueueId(7);

    fn at(time: i64) -> HeadPosition {
        (Time(time), Seq(1))
    }

    fn look(floors: &Floors, now: i64, up_to: i64) -> HeadPosition {
        let mut scan = floors.scan(QUEUE, Time(now));
        scan.found(at(up_to));
        let from = scan.from;
        scan.confirm();
        from
    }

    #[test]
    fn a_scan_begins_where_the_last_one_stopped() {
        let floors = Floors::default();
        assert_eq!(look(&floors, 100, 90), BOTTOM);
        assert_eq!(look(&floors, 110, 105), at(90));
        assert_eq!(look(&floors, 120, 115), at(105));
    }

    #[test]
    fn a_write_during_a_scan_lowers_the_floor() {
        let floors = Floors::default();
        let mut scan = floors.scan(QUEUE, Time(100));
        floors.lower(QUEUE, at(40));
        scan.found(at(90));
        scan.confirm();
        assert_eq!(look(&floors, 110, 105), at(40));
    }

    #[test]
    fn an_unconfirmed_scan_and_a_hint_reset_the_floor() {
        let floors = Floors::default();
        look(&floors, 100, 90);
        let mut failed = floors.scan(QUEUE, Time(101));
        failed.found(at(95));
        drop(failed);
        assert_eq!(look(&floors, 102, 95), BOTTOM);
        floors.drop_all();
        assert_eq!(look(&floors, 103, 96), BOTTOM);
        floors.drop_one(QUEUE);
        assert_eq!(look(&floors, 104, 97), BOTTOM);
        assert_eq!(look(&floors, 105, 98), at(97));
    }

    #[test]
    fn the_whole_queue_is_scanned_every_few_seconds() {
        let floors = Floors::default();
        look(&floors, 100, 90);
        assert_eq!(look(&floors, 4_000, 3_000), at(90));
        assert_eq!(look(&floors, 5_100, 4_000), BOTTOM);
    }
}
