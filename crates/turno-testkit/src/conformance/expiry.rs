//! Lease expiries are announced without a request, and reads agree with claims.

use super::world::{World, claim, command, resource};
use std::sync::Arc;
use std::time::Duration;
use turno::Turno;
use turno::core::event::{Event, EventName, Topic, Topics};
use turno::core::id::{Position, Resource};
use turno::core::lease::{Action, Outcome, Refused, State};
use turno::core::task::{Goods, Movement, NewLine};
use turno::core::time::Span;
use turno::event::{Live, Subscription};
use turno::store::TaskQuery;
use turno::task::NewTask;

super::cases![
    an_expired_lease_is_announced_without_a_request,
    an_expiry_is_followed_by_an_offer_that_passes_on_when_it_lapses,
    an_expiry_is_announced_once_over_two_instances,
    an_extended_lease_is_not_announced_at_its_first_expiry,
    a_released_lease_is_not_announced_at_its_expiry,
    the_lease_of_a_dead_instance_is_announced_by_another,
    a_backward_clock_step_delays_and_repeats_no_announcement,
    the_end_of_a_lease_after_leave_is_announced_as_a_release,
    the_end_of_a_kept_lease_is_announced_as_a_release,
    the_lock_of_a_task_is_announced_when_it_expires,
    a_read_shows_offered_where_a_claim_is_refused_as_offered,
    a_task_shows_offered_where_a_claim_is_refused_as_offered,
];

/// Longer than any case takes on a loaded machine, so that only a missing event reaches it.
const LIMIT: Duration = Duration::from_secs(60);

async fn listen(turno: &Turno) -> Subscription {
    turno.subscribe(Topics::from(Topic::Leases), None).await.unwrap()
}

/// Waits for the next event with one of these names.
async fn next(listener: &mut Subscription, names: &[EventName]) -> Arc<Event> {
    loop {
        let heard = tokio::time::timeout(LIMIT, listener.next()).await.expect("an event arrives in time").unwrap();
        if let Live::Event { event, .. } = heard
            && names.contains(&event.name)
        {
            return event;
        }
    }
}

/// Waits for the next end or offer. Returns its name, resource, user and detail.
async fn news(listener: &mut Subscription) -> (EventName, String, String, Option<String>) {
    let event = next(listener, &[EventName::LeaseLost, EventName::LeaseReleased, EventName::LeaseOffered]).await;
    let by = event.by.as_ref().map(ToString::to_string).unwrap_or_default();
    (event.name.clone(), event.resource.to_string(), by, event.detail.clone())
}

fn lost(resource: &str, by: &str) -> (EventName, String, String, Option<String>) {
    (EventName::LeaseLost, resource.to_owned(), by.to_owned(), Some("expired".to_owned()))
}

fn offered(resource: &str, to: &str) -> (EventName, String, String, Option<String>) {
    (EventName::LeaseOffered, resource.to_owned(), to.to_owned(), None)
}

async fn on(turno: &Turno, name: &str, who: &str, action: Action) -> Result<Outcome, Refused> {
    let mut command = command(who, action);
    command.resource = Resource::new(name).unwrap();
    turno.lease_command(command).await.unwrap().answer
}

const CLAIM: Action = Action::Claim { ttl: None, wait: false };

/// Counts in the whole log how often each fence was announced as lost.
async fn losses(turno: &Turno) -> Vec<(i64, usize)> {
    let events = turno.store().unwrap().events(Position(0), 10_000).await.unwrap();
    let lost = events.iter().filter(|(_, event)| event.name == EventName::LeaseLost);
    let mut fences: Vec<i64> = lost.map(|(_, event)| event.fence.unwrap().0).collect();
    fences.sort_unstable();
    fences.chunk_by(|a, b| a == b).map(|same| (same[0], same.len())).collect()
}

