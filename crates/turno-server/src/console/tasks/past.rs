//! What happened to a task, for people: who, when, and how it ended.

use std::collections::BTreeMap;

use turno::core::lease::State;
use turno::core::task::{Note, TaskId};
use turno::core::time::{Span, Time};
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

impl Happened {
    /// An ownership so short that its hours and minutes would be the same.
    pub(super) fn is_brief(&self) -> bool {
        self.since.is_some_and(|since| since.until(self.at) < Span::from_secs(60))
    }
}

/// What is known about a task's past.
pub(super) struct Past {
    /// The newest first.
    pub(super) events: Vec<Happened>,
    /// There is more than what is shown.
    pub(super) more: bool,
    /// How people are called, by their ids: notes know ids only.
    pub(super) names: BTreeMap<String, String>,
    /// Who was the last to change each line, by its number.
    pub(super) editors: BTreeMap<u32, String>,
}

/// Of a task whose lock stands like this now.
pub(super) async fn of(page: &Page, turno: &Turno, id: TaskId, lease: &State) -> Result<Past, Problem> {
    let (mut events, mut after) = (Vec::new(), None);
    for _ in 0..READS {
        let part = turno.task_history(id, after, READ).await?;
        events.extend(part.events);
        after = part.next;
        if after.is_none() {
            break;
        }
    }
    let names = names(page, &events, lease);
    let editors = editors(&events);
    // What is typed is saved whenever somebody pauses: to people that is one change, the last one.
    events.reverse();
    events.dedup_by(|older, newer| edit_of(older).is_some_and(|edit| Some(edit) == edit_of(newer)));
    let more = events.len() > SHOWN;
    let events = events.into_iter().take(SHOWN).map(|event| told(page, &names, event)).collect();
    Ok(Past { events, more, names, editors })
}

fn editors(events: &[TaskEvent]) -> BTreeMap<u32, String> {
    events.iter().filter_map(edit_of).map(|(line, user)| (line, user.to_string())).collect()
}

/// Which line was changed, and by whom, if that is what happened.
fn edit_of(event: &TaskEvent) -> Option<(u32, &str)> {
    match event {
        TaskEvent::Note(note) if note.what == "line_edited" => Some((note.line?, note.actor.user.as_str())),
        _ => None,
    }
}

fn names(page: &Page, events: &[TaskEvent], lease: &State) -> BTreeMap<String, String> {
    let past = events.iter().filter_map(|event| match event {
        TaskEvent::Held(ending) => Some(&ending.grant),
        TaskEvent::Note(_) => None,
    });
    let held = past.chain(&lease.grant).map(|grant| (grant.holder.user.to_string(), grant.holder.name.clone()));
    held.chain([(page.user().to_owned(), page.name().to_owned())]).collect()
}

fn told(page: &Page, names: &BTreeMap<String, String>, event: TaskEvent) -> Happened {
    match event {
        TaskEvent::Held(ending) => {
            let cause = ending.cause.as_str();
            let mut text = page.t(&format!("cause-{cause}"));
            let by = ending.by.map(|by| names.get(by.as_str()).cloned().unwrap_or_else(|| page.called(by.as_str())));
            for more in [by, ending.note].into_iter().flatten() {
                text = format!("{text} · {more}");
            }
            let tone = if cause == "released" { "" } else { "bad" };
            Happened { at: ending.at, tone, who: ending.grant.holder.name, text, since: Some(ending.grant.locked_at) }
        }
        TaskEvent::Note(Note { at, actor, what, line, detail }) => {
            let user = actor.user.to_string();
            let who = names.get(&user).cloned().unwrap_or_else(|| page.called(&user));
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
            Happened { at, tone, who, text, since: None }
        }
    }
}
