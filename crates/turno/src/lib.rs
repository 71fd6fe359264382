//! Turno as a library: leases, queues, tasks and synchronization on embedded SQLite or on PostgreSQL.
//!
//! Start with [`Turno::open`]. The handle it returns is the whole API:
//!
//! - Leases: [`Turno::lease`] claims, renews and releases; [`Lease::hold`] keeps a lease while a program works.
//! - Queues: [`Turno::put_queue`] creates a queue, [`QueueHandle`] enqueues, claims and settles items, and
//!   [`QueueHandle::worker`] runs a handler for each delivery.
//! - Tasks: [`Turno::task_create`], [`Turno::task`] and [`Turno::task_finalize`].
//! - Access: [`Turno::authenticate`] returns a handle that has the rights of one token.
//! - Events: [`Turno::subscribe`] follows committed changes.
//!
//! A refusal is an answer, not an [`Error`]: the outcome carries its reason.
//!
//! Inside, `engine` collects the commands that arrive together, `turno_core` decides them, and a [`store::Store`]
//! stores them in one transaction per group.

pub mod clock;
mod engine;
mod error;
mod expiry;
mod intake;
mod live;
mod signal;
pub mod store;
mod stores;
mod sweep;
mod upkeep;

/// Queues: items, claims, deliveries, settlements and workers.
pub mod queue {
    pub use crate::engine::queue::{Claim, ClaimedItem, Delivery, DeliveryItem};
}

pub use engine::access::{NewPerson, NewToken, PersonChange};
pub use engine::check::{CheckProgress, Repair, RepairedLane};
pub use engine::hold::{Hold, HoldRequest, Loss};
pub use engine::queue::{
    Claim, ClaimedItem, Delivery, DeliveryItem, Draft, Exhausted, Overview, QueueHandle, Settled, Settlement,
};
pub use engine::schema::schema;
pub use engine::sync::{Installed, SourceTrouble, SyncCheck, SyncFault, SyncHandle, SyncProgress, SyncStatus};
pub use engine::task::{FinalizeAnswer, TaskAnswer, TaskCursor, TaskEvent, TaskHistory};
pub use engine::worker::{Failed, Job, RunningWorker, Worker, WorkerLimit};
pub use engine::{ClaimLease, Heartbeat, Lease, LeaseAnswer, LeasePage, Options, Turno};
pub use error::Error;
pub use live::{Live, Subscription};
pub use store::{Answer, HandOut, ItemQuery, ItemRecord, LaneLocks, SchemaState, TaskPage, TaskQuery};
pub use turno_core as core;
pub use turno_core::access::{Denied, LinkFor, Permission, Permissions, Role, TokenKind};
pub use turno_core::id::Once;
pub use turno_core::lease::{Action, Outcome, Refused};
pub use turno_core::queue::{ItemState, Kind, Policy, Why, WhyReason};
pub use upkeep::Purged;
