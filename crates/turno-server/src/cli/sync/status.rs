//! `turno sync status`: shows whether the installed triggers match the configuration, what waits, what fails, and how
//! old the oldest change is.
//!
//! Exit code 1 if a source loses changes or may lose some.

use jiff::Timestamp;
use serde_json::{Value, json};
use turno::core::destination::Destination;
use turno::core::sync::SourceRefused;
use turno::core::text::pluralize;
use turno::core::time::Time;
use turno::store::{Part, PartState};
use turno::{Error, Installed, SyncFault, SyncStatus};

use super::{Sources, refused};
use crate::cli::output::{Card, Format, between, say, talk};
use crate::config::sync::SyncSource;
use crate::failure::Failure;
use crate::http::Stamp;
use crate::texts::terminal::translate;

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
        seen["problems"] = faults.iter().map(|fault| json!(fault.cause)).collect();
        let mut faults = faults.into_iter();
        if let Some(first) = faults.next() {
            let noted = broken.note(&source.name, first);
            (seen["problem"], seen["next"]) = (noted["problem"].clone(), noted["next"].clone());
        }
        faults.for_each(|more| talk(&format!("{}: {}; {}", source.name, more.cause, more.next)));
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
        SyncFault::NotInstalled(Installed::Absent) => {
            Failure::failed("its triggers are not installed", "run `turno sync install`")
        }
        SyncFault::NotInstalled(_) => match status.and_then(SyncStatus::taken) {
            Some(taken) => refused(taken.into()),
            None => Failure::failed("its triggers are not as configured", "run `turno sync install`"),
        },
        SyncFault::Exhausted(count) => Failure::failed(
            format!("exhausted: {}", pluralize(count, "key", "keys")),
            format!("read their errors, then send them again: `turno queue retry-exhausted {}`", source.queue),
        ),
        SyncFault::Gone(count) => Failure::failed(
            format!("active at the destination, without a row: {}", pluralize(count, "key", "keys")),
            "send them: `turno sync check --queue-differences`",
        ),
        SyncFault::Refused(count) => Failure::failed(
            format!("cannot be sent: {}", pluralize(count, "key", "keys")),
            "change them in the table, then delete their rows from turno.intake_refused",
        ),
    });
    let secret = secret.map(|missing| Failure::failed(missing.cause, missing.next));
    trouble.into_iter().chain(secret).chain(found).collect()
}

fn card(source: &SyncSource, status: Option<&SyncStatus>, has_triggers: bool) -> Card {
    let mut card = Card::default();
    card.line("table", source.table.display());
    card.line("queue", source.queue.to_string());
    if status.is_none() {
        let said = if has_triggers {
            "not made yet, so no change is kept for it: `turno sync install` makes it, and so does a server when it starts"
        } else {
            "not made yet: a server with this configuration makes it when it starts"
        };
        card.line("", said.to_owned());
    }
    let said = match Installed::from_status(status, has_triggers) {
        Installed::Yes => "yes, as configured",
        Installed::Absent => "no: `turno sync install`",
        Installed::Differs => "not as configured: `turno sync install` brings it there",
        Installed::Blocked => "no, and `turno sync install` refuses",
        Installed::NoTriggers => "no triggers on SQLite: feed the queue through the API",
    };
    let trouble = status.and_then(|status| status.trouble.clone()).map(|trouble| refused(trouble.into()).cause);
    card.line("installed", trouble.map_or_else(|| said.to_owned(), |cause| translate(&format!("unknown: {cause}"))));
    if let Some(taken) = status.and_then(SyncStatus::taken).map(|taken| refused(taken.into())) {
        card.line("in the way", translate(&taken.cause));
        card.line("to do", translate(&taken.next));
    }
    let Some(status) = status else { return card };
    // Missing parts are not listed if nothing is installed, or if nothing can be installed.
    let is_news = |part: &&Part| match part.state {
        PartState::Good | PartState::Taken(_) => false,
        PartState::Missing => !status.is_absent() && status.taken().is_none(),
        _ => true,
    };
    for part in status.parts.iter().filter(is_news) {
        card.line("", format!("{} {} {}", part.what, part.name, state(part)));
    }
    let counts = status.pulse.counts;
    card.line("waiting", counts.pending.to_string());
    card.line("in process", counts.in_process.to_string());
    card.line("failing", counts.error.to_string());
    card.line("exhausted", counts.exhausted.to_string());
    card.line("processed", counts.processed.to_string());
    card.line("destination", destination(source, status));
    if let Some(known) = failing(status) {
        card.line("last error", known.error.clone());
    }
    card.line("oldest waits", status.oldest().map(|at| between(stamp(at), stamp(status.pulse.now))));
    if let Some(left) = status.left.filter(|left| *left > 0) {
        let end = "left the condition and the destination was not told (on_leave = \"ignore\")";
        card.line("left", format!("{} {end}", pluralize(left, "key", "keys")));
    }
    if let Some(gone) = status.gone.filter(|gone| *gone > 0) {
        let end = "active at the destination, and the row is gone with nothing queued";
        card.line("gone", format!("{} {end}", pluralize(gone, "key", "keys")));
    }
    if status.refused > 0 {
        card.line(
            "refused",
            format!("{} cannot be sent; see turno.intake_refused", pluralize(status.refused, "key", "keys")),
        );
    }
    card
}

/// Returns the destination, if its last call failed.
fn failing(status: &SyncStatus) -> Option<&Destination> {
    status.destination.as_ref().filter(|known| known.failures > 0)
}

fn destination(source: &SyncSource, status: &SyncStatus) -> String {
    let Some(endpoint) = &source.deliver else { return "none: somebody claims its changes from the queue".to_owned() };
    let now = stamp(status.pulse.now);
    let how = match failing(status) {
        None => "nothing known against it".to_owned(),
        Some(known) if known.is_down() => {
            let since = between(stamp(known.began_at), now);
            let probe = if known.probe_at <= status.pulse.now {
                "asked again now".to_owned()
            } else {
                format!("asked again in {}", between(now, stamp(known.probe_at)))
            };
            format!("down for {since}, no attempts are spent on it, {probe}")
        }
        Some(known) if known.failures == 1 => "the last call failed".to_owned(),
        Some(known) => format!("the last {} calls failed", known.failures),
    };
    format!("{}: {how}", endpoint.display())
}

fn state(part: &Part) -> &'static str {
    match part.state {
        PartState::Good => "is as configured",
        PartState::Missing => "is missing",
        PartState::Differs => "is not as configured",
        PartState::Disabled => "is disabled",
        PartState::Stale => "is of an earlier configuration",
        PartState::Taken(_) => "is the name of something else",
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
