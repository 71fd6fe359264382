//! One world: instances on one database, clients around them, and the faults between them.
//!
//! Time advances from event to event. The seed chooses the order of simultaneous events, so the steps of all
//! transactions interleave in every way.

mod events;
mod failover;
mod faults;
mod finalize;
mod instances;
mod repeat;
mod stream;

use super::check::Checker;
use super::clients::{Clerk, Client, Input, Known, Next, Operator, Person, Producer, Scene, Worker};
use super::history::History;
use super::message::{Ask, Call, NO_CLIENT, Reply};
use super::rng::Rng;
use super::sabotage::Bug;
use super::setup::Setup;
use super::tx::Tx;
use super::{Options, Tally, Violation};
use crate::db::{Db, Map};
use events::{Event, Events};
use failover::Standby;
use finalize::Finalize;
use instances::Server;
use std::sync::Arc;
use stream::Listener;
use turno::clock::Manual;
use turno_core::id::Fence;
use turno_core::lease::Holder;
use turno_core::queue::Loaded;
use turno_core::time::{Span, Time};

/// The start time of a world. It is far from 0, so that the clock can step back.
const BEGINNING: Time = Time(1_000_000_000);
/// The longest drain. Work that is left afterwards counts as stuck.
const DRAIN_LIMIT: i64 = 30_000;
/// Longer than the life of any ticket, offer or lease.
const QUIET: i64 = 120_000;
const LISTENERS: usize = 2;

pub(crate) struct World<'a> {
    setup: &'a Setup,
    rng: Rng,
    bug: Option<Bug>,
    db: Db,
    events: Events,
    /// Milliseconds since the beginning: the true time, which no instance can read.
    time: i64,
    wall: Time,
    manual: Arc<Manual>,
    servers: Vec<Server>,
    txs: Map<u64, Box<Tx>>,
    clients: Vec<Client>,
    known: Known,
    /// The call that each client waits for, or 0.
    pending: Vec<u64>,
    calls: u64,
    next_id: u64,
    swept: Map<Fence, Loaded>,
    /// Finalizes in progress.
    jobs: Map<u64, Finalize>,
    listeners: Vec<Listener>,
    /// A lagging standby that is going to take over.
    standby: Option<Box<Standby<'a>>>,
    draining: bool,
    checker: Checker<'a>,
    history: History,
    tally: Tally,
}

