//! From where on a queue's due heads are looked for.
//!
//! What was handed out leaves dead entries at the left of the index, for as long as anybody keeps a transaction
//! open. A claim that began there would wade through all of them, so it begins at a floor that is remembered per
//! queue. The floor is a hint: should a head lie below it, it is found later, never lost.
//!
//! - a look raises it to where it stopped, unless something was written below meanwhile;
//! - whatever this process writes with a `ready_at` lowers it, also for looks under way;
//! - hints of other processes drop it, and so does a look that came to no end;
//! - every few seconds, and whenever a look from a floor finds nothing, the whole queue is looked at.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use turno_core::id::QueueId;
use turno_core::queue::Changes;
use turno_core::time::{Span, Time};

/// The longest that a head below the floor can go unseen while there is other work.
const RESCAN: Span = Span::from_secs(5);
/// Before the first head there can be.
pub(super) const BOTTOM: Time = Time(i64::MIN);

/// The floors of all queues.
#[derive(Clone, Debug, Default)]
pub(super) struct Floors(Arc<Mutex<HashMap<QueueId, Floor>>>);

#[derive(Debug)]
struct Floor {
    at: Time,
    /// When the whole queue was last looked at.
    full: Time,
    /// Looks under way, each with the lowest `ready_at` written since it began.
    scans: Vec<(u64, Time)>,
    next: u64,
}

/// One look at a queue's heads. Dropped without [`Scan::found`], it drops the floor: it may have hidden
/// heads from others by locking them.
#[derive(Debug)]
pub(super) struct Scan {
    floors: Floors,
    queue: QueueId,
    token: u64,
    /// Where to begin.
    pub(super) from: Time,
    result: Option<Time>,
}

impl Floors {
    /// Begins a look at roughly `now`.
    pub(super) fn scan(&self, queue: QueueId, now: Time) -> Scan {
        let mut all = self.lock();
        let floor = all.entry(queue).or_insert(Floor { at: BOTTOM, full: now, scans: Vec::new(), next: 0 });
        if floor.full + RESCAN <= now || now < floor.full {
            (floor.at, floor.full) = (BOTTOM, now);
        }
        let token = floor.next;
        floor.next += 1;
        floor.scans.push((token, Time(i64::MAX)));
        Scan { floors: self.clone(), queue, token, from: floor.at, result: None }
    }

    /// These changes were committed.
    pub(super) fn wrote(&self, changes: &Changes) {
        let mut lowest: HashMap<QueueId, Time> = HashMap::new();
        for item in changes.insert.iter().chain(&changes.update) {
            if let Some(ready_at) = item.ready_at {
                let low = lowest.entry(item.queue).or_insert(ready_at);
                *low = ready_at.min(*low);
            }
        }
        for (queue, ready_at) in lowest {
            self.lower(queue, ready_at);
        }
    }

    /// Another process did something in this queue.
    pub(super) fn drop_one(&self, queue: QueueId) {
        self.lower(queue, BOTTOM);
    }

    /// Another process did something somewhere.
    pub(super) fn drop_all(&self) {
        for floor in self.lock().values_mut() {
            floor.lower(BOTTOM);
        }
    }

    fn lower(&self, queue: QueueId, to: Time) {
        if let Some(floor) = self.lock().get_mut(&queue) {
            floor.lower(to);
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<QueueId, Floor>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Floor {
    fn lower(&mut self, to: Time) {
        self.at = self.at.min(to);
        for (_, lowest) in &mut self.scans {
            *lowest = to.min(*lowest);
        }
    }
}

impl Scan {
    /// Nothing due is left below this, as far as this look could see.
    pub(super) fn found(&mut self, up_to: Time) {
        self.result = Some(up_to);
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
        match self.result {
            Some(up_to) => floor.at = up_to.min(lowest),
            None => floor.lower(BOTTOM),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUEUE: QueueId = QueueId(7);

    fn look(floors: &Floors, now: i64, up_to: i64) -> Time {
        let mut scan = floors.scan(QUEUE, Time(now));
        scan.found(Time(up_to));
        scan.from
    }

    #[test]
    fn a_look_begins_where_the_last_one_stopped() {
        let floors = Floors::default();
        assert_eq!(look(&floors, 100, 90), BOTTOM);
        assert_eq!(look(&floors, 110, 105), Time(90));
        assert_eq!(look(&floors, 120, 115), Time(105));
    }

    #[test]
    fn a_write_during_a_look_wins_over_its_end() {
        let floors = Floors::default();
        let mut scan = floors.scan(QUEUE, Time(100));
        floors.lower(QUEUE, Time(40));
        scan.found(Time(90));
        drop(scan);
        assert_eq!(look(&floors, 110, 105), Time(40));
    }

    #[test]
    fn a_look_without_an_end_and_a_hint_begin_anew() {
        let floors = Floors::default();
        look(&floors, 100, 90);
        drop(floors.scan(QUEUE, Time(101)));
        assert_eq!(look(&floors, 102, 95), BOTTOM);
        floors.drop_all();
        assert_eq!(look(&floors, 103, 96), BOTTOM);
        floors.drop_one(QUEUE);
        assert_eq!(look(&floors, 104, 97), BOTTOM);
        assert_eq!(look(&floors, 105, 98), Time(97));
    }

    #[test]
    fn the_whole_queue_is_looked_at_every_few_seconds() {
        let floors = Floors::default();
        look(&floors, 100, 90);
        assert_eq!(look(&floors, 4_000, 3_000), Time(90));
        assert_eq!(look(&floors, 5_100, 4_000), BOTTOM);
    }
}
