//! A chat bot on several servers: one lock and one queue per user. Four use cases over two servers on one database.
//! The timeout of 15 seconds is shorter where a case waits for its end.
//!
//! Each case has a negative control: without the protection the same sequence goes wrong, and the test sees it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use crate::cases;
use crate::queue::{add, claim, claim_with, ids, made, settle};
use crate::shared_inbox::WebService;
use crate::world::{Client, World};
use serde_json::{Value, json};

cases![
    use_case_1_a_message_locks_its_user_until_the_ack,
    use_case_2_a_duplicate_message_is_processed_once,
    use_case_3_the_message_of_a_hung_bot_is_processed_by_another,
    use_case_3_the_messages_of_a_killed_server_are_processed_by_another,
    use_case_4_several_messages_are_processed_in_order_per_user,
    use_case_4_messages_of_one_window_are_delivered_together,
];

/// Returns the number of keys with a lock and of keys with waiting messages, from `GET /locks`.
async fn locks(client: &Client) -> (i64, i64) {
    let stats = client.get("/locks").await.expect(200)["stats"].clone();
    (stats["activeLocks"].as_i64().unwrap(), stats["activeQueues"].as_i64().unwrap())
}

fn message(id: &str, user: &str, text: &str) -> Value {
    json!({ "id": id, "key": user, "payload": { "text": text } })
}

/// Waits for the user's next messages and claims them.
async fn next(client: &Client, instance: &str) -> Value {
    claim_with(client, "bot", json!({ "instance": instance, "wait_ms": 20_000 })).await.remove(0)
}

// Use case 1: a normal message.
async fn use_case_1_a_message_locks_its_user_until_the_ack(world: World) {
    let eva = made(&world, "bot", json!({ "kind": "lane", "window_ms": 0 })).await;
    add(&eva, "bot", message("m-1", "123456789", "¿Disponibilidad 15 enero?")).await;
    assert_eq!(locks(&eva).await, (0, 1));
    let taken = next(&eva, "bot-1").await;
    assert_eq!(locks(&eva).await, (1, 0), "the user's lock is acquired");
    assert_eq!(taken["items"][0]["payload"]["text"], "¿Disponibilidad 15 enero?");
    // The control: the lock is held until the ack.
    add(&eva, "bot", message("m-2", "123456789", "Gracias")).await;
    assert!(claim(&eva, "bot", "bot-2").await.is_empty());
    assert_eq!(settle(&eva, "bot", "ack", &taken, json!({})).await["outcome"], "acked");
    assert_eq!(locks(&eva).await, (0, 1), "the lock is released and the next message is due");
    let taken = next(&eva, "bot-2").await;
    settle(&eva, "bot", "ack", &taken, json!({})).await;
    assert_eq!(locks(&eva).await, (0, 0), "the queue is empty");
}

// Use case 2: a duplicate message.
async fn use_case_2_a_duplicate_message_is_processed_once(world: World) {
    let second = world.second();
    let eva = made(&world, "bot", json!({ "kind": "lane", "window_ms": 0 })).await;
    let there = eva.at(&second);
    let same = |id: &str| message(id, "123456789", "¿Disponibilidad 15 enero?");
    add(&eva, "bot", same("m-1")).await;
    let first = next(&eva, "bot-1").await;
    // The user sends the text again: an equal payload is another message, which waits for the first on every instance.
    assert_eq!(add(&there, "bot", same("m-2")).await[0]["outcome"], "queued");
    assert!(claim(&eva, "bot", "bot-1").await.is_empty() && claim(&there, "bot", "bot-2").await.is_empty());
    let why = there.get("/v1/queues/bot/items/m-2/why").await.expect(200);
    assert_eq!(
        (&why["reason"], &why["behind"], &why["instance"]),
        (&json!("behind_in_flight"), &json!("m-1"), &json!("bot-1"))
    );
    // The network delivers the first message again: one id is one message.
    assert_eq!(add(&there, "bot", same("m-1")).await[0]["outcome"], "duplicate");
    // A waiting claim gets the second message as soon as the first is acked.
    let (waiting, acked) = tokio::join!(next(&there, "bot-2"), settle(&eva, "bot", "ack", &first, json!({})));
    assert_eq!((acked["outcome"].as_str().unwrap(), ids(std::slice::from_ref(&waiting))), ("acked", vec!["m-2"]));
    settle(&there, "bot", "ack", &waiting, json!({})).await;
    assert!(claim(&eva, "bot", "bot-1").await.is_empty(), "no third message exists");

    // The control: without a lane per user both messages are processed at once, and the user gets two answers.
    made(&world, "naive", json!({ "kind": "inbox" })).await;
    add(&eva, "naive", json!([same("m-1"), same("m-2")])).await;
    assert_eq!(claim(&there, "naive", "bot-2").await.len(), 2);
}

