//! The state that all handlers share.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use tokio::sync::watch;
use turno::Turno;
use turno::core::id::{QueueName, UserId};

use super::answers::Answers;
use super::body::Bodies;
use super::callers::Callers;
use super::idempotency::Repeats;
use super::metrics::Counting;
use super::proxies::Proxies;
use super::report::Reports;
use super::room::{RoomLimits, Rooms};
use super::sign_in::{Failures, Pace};
use crate::config::origin::Shown;
use crate::config::sync::SyncSource;
use crate::config::{Environment, Limits};
use crate::console::{Directory, Glance, Trend};
use crate::database::Database;
use crate::deliver::Deliveries;
use crate::oidc::Provider;
use crate::passwords::Passwords;
use crate::stopwatch::Stopwatch;
use crate::texts::{Language, Texts};

/// The state that all handlers share.
#[derive(Debug)]
pub(crate) struct App {
    pub(crate) database: Database,
    pub(crate) environment: Environment,
    pub(crate) texts: Texts,
    /// The language of answers to requests without `Accept-Language`.
    pub(crate) language: Language,
    pub(crate) uptime: Stopwatch,
    pub(crate) limits: Limits,
    pub(crate) rooms: Rooms,
    /// What each caller has under way.
    pub(crate) callers: Callers,
    /// Memory budgets for request bodies.
    pub(crate) bodies: Bodies,
    /// The memory of large answers.
    pub(super) answers: Answers,
    pub(crate) passwords: Passwords,
    /// The OpenID provider that signs people in, if one is configured.
    pub(crate) oidc: Option<Provider>,
    /// Limits for sign-in attempts.
    pub(crate) pace: Pace,
    /// Failed sign-ins that are not in the audit yet.
    pub(crate) failures: Failures,
    /// Origins whose pages may call the API from a browser. Empty unless configured.
    pub(crate) cors_origins: Vec<String>,
    /// A proxy in front of the server terminates HTTPS.
    pub(crate) behind_proxy: bool,
    /// The proxies whose headers name the client's address.
    pub(crate) proxies: Proxies,
    /// Browsers reach the server by HTTPS.
    pub(crate) https: bool,
    /// Calls with an `Idempotency-Key` that are in process.
    pub(crate) repeats: Repeats,
    /// The server was asked to stop and still serves, so that load balancers can notice it.
    draining: AtomicBool,
    /// Becomes true when the server begins to stop.
    pub(crate) stopping: watch::Receiver<bool>,
    /// Metrics and log lines about requests.
    pub(crate) reports: Reports,
    /// When the queues were last counted for the metrics.
    pub(crate) counting: Counting,
    /// The queues of the configuration file. The API cannot change their policies.
    pub(crate) managed_queues: BTreeSet<QueueName>,
    /// The endpoints that deliveries are sent to.
    pub(crate) deliveries: Deliveries,
    /// The sources of the configuration file.
    pub(crate) sync_sources: Vec<SyncSource>,
    /// The sources with a running resync of all keys.
    pub(crate) resyncs: Mutex<BTreeSet<String>>,
    /// The settings in force and the origin of each. Secrets are masked.
    pub(crate) settings: Vec<Shown>,
    /// Data of the console's charts.
    pub(crate) trend: Trend,
    /// The console's cached overview of all queues.
    pub(crate) glance: Glance,
    /// Display names of people, for the console.
    pub(crate) directory: Directory,
    /// Reusable sign-in links, for the demo only: secret → user. A normal server has none, and its links work once.
    pub(crate) open_doors: BTreeMap<String, UserId>,
}

/// The state as handlers receive it.
pub(crate) type Shared = Arc<App>;

impl App {
    pub(crate) fn new(
        database: Database,
        environment: Environment,
        limits: Limits,
        stopping: watch::Receiver<bool>,
    ) -> App {
        App {
            database,
            environment,
            texts: Texts::load(),
            language: Language::Spanish,
            uptime: Stopwatch::start(),
            limits,
            rooms: Rooms::new(RoomLimits::from_limits(limits)),
            callers: Callers::new(limits.per_caller),
            bodies: Bodies::default(),
            answers: Answers::default(),
            passwords: Passwords::new(),
            oidc: None,
            pace: Pace::default(),
            failures: Failures::default(),
            cors_origins: Vec::new(),
            behind_proxy: false,
            proxies: Proxies::default(),
            https: false,
            repeats: Repeats::default(),
            draining: AtomicBool::new(false),
            stopping,
            reports: Reports::default(),
            counting: Counting::default(),
            managed_queues: BTreeSet::new(),
            deliveries: Deliveries::new(environment),
            sync_sources: Vec::new(),
            resyncs: Mutex::default(),
            settings: Vec::new(),
            trend: Trend::default(),
            glance: Glance::default(),
            directory: Directory::default(),
            open_doors: BTreeMap::new(),
        }
    }

    /// Returns the library handle of the server itself, which may do everything. Handlers use the caller's handle
    /// instead.
    pub(crate) fn trusted(&self) -> &Turno {
        &self.database.turno
    }

    /// Makes `/readyz` fail from now on.
    pub(super) fn drain(&self) {
        self.draining.store(true, Ordering::Relaxed);
    }

    /// Returns whether load balancers should send no more requests.
    pub(super) fn is_draining(&self) -> bool {
        self.draining.load(Ordering::Relaxed) || self.is_stopping()
    }

    pub(crate) fn is_stopping(&self) -> bool {
        *self.stopping.borrow()
    }

    /// Waits until the server begins to stop.
    pub(crate) async fn stopped(&self) {
        // A closed channel means that the server is gone.
        let _ = self.stopping.clone().wait_for(|stopping| *stopping).await;
    }
}
