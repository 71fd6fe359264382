//! What the databases do without us: the least that the same work could cost, with the same durability.
//!
//! No fences, no history, no policies. Nobody should build a queue on these tables.

pub(crate) mod postgres;
pub(crate) mod sqlite;
