//! From where on a queue's due heads are looked for.
//!
//! What was handed out leaves dead entries at the left of the index, for as long as anybody keeps a transaction
//! open. A claim that began there would wade through all of them, so it begins at a floor that is remembered per
//! queue. The floor is a hint: should a head lie below it, it is found later, never lost.
//!
//! - a look raises it to where it stopped, unless something was written below meanwhile;
//! - whatever this process writes with a `ready_at` lowers it, also for looks under way;
//! - hints of other processes drop it, and so does a look that came to no end;
//! - a look that finds nothing looks again a little below the floor, and every few seconds the whole queue is
//!   looked at.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use turno_core::id::{QueueId, Seq};
use turno_core::queue::Changes;
use turno_core::time::{Span, Time};

/// The longest that a head below the floor can go unseen while there is other work.
const RESCAN: Span = Span::from_secs(5);
/// Before the first head there can be.
pub(super) const BOTTOM: Place = (Time(i64::MIN), Seq(0));

/// A place among a queue's heads. Many share a millisecond, hence two parts.
pub(super) type Place = (Time, Seq);

/// The floors of all queues.
#[derive(Clone, Debug, Default)]
pub(super) struct Floors(Arc<Mutex<HashMap<QueueId, Floor>>>);

#[derive(Debug)]
struct Floor {
    at: Place,
    /// When the whole queue was last looked at.
    full: Time,
    /// Looks under way, each with the lowest place written to since it began.
    scans: Vec<(u64, Place)>,
    next: u64,
}

/// One look at a queue's heads. Dropped without [`Scan::confirm`], it drops the floor: the heads it locked were
/// hidden from others meanwhile, and are still there.
#[derive(Debug)]
pub(super) struct Scan {
    floors: Floors,
    queue: QueueId,
    token: u64,
    /// Where to begin.
    pub(super) from: Place,
    up_to: Option<Place>,
    confirmed: bool,
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
        floor.scans.push((token, (Time(i64::MAX), Seq(i64::MAX))));
        Scan { floors: self.clone(), queue, token, from: floor.at, up_to: None, confirmed: false }
    }

    /// These changes were committed.
    pub(super) fn wrote(&self, changes: &Changes) {
        let mut lowest: HashMap<QueueId, Place> = HashMap::new();
        for item in changes.insert.iter().chain(&changes.update) {
            if let Some(ready_at) = item.ready_at {
                let low = lowest.entry(item.queue).or_insert((ready_at, item.seq));
                *low = (ready_at, item.seq).min(*low);
            }
        }
        for (queue, place) in lowest {
            self.lower(queue, place);
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

    fn lower(&self, queue: QueueId, to: Place) {
        if let Some(floor) = self.lock().get_mut(&queue) {
            floor.lower(to);
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<QueueId, Floor>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Floor {
    fn lower(&mut self, to: Place) {
        self.at = self.at.min(to);
        for (_, lowest) in &mut self.scans {
            *lowest = to.min(*lowest);
        }
    }
}

impl Scan {
    /// Nothing due is left below this, as far as this look could see.
    pub(super) fn found(&mut self, up_to: Place) {
        self.up_to = Some(up_to);
    }

    /// What it found is handed out, and that is committed.
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

    fn at(time: i64) -> Place {
        (Time(time), Seq(1))
    }

    fn look(floors: &Floors, now: i64, up_to: i64) -> Place {
        let mut scan = floors.scan(QUEUE, Time(now));
        scan.found(at(up_to));
        let from = scan.from;
        scan.confirm();
        from
    }

    #[test]
    fn a_look_begins_where_the_last_one_stopped() {
        let floors = Floors::default();
        assert_eq!(look(&floors, 100, 90), BOTTOM);
        assert_eq!(look(&floors, 110, 105), at(90));
        assert_eq!(look(&floors, 120, 115), at(105));
    }

    #[test]
    fn a_write_during_a_look_wins_over_its_end() {
        let floors = Floors::default();
        let mut scan = floors.scan(QUEUE, Time(100));
        floors.lower(QUEUE, at(40));
        scan.found(at(90));
        scan.confirm();
        assert_eq!(look(&floors, 110, 105), at(40));
    }

    #[test]
    fn a_look_without_an_end_and_a_hint_begin_anew() {
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
    fn the_whole_queue_is_looked_at_every_few_seconds() {
        let floors = Floors::default();
        look(&floors, 100, 90);
        assert_eq!(look(&floors, 4_000, 3_000), at(90));
        assert_eq!(look(&floors, 5_100, 4_000), BOTTOM);
    }
}
