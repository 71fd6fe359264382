//! `turno events`: prints live events.

use std::time::Duration;

use serde_json::Value;

use super::output::{cell, printable, say, talk};
use crate::client::{Client, Sent, ServerArgs, query};
use crate::failure::Failure;
use crate::texts::message::Message;

const EXAMPLES: &str = "\
Examples:
  turno events                             everything
  turno events --topics leases,tasks --json | jq .resource
  turno events --after 1042                go on behind a position

One line per event; --json prints what the event says. A lost connection is
taken up again where it broke.";

/// Arguments of `turno events`.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct EventsArgs {
    /// Only these: leases, tasks, queues, sync, audit
    #[arg(long, value_name = "TOPIC", value_delimiter = ',')]
    topics: Vec<String>,
    /// Begin behind this position instead of now: a number, the `id:` of an event of GET /v1/events; 0 is the oldest kept
    #[arg(long, value_name = "POSITION")]
    after: Option<u64>,
    /// End after this number of events
    #[arg(long, value_name = "N")]
    count: Option<u64>,
    /// Print each event's JSON on a line, for programs
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    server: ServerArgs,
}

/// The pause before reconnecting.
const PAUSE: Duration = Duration::from_secs(1);

pub(crate) async fn run(arguments: &EventsArgs) -> Result<(), Failure> {
    let client = Client::new(&arguments.server)?;
    let topics = (!arguments.topics.is_empty()).then(|| arguments.topics.join(","));
    let path = format!("/v1/events{}", query(&[("topics", topics)]));
    let mut after = arguments.after.map(|position| position.to_string());
    let mut left = arguments.count.unwrap_or(u64::MAX);
    let mut events = client.events(&path, after.as_deref()).await?;
    while left > 0 {
        match events.next().await {
            Some(sent) => {
                if sent.id.is_some() {
                    after.clone_from(&sent.id);
                }
                say(&[line(&sent, arguments.json)]);
                left -= 1;
            }
            None => {
                talk(&Message::new("server-reconnect").text("server", client.base()));
                events = reconnect(&client, &path, after.as_deref()).await?;
            }
        }
    }
    Ok(())
}

/// Reconnects until it succeeds or the server refuses.
async fn reconnect(client: &Client, path: &str, after: Option<&str>) -> Result<crate::client::Events, Failure> {
    loop {
        tokio::time::sleep(PAUSE).await;
        match client.events(path, after).await {
            Ok(events) => return Ok(events),
            // A refusal without a code means that no server answered.
            Err(refusal) if refusal.code.is_none() || refusal.problem["status"].as_u64() >= Some(500) => {}
            Err(refusal) => return Err(refusal.into()),
        }
    }
}

fn line(sent: &Sent, json: bool) -> String {
    if json {
        return sent.data.replace('\n', " ");
    }
    let data: Value = serde_json::from_str(&sent.data).unwrap_or_default();
    let rest: Vec<String> = data
        .as_object()
        .into_iter()
        .flatten()
        .filter(|(name, value)| {
            !matches!(name.as_str(), "topic" | "resource" | "at")
                && !value.is_null()
                && !value.is_object()
                && !value.is_array()
        })
        .map(|(name, value)| format!("{name}={}", cell(value)))
        .collect();
    let at = data["at"].as_str().unwrap_or("-");
    let words = [at, &sent.event, data["resource"].as_str().unwrap_or("-"), &rest.join(" ")].join("  ");
    printable(words.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_printed_on_one_line() {
        let data = r#"{"topic":"leases","resource":"caja:3","at":"2026-01-15T10:30:00.000Z","fence":42,"holder":{}}"#;
        let sent = Sent { id: Some("7".into()), event: "lease.claimed".into(), data: data.into() };
        assert_eq!(line(&sent, false), "2026-01-15T10:30:00.000Z  lease.claimed  caja:3  fence=42");
        assert_eq!(line(&sent, true), data);
    }
}
