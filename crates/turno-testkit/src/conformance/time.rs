//! Clocks that step.

use super::world::{World, put, resource, take, take_one};
use turno::core::lease::{Action, Refused};
use turno::core::queue::{Kind, Policy};
use turno::core::time::Span;

super::cases![
    a_clock_that_steps_back_never_revives_an_expired_lease,
    a_clock_that_steps_back_does_not_keep_a_dead_lease_for_as_long,
    a_process_that_starts_after_a_backward_step_goes_on_from_the_mark,
    a_clock_that_steps_forward_ends_leases_and_loses_nothing,
];

async fn a_clock_that_steps_back_never_revives_an_expired_lease(world: World) {
    let fence = world.claim("ana").await.unwrap();
    world.pass(30_000);
    world.claim("luis").await.unwrap();
    world.time.step(Span(-25_000));
    let answer = world.lease("ana", Action::Heartbeat { fence, idle: None, worked: false }).await.answer;
    assert!(matches!(answer, Err(Refused::Lost { .. })), "{answer:?}");
    let now = world.turno.lease_state(resource()).await.unwrap().0;
    assert_eq!(now, super::world::START + Span(30_000), "time did not run backwards");
}

async fn a_clock_that_steps_back_does_not_keep_a_dead_lease_for_as_long(world: World) {
    world.claim("ana").await.unwrap();
    world.time.step(Span(-86_400_000));
    world.pass(30_000);
    world.claim("luis").await.unwrap();
}

async fn a_process_that_starts_after_a_backward_step_goes_on_from_the_mark(mut world: World) {
    world.claim("ana").await.unwrap();
    world.pass(20_000);
    // Any commit records the time it was decided with.
    world.lease("eva", Action::JoinLine).await.answer.unwrap();
    world.lease("eva", Action::LeaveLine).await.answer.unwrap();
    world.time.step(Span(-86_400_000));
    world.reopen().await;
    assert!(matches!(world.claim("luis").await, Err(Refused::HeldBy { .. })));
    world.pass(10_000);
    world.claim("luis").await.unwrap();
}

async fn a_clock_that_steps_forward_ends_leases_and_loses_nothing(world: World) {
    let queue = world.queue(Policy { window: Span::ZERO, batch_max: 1, ..Policy::of(Kind::Lane) }).await;
    put(&queue, "ana", &["1", "2"]).await;
    let old = take_one(&queue).await;
    world.claim("ana").await.unwrap();
    world.time.step(Span(86_400_000 * 365));
    world.claim("luis").await.unwrap();
    assert!(matches!(world.claim("eva").await, Err(Refused::HeldBy { .. })), "still one at a time");
    let new = take_one(&queue).await;
    assert!(new.handed.fence > old.handed.fence && new.items[0].id == old.items[0].id);
    assert!(take(&queue, 5).await.is_empty());
}
