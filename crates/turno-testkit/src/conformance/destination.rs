//! Destinations of queues: their state is shared by all instances, an outage revives the items it exhausted, and
//! workers hold back while a destination is down.

use super::world::{World, give_up, put, settle, take};
use std::time::Duration;
use tokio::sync::watch;
use turno::core::destination::{DeliveryFailure, Destination, FAILURES};
use turno::core::id::{ItemId, Lane};
use turno::core::queue::{Act, ItemState, Kind, Policy, SettleOutcome};
use turno::core::time::{Span, Time};
use turno::queue::{Delivery, QueueHandle, WorkerLimit};
use turno::store::{AuditQuery, Push, PushChange};

super::cases![
    a_destination_state_is_shared_by_instances_and_survives_a_restart,
    concurrent_failures_of_a_destination_are_all_counted,
    only_one_of_two_instances_probes_a_destination,
    a_revival_covers_only_items_exhausted_during_the_outage,
    a_stuck_key_is_shared_by_instances_and_survives_a_restart,
    an_exhausted_key_is_handed_out_as_a_probe_and_stays_exhausted_if_it_fails,
    exhausted_keys_alternate_as_probes_and_a_success_is_audited_once,
    a_push_is_stored_beside_the_policy_and_its_change_is_audited,
    a_worker_without_free_slots_claims_nothing,
];

const PROBE: Duration = Duration::from_secs(30);

fn failure(key: i64, handed_at: Time) -> DeliveryFailure {
    DeliveryFailure {
        of: Lane(key),
        handed_at,
        error: format!("HTTP 503 for {key}"),
        unreached: false,
        round_began: None,
    }
}

async fn fail(queue: &QueueHandle, key: i64, handed_at: Time) -> (bool, Destination) {
    queue.destination_failed(&failure(key, handed_at), PROBE).await.unwrap()
}

async fn a_destination_state_is_shared_by_instances_and_survives_a_restart(mut world: World) {
    let queue = world.queue(Policy::for_kind(Kind::Sync)).await;
    let name = queue.row().await.unwrap().name.clone();
    let other = world.instance().await.queue(name.clone()).await.unwrap();
    assert_eq!(other.destination().await.unwrap(), None);
    let began = super::START;
    fail(&queue, -7, began).await;
    fail(&other, 8, began + Span(1)).await;
    let (was_down, down) = fail(&queue, 9, began + Span(2)).await;
    assert!(!was_down && down.is_down());
    let expected = Destination {
        version: 3,
        failures: FAILURES,
        first: Lane(-7),
        several: true,
        began_at: began,
        down_at: down.down_at,
        probe_at: down.probe_at,
        error: "HTTP 503 for 9".to_owned(),
        revive_since: None,
        revive_until: None,
        stuck_at: None,
    };
    assert_eq!(other.destination().await.unwrap(), Some(expected.clone()));
    let id = queue.row().await.unwrap().id;
    world.reopen().await;
    assert_eq!(world.turno.destinations().await.unwrap(), [(id, expected)]);
    let queue = world.turno.queue(name).await.unwrap();
    let back = queue.destination_succeeded().await.unwrap().unwrap();
    assert_eq!((back.is_down(), back.revive_since), (false, Some(began)));
    assert_eq!(
        world.turno.destinations().await.unwrap(),
        [(id, back)],
        "a destination with an unfinished recovery is listed"
    );
    queue.destination_revived(began, 0).await.unwrap().unwrap();
    assert_eq!(world.turno.destinations().await.unwrap(), []);
    assert_eq!(queue.destination_succeeded().await.unwrap(), None, "a second success changes nothing");
}

