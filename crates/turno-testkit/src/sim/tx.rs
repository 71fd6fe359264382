//! One transaction of one instance, as a state machine that takes one step at a time.
//!
//! The steps have the order of the store's contract: mutexes, rows and reads, clock and numbers, decision, writes and
//! commit. Anything can happen between two steps, also a crash of the instance. The decisions are the real ones of
//! `turno::store`. A line of a finalize has its own steps (`line`).

mod decide;
mod line;
mod read;
mod task;

pub(crate) use line::Lined;

use super::memory::Memory;
use super::message::{Answered, Ask, Call};
use super::sabotage::Bug;
use super::setup::{Setup, queue_id};
use crate::db::Map;
use crate::db::{Db, Lock};
use std::collections::HashMap;
use std::sync::Arc;
use turno::clock::Clock;
use turno::store::{
    Claim, ClaimGroup, EnqueueGroup, Group, LeaseGroup, LeaseWrite, SettleGroup, TaskGroup, TaskWrite, TypingGroup,
};
use turno_core::audit::Head;
use turno_core::event::Event;
use turno_core::id::{Fence, ItemId, Lane, QueueId, Seq};
use turno_core::lease::State;
use turno_core::queue::{Body, Changes, FrontItem, Item, Known, Loaded, ManageRead};
use turno_core::task::{Apply, Stock, Task, TaskId};
use turno_core::time::Time;

/// The event numbers that a transaction takes before it knows how many it needs.
const EVENTS: usize = 8;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Mutexes,
    Rows,
    Clock,
    Commit,
}

/// The rows read under the locks.
#[derive(Debug)]
enum Read {
    Nothing,
    Lease(Vec<State>),
    Enqueue {
        existing: HashMap<(QueueId, ItemId), Known>,
        fronts: HashMap<(QueueId, Lane), Vec<FrontItem>>,
        /// The rebirth number when the lane fronts were read.
        rebirth: i64,
    },
    Claim {
        heads: Vec<Item>,
        fronts: HashMap<Lane, Vec<Item>>,
        typing: HashMap<Lane, Time>,
    },
    Settle(Vec<Loaded>),
    /// Without the time and the numbers.
    Manage(Box<ManageRead>),
    Typing(HashMap<Lane, Vec<FrontItem>>),
    /// Another transaction has locked the task, and nothing is decided.
    Busy(Option<TaskId>),
    Task {
        task: Option<Task>,
        lease: Box<State>,
        stock: Option<Stock>,
    },
}

/// What a transaction carries out.
#[derive(Debug)]
enum Contents {
    Group(Group),
    Line(Arc<Apply>),
}

#[derive(Debug)]
pub(crate) struct Tx {
    pub(crate) id: u64,
    pub(crate) instance: usize,
    /// The number of commits when the transaction began.
    pub(crate) began: u64,
    pub(crate) calls: Vec<Call>,
    pub(crate) held: Vec<Lock>,
    contents: Contents,
    phase: Phase,
    now: Option<Time>,
    numbers: Vec<i64>,
    /// The first number for its events.
    events: i64,
    read: Read,
    head: Option<Head>,
    line: Option<Box<line::Line>>,
    /// The named item, found before its lane was locked.
    named: Option<Seq>,
    /// Payloads that a claim joined too early. Only a bug fills it.
    snapshot: Map<Seq, Body>,
}

/// The part of the world that a transaction sees in one step.
pub(crate) struct Env<'a> {
    pub(crate) db: &'a mut Db,
    pub(crate) clock: &'a Clock,
    /// The database's clock, unguarded.
    pub(crate) wall: Time,
    pub(crate) bug: Option<Bug>,
    /// The instance's cache.
    pub(crate) memory: &'a mut Memory,
    /// Numbers below it were taken before this instance started.
    pub(crate) started: i64,
    /// What the sweepers read when they found expired deliveries.
    pub(crate) swept: &'a Map<Fence, Loaded>,
}

