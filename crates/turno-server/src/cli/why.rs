//! `turno why`: one sentence for whoever wonders.

use serde_json::Value;

use super::lease;
use super::output::{Format, cell, say, span};
use crate::client::{Answer, Client, Refusal, ServerArgs, part};
use crate::failure::Failure;
use crate::texts::terminal::told;

const EXAMPLES: &str = "\
Examples:
  turno why caja:3              who holds this lease, and until when
  turno why task:7              the same for a task, with its status
  turno why bot                 how the queue `bot` is doing
  turno why bot/msg-81          why this item of the queue `bot` does not run
  turno why bot key 54911223    why nothing of this key runs";

/// What to wonder about.
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
        [thing] => one(&client, thing).await?,
        _ => {
            return Err(Failure::usage(
                "that is more than one thing",
                "ask for a resource, task:N, a queue, QUEUE/ITEM, or QUEUE key KEY",
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
                let status = told(&format!("Task {task} is {}", word(&answer.json["status"])));
                let sentence = format!("{status}. {}", held(&answer));
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
        return leased(client, thing, queue).await;
    }
    let lease = client.get(&format!("/v1/leases/{}", part(thing))).await?;
    let sentence = lease::sentence(&lease, &lease.json);
    // Whoever may not look at queues hears of the lease alone.
    match client.try_get(&format!("/v1/queues/{}", part(thing))).await {
        Ok(queue) if is_untouched(&lease.json) => {
            let sentence = of_queue(&queue, thing);
            Ok((queue, sentence))
        }
        Ok(queue) => Ok((lease, format!("{sentence} {}", of_queue(&queue, thing)))),
        Err(_) => Ok((lease, sentence)),
    }
}

/// A name with a slash that is no item: a lease, if anybody ever had one of that name. Otherwise it is more likely that the
/// queue was mistyped than that somebody asks about what never was.
async fn leased(client: &Client, thing: &str, queue: &str) -> Result<(Answer, String), Failure> {
    let path = format!("/v1/leases/{}", part(thing));
    let lease = client.get(&path).await?;
    if is_untouched(&lease.json) && client.get(&format!("{path}/history?limit=1")).await?.items().is_empty() {
        return Err(Failure::failed(
            format!("there is no queue {queue}, and nobody ever held a lease named {thing}"),
            "check the name; `turno queue list` and `turno lease list` show what there is",
        ));
    }
    let sentence = lease::sentence(&lease, &lease.json);
    Ok((lease, sentence))
}

/// Nobody has it, and nobody waits for it.
fn is_untouched(lease: &Value) -> bool {
    lease::state(lease) == "free" && lease["waiting"].as_i64().unwrap_or_default() == 0
}

/// How a queue as a whole is doing, and what keeps it.
fn of_queue(answer: &Answer, name: &str) -> String {
    let queue = &answer.json;
    let count = |state: &str| queue["counts"][state].as_u64().unwrap_or_default();
    let (waiting, at_work) = (count("pending") + count("error"), count("in_process"));
    let condition = if queue["paused"] == true {
        format!("{name} is paused: nothing is handed out until it is resumed")
    } else if queue["destination"]["down"] == true {
        format!("the destination of {name} is down, and it is asked again by itself")
    } else if waiting == 0 && at_work == 0 {
        format!("there is nothing unfinished in {name}")
    } else if waiting > 0 && at_work == 0 && !queue["push"].is_object() {
        format!("nothing keeps {name}: what is due is handed out when some process asks for work")
    } else {
        format!("{name} is being worked on")
    };
    let mut words = vec![told(&condition)];
    let counted = [(waiting, "waiting"), (at_work, "in process"), (count("exhausted"), "exhausted")];
    let counted = counted.into_iter().filter(|(count, _)| *count > 0);
    words.extend(counted.map(|(count, state)| told(&format!("{count} {state}"))));
    if let Some(ms) = queue["oldest_waiting_ms"].as_i64().filter(|_| waiting > 0) {
        words.push(told(&format!("the oldest waits {}", told(&format!("for {}", span(ms))))));
    }
    format!("{}.", words.join("; "))
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
        None => told(&word(&answer.json["reason"])),
    };
    (answer, sentence)
}
