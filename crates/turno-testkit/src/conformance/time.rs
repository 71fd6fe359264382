//! Clocks that step backwards or forwards.

use super::task::{claim, finalize, ready, units};
use super::world::{World, put, resource, take, take_one};
use std::time::Duration;
use turno::access::{NewPerson, NewToken, Role};
use turno::core::id::Fence;
use turno::core::lease::{Action, Outcome, Refused};
use turno::core::queue::{Kind, Policy};
use turno::core::task::Movement;
use turno::core::time::Span;
use turno::store::{LeaseQuery, TaskQuery};

super::cases![
    a_clock_that_steps_back_never_revives_an_expired_lease,
    a_backward_clock_step_does_not_prolong_a_dead_lease,
    a_process_that_starts_after_a_backward_step_goes_on_from_the_mark,
    a_lease_read_as_free_stays_free_after_a_restart_and_a_backward_step,
    a_task_read_as_free_stays_free_after_a_restart_and_a_backward_step,
    a_token_refused_as_expired_stays_refused_after_a_restart_and_a_backward_step,
    control_a_read_that_records_no_time_lets_a_lease_revive,
    a_clock_that_steps_forward_ends_leases_and_loses_no_items,
];

async fn a_clock_that_steps_back_never_revives_an_expired_lease(world: World) {
    let fence = world.claim("ana").await.unwrap();
    world.advance(30_000);
    world.claim("luis").await.unwrap();
    world.time.step(Span(-25_000));
    let answer = world.lease("ana", Action::Heartbeat { fence, idle: None, worked: false }).await.answer;
    assert!(matches!(answer, Err(Refused::Lost { .. })), "{answer:?}");
    let now = world.turno.lease_state(resource()).await.unwrap().0;
    assert_eq!(now, super::world::START + Span(30_000), "the engine's time did not run backwards");
}

async fn a_backward_clock_step_does_not_prolong_a_dead_lease(world: World) {
    world.claim("ana").await.unwrap();
    world.time.step(Span(-86_400_000));
    world.advance(30_000);
    world.claim("luis").await.unwrap();
}

async fn a_process_that_starts_after_a_backward_step_goes_on_from_the_mark(mut world: World) {
    world.claim("ana").await.unwrap();
    world.advance(20_000);
    // Every commit records the time that decided it.
    world.lease("eva", Action::JoinLine).await.answer.unwrap();
    world.lease("eva", Action::LeaveLine).await.answer.unwrap();
    world.time.step(Span(-86_400_000));
    world.reopen().await;
    assert!(matches!(world.claim("luis").await, Err(Refused::HeldBy { .. })));
    world.advance(10_000);
    world.claim("luis").await.unwrap();
}

/// Reopens the database, as after a kill, on a clock that was set back by an hour.
async fn restart_an_hour_back(world: &mut World) {
    world.time.step(Span(-3_600_000));
    world.reopen().await;
}

async fn beat(world: &World, fence: Fence) -> Result<Outcome, Refused> {
    world.lease("ana", Action::Heartbeat { fence, idle: None, worked: false }).await.answer
}

async fn a_lease_read_as_free_stays_free_after_a_restart_and_a_backward_step(mut world: World) {
    let fence = world.claim("ana").await.unwrap();
    world.advance(30_000);
    let (now, state) = world.turno.lease_state(resource()).await.unwrap();
    assert!(state.live(now).is_none());
    restart_an_hour_back(&mut world).await;
    let answer = beat(&world, fence).await;
    assert!(matches!(answer, Err(Refused::Lost { .. })), "{answer:?}");
    let other = world.claim("ana").await.unwrap();
    world.advance(30_000);
    let held = world.turno.leases(LeaseQuery { limit: 10, ..LeaseQuery::default() }).await.unwrap();
    assert!(held.states.is_empty(), "a list shows the lease as free, too");
    restart_an_hour_back(&mut world).await;
    assert!(beat(&world, other).await.is_err());
}

async fn a_task_read_as_free_stays_free_after_a_restart_and_a_backward_step(mut world: World) {
    let id = ready(&world.turno, vec![units("x", Movement::In, 1)]).await;
    let fence = claim(&world.turno, id, "ana").await;
    world.advance(180_000);
    let (now, found) = world.turno.task_get(id).await.unwrap();
    assert!(found.unwrap().1.live(now).is_none());
    restart_an_hour_back(&mut world).await;
    assert!(finalize(&world.turno, id, "ana", fence).await.answer.is_err());
    let fence = claim(&world.turno, id, "ana").await;
    world.advance(180_000);
    let free = TaskQuery { locked: Some(false), limit: 10, ..TaskQuery::default() };
    assert_eq!(world.turno.tasks(free).await.unwrap().tasks.len(), 1);
    restart_an_hour_back(&mut world).await;
    assert!(finalize(&world.turno, id, "ana", fence).await.answer.is_err());
}

async fn a_token_refused_as_expired_stays_refused_after_a_restart_and_a_backward_step(mut world: World) {
    world.turno.add_person(NewPerson::new("ana", "Ana", Role::Editor).unwrap()).await.unwrap();
    let token = NewToken { expires_in: Some(Duration::from_secs(60)), ..NewToken::for_user("ana").unwrap() };
    let (_, secret) = world.turno.create_token(token).await.unwrap();
    assert!(world.turno.authenticate(&secret).await.is_ok());
    world.advance(60_000);
    assert!(world.turno.authenticate(&secret).await.is_err());
    restart_an_hour_back(&mut world).await;
    assert!(world.turno.authenticate(&secret).await.is_err());
}

async fn control_a_read_that_records_no_time_lets_a_lease_revive(mut world: World) {
    let fence = world.claim("ana").await.unwrap();
    world.advance(30_000);
    let peeked = world.turno.store().unwrap().peek(vec![resource()]).await.unwrap();
    assert!(peeked.states[0].live(peeked.now).is_none());
    restart_an_hour_back(&mut world).await;
    assert!(beat(&world, fence).await.is_ok(), "no caller has seen the lease as free");
}

async fn a_clock_that_steps_forward_ends_leases_and_loses_no_items(world: World) {
    let queue = world.queue(Policy { window: Span::ZERO, batch_max: 1, ..Policy::for_kind(Kind::Lane) }).await;
    put(&queue, "ana", &["1", "2"]).await;
    let old = take_one(&queue).await;
    world.claim("ana").await.unwrap();
    world.time.step(Span(86_400_000 * 365));
    world.claim("luis").await.unwrap();
    assert!(matches!(world.claim("eva").await, Err(Refused::HeldBy { .. })), "the new lease is exclusive");
    let new = take_one(&queue).await;
    assert!(new.reference.fence > old.reference.fence && new.items[0].id == old.items[0].id);
    assert!(take(&queue, 5).await.is_empty());
}