async fn concurrent_failures_of_a_destination_are_all_counted(world: World) {
    let queue = world.queue(Policy::for_kind(Kind::Inbox)).await;
    let other = world.instance().await.queue(queue.row().await.unwrap().name.clone()).await.unwrap();
    let notes = (0..20).map(|n| {
        let queue = if n % 2 == 0 { queue.clone() } else { other.clone() };
        tokio::spawn(async move { fail(&queue, n, super::START).await.0 })
    });
    let mut opened = 0;
    for note in notes.collect::<Vec<_>>() {
        opened += usize::from(!note.await.unwrap());
    }
    assert_eq!(opened, FAILURES as usize, "each of the others found the destination down");
    assert_eq!(queue.destination().await.unwrap().unwrap().failures, 20);
    // Optimistic locking keeps the changes apart: the second change of one version is refused.
    let store = world.turno.store().unwrap();
    let id = queue.row().await.unwrap().id;
    let known = queue.destination().await.unwrap().unwrap();
    let next = Destination { version: known.version + 1, failures: 0, ..known };
    assert!(store.put_destination(id, next.clone(), None).await.unwrap());
    assert!(!store.put_destination(id, Destination { failures: 1, ..next }, None).await.unwrap());
    assert_eq!(queue.destination().await.unwrap().unwrap().failures, 0);
}

async fn only_one_of_two_instances_probes_a_destination(world: World) {
    let queue = world.queue(Policy::for_kind(Kind::Sync)).await;
    let other = world.instance().await.queue(queue.row().await.unwrap().name.clone()).await.unwrap();
    for key in [1, 2, 3] {
        fail(&queue, key, super::START).await;
    }
    let both = async || {
        let (one, two) = tokio::join!(queue.destination_probe(PROBE), other.destination_probe(PROBE));
        [one.unwrap(), two.unwrap()].into_iter().flatten().count()
    };
    assert_eq!(both().await, 0, "no probe is due yet");
    world.time.advance(PROBE.into());
    // A claim reads the time from the database, so this instance learns that time has passed.
    take(&queue, 1).await;
    take(&other, 1).await;
    assert_eq!(both().await, 1);
    assert_eq!(both().await, 0, "the next probe is due later");
}

async fn exhaust(queue: &QueueHandle) -> Delivery {
    let got = take(queue, 1).await.remove(0);
    assert_eq!(give_up(queue, &got).await, SettleOutcome::Exhausted);
    got
}

async fn a_revival_covers_only_items_exhausted_during_the_outage(world: World) {
    for kind in [Kind::Sync, Kind::Inbox] {
        let queue =
            world.turno.put_queue(if kind == Kind::Sync { "sync" } else { "inbox" }, Policy::for_kind(kind)).await;
        let queue = queue.unwrap();
        put(&queue, "a", &["before"]).await;
        exhaust(&queue).await;
        world.time.advance(Span(1));
        put(&queue, "b", &["first"]).await;
        let since = exhaust(&queue).await.now;
        put(&queue, "c", &["second"]).await;
        exhaust(&queue).await;
        put(&queue, "d", &["waits"]).await;
        // Handed out after the end of the outage, so the outage did not cause its failure.
        world.time.advance(Span(2));
        put(&queue, "e", &["after"]).await;
        let waits = take(&queue, 1).await.remove(0);
        exhaust(&queue).await;
        settle(&queue, waits.reference, Act::Return { error: None }).await;
        let until = since + Span(1);
        assert_eq!(queue.revive(since, until, 1).await.unwrap(), 1, "revives at most `limit` items, the oldest first");
        assert_eq!(queue.revive(since, until, 100).await.unwrap(), 1);
        assert_eq!(queue.revive(since, until, 100).await.unwrap(), 0, "no item is left");
        let state = async |id: &str| {
            let record = queue.item(ItemId::new(id).unwrap()).await.unwrap().unwrap();
            (record.state(record.now), record.item.map(|item| item.attempt))
        };
        for id in ["before", "after"] {
            assert_eq!(state(id).await.0, ItemState::Exhausted, "{id}");
        }
        for id in ["first", "second", "waits"] {
            assert_eq!(state(id).await, (ItemState::Pending, Some(0)), "{id}");
        }
        let action = Some("sync_revived".to_owned());
        let query = AuditQuery { after: Some(0), action, limit: 100, ..AuditQuery::default() };
        let entries = world.turno.audit(query).await.unwrap();
        let name = queue.row().await.unwrap().name.to_string();
        let mine = entries.iter().filter(|entry| entry.resource.starts_with(&name));
        let mine: Vec<_> = mine.map(|entry| (entry.actor.user.as_str(), entry.resource.clone())).collect();
        assert_eq!(mine, [("system", format!("{name}/first")), ("system", format!("{name}/second"))]);
    }
}

