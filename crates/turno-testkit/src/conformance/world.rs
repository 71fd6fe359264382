//! A fresh database with an engine on it, and short helpers for the actions of people and workers.

use crate::postgres::Cluster;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use turno::clock::{Clock, Manual};
use turno::core::id::{Fence, ItemId, Key, QueueName, Resource, UserId};
use turno::core::lease::{Action, Command, Holder, Outcome, Policy as LeasePolicy, Refused};
use turno::core::queue::{Accepted, Act, DeliveryRef, Kind, Policy, SettleOutcome};
use turno::core::time::{Span, Time};
use turno::lease::LeaseAnswer;
use turno::queue::{Claim, Delivery, Draft, QueueHandle, Settled, Settlement};
use turno::store::Effect;
use turno::{Options, Turno};

/// The time at which every world begins. It is not a round number, so that a truncated time fails a test.
pub const START: Time = Time(1_763_190_123_456);

/// A kind of database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    /// SQLite: embedded, one file.
    Sqlite,
    /// PostgreSQL: a database on the test run's private server.
    Postgres,
}

/// A fresh database, an engine on it and a manual clock.
pub struct World {
    /// The engine.
    pub turno: Turno,
    /// The clock of every instance.
    pub time: Arc<Manual>,
    url: String,
    backend: Backend,
    /// Declared after the engine, so that the engine closes its files before they are removed.
    _directory: Option<Directory>,
}

/// A directory that is removed on drop.
pub(super) struct Directory(PathBuf);

impl Drop for Directory {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

/// Creates an empty database of this kind. Returns its URL and, on SQLite, its directory.
pub(super) async fn fresh_url(backend: Backend) -> (String, Option<Directory>) {
    match backend {
        Backend::Sqlite => {
            let directory = fresh_directory();
            (format!("sqlite:{}", directory.join("turno.db").display()), Some(Directory(directory)))
        }
        Backend::Postgres => (Cluster::for_tests().fresh_database().await, None),
    }
}

impl World {
    /// Creates a fresh world on this kind of database.
    pub async fn on(backend: Backend) -> World {
        let (url, directory) = fresh_url(backend).await;
        let time = Manual::starting_at(START);
        let turno = open(&url, &time).await;
        World { turno, time, url, backend, _directory: directory }
    }

    /// Opens another instance on the same database, with its own guarded clock.
    pub async fn instance(&self) -> Turno {
        open(&self.url, &self.time).await
    }

    /// Opens another instance on the same database that also announces expiries.
    pub async fn announcing(&self) -> Turno {
        let clock = Arc::new(Clock::manual(self.time.clone()));
        let options = Options { clock, ..Options::default() };
        Turno::open_with(&self.url, options).await.expect("the database opens")
    }

    /// Returns the options of an instance, for cases that change some.
    pub fn options(&self) -> Options {
        Options { clock: Arc::new(Clock::manual(self.time.clone())), sweep: false, ..Options::default() }
    }

    /// Opens another instance that applies task lines with this effect.
    pub async fn instance_with(&self, effect: Arc<dyn Effect>) -> Turno {
        let clock = Arc::new(Clock::manual(self.time.clone()));
        let options = Options { clock, sweep: false, effect: Some(effect), ..Options::default() };
        Turno::open_with(&self.url, options).await.expect("the database opens")
    }

    /// Opens the database again and closes the old engine, as after a restart.
    pub async fn reopen(&mut self) {
        self.turno = self.instance().await;
    }

    /// Returns the kind of database, for cases that need a second, empty one.
    pub fn backend(&self) -> Backend {
        self.backend
    }

    /// Returns the URL of the database.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Moves the clock forward.
    pub fn advance(&self, ms: i64) {
        self.time.advance(Span(ms));
    }

    /// Runs a lease command under the default policy.
    pub async fn lease(&self, who: &str, action: Action) -> LeaseAnswer {
        lease(&self.turno, who, action).await
    }

    /// Claims the resource that all lease cases use.
    pub async fn claim(&self, who: &str) -> Result<Fence, Refused> {
        claim(&self.turno, who).await
    }

