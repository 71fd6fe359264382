//! Heartbeats: read always, write rarely.
//!
//! Most beats come soon after the last one that was written down and change nothing. They are read without
//! a lock, together, and answered from what is stored; only a beat that must be written, or that finds its
//! lease dead, is decided again under the lock.

use super::commit::{Committers, Job, Reply, gather};
use super::lease::LeaseAnswer;
use crate::error::Error;
use crate::store::Store;
use std::sync::Arc;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use turno_core::id::Numbers;
use turno_core::lease::{Command, decide};

/// Beats that may wait: heartbeats have reserved room, but not without a bound.
const WAITING_MAX: usize = 65_536;
/// Beats read together.
const GROUP_MAX: usize = 1_024;

pub(super) struct BeatJob {
    pub(super) command: Command,
    pub(super) reply: Reply<LeaseAnswer>,
}

pub(super) fn start(tasks: &mut JoinSet<()>, store: Arc<dyn Store>, committers: Committers) -> mpsc::Sender<BeatJob> {
    let (sender, mut jobs) = mpsc::channel::<BeatJob>(WAITING_MAX);
    tasks.spawn(async move {
        let mut waiting = Vec::new();
        while gather(&mut jobs, &mut waiting, GROUP_MAX).await {
            let resources = waiting.iter().map(|job| job.command.resource.clone()).collect();
            match store.peek(resources).await {
                Ok((now, states)) => {
                    for (job, mut state) in waiting.drain(..).zip(states) {
                        let decision = decide(&mut state, &job.command, now, &mut Numbers::new(Vec::new()));
                        if decision.changed {
                            tokio::spawn(write(committers.clone(), job));
                        } else {
                            drop(job.reply.send(Ok(LeaseAnswer { answer: decision.answer, state, now })));
                        }
                    }
                }
                Err(error) => waiting.drain(..).for_each(|job| drop(job.reply.send(Err(Error::Store(error.clone()))))),
            }
        }
    });
    sender
}

/// Decides a beat under the lock.
async fn write(committers: Committers, job: BeatJob) {
    let answer = committers.submit(|reply| Job::Lease(job.command, reply)).await;
    let answer = answer.map(|(decision, state, now)| LeaseAnswer { answer: decision.answer, state, now });
    drop(job.reply.send(answer));
}
