//! Simulated traffic: lanes of a chat bot, an inbox, and a sync queue whose destination is down at times.

use std::time::Duration;
use turno::queue::{Claim, Delivery, Draft, QueueHandle, Settlement};

use turno::core::id::{Key, QueueName};
use turno::core::queue::{Act, Kind, Policy};
use turno::core::time::Span;
use turno::{Error, Turno};

/// Users that the other system refuses.
const WITHOUT_MAIL: [&str; 2] = ["1005", "1009"];
/// Number of people who write to the bot.
const PEOPLE: u64 = 7;
/// Messages that a person sends in a row, and that the bot answers as one group.
const BURSTS: [&[&str]; 4] = [
    &["Hola", "¿Disponibilidad 15 enero?", "Para 2 personas"],
    &["Buenas", "¿hay sitio el viernes?"],
    &["Gracias"],
    &["Una cosa más", "¿admiten perros?", "Es pequeño", "Muy pequeño"],
];

/// Keeps the queues busy until the future is dropped. Failed calls are repeated, so that the demo survives a failing
/// database. With `users_by_api`, also enqueues users.
pub(super) async fn run(turno: Turno, users_by_api: bool) -> Result<(), Error> {
    let chat = Policy { window: Span(1_500), typing_extension: Span(1_500), ..Policy::for_kind(Kind::Lane) };
    let chat = turno.put_queue(QueueName::new("chat")?, chat).await?;
    // Short claims, so that a visitor sees the deliveries of a dead instance return.
    let inbox = Policy { lock_timeout: Span(8_000), max_attempts: 3, ..Policy::for_kind(Kind::Inbox) };
    let inbox = turno.put_queue(QueueName::new("inbox")?, inbox).await?;
    let policy = Policy { backoff: Span(2_000), max_attempts: 20, ..Policy::for_kind(Kind::Sync) };
    let users = match users_by_api {
        true => Some(turno.put_queue(QueueName::new("usuarios_modulo")?, policy).await?),
        false => None,
    };
    tokio::join!(
        write(chat.clone()),
        work(chat.clone(), "bot-1", answer),
        work(chat, "bot-2", answer),
        arrive(inbox.clone()),
        work(inbox.clone(), "app-1", process),
        work(inbox.clone(), "app-2", process),
        work(inbox, "app-3", process_or_die),
        by_api(users)
    );
    Ok(())
}

async fn by_api(users: Option<QueueHandle>) {
    if let Some(users) = users {
        tokio::join!(change(users.clone()), carry(users));
    }
}

/// Sends messages in bursts, with typing signals in between.
async fn write(chat: QueueHandle) {
    for n in 0u64.. {
        let Ok(person) = Key::new(format!("+34 600 00{}", n * n % PEOPLE)) else { continue };
        for text in BURSTS[n as usize % BURSTS.len()] {
            // Sometimes an empty message, which no bot can answer: the item is exhausted, and the others of its group
            // are not.
            let text = if n % 40 == 11 { "" } else { *text };
            let payload = serde_json::json!({ "text": text }).to_string().into();
            let message = Draft { key: Some(person.clone()), payload, ..Draft::default() };
            let _ = chat.enqueue(vec![message]).await;
            tokio::time::sleep(Duration::from_millis(250)).await;
            let _ = chat.typing(person.clone()).await;
        }
        tokio::time::sleep(Duration::from_millis(200 + n % 5 * 100)).await;
    }
}

/// Enqueues records.
async fn arrive(inbox: QueueHandle) {
    for n in 0u64.. {
        let record = Draft { payload: format!("{{\"presentation\":{n}}}").into(), ..Draft::default() };
        let _ = inbox.enqueue(vec![record]).await;
        tokio::time::sleep(Duration::from_millis(150 + n % 5 * 70)).await;
    }
}

/// Decides what a worker does with its n-th delivery. `None` means that the worker dies.
type Handler = fn(&Delivery, u64) -> Option<Act>;

/// Runs a worker that takes a moment for every delivery.
async fn work(queue: QueueHandle, instance: &str, handler: Handler) {
    let mut count = 0;
    loop {
        let Ok(got) = queue.claim(Claim::by(instance).wait(Duration::from_secs(10))).await else {
            tokio::time::sleep(Duration::from_secs(1)).await;
            continue;
        };
        for got in got {
            count += 1;
            tokio::time::sleep(Duration::from_millis(250)).await;
            match handler(&got, count) {
                Some(act) => drop(queue.settle(vec![Settlement { reference: got.reference, act }]).await),
                // The worker restarts later. By then its delivery has expired and was handed out again.
                None => tokio::time::sleep(Duration::from_secs(15)).await,
            }
        }
    }
}

fn failed(error: &str, item: Option<&turno::queue::DeliveryItem>) -> Act {
    let (give_up, item) = (item.is_some(), item.map(|item| item.id.clone()));
    Act::Fail { error: error.to_owned(), item, retry_in: None, give_up }
}

fn answer(got: &Delivery, _: u64) -> Option<Act> {
    match got.items.iter().find(|item| item.payload.contains("\"\"")) {
        Some(poison) => Some(failed("un mensaje sin texto", Some(poison))),
        None => Some(Act::Ack { through: None }),
    }
}

fn process(_: &Delivery, count: u64) -> Option<Act> {
    let busy = count % 9 == 8;
    Some(if busy { failed("503 del servicio web", None) } else { Act::Ack { through: None } })
}

fn process_or_die(got: &Delivery, count: u64) -> Option<Act> {
    if count % 25 == 24 { None } else { process(got, count) }
}

/// Changes users. Only the newest state of each is delivered.
async fn change(users: QueueHandle) {
    for n in 0u64.. {
        let person = Key::new(format!("{}", 1_000 + n * 7 % 12)).ok();
        let payload = format!("{{\"activo\":{}}}", n % 4 != 0).into();
        let _ = users
            .enqueue(vec![Draft { key: person, action: Some("ACTUALIZAR".into()), payload, ..Draft::default() }])
            .await;
        tokio::time::sleep(Duration::from_millis(900)).await;
    }
}

/// Delivers users to the other system, which is down at times and always refuses two of them.
async fn carry(users: QueueHandle) {
    let mut calls = 0u32;
    loop {
        let Ok(got) = users.claim(Claim::by("sync-1").wait(Duration::from_secs(10))).await else {
            tokio::time::sleep(Duration::from_secs(1)).await;
            continue;
        };
        for got in got {
            calls += 1;
            tokio::time::sleep(Duration::from_millis(300)).await;
            let act = match (calls % 70 > 45, got.key.as_ref().map(Key::as_str)) {
                (true, _) => failed("503 del módulo: no responde", None),
                // Gives up, because further attempts cannot succeed and a person must decide.
                (false, Some(key)) if WITHOUT_MAIL.contains(&key) => {
                    let error = "422 del módulo: falta el correo".to_owned();
                    Act::Fail { error, item: None, retry_in: None, give_up: true }
                }
                (false, _) => Act::Ack { through: None },
            };
            let _ = users.settle(vec![Settlement { reference: got.reference, act }]).await;
        }
    }
}
