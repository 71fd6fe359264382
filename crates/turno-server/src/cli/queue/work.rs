//! Claims deliveries of a queue, and settles them.

use std::time::Duration;

use clap::Args;
use serde_json::{Value, json};

use super::super::duration;
use super::super::lease::Body;
use super::super::output::{Table, cell, talk};
use crate::client::{Answer, Client, part};
use crate::failure::Failure;
use crate::texts::message::Message;
use crate::texts::terminal::word;

/// Arguments of `turno queue claim`.
#[derive(Args, Debug)]
pub(super) struct Claim {
    /// The queue
    queue: String,
    /// The instance that claims
    #[arg(long, value_name = "NAME")]
    instance: String,
    /// Maximum number of deliveries
    #[arg(long, value_name = "N", default_value_t = 1)]
    max: u32,
    /// Wait for work, at most 30s
    #[arg(long, value_name = "DURATION", value_parser = duration::parse, conflicts_with = "item")]
    wait: Option<Duration>,
    /// The same id returns the same deliveries while they live
    #[arg(long, value_name = "ID", conflicts_with = "item")]
    request_id: Option<String>,
    /// Claim only this item
    #[arg(long, value_name = "ID")]
    item: Option<String>,
}

/// The delivery that a command is about.
#[derive(Args, Debug)]
pub(super) struct Delivery {
    /// The queue
    queue: String,
    /// The delivery that the claim returned
    delivery: String,
    /// Its fence
    #[arg(long, value_name = "N", env = "TURNO_FENCE", hide_env_values = true)]
    fence: i64,
}

impl Delivery {
    fn body(&self) -> Body {
        Body::new().with("delivery", self.delivery.clone()).with("fence", self.fence)
    }
}

#[derive(Args, Debug)]
pub(super) struct Ack {
    #[command(flatten)]
    delivery: Delivery,
    /// Done up to and including this item; the rest goes back
    #[arg(long, value_name = "ITEM")]
    through: Option<String>,
}

#[derive(Args, Debug)]
pub(super) struct Fail {
    #[command(flatten)]
    delivery: Delivery,
    /// The error
    #[arg(long, value_name = "TEXT")]
    error: String,
    /// The item that failed; items before it are done, items after it are returned
    #[arg(long, value_name = "ITEM")]
    item: Option<String>,
    /// Try again after this long [default: the back-off]
    #[arg(long, value_name = "DURATION", value_parser = duration::parse)]
    retry_in: Option<Duration>,
    /// Do not try again
    #[arg(long = "final", conflicts_with = "retry_in")]
    give_up: bool,
}

pub(super) async fn claim(client: &Client, args: &Claim, json: bool) -> Result<(), Failure> {
    let path = super::path(&args.queue);
    if let Some(item) = &args.item {
        let path = format!("{path}/items/{}/claim", part(item));
        let answer = client.post(&path, &json!({ "instance": args.instance })).await?;
        let shown = answer.json.clone();
        deliveries(&answer, &[shown], json);
        return Ok(());
    }
    let body = Body::new()
        .with("instance", args.instance.clone())
        .with("max", args.max)
        .span("wait_ms", args.wait)
        .maybe("request_id", args.request_id.clone());
    let answer = client.post(&format!("{path}/claim"), &body).await?;
    let found = answer.json["deliveries"].as_array().cloned().unwrap_or_default();
    deliveries(&answer, &found, json);
    Ok(())
}

fn deliveries(answer: &Answer, found: &[Value], json: bool) {
    if json {
        answer.print_json();
        return;
    }
    let mut table = Table::new(&["delivery", "fence", "key", "attempt", "expires", "item", "action", "payload"]);
    for delivery in found {
        let mut first = Some(delivery);
        for item in delivery["items"].as_array().into_iter().flatten() {
            // The values of the delivery appear once, in the row of its first item.
            let row = first.take().unwrap_or(&Value::Null);
            let once = |name: &str| if row.is_null() { String::new() } else { cell(&row[name]) };
            let until = if row.is_null() { String::new() } else { answer.when(&row["expires_at"]) };
            table.row([
                once("delivery"),
                once("fence"),
                once("key"),
                once("attempt"),
                until,
                cell(&item["id"]),
                cell(&item["action"]),
                item["payload"].to_string(),
            ]);
        }
    }
    table.print(&Message::new("queue-nothing-due"));
}

pub(super) async fn plain(client: &Client, args: &Delivery, verb: &str, json: bool) -> Result<(), Failure> {
    settle(client, &args.queue, verb, args.body(), json).await
}

pub(super) async fn ack(client: &Client, args: &Ack, json: bool) -> Result<(), Failure> {
    let body = args.delivery.body().maybe("through", args.through.clone());
    settle(client, &args.delivery.queue, "ack", body, json).await
}

pub(super) async fn fail(client: &Client, args: &Fail, json: bool) -> Result<(), Failure> {
    let body = args
        .delivery
        .body()
        .with("error", args.error.clone())
        .maybe("item", args.item.clone())
        .span("retry_in_ms", args.retry_in)
        .maybe("final", args.give_up.then_some(true));
    settle(client, &args.delivery.queue, "fail", body, json).await
}

async fn settle(client: &Client, queue: &str, verb: &str, body: Body, json: bool) -> Result<(), Failure> {
    let answer = client.post(&format!("{}/{verb}", super::path(queue)), &json!({ "deliveries": [body] })).await?;
    let result = &answer.json["results"][0];
    if json {
        answer.print_json();
    } else {
        let outcome = word("item", &cell(&result["outcome"]));
        talk(&match result["retry_at"].is_string() {
            true => {
                Message::new("settled-again").text("outcome", outcome).text("when", answer.when(&result["retry_at"]))
            }
            false => Message::verbatim(outcome),
        });
        if result["limited_by"].is_string() {
            let when = answer.when(&result["expires_at"]);
            talk(&Message::new("settle-limited").text("when", when));
        }
    }
    if result["outcome"] == "not_in_delivery" {
        return Err(Failure::failed(Message::new("settle-not-in-delivery")));
    }
    if result["outcome"] == "stale" {
        return Err(Failure::failed(Message::new("settle-stale")));
    }
    Ok(())
}
