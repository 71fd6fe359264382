//! Limits on concurrent requests. A request takes a place in its room once its body is complete (see `body`). If the
//! room is full, the request is refused at once and stores nothing. Heartbeats, releases and settlements have a room of
//! their own, so that overload refuses new work but never costs a held lease.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::problem::{Code, Problem};
use crate::config::Limits;

/// The room that a route uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Room {
    /// No room: health checks and other cheap routes.
    Free,
    /// For heartbeats, releases and settlements, which keep a lock or end work.
    Reserved,
    /// For everything else.
    Usual,
    /// For calls that may wait long and use little meanwhile.
    Waiting,
    /// For live streams.
    Stream,
}

/// The number of places in each room.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RoomLimits {
    pub(crate) kept: usize,
    pub(crate) usual: usize,
    pub(crate) waiting: usize,
    pub(crate) streams: usize,
}

impl RoomLimits {
    /// Derives the sizes from the configured limits. The kept and waiting rooms are larger than the usual one, because
    /// their requests cost less and refusing them costs more.
    pub(crate) fn from_limits(limits: Limits) -> RoomLimits {
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
        let semaphore = |size| Arc::new(Semaphore::new(size));
        Rooms {
            limits,
            kept: semaphore(limits.kept),
            usual: semaphore(limits.usual),
            waiting: semaphore(limits.waiting),
            streams: semaphore(limits.streams),
        }
    }

    /// Takes a place, which is freed when dropped. Refuses at once if the room is full.
    pub(crate) fn enter(&self, room: Room) -> Result<Option<OwnedSemaphorePermit>, Problem> {
        let Some((room, _)) = self.room(room) else { return Ok(None) };
        room.clone().try_acquire_owned().map(Some).map_err(|_| Problem::new(Code::Overloaded))
    }

    /// Returns how many places are taken.
    pub(crate) fn inside(&self, room: Room) -> usize {
        self.room(room).map_or(0, |(room, size)| size.saturating_sub(room.available_permits()))
    }

    fn room(&self, room: Room) -> Option<(&Arc<Semaphore>, usize)> {
        match room {
            Room::Free => None,
            Room::Reserved => Some((&self.kept, self.limits.kept)),
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
    fn full_room_refuses_and_the_kept_room_stays_open() {
        let rooms = Rooms::new(RoomLimits { kept: 1, usual: 1, waiting: 1, streams: 1 });
        let inside = rooms.enter(Room::Usual).expect("the room has a place");
        assert_eq!((rooms.inside(Room::Usual), rooms.inside(Room::Reserved)), (1, 0));
        assert_eq!(rooms.enter(Room::Usual).expect_err("the room is full").code(), Code::Overloaded);
        assert!(rooms.enter(Room::Reserved).is_ok(), "heartbeats have room of their own");
        drop(inside);
        assert!(rooms.enter(Room::Usual).is_ok());
    }
}