// Use case 3: a hung system.
async fn use_case_3_the_message_of_a_hung_bot_is_processed_by_another(world: World) {
    let second = world.second();
    let eva = made(&world, "bot", json!({ "kind": "lane", "window_ms": 0, "lock_timeout_ms": 2_000 })).await;
    let there = eva.at(&second);
    let (mut careful, mut naive) = (WebService::fenced(), WebService::naive());
    add(&eva, "bot", message("m-1", "123456789", "¿Disponibilidad 15 enero?")).await;
    let hung = next(&eva, "bot-1").await;
    // The bot hangs. A claim at the other instance waits until the delivery expires and gets the message.
    let again = next(&there, "bot-2").await;
    assert_eq!((ids(std::slice::from_ref(&again)), &again["attempt"]), (vec!["m-1"], &json!(2)));
    assert!(again["fence"].as_i64() > hung["fence"].as_i64());
    for service in [&mut careful, &mut naive] {
        assert!(service.call("m-1", &again));
    }
    assert_eq!(settle(&there, "bot", "ack", &again, json!({})).await["outcome"], "acked");
    // The first bot wakes up: its ack is stale, and a service that checks fences refuses its call.
    assert_eq!(settle(&eva, "bot", "ack", &hung, json!({})).await["outcome"], "stale");
    assert!(!careful.call("m-1", &hung));
    assert_eq!(careful.answered("m-1"), 1);
    // The control: a service that ignores the fence answers the user twice.
    assert!(naive.call("m-1", &hung));
    assert_eq!(naive.answered("m-1"), 2);
}

// Use case 3 with a killed server.
async fn use_case_3_the_messages_of_a_killed_server_are_processed_by_another(mut world: World) {
    let second = world.second();
    let eva =
        made(&world, "bot", json!({ "kind": "lane", "window_ms": 0, "lock_timeout_ms": 3_000, "batch_max": 1 })).await;
    let there = eva.at(&second);
    let texts = ["Hola", "¿Disponibilidad?", "Para 2 personas"];
    let sent = texts.iter().enumerate().map(|(n, text)| message(&format!("m-{n}"), "123456789", text));
    add(&eva, "bot", sent.collect()).await;
    let held = next(&eva, "bot-1").await;
    world.server.kill();
    // The control: the lock outlives the server, because its bot may still be working.
    assert!(claim(&there, "bot", "bot-2").await.is_empty());
    assert_eq!(locks(&there).await, (1, 1));
    // The bot died, too. The other instance answers all messages in order, none lost and none twice.
    let mut order = Vec::new();
    for _ in texts {
        let taken = next(&there, "bot-2").await;
        order.push(taken["items"][0]["payload"]["text"].as_str().unwrap().to_owned());
        assert_eq!(settle(&there, "bot", "ack", &taken, json!({})).await["outcome"], "acked");
    }
    assert_eq!(order, texts);
    assert_eq!(settle(&there, "bot", "ack", &held, json!({})).await["outcome"], "stale");
    assert_eq!(locks(&there).await, (0, 0));
}

/// Records what several bots do.
#[derive(Default)]
struct Record {
    answered: Mutex<HashMap<String, Vec<String>>>,
    at_work: Mutex<HashMap<String, usize>>,
    overlaps: Mutex<usize>,
}

impl Record {
    fn begin(&self, delivery: &Value) {
        let user = delivery["key"].as_str().unwrap().to_owned();
        let mut at_work = self.at_work.lock().unwrap();
        let count = at_work.entry(user.clone()).or_default();
        *count += 1;
        *self.overlaps.lock().unwrap() += usize::from(*count > 1);
        let messages = ids(std::slice::from_ref(delivery)).into_iter().map(str::to_owned);
        self.answered.lock().unwrap().entry(user).or_default().extend(messages);
    }

    fn end(&self, delivery: &Value) {
        *self.at_work.lock().unwrap().get_mut(delivery["key"].as_str().unwrap()).unwrap() -= 1;
    }

    fn count(&self) -> usize {
        self.answered.lock().unwrap().values().map(Vec::len).sum()
    }
}

