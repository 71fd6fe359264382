//! A store's stream of events.

use super::Pending;
use turno_core::event::Event;
use turno_core::id::Position;
use turno_core::time::Time;

/// The result of giving positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sequenced {
    /// Events get their positions at commit, so there is nothing to do.
    AtCommit,
    /// All committed events have positions now; this call gave so many.
    All(usize),
    /// This call gave so many, and more events may be waiting: call again at once.
    Full(usize),
    /// Another instance is giving positions, and it may have started before the last commit: call again soon.
    Busy,
}

/// The range of positions that are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventSpan {
    /// The first position kept; the next one to be given if none is kept.
    pub oldest: Position,
    /// The last position given, even if its event was purged.
    pub newest: Position,
}

impl EventSpan {
    /// Returns whether a reader at `position` can continue without a gap. `false` for a position that was never given.
    pub fn continues(&self, position: Position) -> bool {
        self.oldest <= position.next() && position <= self.newest
    }
}

/// The stream of events.
pub trait EventStore {
    /// Gives committed events their positions, in the order in which they become visible. So a reader that continues
    /// behind a position never misses an event that gets a lower position later.
    fn sequence(&self) -> Pending<'_, Sequenced>;

    /// Returns the events behind a position, in order. Positions are consecutive: if the first returned position does
    /// not follow `after` directly, the events between were purged.
    fn events(&self, after: Position, limit: u32) -> Pending<'_, Vec<(Position, Event)>>;

    /// Returns which positions are kept. The span survives a purge, so that no position is given twice.
    fn event_span(&self) -> Pending<'_, EventSpan>;

    /// Deletes at most `limit` of the oldest events, stopping before the first event decided at `before` or later.
    /// Deletes only from the old end, because readers cannot detect a hole in the middle. Returns how many were
    /// deleted.
    fn purge_events(&self, before: Time, limit: u32) -> Pending<'_, u64>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_outside_the_kept_span_cannot_continue() {
        let span = EventSpan { oldest: Position(5), newest: Position(9) };
        let good: Vec<i64> = (0..12).filter(|at| span.continues(Position(*at))).collect();
        assert_eq!(good, [4, 5, 6, 7, 8, 9]);
        let empty = EventSpan { oldest: Position(10), newest: Position(9) };
        let good: Vec<i64> = (0..12).filter(|at| empty.continues(Position(*at))).collect();
        assert_eq!(good, [9]);
    }
}
