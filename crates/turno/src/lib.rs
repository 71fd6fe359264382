//! Turno as a library: leases and queues on embedded SQLite or on PostgreSQL.
//!
//! [`Turno::open`] is the way in. Inside, `engine` forms groups of the commands that arrive together,
//! `turno_core` decides them, and a [`store::Store`] remembers them in one transaction per group.

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

pub use engine::access::{NewPerson, NewToken, PersonChange};
pub use engine::check::{CheckProgress, Mended, Repair};
pub use engine::hold::{Hold, HoldWish, Loss};
pub use engine::queue::{ClaimedItem, Draft, Exhausted, Got, GotItem, Overview, QueueHandle, Settled, Settlement};
pub use engine::schema::schema;
pub use engine::sync::{Installed, SourceTrouble, SyncCheck, SyncFault, SyncHandle, SyncProgress, SyncStatus};
pub use engine::task::{FinalizeAnswer, TaskAnswer, TaskCursor, TaskEvent, TaskHistory};
pub use engine::worker::{Failed, Hands, Job, RunningWorker, Worker};
pub use engine::{LeaseAnswer, LeasePage, Options, Turno};
pub use error::Error;
pub use live::{Live, Subscription};
pub use store::{Answer, HandOut, ItemQuery, ItemRecord, LaneLocks, SchemaState, TaskPage, TaskQuery};
pub use turno_core as core;
pub use turno_core::access::{Denied, LinkFor, Permission, Permissions, Role, TokenKind};
pub use turno_core::id::Once;
pub use turno_core::lease::{Action, Outcome, Refused};
pub use turno_core::queue::{ItemState, Kind, Policy, Why, WhyReason};
pub use upkeep::Purged;