/// Runs a bot at one of the servers until all bots together have answered `total` messages.
async fn bot(client: Client, instance: String, record: Arc<Record>, total: usize) {
    while record.count() < total {
        for taken in claim_with(&client, "bot", json!({ "instance": instance, "wait_ms": 200 })).await {
            record.begin(&taken);
            // Answering takes one call, during which other bots can act.
            client.get("/v1/queues/bot").await.expect(200);
            record.end(&taken);
            assert_eq!(settle(&client, "bot", "ack", &taken, json!({})).await["outcome"], "acked");
        }
    }
}

// Use case 4: several messages.
async fn use_case_4_several_messages_are_processed_in_order_per_user(world: World) {
    let second = world.second();
    let eva = made(&world, "bot", json!({ "kind": "lane", "window_ms": 0, "batch_max": 1 })).await;
    let there = eva.at(&second);
    let (texts, users) = (["Hola", "¿Disponibilidad?", "Para 2 personas"], ["ana", "leo", "sol", "eva"]);
    for text in texts {
        let of_all = users.iter().map(|user| message(&format!("{user}: {text}"), user, text));
        add(&there, "bot", of_all.collect()).await;
    }
    let record = Arc::new(Record::default());
    let bots = (0..6).map(|n| {
        let client = if n % 2 == 0 { eva.fresh() } else { there.fresh() };
        tokio::spawn(bot(client, format!("bot-{n}"), record.clone(), texts.len() * users.len()))
    });
    for bot in bots.collect::<Vec<_>>() {
        bot.await.unwrap();
    }
    assert_eq!(*record.overlaps.lock().unwrap(), 0, "one delivery at a time per user, over all instances");
    for (user, answered) in &*record.answered.lock().unwrap() {
        assert_eq!(*answered, texts.map(|text| format!("{user}: {text}")), "every message once, in order");
    }
    assert_eq!(locks(&eva).await, (0, 0));

    // The control: without lanes, messages of one user overlap, and the record shows it.
    made(&world, "naive", json!({ "kind": "inbox" })).await;
    add(&eva, "naive", texts.iter().map(|text| message(text, "ana", text)).collect()).await;
    let naive = Record::default();
    for client in [&eva, &there, &eva] {
        naive.begin(&claim_with(client, "naive", json!({ "instance": "b", "max": 1 })).await[0]);
    }
    assert_eq!(*naive.overlaps.lock().unwrap(), 2);
}

// Use case 4 with a window and typing: messages written together are delivered together.
async fn use_case_4_messages_of_one_window_are_delivered_together(world: World) {
    let second = world.second();
    let window = json!({ "kind": "lane", "window_ms": 1_500, "typing_extension_ms": 2_500, "max_wait_ms": 20_000 });
    let eva = made(&world, "bot", window).await;
    let there = eva.at(&second);
    // Through both instances, which share the window, while a claim waits for it.
    let waiting = tokio::spawn({
        let there = there.fresh();
        async move { next(&there, "bot-2").await }
    });
    add(&eva, "bot", message("m-1", "ana", "Hola")).await;
    add(&there, "bot", message("m-2", "ana", "¿Disponibilidad?")).await;
    let why = eva.get("/v1/queues/bot/items/m-1/why").await.expect(200);
    let plain = why["until"].as_str().unwrap().to_owned();
    assert_eq!(why["reason"], "window_open");
    there.post("/v1/queues/bot/typing", json!({ "key": "ana" })).await.expect(202);
    let typing = eva.get("/v1/queues/bot/items/m-1/why").await.expect(200);
    assert!(typing["until"].as_str().unwrap() > plain.as_str(), "typing extends the window: {typing}");
    add(&eva, "bot", message("m-3", "ana", "Para 2 personas")).await;
    let taken = waiting.await.unwrap();
    assert_eq!(ids(std::slice::from_ref(&taken)), ["m-1", "m-2", "m-3"], "one delivery, in order");
    settle(&there, "bot", "ack", &taken, json!({})).await;

    // The control: without a window a waiting claim gets the first message alone.
    made(&world, "eager", json!({ "kind": "lane", "window_ms": 0 })).await;
    add(&eva, "eager", message("m-1", "ana", "Hola")).await;
    let alone = claim(&there, "eager", "bot-2").await;
    add(&eva, "eager", message("m-2", "ana", "¿Disponibilidad?")).await;
    assert_eq!(ids(&alone), ["m-1"]);
}
