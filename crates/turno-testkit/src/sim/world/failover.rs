//! An asynchronous failover: a standby lags, the primary dies, and the standby takes over without the newest commits.
//!
//! The instances live on with their caches. Their transactions and the calls in them are lost, as with every lost
//! connection. The checkers go back together with the database, because the lost commits never happened for it. Two
//! invariants also cover the lost commits: no fence and no task number is given twice.

use super::World;
use super::events::Event;
use crate::db::Db;
use crate::sim::check::Checker;
use crate::sim::sabotage::Bug;
use turno_core::id::Position;

/// The database and the checkers at the moment when the standby began to lag.
pub(super) struct Standby<'a> {
    db: Db,
    checker: Checker<'a>,
}

impl World<'_> {
    /// Stops replication. A little later the standby takes over.
    pub(super) fn lag(&mut self) {
        if self.standby.is_none() {
            self.history.note(self.time, || "the standby falls behind".to_owned());
            self.standby = Some(Box::new(Standby { db: self.db.copy(), checker: self.checker.clone() }));
            self.after(50, 1_500, Event::Promote);
        }
    }

    /// Promotes the standby, which begins another life of the database.
    pub(super) fn promote(&mut self) {
        let Some(standby) = self.standby.take().filter(|_| !self.draining) else {
            return;
        };
        let Standby { mut db, mut checker } = *standby;
        let lost = self.checker.commits() - checker.commits();
        self.tally.faults.failovers += 1;
        self.tally.faults.lost_commits += lost;
        self.history.note(self.time, || format!("the standby takes over; {lost} commits are lost"));
        db.begin_life(&self.db, self.bug != Some(Bug::NumbersFallBack));
        let newest = db.stream.span().newest;
        checker.carry_over(&self.checker, newest);
        (self.db, self.checker) = (db, checker);
        self.txs.clear();
        self.jobs.clear();
        self.swept.clear();
        self.reset_listeners(newest);
        for server in 0..self.servers.len() {
            self.reconnect(server);
        }
    }

    /// Cuts the connections of an instance. The instance goes on with its next calls.
    fn reconnect(&mut self, server: usize) {
        let here = &mut self.servers[server];
        here.active = 0;
        // Steps of finalizes that were lost with their transactions.
        here.inbox.retain(|call| call.job == 0);
        let life = here.life;
        if here.sequencing.take().is_some() && here.alive {
            self.after(10, 60, Event::Sequence { server, life });
        }
        self.begin_waiting(server);
    }

    /// Resets every listener, because positions jump in another life.
    fn reset_listeners(&mut self, newest: Position) {
        for index in 0..self.listeners.len() {
            self.listeners[index].go_on(newest);
            self.checker.reset(index, newest);
            self.tally.resets += 1;
        }
    }
}
