//! What a store says about its stream of events.

use turno_core::id::Position;

/// What came of giving positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sequenced {
    /// They come with the commit: there is never anything to do.
    AtCommit,
    /// All that were committed have one now; so many got it by this call.
    All(usize),
    /// So many got one, and there may be more: call again at once.
    Full(usize),
    /// Another instance is at it, perhaps since before the last commit: call again soon.
    Busy,
}

/// The positions that are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventSpan {
    /// The first one kept; the next to be given if none is.
    pub oldest: Position,
    /// The last one given, also if it was purged since.
    pub newest: Position,
}

impl EventSpan {
    /// Whether everything behind `position` can still be read, and `position` is one of this database's.
    pub fn continues(&self, position: Position) -> bool {
        self.oldest <= position.next() && position <= self.newest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_kept_without_a_gap_can_be_continued() {
        let span = EventSpan { oldest: Position(5), newest: Position(9) };
        let good: Vec<i64> = (0..12).filter(|at| span.continues(Position(*at))).collect();
        assert_eq!(good, [4, 5, 6, 7, 8, 9]);
        let empty = EventSpan { oldest: Position(10), newest: Position(9) };
        let good: Vec<i64> = (0..12).filter(|at| empty.continues(Position(*at))).collect();
        assert_eq!(good, [9]);
    }
}
