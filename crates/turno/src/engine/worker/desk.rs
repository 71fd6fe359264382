//! The desk of a running worker: one task that claims, starts, renews, settles and gives back.
//!
//! At any time there is at most one claim, one settlement and one renewal under way, and each carries all that
//! has gathered. The desk never waits for one of them alone: whatever comes first is dealt with, and then it
//! looks at everything anew. Handlers run as tasks of their own, and end with the desk.
//!
//! Not here: what a handler's outcome means (`handler`), what is due when (`held`).

use super::handler::{Progress, Task, Work};
use super::held::{Held, Holding, Stage};
use super::{Hands, Worker};
use crate::engine::LOOK_AGAIN;
use crate::engine::queue::{Got, QueueHandle, Settled, Settlement};
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
use turno_core::limits::BATCH_MAX;
use turno_core::queue::{Act, Handed, LimitedBy, SettleOutcome};
use turno_core::time::{Span, Time};

/// A running worker.
pub(super) struct Desk {
    queue: QueueHandle,
    instance: Arc<str>,
    concurrency: usize,
    grace: Span,
    work: Work,
    held: Held,
    handlers: JoinSet<Act>,
    /// Which delivery a handler works on.
    fences: HashMap<Id, Fence>,
    calls: FuturesUnordered<Pin<Box<dyn Future<Output = Answer> + Send>>>,
    claim: Call,
    settle: Call,
    renew: Call,
    /// The database refused a settlement among others: find out which.
    one_by_one: bool,
    stop: watch::Receiver<bool>,
    /// How many hands it may use at the moment, if somebody says so.
    hands: Option<watch::Receiver<Hands>>,
    /// Stopping; handlers may go on until then.
    until: Option<Time>,
    /// They had their time.
    dropped: bool,
    /// Why it ended by itself.
    ended_by: Option<Error>,
    /// It has logged that the queue's policy keeps deliveries from being extended.
    warned_limited: bool,
}

/// Whether a call is under way, and when the next one may be.
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

/// What came back from the engine.
enum Answer {
    Claimed(Result<Vec<Got>, Error>),
    Settled(Vec<Fence>, Result<Vec<Settled>, Error>),
    /// With when it was asked for.
    Renewed(Time, Vec<Fence>, Result<Vec<Settled>, Error>),
}

impl Desk {
    pub(super) fn new(worker: Worker, stop: watch::Receiver<bool>) -> Desk {
        let Worker { queue, instance, concurrency, grace, work, hands, margin } = worker;
        Desk {
            queue,
            instance,
            concurrency,
            grace,
            work,
            held: Held::with(margin),
            handlers: JoinSet::new(),
            fences: HashMap::new(),
            calls: FuturesUnordered::new(),
            claim: Call::default(),
            settle: Call::default(),
            renew: Call::default(),
            one_by_one: false,
            stop,
            hands,
            until: None,
            dropped: false,
            ended_by: None,
            warned_limited: false,
        }
    }

