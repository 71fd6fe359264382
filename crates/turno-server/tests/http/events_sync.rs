//! Events of synchronisation: delivered and failed keys, destinations that go down and recover, sources.

use crate::cases;
use crate::events::{Block, Listener};
use crate::push::pushed;
use crate::queue::add;
use crate::receiver::Receiver;
use crate::sync::users;
use crate::world::World;
use serde_json::{Value, json};
use std::time::Duration;
use turno::core::destination::DeliveryFailure;
use turno::core::id::{Key, Lane};
use turno::core::sync::Source;
use turno::queue::{Kind, Policy};

cases![
    events_of_a_sync_queue_have_the_topic_sync_and_not_queues,
    a_recovery_that_revives_nothing_announces_no_revival,
    changes_of_a_source_are_announced,
];

/// Collects events until `last` returns true. Leaves out the announcements that a queue changed.
async fn until(listener: &mut Listener, last: impl Fn(&[Block]) -> bool) -> Vec<Block> {
    let mut events = Vec::new();
    while !last(&events) {
        let block = listener.event().await;
        let topic = block.data.as_ref().map(|data| data["topic"].clone());
        assert_eq!(topic, Some(json!("sync")), "{block:?}");
        if block.event.as_deref() != Some("queue.changed") {
            events.push(block);
        }
    }
    events
}

fn named<'a>(events: &'a [Block], name: &str) -> Vec<&'a Value> {
    let mine = events.iter().filter(|block| block.event.as_deref() == Some(name));
    mine.filter_map(|block| block.data.as_ref()).collect()
}

/// Returns the keys of the events with this name, sorted.
fn keys(events: &[Block], name: &str) -> Vec<String> {
    let mut keys: Vec<String> =
        named(events, name).iter().map(|data| data["key"].as_str().unwrap().to_owned()).collect();
    keys.sort();
    keys
}

async fn events_of_a_sync_queue_have_the_topic_sync_and_not_queues(world: World) {
    let mut receiver = Receiver::start().await;
    let push = json!({ "url": receiver.url("/"), "probe_ms": 2_000, "concurrency": 1 });
    let eva = pushed(&world, "users", json!({ "kind": "sync", "max_attempts": 1 }), push).await;
    let mut sync = Listener::open(&eva, "/v1/events?topics=sync").await;
    let mut queues = Listener::open(&eva, "/v1/events?topics=queues").await;
    let all = ["1", "2", "3"];
    add(&eva, "users", all.iter().map(|key| json!({ "id": format!("u-{key}"), "key": key, "payload": key })).collect())
        .await;
    for _ in 0..3 {
        receiver.next().await.answer(503);
    }
    receiver.next().await.answer(503);
    for _ in 0..3 {
        receiver.next().await.answer(200);
    }
    let over = |events: &[Block]| {
        named(events, "item.delivered").len() == 3 && !named(events, "destination.revived").is_empty()
    };
    let events = until(&mut sync, over).await;
    for name in ["item.exhausted", "item.revived", "item.delivered"] {
        assert_eq!(keys(&events, name), all, "{name}: {events:?}");
    }
    let delivered = named(&events, "item.delivered");
    assert!(delivered.iter().any(|data| data["resource"] == "users/u-1" && data["fence"].is_i64()), "{events:?}");
    let down = named(&events, "destination.down");
    assert_eq!((down.len(), &down[0]["resource"], &down[0]["detail"]), (1, &json!("users"), &json!("HTTP 503")));
    assert!(named(&events, "destination.probed").len() >= 2, "{events:?}");
    assert_eq!(named(&events, "destination.recovered").len(), 1, "{events:?}");
    assert_eq!(named(&events, "destination.revived")[0]["detail"], "2", "the third key was the probe");
    // A listener of the topic `queues` heard none of it: its first event is another queue's.
    eva.send(reqwest::Method::PUT, "/v1/queues/mails", json!({ "kind": "inbox" })).await.expect(200);
    add(&eva, "mails", json!([{ "id": "m-1", "payload": 1 }])).await;
    let first = queues.event().await.data.unwrap();
    assert_eq!((&first["topic"], &first["resource"]), (&json!("queues"), &json!("mails")));
}

async fn a_recovery_that_revives_nothing_announces_no_revival(world: World) {
    let queue = world.turno.put_queue("users", Policy::for_kind(Kind::Sync)).await.unwrap();
    let eva = world.client("eva").await;
    let mut sync = Listener::open(&eva, "/v1/events?topics=sync").await;
    for revived in [0, 2] {
        for of in [1, 2, 1] {
            let handed_at = world.turno.now();
            let (of, error) = (Lane(of), "HTTP 503".to_owned());
            let failure = DeliveryFailure { of, handed_at, error, unreached: false, round_began: None };
            queue.destination_failed(&failure, Duration::from_secs(30)).await.unwrap();
        }
        let back = queue.destination_succeeded().await.unwrap().unwrap();
        let since = back.revive_since.unwrap();
        assert!(queue.destination_revived(since, revived).await.unwrap().unwrap().is_well());
    }
    let events = until(&mut sync, |events| !named(events, "destination.revived").is_empty()).await;
    assert_eq!(named(&events, "destination.recovered").len(), 2, "{events:?}");
    let revived: Vec<_> = named(&events, "destination.revived").iter().map(|data| data["detail"].clone()).collect();
    assert_eq!(revived, ["2"], "only the second outage revives items");
}

async fn changes_of_a_source_are_announced(world: World) {
    let sync = world.turno.sync(Source::siper());
    if users(&world).await.is_none() {
        assert!(sync.install().await.is_err(), "SQLite has no triggers");
        return;
    }
    world.turno.put_queue("usuarios_modulo", Policy::for_kind(Kind::Sync)).await.unwrap();
    let eva = world.client("eva").await;
    let mut listener = Listener::open(&eva, "/v1/events?topics=sync").await;
    sync.install().await.unwrap();
    sync.resync(Key::new("7").unwrap()).await.unwrap();
    sync.remove().await.unwrap();
    let events = until(&mut listener, |events| !named(events, "source.removed").is_empty()).await;
    let details = |name: &str| named(&events, name).iter().map(|data| data["detail"].clone()).collect::<Vec<_>>();
    assert_eq!(details("source.installed"), ["siper.usuarios"]);
    assert_eq!(details("source.resent"), ["7"]);
    assert!(details("source.removed")[0].as_str().unwrap().contains("tr_sincro_usuarios_modulo_global"), "{events:?}");
    assert!(events.iter().all(|block| block.data.as_ref().unwrap()["resource"] == "usuarios"), "{events:?}");
}
