//! A fresh database with an engine on it, and short ways to say what people and workers do.

use crate::postgres::Cluster;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use turno::clock::{Clock, Manual};
use turno::core::id::{Fence, ItemId, Key, QueueName, Resource, UserId};
use turno::core::lease::{Action, Command, Holder, Outcome, Policy as LeasePolicy, Refused};
use turno::core::queue::{Accepted, Act, Handed, Policy, SettleOutcome};
use turno::core::time::{Span, Time};
use turno::store::Effect;
use turno::{Draft, Got, LeaseAnswer, Options, QueueHandle, Settled, Settlement, Turno};

/// When every world begins: not a round number, so that a truncated time shows.
pub const START: Time = Time(1_763_190_123_456);

/// A kind of database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    /// Embedded, one file.
    Sqlite,
    /// A database of the run's private server.
    Postgres,
}

/// A fresh database, an engine on it and a manual time.
pub struct World {
    /// The engine.
    pub turno: Turno,
    /// Moves the time of every instance.
    pub time: Arc<Manual>,
    url: String,
    backend: Backend,
    /// After the engine, so that the files go when nobody has them open.
    _directory: Option<Directory>,
}

/// A directory that goes at the end.
pub(super) struct Directory(PathBuf);

impl Drop for Directory {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

/// A database of this kind in which nothing is yet, and where its files are.
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
    /// A fresh world on a kind of database.
    pub async fn on(backend: Backend) -> World {
        let (url, directory) = fresh_url(backend).await;
        let time = Manual::starting_at(START);
        let turno = open(&url, &time).await;
        World { turno, time, url, backend, _directory: directory }
    }

    /// Another instance on the same database, with a guarded clock of its own.
    pub async fn instance(&self) -> Turno {
        open(&self.url, &self.time).await
    }

    /// Another instance on the same database, which also announces what expires.
    pub async fn announcing(&self) -> Turno {
        let clock = Arc::new(Clock::manual(self.time.clone()));
        let options = Options { clock, ..Options::default() };
        Turno::open_with(&self.url, options).await.expect("the database opens")
    }

    /// Another instance whose tasks' lines have an effect of the application's own.
    pub async fn instance_with(&self, effect: Arc<dyn Effect>) -> Turno {
        let clock = Arc::new(Clock::manual(self.time.clone()));
        let options = Options { clock, sweep: false, effect: Some(effect), ..Options::default() };
        Turno::open_with(&self.url, options).await.expect("the database opens")
    }

    /// Closes the engine and opens the database anew, as after a restart.
    pub async fn reopen(&mut self) {
        self.turno = self.instance().await;
    }

    /// On which kind of database it is, for cases that need a second, empty one.
    pub fn backend(&self) -> Backend {
        self.backend
    }

    /// Where the database is.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Lets time pass.
    pub fn pass(&self, ms: i64) {
        self.time.advance(Span(ms));
    }

    /// A lease command under the default policy.
    pub async fn lease(&self, who: &str, action: Action) -> LeaseAnswer {
        lease(&self.turno, who, action).await
    }

    /// Claims the resource of all lease cases.
    pub async fn claim(&self, who: &str) -> Result<Fence, Refused> {
        claim(&self.turno, who).await
    }

    /// A queue with this policy.
    pub async fn queue(&self, policy: Policy) -> QueueHandle {
        self.turno.put_queue(queue_name(), policy).await.expect("the policy is good")
    }
}

/// The one queue of most cases.
pub(super) fn queue_name() -> QueueName {
    QueueName::new("mensajes").expect("valid")
}

/// The one resource of most cases.
pub fn resource() -> Resource {
    Resource::new("expediente:7 / año").expect("valid")
}

/// Somebody, with a name that differs from the id.
pub fn holder(who: &str) -> Holder {
    Holder { user: UserId::new(who).expect("valid"), name: format!("«{who}»"), instance: None }
}

/// A lease command of somebody on [`resource`].
pub(super) fn command(who: &str, action: Action) -> Command {
    Command { resource: resource(), who: holder(who), via: None, policy: LeasePolicy::default(), action }
}

/// Carries a lease command out.
pub(super) async fn lease(turno: &Turno, who: &str, action: Action) -> LeaseAnswer {
    turno.lease(command(who, action)).await.expect("the store answers")
}

/// Claims [`resource`].
pub(super) async fn claim(turno: &Turno, who: &str) -> Result<Fence, Refused> {
    let answer = lease(turno, who, Action::Claim { ttl: None, wait: false }).await;
    answer.answer.map(|outcome| {
        assert!(matches!(outcome, Outcome::Claimed { .. }));
        answer.state.grant.expect("who claims holds").fence
    })
}

/// An item with an id, a key and a payload that says both.
pub(super) fn draft(key: &str, id: &str) -> Draft {
    let payload = format!("{{\"de\":\"{key}\",\"texto\":\"{id} ñ \\u0000\"}}");
    let id = Some(ItemId::new(id).expect("valid"));
    Draft { id, key: Some(Key::new(key).expect("valid")), action: None, payload: payload.into(), delay: Span::ZERO }
}

/// Enqueues items of a key.
pub(super) async fn put(queue: &QueueHandle, key: &str, ids: &[&str]) -> Vec<Accepted> {
    let drafts = ids.iter().map(|id| draft(key, id)).collect();
    queue.enqueue(drafts).await.expect("accepted").into_iter().map(|(_, accepted)| accepted).collect()
}

/// Claims without waiting.
pub(super) async fn take(queue: &QueueHandle, max: u32) -> Vec<Got> {
    queue.claim("worker-1", max, Span::ZERO).await.expect("the store answers")
}

/// Claims exactly one delivery.
pub(super) async fn take_one(queue: &QueueHandle) -> Got {
    let mut got = take(queue, 1).await;
    assert_eq!(got.len(), 1, "something is due");
    got.remove(0)
}

/// The ids of a delivery.
pub(super) fn ids(got: &Got) -> Vec<&str> {
    got.items.iter().map(|item| item.id.as_str()).collect()
}

/// Settles one delivery.
pub(super) async fn settle(queue: &QueueHandle, handed: Handed, act: Act) -> Settled {
    queue.settle(vec![Settlement { handed, act }]).await.expect("the store answers").remove(0)
}

/// Acks one delivery.
pub(super) async fn ack(queue: &QueueHandle, got: &Got) -> SettleOutcome {
    settle(queue, got.handed, Act::Ack { through: None }).await.outcome
}

/// Fails one delivery with a short back-off.
pub(super) async fn fail(queue: &QueueHandle, got: &Got) -> SettleOutcome {
    let act = Act::Fail { error: "no contesta".to_owned(), item: None, retry_in: Some(Span::ZERO), give_up: false };
    settle(queue, got.handed, act).await.outcome
}

async fn open(url: &str, time: &Arc<Manual>) -> Turno {
    let options = Options { clock: Arc::new(Clock::manual(time.clone())), sweep: false, ..Options::default() };
    Turno::open_with(url, options).await.expect("a fresh database opens")
}

/// A directory of this process's own under the system's temporary one.
fn fresh_directory() -> PathBuf {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let directory = std::env::temp_dir().join(format!("turno-test-{}-{number}", std::process::id()));
    // A run that was killed may have had the same number.
    let _ = std::fs::remove_dir_all(&directory);
    std::fs::create_dir_all(&directory).expect("the temporary directory is writable");
    directory
}
