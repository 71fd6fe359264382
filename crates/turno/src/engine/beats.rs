//! Heartbeats: always read, rarely written.
//!
//! Most heartbeats arrive soon after the last stored one and change nothing. They are read together without a lock and
//! answered from the stored state. Only a heartbeat that must be stored, or that finds its lease ended, is decided
//! again under the lock.

use super::commit::{Committers, Job, Reply, gather};
use super::lease::LeaseAnswer;
use super::telemetry::Telemetry;
use crate::error::Error;
use crate::store::{Peeked, Store, StoreError};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use turno_core::access::Epoch;
use turno_core::id::Numbers;
use turno_core::lease::{Command, decide};

/// The largest number of waiting heartbeats. They have more room than commands, but not without a bound.
const WAITING_MAX: usize = 32_768;
/// The largest number of heartbeats read together.
const GROUP_MAX: usize = 1_024;

struct BeatJob {
    command: Command,
    /// The epoch of access at which it was allowed.
    as_of: Option<Epoch>,
    reply: Reply<LeaseAnswer>,
}

/// Two readers, so that one sends its answers while the database reads for the other.
const READERS: usize = 2;

/// The heartbeats that wait for a reader.
pub(super) struct Beats {
    waiting: [mpsc::Sender<BeatJob>; READERS],
    turn: AtomicUsize,
}

impl Beats {
    pub(super) fn start(
        tasks: &mut JoinSet<()>,
        store: &Arc<dyn Store>,
        committers: &Committers,
        telemetry: &Telemetry,
    ) -> Beats {
        let waiting = std::array::from_fn(|_| {
            let (sender, jobs) = mpsc::channel(WAITING_MAX);
            tasks.spawn(read(jobs, store.clone(), committers.clone(), telemetry.clone()));
            sender
        });
        Beats { waiting, turn: AtomicUsize::new(0) }
    }

    /// Waits for the answer to a heartbeat. If too many are waiting, returns `Overloaded` at once.
    pub(super) async fn beat(&self, command: Command, as_of: Option<Epoch>) -> Result<LeaseAnswer, Error> {
        let (reply, answer) = oneshot::channel();
        let reader = self.turn.fetch_add(1, Ordering::Relaxed) % READERS;
        self.waiting[reader].try_send(BeatJob { command, as_of, reply }).map_err(|full| match full {
            mpsc::error::TrySendError::Full(_) => Error::Overloaded,
            mpsc::error::TrySendError::Closed(_) => Error::Closed,
        })?;
        answer.await.map_err(|_| Error::Closed)?
    }
}

async fn read(mut jobs: mpsc::Receiver<BeatJob>, store: Arc<dyn Store>, committers: Committers, telemetry: Telemetry) {
    let mut waiting = Vec::new();
    while gather(&mut jobs, &mut waiting, GROUP_MAX).await {
        let resources = waiting.iter().map(|job: &BeatJob| job.command.resource.clone()).collect();
        match store.peek(resources).await {
            Ok(Peeked { now, epoch, states }) => {
                for (job, mut state) in waiting.drain(..).zip(states) {
                    if job.as_of.is_some_and(|as_of| as_of != epoch) {
                        drop(job.reply.send(Err(Error::Store(StoreError::AccessChanged))));
                        continue;
                    }
                    let decision = decide(&mut state, &job.command, now, &mut Numbers::new(Vec::new()));
                    if decision.changed {
                        tokio::spawn(write(committers.clone(), job));
                    } else {
                        telemetry.heartbeat_answered(&job.command, &decision.answer);
                        drop(job.reply.send(Ok(LeaseAnswer { answer: decision.answer, state, now })));
                    }
                }
            }
            Err(error) => waiting.drain(..).for_each(|job| drop(job.reply.send(Err(Error::Store(error.clone()))))),
        }
    }
}

/// Decides a heartbeat under the lock.
async fn write(committers: Committers, job: BeatJob) {
    let answer = committers.submit(job.as_of, |reply| Job::Lease(job.command, reply)).await;
    let answer = answer.map(|(decision, state, now)| LeaseAnswer { answer: decision.answer, state, now });
    drop(job.reply.send(answer));
}
