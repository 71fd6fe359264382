//! Invariants of events: only committed events, each at one position, in order, without a gap.

use super::{Checked, Commit, fault};
use crate::db::Map;
use crate::db::Placed;
use std::sync::Arc;
use turno_core::event::{Event, EventName};
use turno_core::id::Position;

/// An event that a commit announced.
#[derive(Clone)]
struct Announced {
    event: Arc<Event>,
    commit: u64,
    position: Option<Position>,
}

#[derive(Clone, Default)]
pub(super) struct Stream {
    /// Announced events, by the number they were written with.
    announced: Map<i64, Announced>,
    waiting: usize,
    newest: Position,
    /// The commit of the last event that got a position, by resource.
    last: Map<Arc<str>, u64>,
    /// The position up to which each listener has handled every event.
    heard: Vec<Position>,
}

impl Stream {
    pub(super) fn committed(&mut self, commit: &Commit<'_>, number: u64) {
        self.waiting += commit.events.len();
        for (n, event) in commit.events {
            self.announced.insert(*n, Announced { event: event.clone(), commit: number, position: None });
        }
    }

    /// Lets positions go on behind `newest`.
    pub(super) fn carry_over(&mut self, newest: Position) {
        self.newest = newest;
    }

    /// Checks an event that got a position.
    pub(super) fn placed(&mut self, placed: &Placed) -> Checked {
        let (at, position) = (&placed.event.resource, placed.position);
        let Some(announced) = self.announced.get_mut(&placed.number) else {
            return fault("V1", at, format!("{:?} was never committed and is at {}", placed.event, position.0));
        };
        if let Some(before) = announced.position.replace(position) {
            return fault("V1", at, format!("the event has the positions {} and {}", before.0, position.0));
        }
        if position != self.newest.next() || announced.event != placed.event {
            return fault("V1", at, format!("{:?} is at {}, after {}", placed.event, position.0, self.newest.0));
        }
        self.newest = position;
        self.waiting -= 1;
        // Two lines of a task are applied in parallel, so the order of their events is open.
        if matches!(announced.event.name, EventName::TaskLineApplied | EventName::TaskLineFailed) {
            return Ok(());
        }
        let last = self.last.entry(announced.event.resource.clone()).or_default();
        if announced.commit < *last {
            let text = format!("commit {} is announced at {}, after commit {last}", announced.commit, position.0);
            return fault("V1", at, text);
        }
        *last = announced.commit;
        Ok(())
    }

    /// Checks an event that a listener has handled.
    pub(super) fn heard(&mut self, listener: usize, placed: &Placed) -> Checked {
        let announced = self.announced.get(&placed.number);
        if !announced.is_some_and(|announced| announced.event == placed.event) {
            return fault(
                "V1",
                &placed.event.resource,
                format!("{:?} was heard, and was never committed", placed.event),
            );
        }
        let last = self.cursor(listener);
        if placed.position != last.next() {
            let text = format!("listener {listener} heard {} after {}", placed.position.0, last.0);
            return fault("V1", &placed.event.resource, text);
        }
        *last = placed.position;
        Ok(())
    }

    /// Records a reset: the listener goes on behind `position`.
    pub(super) fn reset(&mut self, listener: usize, position: Position) {
        *self.cursor(listener) = position;
    }

    fn cursor(&mut self, listener: usize) -> &mut Position {
        if self.heard.len() <= listener {
            self.heard.resize(listener + 1, Position(0));
        }
        &mut self.heard[listener]
    }

    /// Checks at the end that every listener has handled every event.
    pub(super) fn drained(&self) -> Checked {
        if self.waiting > 0 {
            let late = self.announced.values().find(|announced| announced.position.is_none());
            let text =
                format!("{} events have no position, {:?}", self.waiting, late.map(|announced| &announced.event));
            return fault("V1", "", text);
        }
        match self.heard.iter().find(|heard| **heard != self.newest) {
            Some(behind) => fault("V1", "", format!("a listener has handled {} of {} events", behind.0, self.newest.0)),
            None => Ok(()),
        }
    }
}
