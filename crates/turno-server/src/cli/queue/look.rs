//! Shows queues and items.

use clap::Args;
use serde_json::Value;

use super::super::lease::Page;
use super::super::output::{Card, Table, cell, printable, rounded, say, span};
use super::policy;
use crate::client::{Answer, Client, part, query};
use crate::failure::Failure;
use crate::texts::message::Message;
use crate::texts::terminal::{render, word};

#[derive(Args, Debug)]
pub(super) struct List {
    #[command(flatten)]
    page: Page,
}

#[derive(Args, Debug)]
pub(super) struct Items {
    /// The queue
    queue: String,
    /// Only in this state
    #[arg(long, value_parser = ["pending", "in_process", "processed", "error", "exhausted", "cancelled"])]
    state: Option<String>,
    /// Only of this key
    #[arg(long)]
    key: Option<String>,
    #[command(flatten)]
    page: Page,
}

#[derive(Args, Debug)]
pub(super) struct Why {
    /// The queue
    queue: String,
    /// The item's id
    #[arg(required_unless_present = "key", conflicts_with = "key")]
    item: Option<String>,
    /// Ask about a key instead of an item
    #[arg(long)]
    key: Option<String>,
}

pub(super) async fn list(client: &Client, args: &List, json: bool) -> Result<(), Failure> {
    let asked = query(&[("limit", Some(args.page.limit.to_string())), ("cursor", args.page.cursor.clone())]);
    let answer = client.get(&format!("/v1/queues{asked}")).await?;
    if json {
        answer.print_json();
        return Ok(());
    }
    let mut table = Table::new(&[
        "queue",
        "kind",
        "count-pending",
        "count-in-process",
        "count-error",
        "count-exhausted",
        "oldest",
        "done-per-minute",
        "",
    ]);
    for queue in answer.items() {
        let counts = &queue["counts"];
        let oldest = queue["oldest_waiting_ms"].as_i64().map_or_else(|| "-".to_owned(), rounded);
        table.row([
            cell(&queue["name"]),
            cell(&queue["kind"]),
            cell(&counts["pending"]),
            cell(&counts["in_process"]),
            cell(&counts["error"]),
            cell(&counts["exhausted"]),
            oldest,
            cell(&queue["rates"]["processed_per_minute"]),
            condition(&answer, queue),
        ]);
    }
    table.print(&Message::new("queue-none"));
    answer.say_more();
    Ok(())
}

/// Renders what blocks the whole queue, or that it is pushed.
fn condition(answer: &Answer, queue: &Value) -> String {
    let destination = &queue["destination"];
    let mut words = Vec::new();
    if queue["paused"] == true {
        words.push(render(&Message::new("queue-state-paused")));
    }
    if destination["down"] == true {
        let lasting = answer.lasting(&destination["down_since"]);
        words.push(render(&Message::new("queue-state-down").text("lasting", lasting)));
    } else if queue["push"].is_object() {
        words.push(render(&Message::new("queue-state-pushed")));
    }
    words.join(", ")
}

/// Adds the latencies of the last minute, if there were deliveries.
fn latency_lines(card: &mut Card, latency: &Value) {
    for (name, what) in [("waited", "wait"), ("done-after", "done")] {
        let [half, most] = ["p50", "p95"].map(|which| latency[format!("{what}_{which}_ms")].as_i64());
        if let (Some(half), Some(most)) = (half, most) {
            card.line(name, render(&Message::new("queue-latency").text("half", span(half)).text("most", span(most))));
        }
    }
}

/// Adds the state of a pushed queue's destination.
fn destination_lines(card: &mut Card, answer: &Answer, destination: &Value) {
    if destination.is_null() {
        return;
    }
    let failures = destination["failures"].as_u64().unwrap_or_default();
    if destination["down"] == true {
        let since = answer.since(&destination["down_since"]).unwrap_or_default();
        card.line("destination", render(&Message::new("destination-down").text("since", since)));
        card.line("next-probe", answer.since(&destination["next_probe_at"]));
    } else if failures > 0 {
        card.line("destination", render(&Message::new("destination-failing").number("count", failures)));
    } else {
        card.line("destination", render(&Message::new("destination-well")));
    }
    card.line("last-error", destination["last_error"].as_str().map(str::to_owned));
}

