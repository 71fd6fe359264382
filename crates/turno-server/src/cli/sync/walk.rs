//! `turno sync resync` and `turno sync check`: walk over all keys, report progress, and can continue where a walk
//! stopped.

use std::io::{IsTerminal, Write};

use serde_json::json;
use turno::Error;
use turno::core::id::Key;
use turno::store::StoreError;
use turno::sync::{SyncCheck, SyncProgress};

use super::{Chosen, Sources, refused};
use crate::cli::output::{printable, say, talk};
use crate::config::sync::SyncSource;
use crate::failure::Failure;
use crate::texts::causes;
use crate::texts::message::Message;
use crate::texts::terminal::{render, word};

/// Without a terminal, progress is printed once per this many pages.
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
an event on its way will bring in line is counted apart. Exit code 1 if
something differs and was not queued, or cannot be queued, or a source could not
be read.";

/// Arguments of `turno sync resync`.
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
    #[arg(long, value_name = "KEY")]
    after: Option<String>,

    #[command(flatten)]
    pub(super) chosen: Chosen,
}

/// Arguments of `turno sync check`.
#[derive(clap::Args, Debug)]
#[command(after_help = CHECK)]
pub(super) struct CheckArgs {
    /// Put the keys that differ into the queue
    #[arg(long)]
    queue_differences: bool,

    /// Begin behind this key
    #[arg(long, value_name = "KEY")]
    after: Option<String>,

    #[command(flatten)]
    pub(super) chosen: Chosen,
}

pub(super) async fn resync(sources: &Sources<'_>, arguments: &ResyncArgs) -> Result<(), Failure> {
    let (mut done, mut broken, mut unfit) = (Vec::new(), sources.broken(), Unfit::default());
    if arguments.after.is_some() {
        only_source(sources)?;
    }
    if let Some(key) = &arguments.key {
        let source = only_source(sources)?;
        let key = Key::new(key.as_str())
            .map_err(|bad| Failure::usage(Message::new("sync-bad-key").message("cause", causes::message(&bad))))?;
        let key = sources.database.turno.sync(source.source.clone()).resync(key).await.map_err(refused)?;
        talk(&Message::new("sync-key-queued").text("source", &source.name).text("key", &key));
        done.push(json!({ "name": source.name, "keys": 1, "queued": 1, "unfit": 0 }));
    } else {
        for (source, handle) in sources.handles() {
            let mut progress_line = ProgressLine::new(&source.name);
            let walked = handle.resync_all(arguments.after.clone(), |progress| progress_line.tell(progress)).await;
            match walked {
                Ok(walked) => {
                    progress_line.end(&walked);
                    unfit.add(&walked);
                    done.push(progress_view(&source.name, &walked));
                }
                Err(error) => {
                    done.push(broken.note(&source.name, progress_line.stopped(error, arguments.after.as_deref())))
                }
            }
        }
    }
    if arguments.chosen.format.json {
        say(&[json!({ "sources": done }).to_string()]);
    }
    broken.end()?;
    unfit.end()
}

/// Returns the only chosen source. Refuses several, because a key belongs to one source.
fn only_source<'a>(sources: &Sources<'a>) -> Result<&'a SyncSource, Failure> {
    match sources.chosen[..] {
        [source] => Ok(source),
        _ => Err(Failure::usage(Message::new("sync-several"))),
    }
}

pub(super) async fn check(sources: &Sources<'_>, arguments: &CheckArgs) -> Result<(), Failure> {
    if arguments.after.is_some() {
        only_source(sources)?;
    }
    let (mut views, mut broken, mut unfit) = (Vec::new(), sources.broken(), Unfit::default());
    let (mut differing, mut on_its_way) = (0, 0);
    for (source, handle) in sources.handles() {
        let mut progress_line = ProgressLine::new(&source.name);
        let queue_them = arguments.queue_differences;
        let found = handle.check(queue_them, arguments.after.clone(), |progress| progress_line.tell(progress)).await;
        let found = match found {
            Ok(found) => found,
            Err(error) => {
                views.push(broken.note(&source.name, progress_line.stopped(error, arguments.after.as_deref())));
                continue;
            }
        };
        progress_line.end(&found.progress);
        unfit.add(&found.progress);
        differing += found.differing;
        on_its_way += found.on_its_way;
        if arguments.chosen.format.json {
            views.push(view(&source.name, &found));
        } else {
            let line = |(key, how): &(String, turno::core::sync::Difference)| {
                format!("{}  {}  {}", source.name, word("sync", how.as_str()), printable(key))
            };
            say(&found.differences.iter().map(line).collect::<Vec<_>>());
            let listed = found.differences.len();
            if found.differing > listed as u64 {
                talk(&Message::new("sync-differences-listed").text("source", &source.name).number("count", listed));
            }
        }
    }
    if arguments.chosen.format.json {
        say(&[json!({ "sources": views }).to_string()]);
    }
    if on_its_way > 0 {
        talk(&Message::new("sync-pending").number("count", on_its_way));
    }
    broken.end()?;
    // The differing keys that can be queued.
    let fit = differing - unfit.count;
    match (differing, fit) {
        (0, _) if on_its_way == 0 => talk(&Message::new("sync-equal")),
        (0, _) => talk(&Message::new("sync-equal-else")),
        (_, 0) => {}
        _ if !arguments.queue_differences => {
            if let Err(unfit) = unfit.end() {
                let unfit = unfit.into_message();
                let next = unfit.next();
                talk(&Message::new("setting-detail").message("wrong", unfit).message("next", next));
            }
            return Err(Failure::failed(Message::new("sync-differ").number("count", fit)));
        }
        _ => talk(&Message::new("sync-differ-queued").number("count", fit)),
    }
    unfit.end()
}

