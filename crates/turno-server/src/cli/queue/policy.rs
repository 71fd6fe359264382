//! `turno queue put`: creates a queue or changes its policy.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use serde_json::{Map, Value};

use super::super::duration;
use super::super::lease::Body;
use super::super::output::{Card, cell, printable, span, talk};
use super::enqueue::read;
use crate::client::Client;
use crate::failure::Failure;
use crate::texts::message::Message;
use crate::texts::terminal::render;

/// How often the command repeats reading and writing while others change the same policy.
const TRIES: u32 = 20;

const EXAMPLES: &str = "\
Examples:
  turno queue put bot --kind lane     make a lane with its defaults
  turno queue put bot --window 5s     change its window, and nothing else
  turno queue put bot --push https://example.com/in/{key} \\
    --push-secret-env TURNO_PUSH_SECRET_BOT
  turno queue put bot --no-push       leave it to workers that claim
  turno queue put bot --reset         the defaults of its kind; push stays";

/// Arguments of `turno queue put`. A value that is not given stays as it is; for a new queue, or another kind, it has
/// the default of the kind.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(super) struct Put {
    /// The queue
    queue: String,
    /// lane: per key in order; inbox: each item once, in no order; sync: per key only the newest. Needed for a new queue
    #[arg(long, value_parser = ["lane", "inbox", "sync"])]
    kind: Option<String>,
    /// The whole policy as a JSON object in this file, or - for stdin; flags replace what it says
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,
    /// Set fields that are not given to the defaults of the kind, instead of keeping them
    #[arg(long)]
    reset: bool,
    /// How long a delivery lasts without a heartbeat
    #[arg(long, value_name = "DURATION", value_parser = duration::parse, help_heading = "Policy")]
    lock_timeout: Option<Duration>,
    /// How long a delivery lasts at most, even with heartbeats
    #[arg(long, value_name = "DURATION", value_parser = duration::parse, help_heading = "Policy")]
    max_hold: Option<Duration>,
    /// How long a group stays open after its last message (lanes)
    #[arg(long, value_name = "DURATION", value_parser = duration::parse, help_heading = "Policy")]
    window: Option<Duration>,
    /// How long a group stays open after the last typing signal (lanes)
    #[arg(long, value_name = "DURATION", value_parser = duration::parse, help_heading = "Policy")]
    typing_extension: Option<Duration>,
    /// How long a group stays open at most (lanes)
    #[arg(long, value_name = "DURATION", value_parser = duration::parse, help_heading = "Policy")]
    max_wait: Option<Duration>,
    /// Maximum number of items in a group (lanes)
    #[arg(long, value_name = "N", help_heading = "Policy")]
    batch_max: Option<u32>,
    /// Number of attempts before an item is exhausted
    #[arg(long, value_name = "N", help_heading = "Policy")]
    max_attempts: Option<u32>,
    /// The back-off after the first failure; it doubles
    #[arg(long, value_name = "DURATION", value_parser = duration::parse, help_heading = "Policy")]
    backoff: Option<Duration>,
    /// How long finished items and their ids are kept
    #[arg(long, value_name = "DURATION", value_parser = duration::parse, help_heading = "Policy")]
    retention: Option<Duration>,
    /// What an exhausted item does to its key: let the next run, or hold all of them
    #[arg(long, value_parser = ["continue", "hold"], help_heading = "Policy")]
    on_exhausted: Option<String>,
    /// Call this endpoint for every delivery; {key} stands for the key
    #[arg(long, value_name = "URL", help_heading = "Push", conflicts_with = "no_push")]
    push: Option<String>,
    /// The server's variable with the secret that signs the calls; its name begins with TURNO_PUSH_SECRET
    #[arg(long, value_name = "NAME", help_heading = "Push", requires = "push")]
    push_secret_env: Option<String>,
    /// Stop calling the endpoint
    #[arg(long, help_heading = "Push")]
    no_push: bool,
}

pub(super) async fn put(client: &Client, args: &Put, json: bool) -> Result<(), Failure> {
    let mut tries = 0;
    let (answer, was) = loop {
        let Before { kept, was, seen } = before(client, args).await?;
        match client.try_put(&super::path(&args.queue), &body(args, kept)?, seen).await {
            Ok(answer) => break (answer, was),
            // Another caller changed the policy in between. Reading again keeps that change.
            Err(refusal) if refusal.code.as_deref() == Some("queue_changed") && tries < TRIES => tries += 1,
            Err(refusal) => return Err(refusal.into()),
        }
    };
    if let (Some(was), Some(kind)) = (was, answer.json["kind"].as_str())
        && was != kind
    {
        let message = Message::new("queue-kind-changed").text("queue", &args.queue);
        talk(&message.text("kind", was).text("other", kind));
    }
    if json {
        answer.print_json();
    } else {
        let mut card = Card::default();
        lines(&mut card, &answer.json);
        card.print(&args.queue);
    }
    Ok(())
}

