//! The loop of a running worker: claims, starts handlers, renews, settles and returns deliveries.
//!
//! At any time at most one claim, one settlement and one renewal run, and each carries everything that is pending. The
//! loop waits for all of them together, handles whichever completes first, and then checks everything that is due.
//! Handlers run as separate tasks and end with the loop.
//!
//! What a handler's result means is in `handler`; what is due when is in `held`.

use super::handler::{HandlerFn, Progress, Task};
use super::held::{Held, Holding, Stage};
use super::{Worker, WorkerLimit};
use crate::engine::LOOK_AGAIN;
use crate::engine::queue::Claim;
use crate::engine::queue::{Delivery, QueueHandle, Settled, Settlement};
use crate::error::Error;
use crate::store::StoreError;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use std::collections::HashMap;
use std::pin::Pin;
use std::sync::Arc;
use tokio::sync::watch;
use tokio::task::{Id, JoinError, JoinSet};
use turno_core::id::Fence;
use turno_core::limits::{BATCH_MAX, SPAN_MAX};
use turno_core::queue::{Act, DeliveryRef, LimitedBy, SettleOutcome};
use turno_core::time::{Span, Time};

/// A running worker.
pub(super) struct Runner {
    queue: QueueHandle,
    instance: Arc<str>,
    concurrency: usize,
    grace: Span,
    handler: HandlerFn,
    held: Held,
    handlers: JoinSet<Act>,
    /// The delivery that each handler task works on.
    fences: HashMap<Id, Fence>,
    calls: FuturesUnordered<Pin<Box<dyn Future<Output = Answer> + Send>>>,
    claim: Call,
    settle: Call,
    renew: Call,
    /// Settles one delivery per call, to find the one that the database rejects.
    one_by_one: bool,
    stop: watch::Receiver<bool>,
    /// The current limit, if the application sets one.
    limit: Option<watch::Receiver<WorkerLimit>>,
    /// Set when the worker is stopping: handlers may run until then.
    until: Option<Time>,
    /// Whether the grace period is over and the handlers were dropped.
    dropped: bool,
    /// The error that ended the worker.
    ended_by: Option<Error>,
    /// Whether the warning about a limited renewal was logged.
    warned_limited: bool,
}

/// Whether a call is running, and when the next one may start.
#[derive(Default)]
struct Call {
    under_way: bool,
    not_before: Option<Time>,
}

impl Call {
    fn may_start(&self, now: Time) -> bool {
        !self.under_way && self.not_before.is_none_or(|at| at <= now)
    }

    fn ended(&mut self, again: Option<Time>) {
        *self = Call { under_way: false, not_before: again };
    }
}

/// The answer to a call to the engine.
enum Answer {
    Claimed(Result<Vec<Delivery>, Error>),
    Settled(Vec<Fence>, Result<Vec<Settled>, Error>),
    /// The first field is the time of the request.
    Renewed(Time, Vec<Fence>, Result<Vec<Settled>, Error>),
}

impl Runner {
    pub(super) fn new(worker: Worker, stop: watch::Receiver<bool>) -> Runner {
        let Worker { queue, instance, concurrency, grace, handler, limit, margin } = worker;
        Runner {
            queue,
            instance,
            concurrency,
            grace,
            handler,
            held: Held::with(margin),
            handlers: JoinSet::new(),
            fences: HashMap::new(),
            calls: FuturesUnordered::new(),
            claim: Call::default(),
            settle: Call::default(),
            renew: Call::default(),
            one_by_one: false,
            stop,
            limit,
            until: None,
            dropped: false,
            ended_by: None,
            warned_limited: false,
        }
    }