/// Keys that cannot be queued, of all sources.
#[derive(Default)]
struct Unfit {
    count: u64,
    named: Vec<String>,
}

impl Unfit {
    fn add(&mut self, progress: &SyncProgress) {
        self.count += progress.unfit;
        // Quoted and escaped, because their invalid characters would be invisible otherwise.
        self.named.extend(progress.unfit_keys.iter().map(|key| format!("{:?}", shorten(key))));
    }

    fn end(self) -> Result<(), Failure> {
        if self.count == 0 {
            return Ok(());
        }
        let more = if self.count > self.named.len() as u64 { ", …" } else { "" };
        let message = Message::new("sync-unfit").number("count", self.count);
        Err(Failure::failed(message.text("names", format_args!("{}{more}", self.named.join(", ")))))
    }
}

/// Shortens a long key.
fn shorten(key: &str) -> String {
    const SHOWN: usize = 40;
    if key.chars().count() > SHOWN { key.chars().take(SHOWN).chain(['…']).collect() } else { key.to_owned() }
}

fn progress_view(name: &str, progress: &SyncProgress) -> serde_json::Value {
    json!({
        "name": name,
        "keys": progress.keys,
        "queued": progress.queued,
        "unfit": progress.unfit,
        "unfit_keys": progress.unfit_keys,
    })
}

fn view(name: &str, found: &SyncCheck) -> serde_json::Value {
    let mut view = progress_view(name, &found.progress);
    view["differing"] = found.differing.into();
    view["on_its_way"] = found.on_its_way.into();
    let each = found.differences.iter().map(|(key, how)| json!({ "key": key, "how": how.as_str() }));
    view["differences"] = each.collect();
    view
}

/// Reports the progress of a walk: one changing line on a terminal, occasional lines elsewhere.
struct ProgressLine<'a> {
    source: &'a str,
    live: bool,
    pages: usize,
    after: Option<String>,
}

impl ProgressLine<'_> {
    fn new(source: &str) -> ProgressLine<'_> {
        ProgressLine { source, live: std::io::stderr().is_terminal(), pages: 0, after: None }
    }

    fn tell(&mut self, progress: &SyncProgress) {
        self.pages += 1;
        self.after = progress.after.clone();
        let message = self.message(progress);
        let message = match &progress.after {
            Some(key) => message("sync-progress-to").text("key", printable(key)),
            None => message("sync-progress"),
        };
        if self.live {
            let _ = write!(std::io::stderr(), "\r{}\u{1b}[K", render(&message));
        } else if self.pages.is_multiple_of(QUIET) {
            talk(&message);
        }
    }

    fn message(&self, progress: &SyncProgress) -> impl Fn(&'static str) -> Message {
        let (source, keys, queued) = (self.source.to_owned(), progress.keys, progress.queued);
        move |id| Message::new(id).text("source", &source).number("count", keys).number("queued", queued)
    }

    fn end(&self, done: &SyncProgress) {
        if self.live && self.pages > 0 {
            let _ = writeln!(std::io::stderr());
        }
        talk(&self.message(done)("sync-progress"));
    }

    /// Returns the failure of a walk that stopped, with the key from which it can continue.
    fn stopped(&self, error: Error, began_after: Option<&str>) -> Failure {
        let is_rejected = matches!(error, Error::Store(StoreError::Rejected(_)));
        let failure = refused(error);
        let message = |id, failure: Failure| Message::new(id).message("cause", failure.into_message());
        match &self.after {
            None if is_rejected && began_after.is_some() => Failure::usage(message("sync-after", failure)),
            None if is_rejected => Failure::failed(message("sync-unreadable", failure)),
            None => failure,
            Some(key) => {
                let next = failure.next();
                let message = message("sync-continue", failure).text("source", self.source).text("key", key);
                Failure::failed(message.text("next", next))
            }
        }
    }
}
