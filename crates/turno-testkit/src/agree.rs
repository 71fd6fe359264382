//! Sends the same random commands to the model and to a real store: every answer must agree.
//!
//! The model and the store draw numbers from different sequences, and a store may skip numbers. So numbers are
//! mapped: each number of the model stands for one number of the store, always the same and in the same order.

mod commands;
mod renumber;

use crate::conformance::{Backend, World};
use crate::model::Model;
use commands::{Random, Session};
use renumber::Renumber;
use std::sync::Arc;
use turno::clock::{Clock, Manual};
use turno::core::queue::{Kind, OnExhausted, Policy};
use turno::core::time::Span;
use turno::{Options, Turno};

/// Returns policies with short times, so that windows end, deliveries expire and items exhaust often.
fn policies() -> [Policy; 5] {
    let quick = |policy: Policy| Policy {
        lock_timeout: Span(400),
        max_hold: Some(Span(900)),
        backoff: Span(100),
        max_attempts: 3,
        ..policy
    };
    let lane = Policy::for_kind(Kind::Lane);
    [
        quick(Policy {
            window: Span(150),
            typing_extension: Span(200),
            max_wait: Span(700),
            batch_max: 4,
            ..lane.clone()
        }),
        quick(Policy { window: Span::ZERO, batch_max: 1, ..lane.clone() }),
        quick(Policy { window: Span::ZERO, batch_max: 3, on_exhausted: OnExhausted::Hold, ..lane }),
        quick(Policy::for_kind(Kind::Inbox)),
        quick(Policy::for_kind(Kind::Sync)),
    ]
}

/// Runs `commands` random commands of one seed on the model and on the store. Panics if an answer differs.
pub async fn agree(backend: Backend, seed: u64, commands: usize) {
    let world = World::on(backend).await;
    let time = Manual::starting_at(crate::conformance::START);
    let clock = Arc::new(Clock::manual(time.clone()));
    let model = Turno::on(Arc::new(Model::new(clock.clone())), Options { clock, sweep: false, ..Options::default() });
    let mut random = Random(seed);
    let mut numbers = Renumber::default();
    let policies = policies();
    let mut ours = Session::start(world.turno.clone(), world.time.clone(), &policies).await;
    let mut models = Session::start(model, time, &policies).await;
    for step in 0..commands {
        let command = models.choose(&mut random);
        let expected = models.run(&command).await;
        let got = ours.run(&command).await;
        if let Err(difference) = numbers.compare(&expected, &got) {
            panic!("seed {seed}, step {step}, {command:?}: {difference}\nmodel: {expected:#?}\nstore: {got:#?}");
        }
    }
    let (expected, got) = (models.everything().await, ours.everything().await);
    for (expected, got) in expected.iter().zip(&got) {
        if let Err(difference) = numbers.compare(expected, got) {
            panic!("seed {seed}, at the end: {difference}\nmodel: {expected:#?}\nstore: {got:#?}");
        }
    }
    assert_eq!(expected.len(), got.len(), "seed {seed}: the number of items agrees");
}