async fn a_stuck_key_is_shared_by_instances_and_survives_a_restart(mut world: World) {
    let queue = world.queue(Policy::for_kind(Kind::Sync)).await;
    let name = queue.row().await.unwrap().name.clone();
    let began = super::START;
    let ran_out = DeliveryFailure { round_began: Some(began), ..failure(7, began) };
    let (_, stuck) = queue.destination_failed(&ran_out, PROBE).await.unwrap();
    assert!(stuck.is_probed() && !stuck.is_down(), "{stuck:?}");
    world.reopen().await;
    let queue = world.turno.queue(name).await.unwrap();
    assert_eq!(queue.destination().await.unwrap(), Some(stuck));
    let back = queue.destination_succeeded().await.unwrap().unwrap();
    assert_eq!((back.is_probed(), back.revive_since, back.revive_until.is_some()), (false, Some(began), true));
    assert_eq!(queue.destination().await.unwrap(), Some(back));
}

async fn an_exhausted_key_is_handed_out_as_a_probe_and_stays_exhausted_if_it_fails(world: World) {
    let queue = world.queue(Policy { max_attempts: 1, ..Policy::for_kind(Kind::Sync) }).await;
    put(&queue, "a", &["x"]).await;
    let since = exhaust(&queue).await.now;
    assert_eq!(
        queue.probe_exhausted("pusher", since + Span(1)).await.unwrap(),
        None,
        "the key was exhausted before `since`"
    );
    let got = queue.probe_exhausted("pusher", since).await.unwrap().expect("a key is exhausted");
    let probed = (got.key.as_ref().map(ToString::to_string), got.attempt, got.items[0].id.as_str());
    assert_eq!(probed, (Some("a".to_owned()), 1, "x"));
    assert_eq!(queue.probe_exhausted("pusher", since).await.unwrap(), None, "one probe at a time");
    assert!(queue.handed_out_before(got.now).await.unwrap());
    assert!(!queue.handed_out_before(Time(got.now.0 - 1)).await.unwrap(), "the probe was handed out later");
    let park = Act::Park { error: Some("HTTP 503".to_owned()) };
    assert_eq!(settle(&queue, got.reference, park.clone()).await.outcome, SettleOutcome::Returned);
    let again = settle(&queue, got.reference, park).await;
    assert_eq!((again.outcome, again.repeated), (SettleOutcome::Returned, true));
    let record = queue.item(ItemId::new("x").unwrap()).await.unwrap().unwrap();
    assert_eq!((record.state(record.now), record.attempts()), (ItemState::Exhausted, 1));
    assert_eq!((record.errors.len(), record.came_back.len()), (1, 1), "a probe counts as no attempt");
    assert_eq!(queue.counts().await.unwrap().exhausted, 1);
}

async fn exhausted_keys_alternate_as_probes_and_a_success_is_audited_once(world: World) {
    let queue = world.queue(Policy { max_attempts: 1, ..Policy::for_kind(Kind::Sync) }).await;
    put(&queue, "a", &["x"]).await;
    let since = exhaust(&queue).await.now;
    world.time.advance(Span(1));
    put(&queue, "b", &["y"]).await;
    exhaust(&queue).await;
    let mut turns = Vec::new();
    for _ in 0..3 {
        world.time.advance(Span(1));
        let got = queue.probe_exhausted("pusher", since).await.unwrap().unwrap();
        turns.push(got.items[0].id.to_string());
        settle(&queue, got.reference, Act::Park { error: None }).await;
    }
    assert_eq!(turns, ["x", "y", "x"], "a key that always fails does not block the other keys");
    let got = queue.probe_exhausted("pusher", since).await.unwrap().unwrap();
    queue.probe_succeeded(got.items[0].id.clone()).await.unwrap();
    assert_eq!(settle(&queue, got.reference, Act::Ack { through: None }).await.outcome, SettleOutcome::Acked);
    let action = Some("sync_revived".to_owned());
    let query = AuditQuery { after: Some(0), action, limit: 100, ..AuditQuery::default() };
    let entries = world.turno.audit(query).await.unwrap();
    let name = queue.row().await.unwrap().name.to_string();
    let revived: Vec<_> = entries.iter().map(|entry| entry.resource.clone()).collect();
    assert_eq!(revived, [format!("{name}/y")]);
}

