//! What the handlers know.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use tokio::sync::watch;
use turno::Turno;
use turno::core::id::{QueueName, UserId};

use super::body::Bodies;
use super::idempotency::Repeats;
use super::metrics::Counting;
use super::report::Reports;
use super::room::{RoomLimits, Rooms};
use super::sign_in::Pace;
use crate::config::origin::Shown;
use crate::config::sync::SyncSource;
use crate::config::{Environment, Limits};
use crate::console::{Directory, Glance, Trend};
use crate::database::Database;
use crate::deliver::Deliveries;
use crate::passwords::Passwords;
use crate::texts::Texts;
use crate::uptime::Uptime;

/// Shared by all handlers.
#[derive(Debug)]
pub(crate) struct App {
    pub(crate) database: Database,
    pub(crate) environment: Environment,
    pub(crate) texts: Texts,
    pub(crate) uptime: Uptime,
    pub(crate) limits: Limits,
    pub(crate) rooms: Rooms,
    /// Memory for bodies that are under way or being answered.
    pub(crate) bodies: Bodies,
    pub(crate) passwords: Passwords,
    /// How often somebody may try to get in.
    pub(crate) pace: Pace,
    /// Pages of these origins may call the API from a browser; none unless the configuration says so.
    pub(crate) cors_origins: Vec<String>,
    /// Calls with an Idempotency-Key that are under way.
    pub(crate) repeats: Repeats,
    /// Becomes true when the server was told to stop.
    pub(crate) stopping: watch::Receiver<bool>,
    /// What is told about requests.
    pub(crate) reports: Reports,
    /// When the queues were counted for the figures.
    pub(crate) counting: Counting,
    /// The queues of the configuration file: their policies are changed there and nowhere else.
    pub(crate) managed_queues: BTreeSet<QueueName>,
    /// What is sent to endpoints.
    pub(crate) deliveries: Deliveries,
    /// The sources of the configuration file.
    pub(crate) sync_sources: Vec<SyncSource>,
    /// Sources of which every key is being sent again.
    pub(crate) resyncs: Mutex<BTreeSet<String>>,
    /// The settings in force and where each comes from; secrets are masked.
    pub(crate) settings: Vec<Shown>,
    /// What the console's charts show.
    pub(crate) trend: Trend,
    /// What the console last saw of all queues.
    pub(crate) glance: Glance,
    /// What people are called on its pages.
    pub(crate) directory: Directory,
    /// Links that let somebody in as often as they are opened, and whom: a demo's, whose people nobody else is. A server
    /// has none, and its links are good once.
    pub(crate) open_doors: BTreeMap<String, UserId>,
}

/// The way handlers get it.
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
            uptime: Uptime::start(),
            limits,
            rooms: Rooms::new(RoomLimits::of(limits)),
            bodies: Bodies::default(),
            passwords: Passwords::new(),
            pace: Pace::new(),
            cors_origins: Vec::new(),
            repeats: Repeats::default(),
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

    /// The engine as the program itself uses it: everything is allowed. Handlers take the caller's handle instead.
    pub(crate) fn trusted(&self) -> &Turno {
        &self.database.turno
    }

    pub(crate) fn is_stopping(&self) -> bool {
        *self.stopping.borrow()
    }

    /// Returns once the server was told to stop.
    pub(crate) async fn stopped(&self) {
        // Without a sender the server is gone altogether.
        let _ = self.stopping.clone().wait_for(|stopping| *stopping).await;
    }
}
