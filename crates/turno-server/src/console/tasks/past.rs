//! What happened to a task, for people: who, when, and how it ended.

use std::collections::BTreeMap;

use turno::core::task::{Note, TaskId};
use turno::core::time::Time;
use turno::{TaskEvent, Turno};

use crate::console::page::Page;
use crate::http::Problem;

/// So many are read at once, and so many times at most: a task is edited tens of times, not thousands.
const READ: u32 = 500;
const READS: usize = 6;
/// The newest that are shown; the others are in the API.
const SHOWN: usize = 60;

/// One thing that happened.
pub(super) struct Happened {
    pub(super) at: Time,
    pub(super) tone: &'static str,
    pub(super) who: String,
    /// What, as a sentence without its subject.
    pub(super) text: String,
    /// Of an ownership: since when.
    pub(super) since: Option<Time>,
}

/// The newest first; and whether there is more than what is shown.
pub(super) async fn of(page: &Page, turno: &Turno, id: TaskId) -> Result<(Vec<Happened>, bool), Problem> {
    let (mut events, mut after) = (Vec::new(), None);
    for _ in 0..READS {
        let part = turno.task_history(id, after, READ).await?;
        events.extend(part.events);
        after = part.next;
        if after.is_none() {
            break;
        }
    }
    let names = names(&events);
    let more = events.len() > SHOWN;
    let told = events.into_iter().rev().take(SHOWN).map(|event| told(page, &names, event)).collect();
    Ok((told, more))
}

/// What people are called, as far as their ownerships tell: notes know ids only.
fn names(events: &[TaskEvent]) -> BTreeMap<String, String> {
    let held = events.iter().filter_map(|event| match event {
        TaskEvent::Held(ending) => Some(&ending.grant.holder),
        TaskEvent::Note(_) => None,
    });
    held.map(|holder| (holder.user.to_string(), holder.name.clone())).collect()
}

fn told(page: &Page, names: &BTreeMap<String, String>, event: TaskEvent) -> Happened {
    match event {
        TaskEvent::Held(ending) => {
            let cause = ending.cause.as_str();
            let mut text = page.t(&format!("cause-{cause}"));
            for more in [ending.by.map(|by| by.to_string()), ending.note].into_iter().flatten() {
                text = format!("{text} · {more}");
            }
            let tone = if cause == "released" { "" } else { "bad" };
            Happened { at: ending.at, tone, who: ending.grant.holder.name, text, since: Some(ending.grant.locked_at) }
        }
        TaskEvent::Note(Note { at, actor, what, line, detail }) => {
            let user = actor.user.to_string();
            let who =
                if user == page.user() { page.name() } else { names.get(&user).map_or(user.as_str(), |name| name) };
            let text = match (line, detail.filter(|_| what == "cancelled" || what == "finalized")) {
                (Some(line), _) => page.t1(&format!("task-did-{what}"), "line", line),
                (None, Some(status)) if what == "finalized" => page.t1("task-did-finalized", "status", status),
                (None, Some(reason)) => format!("{}: {reason}", page.t(&format!("task-did-{what}"))),
                (None, None) => page.t(&format!("task-did-{what}")),
            };
            let tone = match what.as_str() {
                "line_applied" | "finalized" => "good",
                "line_failed" => "bad",
                "processing" | "line_edited" | "line_validated" => "work",
                _ => "",
            };
            Happened { at, tone, who: who.to_owned(), text, since: None }
        }
    }
}
