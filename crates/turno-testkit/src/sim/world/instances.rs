//! An instance: it receives calls, decides some of them together, and runs a few transactions at the same time.

use super::events::Event;
use super::stream::Run;
use super::{World, repeat};
use crate::db::BOTTOM;
use crate::sim::check::{Commit, Fault};
use crate::sim::memory::Memory;
use crate::sim::message::{Ask, Call, NO_CLIENT, Reply};
use crate::sim::sabotage::Bug;
use crate::sim::setup::{item_id, queue_id};
use crate::sim::tx::{Committed, Env, Progress, Tx};
use std::collections::VecDeque;
use std::sync::Arc;
use turno::clock::{Clock, Manual};
use turno_core::queue::{Act, Settle, SettleOutcome, Settler};

/// How often a call on a pinned lease is repeated.
const PINNED_TRIES: u32 = 40;
/// The most open transactions of one instance.
const ROUTES: usize = 4;

pub(super) struct Server {
    pub(super) alive: bool,
    /// Grows with every crash. Messages of an earlier life are ignored.
    pub(super) life: u64,
    pub(super) clock: Clock,
    pub(super) inbox: VecDeque<Call>,
    pub(super) active: usize,
    /// The last number taken when the instance started.
    pub(super) started: i64,
    /// The run of its sequencer that has not committed.
    pub(super) sequencing: Option<Run>,
    /// Where the sequencer starts to scan; used only by a bug.
    pub(super) floor: i64,
    pub(super) memory: Memory,
}

impl Server {
    pub(super) fn new(manual: &Arc<Manual>) -> Server {
        let clock = Clock::manual(manual.clone());
        Server {
            alive: true,
            life: 0,
            clock,
            inbox: VecDeque::new(),
            active: 0,
            started: 0,
            sequencing: None,
            floor: 0,
            memory: Memory::default(),
        }
    }
}

