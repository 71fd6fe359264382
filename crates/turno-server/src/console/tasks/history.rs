//! The history of a task, for people.

use std::collections::BTreeMap;

use turno::Turno;
use turno::core::lease::State;
use turno::core::task::{Note, TaskId};
use turno::core::time::{Span, Time};
use turno::task::TaskEvent;

use crate::console::page::Page;
use crate::http::Problem;

/// Page size and maximum number of pages, because a task is edited tens of times and not thousands.
const READ: u32 = 500;
const READS: usize = 6;
/// How many entries are shown. The API returns all of them.
const SHOWN: usize = 60;

/// An entry of the history.
pub(super) struct Happened {
    pub(super) at: Time,
    pub(super) tone: &'static str,
    pub(super) who: String,
    /// A sentence without its subject.
    pub(super) text: String,
    /// For an ownership: when it began.
    pub(super) since: Option<Time>,
}

impl Happened {
    /// Returns whether an ownership was so short that its beginning and end show the same minute.
    pub(super) fn is_brief(&self) -> bool {
        self.since.is_some_and(|since| since.until(self.at) < Span::from_secs(60))
    }
}

/// The history of a task.
pub(super) struct Past {
    /// The entries, newest first.
    pub(super) events: Vec<Happened>,
    /// Whether there are more entries than shown.
    pub(super) more: bool,
    /// Names by user id, because notes contain ids only.
    pub(super) names: BTreeMap<String, String>,
    /// The last editor of each line, by its number.
    pub(super) editors: BTreeMap<u32, String>,
}

/// Loads the history of a task with this lease.
pub(super) async fn load(page: &Page, turno: &Turno, id: TaskId, lease: &State) -> Result<Past, Problem> {
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
    // The page saves whenever its user pauses. Consecutive edits of a line by one person are shown as one.
    events.reverse();
    events.dedup_by(|older, newer| line_edit(older).is_some_and(|edit| Some(edit) == line_edit(newer)));
    let more = events.len() > SHOWN;
    let events = events.into_iter().take(SHOWN).map(|event| render_event(page, &names, event)).collect();
    Ok(Past { events, more, names, editors })
}

fn editors(events: &[TaskEvent]) -> BTreeMap<u32, String> {
    events.iter().filter_map(line_edit).map(|(line, user)| (line, user.to_string())).collect()
}

/// Returns the line and the editor, if the event is an edit of a line.
fn line_edit(event: &TaskEvent) -> Option<(u32, &str)> {
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

fn render_event(page: &Page, names: &BTreeMap<String, String>, event: TaskEvent) -> Happened {
    match event {
        TaskEvent::Held(ending) => {
            let cause = ending.cause.as_str();
            let mut text = page.t(&format!("cause-{cause}"));
            let by = ending.by.map(|by| names.get(by.as_str()).cloned().unwrap_or_else(|| page.name_of(by.as_str())));
            for more in [by, ending.note].into_iter().flatten() {
                text = format!("{text} · {more}");
            }
            let tone = if cause == "released" { "" } else { "bad" };
            Happened { at: ending.at, tone, who: ending.grant.holder.name, text, since: Some(ending.grant.locked_at) }
        }
        TaskEvent::Note(Note { at, actor, what, line, detail }) => {
            let user = actor.user.to_string();
            let who = names.get(&user).cloned().unwrap_or_else(|| page.name_of(&user));
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
