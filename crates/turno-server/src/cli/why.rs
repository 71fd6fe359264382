//! `turno why`: one sentence for whoever wonders.

use serde_json::Value;

use super::lease;
use super::output::{Format, cell, say};
use crate::client::{Answer, Client, Refusal, ServerArgs, part};
use crate::failure::Failure;

const EXAMPLES: &str = "\
Examples:
  turno why caja:3              who holds this lease, and until when
  turno why task:7              the same for a task, with its status
  turno why bot/msg-81          why this item of the queue `bot` does not run
  turno why bot key 54911223    why nothing of this key runs";

/// What to wonder about.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct WhyArgs {
    /// A resource, `task:N`, `QUEUE/ITEM`, or the three words `QUEUE key KEY`
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
        [thing] => one(&client, thing).await?,
        _ => {
            return Err(Failure::usage(
                "that is more than one thing",
                "ask for a resource, task:N, QUEUE/ITEM, or QUEUE key KEY",
            ));
        }
    };
    if arguments.format.json {
        answer.print_json();
    } else {
        say(&[sentence]);
    }
    Ok(())
}

async fn one(client: &Client, thing: &str) -> Result<(Answer, String), Failure> {
    if let Some(task) = thing.strip_prefix("task:") {
        match client.try_get(&format!("/v1/tasks/{}", part(task))).await {
            Ok(answer) => {
                let sentence = format!("Task {task} is {}. {}", word(&answer.json["status"]), held(&answer));
                return Ok((answer, sentence));
            }
            Err(refusal) => not_found(refusal)?,
        }
    }
    // A resource may have a slash in its name as well; a queue is asked first, since its items have no other way.
    if let Some((queue, item)) = thing.split_once('/') {
        match client.try_get(&format!("/v1/queues/{}/items/{}/why", part(queue), part(item))).await {
            Ok(answer) => return Ok(queued(answer)),
            // Of a queue that exists it is the item that does not.
            Err(refusal) if client.try_get(&format!("/v1/queues/{}", part(queue))).await.is_ok() => {
                return Err(refusal.into());
            }
            Err(refusal) => not_found(refusal)?,
        }
    }
    let answer = client.get(&format!("/v1/leases/{}", part(thing))).await?;
    let sentence = lease::sentence(&answer, &answer.json);
    Ok((answer, sentence))
}

/// Goes on with the next guess if there is no such thing.
fn not_found(refusal: Refusal) -> Result<(), Failure> {
    if refusal.code.as_deref() == Some("not_found") { Ok(()) } else { Err(refusal.into()) }
}

fn held(answer: &Answer) -> String {
    lease::sentence(answer, &answer.json["lock"])
}

fn word(value: &Value) -> String {
    cell(value).replace('_', " ")
}

fn queued(answer: Answer) -> (Answer, String) {
    let sentence = match answer.json["detail"].as_str() {
        Some(detail) => detail.to_owned(),
        None => word(&answer.json["reason"]),
    };
    (answer, sentence)
}
