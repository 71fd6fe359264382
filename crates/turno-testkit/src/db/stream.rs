//! Written events, and events with a position.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use turno::store::EventSpan;
use turno_core::event::Event;
use turno_core::id::Position;

/// How far positions and event numbers jump in a new life.
const LIFE_POSITIONS: i64 = 1_000;

/// An event with its position.
#[derive(Clone, Debug)]
pub(crate) struct Placed {
    pub(crate) position: Position,
    /// The number that the event got while its transaction ran.
    pub(crate) number: i64,
    pub(crate) event: Arc<Event>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Stream {
    /// Committed events without a position.
    pub(crate) incoming: BTreeMap<i64, Arc<Event>>,
    log: VecDeque<Placed>,
    /// The last position that was purged.
    purged: i64,
    numbers: i64,
    /// The highest event number that got a position.
    highest: i64,
}

impl Stream {
    /// Takes `count` numbers and returns the first. Numbers are taken while a transaction runs and never given back.
    pub(crate) fn numbers(&mut self, count: usize) -> i64 {
        self.numbers += count as i64;
        self.numbers - count as i64 + 1
    }

    pub(crate) fn last_number(&self) -> i64 {
        self.numbers
    }

    pub(crate) fn highest(&self) -> i64 {
        self.highest
    }

    pub(crate) fn newest(&self) -> i64 {
        self.log.back().map_or(self.purged, |last| last.position.0)
    }

    pub(crate) fn span(&self) -> EventSpan {
        EventSpan { oldest: Position(self.purged + 1), newest: Position(self.newest()) }
    }

    /// Appends an event that gets its position at its commit, as on SQLite.
    pub(crate) fn push(&mut self, event: Event) {
        let position = Position(self.newest() + 1);
        let number = self.numbers(1);
        self.append(Placed { position, number, event: Arc::new(event) });
    }

    pub(crate) fn append(&mut self, placed: Placed) {
        self.highest = self.highest.max(placed.number);
        self.log.push_back(placed);
    }

    /// Returns the events behind a position, in order.
    pub(crate) fn behind(&self, position: Position, limit: usize) -> Vec<Placed> {
        let from = self.log.partition_point(|placed| placed.position <= position);
        self.log.range(from..).take(limit).cloned().collect()
    }

    /// Moves behind everything that may have been lost. Events before the jump are not kept.
    pub(crate) fn begin_life(&mut self, lost: &Stream) {
        self.purged = self.newest().max(lost.newest()) + LIFE_POSITIONS;
        self.log.clear();
        self.numbers = self.numbers.max(lost.numbers) + LIFE_POSITIONS;
    }

    /// Removes the oldest events and records how far.
    pub(crate) fn purge(&mut self, count: usize) {
        for _ in 0..count {
            if let Some(gone) = self.log.pop_front() {
                self.purged = gone.position.0;
            }
        }
    }
}
