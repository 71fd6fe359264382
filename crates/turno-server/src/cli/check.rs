//! `turno check`: whether what is stored keeps the promises.

use std::io::{IsTerminal, Write};

use serde_json::json;
use turno::core::text::counted;

use super::output::{Format, say, talk};
use super::place::{PlaceArgs, refused};
use crate::failure::Failure;
use crate::texts::terminal::told;

const EXAMPLES: &str = "\
Examples:
  turno check --database sqlite:turno.db
  turno check --json | jq .findings

Changes nothing, and may run beside a server. Progress goes to stderr, findings
to stdout: the invariant, what it is about, what is wrong. Exit code 1 if
anything was found. docs/internals/invariants.md explains the invariants.";

/// What checking takes.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct CheckArgs {
    #[command(flatten)]
    format: Format,
}

pub(crate) async fn run(arguments: &CheckArgs, place: &PlaceArgs) -> Result<(), Failure> {
    let database = place.open_existing().await?;
    let mut progress = Progress::start();
    let tell = |at: turno::CheckProgress| progress.step(at.done, at.of, at.invariant);
    let findings = database.turno.check(tell).await.map_err(refused)?;
    progress.end();
    if arguments.format.json {
        let view = |finding: &turno::store::Finding| json!({ "invariant": finding.invariant, "subject": finding.subject, "detail": finding.detail });
        say(&[json!({ "findings": findings.iter().map(view).collect::<Vec<_>>() }).to_string()]);
    } else {
        let line = |finding: &turno::store::Finding| {
            format!("{}  {}  {}", finding.invariant, told(&finding.subject), told(&finding.detail))
        };
        say(&findings.iter().map(line).collect::<Vec<_>>());
    }
    if findings.is_empty() {
        talk(&format!("{} keeps its promises", database.place.name));
        return Ok(());
    }
    Err(Failure::failed(
        format!("{} in {}", counted(findings.len() as u64, "finding", "findings"), database.place.name),
        "keep a copy (`turno backup FILE`, or pg_dump) before anything else, and report what was found",
    ))
}

/// How far something long is: one line that changes on a terminal, plain lines elsewhere.
#[derive(Debug)]
pub(super) struct Progress {
    live: bool,
    last: Option<(usize, usize)>,
}

impl Progress {
    pub(super) fn start() -> Progress {
        Progress { live: std::io::stderr().is_terminal(), last: None }
    }

    /// So much of it is done.
    pub(super) fn tell(&mut self, done: usize, of: usize, what: &str) {
        self.line((done, of), &format!("checked {done} of {of}: {what}"));
    }

    /// With so many behind it, it is at this one: the first is 1 and not 0.
    fn step(&mut self, done: usize, of: usize, what: &str) {
        if done == of {
            return self.tell(done, of, what);
        }
        let number = done + 1;
        self.line((done, of), &format!("checking {number} of {of}: {what}"));
    }

    fn line(&mut self, (done, of): (usize, usize), line: &str) {
        if self.live {
            let _ = write!(std::io::stderr(), "\r{}\u{1b}[K", told(line));
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
