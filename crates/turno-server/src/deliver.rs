//! Turno calls HTTP endpoints: those of queues with `push`, and those of sources with `deliver`.
//!
//! Every server has a pusher per queue; together they never call twice at once for one key, because each call stands
//! on a claim. The supervisor here looks once a second, and whenever it is told to, which queues are pushed where.
//! Endpoints of the file are trusted and stay in memory; those set over the API are kept with their queue and guarded.

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
use turno::core::time::Span;
use turno::store::{Push, QueueRow};
use turno::{Error, Turno};

pub(crate) use body::filled;
pub(crate) use guard::Guard;

use crate::config::endpoint::{Endpoint, EndpointFields, SECRET_PREFIX};
use crate::config::field::Wrong;
use crate::config::queue::{BadField, QueueSettings};
use crate::config::sync::SyncSource;
use crate::config::{Environment, PushGuard};
use crate::failure::Failure;
use body::Form;
use call::Caller;
use figures::Figures;
pub(crate) use pusher::READ_AGAIN;
use pusher::{Pusher, Shared, Target};
use signature::Secret;

/// How often the supervisor looks, should it hear nothing.
const LOOK: Duration = Duration::from_secs(1);
/// Of the time that a stop may take, this part is for giving back what was not done.
const GRACE_KEPT: u32 = 10;

/// What is sent where, and what may be.
#[derive(Debug)]
pub(crate) struct Deliveries {
    guard: Arc<Guard>,
    /// The endpoints of the file.
    fixed: BTreeMap<QueueName, Target>,
    /// Something may have changed.
    changed: Notify,
    /// Queues of sources whose destination is not called, with the reason: the preset's secret is missing.
    unsigned: BTreeMap<QueueName, String>,
    /// Queues that cannot be pushed, by the version that was complained about.
    silent: Mutex<BTreeMap<QueueId, i64>>,
}

impl Deliveries {
    /// Without a file.
    pub(crate) fn new(environment: Environment) -> Deliveries {
        let guard = Arc::new(Guard::new(&PushGuard::default(), environment));
        let (fixed, unsigned) = (BTreeMap::new(), BTreeMap::new());
        Deliveries { guard, fixed, unsigned, changed: Notify::new(), silent: Mutex::default() }
    }

    /// As the file says. A secret that is to sign and is not there is refused.
    pub(crate) fn of(
        guard: Guard,
        queues: &BTreeMap<QueueName, QueueSettings>,
        sources: &[SyncSource],
        env: impl Fn(&str) -> Option<String>,
        turno: &Turno,
    ) -> Result<Deliveries, Failure> {
        let target = |endpoint: &Endpoint, form: Form| {
            let secret = endpoint.secret(&env)?.as_deref().map(Secret::new);
            Ok::<_, Failure>(Target { endpoint: endpoint.clone(), secret, guarded: false, form })
        };
        let (mut fixed, mut unsigned) = (BTreeMap::new(), BTreeMap::new());
        for (name, settings) in queues {
            if let Some(endpoint) = &settings.push {
                fixed.insert(name.clone(), target(endpoint, Form::Delivery)?);
            }
        }
        for source in sources {
            if let Some(endpoint) = &source.deliver {
                // Whoever takes the preset as it is gets triggers and queue; its example of a destination is used once
                // its secret is there, and never unsigned.
                if let (true, Err(missing)) = (source.deliver_is_presets, endpoint.secret(&env)) {
                    let why = format!("{}; {}", missing.cause, missing.next);
                    tracing::warn!(target: "turno::deliver", source = source.name.as_str(), "the preset's destination is not used: {why}");
                    unsigned.insert(source.queue.clone(), why);
                    continue;
                }
                let form = Form::Change(turno.sync(source.source.clone()));
                fixed.insert(source.queue.clone(), target(endpoint, form)?);
            }
        }
        Ok(Deliveries { guard: Arc::new(guard), fixed, unsigned, changed: Notify::new(), silent: Mutex::default() })
    }

    /// Whether an endpoint may be set over the API; answers what is kept.
    pub(crate) fn admit(&self, fields: &EndpointFields, policy: &Policy) -> Result<Push, BadField> {
        let endpoint = fields.push(policy)?;
        let url = reqwest::Url::parse(&endpoint.url.replace("{key}", "k"));
        if !url.is_ok_and(|url| self.guard.allows_url(&url)) {
            let wrong = Wrong::new(
                "leads to a private address",
                "let the configuration file set it, or allow its network there with push.allow",
            );
            return Err(BadField::new("push.url", wrong));
        }
        if let Some(variable) = &fields.secret_env {
            let next = format!("set a variable of the server whose name begins with {SECRET_PREFIX}, and name that");
            if !variable.starts_with(SECRET_PREFIX) {
                let cause = format!("must begin with {SECRET_PREFIX}");
                return Err(BadField::new("push.secret_env", Wrong::new(cause, next)));
            }
            if secret_of(&endpoint).is_err() {
                return Err(BadField::new("push.secret_env", Wrong::new("is not set in this server", next)));
            }
        }
        let text = serde_json::to_string(fields).expect("texts and numbers can be written as JSON");
        Ok(Push { text: text.into(), shown: endpoint.shown().into() })
    }

