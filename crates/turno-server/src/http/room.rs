//! How much is taken on at once. A request enters its room once its body is there (see `body`). What finds no room is
//! refused at once and stores nothing; heartbeats, releases and settlements have room of their own, so that overload costs
//! new work and never a held lock.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::problem::{Code, Problem};
use crate::config::Limits;

/// Which room a route needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Room {
    /// None: health, and what costs nothing.
    Free,
    /// Kept for what keeps a lock or ends work.
    Kept,
    /// For everything else.
    Usual,
    /// For calls that may wait for long and do nothing meanwhile.
    Waiting,
    /// For live streams.
    Stream,
}

/// How many of each at once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RoomLimits {
    pub(crate) kept: usize,
    pub(crate) usual: usize,
    pub(crate) waiting: usize,
    pub(crate) streams: usize,
}

impl RoomLimits {
    /// What is kept and what waits is more than usual work: it costs less, and turning it away costs more.
    pub(crate) fn of(limits: Limits) -> RoomLimits {
        let Limits { requests, listeners, .. } = limits;
        let (kept, waiting) = (requests.saturating_mul(4), requests.saturating_mul(8));
        RoomLimits { kept, usual: requests, waiting, streams: listeners }
    }
}

/// The rooms of one server.
#[derive(Debug)]
pub(crate) struct Rooms {
    limits: RoomLimits,
    kept: Arc<Semaphore>,
    usual: Arc<Semaphore>,
    waiting: Arc<Semaphore>,
    streams: Arc<Semaphore>,
}

impl Rooms {
    pub(crate) fn new(limits: RoomLimits) -> Rooms {
        let of = |size| Arc::new(Semaphore::new(size));
        Rooms {
            limits,
            kept: of(limits.kept),
            usual: of(limits.usual),
            waiting: of(limits.waiting),
            streams: of(limits.streams),
        }
    }

    /// A place in the room, given back when dropped; refused at once if it is full.
    pub(crate) fn enter(&self, room: Room) -> Result<Option<OwnedSemaphorePermit>, Problem> {
        let Some((room, _)) = self.room(room) else { return Ok(None) };
        room.clone().try_acquire_owned().map(Some).map_err(|_| Problem::new(Code::Overloaded))
    }

    /// How many are in the room.
    pub(crate) fn inside(&self, room: Room) -> usize {
        self.room(room).map_or(0, |(room, size)| size.saturating_sub(room.available_permits()))
    }

    fn room(&self, room: Room) -> Option<(&Arc<Semaphore>, usize)> {
        match room {
            Room::Free => None,
            Room::Kept => Some((&self.kept, self.limits.kept)),
            Room::Usual => Some((&self.usual, self.limits.usual)),
            Room::Waiting => Some((&self.waiting, self.limits.waiting)),
            Room::Stream => Some((&self.streams, self.limits.streams)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_room_turns_away_and_the_kept_one_stays_open() {
        let rooms = Rooms::new(RoomLimits { kept: 1, usual: 1, waiting: 1, streams: 1 });
        let inside = rooms.enter(Room::Usual).expect("there is room");
        assert_eq!((rooms.inside(Room::Usual), rooms.inside(Room::Kept)), (1, 0));
        assert_eq!(rooms.enter(Room::Usual).expect_err("it is full").code(), Code::Overloaded);
        assert!(rooms.enter(Room::Kept).is_ok(), "heartbeats have room of their own");
        drop(inside);
        assert!(rooms.enter(Room::Usual).is_ok());
    }
}
