//! Renders a lease for people.

use serde_json::Value;

use crate::cli::output::{Card, cell, span};
use crate::client::Answer;
use crate::texts::message::Message;
use crate::texts::terminal::{render, word};

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
    let mut words = [&ending["reason"], &ending["cause"]].map(|code| word("ending", &cell(code))).to_vec();
    words.dedup();
    if !ending["by"].is_null() {
        words.push(render(&Message::new("lease-by").text("person", person(&ending["by"]))));
    }
    let words = words.join(", ");
    ending["note"].as_str().map_or(words.clone(), |note| format!("{words}: {note}"))
}

/// Returns the state of the lease: `locked`, `free` or `offered`.
pub(in crate::cli) fn state(lease: &Value) -> &str {
    lease["state"].as_str().unwrap_or("free")
}

/// Prints all properties of a lease.
pub(in crate::cli) fn card(answer: &Answer, lease: &Value) {
    let mut card = Card::default();
    let shown = word("lease", state(lease));
    card.line(
        "state",
        match (lease["mine"] == true, lease["kept"] == true) {
            (true, _) => render(&Message::new("lease-mine").text("state", shown)),
            (_, true) => render(&Message::new("lease-kept-state").text("state", shown)),
            _ => shown,
        },
    );
    if lease["holder"].is_object() {
        card.line("holder", person(&lease["holder"]));
        card.line("fence", cell(&lease["fence"]));
        card.line("claim", cell(&lease["claim"]));
        card.line("since", answer.since(&lease["locked_at"]));
        card.line("heartbeat", answer.since(&lease["heartbeat_at"]));
        card.line("expires", answer.since(&lease["expires_at"]));
        card.line(
            "rolling",
            lease["rolling_in_ms"].as_i64().map(|ms| render(&Message::new("lease-unless-work").text("span", span(ms)))),
        );
    }
    if lease["offered_to"].is_object() {
        card.line("offered-to", person(&lease["offered_to"]));
    }
    card.line("waiting", lease["waiting"].as_i64().filter(|&waiting| waiting > 0).map(|waiting| waiting.to_string()));
    for request in lease["requests"].as_array().into_iter().flatten() {
        let id = if request["message"].is_string() { "lease-requested-message" } else { "lease-requested" };
        let asked = Message::new(id).text("person", person(&request["by"])).text("when", answer.when(&request["at"]));
        card.line("asked-for", render(&asked.text("message", cell(&request["message"]))));
    }
    card.print(lease["resource"].as_str().unwrap_or_default());
}

/// Renders in one sentence who holds the lease.
pub(in crate::cli) fn sentence(answer: &Answer, lease: &Value) -> String {
    let resource = lease["resource"].as_str().map_or_else(|| Message::new("lease-this"), Message::verbatim);
    let sentence = match state(lease) {
        "locked" if lease["kept"] == true => {
            let kept = Message::new("lease-kept").message("resource", resource);
            kept.text("person", person(&lease["holder"])).text("until", answer.when(&lease["expires_at"]))
        }
        "locked" => {
            let who = match lease["mine"] == true {
                true => Message::new("lease-you"),
                false => Message::verbatim(person(&lease["holder"])),
            };
            let (lasting, until) = (answer.lasting(&lease["locked_at"]), answer.when(&lease["expires_at"]));
            let held = Message::new("lease-held").message("resource", resource).message("person", who);
            held.text("lasting", lasting).text("until", until)
        }
        "offered" => {
            Message::new("lease-offered").message("resource", resource).text("person", person(&lease["offered_to"]))
        }
        _ => Message::new("lease-free").message("resource", resource),
    };
    let sentence = match lease["waiting"].as_i64().filter(|waiting| *waiting > 0) {
        Some(waiting) => Message::new("lease-and-waiting").message("sentence", sentence).number("count", waiting),
        None => sentence,
    };
    format!("{}.", render(&sentence))
}
