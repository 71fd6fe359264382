//! What is in force and from where: defaults, then the file, then variables, then flags; the later wins.
//!
//! `key` lists every single value, the tables of leases, queues and sources have lists of their own, and whatever is
//! in none of them is refused. A value is checked where it is read and carries its origin from there on. Nothing is
//! opened here but the file: what needs the database or the network is judged elsewhere.

pub(crate) mod endpoint;
pub(crate) mod field;
mod flags;
mod key;
mod lease;
pub(crate) mod origin;
pub(crate) mod production;
pub(crate) mod queue;
mod suggest;
pub(crate) mod sync;
mod table;
#[cfg(test)]
mod tests;
mod text;
mod tree;

pub(crate) use flags::Overrides;
pub(crate) use origin::{Origin, Shown};
pub(crate) use text::Network;

use crate::failure::Failure;
use field::{Value, Wrong};
use key::{KEYS, Key};
use queue::QueueSettings;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use sync::SyncSource;
use table::{Given, Table};
use tree::{Nodes, by_line};
use turno::core::id::QueueName;
use turno::core::lease::Policies;
use turno::core::time::Span;

/// The variable that names the file.
pub(crate) const FILE_VARIABLE: &str = "TURNO_CONFIG";

/// Where the server runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Environment {
    /// On somebody's desk: helpful, and lenient.
    Development,
    /// In the world: unsafe settings are refused.
    Production,
}

impl Environment {
    /// Its name outside.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Environment::Development => "development",
            Environment::Production => "production",
        }
    }
}

/// How log lines look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LogFormat {
    /// Text on a terminal, JSON elsewhere.
    Auto,
    /// For people.
    Text,
    /// For machines.
    Json,
}

/// What is logged, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Log {
    /// How it looks.
    pub(crate) format: LogFormat,
    /// Directives that `tracing_subscriber::EnvFilter` accepts.
    pub(crate) level: String,
}

/// The bounds of one process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limits {
    /// Requests under way at once.
    pub(crate) requests: usize,
    /// Open connections.
    pub(crate) connections: usize,
    /// Open streams of live events.
    pub(crate) listeners: usize,
    /// How long a request may take.
    pub(crate) request_timeout: Duration,
    /// How long requests may go on once the server was told to stop.
    pub(crate) stop_grace: Duration,
}

/// The defaults of the keys, for a server that is not configured.
impl Default for Limits {
    fn default() -> Limits {
        Limits {
            requests: 1_024,
            connections: 20_000,
            listeners: 10_000,
            request_timeout: Duration::from_secs(60),
            stop_grace: Duration::from_secs(10),
        }
    }
}

/// Which private addresses endpoints may have that were set over the API. Those of the file may have any.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PushGuard {
    /// All of them.
    pub(crate) allow_private: bool,
    /// These.
    pub(crate) allow: Vec<Network>,
}

/// Everything that is in force.
#[derive(Clone)]
pub(crate) struct Settings {
    /// Where the engine remembers. May hold a password: show it with [`Settings::explain`] only.
    pub(crate) database: String,
    /// Address and port.
    pub(crate) listen: String,
    /// Development or production.
    pub(crate) environment: Environment,
    /// Whether the schema is created or upgraded at the start.
    pub(crate) migrate: bool,
    /// The address under which people reach the server, without a slash at its end.
    pub(crate) public_url: Option<String>,
    /// Whether something in front of the server speaks HTTPS.
    pub(crate) behind_proxy: bool,
    /// Pages that may call from a browser; `*` for all.
    pub(crate) cors_origins: Vec<String>,
    /// Where metrics are served on their own.
    pub(crate) metrics_listen: Option<String>,
    /// Where traces are sent.
    pub(crate) otlp_endpoint: Option<String>,
    /// How long ended ownerships are kept.
    pub(crate) keep_history: Span,
    /// What is logged.
    pub(crate) log: Log,
    /// The bounds of the process.
    pub(crate) limits: Limits,
    /// Where endpoints set over the API may point.
    pub(crate) push: PushGuard,
    /// The times that govern leases.
    pub(crate) leases: Policies,
    /// The queues that the file describes, those of sources among them.
    pub(crate) queues: BTreeMap<QueueName, QueueSettings>,
    /// The tables whose changes are carried elsewhere.
    pub(crate) sync: Vec<SyncSource>,
    shown: Vec<Shown>,
}

// What is logged about it must not hold a password either.
impl std::fmt::Debug for Settings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_map().entries(self.shown.iter().map(|row| (&row.key, &row.value))).finish()
    }
}

