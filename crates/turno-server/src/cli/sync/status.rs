//! `turno sync status`: shows whether the installed triggers match the configuration, what waits, what fails, and how
//! old the oldest change is.
//!
//! Exit code 1 if a source loses changes or may lose some.

use jiff::Timestamp;
use serde_json::{Value, json};
use turno::Error;
use turno::core::destination::Destination;
use turno::core::sync::SourceRefused;
use turno::core::time::Time;
use turno::store::{Part, PartState};
use turno::sync::{Installed, SyncFault, SyncStatus};

use super::{Sources, refused};
use crate::cli::output::{Card, Format, between, say, talk};
use crate::config::sync::SyncSource;
use crate::failure::Failure;
use crate::http::Stamp;
use crate::texts::message::Message;
use crate::texts::terminal::{render, word};

pub(super) async fn run(sources: &Sources<'_>, format: Format) -> Result<(), Failure> {
    let (mut views, mut broken) = (Vec::new(), sources.broken());
    for (source, handle) in sources.handles() {
        // Without a queue, the source was never installed or served. The status reports that.
        let status = match handle.status().await {
            Err(Error::Source(SourceRefused::NoQueue(_))) => None,
            Ok(status) => Some(status),
            Err(error) => {
                views.push(broken.note(&source.name, refused(error)));
                continue;
            }
        };
        if !format.json {
            card(source, status.as_ref(), handle.has_triggers()).print(&source.name);
        }
        let mut seen = view(source, status.as_ref(), handle.has_triggers());
        let faults = faults(source, status.as_ref(), handle.has_triggers());
        seen["problems"] = faults.iter().map(|fault| json!(fault.cause())).collect();
        let mut faults = faults.into_iter();
        if let Some(first) = faults.next() {
            let noted = broken.note(&source.name, first);
            (seen["problem"], seen["next"]) = (noted["problem"].clone(), noted["next"].clone());
        }
        faults.for_each(|more| talk(&more.message_about(&source.name)));
        views.push(seen);
    }
    if format.json {
        say(&[json!({ "sources": views }).to_string()]);
    }
    broken.end()
}

/// Returns the faults of a source, worst first. Looks for the secret in the environment of this command.
fn faults(source: &SyncSource, status: Option<&SyncStatus>, has_triggers: bool) -> Vec<Failure> {
    let trouble = status.and_then(|status| status.trouble.clone()).map(|trouble| refused(trouble.into()));
    let secret = source.deliver.as_ref().and_then(|to| to.secret(|name| std::env::var(name).ok()).err());
    let found = SyncFault::all(status, has_triggers).into_iter().map(|fault| match fault {
        SyncFault::NotInstalled(Installed::NoTriggers) => refused(SourceRefused::NoTriggers.into()),
        SyncFault::NotInstalled(Installed::Absent) => Failure::failed(Message::new("sync-fault-absent")),
        SyncFault::NotInstalled(_) => match status.and_then(SyncStatus::taken) {
            Some(taken) => refused(taken.into()),
            None => Failure::failed(Message::new("sync-fault-differs")),
        },
        SyncFault::Exhausted(count) => {
            Failure::failed(Message::new("sync-fault-exhausted").number("count", count).text("queue", &source.queue))
        }
        SyncFault::Gone(count) => Failure::failed(Message::new("sync-fault-gone").number("count", count)),
        SyncFault::Refused(count) => Failure::failed(Message::new("sync-fault-refused").number("count", count)),
    });
    // A missing secret is wrong usage of a server, but a fault of this source.
    let secret = secret.map(|missing| missing.with_code(1));
    trouble.into_iter().chain(secret).chain(found).collect()
}

