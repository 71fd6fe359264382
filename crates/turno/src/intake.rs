//! The intake: takes in rows that applications wrote in their own transactions, with `turno.enqueue`, with
//! `turno.complete` and with the triggers of sources.
//!
//! Applications send no notification when they commit, because a notification takes a server-wide lock. So a
//! background task looks twenty times a second and takes in the rows in slices, one queue after another, so that a
//! bulk change in one queue does not delay the others.
//!
//! A call that must see everything committed before it also looks, and takes in rows of its own queue only. Claims do
//! so when they find nothing, and stop as soon as there is something.

use crate::clock::Clock;
use crate::engine::Announce;
use crate::engine::sync::confirm;
use crate::error::Error;
use crate::store::{Hint, IntakeCaller, IntakeSlice, Store};
use futures_util::FutureExt;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::Mutex;
use turno_core::id::QueueId;

/// The interval of the background task. Measured by the machine's clock, because the database's clock may be a manual
/// one.
const EVERY: Duration = Duration::from_millis(50);
/// The largest number of rows that a read takes in before it answers: about a second of work. With a larger backlog,
/// lists and counts are incomplete until the background task has caught up.
const READ: usize = 10_000;
/// The pause and the number of tries while another process takes in rows of the same queue. Together much longer than
/// a slice needs.
const BUSY_PAUSE: Duration = Duration::from_millis(5);
const BUSY_MAX: u32 = 1_000;

/// Takes in rows that applications wrote.
#[derive(Clone)]
pub(crate) struct Intake {
    store: Arc<dyn Store>,
    clock: Arc<Clock>,
    announce: Announce,
    looks: Arc<Looks>,
}

#[derive(Default)]
struct Looks {
    /// How many looks have begun.
    begun: AtomicU64,
    /// The queues that the last look found. The lock also serializes the looks.
    last: Mutex<Option<Vec<QueueId>>>,
}

/// The result of taking in rows of one queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TakenIn {
    /// Whether rows were taken in.
    pub(crate) found: bool,
    /// Whether rows are left.
    pub(crate) more: bool,
}

impl Intake {
    pub(crate) fn new(store: Arc<dyn Store>, clock: Arc<Clock>, announce: Announce) -> Intake {
        Intake { store, clock, announce, looks: Arc::default() }
    }

    /// Takes in rows of this queue for a read: everything committed before the call, up to a bound.
    pub(crate) async fn read(&self, queue: QueueId) -> Result<TakenIn, Error> {
        self.take_in(queue, READ).await
    }

    /// Takes in one slice of this queue, for a claim that found nothing. The claim asks for more only if the slice had
    /// nothing due.
    ///
    /// The claim can continue without it, so an error is logged and counts as nothing taken in.
    pub(crate) async fn try_slice(&self, queue: QueueId) -> TakenIn {
        self.take_in(queue, 1).await.unwrap_or_else(|error| {
            tracing::warn!(%error, "could not take in what applications left");
            TakenIn::default()
        })
    }

    /// Takes in all rows of this queue that were committed before the call, for callers that must miss nothing.
    pub(crate) async fn all(&self, queue: QueueId) -> Result<TakenIn, Error> {
        self.take_in(queue, usize::MAX).await
    }

    /// Looks for committed rows and returns the queues that have some.
    pub(crate) async fn waiting(&self) -> Result<Vec<QueueId>, Error> {
        self.look(IntakeCaller::Caller).await
    }

    async fn take_in(&self, queue: QueueId, most: usize) -> Result<TakenIn, Error> {
        if !self.waiting().await?.contains(&queue) {
            return Ok(TakenIn::default());
        }
        let (mut rows, mut busy) = (0, 0);
        loop {
            let slice = self.slice(queue, IntakeCaller::Caller).await?;
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

    /// Looks for rows. Concurrent callers share one look if it began after they asked.
    async fn look(&self, who: IntakeCaller) -> Result<Vec<QueueId>, Error> {
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

    /// Takes in one slice and announces it.
    async fn slice(&self, queue: QueueId, who: IntakeCaller) -> Result<IntakeSlice, Error> {
        let Some(intake) = self.store.intake() else {
            return Ok(IntakeSlice::default());
        };
        let slice = intake.take_in(queue, who).await?;
        for reference in &slice.completed {
            // If this fails, a later check finds a difference and sends the key again.
            let confirmed = confirm(&*self.store, reference, self.clock.estimate()).await;
            confirmed
                .unwrap_or_else(|error| tracing::warn!(%error, "what was completed is not remembered as delivered"));
        }
        if slice.rows > 0 {
            self.announce.send(Hint::Queue(queue));
            self.announce.wrote_events();
        }
        Ok(slice)
    }

    /// Looks and takes in rows until the engine is closed.
    pub(crate) async fn run(self) {
        let mut round = Round::default();
        let mut tick = tokio::time::interval(EVERY);
        tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        while self.store.intake().is_some() {
            tick.tick().await;
            self.find(&mut round).await;
            while let Some(queue) = round.next() {
                match self.slice(queue, IntakeCaller::Background).await {
                    // A queue that another process is working on, or that failed, is found again by the next look.
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
        match self.look(IntakeCaller::Background).await {
            Ok(queues) => round.add(queues),
            Err(error) => tracing::warn!(%error, "could not look for what applications left"),
        }
    }
}

/// The order of the queues. A queue that joins waits for one slice of each other queue, whatever their backlog.
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
            let queue = round.next().expect("queues are added again");
            turns.push(queue.0);
            round.add([queue]);
        }
        assert_eq!(turns, [1, 2, 1, 2, 3, 1]);
    }
}
