//! What an instance remembers about the database, as `stores/postgres/lane.rs` does: where lanes begin.
//!
//! A floor is a place below which a lane has no unfinished items. It was seen under the lane's mutex, and places only grow,
//! so it stays true until a finished item comes back (`rebirth`) or the database begins another life. In another life the
//! newest commits may be missing, and items that had been finished are there again, below the floor.

use super::rng::Map;
use turno_core::id::{Lane, QueueId, Seq};

/// Nothing is known about a lane.
const BOTTOM: Seq = Seq(i64::MIN);

#[derive(Debug, Default)]
pub(crate) struct Memory {
    /// The life of the database in which it was learned.
    life: u64,
    rebirth: i64,
    floors: Map<(QueueId, Lane), Seq>,
}

impl Memory {
    /// Forgets everything that was learned in another life of the database.
    pub(crate) fn meet(&mut self, life: u64) {
        if self.life != life {
            *self = Memory { life, ..Memory::default() };
        }
    }

    /// Where a read of a lane may begin.
    pub(crate) fn floor(&self, lane: (QueueId, Lane), rebirth: i64) -> Seq {
        if self.rebirth == rebirth { self.floors.get(&lane).copied().unwrap_or(BOTTOM) } else { BOTTOM }
    }

    /// Under the lane's mutex, and at this rebirth number, nothing unfinished was seen below this place.
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
