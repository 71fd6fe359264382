//! `turno sync resync` and `turno sync check`: going through all keys, with progress, and on from where one stopped.

use std::io::{IsTerminal, Write};

use serde_json::json;
use turno::core::id::Key;
use turno::store::StoreError;
use turno::{Error, SyncCheck, SyncProgress};

use super::{Chosen, Sources, refused};
use crate::cli::output::{say, talk};
use crate::failure::Failure;

/// Away from a terminal, progress is told once in so many pages.
const QUIET: usize = 20;

const RESYNC: &str = "\
Examples:
  turno sync resync --key 42
  turno sync resync --all
  turno sync resync --all --source usuarios --after 180000
                                             go on where it was stopped

Keys are put into the queue in order, some hundred at a time; what is sent for
each is decided from the table when it is delivered. Then keys that were
delivered and have no row any more follow. Progress goes to stderr.";

const CHECK: &str = "\
Examples:
  turno sync check
  turno sync check --json | jq '.sources[].differences'
  turno sync check --queue-differences

Prints each key that differs: missing (never delivered), differs (something else
was delivered last), gone (delivered, and no row speaks for it any more). What
is on its way is no difference. Exit code 1 if something differs and was not
queued.";

/// What to send again.
#[derive(clap::Args, Debug)]
#[command(after_help = RESYNC, group = clap::ArgGroup::new("which").required(true).args(["key", "all"]))]
pub(super) struct ResyncArgs {
    /// Send this key
    #[arg(long, value_name = "KEY", conflicts_with_all = ["all", "after"])]
    key: Option<String>,

    /// Send every key of the source
    #[arg(long)]
    all: bool,

    /// Begin behind this key
    #[arg(long, value_name = "KEY", requires = "source")]
    after: Option<String>,

    #[command(flatten)]
    pub(super) chosen: Chosen,
}

/// What to compare.
#[derive(clap::Args, Debug)]
#[command(after_help = CHECK)]
pub(super) struct CheckArgs {
    /// Put the keys that differ into the queue
    #[arg(long)]
    queue_differences: bool,

    /// Begin behind this key
    #[arg(long, value_name = "KEY", requires = "source")]
    after: Option<String>,

    #[command(flatten)]
    pub(super) chosen: Chosen,
}

pub(super) async fn resync(sources: &Sources<'_>, arguments: &ResyncArgs) -> Result<(), Failure> {
    let mut done = Vec::new();
    if let Some(key) = &arguments.key {
        let [source] = sources.chosen[..] else {
            return Err(Failure::usage("there are several sources", "say which one the key is of: --source NAME"));
        };
        let key = Key::new(key.as_str()).map_err(|bad| Failure::usage(bad.to_string(), "pass the key as it is"))?;
        sources.database.turno.sync(source.source.clone()).resync(key.clone()).await.map_err(refused)?;
        talk(&format!("{}: {key} is on its way", source.name));
        done.push(json!({ "name": source.name, "keys": 1, "queued": 1, "unfit": 0 }));
    } else {
        for (source, handle) in sources.handles() {
            let mut told = Told::of(&source.name);
            let walked = handle.resync_all(arguments.after.clone(), |progress| told.tell(progress)).await;
            let walked = walked.map_err(|error| told.stopped(error, arguments.after.as_deref()))?;
            told.end(&walked);
            done.push(counted(&source.name, &walked));
        }
    }
    if arguments.chosen.format.json {
        say(&[json!({ "sources": done }).to_string()]);
    }
    Ok(())
}

pub(super) async fn check(sources: &Sources<'_>, arguments: &CheckArgs) -> Result<(), Failure> {
    let (mut views, mut differing) = (Vec::new(), 0);
    for (source, handle) in sources.handles() {
        let mut told = Told::of(&source.name);
        let queue_them = arguments.queue_differences;
        let found = handle.check(queue_them, arguments.after.clone(), |progress| told.tell(progress)).await;
        let found = found.map_err(|error| told.stopped(error, arguments.after.as_deref()))?;
        told.end(&found.progress);
        differing += found.differing;
        if arguments.chosen.format.json {
            views.push(view(&source.name, &found));
        } else {
            let line = |(key, how): &(String, turno::core::sync::Difference)| {
                format!("{}  {}  {}", source.name, how.as_str(), crate::cli::output::printable(key))
            };
            say(&found.differences.iter().map(line).collect::<Vec<_>>());
        }
    }
    if arguments.chosen.format.json {
        say(&[json!({ "sources": views }).to_string()]);
    }
    let keys = if differing == 1 { "1 key differs".to_owned() } else { format!("{differing} keys differ") };
    match differing {
        0 => talk("what was delivered is what the sources say"),
        _ if arguments.queue_differences => talk(&format!("{keys}; queued")),
        _ => {
            let next = "send them: `turno sync check --queue-differences`";
            return Err(Failure::failed(keys, next));
        }
    }
    Ok(())
}

fn counted(name: &str, progress: &SyncProgress) -> serde_json::Value {
    json!({ "name": name, "keys": progress.keys, "queued": progress.queued, "unfit": progress.unfit })
}

fn view(name: &str, found: &SyncCheck) -> serde_json::Value {
    let mut view = counted(name, &found.progress);
    view["differing"] = found.differing.into();
    let each = found.differences.iter().map(|(key, how)| json!({ "key": key, "how": how.as_str() }));
    view["differences"] = each.collect();
    view
}

/// How far a walk is: one line that changes on a terminal, now and then a line elsewhere.
struct Told<'a> {
    source: &'a str,
    live: bool,
    pages: usize,
    after: Option<String>,
}

impl Told<'_> {
    fn of(source: &str) -> Told<'_> {
        Told { source, live: std::io::stderr().is_terminal(), pages: 0, after: None }
    }

    fn tell(&mut self, progress: &SyncProgress) {
        self.pages += 1;
        self.after = progress.after.clone();
        let last = progress.after.as_ref().map(|key| format!(", up to {key}")).unwrap_or_default();
        let line = format!("{}: {} keys, {} queued{last}", self.source, progress.keys, progress.queued);
        let line = crate::cli::output::printable(&line);
        if self.live {
            let _ = write!(std::io::stderr(), "\r{line}\u{1b}[K");
        } else if self.pages.is_multiple_of(QUIET) {
            talk(&line);
        }
    }

    fn end(&self, done: &SyncProgress) {
        if self.live && self.pages > 0 {
            let _ = writeln!(std::io::stderr());
        }
        talk(&format!("{}: {} keys, {} queued", self.source, done.keys, done.queued));
        if done.unfit > 0 {
            talk(&format!("{}: {} keys are empty, too long or have control characters", self.source, done.unfit));
        }
    }

    /// What is said if it stops midway: from where it can go on.
    fn stopped(&self, error: Error, began_after: Option<&str>) -> Failure {
        let is_rejected = matches!(error, Error::Store(StoreError::Rejected(_)));
        let failure = refused(error);
        match &self.after {
            None if is_rejected && began_after.is_some() => Failure::usage(
                failure.cause,
                "pass --after a key as the table's column writes it, for example a number where it holds numbers",
            ),
            None if is_rejected => Failure::failed(
                failure.cause,
                "check the source in the configuration, and that this role may read its table",
            ),
            None => failure,
            Some(key) => {
                let next = format!("go on with --source {} --after {key}; {}", self.source, failure.next);
                Failure::failed(failure.cause, next)
            }
        }
    }
}