    /// Until it is told to stop, or may not go on: then it says why.
    pub(super) async fn run(mut self) -> Result<(), Error> {
        let clock = self.queue.clock().clone();
        loop {
            let now = clock.estimate();
            self.look(now);
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
                Some(answer) = self.calls.next(), if !self.calls.is_empty() => self.hear(answer, clock.estimate()),
                Some(ended) = self.handlers.join_next_with_id(), if !self.handlers.is_empty() => self.ended(ended),
                () = changed(&mut self.hands) => {}
                _ = self.stop.changed(), if self.until.is_none() => self.until = Some(clock.estimate() + self.grace),
                () = sleep => {}
            }
            // Those who ended together are settled together.
            while let Some(ended) = self.handlers.try_join_next_with_id() {
                self.ended(ended);
            }
        }
    }

    /// Does all that is due.
    fn look(&mut self, now: Time) {
        for holding in self.held.expire(now) {
            lost(holding, "it expired before it could be renewed or settled");
        }
        if self.until.is_some_and(|until| until <= now) && !self.dropped {
            self.dropped = true;
            self.handlers.abort_all();
        }
        self.start_claim(now);
        self.start_settle(now);
        self.start_renew(now);
    }

    /// Stopped, and nothing left to tell the database.
    fn is_done(&self) -> bool {
        let quiet = !self.claim.under_way && self.handlers.is_empty();
        self.until.is_some() && self.held.is_empty() && (quiet || self.dropped)
    }

    /// When to look again although nothing was heard.
    fn wake_at(&self, now: Time) -> Option<Time> {
        let renewal = self.held.next_renewal().filter(|_| !self.renew.under_way && !self.dropped);
        let times = [
            self.held.next_expiry(),
            renewal.max(renewal.and(self.renew.not_before)),
            self.settle.not_before,
            self.claim.not_before,
            self.until.filter(|_| !self.dropped),
        ];
        // What is due and was not done waits for something else to happen. The clock may be corrected meanwhile.
        times.into_iter().flatten().filter(|at| *at > now).min().map(|at| at.min(now + LOOK_AGAIN))
    }

    /// Hands that are free. What waits to be settled takes none, but there is a bound to it.
    fn free(&self) -> usize {
        let allowed = self.allowed().map_or(self.concurrency, |hands| hands.count().min(self.concurrency));
        let hands = allowed.saturating_sub(self.handlers.len());
        hands.min((2 * self.concurrency).saturating_sub(self.held.len()))
    }

    /// What it may do, if somebody says so.
    fn allowed(&self) -> Option<Hands> {
        self.hands.as_ref().map(|hands| *hands.borrow())
    }

    fn start_claim(&mut self, now: Time) {
        let free = self.free();
        if free == 0 || self.until.is_some() || !self.claim.may_start(now) {
            return;
        }
        self.claim = Call { under_way: true, not_before: None };
        let (queue, instance, mut stop) = (self.queue.clone(), self.instance.clone(), self.stop.clone());
        let free = if self.allowed() == Some(Hands::Probe) { Hands::Probe } else { Hands::UpTo(free) };
        let mut hands = self.hands.clone();
        self.calls.push(Box::pin(async move {
            let stopped = async {
                tokio::select! {
                    _ = stop.wait_for(|stop| *stop) => {}
                    () = changed(&mut hands) => {}
                }
            };
            Answer::Claimed(queue.claim_for(&instance, free, stopped).await)
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
            self.tell(over, Answer::Settled);
        }
    }

    fn start_renew(&mut self, now: Time) {
        if self.dropped || !self.renew.may_start(now) {
            return;
        }
        let running = self.held.to_renew(now);
        self.renew = Call { under_way: !running.is_empty(), not_before: None };
        if !running.is_empty() {
            let beats = running.into_iter().map(|handed| (handed, Act::Beat)).collect();
            self.tell(beats, move |fences, answers| Answer::Renewed(now, fences, answers));
        }
    }

    fn tell<F>(&mut self, acts: Vec<(Handed, Act)>, answer: F)
    where
        F: FnOnce(Vec<Fence>, Result<Vec<Settled>, Error>) -> Answer + Send + 'static,
    {
        let queue = self.queue.clone();
        self.calls.push(Box::pin(async move {
            let fences = acts.iter().map(|(handed, _)| handed.fence).collect();
            let acts = acts.into_iter().map(|(handed, act)| Settlement { handed, act });
            answer(fences, queue.settle(acts.collect()).await)
        }));
    }

    fn hear(&mut self, answer: Answer, now: Time) {
        match answer {
            Answer::Claimed(Ok(deliveries)) => {
                self.claim.ended(None);
                deliveries.into_iter().for_each(|got| self.begin(got));
            }
            Answer::Claimed(Err(error @ (Error::Denied(_) | Error::Closed))) => {
                self.claim.ended(None);
                self.shut_out(error, now);
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
                self.shut_out(error, now);
            }
            Answer::Renewed(_, _, Err(error)) => {
                tracing::warn!(%error, instance = %self.instance, "deliveries were not renewed; trying again");
                self.renew.ended(Some(now + self.held.retry_after()));
            }
        }
    }

    /// It will not be let in again by asking again: it stops, and what it holds is not its own any more and expires.
    fn shut_out(&mut self, error: Error, now: Time) {
        tracing::error!(%error, instance = %self.instance, "the worker may not go on");
        self.until = Some(now);
        self.ended_by = Some(error);
        self.held.clear().into_iter().for_each(|holding| lost(holding, "the worker may not hold it any more"));
    }

    /// Starts the handler, or gives back what came too late.
    fn begin(&mut self, got: Got) {
        if *self.stop.borrow() {
            return self.held.insert(Holding::new(&got, Stage::Over(Act::Return { error: None })));
        }
        let fence = got.handed.fence;
        let (alive, watched) = watch::channel(());
        let progress = Progress::default();
        let task = Task { got: got.clone(), alive: watched, stopping: self.stop.clone(), progress: progress.clone() };
        let handler = self.handlers.spawn((self.work)(task));
        self.fences.insert(handler.id(), fence);
        self.held.insert(Holding::new(&got, Stage::Running { handler, progress, alive }));
    }

    fn ended(&mut self, ended: Result<(Id, Act), JoinError>) {
        let (id, act) = match ended {
            Ok((id, act)) => (id, Some(act)),
            Err(error) if error.is_panic() => {
                let text = error.to_string();
                (error.id(), Some(Act::Fail { error: text, item: None, retry_in: None, give_up: false }))
            }
            Err(dropped) => (dropped.id(), None),
        };
        if let Some(fence) = self.fences.remove(&id) {
            self.held.over(fence, act);
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
                return self.shut_out(error, now);
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
                lost(holding, "it was settled too late");
            }
        }
    }

    /// Warns once per worker: every long delivery of the queue has the same limit.
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
                // Also without gain the heartbeats go on: they tell the worker when the delivery was taken from it.
                self.held.renewed(fence, *expires_at, asked);
                if let Some(limit) = *limited_by {
                    self.warn_limited(limit, *expires_at);
                }
            }
            _ => {
                if let Some(holding) = self.held.lose(fence) {
                    lost(holding, "somebody else may have it");
                }
            }
        }
    }
}

/// Returns when another number of hands is allowed. Where nobody says so, or nobody will say so again, that is never.
async fn changed(hands: &mut Option<watch::Receiver<Hands>>) {
    if let Some(hands) = hands
        && hands.changed().await.is_ok()
    {
        return;
    }
    std::future::pending().await
}

/// A delivery is not ours any more: whoever works on it is dropped, and nothing is settled.
fn lost(holding: Holding, why: &str) {
    tracing::warn!(fence = holding.handed.fence.0, why, "a delivery was lost");
    if let Stage::Running { handler, alive, .. } = holding.stage {
        handler.abort();
        drop(alive);
    }
}