impl Env<'_> {
    fn has(&self, bug: Bug) -> bool {
        self.bug == Some(bug)
    }

    fn read_clock(&self) -> Time {
        if self.has(Bug::GuardOff) {
            return self.wall;
        }
        // One instance may have seen a forward step that is undone before another instance reads the clock. The mark,
        // read with the clock, keeps the other instance from deciding earlier than the first did.
        if !self.has(Bug::MarkOnlyAtStart) {
            self.clock.resume(self.db.mark);
        }
        self.clock.observe(Time(0))
    }
}

pub(crate) enum Progress {
    /// The transaction can take another step.
    Next,
    /// The transaction waits for a lock.
    Blocked,
    /// Another commit inserted the same new id, so the transaction starts again.
    Redo,
    Committed(Box<Committed>),
}

/// The writes and answers of a commit.
#[derive(Debug)]
pub(crate) struct Committed {
    pub(crate) answered: Answered,
    pub(crate) leases: Option<LeaseWrite>,
    pub(crate) changes: Option<Changes>,
    pub(crate) task: Option<Box<TaskWrite>>,
    pub(crate) line: Option<Box<Lined>>,
    /// The events, with the numbers they were written with.
    pub(crate) events: Vec<(i64, Arc<Event>)>,
}

impl Committed {
    fn nothing(now: Time) -> Committed {
        let answered = Answered { now, replies: Vec::new() };
        Committed { answered, leases: None, changes: None, task: None, line: None, events: Vec::new() }
    }
}

impl Tx {
    pub(crate) fn new(id: u64, instance: usize, began: u64, calls: Vec<Call>, setup: &Setup) -> Tx {
        let contents = match &calls[0].ask {
            Ask::Apply(apply) => Contents::Line(apply.clone()),
            _ => Contents::Group(group(&calls, setup)),
        };
        Tx {
            id,
            instance,
            began,
            calls,
            held: Vec::new(),
            contents,
            phase: Phase::Mutexes,
            now: None,
            numbers: Vec::new(),
            events: 0,
            read: Read::Nothing,
            head: None,
            line: None,
            named: None,
            snapshot: Map::default(),
        }
    }

    pub(crate) fn restart(&mut self) {
        self.phase = Phase::Mutexes;
        self.now = None;
    }

    pub(crate) fn step(&mut self, env: &mut Env<'_>) -> Progress {
        // Before the cache is used.
        if !env.has(Bug::MemoryKept) {
            env.memory.meet(env.db.life);
        }
        if matches!(self.contents, Contents::Line(_)) {
            return self.step_line(env);
        }
        match self.phase {
            Phase::Mutexes => {
                if env.has(Bug::ClockBeforeLock) && self.now.is_none() {
                    self.now = Some(env.read_clock());
                }
                if !self.take_mutexes(env) {
                    return Progress::Blocked;
                }
                self.phase = Phase::Rows;
                Progress::Next
            }
            Phase::Rows => {
                let Some(read) = self.read_rows(env) else {
                    return Progress::Blocked;
                };
                self.read = read;
                self.phase = Phase::Clock;
                Progress::Next
            }
            Phase::Clock => {
                if self.now.is_none() {
                    self.now = Some(env.read_clock());
                }
                self.numbers = env.db.numbers(self.numbers_needed());
                self.learn_fronts(env);
                self.take_event_numbers(env);
                self.phase = Phase::Commit;
                Progress::Next
            }
            Phase::Commit => self.commit(env),
        }
    }

    /// Caches the floors of the lanes that were read: the first item, or, in an empty lane, the first number that this
    /// transaction has taken.
    fn learn_fronts(&self, env: &mut Env<'_>) {
        match (&self.read, &self.contents) {
            (Read::Enqueue { fronts, rebirth, .. }, _) => {
                let lowest = self.numbers.first().map(|number| Seq(*number));
                for (lane, front) in fronts {
                    let begins = front.first().map(|first| first.item.seq).or(lowest);
                    begins.into_iter().for_each(|floor| env.memory.learn(*rebirth, *lane, floor));
                }
            }
            (Read::Settle(loaded), Contents::Group(Group::Settle(group))) => {
                for (settle, loaded) in group.settlements.iter().zip(loaded) {
                    let lane = settle.reference.lane.map(|lane| (settle.reference.queue, lane));
                    let first = loaded.members.first().map(|member| member.item.seq);
                    if let (Some(lane), Some(first)) = (lane, first) {
                        let floor = loaded.next.as_ref().map_or(first, |next| first.min(next.seq));
                        env.memory.learn(env.db.rebirth, lane, floor);
                    }
                }
            }
            _ => {}
        }
    }