async fn an_expired_lease_is_announced_without_a_request(world: World) {
    let announcer = world.announcing().await;
    let mut listener = listen(&announcer).await;
    let fence = world.claim("ana").await.unwrap();
    world.advance(29_999);
    world.advance(1);
    let event = next(&mut listener, &[EventName::LeaseLost]).await;
    assert_eq!((event.fence, event.detail.as_deref()), (Some(fence), Some("expired")));
    assert_eq!(event.by.as_ref().map(ToString::to_string), Some("ana".to_owned()));
    let history = world.turno.lease_history(resource(), None, 10).await.unwrap();
    assert_eq!(history.len(), 1, "the history has one entry for the end");
    assert_eq!(history[0].at, super::START + Span(30_000), "the entry has the time of the expiry");
}

async fn an_expiry_is_followed_by_an_offer_that_passes_on_when_it_lapses(world: World) {
    let announcer = world.announcing().await;
    let mut listener = listen(&announcer).await;
    let name = resource().to_string();
    world.claim("ana").await.unwrap();
    world.advance(20_000);
    for who in ["luis", "eva"] {
        world.lease(who, Action::JoinLine).await.answer.unwrap();
    }
    world.advance(10_000);
    assert_eq!(news(&mut listener).await, lost(&name, "ana"));
    assert_eq!(news(&mut listener).await, offered(&name, "luis"));
    // Both tickets are kept alive. Luis does not claim, so his offer lapses 30 s after it was made.
    world.advance(15_000);
    for who in ["luis", "eva"] {
        world.lease(who, Action::JoinLine).await.answer.unwrap();
    }
    world.advance(15_000);
    assert_eq!(news(&mut listener).await, offered(&name, "eva"));
    // Eva's ticket dies before her offer does. The line is empty then, so there is nothing to announce.
    world.advance(15_000);
    on(&world.turno, "other", "ana", CLAIM).await.unwrap();
    world.advance(30_000);
    assert_eq!(news(&mut listener).await, lost("other", "ana"));
    world.claim("ana").await.unwrap();
}

async fn an_expiry_is_announced_once_over_two_instances(world: World) {
    const LEASES: usize = 40;
    let (one, _other) = (world.announcing().await, world.announcing().await);
    let mut listener = listen(&one).await;
    for n in 0..LEASES {
        on(&world.turno, &format!("r{n}"), "ana", CLAIM).await.unwrap();
    }
    world.advance(30_000);
    for _ in 0..LEASES {
        next(&mut listener, &[EventName::LeaseLost]).await;
    }
    // Both instances run the expiry scan once more before the last lease is announced.
    on(&world.turno, "last", "ana", CLAIM).await.unwrap();
    world.advance(30_000);
    assert_eq!(&*next(&mut listener, &[EventName::LeaseLost]).await.resource, "last");
    let losses = losses(&world.turno).await;
    assert_eq!(losses.len(), LEASES + 1);
    assert!(losses.iter().all(|(_, times)| *times == 1), "{losses:?}");
}

async fn an_extended_lease_is_not_announced_at_its_first_expiry(world: World) {
    let announcer = world.announcing().await;
    let mut listener = listen(&announcer).await;
    let fence = world.claim("ana").await.unwrap();
    on(&world.turno, "other", "luis", CLAIM).await.unwrap();
    world.advance(20_000);
    world.lease("ana", Action::Heartbeat { fence, idle: None, worked: false }).await.answer.unwrap();
    world.advance(10_000);
    assert_eq!(news(&mut listener).await, lost("other", "luis"));
    on(&world.turno, "another", "luis", CLAIM).await.unwrap();
    assert!(world.turno.lease_state(resource()).await.unwrap().1.grant.is_some_and(|grant| grant.fence == fence));
    world.advance(19_999);
    world.advance(1);
    assert_eq!(news(&mut listener).await, lost(resource().as_str(), "ana"), "at the expiry that the heartbeat set");
    world.advance(10_000);
    assert_eq!(news(&mut listener).await, lost("another", "luis"));
}

