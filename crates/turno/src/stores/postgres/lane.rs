//! Lane locks and the cache of lane floors.
//!
//! A *floor* is a sequence number below which a lane has no unfinished items. Reads of a lane start at its floor,
//! because dead index entries of finished items stay in the index while any transaction is open, and scanning over them
//! gets slower with every item.
//!
//! A cached floor is correct as long as (1) it was read under the lane's lock, (2) sequence numbers only grow, and (3)
//! no finished item was re-queued since. Re-queueing increments `rebirth`, which every reader reads under the same
//! lock; if it changed, the cache is cleared. The cache also belongs to one life of the database (see `life`): after a
//! failover it is cleared, because the new server may lack the newest items. An item below a wrong floor would be
//! overtaken by newer ones.

use super::call::Call;
use super::error::TripError;
use super::life::{Generation, Remembered};
use super::row::get;
use super::sql;
use std::collections::HashMap;
use tokio_postgres::Row;
use turno_core::id::{Lane, QueueId, Seq};

/// How many lane locks exist: enough that busy lanes seldom share one, few enough for the server's lock table.
const SLOTS: i64 = 256;
/// How many floors are cached: about 4 MB. Beyond that the cache is cleared, which costs one scan from 0 per lane.
const REMEMBERED: usize = 100_000;

/// A lane together with its queue.
pub(super) type QueueLane = (QueueId, Lane);

/// The cache of lane floors.
#[derive(Debug, Default)]
pub(super) struct Lanes(Remembered<Memory>);

#[derive(Debug, Default)]
struct Memory {
    rebirth: i64,
    floors: HashMap<QueueLane, Seq>,
}

impl Lanes {
    /// Returns the cached floor of each lane (0 if unknown), and the rebirth number under which they are valid.
    pub(super) fn recall(&self, life: Generation, lanes: impl Iterator<Item = QueueLane>) -> (i64, Vec<Seq>) {
        self.0.with(life, |memory| {
            let floors = lanes.map(|lane| memory.floors.get(&lane).copied().unwrap_or_default()).collect();
            (memory.rebirth, floors)
        })
    }

    /// Caches floors that were read under the lanes' locks while `rebirth` had this value.
    pub(super) fn learn(&self, life: Generation, rebirth: i64, fronts: impl Iterator<Item = (QueueLane, Seq)>) {
        self.0.with(life, |memory| {
            if memory.rebirth > rebirth {
                return;
            }
            if memory.rebirth < rebirth || memory.floors.len() > REMEMBERED {
                memory.floors.clear();
                memory.rebirth = rebirth;
            }
            memory.floors.extend(fronts);
        });
    }
}

/// Locks these lanes.
pub(super) fn lock<'a>(lanes: impl Iterator<Item = QueueLane>) -> Call<'a> {
    let mut slots: Vec<i32> = lanes.map(slot).collect();
    slots.sort_unstable();
    slots.dedup();
    Call::new(&sql::LANE_LOCK).ints(slots.into_iter())
}

/// Returns the number of the lane's lock. The lane is a hash already, so the queue only has to shift it.
pub(super) fn slot((QueueId(queue), Lane(lane)): QueueLane) -> i32 {
    let mixed = lane ^ i64::from(queue).wrapping_mul(0x9e37_79b9);
    i32::try_from(mixed.rem_euclid(SLOTS)).unwrap_or_default()
}

/// Reads lanes' fronts: from each lane's floor on, up to its size.
pub(super) fn fronts<'a>(sql: &'static sql::Sql, lanes: &[(QueueLane, u32)], floors: &[Seq]) -> Call<'a> {
    Call::new(sql)
        .ints(lanes.iter().map(|((queue, _), _)| queue.0))
        .bigs(lanes.iter().map(|((_, lane), _)| lane.0))
        .bigs(floors.iter().map(|floor| floor.0))
        .bigs(lanes.iter().map(|(_, size)| i64::from(*size)))
}

pub(super) fn rebirth(rows: &[Row]) -> Result<i64, TripError> {
    rows.first().map_or(Ok(0), |row| get(row, 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANA: QueueLane = (QueueId(1), Lane(-5));
    const LIFE: Generation = Generation::FIRST;

    #[test]
    fn a_requeue_clears_the_cached_lane_floors() {
        let lanes = Lanes::default();
        lanes.learn(LIFE, 3, [(ANA, Seq(40))].into_iter());
        assert_eq!(lanes.recall(LIFE, [ANA].into_iter()), (3, vec![Seq(40)]));
        lanes.learn(LIFE, 4, std::iter::empty());
        assert_eq!(lanes.recall(LIFE, [ANA].into_iter()), (4, vec![Seq(0)]));
        lanes.learn(LIFE, 3, [(ANA, Seq(50))].into_iter());
        assert_eq!(
            lanes.recall(LIFE, [ANA].into_iter()),
            (4, vec![Seq(0)]),
            "a floor from before the re-queueing is not cached"
        );
    }

    #[test]
    fn every_lane_maps_to_a_lock_slot() {
        for lane in [i64::MIN, -1, 0, 1, 255, 256, i64::MAX] {
            assert!((0..256).contains(&slot((QueueId(i32::MAX), Lane(lane)))));
        }
    }
}