pub(super) async fn get(client: &Client, queue: &str, json: bool) -> Result<(), Failure> {
    let answer = client.get(&super::path(queue)).await?;
    if json {
        answer.print_json();
        return Ok(());
    }
    let mut card = Card::default();
    let seen = &answer.json;
    if seen["paused"] == true {
        card.line("paused", render(&Message::new("queue-nothing-out")));
    }
    if seen["managed_by_config"] == true {
        card.line("set-by", render(&Message::new("queue-set-by-file")));
    }
    for (state, count) in seen["counts"].as_object().into_iter().flatten() {
        card.line(&format!("count-{}", state.replace('_', "-")), cell(count));
    }
    card.line(
        "oldest-waiting",
        seen["oldest_waiting_ms"].as_i64().map(|ms| render(&Message::new("when-for").text("span", rounded(ms)))),
    );
    for (rate, count) in seen["rates"].as_object().into_iter().flatten() {
        card.line(&format!("rate-{}", rate.trim_end_matches("_per_minute")), cell(count));
    }
    latency_lines(&mut card, &seen["latency"]);
    policy::lines(&mut card, &seen["policy"]);
    if seen["push"].is_object() {
        policy::push_line(&mut card, &seen["push"]);
        destination_lines(&mut card, &answer, &seen["destination"]);
    }
    card.print(queue);
    Ok(())
}

pub(super) async fn items(client: &Client, args: &Items, json: bool) -> Result<(), Failure> {
    let asked = query(&[
        ("state", args.state.clone()),
        ("key", args.key.clone()),
        ("limit", Some(args.page.limit.to_string())),
        ("cursor", args.page.cursor.clone()),
    ]);
    let answer = client.get(&format!("{}/items{asked}", super::path(&args.queue))).await?;
    if json {
        answer.print_json();
        return Ok(());
    }
    let mut table = Table::new(&["id", "key", "state", "attempts", "came", "holder", "last-error"]);
    for item in answer.items() {
        table.row([
            cell(&item["id"]),
            cell(&item["key"]),
            word("item", &cell(&item["state"])),
            cell(&item["attempts"]),
            answer.when(&item["enqueued_at"]),
            if item["state"] == "in_process" { cell(&item["holder"]["instance"]) } else { "-".to_owned() },
            cell(&item["last_error"]),
        ]);
    }
    table.print(&Message::new("items-none"));
    answer.say_more();
    Ok(())
}

pub(super) async fn item(client: &Client, path: &str, json: bool) -> Result<(), Failure> {
    let answer = client.get(path).await?;
    if json {
        answer.print_json();
        return Ok(());
    }
    let item = &answer.json;
    let mut card = Card::default();
    card.line("state", word("item", &cell(&item["state"])));
    for name in ["key", "action", "attempts", "revision"] {
        card.line(name, Some(cell(&item[name])).filter(|_| !item[name].is_null()));
    }
    // A trigger's mark has neither action nor payload.
    if item["revision"].is_number() && item["action"].is_null() && item["payload"].is_null() {
        let decided = item["finished_at"].is_null().then(|| render(&Message::new("item-decided")));
        card.line("action", decided);
    }
    card.line("payload", item["payload"].to_string());
    card.line("came", answer.since(&item["enqueued_at"]));
    card.line("due", answer.since(&item["due_at"]));
    for happened in item["timeline"].as_array().into_iter().flatten() {
        let what = format!("event-{}", cell(&happened["what"]).replace('_', "-"));
        card.line(&what, moment(&answer, happened));
    }
    card.print(&cell(&item["id"]));
    Ok(())
}

/// Renders when something happened to an item, by whom, and with which error.
fn moment(answer: &Answer, happened: &Value) -> String {
    let mut words = vec![answer.when(&happened["at"])];
    let parts = [
        ("attempt", Some("event-attempt")),
        ("fence", Some("event-fence")),
        ("instance", None),
        ("user", Some("event-by")),
    ];
    for (name, id) in parts.into_iter().filter(|(name, _)| !happened[*name].is_null()) {
        let value = cell(&happened[name]);
        words.push(id.map_or(value.clone(), |id| render(&Message::new(id).text(name, value))));
    }
    if happened["handed_at"].is_string() && happened["handed_at"] != happened["at"] {
        words.push(render(&Message::new("event-handed").text("when", answer.when(&happened["handed_at"]))));
    }
    let words = words.join(", ");
    if happened["error"].is_string() { format!("{words}: {}", cell(&happened["error"])) } else { words }
}

pub(super) async fn why(client: &Client, args: &Why, json: bool) -> Result<(), Failure> {
    let of = match (&args.item, &args.key) {
        (Some(item), _) => format!("items/{}", part(item)),
        (None, Some(key)) => format!("keys/{}", part(key)),
        (None, None) => {
            return Err(Failure::usage(Message::new("why-nothing")));
        }
    };
    let answer = client.get(&format!("{}/{of}/why", super::path(&args.queue))).await?;
    if json {
        answer.print_json();
    } else {
        say(&[printable(&cell(&answer.json["detail"]))]);
    }
    Ok(())
}
