//! Tests of the queue decisions, over a store in memory (`shelf`).

mod ids;
mod lapse;
mod outside;
mod probe;
mod properties;
mod repair;
mod rules;
mod shelf;
mod sizes;
mod typing;
mod untried;
