//! One test per rule of a queue, on the pure decisions over a shelf that holds what a store would.

mod ids;
mod lapse;
mod outside;
mod probe;
mod properties;
mod repair;
mod rules;
mod shelf;
mod typing;
mod untried;
