//! An instance's cache of lane floors, as in `stores/postgres/lane.rs`.
//!
//! A floor is a sequence number below which a lane has no unfinished items. It was read under the lane's lock, and
//! sequence numbers only grow, so it stays valid until a finished item is re-queued (`rebirth`) or the database begins
//! another life. In another life the newest commits may be missing, so finished items can be unfinished again below
//! the floor.

use crate::db::{BOTTOM, Map};
use turno_core::id::{Lane, QueueId, Seq};

#[derive(Debug, Default)]
pub(crate) struct Memory {
    /// The life of the database in which the floors were read.
    life: u64,
    rebirth: i64,
    floors: Map<(QueueId, Lane), Seq>,
}

impl Memory {
    /// Clears the cache if the database is in another life.
    pub(crate) fn meet(&mut self, life: u64) {
        if self.life != life {
            *self = Memory { life, ..Memory::default() };
        }
    }

    /// Returns the sequence number at which a read of a lane may begin.
    pub(crate) fn floor(&self, lane: (QueueId, Lane), rebirth: i64) -> Seq {
        if self.rebirth == rebirth { self.floors.get(&lane).copied().unwrap_or(BOTTOM) } else { BOTTOM }
    }

    /// Caches a floor that was read under the lane's lock at this rebirth number.
    pub(crate) fn learn(&mut self, rebirth: i64, lane: (QueueId, Lane), floor: Seq) {
        if self.rebirth > rebirth {
            return;
        }
        if self.rebirth < rebirth {
            self.floors.clear();
            self.rebirth = rebirth;
        }
        self.floors.insert(lane, floor);
    }
}
