//! Producers that enqueue items, and an operator that retries, cancels and pauses.

use super::{Input, Next, Scene};
use crate::sim::message::Ask;
use crate::sim::setup::{GROUPED, HOLD, INBOX, SINGLE, SYNC, item_id, queue_id};
use std::sync::Arc;
use turno::store::ManageGroup;
use turno_core::audit::Actor;
use turno_core::id::QueueName;
use turno_core::limits::ANSWER_BYTES;
use turno_core::queue::{Enqueue, Manage, NewItem};
use turno_core::time::Span;

/// A payload that every worker fails to process.
pub(crate) const POISON: &str = "poison";

#[derive(Debug, Default)]
pub(crate) struct Producer {
    last: Option<Ask>,
}

impl Producer {
    pub(crate) fn step(&mut self, input: Input, scene: &mut Scene<'_>) -> Next {
        match input {
            Input::Wake => self.produce(scene),
            Input::Answer(_) => {
                self.last = None;
                Next::Sleep(scene.rng.between(5, 180))
            }
            // A producer that gave ids can safely repeat the call. Without ids it cannot know what was accepted.
            Input::NoAnswer => match self.last.clone() {
                Some(Ask::Enqueue(again)) if again.items.iter().all(|item| item.id_given) => {
                    Next::call(Ask::Enqueue(again))
                }
                _ => Next::Sleep(scene.rng.between(5, 80)),
            },
        }
    }

    fn produce(&mut self, scene: &mut Scene<'_>) -> Next {
        let queue = *scene.rng.pick(&[GROUPED, GROUPED, GROUPED, SINGLE, HOLD, INBOX, SYNC, SYNC]);
        if queue == GROUPED && scene.rng.percent(20) {
            let key = scene.rng.pick(&scene.setup.keys).clone();
            return Next::call(Ask::Typing { queue, key });
        }
        let count = if scene.rng.percent(70) { 1 } else { scene.rng.between(2, 4) };
        let items = (0..count).map(|_| self.item(queue, scene)).collect();
        let ask = Ask::Enqueue(Enqueue {
            queue: queue_id(queue),
            policy: scene.setup.queues[queue].clone(),
            items,
            group_bytes: ANSWER_BYTES,
        });
        self.last = Some(ask.clone());
        Next::call(ask)
    }

    fn item(&mut self, queue: usize, scene: &mut Scene<'_>) -> NewItem {
        let number = scene.known.fresh();
        let rng = &mut *scene.rng;
        let poisoned = queue != SYNC && rng.percent(4);
        let payload: Arc<str> = if poisoned { POISON.into() } else { format!("{number}").into() };
        let key = (queue != INBOX).then(|| rng.pick(&scene.setup.keys).clone());
        let delay = Span(if rng.percent(8) { rng.between(20, 300) } else { 0 });
        let id_given = rng.percent(70);
        let id = item_id(format!("i{number}"));
        let mut item = NewItem { id, id_given, key, action: None, payload, delay, since: None };
        if id_given && rng.percent(8) {
            // Repeats an id that was used long ago, with the same payload or another one.
            if let Some((known, id, payload)) = scene.known.any(rng)
                && *known == queue
            {
                item.id = id.clone();
                if rng.percent(70) {
                    item.payload = payload.clone();
                }
            }
        } else if id_given {
            scene.known.remember(queue, item.id.clone(), item.payload.clone());
        }
        item
    }
}

#[derive(Debug, Default)]
pub(crate) struct Operator {
    paused: Option<usize>,
}

impl Operator {
    pub(crate) fn step(&mut self, input: Input, scene: &mut Scene<'_>) -> Next {
        if !matches!(input, Input::Wake) {
            return Next::Sleep(scene.rng.between(20, 300));
        }
        if let Some(queue) = self.paused.take() {
            return Next::call(Ask::Pause { queue, paused: false });
        }
        if scene.rng.percent(6) {
            let queue = scene.rng.below(scene.setup.queues.len());
            self.paused = Some(queue);
            return Next::call(Ask::Pause { queue, paused: true });
        }
        let wish = if scene.rng.percent(60) { Manage::Retry } else { Manage::Cancel };
        match scene.known.any(scene.rng) {
            Some((queue, id, _)) => Next::call(Ask::Manage(ManageGroup {
                queue: queue_id(*queue),
                name: QueueName::new(format!("q{queue}")).expect("valid"),
                policy: scene.setup.queues[*queue].clone(),
                id: id.clone(),
                wish,
                by: Actor::system(),
            })),
            None => Next::Sleep(50),
        }
    }
}
