//! Live events: every committed event arrives once, in order, at every listener.

use super::world::{World, ack, command, fail, holder, put, queue_name, resource, take_one};
use std::sync::Arc;
use std::time::Duration;
use turno::core::event::{Event, EventName, Topic, Topics};
use turno::core::id::{Position, Resource};
use turno::core::lease::{Action, Refused};
use turno::core::queue::{Kind, Policy};
use turno::core::time::{Span, Time};
use turno::event::{Live, Subscription};
use turno::store::{AuditQuery, EventSpan};
use turno::task::NewTask;
use turno::{Error, Turno};

super::cases![
    events_arrive_in_order_with_positions_that_grow_by_one,
    only_committed_changes_are_announced,
    an_event_carries_the_decision,
    resuming_continues_exactly_behind_a_position_also_after_reopening,
    a_purged_or_unknown_position_is_answered_with_a_reset,
    a_slow_listener_loses_no_event_and_delays_no_other_listener,
    a_slow_listener_whose_events_were_purged_gets_a_reset,
    an_empty_log_still_knows_its_newest_position,
    a_declared_restore_skips_task_ids_and_positions_and_resets_listeners,
    every_event_of_two_instances_arrives_once_on_both_in_the_same_order,
    topics_are_filtered,
    changes_of_a_queue_are_announced_together,
    changes_of_a_queue_are_announced_on_another_instance,
    an_event_that_commits_during_a_subscription_arrives,
    cancelling_a_wait_for_an_event_loses_no_event,
    a_subscription_ends_with_the_engine,
];

/// Longer than any case takes, so that a missing event fails the case instead of hanging it.
const LIMIT: Duration = Duration::from_secs(60);
/// Long enough for an unwanted event to arrive.
const QUIET: Duration = Duration::from_millis(150);

async fn next_live(listener: &mut Subscription) -> Live {
    tokio::time::timeout(LIMIT, listener.next()).await.expect("an event or a reset arrives in time").unwrap()
}

async fn event(listener: &mut Subscription) -> (Position, Arc<Event>) {
    match next_live(listener).await {
        Live::Event { position, event } => (position, event),
        other => panic!("an event was expected: {other:?}"),
    }
}

/// Returns the next events as positions and resources.
async fn some(listener: &mut Subscription, count: usize) -> Vec<(Position, String)> {
    let mut heard = Vec::new();
    while heard.len() < count {
        let (position, event) = event(listener).await;
        heard.push((position, event.resource.to_string()));
    }
    heard
}

async fn nothing(listener: &mut Subscription) {
    let heard = tokio::time::timeout(QUIET, listener.next()).await;
    assert!(heard.is_err(), "{heard:?}");
}

async fn listen(turno: &Turno) -> Subscription {
    turno.subscribe(Topics::ALL, None).await.unwrap()
}

/// Claims the resources `first..last` concurrently, one event each.
async fn claim_all(turno: &Turno, first: usize, last: usize) {
    let mut calls = tokio::task::JoinSet::new();
    for n in first..last {
        let mut command = command("ana", Action::Claim { ttl: None, wait: false });
        command.resource = Resource::new(format!("r{n}")).unwrap();
        let turno = turno.clone();
        calls.spawn(async move { turno.lease_command(command).await.unwrap().answer.unwrap() });
    }
    calls.join_all().await;
}

/// Waits until the event at position `newest` exists.
async fn given(turno: &Turno, newest: i64) -> EventSpan {
    loop {
        let span = turno.store().unwrap().event_span().await.unwrap();
        if span.newest.0 >= newest {
            return span;
        }
        tokio::task::yield_now().await;
    }
}

async fn events_arrive_in_order_with_positions_that_grow_by_one(world: World) {
    let mut listener = listen(&world.turno).await;
    let fence = world.claim("ana").await.unwrap();
    world.lease("ana", Action::Release { fence, claim: None }).await.answer.unwrap();
    world.claim("luis").await.unwrap();
    let mut heard = Vec::new();
    for _ in 0..3 {
        heard.push(event(&mut listener).await);
    }
    let names: Vec<_> = heard.iter().map(|(_, event)| event.name.clone()).collect();
    assert_eq!(names, [EventName::LeaseClaimed, EventName::LeaseReleased, EventName::LeaseClaimed]);
    let positions: Vec<_> = heard.iter().map(|(position, _)| position.0).collect();
    assert_eq!(positions, [1, 2, 3]);
    assert_eq!(listener.position(), Position(3));
}