/// Finds out what is in force. `file` is what `--config` says; without it the variable `TURNO_CONFIG` does.
pub(crate) fn parse(
    cli: Overrides,
    file: Option<&Path>,
    env: impl Fn(&str) -> Option<String>,
) -> Result<Settings, Failure> {
    let named = env(FILE_VARIABLE).filter(|path| !path.is_empty());
    let path: Option<Arc<Path>> = file.map(Arc::from).or(named.map(|path| Path::new(&path).into()));
    let file = path.map(|path| tree::read(&path).map(|nodes| (path, nodes))).transpose()?;
    resolve(&cli, file, env)
}

fn resolve(
    cli: &Overrides,
    file: Option<(Arc<Path>, Nodes)>,
    env: impl Fn(&str) -> Option<String>,
) -> Result<Settings, Failure> {
    let (path, nodes) = file.unwrap_or_else(|| (Path::new("").into(), Nodes::new()));
    let written = singles(&path, &nodes)?;
    let mut chosen = Chosen::default();
    for key in KEYS {
        chosen.choose(key, cli.get(key.name), env(key.variable), written.get(key.name))?;
    }
    let (leases, shown) = lease::read(&path, section(&path, &nodes, "leases")?.nodes)?;
    chosen.shown.extend(shown);
    let (queues, sync) = carriers(&path, &nodes, &mut chosen.shown)?;
    chosen.settings(leases, queues, sync)
}

/// A table of the file's first level; an empty one if it is not there.
fn section<'a>(path: &'a Arc<Path>, nodes: &'a Nodes, name: &str) -> Result<Table<'a>, Failure> {
    static NONE: Nodes = Nodes::new();
    match nodes.get(name) {
        Some(node) => Table::of(path, name.to_owned(), node),
        None => Ok(Table { path, name: name.to_owned(), line: 1, nodes: &NONE }),
    }
}

/// Tables that are no single values.
const TABLES: &[&str] = &["leases", "queues", "sync"];

/// The single values of the file, by their names with dots. Unknown keys are refused here.
fn singles(path: &Arc<Path>, nodes: &Nodes) -> Result<BTreeMap<&'static str, (Value, Origin)>, Failure> {
    let whole = Table { path, name: String::new(), line: 1, nodes };
    let mut values = BTreeMap::new();
    for (name, node) in by_line(nodes).into_iter().filter(|(name, _)| !TABLES.contains(&name.as_str())) {
        if name.is_empty() || KEYS.iter().all(|key| key.place().0 != name) {
            values.extend([single(&whole, name, node)?]);
            continue;
        }
        let inner = Table::of(path, name.clone(), node)?;
        for (name, node) in by_line(inner.nodes) {
            values.extend([single(&inner, name, node)?]);
        }
    }
    Ok(values)
}

fn single(table: &Table<'_>, name: &str, node: &tree::Node) -> Result<(&'static str, (Value, Origin)), Failure> {
    let here = || KEYS.iter().filter(|key| key.place().0 == table.name);
    let Some(key) = here().find(|key| key.place().1 == name) else {
        let mut names: Vec<&str> = here().map(|key| key.place().1).collect();
        if table.name.is_empty() {
            names.extend(
                KEYS.iter().map(|key| key.place().0).filter(|table| !table.is_empty()).chain(TABLES.iter().copied()),
            );
            names.dedup();
        }
        return Err(table.unknown(name, node.line, &names));
    };
    let origin = Origin::File { path: table.path.clone(), line: node.line };
    let value = key.shape.of_node(node).map_err(|wrong| table::refusal(&origin, key.name, wrong))?;
    Ok((key.name, (value, origin)))
}

type Carriers = (BTreeMap<QueueName, QueueSettings>, Vec<SyncSource>);

/// Queues and the sources that use some of them.
fn carriers(path: &Arc<Path>, nodes: &Nodes, shown: &mut Vec<Shown>) -> Result<Carriers, Failure> {
    let mut queues = queue::read(path, section(path, nodes, "queues")?.nodes)?;
    let sync = section(path, nodes, "sync")?;
    let sources = sync::read(path, sync.nodes, sync.line)?;
    let mut of_sources = Vec::new();
    for source in &sources {
        let settings = sync::queue(source, &queues)?;
        let name = source.0.queue.clone();
        let given = queues.remove(&name).map_or_else(|| Given::nothing(format!("queues.{name}")), |(_, given)| given);
        let given = given.borrowing(&["max_attempts", "backoff_ms"], &source.1);
        of_sources.extend(sync::rows(source, &settings));
        queues.insert(name, (settings, given));
    }
    shown.extend(queues.values().flat_map(|(settings, given)| queue::rows(settings, given)));
    shown.extend(of_sources);
    let queues = queues.into_iter().map(|(name, (settings, _))| (name, settings)).collect();
    Ok((queues, sources.into_iter().map(|(source, _)| source).collect()))
}

/// The single values that won.
#[derive(Default)]
struct Chosen {
    values: BTreeMap<&'static str, (Value, Origin)>,
    shown: Vec<Shown>,
}

