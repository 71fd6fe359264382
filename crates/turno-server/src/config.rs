//! The settings in force and the origin of each: defaults, then the file, then variables, then flags. The later layer
//! wins.
//!
//! `key` lists the keys with a single value. The tables of leases, queues and sources have lists of their own. A key in
//! none of these lists is refused. Each value is checked when it is read, and keeps its origin. This module opens
//! nothing but the file; checks that need the database or the network happen elsewhere.

pub(crate) mod endpoint;
pub(crate) mod field;
mod flags;
mod key;
mod lease;
pub(crate) mod oidc;
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
pub(crate) use text::{Network, is_loopback};

use crate::failure::Failure;
use crate::texts::Language;
use crate::texts::message::Message;
use field::Value;
use key::{KEYS, Key};
use oidc::OidcSettings;
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
use turno::core::limits::{ANSWER_BYTES, PAYLOAD_MAX};
use turno::core::time::Span;

/// The variable with the path of the file.
pub(crate) const FILE_VARIABLE: &str = "TURNO_CONFIG";

/// The variable that many hosts set for the database of a program. Any setting of Turno's own wins over it.
const COMMON_VARIABLE: &str = "DATABASE_URL";

/// How strict the server is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Environment {
    /// On a developer's machine: unsafe settings are accepted.
    Development,
    /// In production: unsafe settings are refused.
    Production,
}

impl Environment {
    /// Returns the name that the configuration uses.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Environment::Development => "development",
            Environment::Production => "production",
        }
    }
}

/// The format of log lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LogFormat {
    /// Text on a terminal, JSON elsewhere.
    Auto,
    Text,
    Json,
}

/// The settings of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Log {
    pub(crate) format: LogFormat,
    /// Directives that `tracing_subscriber::filter::Targets` accepts.
    pub(crate) level: String,
}

/// The limits of one process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limits {
    /// Concurrent requests.
    pub(crate) requests: usize,
    /// Open connections.
    pub(crate) connections: usize,
    /// Open streams of live events.
    pub(crate) listeners: usize,
    /// The longest time a request may take.
    pub(crate) request_timeout: Duration,
    /// How long the server goes on after it is asked to stop, while `/readyz` fails.
    pub(crate) stop_drain: Duration,
    /// How long running requests may continue after that.
    pub(crate) stop_grace: Duration,
    /// The payload bytes of one list or claim.
    pub(crate) answer_bytes: usize,
    /// The largest payload.
    pub(crate) payload_bytes: usize,
    pub(crate) per_caller: CallerLimits,
}

/// The part of a server that one caller may use. 0 means no limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CallerLimits {
    /// Open streams of events.
    pub(crate) streams: usize,
    /// Claims under way, because a claim may wait.
    pub(crate) waiting: usize,
    /// Other requests under way. Heartbeats, releases and settlements have four times as many, as their room.
    pub(crate) requests: usize,
    /// Live leases of a person or a session.
    pub(crate) leases: usize,
    /// Open connections of one source address.
    pub(crate) connections: usize,
}

impl CallerLimits {
    /// The part of a room that a caller may use, unless configured.
    fn quarter(room: usize) -> usize {
        (room / 4).max(1)
    }
}

/// The defaults of the keys, for a server without configuration.
impl Default for Limits {
    fn default() -> Limits {
        Limits {
            requests: 1_024,
            connections: 20_000,
            listeners: 10_000,
            request_timeout: Duration::from_secs(60),
            stop_drain: Duration::ZERO,
            stop_grace: Duration::from_secs(10),
            answer_bytes: ANSWER_BYTES,
            payload_bytes: PAYLOAD_MAX,
            per_caller: CallerLimits {
                streams: 64,
                waiting: 256,
                requests: CallerLimits::quarter(1_024),
                leases: 10_000,
                connections: CallerLimits::quarter(20_000),
            },
        }
    }
}

