//! The rules of Turno, as pure functions.
//!
//! Turno decides which holder may work on a resource (a *lease*), which worker receives an item (a *queue*), how a
//! *task* with lines is processed, and which principal may do what (*access*). This crate contains those rules and
//! nothing else. Start with [`lease`]: the other modules have the same shape.
//!
//! Each rule is a function of three arguments: the stored state, a command, and the time `now`. The engine reads `now`
//! from the database's clock after it has locked the state. The function returns one of two answers:
//!
//! - a decision: the new state, and the events, history and audit entries to write with it in one transaction;
//! - a refusal: a "no" with its reason. A refusal is an answer, not an error.
//!
//! This crate has no I/O, no clock, no randomness and no `async`, so that the engine, the simulator and the tests all
//! run the same functions. Both stores call them, so SQLite and PostgreSQL follow the same rules.

mod named;

pub mod access;
pub mod audit;
pub mod destination;
pub mod event;
pub mod fault;
pub mod id;
pub mod lease;
pub mod life;
pub mod limits;
pub mod queue;
pub mod sync;
pub mod task;
pub mod text;
pub mod time;
