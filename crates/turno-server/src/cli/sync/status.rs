//! `turno sync status`: whether what is installed is what is configured, what waits, what fails, and how old the oldest is.

use jiff::Timestamp;
use serde_json::{Value, json};
use turno::core::time::Time;
use turno::store::{Part, PartState};
use turno::{Installed, SyncStatus};

use super::{Sources, refused};
use crate::cli::output::{Card, Format, between, say};
use crate::config::sync::SyncSource;
use crate::failure::Failure;

pub(super) async fn run(sources: &Sources<'_>, format: Format) -> Result<(), Failure> {
    let mut views = Vec::new();
    for (source, handle) in sources.handles() {
        // Before it was ever installed or served, not even the queue is there; that is an answer, too.
        let status = match handle.status().await {
            Err(turno::Error::Source(turno::core::sync::SourceRefused::NoQueue(_))) => None,
            other => Some(other.map_err(refused)?),
        };
        if format.json {
            views.push(view(source, status.as_ref(), handle.has_triggers()));
        } else {
            card(source, status.as_ref(), handle.has_triggers()).print(&source.name);
        }
    }
    if format.json {
        say(&[json!({ "sources": views }).to_string()]);
    }
    Ok(())
}

fn card(source: &SyncSource, status: Option<&SyncStatus>, has_triggers: bool) -> Card {
    let mut card = Card::default();
    card.line("table", source.table.shown());
    card.line("queue", source.queue.to_string());
    let said = match Installed::of(status, has_triggers) {
        Installed::Yes => "yes, as configured",
        Installed::Absent => "no: `turno sync install`",
        Installed::Differs => "not as configured: `turno sync install` brings it there",
        Installed::NoTriggers => "no triggers on SQLite: feed the queue through the API",
    };
    card.line("installed", said.to_owned());
    let Some(status) = status else {
        card.line("queue made", "not yet: a server with this configuration makes it when it starts".to_owned());
        return card;
    };
    for part in status.parts.iter().filter(|part| part.state != PartState::Good && !status.is_absent()) {
        card.line("", format!("{} {} {}", part.what, part.name, state(part)));
    }
    let counts = status.pulse.counts;
    card.line("waiting", (counts.pending + counts.error).to_string());
    card.line("in process", counts.in_process.to_string());
    card.line("failing", counts.error.to_string());
    card.line("exhausted", counts.exhausted.to_string());
    card.line("processed", counts.processed.to_string());
    card.line("oldest waits", status.oldest().map(|at| between(stamp(at), stamp(status.pulse.now))));
    if let Some(left) = status.left.filter(|left| *left > 0) {
        let told = "left the condition and the destination was not told (on_leave = \"ignore\")";
        card.line("left", format!("{} {told}", identities(left)));
    }
    if status.refused > 0 {
        card.line("refused", format!("{} cannot be sent; see turno.intake_refused", identities(status.refused)));
    }
    card
}

fn identities(count: i64) -> String {
    if count == 1 { "1 key".to_owned() } else { format!("{count} keys") }
}

fn state(part: &Part) -> &'static str {
    match part.state {
        PartState::Good => "is as configured",
        PartState::Missing => "is missing",
        PartState::Differs => "is not as configured",
        PartState::Disabled => "is disabled",
        PartState::Stale => "is of an earlier configuration",
    }
}

fn view(source: &SyncSource, status: Option<&SyncStatus>, has_triggers: bool) -> Value {
    let mut view = json!({
        "name": source.name,
        "table": source.table.shown(),
        "queue": source.queue,
        "installed": Installed::of(status, has_triggers).as_str(),
    });
    let Some(status) = status else { return view };
    let part = |part: &Part| json!({ "what": part.what, "name": part.name, "state": part.state.as_str() });
    let counts = status.pulse.counts;
    view["parts"] = status.parts.iter().map(part).collect();
    view["waiting"] = (counts.pending + counts.error).into();
    view["in_process"] = counts.in_process.into();
    view["failing"] = counts.error.into();
    view["exhausted"] = counts.exhausted.into();
    view["processed"] = counts.processed.into();
    view["oldest_waiting_ms"] = json!(status.oldest().map(|at| status.pulse.now.0.saturating_sub(at.0)));
    view["left"] = json!(status.left);
    view["refused"] = status.refused.into();
    view
}

fn stamp(at: Time) -> Timestamp {
    Timestamp::from_millisecond(at.0).unwrap_or(Timestamp::UNIX_EPOCH)
}
