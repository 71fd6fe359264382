//! Taking in what applications left in transactions of their own: enqueued with `turno.enqueue`, acked with
//! `turno.complete`, marked by the triggers of sources.
//!
//! Applications tell nobody when they commit: a notification would take a lock of the whole server with it. So a background
//! task looks, twenty times a second, and takes in what it finds in slices, one queue after another, so that a bulk change
//! in one queue does not keep the others waiting.
//!
//! A call that must show what was committed before it looks too, and then takes in from its own queue only. Claims do so
//! when they find nothing, and only until something is there.

use crate::clock::Clock;
use crate::engine::Announce;
use crate::engine::sync::confirm;
use crate::error::Error;
use crate::store::{Hint, IntakeSlice, Store, TakesIn};
use futures_util::FutureExt;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::Mutex;
use turno_core::id::QueueId;

/// How often the background task looks. By the machine's clock: the database's may be a manual one.
const EVERY: Duration = Duration::from_millis(50);
/// Most rows of its own queue that a read takes in before it answers: about a second of work. Behind so large a backlog a
/// list or a count shows what is taken in so far.
const READ: usize = 10_000;
/// How long another process that takes in from the same queue is waited for: much longer than a slice needs.
const BUSY_PAUSE: Duration = Duration::from_millis(5);
const BUSY_MAX: u32 = 1_000;

/// Takes in what applications left.
#[derive(Clone)]
pub(crate) struct Intake {
    store: Arc<dyn Store>,
    clock: Arc<Clock>,
    announce: Announce,
    looks: Arc<Looks>,
}

#[derive(Default)]
struct Looks {
    /// How many have begun.
    begun: AtomicU64,
    /// The queues for which the last one found something; one look at a time.
    last: Mutex<Option<Vec<QueueId>>>,
}

/// What a caller's work on its queue came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TakenIn {
    /// Something was taken in.
    pub(crate) found: bool,
    /// Something was left for later.
    pub(crate) more: bool,
}

impl Intake {
    pub(crate) fn new(store: Arc<dyn Store>, clock: Arc<Clock>, announce: Announce) -> Intake {
        Intake { store, clock, announce, looks: Arc::default() }
    }

    /// Takes in from this queue, for a read: everything that was committed when it was called, up to a bound.
    pub(crate) async fn read(&self, queue: QueueId) -> Result<TakenIn, Error> {
        self.own(queue, READ).await
    }

    /// Takes in a slice from this queue, for a claim that found nothing: more is only needed if there is nothing in it.
    ///
    /// A claim can go on without it, so an error is logged and nothing is taken in.
    pub(crate) async fn try_slice(&self, queue: QueueId) -> TakenIn {
        self.own(queue, 1).await.unwrap_or_else(|error| {
            tracing::warn!(%error, "could not take in what applications left");
            TakenIn::default()
        })
    }

    /// Takes in everything from this queue that was committed when it was called, for those who may not overlook anything.
    pub(crate) async fn all(&self, queue: QueueId) -> Result<TakenIn, Error> {
        self.own(queue, usize::MAX).await
    }

    /// Looks for what was committed by now. Returns the queues for which something waits.
    pub(crate) async fn waiting(&self) -> Result<Vec<QueueId>, Error> {
        self.look(TakesIn::Caller).await
    }

    async fn own(&self, queue: QueueId, most: usize) -> Result<TakenIn, Error> {
        if !self.waiting().await?.contains(&queue) {
            return Ok(TakenIn::default());
        }
        let (mut rows, mut busy) = (0, 0);
        loop {
            let slice = self.slice(queue, TakesIn::Caller).await?;
            rows += slice.rows;
            let taken = TakenIn { found: rows > 0 || busy > 0, more: slice.more };
            if slice.busy {
                busy += 1;
                if busy > BUSY_MAX {
                    return Ok(TakenIn { more: false, ..taken });
                }
                tokio::time::sleep(BUSY_PAUSE).await;
            } else if !slice.more || rows >= most {
                return Ok(taken);
            }
        }
    }

    /// Looks. Many may ask at once; one looks, and those who asked before it began share what it found.
    async fn look(&self, who: TakesIn) -> Result<Vec<QueueId>, Error> {
        let Some(intake) = self.store.intake() else {
            return Ok(Vec::new());
        };
        let asked = self.looks.begun.load(Ordering::SeqCst);
        let mut last = self.looks.last.lock().await;
        if let Some(found) = &*last
            && self.looks.begun.load(Ordering::SeqCst) > asked
        {
            return Ok(found.clone());
        }
        self.looks.begun.fetch_add(1, Ordering::SeqCst);
        *last = None;
        let found = intake.find(who).await?;
        *last = Some(found.clone());
        Ok(found)
    }

    /// Takes in one slice, and announces it.
    async fn slice(&self, queue: QueueId, who: TakesIn) -> Result<IntakeSlice, Error> {
        let Some(intake) = self.store.intake() else {
            return Ok(IntakeSlice::default());
        };
        let slice = intake.take_in(queue, who).await?;
        for handed in &slice.completed {
            // A comparison finds a difference later, and sends it once more.
            let told = confirm(&*self.store, handed, self.clock.estimate()).await;
            told.unwrap_or_else(|error| tracing::warn!(%error, "what was completed is not remembered as delivered"));
        }
        if slice.rows > 0 {
            self.announce.tell(Hint::Queue(queue));
            self.announce.wrote_events();
        }
        Ok(slice)
    }

    /// Looks and takes in until the engine is closed.
    pub(crate) async fn run(self) {
        let mut round = Round::default();
        let mut tick = tokio::time::interval(EVERY);
        tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        while self.store.intake().is_some() {
            tick.tick().await;
            self.find(&mut round).await;
            while let Some(queue) = round.next() {
                match self.slice(queue, TakesIn::Background).await {
                    // What another process is at, and what failed, is found again by the next look.
                    Ok(slice) if slice.more && !slice.busy => round.add([queue]),
                    Ok(_) => {}
                    Err(error) => tracing::warn!(%error, "could not take in what applications left"),
                }
                if tick.tick().now_or_never().is_some() {
                    self.find(&mut round).await;
                }
            }
        }
    }

    async fn find(&self, round: &mut Round) {
        match self.look(TakesIn::Background).await {
            Ok(queues) => round.add(queues),
            Err(error) => tracing::warn!(%error, "could not look for what applications left"),
        }
    }
}

/// Whose turn it is. A queue that joins waits for one slice of each of the others, however much they have.
#[derive(Debug, Default)]
struct Round(VecDeque<QueueId>);

impl Round {
    fn add(&mut self, queues: impl IntoIterator<Item = QueueId>) {
        for queue in queues {
            if !self.0.contains(&queue) {
                self.0.push_back(queue);
            }
        }
    }

    fn next(&mut self) -> Option<QueueId> {
        self.0.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queue_that_joins_waits_for_one_slice_of_each_other_queue() {
        let mut round = Round::default();
        round.add([QueueId(1), QueueId(2)]);
        let mut turns = Vec::new();
        for step in 0..6 {
            if step == 2 {
                round.add([QueueId(3), QueueId(1)]);
            }
            let queue = round.next().expect("they have more");
            turns.push(queue.0);
            round.add([queue]);
        }
        assert_eq!(turns, [1, 2, 1, 2, 3, 1]);
    }
}