impl Chosen {
    /// The strongest of what was said about a key; an empty variable says nothing.
    fn choose(
        &mut self,
        key: &'static Key,
        flag: Option<&str>,
        variable: Option<String>,
        written: Option<&(Value, Origin)>,
    ) -> Result<(), Failure> {
        let variable = variable.filter(|text| !text.is_empty());
        let spoken = match (flag, &variable) {
            (Some(text), _) => Some((text, Origin::Flag(key.flag))),
            (None, Some(text)) => Some((text.as_str(), Origin::Environment(key.variable))),
            (None, None) => None,
        };
        let spoken = spoken.or(if written.is_some() { None } else { key.default.map(|text| (text, Origin::Default)) });
        let won = match spoken {
            Some((text, origin)) => {
                let value = key.shape.of_text(text).map_err(|wrong| table::refusal(&origin, key.name, wrong))?;
                Some((value, origin))
            }
            None => written.cloned(),
        };
        let shown = won.as_ref().map(|(value, _)| value.shown());
        let shown = if key.name == "database" { shown.map(|url| text::masked(&url)) } else { shown };
        let origin = won.as_ref().map_or(Origin::Default, |(_, origin)| origin.clone());
        self.shown.push(Shown::new(key.name, shown, origin));
        if let Some(won) = won {
            self.values.insert(key.name, won);
        }
        Ok(())
    }

    fn text(&self, name: &str) -> Option<String> {
        match self.values.get(name) {
            Some((Value::Text(text), _)) => Some(text.clone()),
            _ => None,
        }
    }

    fn texts(&self, name: &str) -> Vec<String> {
        match self.values.get(name) {
            Some((Value::Texts(texts), _)) => texts.clone(),
            _ => Vec::new(),
        }
    }

    fn switch(&self, name: &str) -> bool {
        matches!(self.values.get(name), Some((Value::Switch(true), _)))
    }

    /// A number that has a default, so that it is always there.
    fn whole(&self, name: &str) -> u64 {
        match self.values.get(name) {
            Some((Value::Whole(number), _)) => number.unsigned_abs(),
            _ => 0,
        }
    }

    fn settings(
        self,
        leases: Policies,
        queues: BTreeMap<QueueName, QueueSettings>,
        sync: Vec<SyncSource>,
    ) -> Result<Settings, Failure> {
        let count = |name| usize::try_from(self.whole(name)).unwrap_or(usize::MAX);
        let settings = Settings {
            database: self.text("database").unwrap_or_default(),
            listen: self.text("listen").unwrap_or_default(),
            environment: match self.text("env").as_deref() {
                Some("production") => Environment::Production,
                _ => Environment::Development,
            },
            migrate: self.switch("migrate"),
            public_url: self.text("public_url"),
            behind_proxy: self.switch("behind_proxy"),
            cors_origins: self.texts("cors_origins"),
            metrics_listen: self.text("metrics_listen"),
            otlp_endpoint: self.text("otlp_endpoint"),
            keep_history: Span::from_secs(self.whole("keep_history_days").cast_signed().saturating_mul(86_400)),
            log: Log {
                format: match self.text("log.format").as_deref() {
                    Some("text") => LogFormat::Text,
                    Some("json") => LogFormat::Json,
                    _ => LogFormat::Auto,
                },
                level: self.text("log.level").unwrap_or_default(),
            },
            limits: Limits {
                requests: count("limits.requests"),
                connections: count("limits.connections"),
                listeners: count("limits.listeners"),
                request_timeout: Duration::from_millis(self.whole("limits.request_timeout_ms")),
                stop_grace: Duration::from_millis(self.whole("limits.stop_grace_ms")),
            },
            push: PushGuard {
                allow_private: self.switch("push.allow_private"),
                allow: self.texts("push.allow").iter().filter_map(|text| Network::of(text)).collect(),
            },
            leases,
            queues,
            sync,
            shown: self.shown.clone(),
        };
        self.check_together(&settings)?;
        Ok(settings)
    }

    /// What is right by itself and wrong beside another value.
    fn check_together(&self, settings: &Settings) -> Result<(), Failure> {
        let taken = settings.metrics_listen.as_ref() == Some(&settings.listen) && !settings.listen.ends_with(":0");
        match self.values.get("metrics_listen") {
            Some((_, origin)) if taken => {
                let wrong = Wrong::new("is the same address as listen", "give metrics a port of their own");
                Err(table::refusal(origin, "metrics_listen", wrong))
            }
            _ => Ok(()),
        }
    }
}

impl Settings {
    /// Whether nobody said anything about this key.
    pub(crate) fn is_default(&self, key: &str) -> bool {
        self.shown.iter().any(|row| row.key == key && row.origin == Origin::Default)
    }

    /// Every key, its value and where it comes from, fit to be shown: secrets are masked.
    pub(crate) fn explain(&self) -> &[Shown] {
        &self.shown
    }
}