async fn only_committed_changes_are_announced(world: World) {
    let mut listener = listen(&world.turno).await;
    let fence = world.claim("ana").await.unwrap();
    for who in ["luis", "eva"] {
        assert!(matches!(world.claim(who).await, Err(Refused::HeldBy { .. })));
    }
    world.lease("ana", Action::Release { fence, claim: None }).await.answer.unwrap();
    for name in [EventName::LeaseClaimed, EventName::LeaseReleased] {
        let (position, event) = event(&mut listener).await;
        assert_eq!(event.name, name);
        let kept = world.turno.store().unwrap().events(Position(position.0 - 1), 1).await.unwrap();
        assert_eq!(kept, [(position, (*event).clone())], "every announced event is in the store");
    }
    nothing(&mut listener).await;
}

async fn an_event_carries_the_decision(world: World) {
    let mut listener = listen(&world.turno).await;
    world.claim("ana").await.unwrap();
    world.advance(1_234);
    let reason = "se fue a casa".to_owned();
    let answer = world.lease("admin", Action::ForceClaim { reason: reason.clone(), fence: None }).await;
    let grant = answer.state.grant.unwrap();
    loop {
        let (_, event) = event(&mut listener).await;
        if event.name == EventName::LeaseForceClaimed {
            let expected = Event {
                topic: Topic::Leases,
                name: EventName::LeaseForceClaimed,
                resource: resource().as_str().into(),
                key: None,
                queue: None,
                at: answer.now,
                fence: Some(grant.fence),
                by: Some(grant.holder.user),
                detail: Some(reason),
                to: vec![holder("ana").user],
            };
            assert_eq!(*event, expected);
            return;
        }
    }
}

async fn resuming_continues_exactly_behind_a_position_also_after_reopening(mut world: World) {
    // More than one page, so that resuming reads several pages.
    let mut listener = listen(&world.turno).await;
    claim_all(&world.turno, 0, 600).await;
    let all = some(&mut listener, 600).await;
    for seen in [0, 1, 255, 256, 599, 600] {
        let from = Position(seen as i64);
        let mut resumed = world.turno.subscribe(Topics::ALL, Some(from)).await.unwrap();
        assert_eq!(some(&mut resumed, 600 - seen).await, all[seen..]);
        assert_eq!(resumed.position(), Position(600));
    }
    drop(listener);
    world.reopen().await;
    let mut resumed = world.turno.subscribe(Topics::ALL, Some(Position(598))).await.unwrap();
    claim_all(&world.turno, 600, 601).await;
    let mut expected = all[598..].to_vec();
    expected.push((Position(601), "r600".to_owned()));
    assert_eq!(some(&mut resumed, 3).await, expected, "stored events come first, then live ones, without a gap");
}

async fn a_purged_or_unknown_position_is_answered_with_a_reset(world: World) {
    claim_all(&world.turno, 0, 10).await;
    given(&world.turno, 10).await;
    world.advance(1_000);
    claim_all(&world.turno, 10, 15).await;
    let now = Time(super::world::START.0 + 1_000);
    assert_eq!(given(&world.turno, 15).await, EventSpan { oldest: Position(1), newest: Position(15) });
    assert_eq!(world.turno.store().unwrap().purge_events(now, 1_000).await, Ok(10), "the events before `now`");
    assert_eq!(given(&world.turno, 15).await, EventSpan { oldest: Position(11), newest: Position(15) });
    let mut listeners = Vec::new();
    for (position, resets) in [(0, true), (9, true), (10, false), (15, false), (16, true), (i64::MAX, true)] {
        let mut listener = world.turno.subscribe(Topics::ALL, Some(Position(position))).await.unwrap();
        if resets {
            assert_eq!(next_live(&mut listener).await, Live::Reset { position: Position(15) }, "{position}");
        } else {
            assert_eq!(some(&mut listener, 15 - position as usize).await.len(), 15 - position as usize);
        }
        listeners.push(listener);
    }
    claim_all(&world.turno, 15, 16).await;
    for listener in &mut listeners {
        assert_eq!(
            some(listener, 1).await,
            [(Position(16), "r15".to_owned())],
            "every listener goes on from the reset"
        );
    }
}

async fn a_slow_listener_loses_no_event_and_delays_no_other_listener(world: World) {
    // Several times the capacity of the ring.
    const EVENTS: usize = 4_000;
    let mut slow = listen(&world.turno).await;
    let mut quick = listen(&world.turno).await;
    claim_all(&world.turno, 0, 1).await;
    assert_eq!(some(&mut slow, 1).await.len(), 1);
    claim_all(&world.turno, 1, EVENTS).await;
    let all = some(&mut quick, EVENTS).await;
    assert_eq!(slow.position(), Position(1), "the slow listener has not moved");
    for (position, resource) in &all[1..] {
        let (at, event) = event(&mut slow).await;
        assert_eq!((at, &*event.resource), (*position, resource.as_str()));
        assert!(slow.read_ahead() < 256, "{}", slow.read_ahead());
    }
    claim_all(&world.turno, EVENTS, EVENTS + 1).await;
    let last = [(Position(EVENTS as i64 + 1), format!("r{EVENTS}"))];
    assert_eq!((some(&mut slow, 1).await, some(&mut quick, 1).await), (last.to_vec(), last.to_vec()));
}

