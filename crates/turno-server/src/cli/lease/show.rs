//! Renders a lease for people.

use serde_json::Value;

use crate::cli::output::{Card, cell, span};
use crate::client::Answer;
use crate::texts::terminal::translate;

/// Renders a holder: `Ana Pérez (ana), worker-1`.
pub(in crate::cli) fn person(holder: &Value) -> String {
    // Some answers contain the id only.
    let Some(id) = holder["id"].as_str().or(holder.as_str()) else { return "-".to_owned() };
    let named = match holder["name"].as_str() {
        Some(name) if name != id => format!("{name} ({id})"),
        _ => id.to_owned(),
    };
    match holder["instance"].as_str() {
        Some(instance) => format!("{named}, {instance}"),
        None => named,
    }
}

/// Renders how an ownership ended, in one cell.
pub(in crate::cli) fn render_ending(ending: &Value) -> String {
    let mut words = [&ending["reason"], &ending["cause"]].map(|word| translate(&cell(word).replace('_', " "))).to_vec();
    words.dedup();
    let mut text = words.join(", ");
    if !ending["by"].is_null() {
        text = format!("{text}, {}", translate(&format!("by {}", person(&ending["by"]))));
    }
    if let Some(note) = ending["note"].as_str() {
        text = format!("{text}: {note}");
    }
    text
}

/// Returns the state of the lease: `locked`, `free` or `offered`.
pub(in crate::cli) fn state(lease: &Value) -> &str {
    lease["state"].as_str().unwrap_or("free")
}

/// Prints all properties of a lease.
pub(in crate::cli) fn card(answer: &Answer, lease: &Value) {
    let mut card = Card::default();
    card.line("state", translate(&format!("{}{}", state(lease), if lease["mine"] == true { ", yours" } else { "" })));
    if lease["holder"].is_object() {
        card.line("holder", person(&lease["holder"]));
        card.line("fence", cell(&lease["fence"]));
        card.line("claim", cell(&lease["claim"]));
        card.line("since", answer.since(&lease["locked_at"]));
        card.line("heartbeat", answer.since(&lease["heartbeat_at"]));
        card.line("expires", answer.since(&lease["expires_at"]));
        card.line("rolling", lease["rolling_in_ms"].as_i64().map(|ms| format!("in {} unless there is work", span(ms))));
    }
    if lease["offered_to"].is_object() {
        card.line("offered to", person(&lease["offered_to"]));
    }
    card.line("waiting", lease["waiting"].as_i64().filter(|&waiting| waiting > 0).map(|waiting| waiting.to_string()));
    for request in lease["requests"].as_array().into_iter().flatten() {
        let message = request["message"].as_str().map_or_else(String::new, |message| format!(": {message}"));
        let asked = translate(&format!("by {}, {}", person(&request["by"]), answer.when(&request["at"])));
        card.line("asked for", format!("{asked}{message}"));
    }
    card.print(lease["resource"].as_str().unwrap_or("lease"));
}

/// Renders in one sentence who holds the lease.
pub(in crate::cli) fn sentence(answer: &Answer, lease: &Value) -> String {
    let resource = lease["resource"].as_str().map_or_else(|| translate("it"), str::to_owned);
    let waiting = match lease["waiting"].as_i64() {
        Some(1) => format!("; {}", translate("one is waiting")),
        Some(n) if n > 1 => format!("; {}", translate(&format!("{n} are waiting"))),
        _ => String::new(),
    };
    let sentence = match state(lease) {
        "locked" => {
            let who = if lease["mine"] == true { "you".to_owned() } else { person(&lease["holder"]) };
            let (lasting, until) = (answer.lasting(&lease["locked_at"]), answer.when(&lease["expires_at"]));
            format!("{resource} is held by {who} {lasting} now; it ends {until} unless it is renewed")
        }
        "offered" => {
            format!("{resource} is free, but kept for {}, who is next in line", person(&lease["offered_to"]))
        }
        _ => format!("{resource} is free: nobody holds it"),
    };
    format!("{}{waiting}.", translate(&sentence))
}