/// The private addresses that endpoints set over the API may have. Endpoints in the file may have any address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PushGuard {
    /// Allows every private address.
    pub(crate) allow_private: bool,
    /// Allows these networks.
    pub(crate) allow: Vec<Network>,
}

/// All settings in force.
#[derive(Clone)]
pub(crate) struct Settings {
    /// The database URL. It may contain a password, so only [`Settings::explain`] shows it.
    pub(crate) database: String,
    /// A second URL of the same database, for `LISTEN`.
    pub(crate) database_direct: Option<String>,
    /// Whether production may reach PostgreSQL on other machines without TLS.
    pub(crate) database_plaintext: bool,
    /// Address and port to listen on.
    pub(crate) listen: String,
    pub(crate) environment: Environment,
    /// Whether the schema is created or upgraded when the server starts.
    pub(crate) migrate: bool,
    /// The address under which people reach the server, without a trailing slash.
    pub(crate) public_url: Option<String>,
    /// Whether a proxy in front of the server terminates HTTPS.
    pub(crate) behind_proxy: bool,
    /// The proxies whose headers name the client's address.
    pub(crate) trusted_proxies: Vec<Network>,
    /// Origins of pages that may call from a browser; `*` for all.
    pub(crate) cors_origins: Vec<String>,
    /// A separate address for metrics.
    pub(crate) metrics_listen: Option<String>,
    /// The endpoint for traces.
    pub(crate) otlp_endpoint: Option<String>,
    /// How long the history of ended ownerships is kept.
    pub(crate) keep_history: Span,
    /// The language of answers to requests without `Accept-Language`.
    pub(crate) language: Language,
    pub(crate) log: Log,
    pub(crate) limits: Limits,
    /// The private addresses for endpoints set over the API.
    pub(crate) push: PushGuard,
    /// The OpenID provider that signs people in.
    pub(crate) oidc: Option<OidcSettings>,
    /// The policies of leases.
    pub(crate) leases: Policies,
    /// The queues of the file, with the queues of its sources.
    pub(crate) queues: BTreeMap<QueueName, QueueSettings>,
    /// The sources of sync queues.
    pub(crate) sync: Vec<SyncSource>,
    rows: Vec<Shown>,
}

// Prints masked values only, because the database URL may contain a password.
impl std::fmt::Debug for Settings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_map().entries(self.rows.iter().map(|row| (&row.key, &row.value))).finish()
    }
}

/// Resolves the settings. The file is `file` (from `--config`), or else the one that `TURNO_CONFIG` names.
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
    let written = single_values(&path, &nodes)?;
    let mut chosen = Chosen::default();
    for key in KEYS {
        chosen.choose(key, cli.get(key.name), &env, written.get(key.name))?;
    }
    let (leases, rows) = lease::read(&path, section(&path, &nodes, "leases")?.nodes)?;
    chosen.rows.extend(rows);
    let (queues, sync) = queues_and_sources(&path, &nodes, &mut chosen.rows)?;
    let (oidc, rows) = oidc::read(&path, &nodes)?;
    chosen.rows.extend(rows);
    Ok(Settings { oidc, ..chosen.settings(leases, queues, sync)? })
}

/// Returns a table of the file's top level, or an empty one.
fn section<'a>(path: &'a Arc<Path>, nodes: &'a Nodes, name: &str) -> Result<Table<'a>, Failure> {
    static NONE: Nodes = Nodes::new();
    match nodes.get(name) {
        Some(node) => Table::from_node(path, name.to_owned(), node),
        None => Ok(Table { path, name: name.to_owned(), line: 1, nodes: &NONE }),
    }
}

/// Top-level tables that hold no single values.
const TABLES: &[&str] = &["leases", "oidc", "queues", "sync"];

