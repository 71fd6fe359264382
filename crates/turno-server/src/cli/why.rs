//! `turno why`: explains in one sentence who holds something, or why it is not running.

use serde_json::Value;

use super::lease;
use super::output::{Format, cell, say, span};
use crate::client::{Answer, Client, Refusal, ServerArgs, part};
use crate::failure::Failure;
use crate::texts::message::Message;
use crate::texts::terminal::render;

const EXAMPLES: &str = "\
Examples:
  turno why caja:3              who holds this lease, and until when
  turno why task:7              the same for a task, with its status
  turno why bot                 how the queue `bot` is doing
  turno why bot/msg-81          why this item of the queue `bot` does not run
  turno why bot key 54911223    why nothing of this key runs";

/// Arguments of `turno why`.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct WhyArgs {
    /// A resource, `task:N`, a queue, `QUEUE/ITEM`, or the three words `QUEUE key KEY`
    #[arg(required = true, num_args = 1..=3, value_name = "THING")]
    thing: Vec<String>,
    #[command(flatten)]
    format: Format,
    #[command(flatten)]
    server: ServerArgs,
}

pub(crate) async fn run(arguments: &WhyArgs) -> Result<(), Failure> {
    let client = Client::new(&arguments.server)?;
    let words: Vec<&str> = arguments.thing.iter().map(String::as_str).collect();
    let (answer, sentence) = match words.as_slice() {
        [queue, "key", key] => queued(client.get(&format!("/v1/queues/{}/keys/{}/why", part(queue), part(key))).await?),
        [thing] => explain(&client, thing).await?,
        _ => {
            return Err(Failure::usage(Message::new("why-many")));
        }
    };
    if arguments.format.json {
        answer.print_json();
    } else {
        say(&[sentence]);
    }
    Ok(())
}

async fn explain(client: &Client, thing: &str) -> Result<(Answer, String), Failure> {
    if let Some(task) = thing.strip_prefix("task:") {
        match client.try_get(&format!("/v1/tasks/{}", part(task))).await {
            Ok(answer) => {
                let message = Message::new("task-explained").text("task", task);
                let message = message.text("status", super::task::status(&answer.json));
                let sentence = render(&message.text("lock", held(&answer)));
                return Ok((answer, sentence));
            }
            Err(refusal) => not_found(refusal)?,
        }
    }
    // A resource name may contain a slash, too. The queue is asked first, because items have no other notation.
    if let Some((queue, item)) = thing.split_once('/') {
        match client.try_get(&format!("/v1/queues/{}/items/{}/why", part(queue), part(item))).await {
            Ok(answer) => return Ok(queued(answer)),
            // If the queue exists, the item does not, and the refusal says so.
            Err(refusal) if client.try_get(&format!("/v1/queues/{}", part(queue))).await.is_ok() => {
                return Err(refusal.into());
            }
            Err(refusal) => not_found(refusal)?,
        }
        return leased(client, thing, queue).await;
    }
    let lease = client.get(&format!("/v1/leases/{}", part(thing))).await?;
    let sentence = lease::sentence(&lease, &lease.json);
    // Without permission to read queues, the caller gets the lease only.
    match client.try_get(&format!("/v1/queues/{}", part(thing))).await {
        Ok(queue) if is_untouched(&lease.json) => {
            let sentence = queue_sentence(&queue, thing);
            Ok((queue, sentence))
        }
        Ok(queue) => Ok((lease, format!("{sentence} {}", queue_sentence(&queue, thing)))),
        Err(_) => Ok((lease, sentence)),
    }
}

/// Explains a lease whose name contains a slash. If no lease of that name ever existed, reports an error, because the
/// name of the queue is probably misspelt.
async fn leased(client: &Client, thing: &str, queue: &str) -> Result<(Answer, String), Failure> {
    let path = format!("/v1/leases/{}", part(thing));
    let lease = client.get(&path).await?;
    if is_untouched(&lease.json) && client.get(&format!("{path}/history?limit=1")).await?.items().is_empty() {
        return Err(Failure::failed(Message::new("why-unknown").text("queue", queue).text("resource", thing)));
    }
    let sentence = lease::sentence(&lease, &lease.json);
    Ok((lease, sentence))
}

/// Returns whether the lease is free and its waiting line is empty.
fn is_untouched(lease: &Value) -> bool {
    lease::state(lease) == "free" && lease["waiting"].as_i64().unwrap_or_default() == 0
}

/// Summarises a queue: its condition and its counts.
fn queue_sentence(answer: &Answer, name: &str) -> String {
    let queue = &answer.json;
    let count = |state: &str| queue["counts"][state].as_u64().unwrap_or_default();
    let (waiting, at_work) = (count("pending") + count("error"), count("in_process"));
    let condition = if queue["paused"] == true {
        "queue-paused"
    } else if queue["destination"]["down"] == true {
        "why-down"
    } else if waiting == 0 && at_work == 0 {
        "queue-empty"
    } else if waiting > 0 && at_work == 0 && !queue["push"].is_object() {
        "why-unpolled"
    } else {
        "why-working"
    };
    let mut words = vec![render(&Message::new(condition).text("queue", name))];
    let counted = [(waiting, "why-waiting"), (at_work, "why-in-process"), (count("exhausted"), "queue-exhausted")];
    let counted = counted.into_iter().filter(|(count, _)| *count > 0);
    words.extend(counted.map(|(count, id)| render(&Message::new(id).number("count", count))));
    if let Some(ms) = queue["oldest_waiting_ms"].as_i64().filter(|_| waiting > 0) {
        let lasting = Message::new("when-for").text("span", span(ms));
        words.push(render(&Message::new("why-oldest").message("lasting", lasting)));
    }
    format!("{}.", words.join("; "))
}

/// Ignores "not found", so that the caller tries the next interpretation.
fn not_found(refusal: Refusal) -> Result<(), Failure> {
    if refusal.code.as_deref() == Some("not_found") { Ok(()) } else { Err(refusal.into()) }
}

fn held(answer: &Answer) -> String {
    lease::sentence(answer, &answer.json["lock"])
}

fn queued(answer: Answer) -> (Answer, String) {
    let sentence = match answer.json["detail"].as_str() {
        Some(detail) => detail.to_owned(),
        None => cell(&answer.json["reason"]),
    };
    (answer, sentence)
}
