//! What must hold for events: of what was committed and of nothing else, each in one place, in order, without a gap.

use super::{Checked, Commit, fault};
use crate::sim::db::Placed;
use crate::sim::rng::Map;
use std::sync::Arc;
use turno_core::event::Event;
use turno_core::id::Position;

/// Something that was announced by a commit.
#[derive(Clone)]
struct Told {
    event: Arc<Event>,
    commit: u64,
    position: Option<Position>,
}

#[derive(Clone, Default)]
pub(super) struct Stream {
    /// By the number that it was written with.
    told: Map<i64, Told>,
    waiting: usize,
    newest: Position,
    /// By resource: the commit of the last event that got a position.
    last: Map<Arc<str>, u64>,
    /// Up to where each listener has heard everything.
    heard: Vec<Position>,
}

impl Stream {
    pub(super) fn committed(&mut self, commit: &Commit<'_>, number: u64) {
        self.waiting += commit.events.len();
        for (n, event) in commit.events {
            self.told.insert(*n, Told { event: event.clone(), commit: number, position: None });
        }
    }

    /// Positions go on behind this one.
    pub(super) fn carry_over(&mut self, newest: Position) {
        self.newest = newest;
    }

    /// An event got a position.
    pub(super) fn placed(&mut self, placed: &Placed) -> Checked {
        let (at, position) = (&placed.event.resource, placed.position);
        let Some(told) = self.told.get_mut(&placed.number) else {
            return fault("V1", at, format!("{:?} was never committed and is at {}", placed.event, position.0));
        };
        if let Some(before) = told.position.replace(position) {
            return fault("V1", at, format!("it is at {} and at {}", before.0, position.0));
        }
        if position != self.newest.next() || told.event != placed.event {
            return fault("V1", at, format!("{:?} stands at {}, behind {}", placed.event, position.0, self.newest.0));
        }
        self.newest = position;
        self.waiting -= 1;
        // Two lines of a task are applied side by side: nothing says which of them comes first.
        if matches!(&*told.event.name, "task.line_applied" | "task.line_failed") {
            return Ok(());
        }
        let last = self.last.entry(told.event.resource.clone()).or_default();
        if told.commit < *last {
            let text = format!("commit {} is told at {}, after commit {last}", told.commit, position.0);
            return fault("V1", at, text);
        }
        *last = told.commit;
        Ok(())
    }

    /// A listener has handled an event.
    pub(super) fn heard(&mut self, listener: usize, placed: &Placed) -> Checked {
        let told = self.told.get(&placed.number);
        if !told.is_some_and(|told| told.event == placed.event) {
            return fault("V1", &placed.event.resource, format!("{:?} was heard, and never committed", placed.event));
        }
        let last = self.cursor(listener);
        if placed.position != last.next() {
            let text = format!("listener {listener} heard {} after {}", placed.position.0, last.0);
            return fault("V1", &placed.event.resource, text);
        }
        *last = placed.position;
        Ok(())
    }

    /// A listener was told that it goes on behind a position.
    pub(super) fn reset(&mut self, listener: usize, position: Position) {
        *self.cursor(listener) = position;
    }

    fn cursor(&mut self, listener: usize) -> &mut Position {
        if self.heard.len() <= listener {
            self.heard.resize(listener + 1, Position(0));
        }
        &mut self.heard[listener]
    }

    /// In the end everybody has heard of everything.
    pub(super) fn drained(&self) -> Checked {
        if self.waiting > 0 {
            let late = self.told.values().find(|told| told.position.is_none());
            let text = format!("{} events have no position, {:?}", self.waiting, late.map(|told| &told.event));
            return fault("V1", "", text);
        }
        match self.heard.iter().find(|heard| **heard != self.newest) {
            Some(behind) => fault("V1", "", format!("somebody has heard {} of {}", behind.0, self.newest.0)),
            None => Ok(()),
        }
    }
}
