//! Test support for Turno: conformance cases for every store, a private PostgreSQL, a model, a simulator and its
//! checkers.
//!
//! A dev-dependency only: no product code depends on this crate.

pub mod agree;
#[expect(clippy::unwrap_used, reason = "cases are tests: a failed unwrap is a failed assertion")]
pub mod conformance;
mod db;
mod example;
pub mod model;
pub mod postgres;
pub mod sim;

pub use example::{example, queue_example};
