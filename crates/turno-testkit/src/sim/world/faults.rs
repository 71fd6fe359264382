//! Faults: instances crash and restart, the database's clock steps, and a standby takes over (`failover`).

use super::World;
use super::events::Event;
use super::instances::Server;
use crate::db::Lock;
use crate::sim::sabotage::Bug;
use turno_core::time::Span;

impl World<'_> {
    pub(super) fn fault(&mut self) {
        if self.draining {
            return;
        }
        match self.rng.below(20) {
            0..10 => {
                let server = self.rng.below(self.servers.len());
                self.crash(server);
            }
            10..14 => self.step_clock(1),
            14..18 => self.step_clock(-1),
            _ => self.lag(),
        }
        self.after(200, 1_500, Event::Fault);
    }

    fn step_clock(&mut self, direction: i64) {
        let most = *self.rng.pick(&[50, 400, 3_000, 60_000]);
        let by = Span(direction * self.rng.between(1, most));
        if direction > 0 {
            self.tally.faults.steps_forward += 1;
        } else {
            self.tally.faults.steps_back += 1;
        }
        self.history.note(self.time, || format!("the database's clock steps by {} ms", by.0));
        self.manual.step(by);
        self.wall = self.wall + by;
    }

    /// Kills an instance: its locks are freed, its open transactions are rolled back, and its callers get no answer.
    pub(super) fn crash(&mut self, server: usize) {
        if !self.servers[server].alive {
            return;
        }
        self.tally.faults.crashes += 1;
        self.history.note(self.time, || format!("instance {server} dies"));
        let mut dead: Vec<u64> = self.txs.values().filter(|tx| tx.instance == server).map(|tx| tx.id).collect();
        dead.sort_unstable();
        self.tally.faults.aborted += dead.len() as u64;
        for id in dead {
            if let Some(tx) = self.txs.remove(&id) {
                self.free(tx.id, tx.held);
            }
        }
        self.jobs.retain(|_, job| job.server != server);
        if let Some(run) = self.servers[server].sequencing.take() {
            self.free(run.id, run.held);
        }
        let dying = &mut self.servers[server];
        dying.alive = false;
        dying.life += 1;
        dying.inbox.clear();
        dying.active = 0;
        self.after(20, 600, Event::Start(server));
    }

    pub(super) fn free(&mut self, tx: u64, held: Vec<Lock>) {
        for tx in self.db.unlock(tx, held) {
            self.after(0, 2, Event::Step(tx));
        }
    }

    /// Starts an instance with no state but the database's.
    pub(super) fn start(&mut self, server: usize) {
        if self.servers[server].alive {
            return;
        }
        if self.bug == Some(Bug::NumbersReused) {
            self.db.forget_numbers(12);
        }
        let life = self.servers[server].life;
        let fresh = Server { life, ..Server::new(&self.manual) };
        fresh.clock.resume(self.db.mark);
        self.servers[server] = fresh;
        self.servers[server].started = self.db.last_number();
        self.after(10, 60, Event::Sweep { server, life });
        self.after(10, 60, Event::Sequence { server, life });
    }

    /// Ends all faults.
    pub(super) fn stop_faults(&mut self) {
        self.draining = true;
        self.db.paused.clear();
        self.history.note(self.time, || "faults stop; what is left is finished".to_owned());
        for server in 0..self.servers.len() {
            self.start(server);
        }
    }
}