/// Reads the single values of the file, by their dotted names. Refuses unknown keys.
fn single_values(path: &Arc<Path>, nodes: &Nodes) -> Result<BTreeMap<&'static str, (Value, Origin)>, Failure> {
    let whole = Table { path, name: String::new(), line: 1, nodes };
    let mut values = BTreeMap::new();
    for (name, node) in by_line(nodes).into_iter().filter(|(name, _)| !TABLES.contains(&name.as_str())) {
        if name.is_empty() || KEYS.iter().all(|key| key.table_and_name().0 != name) {
            values.extend([single_value(&whole, name, node)?]);
            continue;
        }
        let inner = Table::from_node(path, name.clone(), node)?;
        for (name, node) in by_line(inner.nodes) {
            values.extend([single_value(&inner, name, node)?]);
        }
    }
    Ok(values)
}

fn single_value(table: &Table<'_>, name: &str, node: &tree::Node) -> Result<(&'static str, (Value, Origin)), Failure> {
    let here = || KEYS.iter().filter(|key| key.table_and_name().0 == table.name);
    let Some(key) = here().find(|key| key.table_and_name().1 == name) else {
        let mut names: Vec<&str> = here().map(|key| key.table_and_name().1).collect();
        if table.name.is_empty() {
            names.extend(
                KEYS.iter()
                    .map(|key| key.table_and_name().0)
                    .filter(|table| !table.is_empty())
                    .chain(TABLES.iter().copied()),
            );
            names.dedup();
        }
        return Err(table.unknown(name, node.line, &names));
    };
    let origin = Origin::File { path: table.path.clone(), line: node.line };
    let value = key.shape.parse_node(node).map_err(|wrong| table::refusal(&origin, key.name, wrong))?;
    Ok((key.name, (value, origin)))
}

type QueuesAndSources = (BTreeMap<QueueName, QueueSettings>, Vec<SyncSource>);

/// Reads the queues and the sources, and gives each source its queue.
fn queues_and_sources(path: &Arc<Path>, nodes: &Nodes, rows: &mut Vec<Shown>) -> Result<QueuesAndSources, Failure> {
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
    rows.extend(queues.values().flat_map(|(settings, given)| queue::rows(settings, given)));
    rows.extend(of_sources);
    let queues = queues.into_iter().map(|(name, (settings, _))| (name, settings)).collect();
    Ok((queues, sources.into_iter().map(|(source, _)| source).collect()))
}

/// The single values in force.
#[derive(Default)]
struct Chosen {
    values: BTreeMap<&'static str, (Value, Origin)>,
    rows: Vec<Shown>,
}

impl Chosen {
    /// Keeps the value of the strongest layer. An empty variable counts as unset. `DATABASE_URL` comes after the file.
    fn choose(
        &mut self,
        key: &'static Key,
        flag: Option<&str>,
        env: impl Fn(&str) -> Option<String>,
        written: Option<&(Value, Origin)>,
    ) -> Result<(), Failure> {
        let read = |name: &str| env(name).filter(|text| !text.is_empty());
        let variable = read(key.variable);
        let common = if key.name == "database" { read(COMMON_VARIABLE) } else { None };
        let given = match (flag, &variable) {
            (Some(text), _) => Some((text, Origin::Flag(key.flag))),
            (None, Some(text)) => Some((text.as_str(), Origin::Environment(key.variable))),
            (None, None) => None,
        };
        let fallback = || match &common {
            Some(text) => Some((text.as_str(), Origin::Environment(COMMON_VARIABLE))),
            None => self.default_of(key).map(|text| (text, Origin::Default)),
        };
        let given = given.or_else(|| if written.is_some() { None } else { fallback() });
        let won = match given {
            Some((text, origin)) => {
                let value = key.shape.parse_text(text).map_err(|wrong| table::refusal(&origin, key.name, wrong))?;
                Some((value, origin))
            }
            None => written.cloned(),
        };
        let shown = won.as_ref().map(|(value, _)| value.render());
        let is_url = matches!(key.name, "database" | "database_direct");
        let shown = if is_url { shown.map(|url| text::mask_passwords(&url)) } else { shown };
        let origin = won.as_ref().map_or(Origin::Default, |(_, origin)| origin.clone());
        self.rows.push(Shown::new(key.name, shown, origin));
        if let Some(won) = won {
            self.values.insert(key.name, won);
        }
        Ok(())
    }

