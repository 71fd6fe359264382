//! `turno sync`: installs and checks the triggers of sources, directly on the database.

mod broken;
mod status;
mod walk;

use clap::{Args, Subcommand};
use serde_json::json;
use turno::Error;
use turno::core::id::QueueName;
use turno::store::StoreError;
use turno::sync::SyncHandle;

use super::global::{self, GlobalArgs};
use super::output::{Format, say, talk};
use crate::config::sync::SyncSource;
use crate::config::{Overrides, Settings};
use crate::database::Database;
use crate::failure::Failure;
use crate::texts::causes;
use crate::texts::message::Message;
use broken::Broken;

const EXAMPLES: &str = "\
Examples:
  turno sync plan --config turno.toml        the SQL, to be read or run by a DBA
  turno sync install --config turno.toml     the same, run
  turno sync status                          installed? waiting? failing?
  turno sync resync --all                    send rows that were there before
  turno sync check --queue-differences       compare, and send what differs

Sources come from [[sync.source]] in the configuration; `preset = \"siper\"` is
a complete example. Triggers need PostgreSQL: on SQLite a sync queue is fed
through the API. Works beside a running server.";

/// Arguments of `turno sync`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct SyncArgs {
    #[command(subcommand)]
    action: Action,
}

/// The sources that a command is about, and its output format.
#[derive(Args, Clone, Debug)]
struct Chosen {
    /// Only this source of the configuration
    #[arg(long, value_name = "NAME")]
    source: Option<String>,

    #[command(flatten)]
    format: Format,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Print exactly the SQL that `install` runs
    Plan(Chosen),
    /// Install the triggers of the configured sources, each in one transaction; can be repeated
    Install(Chosen),
    /// Compare the installed triggers with the configuration, and show waiting and failed keys; exit code 1 on a problem
    Status(Chosen),
    /// Send rows again: older rows, or rows that were loaded with triggers off
    Resync(walk::ResyncArgs),
    /// Compare every key of the sources with its last delivery; exit code 1 on a difference
    Check(walk::CheckArgs),
    /// Remove the triggers and functions that `install` created; the queue stays
    Remove(Chosen),
}

pub(crate) async fn run(arguments: &SyncArgs, global: &GlobalArgs) -> Result<(), Failure> {
    let settings = global.settings(Overrides::default())?;
    match &arguments.action {
        Action::Plan(chosen) => plan(&Sources::open(global, &settings, chosen).await?, chosen.format).await,
        Action::Install(chosen) => install(&Sources::open(global, &settings, chosen).await?, chosen.format).await,
        Action::Status(chosen) => status::run(&Sources::open(global, &settings, chosen).await?, chosen.format).await,
        Action::Resync(arguments) => {
            walk::resync(&Sources::open(global, &settings, &arguments.chosen).await?, arguments).await
        }
        Action::Check(arguments) => {
            walk::check(&Sources::open(global, &settings, &arguments.chosen).await?, arguments).await
        }
        Action::Remove(chosen) => remove(&Sources::open(global, &settings, chosen).await?, chosen.format).await,
    }
}

/// The chosen sources, with an open database.
struct Sources<'a> {
    database: Database,
    settings: &'a Settings,
    chosen: Vec<&'a SyncSource>,
}