async fn a_released_lease_is_not_announced_at_its_expiry(world: World) {
    let announcer = world.announcing().await;
    let mut listener = listen(&announcer).await;
    let fence = world.claim("ana").await.unwrap();
    world.lease("ana", Action::Release { fence, claim: None }).await.answer.unwrap();
    on(&world.turno, "other", "luis", CLAIM).await.unwrap();
    world.advance(30_000);
    assert_eq!(news(&mut listener).await.0, EventName::LeaseReleased);
    assert_eq!(news(&mut listener).await, lost("other", "luis"));
    assert_eq!(losses(&world.turno).await.len(), 1);
    // The leftover `look_at` of the first claim does not hide the end of the next ownership.
    world.claim("eva").await.unwrap();
    world.advance(30_000);
    assert_eq!(news(&mut listener).await, lost(resource().as_str(), "eva"));
}

async fn the_lease_of_a_dead_instance_is_announced_by_another(world: World) {
    let dies = world.announcing().await;
    let fence = claim(&dies, "ana").await.unwrap();
    drop(dies);
    let announcer = world.announcing().await;
    let mut listener = listen(&announcer).await;
    world.advance(30_000);
    assert_eq!(next(&mut listener, &[EventName::LeaseLost]).await.fence, Some(fence));
}

async fn a_backward_clock_step_delays_and_repeats_no_announcement(world: World) {
    let announcer = world.announcing().await;
    let mut listener = listen(&announcer).await;
    world.claim("ana").await.unwrap();
    world.time.step(Span(-86_400_000));
    world.advance(29_999);
    assert!(world.turno.lease_state(resource()).await.unwrap().1.grant.is_some(), "no lease ends early");
    world.advance(1);
    assert_eq!(news(&mut listener).await, lost(resource().as_str(), "ana"));
    world.time.step(Span(-86_400_000));
    on(&world.turno, "other", "luis", CLAIM).await.unwrap();
    world.advance(30_000);
    assert_eq!(news(&mut listener).await, lost("other", "luis"), "the first expiry is not announced again");
    assert!(losses(&world.turno).await.iter().all(|(_, times)| *times == 1));
}

async fn the_end_of_a_lease_after_leave_is_announced_as_a_release(world: World) {
    let announcer = world.announcing().await;
    let mut listener = listen(&announcer).await;
    let fence = world.claim("ana").await.unwrap();
    world.lease("luis", Action::JoinLine).await.answer.unwrap();
    world.lease("ana", Action::Leave { fence, claim: None, grace: Span::from_secs(5) }).await.answer.unwrap();
    world.advance(5_000);
    let name = resource().to_string();
    assert_eq!(news(&mut listener).await, (EventName::LeaseReleased, name.clone(), "ana".to_owned(), None));
    assert_eq!(news(&mut listener).await, offered(&name, "luis"), "the lease ends before its ttl");
}

async fn the_end_of_a_kept_lease_is_announced_as_a_release(world: World) {
    let announcer = world.announcing().await;
    let mut listener = listen(&announcer).await;
    let fence = world.claim("ana").await.unwrap();
    world.lease("ana", Action::Keep { fence, claim: None, keep: Span::from_secs(40) }).await.answer.unwrap();
    assert_eq!(next(&mut listener, &[EventName::LeaseKept]).await.fence, Some(fence));
    world.advance(30_000);
    world.lease("luis", Action::JoinLine).await.answer.unwrap();
    world.advance(10_000);
    let name = resource().to_string();
    assert_eq!(news(&mut listener).await, (EventName::LeaseReleased, name.clone(), "ana".to_owned(), None));
    assert_eq!(news(&mut listener).await, offered(&name, "luis"), "the lease ends after its first expiry");
}

