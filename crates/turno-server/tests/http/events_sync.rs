//! What is told of synchronisation: keys that arrive or do not, destinations that go down and come back, sources.

use crate::cases;
use crate::events::{Block, Listener};
use crate::push::pushed;
use crate::queue::add;
use crate::receiver::Receiver;
use crate::sync::users;
use crate::world::World;
use serde_json::{Value, json};
use turno::core::destination::Failure;
use turno::core::id::{Key, Lane};
use turno::core::sync::Source;
use turno::core::time::Span;
use turno::{Kind, Policy};

cases![
    an_outage_and_every_key_of_a_sync_queue_is_told_as_sync_and_not_as_queues,
    a_recovery_that_revives_nothing_is_not_told_as_if_it_did,
    what_is_done_to_a_source_is_told,
];

/// What is told until `last` is, without hints that a queue changed.
async fn until(listener: &mut Listener, last: impl Fn(&[Block]) -> bool) -> Vec<Block> {
    let mut told = Vec::new();
    while !last(&told) {
        let block = listener.event().await;
        let topic = block.data.as_ref().map(|data| data["topic"].clone());
        assert_eq!(topic, Some(json!("sync")), "{block:?}");
        if block.event.as_deref() != Some("queue.changed") {
            told.push(block);
        }
    }
    told
}

fn named<'a>(told: &'a [Block], name: &str) -> Vec<&'a Value> {
    let mine = told.iter().filter(|block| block.event.as_deref() == Some(name));
    mine.filter_map(|block| block.data.as_ref()).collect()
}

/// Which keys are told under this name, in order.
fn keys(told: &[Block], name: &str) -> Vec<String> {
    let mut keys: Vec<String> = named(told, name).iter().map(|data| data["key"].as_str().unwrap().to_owned()).collect();
    keys.sort();
    keys
}

async fn an_outage_and_every_key_of_a_sync_queue_is_told_as_sync_and_not_as_queues(world: World) {
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
    let over =
        |told: &[Block]| named(told, "item.delivered").len() == 3 && !named(told, "destination.revived").is_empty();
    let told = until(&mut sync, over).await;
    for name in ["item.exhausted", "item.revived", "item.delivered"] {
        assert_eq!(keys(&told, name), all, "{name}: {told:?}");
    }
    let delivered = named(&told, "item.delivered");
    assert!(delivered.iter().any(|data| data["resource"] == "users/u-1" && data["fence"].is_i64()), "{told:?}");
    let down = named(&told, "destination.down");
    assert_eq!((down.len(), &down[0]["resource"], &down[0]["detail"]), (1, &json!("users"), &json!("HTTP 503")));
    assert!(named(&told, "destination.probed").len() >= 2, "{told:?}");
    assert_eq!(named(&told, "destination.recovered").len(), 1, "{told:?}");
    assert_eq!(named(&told, "destination.revived")[0]["detail"], "2", "the third one was the probe");
    // Whoever listens to queues has heard nothing of it: the first thing is another queue's.
    eva.send(reqwest::Method::PUT, "/v1/queues/mails", json!({ "kind": "inbox" })).await.expect(200);
    add(&eva, "mails", json!([{ "id": "m-1", "payload": 1 }])).await;
    let first = queues.event().await.data.unwrap();
    assert_eq!((&first["topic"], &first["resource"]), (&json!("queues"), &json!("mails")));
}

async fn a_recovery_that_revives_nothing_is_not_told_as_if_it_did(world: World) {
    let queue = world.turno.put_queue("users", Policy::of(Kind::Sync)).await.unwrap();
    let eva = world.client("eva").await;
    let mut sync = Listener::open(&eva, "/v1/events?topics=sync").await;
    for revived in [0, 2] {
        for of in [1, 2, 1] {
            let handed_at = world.turno.now();
            let (of, error) = (Lane(of), "HTTP 503".to_owned());
            let failure = Failure { of, handed_at, error, unreached: false, round_began: None };
            queue.destination_failed(&failure, Span::from_secs(30)).await.unwrap();
        }
        let back = queue.destination_succeeded().await.unwrap().unwrap();
        let since = back.revive_since.unwrap();
        assert!(queue.destination_revived(since, revived).await.unwrap().unwrap().is_well());
    }
    let told = until(&mut sync, |told| !named(told, "destination.revived").is_empty()).await;
    assert_eq!(named(&told, "destination.recovered").len(), 2, "{told:?}");
    let revived: Vec<_> = named(&told, "destination.revived").iter().map(|data| data["detail"].clone()).collect();
    assert_eq!(revived, ["2"], "only of the second outage");
}

async fn what_is_done_to_a_source_is_told(world: World) {
    let sync = world.turno.sync(Source::siper());
    if users(&world).await.is_none() {
        assert!(sync.install().await.is_err(), "there is nothing to be told where there are no triggers");
        return;
    }
    world.turno.put_queue("usuarios_modulo", Policy::of(Kind::Sync)).await.unwrap();
    let eva = world.client("eva").await;
    let mut listener = Listener::open(&eva, "/v1/events?topics=sync").await;
    sync.install().await.unwrap();
    sync.resync(Key::new("7").unwrap()).await.unwrap();
    sync.remove().await.unwrap();
    let told = until(&mut listener, |told| !named(told, "source.removed").is_empty()).await;
    let said = |name: &str| named(&told, name).iter().map(|data| data["detail"].clone()).collect::<Vec<_>>();
    assert_eq!(said("source.installed"), ["siper.usuarios"]);
    assert_eq!(said("source.resent"), ["7"]);
    assert!(said("source.removed")[0].as_str().unwrap().contains("tr_sincro_usuarios_modulo_global"), "{told:?}");
    assert!(told.iter().all(|block| block.data.as_ref().unwrap()["resource"] == "usuarios"), "{told:?}");
}