fn card(source: &SyncSource, status: Option<&SyncStatus>, has_triggers: bool) -> Card {
    let mut card = Card::default();
    card.line("table", source.table.display());
    card.line("queue", source.queue.to_string());
    if status.is_none() {
        let id = if has_triggers { "sync-no-queue" } else { "sync-no-queue-server" };
        card.line("", render(&Message::new(id)));
    }
    let installed = match Installed::from_status(status, has_triggers) {
        Installed::Yes => "sync-is-installed",
        Installed::Absent => "sync-is-absent",
        Installed::Differs => "sync-is-different",
        Installed::Blocked => "sync-is-blocked",
        Installed::NoTriggers => "sync-is-sqlite",
    };
    let trouble =
        status.and_then(|status| status.trouble.clone()).map(|trouble| refused(trouble.into()).into_message());
    let installed = trouble
        .map_or_else(|| Message::new(installed), |cause| Message::new("sync-is-unknown").message("cause", cause));
    card.line("installed", render(&installed));
    if let Some(taken) = status.and_then(SyncStatus::taken).map(|taken| refused(taken.into())) {
        card.line("conflict", taken.cause());
        card.line("to-do", taken.next());
    }
    let Some(status) = status else { return card };
    // Missing parts are not listed if nothing is installed, or if nothing can be installed.
    let is_news = |part: &&Part| match part.state {
        PartState::Good | PartState::Taken(_) => false,
        PartState::Missing => !status.is_absent() && status.taken().is_none(),
        _ => true,
    };
    for part in status.parts.iter().filter(is_news) {
        let message = Message::new("sync-part").text("object", word("object", part.what)).text("name", &part.name);
        card.line("", render(&message.message("state", Message::new(state(part)))));
    }
    let counts = status.pulse.counts;
    card.line("waiting", counts.pending.to_string());
    card.line("count-in-process", counts.in_process.to_string());
    card.line("failing", counts.error.to_string());
    card.line("count-exhausted", counts.exhausted.to_string());
    card.line("count-processed", counts.processed.to_string());
    card.line("destination", destination(source, status));
    if let Some(known) = failing(status) {
        card.line("last-error", known.error.clone());
    }
    card.line("oldest-waiting", status.oldest().map(|at| between(stamp(at), stamp(status.pulse.now))));
    if let Some(left) = status.left.filter(|left| *left > 0) {
        card.line("left", render(&Message::new("sync-left").number("count", left)));
    }
    if let Some(gone) = status.gone.filter(|gone| *gone > 0) {
        card.line("gone", render(&Message::new("sync-gone").number("count", gone)));
    }
    if status.refused > 0 {
        card.line("refused", render(&Message::new("sync-unsendable").number("count", status.refused)));
    }
    card
}

/// Returns the destination, if its last call failed.
fn failing(status: &SyncStatus) -> Option<&Destination> {
    status.destination.as_ref().filter(|known| known.failures > 0)
}

fn destination(source: &SyncSource, status: &SyncStatus) -> String {
    let Some(endpoint) = &source.deliver else { return render(&Message::new("sync-destination-none")) };
    let now = stamp(status.pulse.now);
    let message = |id| Message::new(id).text("endpoint", endpoint.display());
    render(&match failing(status) {
        None => message("sync-destination-well"),
        Some(known) if known.is_down() => {
            let is_due = known.probe_at <= status.pulse.now;
            let id = if is_due { "sync-destination-down-now" } else { "sync-destination-down" };
            let message = message(id).text("span", between(stamp(known.began_at), now));
            message.text("probe", between(now, stamp(known.probe_at)))
        }
        Some(known) => message("sync-destination-failing").number("count", known.failures),
    })
}

/// Returns the id of the message for the state of a part.
fn state(part: &Part) -> &'static str {
    match part.state {
        PartState::Good => "sync-part-good",
        PartState::Missing => "sync-part-missing",
        PartState::Differs => "sync-part-differs",
        PartState::Disabled => "sync-part-disabled",
        PartState::Stale => "sync-part-stale",
        PartState::Taken(_) => "sync-part-taken",
    }
}

/// Returns the installation state for programs. It is unknown if the source cannot be read.
fn installed(status: Option<&SyncStatus>, has_triggers: bool) -> &'static str {
    match status {
        Some(status) if status.trouble.is_some() => "unknown",
        _ => Installed::from_status(status, has_triggers).as_str(),
    }
}

fn view(source: &SyncSource, status: Option<&SyncStatus>, has_triggers: bool) -> Value {
    let mut view = json!({
        "name": source.name,
        "table": source.table.display(),
        "queue": source.queue,
        "installed": installed(status, has_triggers),
    });
    // Without a queue, nothing was ever delivered.
    (view["left"], view["gone"]) = (json!(0), json!(0));
    let Some(status) = status else { return view };
    let part = |part: &Part| json!({ "what": part.what, "name": part.name, "state": part.state.as_str() });
    let counts = status.pulse.counts;
    view["parts"] = status.parts.iter().map(part).collect();
    view["waiting"] = counts.pending.into();
    view["in_process"] = counts.in_process.into();
    view["failing"] = counts.error.into();
    view["exhausted"] = counts.exhausted.into();
    view["processed"] = counts.processed.into();
    view["destination"] = source.deliver.as_ref().map_or(Value::Null, |endpoint| {
        let known = failing(status);
        let down = known.filter(|known| known.is_down());
        json!({
            "url": endpoint.shown_url(),
            "summary": endpoint.display(),
            "down": down.is_some(),
            "down_since": down.map(|known| Stamp(known.began_at)),
            "next_probe_at": known.filter(|known| known.is_probed()).map(|known| Stamp(known.probe_at)),
            "failures": known.map_or(0, |known| known.failures),
            "last_error": known.map(|known| known.error.as_str()),
        })
    });
    view["oldest_waiting_ms"] = json!(status.oldest().map(|at| status.pulse.now.0.saturating_sub(at.0)));
    (view["left"], view["gone"]) = (json!(status.left), json!(status.gone));
    view["refused"] = status.refused.into();
    view
}

fn stamp(at: Time) -> Timestamp {
    Timestamp::from_millisecond(at.0).unwrap_or(Timestamp::UNIX_EPOCH)
}
