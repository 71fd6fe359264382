//! What Turno is tested with: conformance cases, a private PostgreSQL, a simulator and its checkers.
//!
//! A dev-dependency only: nothing of it is part of the product.

pub mod agree;
#[expect(clippy::unwrap_used, reason = "cases are tests: unwrapping is how they say that something must be so")]
pub mod conformance;
pub mod model;
pub mod postgres;
pub mod sim;