async fn the_lock_of_a_task_is_announced_when_it_expires(world: World) {
    let announcer = world.announcing().await;
    let mut listener = listen(&announcer).await;
    let id = task(&world).await;
    on(&world.turno, id.resource().as_str(), "ana", CLAIM).await.unwrap();
    on(&world.turno, id.resource().as_str(), "luis", Action::JoinLine).await.unwrap();
    world.advance(20_000);
    on(&world.turno, id.resource().as_str(), "luis", Action::JoinLine).await.unwrap();
    world.advance(10_000);
    assert_eq!(news(&mut listener).await, lost(id.resource().as_str(), "ana"));
    assert_eq!(news(&mut listener).await, offered(id.resource().as_str(), "luis"));
    let history = world.turno.task_history(id, None, 100).await.unwrap();
    let held = history.events.iter().filter(|event| matches!(event, turno::task::TaskEvent::Held(_))).count();
    assert_eq!(held, 1);
}

async fn task(world: &World) -> turno::core::task::TaskId {
    let line = NewLine { movement: Movement::In, sku: "nails".try_into().unwrap(), goods: Goods::Quantity(3) };
    let who = world.turno.holder(None);
    let made = world
        .turno
        .task_command(None, who, NewTask::titled("Delivery").lines(vec![line]).ready().into())
        .await
        .unwrap();
    made.task.expect("made").id
}

/// Returns the holder and the user to whom the lease is offered.
fn holder_and_offer(state: &State) -> (Option<&str>, Option<&str>) {
    let holder = state.grant.as_ref().map(|grant| grant.holder.user.as_str());
    (holder, state.offer.as_ref().map(|offer| offer.to.user.as_str()))
}

async fn a_read_shows_offered_where_a_claim_is_refused_as_offered(world: World) {
    let state = async || world.turno.lease_state(resource()).await.unwrap().1;
    world.claim("ana").await.unwrap();
    world.advance(20_000);
    for who in ["luis", "eva"] {
        world.lease(who, Action::JoinLine).await.answer.unwrap();
    }
    assert_eq!(holder_and_offer(&state().await), (Some("ana"), None));
    world.advance(10_000);
    // No command ran since the expiry, and no announcer runs here.
    assert_eq!(holder_and_offer(&state().await), (None, Some("luis")));
    let refused = world.claim("bea").await.unwrap_err();
    assert!(matches!(&refused, Refused::OfferedTo { offer, .. } if offer.to.user.as_str() == "luis"), "{refused:?}");
    world.advance(15_000);
    for who in ["luis", "eva"] {
        world.lease(who, Action::JoinLine).await.answer.unwrap();
    }
    world.advance(15_000);
    assert_eq!(holder_and_offer(&state().await), (None, Some("eva")), "a lapsed offer passes to the next ticket");
    let refused = world.claim("bea").await.unwrap_err();
    assert!(matches!(&refused, Refused::OfferedTo { offer, .. } if offer.to.user.as_str() == "eva"), "{refused:?}");
    world.advance(15_000);
    assert_eq!(holder_and_offer(&state().await), (None, None), "a dead ticket gets no offer");
    world.claim("bea").await.unwrap();
}

async fn a_task_shows_offered_where_a_claim_is_refused_as_offered(world: World) {
    let id = task(&world).await;
    let name = id.resource();
    on(&world.turno, name.as_str(), "ana", CLAIM).await.unwrap();
    world.advance(10_000);
    on(&world.turno, name.as_str(), "luis", Action::JoinLine).await.unwrap();
    world.advance(20_000);
    let (_, found) = world.turno.task_get(id).await.unwrap();
    assert_eq!(holder_and_offer(&found.unwrap().1), (None, Some("luis")));
    let page = world.turno.tasks(TaskQuery { limit: 10, ..TaskQuery::default() }).await.unwrap();
    assert_eq!(holder_and_offer(&page.tasks[0].1), (None, Some("luis")));
    let refused = on(&world.turno, name.as_str(), "bea", CLAIM).await.unwrap_err();
    assert!(matches!(refused, Refused::OfferedTo { .. }), "{refused:?}");
}
