//! Shows queues and items.

use clap::Args;
use serde_json::Value;

use super::super::lease::Page;
use super::super::output::{Card, Table, cell, printable, rounded, say, span};
use super::policy;
use crate::client::{Answer, Client, part, query};
use crate::failure::Failure;
use crate::texts::terminal::{translate, word};

#[derive(Args, Debug)]
pub(super) struct List {
    #[command(flatten)]
    page: Page,
}

#[derive(Args, Debug)]
pub(super) struct Items {
    /// Which queue
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
    /// Which queue
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
    let mut table =
        Table::new(&["QUEUE", "KIND", "PENDING", "IN PROCESS", "ERROR", "EXHAUSTED", "OLDEST", "DONE/MIN", ""]);
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
    table.print("no queues yet; make one with `turno queue put NAME --kind lane`");
    answer.say_more();
    Ok(())
}

/// Renders what blocks the whole queue, or that it is pushed.
fn condition(answer: &Answer, queue: &Value) -> String {
    let destination = &queue["destination"];
    let mut words = Vec::new();
    if queue["paused"] == true {
        words.push(translate("paused"));
    }
    if destination["down"] == true {
        words.push(translate(&format!("destination down {}", answer.lasting(&destination["down_since"]))));
    } else if queue["push"].is_object() {
        words.push(translate("pushed"));
    }
    words.join(", ")
}

/// Adds the latencies of the last minute, if there were deliveries.
fn latency_lines(card: &mut Card, latency: &Value) {
    for (name, what) in [("waited", "wait"), ("done after", "done")] {
        let [half, most] = ["p50", "p95"].map(|which| latency[format!("{what}_{which}_ms")].as_i64());
        if let (Some(half), Some(most)) = (half, most) {
            card.line(name, format!("{} (half of the last minute's), {} (95 of 100)", span(half), span(most)));
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
        card.line("destination", format!("down since {since}; no attempts are spent on it"));
        card.line("next probe", answer.since(&destination["next_probe_at"]));
    } else if failures > 0 {
        let calls = if failures == 1 { "call".to_owned() } else { format!("{failures} calls in a row") };
        card.line("destination", format!("answers, but the last {calls} failed"));
    } else {
        card.line("destination", "nothing is known against it".to_owned());
    }
    card.line("last error", destination["last_error"].as_str().map(str::to_owned));
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
        card.line("paused", "nothing is handed out until it is resumed".to_owned());
    }
    if seen["managed_by_config"] == true {
        card.line("set by", "the configuration file".to_owned());
    }
    for (state, count) in seen["counts"].as_object().into_iter().flatten() {
        card.line(&state.replace('_', " "), cell(count));
    }
    card.line(
        "oldest waiting",
        seen["oldest_waiting_ms"].as_i64().map(|ms| translate(&format!("for {}", rounded(ms)))),
    );
    for (rate, count) in seen["rates"].as_object().into_iter().flatten() {
        card.line(&rate.replace("_per_minute", " in the last minute"), cell(count));
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
    let mut table = Table::new(&["ID", "KEY", "STATE", "ATTEMPTS", "CAME", "HOLDER", "LAST ERROR"]);
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
    table.print("no such items");
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
        card.line("action", Some("decided at delivery").filter(|_| item["finished_at"].is_null()).map(str::to_owned));
    }
    card.line("payload", item["payload"].to_string());
    card.line("came", answer.since(&item["enqueued_at"]));
    card.line("due", answer.since(&item["due_at"]));
    for happened in item["timeline"].as_array().into_iter().flatten() {
        // The singular form, because Spanish has another word for it.
        let what = match happened["what"].as_str() {
            Some(ended @ ("exhausted" | "processed" | "cancelled")) => format!("was {ended}"),
            _ => cell(&happened["what"]).replace('_', " "),
        };
        card.line(&what, moment(&answer, happened));
    }
    card.print(&cell(&item["id"]));
    Ok(())
}

/// Renders when something happened to an item, by whom, and with which error.
fn moment(answer: &Answer, happened: &Value) -> String {
    let mut words = vec![answer.when(&happened["at"])];
    for (name, before) in [("attempt", "attempt "), ("fence", "fence "), ("instance", ""), ("user", "by ")] {
        if !happened[name].is_null() {
            let word = format!("{before}{}", cell(&happened[name]));
            words.push(if before.is_empty() { word } else { translate(&word) });
        }
    }
    if happened["handed_at"].is_string() && happened["handed_at"] != happened["at"] {
        words.push(translate(&format!("handed out {}", answer.when(&happened["handed_at"]))));
    }
    let words = words.join(", ");
    if happened["error"].is_string() { format!("{words}: {}", cell(&happened["error"])) } else { words }
}

pub(super) async fn why(client: &Client, args: &Why, json: bool) -> Result<(), Failure> {
    let of = match (&args.item, &args.key) {
        (Some(item), _) => format!("items/{}", part(item)),
        (None, Some(key)) => format!("keys/{}", part(key)),
        (None, None) => return Err(Failure::usage("neither an item nor a key", "name an item, or a key with --key")),
    };
    let answer = client.get(&format!("{}/{of}/why", super::path(&args.queue))).await?;
    if json {
        answer.print_json();
    } else {
        say(&[printable(&cell(&answer.json["detail"]))]);
    }
    Ok(())
}
