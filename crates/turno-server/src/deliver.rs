//! Delivering over HTTP: queues with `push`, and sources with `deliver`.
//!
//! Every server runs one pusher per delivered queue. A key is never called twice at once, because each call needs a
//! claim. The supervisor here starts and stops pushers: it compares them with the stored queues every second, and
//! whenever it is woken. Endpoints from the configuration file are trusted and kept in memory. Endpoints set over the
//! API are stored with their queue and checked by `guard`.

mod body;
mod call;
mod figures;
mod guard;
mod pusher;
mod signature;

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;
use turno::core::destination::Destination;
use turno::core::id::{QueueId, QueueName};
use turno::core::queue::Policy;
use turno::store::{Push, QueueRow};
use turno::sync::SyncHandle;
use turno::{Error, Turno};

pub(crate) use guard::Guard;

use crate::config::endpoint::{Endpoint, EndpointFields, SECRET_PREFIX};
use crate::config::queue::{BadField, QueueSettings};
use crate::config::sync::SyncSource;
use crate::config::{Environment, PushGuard};
use crate::failure::Failure;
use crate::texts::message::Message;
use call::EndpointClient;
use figures::Figures;
use pusher::{Pusher, Shared, Target};
use signature::Secret;

/// How often the supervisor looks for changes if it is not woken.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);
/// The part (one tenth) of the stop's grace period that is kept for returning unfinished deliveries.
const GRACE_KEPT: u32 = 10;

/// The endpoints of queues, and the rules for endpoints that are set over the API.
#[derive(Debug)]
pub(crate) struct Deliveries {
    guard: Arc<Guard>,
    /// The endpoints of the configuration file.
    fixed: BTreeMap<QueueName, Target>,
    /// Wakes the supervisor.
    changed: Notify,
    /// Queues of sources whose destination is not called, with the reason: the preset's signing secret is missing.
    unsigned: BTreeMap<QueueName, Message>,
    /// Queues that cannot be pushed, with the version that a warning was logged for.
    warned: Mutex<BTreeMap<QueueId, i64>>,
}

impl Deliveries {
    /// Starts without endpoints, for a server without a configuration file.
    pub(crate) fn new(environment: Environment) -> Deliveries {
        let guard = Arc::new(Guard::new(&PushGuard::default(), environment));
        let (fixed, unsigned) = (BTreeMap::new(), BTreeMap::new());
        Deliveries { guard, fixed, unsigned, changed: Notify::new(), warned: Mutex::default() }
    }

    /// Takes the endpoints of the configuration file. Fails if a signing secret is missing.
    pub(crate) fn from_settings(
        guard: Guard,
        queues: &BTreeMap<QueueName, QueueSettings>,
        sources: &[SyncSource],
        env: impl Fn(&str) -> Option<String>,
        turno: &Turno,
    ) -> Result<Deliveries, Failure> {
        let target = |endpoint: &Endpoint, source: Option<SyncHandle>| {
            let secret = endpoint.secret(&env)?.as_deref().map(Secret::new);
            Ok::<_, Failure>(Target { endpoint: endpoint.clone(), secret, guarded: false, source })
        };
        let (mut fixed, mut unsigned) = (BTreeMap::new(), BTreeMap::new());
        for (name, settings) in queues {
            if let Some(endpoint) = &settings.push {
                fixed.insert(name.clone(), target(endpoint, None)?);
            }
        }
        for source in sources {
            if let Some(endpoint) = &source.deliver {
                // A source that uses the preset unchanged gets its triggers and queue. The preset's destination is only
                // called once its secret is set, and never unsigned.
                if let (true, Err(missing)) = (source.deliver_is_presets, endpoint.secret(&env)) {
                    let missing = missing.into_message();
                    let why = format!("{}; {}", missing.english(), missing.next().english());
                    tracing::warn!(target: "turno::deliver", source = source.name.as_str(), "the preset's destination is not used: {why}");
                    unsigned.insert(source.queue.clone(), missing);
                    continue;
                }
                let changes = turno.sync(source.source.clone());
                fixed.insert(source.queue.clone(), target(endpoint, Some(changes))?);
            }
        }
        Ok(Deliveries { guard: Arc::new(guard), fixed, unsigned, changed: Notify::new(), warned: Mutex::default() })
    }