    /// Creates a queue with this policy.
    pub async fn queue(&self, policy: Policy) -> QueueHandle {
        self.turno.put_queue(queue_name(), policy).await.expect("the policy is good")
    }
}

/// The queue that most cases use.
pub(super) fn queue_name() -> QueueName {
    QueueName::new("mensajes").expect("valid")
}

/// The resource that most cases use.
pub fn resource() -> Resource {
    Resource::new("expediente:7 / año").expect("valid")
}

/// Returns a holder whose display name differs from the user id.
pub fn holder(who: &str) -> Holder {
    Holder { user: UserId::new(who).expect("valid"), name: format!("«{who}»"), instance: None }
}

/// Returns a lease command on [`resource`] under the default policy.
pub(super) fn command(who: &str, action: Action) -> Command {
    Command { resource: resource(), who: holder(who), via: None, policy: LeasePolicy::default(), action }
}

/// Runs a lease command.
pub(super) async fn lease(turno: &Turno, who: &str, action: Action) -> LeaseAnswer {
    turno.lease_command(command(who, action)).await.expect("the store answers")
}

/// Claims [`resource`].
pub(super) async fn claim(turno: &Turno, who: &str) -> Result<Fence, Refused> {
    let answer = lease(turno, who, Action::Claim { ttl: None, wait: false }).await;
    answer.answer.map(|outcome| {
        assert!(matches!(outcome, Outcome::Claimed { .. }));
        answer.state.grant.expect("a successful claim returns a grant").fence
    })
}

/// Returns an item whose payload contains its id and key.
pub(super) fn draft(key: &str, id: &str) -> Draft {
    let payload = format!("{{\"de\":\"{key}\",\"texto\":\"{id} ñ \\u0000\"}}");
    let id = Some(ItemId::new(id).expect("valid"));
    Draft { id, key: Some(Key::new(key).expect("valid")), action: None, payload: payload.into(), delay: Span::ZERO }
}

/// Enqueues items under a key.
pub(super) async fn put(queue: &QueueHandle, key: &str, ids: &[&str]) -> Vec<Accepted> {
    let drafts = ids.iter().map(|id| draft(key, id)).collect();
    queue.enqueue(drafts).await.expect("accepted").into_iter().map(|(_, accepted)| accepted).collect()
}

/// Claims up to `max` deliveries without waiting.
pub(super) async fn take(queue: &QueueHandle, max: u32) -> Vec<Delivery> {
    queue.claim(Claim::by("worker-1").max(max)).await.expect("the store answers")
}

/// Claims exactly one delivery.
pub(super) async fn take_one(queue: &QueueHandle) -> Delivery {
    let mut got = take(queue, 1).await;
    assert_eq!(got.len(), 1, "something is due");
    got.remove(0)
}

/// Returns the item ids of a delivery.
pub(super) fn ids(got: &Delivery) -> Vec<&str> {
    got.items.iter().map(|item| item.id.as_str()).collect()
}

/// Settles one delivery.
pub(super) async fn settle(queue: &QueueHandle, reference: DeliveryRef, act: Act) -> Settled {
    queue.settle(vec![Settlement { reference, act }]).await.expect("the store answers").remove(0)
}

/// Acks one delivery.
pub(super) async fn ack(queue: &QueueHandle, got: &Delivery) -> SettleOutcome {
    settle(queue, got.reference, Act::Ack { through: None }).await.outcome
}

/// Fails one delivery with a short back-off.
pub(super) async fn fail(queue: &QueueHandle, got: &Delivery) -> SettleOutcome {
    let act = Act::Fail { error: "no contesta".to_owned(), item: None, retry_in: Some(Span::ZERO), give_up: false };
    settle(queue, got.reference, act).await.outcome
}

/// Fails one delivery for good, so that its items are exhausted.
pub(super) async fn give_up(queue: &QueueHandle, got: &Delivery) -> SettleOutcome {
    let act = Act::Fail { error: "no".to_owned(), item: None, retry_in: None, give_up: true };
    settle(queue, got.reference, act).await.outcome
}

/// Returns a lane policy without a window, for one item at a time.
pub(super) fn strict() -> Policy {
    Policy { window: Span::ZERO, batch_max: 1, ..Policy::for_kind(Kind::Lane) }
}

pub(super) fn id(id: &str) -> ItemId {
    ItemId::new(id).expect("valid")
}

async fn open(url: &str, time: &Arc<Manual>) -> Turno {
    let options = Options { clock: Arc::new(Clock::manual(time.clone())), sweep: false, ..Options::default() };
    Turno::open_with(url, options).await.expect("a fresh database opens")
}

/// Creates an empty directory for this process under the system's temporary directory.
pub(crate) fn fresh_directory() -> PathBuf {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let directory = std::env::temp_dir().join(format!("turno-test-{}-{number}", std::process::id()));
    // A killed run with the same process id may have left its directory.
    let _ = std::fs::remove_dir_all(&directory);
    std::fs::create_dir_all(&directory).expect("the temporary directory is writable");
    directory
}
