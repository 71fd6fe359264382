//! Turno as a library: leases and queues on embedded SQLite or on PostgreSQL.
//!
//! [`Turno::open`] is the way in. Inside, `engine` forms groups of the commands that arrive together,
//! `turno_core` decides them, and a [`store::Store`] remembers them in one transaction per group.

pub mod clock;
mod error;
pub mod store;
mod stores;

pub use error::Error;
pub use turno_core as core;