    /// Checks an endpoint that is set over the API. Returns the form in which it is stored.
    pub(crate) fn admit(&self, fields: &EndpointFields, policy: &Policy) -> Result<Push, BadField> {
        let endpoint = fields.push(policy)?;
        let url = reqwest::Url::parse(&endpoint.url.replace("{key}", "k"));
        if !url.is_ok_and(|url| self.guard.allows_url(&url)) {
            return Err(BadField::new("push.url", Message::new("setting-push-private")));
        }
        if let Some(variable) = &fields.secret_env {
            if !variable.starts_with(SECRET_PREFIX) {
                let wrong = Message::new("setting-push-secret-name").text("prefix", SECRET_PREFIX);
                return Err(BadField::new("push.secret_env", wrong));
            }
            if secret_of(&endpoint).is_err() {
                let wrong = Message::new("setting-push-secret-unset").text("prefix", SECRET_PREFIX);
                return Err(BadField::new("push.secret_env", wrong));
            }
        }
        let text = serde_json::to_string(fields).expect("the fields are strings and numbers, which serialize");
        Ok(Push { text: text.into(), display: endpoint.display().into() })
    }

    /// Returns the endpoint of a queue: the one of the configuration file, otherwise the stored one.
    pub(crate) fn endpoint(&self, row: &QueueRow) -> Option<Endpoint> {
        self.fixed.get(&row.name).map(|target| target.endpoint.clone()).or_else(|| stored_endpoint(row)?.ok())
    }

    /// Returns whether this server delivers the changes of the queue's source. Then workers may not claim them.
    pub(crate) fn has_changes_of(&self, queue: &QueueName) -> bool {
        self.fixed.get(queue).is_some_and(|target| target.source.is_some())
    }

    /// Returns why the destination of this queue's source is not called. `None` if it is called.
    pub(crate) fn unsigned(&self, queue: &QueueName) -> Option<&Message> {
        self.unsigned.get(queue)
    }

    /// Wakes the supervisor after a queue has changed.
    pub(crate) fn wake(&self) {
        self.changed.notify_one();
    }

    /// Runs the supervisor until the server stops. Then running calls may finish within the grace period.
    pub(crate) async fn run(
        &self,
        turno: Turno,
        stop_grace: Duration,
        mut stopping: watch::Receiver<bool>,
    ) -> Result<(), Failure> {
        let grace = stop_grace - stop_grace / GRACE_KEPT;
        let shared = Shared {
            caller: EndpointClient::new(self.guard.clone())?,
            figures: Arc::new(Figures::default()),
            instance: instance().into(),
            grace,
            turno,
        };
        let mut pushers = Pushers { shared, running: BTreeMap::new(), leaving: JoinSet::new() };
        while !*stopping.borrow() {
            if let Err(error) = self.reconcile(&mut pushers).await {
                tracing::warn!(%error, "which queues are pushed is looked at again later");
            }
            tokio::select! {
                () = self.changed.notified() => {}
                () = tokio::time::sleep(LOOK_INTERVAL) => {}
                _ = stopping.changed() => {}
            }
        }
        pushers.stop().await;
        Ok(())
    }

    /// Starts, replaces and stops pushers, and passes on the destination states that other processes stored.
    async fn reconcile(&self, pushers: &mut Pushers) -> Result<(), Error> {
        let rows = pushers.shared.turno.queues().await?;
        let mut wanted: BTreeMap<QueueId, (QueueName, Target)> = BTreeMap::new();
        for row in rows {
            if let Some(target) = self.target(&row) {
                wanted.insert(row.id, (row.name, target));
            }
        }
        pushers.keep_only(&wanted);
        if wanted.is_empty() {
            return Ok(());
        }
        let mut failing: BTreeMap<QueueId, Destination> =
            pushers.shared.turno.destinations().await?.into_iter().collect();
        for (id, (name, target)) in wanted {
            pushers.serve(id, name, target, failing.remove(&id)).await?;
        }
        Ok(())
    }