async fn a_slow_listener_whose_events_were_purged_gets_a_reset(world: World) {
    const EVENTS: usize = 2_000;
    let mut slow = listen(&world.turno).await;
    let mut quick = listen(&world.turno).await;
    claim_all(&world.turno, 0, EVENTS).await;
    some(&mut quick, EVENTS).await;
    let later = Time(super::world::START.0 + 1);
    assert_eq!(world.turno.store().unwrap().purge_events(later, 500).await, Ok(500));
    assert_eq!(next_live(&mut slow).await, Live::Reset { position: Position(EVENTS as i64) });
    claim_all(&world.turno, EVENTS, EVENTS + 1).await;
    assert_eq!(some(&mut slow, 1).await, some(&mut quick, 1).await, "the slow listener goes on with new events");
}

async fn an_empty_log_still_knows_its_newest_position(mut world: World) {
    let none = EventSpan { oldest: Position(1), newest: Position(0) };
    assert_eq!(world.turno.store().unwrap().event_span().await, Ok(none));
    claim_all(&world.turno, 0, 5).await;
    given(&world.turno, 5).await;
    let later = Time(super::world::START.0 + 1);
    assert_eq!(world.turno.store().unwrap().purge_events(later, 1_000).await, Ok(5));
    world.reopen().await;
    let empty = EventSpan { oldest: Position(6), newest: Position(5) };
    assert_eq!(world.turno.store().unwrap().event_span().await, Ok(empty));
    let mut listener = world.turno.subscribe(Topics::ALL, Some(Position(5))).await.unwrap();
    let mut late = world.turno.subscribe(Topics::ALL, Some(Position(4))).await.unwrap();
    claim_all(&world.turno, 5, 6).await;
    assert_eq!(some(&mut listener, 1).await, [(Position(6), "r5".to_owned())], "no position is missing");
    assert_eq!(next_live(&mut late).await, Live::Reset { position: Position(5) });
}

async fn a_declared_restore_skips_task_ids_and_positions_and_resets_listeners(world: World) {
    let create =
        async || world.turno.create_task(holder("eva"), NewTask::titled("t").lines(Vec::new())).await.unwrap().id().0;
    let (first, second) = (create().await, create().await);
    assert_eq!(second, first + 1, "the negative control: without a restore ids follow each other");
    let fence = world.claim("ana").await.unwrap();
    let seen = given(&world.turno, 3).await.newest;
    let other = world.instance().await;
    let mut listener = other.subscribe(Topics::ALL, Some(seen)).await.unwrap();
    world.turno.declare_restored().await.unwrap();
    assert!(create().await > second + 1_000);
    assert!(matches!(next_live(&mut listener).await, Live::Reset { position } if position > seen));
    let force = Action::ForceClaim { reason: "a test".into(), fence: None };
    let taken = world.turno.lease_command(command("eva", force)).await.unwrap().state.grant.unwrap();
    assert!(taken.fence > fence);
    let lives = AuditQuery { action: Some("database_life".into()), limit: 9, ..AuditQuery::default() };
    assert_eq!(world.turno.audit(lives).await.unwrap().len(), 1);
}

async fn every_event_of_two_instances_arrives_once_on_both_in_the_same_order(world: World) {
    const EACH: usize = 400;
    let other = world.instance().await;
    let (mut here, mut there) = (listen(&world.turno).await, listen(&other).await);
    let work = async {
        for n in (0..EACH).step_by(20) {
            tokio::join!(claim_all(&world.turno, n, n + 20), claim_all(&other, EACH + n, EACH + n + 20));
        }
    };
    let ((), here, there) = tokio::join!(work, some(&mut here, 2 * EACH), some(&mut there, 2 * EACH));
    assert_eq!(here, there);
    let positions: Vec<i64> = here.iter().map(|(position, _)| position.0).collect();
    assert_eq!(positions, (1..=2 * EACH as i64).collect::<Vec<_>>());
    let mut resources: Vec<_> = here.into_iter().map(|(_, resource)| resource).collect();
    resources.sort();
    resources.dedup();
    assert_eq!(resources.len(), 2 * EACH, "each event arrives once");
}