impl World<'_> {
    pub(super) fn receive(&mut self, server: usize, mut call: Call) -> Result<(), Fault> {
        if !self.servers[server].alive {
            return Ok(());
        }
        match &mut call.ask {
            Ask::Pause { queue, paused } => {
                match *paused && !self.draining {
                    true => self.db.paused.insert(queue_id(*queue)),
                    false => self.db.paused.remove(&queue_id(*queue)),
                };
                self.answer(server, &call, Reply::Done);
                return Ok(());
            }
            Ask::Enqueue(enqueue) => {
                // The instance generates the ids that the producer did not give.
                for item in enqueue.items.iter_mut().filter(|item| !item.id_given) {
                    self.next_id += 1;
                    item.id = item_id(format!("e{}", self.next_id));
                }
            }
            Ask::Finalize { .. } => return self.finalize(server, call),
            _ if call.job != 0 && !self.jobs.contains_key(&call.job) => return Ok(()),
            _ => {}
        }
        self.servers[server].inbox.push_back(call);
        self.begin(server);
        Ok(())
    }

    fn begin(&mut self, server: usize) {
        let here = &mut self.servers[server];
        if here.active >= ROUTES {
            return;
        }
        let Some(first) = here.inbox.pop_front() else {
            return;
        };
        let mut calls = vec![first];
        while calls.len() < 4 && here.inbox.front().is_some_and(|next| calls[0].ask.goes_with(&next.ask)) {
            calls.extend(here.inbox.pop_front());
        }
        here.active += 1;
        self.open(server, calls);
    }

    /// Begins transactions for the waiting calls, on every free route.
    pub(super) fn begin_waiting(&mut self, server: usize) {
        for _ in 0..ROUTES {
            self.begin(server);
        }
    }

    /// Begins a transaction.
    pub(super) fn open(&mut self, server: usize, calls: Vec<Call>) {
        self.next_id += 1;
        let tx = Tx::new(self.next_id, server, self.checker.commits(), calls, self.setup);
        self.after(0, 3, Event::Step(tx.id));
        self.txs.insert(tx.id, Box::new(tx));
    }

    pub(super) fn step(&mut self, id: u64) -> Result<(), Fault> {
        let Some(mut tx) = self.txs.remove(&id) else {
            return Ok(());
        };
        let server = &mut self.servers[tx.instance];
        let mut env = Env {
            db: &mut self.db,
            clock: &server.clock,
            wall: self.wall,
            bug: self.bug,
            memory: &mut server.memory,
            started: server.started,
            swept: &self.swept,
        };
        match tx.step(&mut env) {
            Progress::Next => {
                // Sometimes an instance pauses in the middle of a transaction.
                let stall = if !self.draining && self.rng.below(150) == 0 { 350 } else { 2 };
                if stall > 2 {
                    self.tally.faults.stalls += 1;
                }
                self.after(0, stall, Event::Step(id));
                self.txs.insert(id, tx);
            }
            Progress::Blocked => {
                self.tally.waits += 1;
                self.txs.insert(id, tx);
            }
            Progress::Redo => {
                self.tally.redone += 1;
                self.free(tx.id, std::mem::take(&mut tx.held));
                tx.restart();
                self.after(0, 2, Event::Step(id));
                self.txs.insert(id, tx);
            }
            Progress::Committed(committed) => return self.committed(*tx, *committed),
        }
        Ok(())
    }

    fn committed(&mut self, tx: Tx, mut committed: Committed) -> Result<(), Fault> {
        self.tally.commits += 1;
        self.history.commit(self.time, &tx, &committed, &self.db);
        let commit = Commit {
            calls: &tx.calls,
            now: committed.answered.now,
            replies: &committed.answered.replies,
            leases: committed.leases.as_ref(),
            changes: committed.changes.as_ref(),
            task: committed.task.as_deref(),
            line: committed.line.as_deref(),
            events: &committed.events,
            began: tx.began,
        };
        self.checker.commit(&commit)?;
        if self.tally.commits.is_multiple_of(1_000) {
            self.checker.audit(&self.db, self.bug)?;
        }
        self.free(tx.id, tx.held);
        match committed.line.as_ref().map(|lined| &lined.line) {
            Some(Some(line)) if line.applied.is_some() => self.tally.lines_applied += 1,
            Some(Some(_)) => self.tally.lines_failed += 1,
            Some(None) => {}
            None => self.servers[tx.instance].active -= 1,
        }
        for (call, reply) in tx.calls.into_iter().zip(committed.answered.replies.drain(..)) {
            let reply = self.look_up_repeat(&call, reply)?;
            if reply.is_pinned() && call.tries < PINNED_TRIES {
                self.tally.pinned += 1;
                let (server, call) = (tx.instance, Call { tries: call.tries + 1, ..call });
                self.after(15, 25, Event::Arrive { server, call: Box::new(call) });
            } else if call.job != 0 {
                self.advance(call.job, reply);
            } else {
                self.answer(tx.instance, &call, reply);
            }
        }
        self.begin(tx.instance);
        Ok(())
    }

    /// Looks up whether a settlement answered as stale repeats an earlier one of the same worker.
    fn look_up_repeat(&mut self, call: &Call, reply: Reply) -> Result<Reply, Fault> {
        let (Ask::Settle(settle), Reply::Settle(SettleOutcome::Stale)) = (&call.ask, &reply) else {
            return Ok(reply);
        };
        if matches!(settle.act, Act::Beat | Act::Expire) {
            return Ok(reply);
        }
        let mut known = repeat::settled(&self.db, &settle.reference).filter(|_| self.bug != Some(Bug::RepeatForgotten));
        if self.bug == Some(Bug::ReturnForgotten) && !repeat::was_last(&self.db, &settle.reference) {
            known = known.filter(|known| !matches!(known, SettleOutcome::Returned | SettleOutcome::Superseded));
        }
        self.checker.repeated(settle, known.as_ref())?;
        Ok(known.map_or(reply, Reply::Settle))
    }

    /// Reads the due leases and submits `Look` for them now or much later. Skips some sweeps, so that other commands
    /// find
    /// expired leases too.
    fn announce(&mut self, server: usize) {
        if !self.draining && self.rng.percent(70) {
            return;
        }
        let now = self.servers[server].clock.estimate();
        for resource in self.db.due_leases(now, usize::MAX).0 {
            let ask = Ask::Lease(self.setup.look(resource));
            let late = if !self.draining && self.rng.percent(10) { 1_500 } else { 10 };
            self.after(0, late, Event::Arrive { server, call: Box::new(Call::new(0, NO_CLIENT, ask)) });
        }
    }

    /// Reads expired deliveries and settles them now or much later.
    pub(super) fn sweep(&mut self, server: usize, life: u64) {
        if self.servers[server].life != life || !self.servers[server].alive {
            return;
        }
        let now = self.servers[server].clock.estimate();
        for reference in self.db.expired(now, 8).0 {
            if self.bug == Some(Bug::SweepUnconditional) {
                let seen = self.db.load(&reference, false, BOTTOM);
                self.swept.entry(reference.fence).or_insert(seen);
            }
            let policy = self.setup.queues[reference.queue.0 as usize].clone();
            let ask = Ask::Settle(Settle { reference, policy, act: Act::Expire, by: Settler::Server });
            let call = Box::new(Call::new(0, NO_CLIENT, ask));
            let late = if !self.draining && self.rng.percent(10) { 1_500 } else { 10 };
            self.after(0, late, Event::Arrive { server, call });
        }
        self.announce(server);
        self.after(20, 90, Event::Sweep { server, life });
    }
}