    /// Takes event numbers while the transaction runs, so a later commit may have smaller numbers.
    fn take_event_numbers(&mut self, env: &mut Env<'_>) {
        self.events = env.db.stream.numbers(EVENTS);
        if env.has(Bug::EventBeforeCommit)
            && let Some(event) = self.premature_event()
        {
            env.db.stream.incoming.insert(self.events, event);
        }
    }

    /// Writes the events in the transaction.
    fn write_events(&self, env: &mut Env<'_>, events: Vec<Event>) -> Vec<(i64, Arc<Event>)> {
        let first = if events.len() > EVENTS { env.db.stream.numbers(events.len()) } else { self.events };
        let events: Vec<(i64, Arc<Event>)> = (first..).zip(events.into_iter().map(Arc::new)).collect();
        for (number, event) in &events {
            env.db.stream.incoming.insert(*number, event.clone());
        }
        events
    }

    fn numbers_needed(&self) -> usize {
        let Contents::Group(group) = &self.contents else {
            return 0;
        };
        match group {
            Group::Lease(group) => group.numbers(),
            Group::Task(group) => group.numbers(),
            Group::Enqueue(group) => group.numbers(),
            Group::Claim(group) => group.heads(),
            Group::Settle(_) | Group::Manage(_) | Group::Clear(_) | Group::Typing(_) | Group::Access(_) => 0,
        }
    }
}

/// Forms the group of calls that arrived together, as the engine gives it to a store.
fn group(calls: &[Call], setup: &Setup) -> Group {
    match &calls[0].ask {
        Ask::Lease(_) => Group::Lease(LeaseGroup {
            commands: collect(calls, |ask| if let Ask::Lease(command) = ask { Some(command.clone()) } else { None }),
        }),
        Ask::Enqueue(_) => Group::Enqueue(EnqueueGroup {
            calls: collect(calls, |ask| if let Ask::Enqueue(call) = ask { Some(call.clone()) } else { None }),
        }),
        Ask::Settle(_) => Group::Settle(SettleGroup {
            settlements: collect(calls, |ask| if let Ask::Settle(settle) = ask { Some(settle.clone()) } else { None }),
        }),
        Ask::Claim { queue, want, item } => {
            let wants = |ask: &Ask| if let Ask::Claim { want, .. } = ask { Some(want.clone()) } else { None };
            let claim = match item {
                Some(id) => Claim::Item { want: want.clone(), id: id.clone() },
                None => Claim::Next(collect(calls, wants)),
            };
            let (queue, policy) = (queue_id(*queue), setup.queues[*queue].clone());
            Group::Claim(ClaimGroup { queue, policy, version: 1, claim })
        }
        Ask::Manage(group) => Group::Manage(group.clone()),
        Ask::Typing { queue, key } => {
            let (queue, policy) = (queue_id(*queue), setup.queues[*queue].clone());
            Group::Typing(TypingGroup { queue, policy, keys: vec![key.clone()] })
        }
        Ask::Task(command) => Group::Task(Box::new(TaskGroup { command: (**command).clone(), stock: true })),
        Ask::Pause { .. } | Ask::Finalize { .. } | Ask::Apply(_) => {
            unreachable!("the call is decided outside of groups")
        }
    }
}

fn collect<T>(calls: &[Call], command: impl Fn(&Ask) -> Option<T>) -> Vec<T> {
    calls.iter().filter_map(|call| command(&call.ask)).collect()
}