impl<'a> Sources<'a> {
    async fn open(global: &GlobalArgs, settings: &'a Settings, chosen: &Chosen) -> Result<Sources<'a>, Failure> {
        let sources = choose(&settings.sync, chosen.source.as_deref())?;
        Ok(Sources { database: global.open_existing().await?, settings, chosen: sources })
    }

    fn handles(&self) -> impl Iterator<Item = (&'a SyncSource, SyncHandle)> {
        self.chosen.iter().map(|&source| (source, self.database.turno.sync(source.source.clone())))
    }

    fn broken(&self) -> Broken {
        Broken::among(self.chosen.len())
    }

    async fn plan(&self, source: &SyncSource, handle: &SyncHandle) -> Result<String, Failure> {
        // The queue must exist, because a DBA may run the printed SQL and the trigger then uses the queue.
        if handle.has_triggers() {
            self.put_queue(&source.queue).await?;
        }
        handle.plan().await.map_err(refused)
    }

    async fn install(&self, source: &SyncSource, handle: &SyncHandle) -> Result<(), Failure> {
        if handle.has_triggers() {
            self.put_queue(&source.queue).await?;
        }
        handle.install().await.map_err(refused)
    }

    /// Applies the configured policy to the queue, as a server does when it starts.
    async fn put_queue(&self, name: &QueueName) -> Result<(), Failure> {
        if let Some(queue) = self.settings.queues.get(name) {
            self.database.turno.put_queue(name.clone(), queue.policy.clone()).await.map_err(refused)?;
        }
        Ok(())
    }
}

fn choose<'a>(sources: &'a [SyncSource], name: Option<&str>) -> Result<Vec<&'a SyncSource>, Failure> {
    if sources.is_empty() {
        return Err(Failure::failed(Message::new("sync-none")));
    }
    let Some(name) = name else { return Ok(sources.iter().collect()) };
    let found: Vec<&SyncSource> = sources.iter().filter(|source| source.name == name).collect();
    if found.is_empty() {
        let known: Vec<&str> = sources.iter().map(|source| source.name.as_str()).collect();
        return Err(Failure::usage(Message::new("sync-unknown").text("source", name).text("names", known.join(", "))));
    }
    Ok(found)
}

async fn plan(sources: &Sources<'_>, format: Format) -> Result<(), Failure> {
    let (mut plans, mut views, mut broken) = (Vec::new(), Vec::new(), sources.broken());
    for (source, handle) in sources.handles() {
        match sources.plan(source, &handle).await {
            Ok(sql) => {
                views.push(json!({ "name": source.name, "sql": sql }));
                plans.push(sql.trim_end().to_owned());
            }
            Err(failure) => views.push(broken.note(&source.name, failure)),
        }
    }
    if format.json {
        say(&[json!({ "sources": views }).to_string()]);
    } else {
        say(&plans);
    }
    broken.end()
}

async fn install(sources: &Sources<'_>, format: Format) -> Result<(), Failure> {
    let (mut done, mut done_any, mut broken) = (Vec::new(), false, sources.broken());
    for (source, handle) in sources.handles() {
        if let Err(failure) = sources.install(source, &handle).await {
            done.push(broken.note(&source.name, failure));
            continue;
        }
        done_any = true;
        let message = Message::new("sync-installed").text("source", &source.name).text("table", &source.table);
        talk(&message.text("queue", &source.queue));
        done.push(json!({ "name": source.name, "table": source.table.display(), "queue": source.queue }));
    }
    if format.json {
        say(&[json!({ "sources": done }).to_string()]);
    } else if done_any {
        talk(&Message::new("sync-resync-hint"));
    }
    broken.end()
}

async fn remove(sources: &Sources<'_>, format: Format) -> Result<(), Failure> {
    let (mut done, mut broken) = (Vec::new(), sources.broken());
    for (source, handle) in sources.handles() {
        let removed = match handle.remove().await {
            Ok(removed) => removed,
            Err(error) => {
                done.push(broken.note(&source.name, refused(error)));
                continue;
            }
        };
        if removed.is_empty() {
            talk(&Message::new("sync-not-installed").text("source", &source.name));
        }
        for object in &removed {
            talk(&Message::new("sync-removed").text("source", &source.name).text("object", object));
        }
        done.push(json!({ "name": source.name, "removed": removed }));
    }
    if format.json {
        say(&[json!({ "sources": done }).to_string()]);
    }
    broken.end()
}

/// Turns an error of the library into a failure, with advice for sources.
fn refused(error: Error) -> Failure {
    let id = match &error {
        Error::Store(StoreError::Rejected(cause)) if cause.code.as_deref() == Some(crate::database::FORBIDDEN) => {
            "sync-forbidden"
        }
        Error::Store(StoreError::Rejected(_)) => "sync-rejected",
        _ => return global::refused(error),
    };
    Failure::failed(Message::new(id).message("cause", causes::message(&error)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_or_unknown_source_is_refused_with_advice() {
        let none = choose(&[], None).unwrap_err();
        assert!(none.next().contains("--config"), "{none:?}");
        let unknown = choose(&[], Some("x")).unwrap_err();
        assert!(unknown.cause().contains("no [[sync.source]]"), "{unknown:?}");
    }
}