    /// Runs until the worker is stopped or loses its access; then returns the error.
    pub(super) async fn run(mut self) -> Result<(), Error> {
        let clock = self.queue.clock().clone();
        loop {
            let now = clock.estimate();
            self.start_due(now);
            if self.is_done() {
                return self.ended_by.map_or(Ok(()), Err);
            }
            let wake = self.wake_at(now);
            let sleep = async {
                match wake {
                    Some(at) => clock.sleep_until(at).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                Some(answer) = self.calls.next(), if !self.calls.is_empty() => {
                    self.handle_answer(answer, clock.estimate());
                }
                Some(ended) = self.handlers.join_next_with_id(), if !self.handlers.is_empty() => {
                    self.handler_ended(ended);
                }
                () = changed(&mut self.limit) => {}
                _ = self.stop.changed(), if self.until.is_none() => self.until = Some(clock.estimate() + self.grace),
                () = sleep => {}
            }
            // Handlers that ended together are settled together.
            while let Some(ended) = self.handlers.try_join_next_with_id() {
                self.handler_ended(ended);
            }
        }
    }

    /// Expires, claims, settles and renews what is due at `now`.
    fn start_due(&mut self, now: Time) {
        for holding in self.held.expire(now) {
            give_up(holding, "it expired before it could be renewed or settled");
        }
        if self.until.is_some_and(|until| until <= now) && !self.dropped {
            self.dropped = true;
            self.handlers.abort_all();
        }
        self.start_claim(now);
        self.start_settle(now);
        self.start_renew(now);
    }

    /// Returns whether the worker is stopping and every delivery is settled or given up.
    fn is_done(&self) -> bool {
        let quiet = !self.claim.under_way && self.handlers.is_empty();
        self.until.is_some() && self.held.is_empty() && (quiet || self.dropped)
    }

    /// Returns when to look again if nothing else happens.
    fn wake_at(&self, now: Time) -> Option<Time> {
        let renewal = self.held.next_renewal().filter(|_| !self.renew.under_way && !self.dropped);
        let times = [
            self.held.next_expiry(),
            renewal.max(renewal.and(self.renew.not_before)),
            self.settle.not_before,
            self.claim.not_before,
            self.until.filter(|_| !self.dropped),
        ];
        // A call that is due and could not start waits for another answer, so past times are ignored. The clock may be
        // corrected meanwhile, hence the upper bound.
        times.into_iter().flatten().filter(|at| *at > now).min().map(|at| at.min(now + LOOK_AGAIN))
    }

    /// Returns how many more deliveries may start. Deliveries that wait to be settled need no handler, but their
    /// number is bounded too.
    fn free_slots(&self) -> usize {
        let allowed = self.limit().map_or(self.concurrency, |limit| limit.count().min(self.concurrency));
        let limit = allowed.saturating_sub(self.handlers.len());
        limit.min((2 * self.concurrency).saturating_sub(self.held.len()))
    }

    /// Returns the application's current limit, if any.
    fn limit(&self) -> Option<WorkerLimit> {
        self.limit.as_ref().map(|limit| *limit.borrow())
    }

    fn start_claim(&mut self, now: Time) {
        let free = self.free_slots();
        if free == 0 || self.until.is_some() || !self.claim.may_start(now) {
            return;
        }
        self.claim = Call { under_way: true, not_before: None };
        let (queue, instance, mut stop) = (self.queue.clone(), self.instance.clone(), self.stop.clone());
        let free = if self.limit() == Some(WorkerLimit::Probe) { WorkerLimit::Probe } else { WorkerLimit::UpTo(free) };
        let mut limit = self.limit.clone();
        self.calls.push(Box::pin(async move {
            let stopped = async {
                tokio::select! {
                    _ = stop.wait_for(|stop| *stop) => {}
                    () = changed(&mut limit) => {}
                }
            };
            let claim = Claim::by(&instance).limited(free).wait(SPAN_MAX.into());
            Answer::Claimed(queue.claim_until(claim, stopped).await)
        }));
    }

    fn start_settle(&mut self, now: Time) {
        if !self.settle.may_start(now) {
            return;
        }
        let over = self.held.to_settle(if self.one_by_one { 1 } else { BATCH_MAX });
        self.settle = Call { under_way: !over.is_empty(), not_before: None };
        if over.is_empty() {
            self.one_by_one = false;
        } else {
            self.send_acts(over, Answer::Settled);
        }
    }

    fn start_renew(&mut self, now: Time) {
        if self.dropped || !self.renew.may_start(now) {
            return;
        }
        let running = self.held.to_renew(now);
        self.renew = Call { under_way: !running.is_empty(), not_before: None };
        if !running.is_empty() {
            let beats = running.into_iter().map(|reference| (reference, Act::Beat)).collect();
            self.send_acts(beats, move |fences, answers| Answer::Renewed(now, fences, answers));
        }
    }

    fn send_acts<F>(&mut self, acts: Vec<(DeliveryRef, Act)>, answer: F)
    where
        F: FnOnce(Vec<Fence>, Result<Vec<Settled>, Error>) -> Answer + Send + 'static,
    {
        let queue = self.queue.clone();
        self.calls.push(Box::pin(async move {
            let fences = acts.iter().map(|(reference, _)| reference.fence).collect();
            let acts = acts.into_iter().map(|(reference, act)| Settlement { reference, act });
            answer(fences, queue.settle(acts.collect()).await)
        }));
    }

    fn handle_answer(&mut self, answer: Answer, now: Time) {
        match answer {
            Answer::Claimed(Ok(deliveries)) => {
                self.claim.ended(None);
                deliveries.into_iter().for_each(|got| self.start_handler(got));
            }
            Answer::Claimed(Err(error @ (Error::Denied(_) | Error::Closed))) => {
                self.claim.ended(None);
                self.end_with(error, now);
            }
            Answer::Claimed(Err(error)) => {
                tracing::warn!(%error, instance = %self.instance, "no work for now; asking again");
                self.claim.ended(Some(now + LOOK_AGAIN));
            }
            Answer::Settled(fences, answer) => self.settled(fences, answer, now),
            Answer::Renewed(asked, fences, Ok(answers)) => {
                self.renew.ended(None);
                for (fence, answer) in fences.into_iter().zip(answers) {
                    self.renewed(fence, &answer.outcome, asked);
                }
            }
            Answer::Renewed(_, _, Err(error @ (Error::Denied(_) | Error::Closed))) => {
                self.renew.ended(None);
                self.end_with(error, now);
            }
            Answer::Renewed(_, _, Err(error)) => {
                tracing::warn!(%error, instance = %self.instance, "deliveries were not renewed; trying again");
                self.renew.ended(Some(now + self.held.retry_after()));
            }
        }
    }

    /// Ends the worker after a loss of access, because a retry cannot help. Its deliveries are no longer its own and
    /// expire.
    fn end_with(&mut self, error: Error, now: Time) {
        tracing::error!(%error, instance = %self.instance, "the worker may not go on");
        self.until = Some(now);
        self.ended_by = Some(error);
        self.held.clear().into_iter().for_each(|holding| give_up(holding, "the worker may not hold it any more"));
    }

    /// Starts the handler. Returns the delivery instead if the worker is already stopping.
    fn start_handler(&mut self, got: Delivery) {
        if *self.stop.borrow() {
            return self.held.insert(Holding::new(&got, Stage::Over(Act::Return { error: None })));
        }
        let fence = got.reference.fence;
        let (alive, watched) = watch::channel(());
        let progress = Progress::default();
        let task = Task { got: got.clone(), alive: watched, stopping: self.stop.clone(), progress: progress.clone() };
        let handler = self.handlers.spawn((self.handler)(task));
        self.fences.insert(handler.id(), fence);
        self.held.insert(Holding::new(&got, Stage::Running { handler, progress, alive }));
    }

    fn handler_ended(&mut self, ended: Result<(Id, Act), JoinError>) {
        let (id, act) = match ended {
            Ok((id, act)) => (id, Some(act)),
            Err(error) if error.is_panic() => {
                let text = error.to_string();
                (error.id(), Some(Act::Fail { error: text, item: None, retry_in: None, give_up: false }))
            }
            Err(dropped) => (dropped.id(), None),
        };
        if let Some(fence) = self.fences.remove(&id) {
            self.held.finish(fence, act);
        }
    }

    fn settled(&mut self, fences: Vec<Fence>, answer: Result<Vec<Settled>, Error>, now: Time) {
        let answers = match answer {
            Ok(answers) => answers,
            Err(Error::Store(StoreError::Rejected(_))) if fences.len() > 1 => {
                self.one_by_one = true;
                return self.settle.ended(None);
            }
            Err(error @ Error::Store(StoreError::Rejected(_))) => {
                tracing::error!(%error, ?fences, "a settlement was refused; the delivery expires");
                fences.into_iter().for_each(|fence| drop(self.held.remove(fence)));
                return self.settle.ended(None);
            }
            Err(error @ (Error::Denied(_) | Error::Closed)) => {
                self.settle.ended(None);
                return self.end_with(error, now);
            }
            Err(error) => {
                tracing::warn!(%error, instance = %self.instance, "nothing was settled; trying again");
                return self.settle.ended(Some(now + self.held.retry_after()));
            }
        };
        self.settle.ended(None);
        for (fence, answer) in fences.into_iter().zip(answers) {
            let holding = self.held.remove(fence);
            if let Some(holding) = holding.filter(|_| answer.outcome == SettleOutcome::Stale) {
                give_up(holding, "it was settled too late");
            }
        }
    }

    /// Logs the limit once per worker, because every long delivery of the queue has the same limit.
    fn warn_limited(&mut self, limit: LimitedBy, expires_at: Time) {
        if !std::mem::replace(&mut self.warned_limited, true) {
            let (queue, instance, limit) = (self.queue.name(), &self.instance, limit.name());
            tracing::warn!(
                %queue, %instance, limited_by = limit, expires_at = expires_at.0,
                "heartbeats do not extend this delivery; a handler that takes longer needs a larger max_hold_ms"
            );
        }
    }

    fn renewed(&mut self, fence: Fence, outcome: &SettleOutcome, asked: Time) {
        match outcome {
            SettleOutcome::Renewed { expires_at, limited_by } => {
                // Heartbeats continue even if they do not extend the delivery, because they detect its loss.
                self.held.renewed(fence, *expires_at, asked);
                if let Some(limit) = *limited_by {
                    self.warn_limited(limit, *expires_at);
                }
            }
            _ => {
                if let Some(holding) = self.held.lose(fence) {
                    give_up(holding, "somebody else may have it");
                }
            }
        }
    }
}

/// Completes when the limit changes. Never completes without a limit or after its sender is gone.
async fn changed(limit: &mut Option<watch::Receiver<WorkerLimit>>) {
    if let Some(limit) = limit
        && limit.changed().await.is_ok()
    {
        return;
    }
    std::future::pending().await
}

/// Gives up a lost delivery: drops its handler and settles nothing.
fn give_up(holding: Holding, why: &str) {
    tracing::warn!(fence = holding.reference.fence.0, why, "a delivery was lost");
    if let Stage::Running { handler, alive, .. } = holding.stage {
        handler.abort();
        drop(alive);
    }
}
