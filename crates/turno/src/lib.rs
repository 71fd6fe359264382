//! Turno as a library: leases, queues, tasks and synchronization on embedded SQLite or on PostgreSQL.
//!
//! Start with [`Turno::open`]. The handle it returns is the whole API:
//!
//! - Leases: [`Turno::lease`] returns a handle that claims, renews and releases; [`Lease::hold`](lease::Lease::hold) keeps a lease while a program works.
//! - Queues: [`Turno::put_queue`] creates a queue, [`QueueHandle`](queue::QueueHandle) enqueues, claims and settles items, and
//!   [`QueueHandle::worker`](queue::QueueHandle::worker) runs a handler for each delivery.
//! - Tasks: [`Turno::create_task`] and [`TaskHandle`](task::TaskHandle).
//! - Access: [`Turno::authenticate`] returns a handle that has the rights of one token.
//! - Events: [`Turno::subscribe`] follows committed changes.
//!
//! A refusal of a handle's verb is an [`Error`] with a stable [`code`](Error::code), the same as in the HTTP API.
//!
//! The features `sqlite` and `postgres` select the databases; both are on by default. With the feature `unstable` the
//! inside is public: `core` decides, `store` is the contract of a database, `clock` is its time. It may change in every release.
//!
//! Inside, `engine` collects the commands that arrive together, `turno_core` decides them, and a store writes them in
//! one transaction per group.

#![cfg_attr(
    not(feature = "unstable"),
    expect(unreachable_pub, unused_imports, reason = "the inside is public only with `unstable`")
)]

#[cfg(feature = "unstable")]
pub mod clock;
#[cfg(not(feature = "unstable"))]
mod clock;
mod engine;
mod error;
mod expiry;
mod intake;
mod live;
mod signal;
#[cfg(feature = "unstable")]
pub mod store;
#[cfg(not(feature = "unstable"))]
mod store;
mod stores;
mod sweep;
mod upkeep;

/// Leases: who may work on a resource, until when, and under which fence.
pub mod lease {
    pub use crate::engine::hold::{Hold, HoldRequest, Loss};
    pub use crate::engine::{ClaimLease, Heartbeat, Lease, LeaseAnswer, LeasePage};
    pub use crate::store::LeaseQuery;
    pub use turno_core::lease::{
        Action, Beat, Cause, Command, Ending, Grant, Holder, Lost, Offer, Outcome, Policies, Policy, Reason, Refused,
        Request, State, Ticket,
    };
}

/// Pushing: sending every delivery of a queue to one destination.
pub mod push {
    pub use crate::engine::push::{Parcel, PushOutcome, Pusher, RunningPusher, SendFailed, SendFuture, Sender};
    pub use turno_core::destination::{DeliveryFailure, Destination};
}

/// Queues: items, claims, deliveries, settlements and workers.
pub mod queue {
    pub use crate::engine::queue::{
        Claim, ClaimedItem, Delivery, DeliveryItem, Draft, Exhausted, Overview, QueueHandle, Settled, Settlement,
    };
    pub use crate::engine::worker::{Failed, Job, RunningWorker, Worker, WorkerLimit};
    pub use crate::store::{Counts, HandOut, ItemPage, ItemQuery, ItemRecord, LaneLocks, ManageOutcome, QueueRow};
    pub use turno_core::queue::{
        Accepted, Act, AttemptError, DeliveryRef, ItemState, Kind, LimitedBy, ManageAnswer, ManageRefused, OnExhausted,
        Policy, SettleOutcome, Why, WhyReason,
    };
}

/// Tasks: lines that one person processes under a lease and applies once.
pub mod task {
    pub use crate::engine::task::{
        FinalizeAnswer, NewTask, TaskAnswer, TaskCursor, TaskEvent, TaskHandle, TaskHistory,
    };
    pub use crate::store::{
        Dialect, Effect, EffectError, EffectFuture, LineToApply, StockLevel, TaskPage, TaskQuery, Tx, Value,
    };
    pub use turno_core::task::{
        Action, Finalized, Goods, Line, LineError, LineOutcome, LineStatus, Movement, NewLine, Note, Outcome, Patch,
        Refused, Status, Task, TaskId, Version,
    };
}

/// Synchronization: sources whose triggers mark changed keys, and what their destinations know.
pub mod sync {
    pub use crate::engine::sync::{
        Filled, Installed, Prepared, SourceTrouble, SyncChange, SyncCheck, SyncFault, SyncHandle, SyncProgress,
        SyncStatus,
    };
    pub use turno_core::sync::{Difference, OnLeave, Outgoing, Relation, Source, SourceRefused};
}

/// Access: people, tokens, sessions and their rights.
pub mod access {
    pub use crate::engine::access::{IdentityClaims, NewPerson, NewToken, PersonChange};
    pub use turno_core::access::{
        ChangeRefused, Denied, FailedSignIns, Identity, LinkFor, PaceStep, PaceVerdict, Permission, Permissions,
        Person, Principal, Role, SignIn, SignInMethod, Token, TokenKind,
    };
}

/// Events: committed facts in order, and the audit of privileged actions.
pub mod event {
    pub use crate::live::{Live, Subscription};
    pub use crate::store::AuditQuery;
    pub use turno_core::audit::{Actor, Entry};
    pub use turno_core::event::{Event, Topic, Topics};
    pub use turno_core::id::Position;
}

/// Names and numbers: checked when they are made.
pub mod id {
    pub use turno_core::id::{
        BadName, Fence, Instance, ItemId, Key, Once, QueueId, QueueName, RequestId, Resource, Serial, Sku, UserId,
    };
    pub use turno_core::time::{Span, Time};
}

pub use engine::check::{CheckProgress, Repair, RepairedLane};
pub use engine::schema::schema;
pub use engine::{Options, Turno};
pub use error::{Error, Misuse};
pub use store::{Answer, Finding, Problem, SchemaState, StoreError, Subject};
#[cfg(feature = "unstable")]
pub use turno_core as core;
pub use turno_core::fault::{Fault, Invalid, Thing};
pub use upkeep::Purged;