impl<'a> World<'a> {
    pub(crate) fn new(seed: u64, options: &Options, setup: &'a Setup) -> World<'a> {
        let people = setup.people.iter().map(|who| Client::Person(Person::new(who.clone())));
        let workers = setup.workers.iter().map(|name| Client::Worker(Worker::new(name.clone())));
        let mut clients: Vec<Client> = people.chain(workers).collect();
        clients.extend((0..4).map(|_| Client::Producer(Producer::default())));
        clients.push(Client::Operator(Operator::default()));
        let last = setup.clerks.len() - 1;
        let clerk = |(index, who): (usize, &Holder)| Client::Clerk(Clerk::new(who.clone(), index == last));
        clients.extend(setup.clerks.iter().enumerate().map(clerk));
        let manual = Manual::starting_at(BEGINNING);
        let mut world = World {
            setup,
            rng: Rng::new(seed),
            bug: options.sabotage.map(|sabotage| sabotage.bug),
            db: Db::default(),
            events: Events::default(),
            time: 0,
            wall: BEGINNING,
            servers: (0..3).map(|_| Server::new(&manual)).collect(),
            manual,
            txs: Map::default(),
            pending: vec![0; clients.len()],
            clients,
            known: Known::default(),
            calls: 0,
            next_id: 0,
            swept: Map::default(),
            jobs: Map::default(),
            listeners: (0..LISTENERS).map(|_| Listener::default()).collect(),
            standby: None,
            draining: false,
            checker: Checker::new(setup),
            history: History::new(options.record),
            tally: Tally::default(),
        };
        for client in 0..world.clients.len() {
            world.after(0, 50, Event::Wake(client));
        }
        for server in 0..world.servers.len() {
            world.after(10, 60, Event::Sweep { server, life: 0 });
            world.after(10, 60, Event::Sequence { server, life: 0 });
        }
        for listener in 0..LISTENERS {
            world.after(0, 100, Event::Listen(listener));
        }
        world.after(100, 800, Event::Fault);
        world
    }

    /// Runs `operations` calls, drains, and returns the result.
    pub(crate) fn live(mut self, operations: u64) -> (Tally, History, Option<Violation>) {
        let outcome = self.run(operations);
        self.tally.operations = self.calls;
        self.tally.simulated_ms = self.time as u64;
        let violation = outcome.err().map(|fault| Violation {
            id: fault.id,
            subject: fault.subject,
            message: fault.message,
            step: self.events.popped,
            seed: 0,
            excerpt: Vec::new(),
        });
        (self.tally, self.history, violation)
    }

    fn run(&mut self, operations: u64) -> Result<(), super::check::Fault> {
        while self.calls < operations {
            self.turn()?;
        }
        self.stop_faults();
        let limit = self.time + DRAIN_LIMIT;
        let mut look = self.time + 500;
        while self.time < limit {
            self.turn()?;
            if self.time >= look {
                if self.txs.is_empty() && self.jobs.is_empty() && self.checker.is_drained() {
                    break;
                }
                look = self.time + 500;
            }
        }
        self.checker.drained()?;
        self.checker.audit(&self.db, self.bug)?;
        self.probe_leases()
    }

    /// Checks that every lease becomes free without heartbeats and sweepers.
    fn probe_leases(&mut self) -> Result<(), super::check::Fault> {
        self.pass(QUIET);
        self.checker.expect_free();
        let who = self.setup.people[0].clone();
        for (resource, policy) in &self.setup.resources {
            let ask = Ask::Lease(turno_core::lease::Command {
                resource: resource.clone(),
                who: who.clone(),
                via: None,
                policy: policy.clone(),
                action: turno_core::lease::Action::Claim { ttl: None, wait: false },
            });
            self.calls += 1;
            let call = Call::new(self.calls, NO_CLIENT, ask);
            self.receive(0, call)?;
        }
        let end = self.time + 5_000;
        while self.time < end && !self.checker.all_probed() {
            self.turn()?;
        }
        self.checker.probed()
    }

    fn turn(&mut self) -> Result<(), super::check::Fault> {
        let (at, event) = self.events.pop();
        if at > self.time {
            self.pass(at - self.time);
        }
        match event {
            Event::Wake(client) => self.client(client, Input::Wake),
            Event::Arrive { server, call } => return self.receive(server, *call),
            Event::Step(tx) => return self.step(tx),
            Event::Answer { server, life, client, call, reply } => {
                let alive = self.servers[server].life == life;
                if alive && self.pending[client] == call {
                    self.pending[client] = 0;
                    self.client(client, Input::Answer(*reply));
                }
            }
            Event::Impatient { client, call } => {
                if self.pending[client] == call {
                    self.pending[client] = 0;
                    self.client(client, Input::NoAnswer);
                }
            }
            Event::Sweep { server, life } => self.sweep(server, life),
            Event::Sequence { server, life } => self.sequence(server, life),
            Event::Sequenced { server, life, run } => return self.sequenced(server, life, run),
            Event::Listen(listener) => return self.listen(listener),
            Event::Fault => self.fault(),
            Event::Promote => self.promote(),
            Event::Start(server) => self.start(server),
        }
        Ok(())
    }

    fn pass(&mut self, span: i64) {
        self.time += span;
        self.wall = self.wall + Span(span);
        self.manual.advance(Span(span));
    }

    fn after(&mut self, low: i64, high: i64, event: Event) {
        let at = self.time + self.rng.between(low, high);
        let tie = self.rng.next();
        self.events.push(at, tie, event);
    }

    fn client(&mut self, index: usize, input: Input) {
        let client = &mut self.clients[index];
        if self.draining && !client.drains() {
            return;
        }
        let mut scene =
            Scene { rng: &mut self.rng, setup: self.setup, known: &mut self.known, draining: self.draining };
        match client.step(input, &mut scene) {
            Next::Sleep(span) => self.after(span, span, Event::Wake(index)),
            Next::Call(ask) => self.send(index, *ask),
        }
    }

    /// Sends a call over a network that delays, doubles and loses messages.
    fn send(&mut self, client: usize, ask: Ask) {
        self.calls += 1;
        let call = Call::new(self.calls, client, ask);
        self.pending[client] = call.id;
        // A person who finalizes often clicks twice.
        let doubled = if matches!(call.ask, Ask::Finalize { .. }) { 20 } else { 2 };
        let copies = if !self.draining && self.rng.percent(doubled) { 2 } else { 1 };
        for _ in 0..copies {
            let late = if !self.draining && self.rng.percent(2) { 900 } else { 3 };
            if copies == 2 {
                self.tally.faults.doubled += 1;
            }
            if late == 900 {
                self.tally.faults.delayed += 1;
            }
            let server = self.rng.below(self.servers.len());
            let call = Box::new(call.clone());
            self.after(0, late, Event::Arrive { server, call });
        }
        self.after(400, 800, Event::Impatient { client, call: call.id });
    }

    /// Sends an answer, which may be lost after the commit.
    fn answer(&mut self, server: usize, call: &Call, reply: Reply) {
        if call.client == NO_CLIENT {
            return;
        }
        if !self.draining && self.rng.percent(3) {
            self.tally.faults.lost_answers += 1;
            return;
        }
        let life = self.servers[server].life;
        let (client, id, reply) = (call.client, call.id, Box::new(reply));
        self.after(0, 3, Event::Answer { server, life, client, call: id, reply });
    }
}
