//! A worker: claims, works and settles; sometimes slowly, twice, too late, with the wrong fence, or not at all.

use super::producers::POISON;
use super::{Input, Next, Scene};
use crate::sim::message::{Ask, Reply, WorkerDelivery};
use crate::sim::setup::{GROUPED, HOLD, INBOX, QUEUES, SINGLE, SYNC, queue_id};
use std::sync::Arc;
use turno_core::id::Fence;
use turno_core::limits::ANSWER_BYTES;
use turno_core::queue::{Act, ClaimRequest, DeliveryRef, Settle, SettleOutcome, Settler};
use turno_core::time::Span;

#[derive(Debug)]
pub(crate) struct Worker {
    name: Arc<str>,
    queue: usize,
    work: Vec<WorkerDelivery>,
    /// The last settlement that the worker sent for its first delivery.
    last: Option<Settle>,
    /// The settlement of an earlier delivery, for late repeats.
    old: Option<Settle>,
}

impl Worker {
    pub(crate) fn new(name: Arc<str>) -> Worker {
        Worker { name, queue: 0, work: Vec::new(), last: None, old: None }
    }

    pub(crate) fn step(&mut self, input: Input, scene: &mut Scene<'_>) -> Next {
        match input {
            Input::Wake => self.act(scene),
            Input::Answer(reply) => self.learn(reply, scene),
            Input::NoAnswer => match &self.last {
                Some(again) if scene.draining || scene.rng.percent(75) => Next::call(Ask::Settle(again.clone())),
                _ => {
                    self.over();
                    Next::Sleep(scene.rng.between(5, 60))
                }
            },
        }
    }

    fn over(&mut self) {
        if self.last.is_some() {
            self.old = self.last.take();
        }
        if !self.work.is_empty() {
            self.work.remove(0);
        }
    }

    fn act(&mut self, scene: &mut Scene<'_>) -> Next {
        if self.work.is_empty() {
            return self.claim(scene);
        }
        let act = if scene.draining { Act::Ack { through: None } } else { self.choose(scene) };
        let settle = self.settle(act, scene);
        self.last = Some(settle.clone());
        Next::call(Ask::Settle(settle))
    }

    fn claim(&mut self, scene: &mut Scene<'_>) -> Next {
        if !scene.draining
            && scene.rng.percent(6)
            && let Some(old) = self.old.clone()
        {
            // The worker woke up from a long pause and repeats an old settlement.
            return Next::call(Ask::Settle(old));
        }
        let busy = [GROUPED, GROUPED, SINGLE, HOLD, INBOX, SYNC, SYNC];
        self.queue = if scene.draining { (self.queue + 1) % QUEUES } else { *scene.rng.pick(&busy) };
        let want = ClaimRequest {
            taker: self.name.clone().into(),
            max: scene.rng.between(1, 3) as u32,
            request: None,
            probes: false,
            bytes: ANSWER_BYTES,
        };
        let mut item = None;
        if !scene.draining
            && scene.rng.percent(5)
            && let Some((queue, id, _)) = scene.known.any(scene.rng)
        {
            self.queue = *queue;
            item = Some(id.clone());
        }
        Next::call(Ask::Claim { queue: self.queue, want, item })
    }

    fn choose(&self, scene: &mut Scene<'_>) -> Act {
        let rng = &mut *scene.rng;
        let bodies = &self.work[0].bodies;
        let fail = |item, give_up, retry_in| Act::Fail { error: "no".to_owned(), item, retry_in, give_up };
        if let Some(bad) = bodies.iter().find(|body| &*body.payload == POISON) {
            return fail(rng.percent(40).then(|| bad.id.clone()), false, None);
        }
        let any = || bodies[0].id.clone();
        match rng.below(100) {
            0..52 => Act::Ack { through: None },
            52..60 => Act::Ack { through: Some(rng.pick(bodies).id.clone()) },
            60..70 => fail(None, false, None),
            70..75 => fail(Some(rng.pick(bodies).id.clone()), false, None),
            75..77 => fail(Some(rng.pick(bodies).id.clone()), true, None),
            77..79 => fail(Some(any()), false, Some(Span(rng.between(0, 100)))),
            79..85 => Act::Return { error: None },
            _ => Act::Beat,
        }
    }

    fn settle(&self, act: Act, scene: &mut Scene<'_>) -> Settle {
        let delivery = &self.work[0].delivery;
        let mut reference = DeliveryRef {
            queue: queue_id(self.queue),
            seq: delivery.seq,
            lane: delivery.lane,
            size: delivery.items.len() as u32,
            fence: delivery.fence,
        };
        if !scene.draining && scene.rng.percent(2) {
            reference.fence = Fence(reference.fence.0 + scene.rng.between(-3, 3));
        }
        Settle { reference, policy: scene.setup.queues[self.queue].clone(), act, by: Settler::Server }
    }

    fn learn(&mut self, reply: Reply, scene: &mut Scene<'_>) -> Next {
        match reply {
            Reply::Claim(work) => {
                self.work = work;
                if self.work.is_empty() {
                    return Next::Sleep(if scene.draining {
                        scene.rng.between(40, 120)
                    } else {
                        scene.rng.between(5, 120)
                    });
                }
            }
            Reply::Settle(outcome) if self.last.is_some() => {
                let beat = matches!(outcome, SettleOutcome::Renewed { .. });
                if !beat {
                    self.over();
                }
            }
            _ => {}
        }
        self.pace(scene)
    }

    fn pace(&mut self, scene: &mut Scene<'_>) -> Next {
        let rng = &mut *scene.rng;
        if scene.draining {
            return Next::Sleep(rng.between(1, 5));
        }
        match rng.below(100) {
            // Longer than the delivery lasts.
            0..4 => Next::Sleep(rng.between(250, 900)),
            4..6 => {
                // The worker dies with its deliveries.
                self.work.clear();
                self.last = None;
                Next::Sleep(rng.between(50, 200))
            }
            _ => Next::Sleep(rng.between(1, 50)),
        }
    }
}
