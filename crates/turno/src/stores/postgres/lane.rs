//! The mutexes of lanes, and where their fronts begin.
//!
//! A lane's finished items leave dead entries before its front, for as long as anybody keeps a transaction open.
//! So this process remembers, for the lanes it has used lately, a place below which it saw nothing. That was seen
//! under the lane's mutex, and new places only grow, hence it stays true, whatever other processes do, with one
//! exception: a finished item that a person sends round again goes back to its old place. That raises the
//! `rebirth` number in the database, which is read under the same mutex; if it has changed, everything remembered
//! is void. Unlike a queue's floor this is no hint: an item overlooked here would be overtaken.

use super::call::{self, Call};
use super::failure::Failure;
use super::row::get;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio_postgres::Row;
use turno_core::id::{Lane, QueueId, Seq};

/// How many mutexes there are: enough that busy lanes seldom share one, few enough for the server's lock table.
const SLOTS: i64 = 256;
/// How many lanes are remembered: about 4 MB. Beyond that everything is forgotten, which costs a look each.
const REMEMBERED: usize = 100_000;

/// Which lane of which queue.
pub(super) type LaneOf = (QueueId, Lane);

/// What this process remembers about lanes.
#[derive(Debug, Default)]
pub(super) struct Lanes(Mutex<Memory>);

#[derive(Debug, Default)]
struct Memory {
    rebirth: i64,
    floors: HashMap<LaneOf, Seq>,
}

impl Lanes {
    /// Where to begin in each lane, and the rebirth number that this must be confirmed by.
    pub(super) fn recall(&self, lanes: impl Iterator<Item = LaneOf>) -> (i64, Vec<Seq>) {
        let memory = self.lock();
        let floors = lanes.map(|lane| memory.floors.get(&lane).copied().unwrap_or_default()).collect();
        (memory.rebirth, floors)
    }

    /// Under the lanes' mutexes and at this rebirth number, nothing was seen below these places.
    pub(super) fn learn(&self, rebirth: i64, fronts: impl Iterator<Item = (LaneOf, Seq)>) {
        let mut memory = self.lock();
        if memory.rebirth > rebirth {
            return;
        }
        if memory.rebirth < rebirth || memory.floors.len() > REMEMBERED {
            memory.floors.clear();
            memory.rebirth = rebirth;
        }
        memory.floors.extend(fronts);
    }

    fn lock(&self) -> MutexGuard<'_, Memory> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Takes the mutexes of these lanes.
pub(super) fn lock<'a>(lanes: impl Iterator<Item = LaneOf>) -> Call<'a> {
    let mut slots: Vec<i32> = lanes.map(slot).collect();
    slots.sort_unstable();
    slots.dedup();
    Call::new(&call::LANE_LOCK).ints(slots.into_iter())
}

/// The lane is a hash already; the queue only has to move it.
pub(super) fn slot((QueueId(queue), Lane(lane)): LaneOf) -> i32 {
    let mixed = lane ^ i64::from(queue).wrapping_mul(0x9e37_79b9);
    i32::try_from(mixed.rem_euclid(SLOTS)).unwrap_or_default()
}

/// A read of lanes' fronts: from which place on, and how much, of each.
pub(super) fn fronts<'a>(sql: &'static call::Sql, lanes: &[(LaneOf, u32)], floors: &[Seq]) -> Call<'a> {
    Call::new(sql)
        .ints(lanes.iter().map(|((queue, _), _)| queue.0))
        .bigs(lanes.iter().map(|((_, lane), _)| lane.0))
        .bigs(floors.iter().map(|floor| floor.0))
        .bigs(lanes.iter().map(|(_, size)| i64::from(*size)))
}

pub(super) fn rebirth(rows: &[Row]) -> Result<i64, Failure> {
    rows.first().map_or(Ok(0), |row| get(row, 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANA: LaneOf = (QueueId(1), Lane(-5));

    #[test]
    fn what_was_learned_is_void_after_a_rebirth() {
        let lanes = Lanes::default();
        lanes.learn(3, [(ANA, Seq(40))].into_iter());
        assert_eq!(lanes.recall([ANA].into_iter()), (3, vec![Seq(40)]));
        lanes.learn(4, std::iter::empty());
        assert_eq!(lanes.recall([ANA].into_iter()), (4, vec![Seq(0)]));
        lanes.learn(3, [(ANA, Seq(50))].into_iter());
        assert_eq!(
            lanes.recall([ANA].into_iter()),
            (4, vec![Seq(0)]),
            "what was seen before the rebirth is not learned"
        );
    }

    #[test]
    fn every_lane_has_a_mutex() {
        for lane in [i64::MIN, -1, 0, 1, 255, 256, i64::MAX] {
            assert!((0..256).contains(&slot((QueueId(i32::MAX), Lane(lane)))));
        }
    }
}
