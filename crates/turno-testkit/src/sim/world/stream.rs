//! Events: sequencers that give positions, listeners that read and resume, and a purge.
//!
//! Left out: the ring in memory, which only saves reads.

use super::World;
use super::events::Event;
use crate::db::{Lock, Placed};
use crate::sim::check::Fault;
use crate::sim::sabotage::Bug;
use std::collections::VecDeque;
use std::sync::Arc;
use turno_core::id::Position;

/// The most events of one run: few, so that a run often leaves some for the next.
const AT_ONCE: usize = 12;
/// The page size of a listener.
const PAGE: usize = 6;
/// The number of events kept after a purge.
const KEPT: i64 = 30;

/// A run of a sequencer: the committed events it saw, and the position behind which it goes on.
pub(super) struct Run {
    pub(super) id: u64,
    pub(super) held: Vec<Lock>,
    chosen: Vec<(i64, Arc<turno_core::event::Event>)>,
    newest: i64,
}

/// A listener. Handled events survive its death; events read ahead are lost.
#[derive(Default)]
pub(super) struct Listener {
    cursor: Position,
    page: VecDeque<Placed>,
    dead: bool,
}

impl Listener {
    /// Discards the events read ahead and goes on behind a position.
    pub(super) fn go_on(&mut self, position: Position) {
        *self = Listener { cursor: position, ..Listener::default() };
    }
}

impl World<'_> {
    /// Looks for committed events without a position, unless another instance's sequencer runs.
    pub(super) fn sequence(&mut self, server: usize, life: u64) {
        if self.servers[server].life != life || !self.servers[server].alive {
            return;
        }
        self.next_id += 1;
        let (id, mut held) = (self.next_id, Vec::new());
        let had = self.db.try_lock(Lock::Sequencer, id, &mut held);
        if !had && self.bug != Some(Bug::SequencerUnlocked) {
            self.after(10, 30, Event::Sequence { server, life });
            return;
        }
        let from = self.floor(server);
        let rows = self.db.stream.incoming.range(from + 1..).take(AT_ONCE);
        let chosen = rows.map(|(number, event)| (*number, event.clone())).collect();
        self.servers[server].sequencing = Some(Run { id, held, chosen, newest: self.db.stream.newest() });
        let stall = if !self.draining && self.rng.below(150) == 0 { 350 } else { 3 };
        self.after(0, stall, Event::Sequenced { server, life, run: id });
    }

    /// Returns where the bug lets a sequencer start to scan. Without the bug it scans everything.
    fn floor(&mut self, server: usize) -> i64 {
        let stream = &self.db.stream;
        let here = &mut self.servers[server];
        match self.bug {
            Some(Bug::EventsByNumber) => stream.highest(),
            Some(Bug::SequencerFloor) if !self.rng.percent(20) => {
                std::mem::replace(&mut here.floor, stream.last_number())
            }
            _ => 0,
        }
    }

    /// Gives the chosen events their positions, all at once.
    pub(super) fn sequenced(&mut self, server: usize, life: u64, run: u64) -> Result<(), Fault> {
        if self.servers[server].life != life {
            return Ok(());
        }
        let Some(run) = self.servers[server].sequencing.take_if(|open| open.id == run) else {
            return Ok(());
        };
        for (position, (number, event)) in (run.newest + 1..).map(Position).zip(run.chosen) {
            self.db.stream.incoming.remove(&number);
            let placed = Placed { position, number, event };
            self.checker.placed(&placed)?;
            self.tally.events += 1;
            self.db.stream.append(placed);
        }
        self.free(run.id, run.held);
        let span = self.db.stream.span();
        let kept = span.newest.0 - span.oldest.0 + 1;
        if !self.draining && kept > KEPT && self.rng.percent(5) {
            self.history.note(self.time, || format!("events up to {} are purged", span.newest.0 - KEPT));
            self.db.stream.purge((kept - KEPT) as usize);
        }
        self.after(40, 200, Event::Sequence { server, life });
        Ok(())
    }

    /// Lets a listener handle an event or read a page. Sometimes the listener dies and resumes later.
    pub(super) fn listen(&mut self, index: usize) -> Result<(), Fault> {
        let listener = &mut self.listeners[index];
        let span = self.db.stream.span();
        if std::mem::take(&mut listener.dead) {
            if self.bug == Some(Bug::ResumeSkips) {
                listener.cursor = span.newest;
            } else if !span.continues(listener.cursor) {
                listener.cursor = span.newest;
                self.checker.reset(index, span.newest);
                self.tally.resets += 1;
            }
        }
        if listener.page.is_empty() {
            let page = self.db.stream.behind(listener.cursor, PAGE);
            let goes_on = page.first().map(|placed| placed.position == listener.cursor.next());
            let gone = goes_on == Some(false) || goes_on.is_none() && !span.continues(listener.cursor);
            if gone && self.bug != Some(Bug::ResetUntold) {
                listener.cursor = span.newest;
                self.checker.reset(index, span.newest);
                self.tally.resets += 1;
            } else {
                listener.page = page.into();
            }
        }
        let handled = if self.draining { PAGE } else { self.rng.below(PAGE + 1) };
        for _ in 0..handled {
            let Some(placed) = listener.page.pop_front() else { break };
            self.checker.heard(index, &placed)?;
            listener.cursor = placed.position;
        }
        let pause = match self.rng.below(100) {
            0..3 if !self.draining => {
                listener.page.clear();
                listener.dead = true;
                2_500
            }
            _ => 250,
        };
        self.after(20, pause, Event::Listen(index));
        Ok(())
    }
}
