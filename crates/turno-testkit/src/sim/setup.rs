//! The setup of a world: few resources and keys, so that clients collide, and short times, so that windows, expiries,
//! exhaustion and offers are frequent.

use std::sync::Arc;
use turno_core::id::{Instance, ItemId, Key, QueueId, Resource, Serial, Sku, UserId};
use turno_core::lease::{self, Holder};
use turno_core::queue::{Kind, OnExhausted, Policy};
use turno_core::time::Span;

pub(crate) const GROUPED: usize = 0;
pub(crate) const SINGLE: usize = 1;
pub(crate) const HOLD: usize = 2;
pub(crate) const INBOX: usize = 3;
pub(crate) const SYNC: usize = 4;
pub(crate) const QUEUES: usize = 5;

/// Everything that is constant during a world.
#[derive(Debug)]
pub(crate) struct Setup {
    pub(crate) resources: Vec<(Resource, lease::Policy)>,
    pub(crate) people: Vec<Holder>,
    pub(crate) queues: Vec<Policy>,
    pub(crate) keys: Vec<Key>,
    pub(crate) workers: Vec<Arc<str>>,
    /// The lease policy of tasks.
    pub(crate) tasks: lease::Policy,
    pub(crate) skus: Vec<Sku>,
    pub(crate) serials: Vec<Serial>,
    /// The clerks. The last one overrides the others.
    pub(crate) clerks: Vec<Holder>,
}

impl Setup {
    pub(crate) fn new() -> Setup {
        let plain = lease::Policy {
            ttl: Span(400),
            max_ttl: Span(1_000),
            heartbeat_interval: Span(100),
            offer: Span(250),
            ..lease::Policy::default()
        };
        let strict = lease::Policy { idle_guard: Some(Span(500)), rolling_timeout: Some(Span(900)), ..plain.clone() };
        let resource = |n: usize| Resource::new(format!("box:{n}")).expect("a plain name");
        Setup {
            resources: (0..5).map(|n| (resource(n), if n < 2 { plain.clone() } else { strict.clone() })).collect(),
            people: people(),
            tasks: strict.clone(),
            skus: (0..3).map(|n| Sku::new(format!("a{n}")).expect("a plain name")).collect(),
            serials: (0..6).map(|n| Serial::new(format!("s{n}")).expect("a plain name")).collect(),
            clerks: clerks(),
            queues: queues(),
            keys: (0..4).map(|n| Key::new(format!("k{n}")).expect("a plain name")).collect(),
            workers: (0..6).map(|n| Arc::from(format!("w{n}"))).collect(),
        }
    }
}

impl Setup {
    /// Returns the command that an instance submits when a lease is due.
    pub(crate) fn look(&self, resource: Resource) -> lease::Command {
        let known = self.resources.iter().find(|(name, _)| *name == resource);
        let policy = known.map_or(&self.tasks, |(_, policy)| policy).clone();
        let user = UserId::new("turno").expect("a plain name");
        let who = Holder { name: user.to_string(), user, instance: None };
        lease::Command { resource, who, via: None, policy, action: lease::Action::Look }
    }
}

pub(crate) fn queue_id(queue: usize) -> QueueId {
    QueueId(queue as i32)
}

pub(crate) fn item_id(text: String) -> ItemId {
    ItemId::new(text).expect("ids of the simulation are plain names")
}

fn people() -> Vec<Holder> {
    let user = |name: &str| UserId::new(name).expect("a plain name");
    let person = |name: &str| Holder { user: user(name), name: name.to_owned(), instance: None };
    let machine = |at: &str| Holder {
        user: user("robot"),
        name: "robot".to_owned(),
        instance: Some(Instance::new(at).expect("a plain name")),
    };
    // A repeated name is one person with two tabs.
    ["ana", "ana", "luis", "luis", "eva", "iker"].into_iter().map(person).chain([machine("a"), machine("b")]).collect()
}

fn clerks() -> Vec<Holder> {
    let person =
        |name: &str| Holder { user: UserId::new(name).expect("a plain name"), name: name.to_owned(), instance: None };
    // A repeated name finalizes the same task twice under the same fence.
    ["noa", "noa", "leo", "jefa"].into_iter().map(person).collect()
}

fn queues() -> Vec<Policy> {
    let short = |kind| Policy {
        lock_timeout: Span(300),
        max_hold: Some(Span(700)),
        window: Span::ZERO,
        typing_extension: Span::ZERO,
        max_wait: Span::ZERO,
        batch_max: 1,
        max_attempts: 4,
        backoff: Span(20),
        ..Policy::for_kind(kind)
    };
    vec![
        Policy { window: Span(60), typing_extension: Span(60), max_wait: Span(200), batch_max: 4, ..short(Kind::Lane) },
        short(Kind::Lane),
        Policy { batch_max: 3, max_attempts: 3, on_exhausted: OnExhausted::Hold, ..short(Kind::Lane) },
        Policy { max_hold: None, ..short(Kind::Inbox) },
        short(Kind::Sync),
    ]
}
