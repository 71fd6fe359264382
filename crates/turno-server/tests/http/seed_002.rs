//! Seed 002, a WhatsApp bot's lock per user with a queue: its four use cases, by their names, over two servers on one
//! database. The seed's 15 seconds are shorter where a case waits for their end.
//!
//! Each has its negative control: the same without the protection goes wrong, and is seen to.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use crate::cases;
use crate::queue::{add, claim, claim_with, ids, made, settle};
use crate::seed_003::WebService;
use crate::world::{Client, World};
use serde_json::{Value, json};

cases![
    use_case_1_normal_message,
    use_case_2_duplicate_message,
    use_case_3_hung_system,
    use_case_3_hung_system_and_its_server_is_killed,
    use_case_4_several_messages,
    use_case_4_several_messages_are_handed_over_together_within_the_window,
];

/// What the seed's page of locks says: keys with a lock, and keys with messages that wait.
async fn locks(client: &Client) -> (i64, i64) {
    let stats = client.get("/locks").await.expect(200)["stats"].clone();
    (stats["activeLocks"].as_i64().unwrap(), stats["activeQueues"].as_i64().unwrap())
}

fn message(id: &str, user: &str, text: &str) -> Value {
    json!({ "id": id, "key": user, "payload": { "text": text } })
}

/// The user's next messages, when they are due.
async fn next(client: &Client, instance: &str) -> Value {
    claim_with(client, "bot", json!({ "instance": instance, "wait_ms": 20_000 })).await.remove(0)
}

// Caso 1: Mensaje Normal
async fn use_case_1_normal_message(world: World) {
    let eva = made(&world, "bot", json!({ "kind": "lane", "window_ms": 0 })).await;
    add(&eva, "bot", message("m-1", "123456789", "¿Disponibilidad 15 enero?")).await;
    assert_eq!(locks(&eva).await, (0, 1));
    let taken = next(&eva, "bot-1").await;
    assert_eq!(locks(&eva).await, (1, 0), "lock adquirido");
    assert_eq!(taken["items"][0]["payload"]["text"], "¿Disponibilidad 15 enero?");
    // The control: the lock is there for as long as nobody says that it is done.
    add(&eva, "bot", message("m-2", "123456789", "Gracias")).await;
    assert!(claim(&eva, "bot", "bot-2").await.is_empty());
    assert_eq!(settle(&eva, "bot", "ack", &taken, json!({})).await["outcome"], "acked");
    assert_eq!(locks(&eva).await, (0, 1), "lock liberado, and the next message waits for nobody");
    let taken = next(&eva, "bot-2").await;
    settle(&eva, "bot", "ack", &taken, json!({})).await;
    assert_eq!(locks(&eva).await, (0, 0), "cola limpiada");
}

// Caso 2: Mensaje Duplicado
async fn use_case_2_duplicate_message(world: World) {
    let second = world.second();
    let eva = made(&world, "bot", json!({ "kind": "lane", "window_ms": 0 })).await;
    let there = eva.at(&second);
    let same = |id: &str| message(id, "123456789", "¿Disponibilidad 15 enero?");
    add(&eva, "bot", same("m-1")).await;
    let first = next(&eva, "bot-1").await;
    // The user sends it again: equal contents are another message, which waits for the first, at every instance.
    assert_eq!(add(&there, "bot", same("m-2")).await[0]["outcome"], "queued");
    assert!(claim(&eva, "bot", "bot-1").await.is_empty() && claim(&there, "bot", "bot-2").await.is_empty());
    let why = there.get("/v1/queues/bot/items/m-2/why").await.expect(200);
    assert_eq!(
        (&why["reason"], &why["behind"], &why["instance"]),
        (&json!("behind_in_flight"), &json!("m-1"), &json!("bot-1"))
    );
    // The network sends the first again: one id is one message.
    assert_eq!(add(&there, "bot", same("m-1")).await[0]["outcome"], "duplicate");
    // Somebody who is already waiting gets it as soon as the first is done, by itself.
    let (waiting, acked) = tokio::join!(next(&there, "bot-2"), settle(&eva, "bot", "ack", &first, json!({})));
    assert_eq!((acked["outcome"].as_str().unwrap(), ids(std::slice::from_ref(&waiting))), ("acked", vec!["m-2"]));
    settle(&there, "bot", "ack", &waiting, json!({})).await;
    assert!(claim(&eva, "bot", "bot-1").await.is_empty(), "and nothing is answered a third time");

    // The control: without a lane per user both are processed at once, and the user gets two answers.
    made(&world, "naive", json!({ "kind": "inbox" })).await;
    add(&eva, "naive", json!([same("m-1"), same("m-2")])).await;
    assert_eq!(claim(&there, "naive", "bot-2").await.len(), 2);
}

