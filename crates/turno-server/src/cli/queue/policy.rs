//! Making a queue, or changing its policy.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use serde_json::Value;

use super::super::duration;
use super::super::lease::Body;
use super::super::output::{Card, cell, span};
use super::enqueue::read;
use crate::client::Client;
use crate::failure::Failure;

/// A policy; what is left out follows from the kind.
#[derive(Args, Debug)]
pub(super) struct Put {
    /// Which queue
    queue: String,
    /// lane: per key in order; inbox: each item once, in no order; sync: per key only the newest
    #[arg(long, value_parser = ["lane", "inbox", "sync"], required_unless_present = "from")]
    kind: Option<String>,
    /// The whole policy as a JSON object in this file, or - for stdin; flags replace what it says
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,
    /// How long a hand-out lasts without a heartbeat
    #[arg(long, value_name = "DURATION", value_parser = duration::parse, help_heading = "Policy")]
    lock_timeout: Option<Duration>,
    /// How long it lasts at most, whatever the heartbeats
    #[arg(long, value_name = "DURATION", value_parser = duration::parse, help_heading = "Policy")]
    max_hold: Option<Duration>,
    /// How long a group stays open after its last message (lanes)
    #[arg(long, value_name = "DURATION", value_parser = duration::parse, help_heading = "Policy")]
    window: Option<Duration>,
    /// How long it stays open after somebody was last seen typing (lanes)
    #[arg(long, value_name = "DURATION", value_parser = duration::parse, help_heading = "Policy")]
    typing_extension: Option<Duration>,
    /// How long it stays open at most (lanes)
    #[arg(long, value_name = "DURATION", value_parser = duration::parse, help_heading = "Policy")]
    max_wait: Option<Duration>,
    /// So many items at once at most (lanes)
    #[arg(long, value_name = "N", help_heading = "Policy")]
    batch_max: Option<u32>,
    /// So many attempts before an item is exhausted
    #[arg(long, value_name = "N", help_heading = "Policy")]
    max_attempts: Option<u32>,
    /// How long to wait after the first failure; it doubles
    #[arg(long, value_name = "DURATION", value_parser = duration::parse, help_heading = "Policy")]
    backoff: Option<Duration>,
    /// How long finished items and their ids are kept
    #[arg(long, value_name = "DURATION", value_parser = duration::parse, help_heading = "Policy")]
    retention: Option<Duration>,
    /// What an exhausted item does to its key: let the next run, or hold all of them
    #[arg(long, value_parser = ["continue", "hold"], help_heading = "Policy")]
    on_exhausted: Option<String>,
}

pub(super) async fn put(client: &Client, wish: &Put, json: bool) -> Result<(), Failure> {
    let answer = client.put(&super::path(&wish.queue), &body(wish)?).await?;
    if json {
        answer.print_json();
    } else {
        let mut card = Card::default();
        lines(&mut card, &answer.json);
        card.print(&wish.queue);
    }
    Ok(())
}

fn body(wish: &Put) -> Result<Body, Failure> {
    let mut body = Body::new();
    if let Some(from) = &wish.from {
        let text = read(from)?;
        let given: serde_json::Map<String, Value> = serde_json::from_str(&text).map_err(|error| {
            Failure::usage(
                format!("{} holds no policy: {error}", from.display()),
                "write a JSON object, for example {\"kind\":\"lane\",\"window_ms\":3000}",
            )
        })?;
        body = given.into_iter().fold(body, |body, (name, value)| body.with(&name, value));
    }
    let seconds = wish.retention.map(|retention| retention.as_secs());
    Ok(body
        .maybe("kind", wish.kind.clone())
        .span("lock_timeout_ms", wish.lock_timeout)
        .span("max_hold_ms", wish.max_hold)
        .span("window_ms", wish.window)
        .span("typing_extension_ms", wish.typing_extension)
        .span("max_wait_ms", wish.max_wait)
        .maybe("batch_max", wish.batch_max)
        .maybe("max_attempts", wish.max_attempts)
        .span("backoff_ms", wish.backoff)
        .maybe("retention_s", seconds)
        .maybe("on_exhausted", wish.on_exhausted.clone()))
}

/// A policy, name by name: whatever the server says, with lengths of time made readable.
pub(super) fn lines(card: &mut Card, policy: &Value) {
    for (name, value) in policy.as_object().into_iter().flatten().filter(|(name, _)| *name != "name") {
        let shown = match (value.as_i64(), name.as_str()) {
            (Some(ms), name) if name.ends_with("_ms") => span(ms),
            (Some(s), name) if name.ends_with("_s") => span(s.saturating_mul(1_000)),
            _ => cell(value),
        };
        let name = name.trim_end_matches("_ms").trim_end_matches("_s").replace('_', " ");
        card.line(&name, shown);
    }
}
