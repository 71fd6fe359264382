//! A store's stream of events.

use turno_core::id::Position;

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