// Caso 3: Sistema Colgado
async fn use_case_3_hung_system(world: World) {
    let second = world.second();
    let eva = made(&world, "bot", json!({ "kind": "lane", "window_ms": 0, "lock_timeout_ms": 2_000 })).await;
    let there = eva.at(&second);
    let (mut careful, mut naive) = (WebService::fenced(), WebService::naive());
    add(&eva, "bot", message("m-1", "123456789", "¿Disponibilidad 15 enero?")).await;
    let hung = next(&eva, "bot-1").await;
    // Nothing is heard of it. Whoever asks at the other instance waits until its time is over, and gets the message.
    let again = next(&there, "bot-2").await;
    assert_eq!((ids(std::slice::from_ref(&again)), &again["attempt"]), (vec!["m-1"], &json!(2)));
    assert!(again["fence"].as_i64() > hung["fence"].as_i64());
    for service in [&mut careful, &mut naive] {
        assert!(service.call("m-1", &again));
    }
    assert_eq!(settle(&there, "bot", "ack", &again, json!({})).await["outcome"], "acked");
    // The first wakes up: it cannot say that it is done, and a service that knows fences refuses what it sends.
    assert_eq!(settle(&eva, "bot", "ack", &hung, json!({})).await["outcome"], "stale");
    assert!(!careful.call("m-1", &hung));
    assert_eq!(careful.answered("m-1"), 1);
    // The control: where nobody looks at the fence the user is answered twice.
    assert!(naive.call("m-1", &hung));
    assert_eq!(naive.answered("m-1"), 2);
}