async fn topics_are_filtered(world: World) {
    let leases = Topics::from(Topic::Leases);
    let queue = world.queue(Policy::for_kind(Kind::Inbox)).await;
    let mut leases = world.turno.subscribe(leases, None).await.unwrap();
    let rest = [Topic::Queues, Topic::Tasks, Topic::Sync, Topic::Audit].into_iter().collect();
    let mut rest = world.turno.subscribe(rest, None).await.unwrap();
    world.claim("ana").await.unwrap();
    put(&queue, "k", &["x"]).await;
    let got = take_one(&queue).await;
    fail(&queue, &got).await;
    claim_all(&world.turno, 0, 1).await;
    let heard = [event(&mut leases).await, event(&mut leases).await];
    assert!(heard.iter().all(|(_, event)| event.topic == Topic::Leases), "{heard:?}");
    // The queue's creation was audited. That event may have got its position after the listener subscribed.
    let failed = loop {
        if let Live::Event { event, .. } = next_live(&mut rest).await
            && event.topic != Topic::Audit
        {
            break event;
        }
    };
    assert_eq!(
        (failed.topic, failed.name.clone(), failed.detail.as_deref()),
        (Topic::Queues, EventName::ItemFailed, Some("no contesta"))
    );
    nothing(&mut leases).await;
}

async fn changes_of_a_queue_are_announced_together(world: World) {
    let queue = world.queue(Policy::for_kind(Kind::Inbox)).await;
    let mut listener = world.turno.subscribe(Topic::Queues.into(), None).await.unwrap();
    let mut elsewhere = world.turno.subscribe(Topic::Leases.into(), None).await.unwrap();
    put(&queue, "k", &["0"]).await;
    assert!(is_change(&next_live(&mut listener).await), "the first change is announced at once");
    for n in 1..10 {
        put(&queue, "k", &[&format!("{n}")]).await;
    }
    nothing(&mut listener).await;
    world.advance(250);
    assert!(is_change(&next_live(&mut listener).await), "nine more changes are announced as one");
    world.advance(250);
    nothing(&mut listener).await;
    let got = take_one(&queue).await;
    ack(&queue, &got).await;
    nothing(&mut elsewhere).await;
}

async fn changes_of_a_queue_are_announced_on_another_instance(world: World) {
    let queue = world.queue(Policy::for_kind(Kind::Inbox)).await;
    let other = world.instance().await;
    let mut listener = other.subscribe(Topic::Queues.into(), None).await.unwrap();
    // A hint that is sent before the other instance listens is lost, so the change is repeated until one arrives.
    let repeat = async {
        for n in 0.. {
            put(&queue, "k", &[&format!("{n}")]).await;
            world.advance(250);
            if let Ok(heard) = tokio::time::timeout(QUIET, listener.next()).await {
                return heard.unwrap();
            }
        }
        unreachable!("the loop ends only by its return")
    };
    assert!(is_change(&tokio::time::timeout(LIMIT, repeat).await.unwrap()));
}

/// Returns whether this is the announcement that the queue changed.
fn is_change(heard: &Live) -> bool {
    matches!(heard, Live::QueueChanged { queue, .. } if *queue == queue_name())
}

async fn an_event_that_commits_during_a_subscription_arrives(world: World) {
    for n in 0..15 {
        // There is no other listener and the clock stands still: the reader starts with this listener.
        let joins = world.turno.subscribe(Topics::ALL, None);
        let (listener, ()) = tokio::join!(joins, claim_all(&world.turno, n, n + 1));
        let mut listener = listener.unwrap();
        if listener.position() == Position(n as i64) {
            assert_eq!(some(&mut listener, 1).await, [(Position(n as i64 + 1), format!("r{n}"))]);
        }
        given(&world.turno, n as i64 + 1).await;
    }
}

async fn cancelling_a_wait_for_an_event_loses_no_event(world: World) {
    const EVENTS: usize = 600;
    // The first half comes from the store, the second from the ring.
    claim_all(&world.turno, 0, EVENTS / 2).await;
    given(&world.turno, EVENTS as i64 / 2).await;
    let mut listener = world.turno.subscribe(Topics::ALL, Some(Position(0))).await.unwrap();
    let mut heard = Vec::new();
    let work = claim_all(&world.turno, EVENTS / 2, EVENTS);
    let hearing = async {
        while heard.len() < EVENTS {
            tokio::select! {
                biased;
                () = tokio::task::yield_now() => {}
                next = listener.next() => match next.unwrap() {
                    Live::Event { position, .. } => heard.push(position.0),
                    other => panic!("{other:?}"),
                },
            }
        }
    };
    tokio::time::timeout(LIMIT, async { tokio::join!(work, hearing) }).await.unwrap();
    assert_eq!(heard, (1..=EVENTS as i64).collect::<Vec<_>>());
}

async fn a_subscription_ends_with_the_engine(world: World) {
    let other = world.instance().await;
    let mut listener = listen(&other).await;
    drop(other);
    let end = tokio::time::timeout(LIMIT, listener.next()).await.unwrap();
    assert_eq!(end, Err(Error::Closed));
    world.advance(Span::from_secs(1).0);
}
