//! What Turno is tested with: conformance cases, a private PostgreSQL, a simulator and its checkers.
//!
//! A dev-dependency only: nothing of it is part of the product.

pub mod agree;
pub mod conformance;
pub mod model;
pub mod postgres;
pub mod sim;