    /// Where the deliveries of a queue go: as the file says, or else as it was set.
    pub(crate) fn endpoint(&self, row: &QueueRow) -> Option<Endpoint> {
        self.fixed.get(&row.name).map(|target| target.endpoint.clone()).or_else(|| kept(row)?.ok())
    }

    /// Whether changes of this queue's source are sent to its destination from here: then nobody else takes them.
    pub(crate) fn has_changes_of(&self, queue: &QueueName) -> bool {
        self.fixed.get(queue).is_some_and(|target| matches!(target.form, Form::Change(_)))
    }

    /// Returns why the destination of this queue's source is not called, if it is not.
    pub(crate) fn unsigned(&self, queue: &QueueName) -> Option<&str> {
        self.unsigned.get(queue).map(String::as_str)
    }

    /// A queue was set: whoever pushes looks at once.
    pub(crate) fn look(&self) {
        self.changed.notify_one();
    }

    /// Pushes until told to stop, and then lets calls finish within the grace.
    pub(crate) async fn run(
        &self,
        turno: Turno,
        stop_grace: Duration,
        mut stopping: watch::Receiver<bool>,
    ) -> Result<(), Failure> {
        let grace = stop_grace - stop_grace / GRACE_KEPT;
        let shared = Shared {
            caller: Caller::new(self.guard.clone())?,
            figures: Arc::new(Figures::default()),
            instance: instance().into(),
            grace: Span(i64::try_from(grace.as_millis()).unwrap_or(i64::MAX)),
            turno,
        };
        let mut pushers = Pushers { shared, running: BTreeMap::new(), leaving: JoinSet::new() };
        while !*stopping.borrow() {
            if let Err(error) = self.visit(&mut pushers).await {
                tracing::warn!(%error, "which queues are pushed is looked at again later");
            }
            tokio::select! {
                () = self.changed.notified() => {}
                () = tokio::time::sleep(LOOK) => {}
                _ = stopping.changed() => {}
            }
        }
        pushers.stop().await;
        Ok(())
    }

    /// Starts, replaces and stops pushers, and tells them what other processes have found out.
    async fn visit(&self, pushers: &mut Pushers) -> Result<(), Error> {
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
        let mut ill: BTreeMap<QueueId, Destination> = pushers.shared.turno.destinations().await?.into_iter().collect();
        for (id, (name, target)) in wanted {
            pushers.serve(id, name, target, ill.remove(&id)).await?;
        }
        Ok(())
    }

    fn target(&self, row: &QueueRow) -> Option<Target> {
        if let Some(target) = self.fixed.get(&row.name) {
            return Some(target.clone());
        }
        let target = kept(row)?.and_then(|endpoint| {
            let secret = secret_of(&endpoint)?;
            Ok(Target { endpoint, secret, guarded: true, form: Form::Delivery })
        });
        // Unsigned calls where signed ones are expected would be worse than none.
        target.inspect_err(|cause| self.complain(row, cause)).ok()
    }

    /// Once per version of the queue: it is looked at every second.
    fn complain(&self, row: &QueueRow, cause: &str) {
        let before = self.silent.lock().unwrap_or_else(PoisonError::into_inner).insert(row.id, row.version);
        if before != Some(row.version) {
            tracing::warn!(queue = %row.name, cause, "this server does not push the queue");
        }
    }
}

/// The endpoint that was set over the API, if one was.
fn kept(row: &QueueRow) -> Option<Result<Endpoint, String>> {
    let text = row.push.as_deref()?;
    let fields = serde_json::from_str::<EndpointFields>(text).map_err(|error| error.to_string());
    Some(fields.and_then(|fields| fields.push(&row.policy).map_err(|bad| bad.to_string())))
}

/// The secret of an endpoint that was set over the API, from the variables that may be named there.
fn secret_of(endpoint: &Endpoint) -> Result<Option<Secret>, String> {
    let env = |name: &str| std::env::var(name).ok().filter(|_| name.starts_with(SECRET_PREFIX));
    Ok(endpoint.secret(env).map_err(|failure| failure.cause)?.as_deref().map(Secret::new))
}

/// A name for this process in the history of items.
fn instance() -> String {
    let mut random = [0; 4];
    // Without randomness two processes may have the same name in a history, and nothing else.
    let _ = getrandom::fill(&mut random);
    format!("push-{}-{:08x}", std::process::id(), u32::from_be_bytes(random))
}

/// The pushers of this process.
struct Pushers {
    shared: Shared,
    running: BTreeMap<QueueId, Pusher>,
    /// Their calls may finish.
    leaving: JoinSet<()>,
}

impl Pushers {
    fn keep_only(&mut self, wanted: &BTreeMap<QueueId, (QueueName, Target)>) {
        let like = |id: &QueueId, pusher: &Pusher| wanted.get(id).is_some_and(|(_, target)| pusher.serves(target));
        let gone: Vec<QueueId> =
            self.running.iter().filter(|(id, pusher)| !like(id, pusher)).map(|(id, _)| *id).collect();
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
            Entry::Occupied(pusher) => pusher.get().hear(destination).await,
            Entry::Vacant(free) => {
                let queue = self.shared.turno.queue(name).await?;
                free.insert(Pusher::start(self.shared.clone(), queue, target).await?);
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
