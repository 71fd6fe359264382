//! The rules of Turno, as pure decisions.
//!
//! Everything here is a function of its arguments: a state that was read, a command, and the time `now`
//! that the database's clock showed after the state was locked. The answer is either a decision (the new
//! state, and what else is to be written with it) or a refusal, which is an answer and not a failure.
//!
//! There is deliberately no I/O, no clock, no randomness and no `async` in this crate, so that the same
//! functions run in the engine, in the simulator and in the tests.

pub mod access;
pub mod audit;
pub mod destination;
pub mod event;
pub mod id;
pub mod lease;
pub mod life;
pub mod limits;
pub mod queue;
pub mod sync;
pub mod task;
pub mod text;
pub mod time;
