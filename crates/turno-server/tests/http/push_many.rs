//! Several servers and one receiver: calls of a key never overlap, and fences never go back.

use std::collections::{HashMap, VecDeque};

use crate::cases;
use crate::push::pushed;
use crate::queue::add;
use crate::receiver::{PATIENCE, Receiver};
use crate::world::{Client, World};
use serde_json::json;
use turno::queue::Kind;

cases![
    calls_of_a_key_from_two_servers_neither_overlap_nor_go_back,
    control_calls_of_one_inbox_key_overlap,
    a_delivery_of_a_killed_server_is_pushed_again_under_a_greater_fence,
];

/// Counts per key.
#[derive(Debug, Default)]
struct Seen {
    /// Calls in progress.
    inside: usize,
    /// Overlapping calls.
    overlaps: usize,
    /// Calls with a fence not greater than the one before.
    backward: usize,
    fence: i64,
    ids: Vec<String>,
}

/// Receives the calls of all items. Answers each call only when another one is in progress, as long as another can
/// come. In a lane none can come for a key that is being called.
async fn observe(mut receiver: Receiver, keys: &[&str], kind: Kind) -> HashMap<String, Seen> {
    let mut seen: HashMap<String, Seen> = keys.iter().map(|key| (format!("/{key}"), Seen::default())).collect();
    let mut held = VecDeque::new();
    loop {
        let can_come = seen.values().any(|key| key.ids.len() < EACH && (kind == Kind::Inbox || key.inside == 0));
        if can_come && held.len() < TOGETHER {
            let call = receiver.next().await;
            let of_key = seen.get_mut(call.uri.path()).unwrap();
            of_key.overlaps += usize::from(of_key.inside > 0);
            of_key.backward += usize::from(call.fence() <= of_key.fence);
            (of_key.fence, of_key.inside) = (call.fence(), of_key.inside + 1);
            of_key.ids.extend(call.ids());
            held.push_back(call);
        } else if let Some(call) = held.pop_front() {
            seen.get_mut(call.uri.path()).unwrap().inside -= 1;
            call.answer(200);
        } else {
            return seen;
        }
    }
}

async fn enqueue(client: &Client, queue: &str, keys: &[&str]) {
    for n in 0..EACH {
        let batch: Vec<_> =
            keys.iter().map(|key| json!({ "id": format!("{key}-{n:03}"), "key": key, "payload": n })).collect();
        add(client, queue, json!(batch)).await;
    }
}

const KEYS: [&str; 4] = ["ana", "leo", "eva", "vera"];
const EACH: usize = 12;
/// Fewer than there are keys, so that another call can always come.
const TOGETHER: usize = 2;

async fn calls_of_a_key_from_two_servers_neither_overlap_nor_go_back(world: World) {
    let receiver = Receiver::start().await;
    let policy = json!({ "kind": "lane", "window_ms": 0, "batch_max": 1 });
    let eva = pushed(&world, "bot", policy, json!({ "url": receiver.url("/{key}"), "concurrency": 4 })).await;
    let second = world.second();
    enqueue(&eva.at(&second), "bot", &KEYS).await;
    let seen =
        tokio::time::timeout(PATIENCE, observe(receiver, &KEYS, Kind::Lane)).await.expect("all items are delivered");
    for (key, of_key) in seen {
        assert_eq!((of_key.overlaps, of_key.backward), (0, 0), "{key}");
        let sorted = of_key.ids.iter().is_sorted();
        assert!(sorted && of_key.ids.len() == EACH, "{key}: {:?}", of_key.ids);
    }
}

/// The control: in an inbox, calls of one key may overlap.
async fn control_calls_of_one_inbox_key_overlap(world: World) {
    let receiver = Receiver::start().await;
    let push = json!({ "url": receiver.url("/{key}"), "concurrency": 4 });
    let eva = pushed(&world, "bot", json!({ "kind": "inbox" }), push).await;
    enqueue(&eva, "bot", &KEYS[..1]).await;
    let seen = tokio::time::timeout(PATIENCE, observe(receiver, &KEYS[..1], Kind::Inbox))
        .await
        .expect("all items are delivered");
    assert!(seen["/ana"].overlaps > 0, "{seen:?}");
}

async fn a_delivery_of_a_killed_server_is_pushed_again_under_a_greater_fence(world: World) {
    let mut world = world;
    let mut receiver = Receiver::start().await;
    let policy = json!({ "kind": "lane", "window_ms": 0, "lock_timeout_ms": 1_000, "max_hold_ms": 10_000 });
    let eva = pushed(&world, "bot", policy, json!({ "url": receiver.url("/") })).await;
    add(&eva, "bot", json!({ "id": "a1", "key": "ana", "payload": 1 })).await;
    let first = receiver.next().await;
    let (id, fence) = (first.header("webhook-id").to_owned(), first.fence());
    world.server.kill();
    first.abandoned().await;
    let second = world.second();
    let again = receiver.next().await;
    assert!(again.fence() > fence, "the receiver can refuse the older fence");
    assert_eq!((again.header("webhook-id"), again.header("turno-attempt")), (id.as_str(), "2"));
    again.answer(200);
    crate::push::item_in(&eva.at(&second), "bot", "a1", "processed").await;
}
