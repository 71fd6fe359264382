//! `turno check`: verifies that the stored data keeps the invariants. With `--repair`, repairs damaged lanes.

mod finding;

use std::io::{IsTerminal, Write};

use serde_json::{Value, json};
use turno::RepairedLane;
use turno::core::id::ItemId;
use turno::store::Finding;

use super::global::{GlobalArgs, refused};
use super::output::{Format, say, talk};
use crate::failure::Failure;
use crate::texts::message::Message;
use crate::texts::terminal::render;

const EXAMPLES: &str = "\
Examples:
  turno check --database sqlite:turno.db
  turno check --json | jq .findings
  turno check --repair          mend damaged lanes of queues, then check again
  turno check --restored        once, after a snapshot was restored

Without these flags it changes nothing. It may run beside servers. Progress goes
to stderr, findings to stdout: the invariant, what it is about, what is wrong.
Exit code 1 if anything was found; with --repair, if anything is left.
--repair keeps every accepted item and the order of each key. A delivery that
cannot be settled is given back, and a late ack of it is stale. Each repaired
lane leaves an audit entry (queue_repair). Keep a copy of the database first.
docs/internals/invariants.md explains the invariants.";

/// Arguments of `turno check`.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct CheckArgs {
    /// Mend damaged lanes of queues: two heads, no head, groups of a wrong size, items that nothing hands out
    #[arg(long)]
    repair: bool,
    /// The database was restored from a snapshot or overwritten by a copy: skip the task ids and event positions of the lost time first
    #[arg(long)]
    restored: bool,
    #[command(flatten)]
    format: Format,
}

pub(crate) async fn run(arguments: &CheckArgs, global: &GlobalArgs) -> Result<(), Failure> {
    let database = global.open_existing().await?;
    if arguments.restored {
        database.turno.declare_restored().await.map_err(refused)?;
        talk(&Message::new("check-declared").text("place", &database.place.name));
    }
    let mut progress = Progress::start();
    let tell = |at: turno::CheckProgress| progress.step(at.done, at.of, at.invariant);
    let (mended, findings) = if arguments.repair {
        let repair = database.turno.repair(tell).await.map_err(refused)?;
        (Some(repair.mended), repair.left)
    } else {
        (None, database.turno.check(tell).await.map_err(refused)?)
    };
    progress.end();
    if arguments.format.json {
        say(&[to_json(mended.as_deref(), &findings).to_string()]);
    } else {
        say(&mended.iter().flatten().map(render_mended).collect::<Vec<_>>());
        say(&findings.iter().map(render_finding).collect::<Vec<_>>());
    }
    let place = &database.place.name;
    if findings.is_empty() {
        talk(&Message::new("check-sound").text("place", place));
        return Ok(());
    }
    let repairable = !arguments.repair && findings.iter().all(|finding| finding.damaged.is_some());
    let id = if repairable { "check-repairable" } else { "check-found" };
    Err(Failure::failed(Message::new(id).number("count", findings.len()).text("place", place)))
}

fn render_finding(finding: &Finding) -> String {
    let (subject, problem) = (finding::subject(&finding.subject), finding::problem(finding));
    format!("{}  {}  {}", finding.invariant, render(&subject), render(&problem))
}

/// Renders a repaired lane on one line: its subject, and what was done.
fn render_mended(mended: &RepairedLane) -> String {
    let repaired = &mended.repaired;
    let done = [
        (repaired.corrected.len(), "check-corrected"),
        (repaired.ended.len(), "check-ended"),
        (repaired.removed.len(), "check-removed"),
        (repaired.restored.len(), "check-restored"),
        (repaired.merged.len(), "check-merged"),
    ];
    let done = done.into_iter().filter(|(count, _)| *count > 0);
    let done: Vec<String> = done.map(|(count, id)| render(&Message::new(id).number("count", count))).collect();
    format!(
        "{}  {}  {}",
        render(&Message::new("check-repaired")),
        render(&finding::subject(&mended.subject)),
        done.join(", ")
    )
}

fn to_json(mended: Option<&[RepairedLane]>, findings: &[Finding]) -> Value {
    let finding = |finding: &Finding| json!({ "invariant": finding.invariant, "subject": finding::subject(&finding.subject).english(), "detail": finding::problem(finding).english() });
    let mut view = json!({ "findings": findings.iter().map(finding).collect::<Vec<_>>() });
    if let Some(mended) = mended {
        view["mended"] = mended.iter().map(mended_to_json).collect();
    }
    view
}

fn mended_to_json(mended: &RepairedLane) -> Value {
    let RepairedLane { queue, key, subject, repaired } = mended;
    let ids = |ids: &[ItemId]| ids.iter().map(|id| id.as_str()).collect::<Vec<_>>().into();
    let mut view = json!({ "queue": queue.as_str(), "key": key.as_ref().map(|key| key.as_str()), "subject": finding::subject(subject).english() });
    let parts: [(&str, Value); 5] = [
        ("corrected", ids(&repaired.corrected)),
        ("fences_ended", repaired.ended.iter().map(|fence| fence.0).collect()),
        ("places_removed", repaired.removed.iter().map(|seq| seq.0).collect()),
        ("restored", ids(&repaired.restored)),
        ("merged", ids(&repaired.merged)),
    ];
    for (name, value) in parts {
        view[name] = value;
    }
    view
}

/// Reports progress: one changing line on a terminal, plain lines elsewhere.
#[derive(Debug)]
pub(super) struct Progress {
    live: bool,
    last: Option<(usize, usize)>,
}

impl Progress {
    pub(super) fn start() -> Progress {
        Progress { live: std::io::stderr().is_terminal(), last: None }
    }

    /// Reports how many are done.
    pub(super) fn tell(&mut self, done: usize, of: usize, what: Message) {
        let message = Message::new("check-step-done").number("number", done).number("total", of);
        self.line((done, of), &message.message("what", what));
    }

    /// Reports which one is being checked, counted from 1.
    fn step(&mut self, done: usize, of: usize, what: &str) {
        let what = Message::verbatim(what);
        if done == of {
            return self.tell(done, of, what);
        }
        let message = Message::new("check-step").number("number", done + 1).number("total", of);
        self.line((done, of), &message.message("what", what));
    }

    fn line(&mut self, (done, of): (usize, usize), line: &Message) {
        if self.live {
            let _ = write!(std::io::stderr(), "\r{}\u{1b}[K", render(line));
        } else if self.last != Some((done, of)) {
            talk(line);
        }
        self.last = Some((done, of));
    }

    pub(super) fn end(&self) {
        if self.live && self.last.is_some() {
            let _ = writeln!(std::io::stderr());
        }
    }
}
