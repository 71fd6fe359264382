//! Test kit.

pub mod postgres;
