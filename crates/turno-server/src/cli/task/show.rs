//! Renders a task for people.

use serde_json::Value;

use super::super::lease::{person, render_ending, state};
use super::super::output::{Card, Table, cell};
use crate::client::Answer;
use crate::failure::Failure;
use crate::texts::message::Message;
use crate::texts::terminal::{render, word};

/// Renders the lock of a task: `held by Ana since 2 min ago`, `free`.
pub(super) fn lock(answer: &Answer, lease: &Value) -> String {
    render(&match state(lease) {
        "locked" => Message::new("lock-held")
            .text("person", person(&lease["holder"]))
            .text("lasting", answer.lasting(&lease["locked_at"])),
        "offered" => Message::new("lock-offered").text("person", person(&lease["offered_to"])),
        _ => Message::new("lock-free"),
    })
}

pub(super) fn task(answer: &Answer) {
    let task = &answer.json;
    let mut card = Card::default();
    card.line("title", cell(&task["title"]));
    card.line("status", super::status(task));
    card.line("lock", lock(answer, &task["lock"]));
    card.line("fence", task["lock"]["fence"].as_i64().map(|fence| fence.to_string()));
    card.line("created", answer.since(&task["created_at"]));
    card.print(&render(&Message::new("task-title").text("task", cell(&task["id"]))));
    lines(task["lines"].as_array().map_or(&[], Vec::as_slice));
}

pub(super) fn line(line: &Value) {
    lines(std::slice::from_ref(line));
}

fn lines(lines: &[Value]) {
    let mut table = Table::new(&["line", "movement", "sku", "what", "status", "error"]);
    for line in lines {
        let serials = line["serials"].as_array().map(|serials| serials.iter().map(cell).collect::<Vec<_>>().join(" "));
        table.row([
            cell(&line["number"]),
            word("movement", &cell(&line["movement"])),
            cell(&line["sku"]),
            serials.unwrap_or_else(|| cell(&line["quantity"])),
            word("line", &cell(&line["status"])),
            error(&line["error"]),
        ]);
    }
    table.print(&Message::new("lines-none"));
}

fn error(error: &Value) -> String {
    match error {
        Value::Null => String::new(),
        Value::Object(parts) => parts.get("detail").or(parts.get("message")).map_or_else(|| error.to_string(), cell),
        other => cell(other),
    }
}

/// Prints the outcome of each line. Fails if a line was not applied, so that scripts notice.
pub(super) fn finalized(answer: &Answer, task: u64, json: bool) -> Result<(), Failure> {
    let done = &answer.json;
    let outcomes = done["lines"].as_array().map_or(&[][..], Vec::as_slice);
    if json {
        answer.print_json();
    } else {
        let mut table = Table::new(&["line", "outcome", "error"]);
        for line in outcomes {
            table.row([cell(&line["number"]), word("line", &cell(&line["outcome"])), error(&line["error"])]);
        }
        table.print(&Message::new("lines-none"));
    }
    let failed = outcomes.iter().filter(|line| line["outcome"] == "failed").count();
    let message = |id| Message::new(id).text("task", task).text("status", super::status(done));
    if failed == 0 {
        super::super::output::talk(&message("task-is"));
        return Ok(());
    }
    Err(Failure::failed(message("task-lines-failed").number("failed", failed).number("all", outcomes.len())))
}

pub(super) fn history(answer: &Answer, json: bool) -> Result<(), Failure> {
    if json {
        answer.print_json();
        return Ok(());
    }
    let mut table = Table::new(&["when", "what", "who", "detail"]);
    for event in answer.items() {
        let line = event["line"].as_i64().map(|line| render(&Message::new("task-line").number("line", line)));
        let held = event["held"]
            .is_object()
            .then(|| format!("{}: {}", person(&event["held"]["holder"]), render_ending(&event["held"])));
        let detail: Vec<String> =
            [line, event["detail"].as_str().map(str::to_owned), held].into_iter().flatten().collect();
        let what = word("happened", &cell(&event["what"]));
        table.row([answer.when(&event["at"]), what, person(&event["by"]), detail.join(", ")]);
    }
    table.print(&Message::new("task-no-history"));
    answer.say_more();
    Ok(())
}
