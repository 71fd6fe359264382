//! Turno as a library: leases and queues on embedded SQLite or on PostgreSQL.
//!
//! [`Turno::open`] is the way in. Inside, `engine` forms groups of the commands that arrive together,
//! `turno_core` decides them, and a [`store::Store`] remembers them in one transaction per group.

pub mod clock;
mod engine;
mod error;
mod live;
mod signal;
pub mod store;
mod stores;
mod sweep;

pub use engine::queue::{Draft, Got, GotItem, QueueHandle, Settled, Settlement};
pub use engine::{LeaseAnswer, Options, Turno};
pub use error::Error;
pub use live::{Live, Subscription};
pub use turno_core as core;