    /// Returns the default of a key. In production a stop gives load balancers time to notice it.
    fn default_of(&self, key: &Key) -> Option<&'static str> {
        match (key.name, self.environment()) {
            ("stop_drain_ms", Environment::Production) => Some("5000"),
            _ => key.default,
        }
    }

    /// Returns the environment. Its key comes before all keys whose default depends on it.
    fn environment(&self) -> Environment {
        match self.text("env").as_deref() {
            Some("production") => Environment::Production,
            _ => Environment::Development,
        }
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

    fn networks(&self, name: &str) -> Vec<Network> {
        self.texts(name).iter().filter_map(|text| Network::parse(text)).collect()
    }

    fn switch(&self, name: &str) -> bool {
        matches!(self.values.get(name), Some((Value::Switch(true), _)))
    }

    /// Returns a number that always has a value, because its key has a default.
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
        let part = |name, of| match self.values.contains_key(name) {
            true => count(name),
            false => CallerLimits::quarter(count(of)),
        };
        let settings = Settings {
            database: self.text("database").unwrap_or_default(),
            database_direct: self.text("database_direct"),
            database_plaintext: self.switch("database_plaintext"),
            listen: self.text("listen").unwrap_or_default(),
            environment: self.environment(),
            migrate: self.switch("migrate"),
            public_url: self.text("public_url"),
            behind_proxy: self.switch("behind_proxy"),
            trusted_proxies: self.networks("trusted_proxies"),
            cors_origins: self.texts("cors_origins"),
            metrics_listen: self.text("metrics_listen"),
            otlp_endpoint: self.text("otlp_endpoint"),
            keep_history: Span::from_secs(self.whole("keep_history_days").cast_signed().saturating_mul(86_400)),
            language: match self.text("language").as_deref() {
                Some("en") => Language::English,
                _ => Language::Spanish,
            },
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
                stop_drain: Duration::from_millis(self.whole("stop_drain_ms")),
                stop_grace: Duration::from_millis(self.whole("limits.stop_grace_ms")),
                answer_bytes: count("limits.answer_bytes"),
                payload_bytes: count("limits.payload_bytes"),
                per_caller: CallerLimits {
                    streams: count("limits.streams_per_caller"),
                    waiting: count("limits.waiting_per_caller"),
                    requests: part("limits.requests_per_caller", "limits.requests"),
                    leases: count("limits.leases_per_caller"),
                    connections: part("limits.connections_per_source", "limits.connections"),
                },
            },
            push: PushGuard { allow_private: self.switch("push.allow_private"), allow: self.networks("push.allow") },
            oidc: None,
            leases,
            queues,
            sync,
            rows: self.rows.clone(),
        };
        self.check_together(&settings)?;
        Ok(settings)
    }

    /// Refuses values that are valid alone and conflict with each other.
    fn check_together(&self, settings: &Settings) -> Result<(), Failure> {
        let taken = settings.metrics_listen.as_ref() == Some(&settings.listen) && !settings.listen.ends_with(":0");
        match self.values.get("metrics_listen") {
            Some((_, origin)) if taken => {
                Err(table::refusal(origin, "metrics_listen", Message::new("setting-metrics-address")))
            }
            _ => Ok(()),
        }
    }
}

impl Settings {
    /// Returns whether no layer sets this key.
    pub(crate) fn is_default(&self, key: &str) -> bool {
        self.rows.iter().any(|row| row.key == key && row.origin == Origin::Default)
    }

    /// Returns every key with its value and origin. Secrets are masked.
    pub(crate) fn explain(&self) -> &[Shown] {
        &self.rows
    }
}
