//! A chat bot: messages of one person in order and grouped, one conversation at a time. A poisoned message does not
//! affect the others. `cargo run --example worker -- sqlite:chat.db`

use std::sync::{Arc, Mutex};
use std::time::Duration;
use turno::Turno;
use turno::queue::{Draft, Failed, Job, Policy};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let turno = Turno::open(&std::env::args().nth(1).unwrap_or("sqlite:chat.db".into())).await?;
    // Messages within a tenth of a second are answered together.
    let policy = Policy::lane().window(Duration::from_millis(100)).max_attempts(1);
    let chat = turno.put_queue("chat", policy).await?;
    for (id, key, text) in
        [("1", "ana", "hola"), ("2", "luis", "buenas"), ("3", "ana", "¿hay turno?"), ("4", "ana", "")]
    {
        chat.enqueue(vec![Draft::json(text)?.key(key)?.id(id)?]).await?;
    }
    let log: Arc<Mutex<Vec<String>>> = Arc::default();
    let (all, mut done) = tokio::sync::mpsc::channel(8);
    let notes = log.clone();
    let worker = chat
        .worker(move |job: Job<String>| {
            let (notes, all) = (notes.clone(), all.clone());
            async move {
                let key = job.key.as_ref().map_or("?", |key| key.as_str()).to_owned();
                let answer =
                    if job.payload.is_empty() { Err(Failed::new("nothing to answer").give_up()) } else { Ok(()) };
                let verb = if answer.is_ok() { "answered" } else { "gave up on" };
                notes.lock().expect("the lock is not poisoned").push(format!("{key}: {verb} {}", job.id));
                let _ = all.send(()).await;
                answer
            }
        })
        .instance("bot-1")
        .start()?;
    for _ in 0..4 {
        done.recv().await;
    }
    worker.stop().await;
    let mut log = log.lock().expect("the lock is not poisoned").clone();
    // Items are ordered within a key, not between keys.
    log.sort_by_key(|line| line.starts_with("luis"));
    log.iter().for_each(|line| println!("{line}"));
    let counts = chat.counts().await?;
    println!("{} processed, {} exhausted", counts.processed, counts.exhausted);
    Ok(())
}
