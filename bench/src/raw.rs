//! The raw limits: the least that the same work costs in the database alone, with the same durability.
//!
//! They have no fences, no history and no policies. Do not build a queue on these tables.

pub(crate) mod postgres;
pub(crate) mod sqlite;
