//! A chat bot in one process: messages that a person writes together are answered together, one conversation at a
//! time. A message that cannot be answered does not affect the others.
//! `cargo run --example chat_bot -- sqlite:chat.db`

use serde::{Deserialize, Serialize};
use std::time::Duration;
use turno::Turno;
use turno::queue::{Draft, Failed, Job, Policy};

#[derive(Debug, Deserialize, Serialize)]
struct Message {
    text: String,
}

/// Answers a person. An error fails the whole group, which is retried. An error with `at` fails only that message.
async fn answer(group: Vec<Job<Message>>) -> Result<(), Failed> {
    let poison = group.iter().position(|message| message.payload.text.is_empty());
    let sound = &group[..poison.unwrap_or(group.len())];
    if let Some(first) = sound.first() {
        let person = first.key.as_ref().map_or("?", |key| key.as_str());
        let texts: Vec<&str> = sound.iter().map(|message| message.payload.text.as_str()).collect();
        // A real bot would call WhatsApp here and pass `first.fence`, so that a late bot can be refused.
        println!("{person}: {}", texts.join(" | "));
    }
    match poison {
        Some(index) => Err(Failed::new("a message without a text").at(&group[index].id).give_up()),
        None => Ok(()),
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let turno = Turno::open(&std::env::args().nth(1).unwrap_or("sqlite:chat.db".into())).await?;
    let bot = turno.put_queue("bot", Policy::lane().window(Duration::from_millis(200))).await?;
    // Two instances. They could also run on two machines.
    let workers = ["bot-1", "bot-2"].map(|name| bot.group_worker(answer).instance(name).start());

    // What a webhook would do. The same message twice is accepted once, because its id decides.
    for (id, text) in [("wa-1", "Hola"), ("wa-2", "¿Disponibilidad?"), ("wa-2", "¿Disponibilidad?"), ("wa-3", "")] {
        let message = Message { text: text.to_owned() };
        bot.enqueue(vec![Draft::json(&message)?.key("ana")?.id(id)?]).await?;
    }

    // Everything is answered when no item waits and none is in process.
    let mut counts = bot.counts().await?;
    while counts.pending + counts.in_process + counts.error > 0 {
        tokio::time::sleep(Duration::from_millis(20)).await;
        counts = bot.counts().await?;
    }
    for worker in workers {
        worker?.stop().await;
    }
    println!("{} answered, {} exhausted", counts.processed, counts.exhausted);
    Ok(())
}
