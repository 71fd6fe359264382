//! Enqueues one or many items.

use std::io::{IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use serde::Serialize;
use serde_json::value::RawValue;

use super::super::duration;
use super::super::output::{Table, cell, talk};
use crate::client::{Answer, Client};
use crate::failure::{Failure, io_cause};
use crate::texts::message::Message;
use crate::texts::terminal::{render, word};

/// The most items that a server accepts in one call. More items are sent in several batches.
const BATCH: usize = 1_000;

/// Arguments of `turno queue enqueue`.
#[derive(Args, Debug)]
pub(super) struct Enqueue {
    /// The queue
    queue: String,
    /// The payload: JSON, @FILE, or - for stdin
    #[arg(required_unless_present = "items", conflicts_with = "items")]
    payload: Option<String>,
    /// Read many items from stdin, one JSON object per line: {"id","key","action","payload","delay_ms"}
    #[arg(long, conflicts_with_all = ["id", "key", "action", "delay"])]
    items: bool,
    /// The item's id; the same id is accepted once
    #[arg(long)]
    id: Option<String>,
    /// The key; items of one key are processed in order
    #[arg(long)]
    key: Option<String>,
    /// The action for the receiver
    #[arg(long)]
    action: Option<String>,
    /// Hand the item out no earlier than this long from now
    #[arg(long, value_name = "DURATION", value_parser = duration::parse)]
    delay: Option<Duration>,
}

/// An item in a request. The payload stays exactly as it was given.
#[derive(Serialize)]
struct Item<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    action: Option<&'a str>,
    payload: Box<RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    delay_ms: Option<i64>,
}

pub(super) async fn run(client: &Client, args: &Enqueue, json: bool) -> Result<(), Failure> {
    let path = format!("{}/items", super::path(&args.queue));
    if args.items {
        return enqueue_lines(client, &path, json).await;
    }
    let item = Item {
        id: args.id.as_deref(),
        key: args.key.as_deref(),
        action: args.action.as_deref(),
        payload: payload(args.payload.as_deref().unwrap_or_default())?,
        delay_ms: args.delay.map(duration::millis),
    };
    show(&client.post(&path, &item).await?, json);
    Ok(())
}

/// Examples of a payload and of a line, as a person types them.
const OBJECT: &str = "'{\"text\":\"hola\"}'";
const TEXT: &str = "'\"hola\"'";
const EXAMPLE: &str = "{\"key\":\"a\",\"payload\":{}}";

pub(super) fn payload(text: &str) -> Result<Box<RawValue>, Failure> {
    let text = match text.strip_prefix('@') {
        Some(file) => read(Path::new(file))?,
        None if text == "-" => read(Path::new("-"))?,
        None => text.to_owned(),
    };
    serde_json::from_str(text.trim()).map_err(|error| {
        Failure::usage(Message::new("payload-not-json").text("cause", error).text("object", OBJECT).text("text", TEXT))
    })
}

/// Reads a file, or stdin for `-`.
pub(in crate::cli) fn read(path: &Path) -> Result<String, Failure> {
    let (name, text) = if path == Path::new("-") {
        if std::io::stdin().is_terminal() {
            talk(&Message::new("input-keyboard"));
        }
        let mut text = String::new();
        ("stdin".to_owned(), std::io::stdin().read_to_string(&mut text).map(|_| text))
    } else {
        (path.display().to_string(), std::fs::read_to_string(path))
    };
    text.map_err(|error| {
        Failure::failed(Message::new("input-unreadable").text("name", name).message("cause", io_cause(&error)))
    })
}

async fn enqueue_lines(client: &Client, path: &str, json: bool) -> Result<(), Failure> {
    let text = read(&PathBuf::from("-"))?;
    let items = lines(&text)?;
    if items.is_empty() {
        return Err(Failure::usage(Message::new("input-empty").text("example", EXAMPLE)));
    }
    let (all, mut sent) = (items.len(), 0);
    for batch in items.chunks(BATCH) {
        let (numbers, batch): (Vec<usize>, Vec<&RawValue>) = batch.iter().copied().unzip();
        let answer = client.try_post(path, &batch).await.map_err(|refusal| {
            let refusal = refusal.by_line(&numbers);
            if sent > 0 { refusal.after(sent).into() } else { Failure::from(refusal) }
        })?;
        show(&answer, json);
        sent += batch.len();
        if all > BATCH {
            talk(&Message::new("input-progress").number("sent", sent).number("all", all));
        }
    }
    Ok(())
}

/// Parses one JSON object per line. Returns each unchanged, with the number of its line.
fn lines(text: &str) -> Result<Vec<(usize, &RawValue)>, Failure> {
    if text.trim_start().starts_with('[') {
        return Err(Failure::usage(Message::new("input-array")));
    }
    let numbered = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let parsed = numbered.map(|(index, line)| {
        let wrong = |id| Message::new(id).number("line", index + 1).text("example", EXAMPLE);
        let item: &RawValue = serde_json::from_str(line.trim())
            .map_err(|error| Failure::usage(wrong("input-line-json").text("cause", error)))?;
        if !item.get().starts_with('{') {
            return Err(Failure::usage(wrong("input-line-object")));
        }
        Ok((index + 1, item))
    });
    parsed.collect()
}

fn show(answer: &Answer, json: bool) {
    if json {
        answer.print_json();
        return;
    }
    let mut table = Table::new(&["id", "outcome"]);
    for result in answer.json["results"].as_array().into_iter().flatten() {
        let outcome = word("item", &cell(&result["outcome"]));
        let outcome = match result["differs"] == true {
            true => render(&Message::new("item-differs").text("outcome", outcome)),
            false => outcome,
        };
        table.row([cell(&result["id"]), outcome]);
    }
    table.print(&Message::new("items-none-sent"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_payload_is_sent_unchanged() {
        let given = r#"{"b":1.0,"a":12345678901234567890123,"b":2}"#;
        assert_eq!(payload(given).expect("JSON").get(), given);
    }

    #[test]
    fn invalid_json_is_refused_with_advice() {
        let failure = payload("hola").unwrap_err();
        assert!(failure.next().contains("'\"hola\"'"), "{failure:?}");
        let failure = lines("{}\n\n{").unwrap_err();
        assert!(failure.cause().starts_with("line 3 "), "{failure:?}");
        let failure = lines("{}\n7").unwrap_err();
        assert_eq!(failure.cause(), "line 2 is not a JSON object");
        let failure = lines(" [\n{},\n{}\n]\n").unwrap_err();
        assert!(failure.cause().contains("array") && failure.next().contains("jq -c"), "{failure:?}");
    }
}
