//! Something to look at: a chat bot's lanes, an inbox, and users who are carried to another system that is down at times,
//! filled and worked through the engine.

use std::time::Duration;

use turno::core::id::{Key, QueueName};
use turno::core::queue::{Act, Kind, Policy};
use turno::core::time::Span;
use turno::{Draft, Error, QueueHandle, Settlement, Turno};

/// How many people write to the bot.
const PEOPLE: u64 = 7;

/// Keeps both queues busy until it is dropped. What fails is tried again: a demo must not die of a hiccup.
pub(super) async fn run(turno: Turno) -> Result<(), Error> {
    let chat = Policy { window: Span(800), typing_extension: Span(800), ..Policy::of(Kind::Lane) };
    let chat = turno.put_queue(QueueName::new("chat")?, chat).await?;
    let inbox = turno.put_queue(QueueName::new("inbox")?, Policy::of(Kind::Inbox)).await?;
    let users = Policy { backoff: Span(2_000), max_attempts: 20, ..Policy::of(Kind::Sync) };
    let users = turno.put_queue(QueueName::new("usuarios_modulo")?, users).await?;
    tokio::join!(
        write(chat.clone(), inbox.clone()),
        work(chat, "bot-1"),
        work(inbox.clone(), "app-1"),
        work(inbox, "app-2"),
        change(users.clone()),
        carry(users)
    );
    Ok(())
}

/// People who write two or three messages in a row, and records that arrive.
async fn write(chat: QueueHandle, inbox: QueueHandle) {
    for n in 0u64.. {
        let person = Key::new(format!("+34 600 00{}", n * n % PEOPLE)).ok();
        let said = if n % 3 == 0 { "\"hola\"" } else { "\"¿hay sitio el viernes?\"" };
        let message = Draft { key: person, payload: said.into(), ..Draft::default() };
        let record = Draft { payload: format!("{{\"presentation\":{n}}}").into(), ..Draft::default() };
        let _ = tokio::join!(chat.enqueue(vec![message]), inbox.enqueue(vec![record]));
        tokio::time::sleep(Duration::from_millis(120 + n % 5 * 70)).await;
    }
}

/// A worker that takes a moment for every delivery.
async fn work(queue: QueueHandle, instance: &str) {
    loop {
        let Ok(got) = queue.claim(instance, 1, Span::from_secs(10)).await else {
            tokio::time::sleep(Duration::from_secs(1)).await;
            continue;
        };
        for got in got {
            tokio::time::sleep(Duration::from_millis(250)).await;
            let _ = queue.ack([got.handed]).await;
        }
    }
}

/// Users whose data change: only the newest state of each is carried.
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

/// The way to the other system, which refuses a quarter of its calls, one after another.
async fn carry(users: QueueHandle) {
    let mut calls = 0u32;
    loop {
        let Ok(got) = users.claim("sync-1", 1, Span::from_secs(10)).await else {
            tokio::time::sleep(Duration::from_secs(1)).await;
            continue;
        };
        for got in got {
            calls += 1;
            tokio::time::sleep(Duration::from_millis(300)).await;
            let down = calls % 120 > 90;
            let error = "503 from the module: it is down for a while".to_owned();
            let failed = Act::Fail { error, item: None, retry_in: None, give_up: false };
            let act = if down { failed } else { Act::Ack { through: None } };
            let _ = users.settle(vec![Settlement { handed: got.handed, act }]).await;
        }
    }
}