    fn target(&self, row: &QueueRow) -> Option<Target> {
        if let Some(target) = self.fixed.get(&row.name) {
            return Some(target.clone());
        }
        let target = stored_endpoint(row)?.and_then(|endpoint| {
            let secret = secret_of(&endpoint)?;
            Ok(Target { endpoint, secret, guarded: true, source: None })
        });
        // A receiver that expects signed calls must not get unsigned ones, so nothing is sent.
        target.inspect_err(|cause| self.warn_once(row, cause)).ok()
    }

    /// Logs a warning once per version of the queue, because the queue is looked at every second.
    fn warn_once(&self, row: &QueueRow, cause: &str) {
        let before = self.warned.lock().unwrap_or_else(PoisonError::into_inner).insert(row.id, row.version);
        if before != Some(row.version) {
            tracing::warn!(queue = %row.name, cause, "this server does not push the queue");
        }
    }
}

/// Returns the endpoint that was set over the API.
fn stored_endpoint(row: &QueueRow) -> Option<Result<Endpoint, String>> {
    let text = row.push.as_deref()?;
    let fields = serde_json::from_str::<EndpointFields>(text).map_err(|error| error.to_string());
    Some(fields.and_then(|fields| fields.push(&row.policy).map_err(|bad| bad.message().english())))
}

/// Returns the secret of an endpoint that was set over the API. Only variables with the prefix may be used.
fn secret_of(endpoint: &Endpoint) -> Result<Option<Secret>, String> {
    let env = |name: &str| std::env::var(name).ok().filter(|_| name.starts_with(SECRET_PREFIX));
    Ok(endpoint.secret(env).map_err(|failure| failure.into_message().english())?.as_deref().map(Secret::new))
}

/// Returns the name of this process in the history of items.
fn instance() -> String {
    let mut random = [0; 4];
    // Without randomness, two processes may share a name in the history. Nothing else depends on it.
    let _ = getrandom::fill(&mut random);
    format!("push-{}-{:08x}", std::process::id(), u32::from_be_bytes(random))
}

/// The pushers of this process.
struct Pushers {
    shared: Shared,
    running: BTreeMap<QueueId, Pusher>,
    /// Stopped pushers whose calls may still finish.
    leaving: JoinSet<()>,
}

impl Pushers {
    fn keep_only(&mut self, wanted: &BTreeMap<QueueId, (QueueName, Target)>) {
        let matches = |id: &QueueId, pusher: &Pusher| wanted.get(id).is_some_and(|(_, target)| pusher.serves(target));
        let gone: Vec<QueueId> =
            self.running.iter().filter(|(id, pusher)| !matches(id, pusher)).map(|(id, _)| *id).collect();
        for id in gone {
            if let Some(pusher) = self.running.remove(&id) {
                self.leaving.spawn(pusher.stop());
            }
        }
        while self.leaving.try_join_next().is_some() {}
    }

    async fn serve(
        &mut self,
        id: QueueId,
        name: QueueName,
        target: Target,
        destination: Option<Destination>,
    ) -> Result<(), Error> {
        match self.running.entry(id) {
            Entry::Occupied(pusher) => pusher.get().update(destination).await,
            Entry::Vacant(free) => {
                let queue = self.shared.turno.queue(name).await?;
                free.insert(Pusher::start(&self.shared, &queue, target).await?);
            }
        }
        Ok(())
    }

    async fn stop(mut self) {
        for (_, pusher) in std::mem::take(&mut self.running) {
            self.leaving.spawn(pusher.stop());
        }
        while self.leaving.join_next().await.is_some() {}
    }
}