// Caso 3: Sistema Colgado, and this time the whole instance is gone.
async fn use_case_3_hung_system_and_its_server_is_killed(mut world: World) {
    let second = world.second();
    let eva =
        made(&world, "bot", json!({ "kind": "lane", "window_ms": 0, "lock_timeout_ms": 3_000, "batch_max": 1 })).await;
    let there = eva.at(&second);
    let texts = ["Hola", "¿Disponibilidad?", "Para 2 personas"];
    let sent = texts.iter().enumerate().map(|(n, text)| message(&format!("m-{n}"), "123456789", text));
    add(&eva, "bot", sent.collect()).await;
    let held = next(&eva, "bot-1").await;
    world.server.kill();
    // The control: its lock outlives it, as it must while its bot may still be at work.
    assert!(claim(&there, "bot", "bot-2").await.is_empty());
    assert_eq!(locks(&there).await, (1, 1));
    // Its bot is gone with it. All messages are answered at the other instance, in order, none lost and none twice.
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

/// What several bots do, seen together.
#[derive(Default)]
struct Desk {
    told: Mutex<HashMap<String, Vec<String>>>,
    at_work: Mutex<HashMap<String, usize>>,
    overlaps: Mutex<usize>,
}

impl Desk {
    fn begin(&self, delivery: &Value) {
        let user = delivery["key"].as_str().unwrap().to_owned();
        let mut at_work = self.at_work.lock().unwrap();
        let count = at_work.entry(user.clone()).or_default();
        *count += 1;
        *self.overlaps.lock().unwrap() += usize::from(*count > 1);
        let said = ids(std::slice::from_ref(delivery)).into_iter().map(str::to_owned);
        self.told.lock().unwrap().entry(user).or_default().extend(said);
    }

    fn end(&self, delivery: &Value) {
        *self.at_work.lock().unwrap().get_mut(delivery["key"].as_str().unwrap()).unwrap() -= 1;
    }

    fn count(&self) -> usize {
        self.told.lock().unwrap().values().map(Vec::len).sum()
    }
}

/// A bot at one of the servers, until so many messages have been answered by all of them.
async fn bot(client: Client, instance: String, desk: Arc<Desk>, total: usize) {
    while desk.count() < total {
        for taken in claim_with(&client, "bot", json!({ "instance": instance, "wait_ms": 200 })).await {
            desk.begin(&taken);
            // Answering takes a while: a call, in which others may do whatever they can.
            client.get("/v1/queues/bot").await.expect(200);
            desk.end(&taken);
            assert_eq!(settle(&client, "bot", "ack", &taken, json!({})).await["outcome"], "acked");
        }
    }
}

// Caso 4: Múltiples Mensajes
async fn use_case_4_several_messages(world: World) {
    let second = world.second();
    let eva = made(&world, "bot", json!({ "kind": "lane", "window_ms": 0, "batch_max": 1 })).await;
    let there = eva.at(&second);
    let (texts, users) = (["Hola", "¿Disponibilidad?", "Para 2 personas"], ["ana", "leo", "sol", "eva"]);
    for text in texts {
        let of_all = users.iter().map(|user| message(&format!("{user}: {text}"), user, text));
        add(&there, "bot", of_all.collect()).await;
    }
    let desk = Arc::new(Desk::default());
    let bots = (0..6).map(|n| {
        let client = if n % 2 == 0 { eva.fresh() } else { there.fresh() };
        tokio::spawn(bot(client, format!("bot-{n}"), desk.clone(), texts.len() * users.len()))
    });
    for bot in bots.collect::<Vec<_>>() {
        bot.await.unwrap();
    }
    assert_eq!(*desk.overlaps.lock().unwrap(), 0, "one at a time per user, at whichever instance");
    for (user, told) in &*desk.told.lock().unwrap() {
        assert_eq!(*told, texts.map(|text| format!("{user}: {text}")), "in order, each once");
    }
    assert_eq!(locks(&eva).await, (0, 0));

    // The control: without lanes one user's messages are worked on side by side, and the desk sees it.
    made(&world, "naive", json!({ "kind": "inbox" })).await;
    add(&eva, "naive", texts.iter().map(|text| message(text, "ana", text)).collect()).await;
    let naive = Desk::default();
    for client in [&eva, &there, &eva] {
        naive.begin(&claim_with(client, "naive", json!({ "instance": "b", "max": 1 })).await[0]);
    }
    assert_eq!(*naive.overlaps.lock().unwrap(), 2);
}

// Caso 4 with the seed's BUFFER_WINDOW_MS and TYPING_EXTENSION_MS: what is written in one go is answered in one.
async fn use_case_4_several_messages_are_handed_over_together_within_the_window(world: World) {
    let second = world.second();
    let window = json!({ "kind": "lane", "window_ms": 1_500, "typing_extension_ms": 2_500, "max_wait_ms": 20_000 });
    let eva = made(&world, "bot", window).await;
    let there = eva.at(&second);
    // Through both instances, which share the window; somebody waits for it meanwhile.
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
    assert!(typing["until"].as_str().unwrap() > plain.as_str(), "typing keeps it open: {typing}");
    add(&eva, "bot", message("m-3", "ana", "Para 2 personas")).await;
    let taken = waiting.await.unwrap();
    assert_eq!(ids(std::slice::from_ref(&taken)), ["m-1", "m-2", "m-3"], "one delivery, in order");
    settle(&there, "bot", "ack", &taken, json!({})).await;

    // The control: without a window whoever waits gets the first message alone.
    made(&world, "eager", json!({ "kind": "lane", "window_ms": 0 })).await;
    add(&eva, "eager", message("m-1", "ana", "Hola")).await;
    let alone = claim(&there, "eager", "bot-2").await;
    add(&eva, "eager", message("m-2", "ana", "¿Disponibilidad?")).await;
    assert_eq!(ids(&alone), ["m-1"]);
}
