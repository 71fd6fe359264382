//! Retries exhausted items, one (also with a corrected payload) or all that match, and purges finished ones.

use std::time::Duration;

use clap::Args;
use serde_json::json;
use serde_json::value::RawValue;

use super::super::duration;
use super::super::lease::{Body, report};
use super::ItemArg;
use super::enqueue::payload;
use crate::client::Client;
use crate::failure::Failure;
use crate::texts::message::Message;

#[derive(Args, Debug)]
pub(super) struct Retry {
    #[command(flatten)]
    item: ItemArg,
    /// The new payload: JSON, @FILE, or - for stdin
    #[arg(long, value_name = "JSON")]
    payload: Option<String>,
}

#[derive(Args, Debug)]
pub(super) struct RetryExhausted {
    /// The queue
    queue: String,
    /// Only of this key
    #[arg(long)]
    key: Option<String>,
    /// Only those whose last error contains this
    #[arg(long, value_name = "TEXT")]
    error: Option<String>,
    /// Only items that were exhausted within this last time
    #[arg(long, value_name = "DURATION", value_parser = duration::parse)]
    within: Option<Duration>,
    /// Only print the number
    #[arg(long)]
    dry_run: bool,
}

#[derive(Args, Debug)]
pub(super) struct Purge {
    /// The queue
    queue: String,
    /// Only print the number
    #[arg(long)]
    dry_run: bool,
}

pub(super) async fn purge(client: &Client, args: &Purge, json: bool) -> Result<(), Failure> {
    let body = Body::new().maybe("dry_run", args.dry_run.then_some(true));
    let answer = client.post(&format!("{}/purge", super::path(&args.queue)), &body).await?;
    let count = |name: &str| answer.json[name].as_u64().unwrap_or_default();
    let message = match args.dry_run {
        true => Message::new("purge-matching").number("count", count("matching")),
        false => Message::new("purge-done").number("count", count("purged")),
    };
    report(&answer, json, &message.text("queue", &args.queue))
}

pub(super) async fn retry(client: &Client, args: &Retry, json: bool) -> Result<(), Failure> {
    #[derive(serde::Serialize)]
    struct Corrected {
        payload: Box<RawValue>,
    }
    let path = format!("{}/retry", args.item.path());
    let answer = match &args.payload {
        Some(text) => client.post(&path, &Corrected { payload: payload(text)? }).await?,
        None => client.post(&path, &json!({})).await?,
    };
    let id = if args.payload.is_some() { "item-retried-corrected" } else { "retry-item" };
    report(&answer, json, &Message::new(id).text("item", &args.item.item))
}

pub(super) async fn retry_exhausted(client: &Client, args: &RetryExhausted, json: bool) -> Result<(), Failure> {
    let body = Body::new()
        .maybe("key", args.key.clone())
        .maybe("error", args.error.clone())
        .span("within_ms", args.within)
        .maybe("dry_run", args.dry_run.then_some(true));
    let answer = client.post(&format!("{}/retry-exhausted", super::path(&args.queue)), &body).await?;
    let count = |name: &str| answer.json[name].as_u64().unwrap_or_default();
    let message = match args.dry_run {
        true => Message::new("retry-matching").number("count", count("matching")),
        false => Message::new("retry-done").number("count", count("retried")),
    };
    report(&answer, json, &message.text("queue", &args.queue))
}
