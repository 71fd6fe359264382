//! Future events, ordered by time and then at random.

use crate::sim::message::{Call, Reply};
use std::cmp::Ordering;
use std::collections::BinaryHeap;

#[derive(Debug)]
pub(super) enum Event {
    /// A client wakes up.
    Wake(usize),
    /// A call reaches an instance.
    Arrive { server: usize, call: Box<Call> },
    /// A transaction takes its next step.
    Step(u64),
    /// An answer reaches its client, if the instance has not died before.
    Answer { server: usize, life: u64, client: usize, call: u64, reply: Box<Reply> },
    /// A client stops waiting.
    Impatient { client: usize, call: u64 },
    /// An instance sweeps expired deliveries.
    Sweep { server: usize, life: u64 },
    /// A sequencer looks for events without a position.
    Sequence { server: usize, life: u64 },
    /// The run of a sequencer commits.
    Sequenced { server: usize, life: u64, run: u64 },
    /// A listener reads on.
    Listen(usize),
    /// A fault happens.
    Fault,
    /// A standby takes over.
    Promote,
    /// An instance starts again.
    Start(usize),
}

#[derive(Debug, Default)]
pub(super) struct Events {
    heap: BinaryHeap<Entry>,
    /// The number of events so far: the step that a violation names.
    pub(super) popped: u64,
}

#[derive(Debug)]
struct Entry {
    at: i64,
    tie: u64,
    event: Event,
}

impl Events {
    pub(super) fn push(&mut self, at: i64, tie: u64, event: Event) {
        self.heap.push(Entry { at, tie, event });
    }

    pub(super) fn pop(&mut self) -> (i64, Event) {
        self.popped += 1;
        let entry = self.heap.pop().expect("a sweep is always scheduled");
        (entry.at, entry.event)
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Entry) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Entry {}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Entry) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Entry {
    /// Orders the earliest event as the greatest, because the heap returns the greatest first.
    fn cmp(&self, other: &Entry) -> Ordering {
        (other.at, other.tie).cmp(&(self.at, self.tie))
    }
}