async fn a_push_is_stored_beside_the_policy_and_its_change_is_audited(world: World) {
    let name = || "mails".try_into().unwrap();
    let push = |to: &str| PushChange::Set(Push { text: format!("{{\"to\":\"{to}\"}}").into(), display: to.into() });
    let policy = || Policy::for_kind(Kind::Inbox);
    world.turno.put_queue_pushed(name(), policy(), push("one")).await.unwrap();
    let there = world.instance().await;
    let seen = async || {
        let row = there.queues().await.unwrap().remove(0);
        (row.version, row.push.as_deref().map(str::to_owned))
    };
    assert_eq!(seen().await, (1, Some(r#"{"to":"one"}"#.to_owned())));
    world.turno.put_queue_pushed(name(), policy(), push("one")).await.unwrap();
    assert_eq!(seen().await.0, 1, "an unchanged push writes no entry");
    world.turno.put_queue_pushed(name(), policy(), push("two")).await.unwrap();
    assert_eq!(seen().await, (2, Some(r#"{"to":"two"}"#.to_owned())));
    world.turno.put_queue("mails", policy()).await.unwrap();
    assert_eq!(seen().await.0, 2, "a policy change without a push keeps the push");
    let other = Policy { max_attempts: 3, ..policy() };
    world.turno.put_queue("mails", other.clone()).await.unwrap();
    assert_eq!(seen().await, (3, Some(r#"{"to":"two"}"#.to_owned())), "the policy changes and the push stays");
    world.turno.put_queue_pushed(name(), other, PushChange::Remove).await.unwrap();
    assert_eq!(seen().await, (4, None));
    let query = AuditQuery { after: Some(0), limit: 100, ..AuditQuery::default() };
    let entries = world.turno.audit(query).await.unwrap();
    let removed: Vec<bool> = entries.iter().map(|entry| entry.detail.contains(r#""push":null"#)).collect();
    assert_eq!(removed, [false, false, false, true]);
    assert!(entries[2].detail.contains(r#""push":"unchanged""#), "{}", entries[2].detail);
    assert!(entries[1].detail.contains(r#""push":"two""#), "{}", entries[1].detail);
}

async fn a_worker_without_free_slots_claims_nothing(world: World) {
    let queue = world.queue(Policy::for_kind(Kind::Inbox)).await;
    put(&queue, "ana", &["x", "y", "z"]).await;
    let (sent, mut taken) = tokio::sync::mpsc::unbounded_channel();
    let (hands, allowed) = watch::channel(WorkerLimit::UpTo(0));
    let worker = queue.delivery_worker(move |got: Delivery| {
        let _ = sent.send(got.reference);
        std::future::pending()
    });
    let running = worker.limit(allowed).grace(Duration::ZERO).start().unwrap();
    // The worker has claimed nothing, so another claim gets the item.
    assert_eq!(take(&queue, 1).await.len(), 1);
    hands.send(WorkerLimit::UpTo(1)).unwrap();
    taken.recv().await.unwrap();
    assert_eq!(queue.counts().await.unwrap().in_process, 2, "one free slot, one delivery");
    hands.send(WorkerLimit::UpTo(2)).unwrap();
    taken.recv().await.unwrap();
    running.stop().await;
    assert_eq!(queue.counts().await.unwrap().pending, 2, "both deliveries are returned");
}