/// The stored policy, as far as it stays. It does not include `push`: a server keeps the endpoint if the request omits
/// it, and never shows its query.
struct Before {
    kept: Map<String, Value>,
    /// The kind before the change.
    was: Option<String>,
    /// The version of the stored policy.
    seen: Option<i64>,
}

async fn before(client: &Client, args: &Put) -> Result<Before, Failure> {
    let (known, seen) = match client.try_get(&super::path(&args.queue)).await {
        Ok(answer) => (answer.json["policy"].as_object().cloned().unwrap_or_default(), answer.json["version"].as_i64()),
        Err(refusal) if refusal.code.as_deref() == Some("not_found") => (Map::new(), Some(0)),
        Err(refusal) => return Err(refusal.into()),
    };
    let was = known.get("kind").and_then(Value::as_str).map(str::to_owned);
    // A complete policy applies whatever is stored, so it needs no version.
    if args.from.is_some() || (args.reset && args.kind.is_some()) {
        return Ok(Before { kept: Map::new(), was, seen: None });
    }
    let kept = match (&args.kind, known.get("kind")) {
        (None, None) => Err(Failure::usage(Message::new("queue-needs-kind").text("queue", &args.queue))),
        // The values of one kind mean little for another, so changing the kind requires `--reset`.
        (Some(kind), Some(was)) if was != kind => {
            let message = Message::new("queue-kind-differs").text("queue", &args.queue);
            Err(Failure::usage(message.text("kind", cell(was)).text("other", kind)))
        }
        (_, Some(kind)) if args.reset => Ok(Map::from_iter([("kind".to_owned(), kind.clone())])),
        _ => Ok(follow(args, known)),
    };
    Ok(Before { kept: kept?, was, seen })
}

/// Drops a maximum that equals the value it was derived from, so that it follows the new value.
fn follow(args: &Put, mut known: Map<String, Value>) -> Map<String, Value> {
    let is_new = [("max_hold_ms", "lock_timeout_ms", args.lock_timeout), ("max_wait_ms", "window_ms", args.window)];
    for (bound, of, given) in is_new {
        if given.is_some() && known.get(bound) == known.get(of) {
            known.remove(bound);
        }
    }
    known
}

fn body(args: &Put, before: Map<String, Value>) -> Result<Body, Failure> {
    let mut body = before.into_iter().fold(Body::new(), |body, (name, value)| body.with(&name, value));
    if let Some(from) = &args.from {
        let text = read(from)?;
        let given: Map<String, Value> = serde_json::from_str(&text).map_err(|error| {
            let message = Message::new("policy-not-json").text("file", from.display()).text("cause", error);
            Failure::usage(message.text("example", "{\"kind\":\"lane\",\"window_ms\":3000}"))
        })?;
        body = given.into_iter().fold(body, |body, (name, value)| body.with(&name, value));
    }
    let seconds = args.retention.map(|retention| retention.as_secs());
    Ok(body
        .maybe("kind", args.kind.clone())
        .span("lock_timeout_ms", args.lock_timeout)
        .span("max_hold_ms", args.max_hold)
        .span("window_ms", args.window)
        .span("typing_extension_ms", args.typing_extension)
        .span("max_wait_ms", args.max_wait)
        .maybe("batch_max", args.batch_max)
        .maybe("max_attempts", args.max_attempts)
        .span("backoff_ms", args.backoff)
        .maybe("retention_s", seconds)
        .maybe("on_exhausted", args.on_exhausted.clone())
        .maybe("push", push(args)))
}

fn push(args: &Put) -> Option<Value> {
    let url = args.push.as_ref().map(|url| {
        let body = Body::new().with("url", url.as_str());
        serde_json::to_value(body.maybe("secret_env", args.push_secret_env.clone())).unwrap_or_default()
    });
    url.or(args.no_push.then_some(Value::Null))
}

/// Adds the endpoint of a pushed queue.
pub(super) fn push_line(card: &mut Card, push: &Value) {
    let id = if push["secret_env"].is_string() { "push-signed" } else { "push-unsigned" };
    let message = Message::new(id).text("method", cell(&push["method"])).text("url", cell(&push["url"]));
    let message = message.text("variable", printable(&cell(&push["secret_env"])));
    let timeout = push["timeout_ms"].as_i64().map_or_else(String::new, span);
    card.line("push", render(&message.text("span", timeout)));
}

/// Adds every field of a policy, with readable durations.
pub(super) fn lines(card: &mut Card, policy: &Value) {
    for (name, value) in policy.as_object().into_iter().flatten().filter(|(name, _)| *name != "name") {
        let shown = match (value.as_i64(), name.as_str()) {
            (Some(ms), name) if name.ends_with("_ms") => span(ms),
            (Some(s), name) if name.ends_with("_s") => span(s.saturating_mul(1_000)),
            (None, "push") if value.is_object() => {
                push_line(card, value);
                continue;
            }
            (None, "push") => {
                card.line("push", render(&Message::new("push-nowhere")));
                continue;
            }
            _ => cell(value),
        };
        let name = name.trim_end_matches("_ms").trim_end_matches("_s").replace('_', "-");
        card.line(&format!("policy-{name}"), shown);
    }
}
