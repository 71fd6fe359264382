//! A chat bot in Rust, in process: what a person writes in one go is answered together, one conversation at a time, and a
//! message that nobody can answer takes no other along. `cargo run --example chat_bot -- sqlite:chat.db`

use serde::{Deserialize, Serialize};
use turno::core::time::Span;
use turno::{Draft, Failed, Job, Kind, Policy, Turno};

#[derive(Debug, Deserialize, Serialize)]
struct Message {
    text: String,
}

/// Answers a person. An error fails the group, which is tried again; with `at`, only that message.
async fn answer(group: Vec<Job<Message>>) -> Result<(), Failed> {
    let poison = group.iter().position(|message| message.payload.text.is_empty());
    let sound = &group[..poison.unwrap_or(group.len())];
    if let Some(first) = sound.first() {
        let person = first.key.as_ref().map_or("?", |key| key.as_str());
        let texts: Vec<&str> = sound.iter().map(|message| message.payload.text.as_str()).collect();
        // Here it would call WhatsApp, with `first.fence`, so that a bot that comes late can be refused.
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
    let bot = turno.put_queue("bot", Policy { window: Span(200), ..Policy::of(Kind::Lane) }).await?;
    // Two instances of it; they could as well be on two machines.
    let workers = ["bot-1", "bot-2"].map(|name| bot.group_worker(answer).instance(name).start());

    // What a webhook would do. The same message twice is accepted once: its id decides.
    for (id, text) in [("wa-1", "Hola"), ("wa-2", "¿Disponibilidad?"), ("wa-2", "¿Disponibilidad?"), ("wa-3", "")] {
        let message = Message { text: text.to_owned() };
        bot.enqueue(vec![Draft::json(&message)?.key("ana")?.id(id)?]).await?;
    }

    // All is answered when nothing waits and nothing is in process.
    let mut counts = bot.counts().await?;
    while counts.pending + counts.in_process + counts.error > 0 {
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        counts = bot.counts().await?;
    }
    for worker in workers {
        worker?.stop().await;
    }
    println!("{} answered, {} exhausted", counts.processed, counts.exhausted);
    Ok(())
}
