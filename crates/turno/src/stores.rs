//! The databases behind the contract of `store`: the same tables, the same answers.

pub(crate) mod postgres;
pub(crate) mod sqlite;
