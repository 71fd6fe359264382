//! The clients: people with tabs, clerks with tasks, producers, workers, an operator. All of them misbehave at times.
//!
//! A client does one thing at a time. It is woken, answered, or left without an answer, and then it calls or sleeps.
//! The world loses and doubles messages, as a network does.

mod clerks;
mod people;
mod producers;
mod workers;

pub(crate) use clerks::Clerk;
pub(crate) use people::Person;
pub(crate) use producers::{Operator, Producer};
pub(crate) use workers::Worker;

use super::message::{Ask, Reply};
use super::rng::Rng;
use super::setup::Setup;
use std::sync::Arc;
use turno_core::id::ItemId;
use turno_core::task::TaskId;

/// What happens to a client.
pub(crate) enum Input {
    Wake,
    Answer(Reply),
    /// The timeout passed; the client does not know whether the call was carried out.
    NoAnswer,
}

/// The next step of a client.
pub(crate) enum Next {
    /// Boxed, because a call is much larger than a pause.
    Call(Box<Ask>),
    Sleep(i64),
}

impl Next {
    fn call(ask: Ask) -> Next {
        Next::Call(Box::new(ask))
    }
}

/// Ids and tasks that clients know of each other.
#[derive(Debug, Default)]
pub(crate) struct Known {
    items: Vec<(usize, ItemId, Arc<str>)>,
    made: u64,
    tasks: Vec<TaskId>,
}

impl Known {
    const MOST: usize = 48;

    /// Returns a number that was never used before, for ids and for changes.
    pub(crate) fn fresh(&mut self) -> u64 {
        self.made += 1;
        self.made
    }

    pub(crate) fn remember(&mut self, queue: usize, id: ItemId, payload: Arc<str>) {
        let entry = (queue, id, payload);
        if self.items.len() < Self::MOST {
            self.items.push(entry);
        } else {
            let at = self.made as usize % Self::MOST;
            self.items[at] = entry;
        }
    }

    /// Tasks in work: few, so that clerks compete for the same ones.
    pub(crate) fn open_tasks(&self) -> &[TaskId] {
        &self.tasks
    }

    pub(crate) fn begin_task(&mut self, task: TaskId) {
        if !self.tasks.contains(&task) {
            self.tasks.push(task);
        }
    }

    pub(crate) fn end_task(&mut self, task: TaskId) {
        self.tasks.retain(|open| *open != task);
    }

    pub(crate) fn any(&self, rng: &mut Rng) -> Option<&(usize, ItemId, Arc<str>)> {
        (!self.items.is_empty()).then(|| rng.pick(&self.items))
    }
}

/// The part of the world that a client sees.
pub(crate) struct Scene<'a> {
    pub(crate) rng: &'a mut Rng,
    pub(crate) setup: &'a Setup,
    pub(crate) known: &'a mut Known,
    /// Whether the world drains: all clients behave and only finish existing work.
    pub(crate) draining: bool,
}

#[derive(Debug)]
pub(crate) enum Client {
    Person(Person),
    Producer(Producer),
    Worker(Worker),
    Operator(Operator),
    Clerk(Clerk),
}

impl Client {
    pub(crate) fn step(&mut self, input: Input, scene: &mut Scene<'_>) -> Next {
        match self {
            Client::Person(person) => person.step(input, scene),
            Client::Producer(producer) => producer.step(input, scene),
            Client::Worker(worker) => worker.step(input, scene),
            Client::Operator(operator) => operator.step(input, scene),
            Client::Clerk(clerk) => clerk.step(input, scene),
        }
    }

    /// Returns whether the client has something to do while the world drains.
    pub(crate) fn drains(&self) -> bool {
        matches!(self, Client::Worker(_))
    }
}
