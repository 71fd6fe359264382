//! The conformance cases: one list of named cases that runs on SQLite and on PostgreSQL.
//!
//! A case gets a [`World`]: a fresh database, an engine on it, and a clock that moves only when the case moves it.
//! No case checks which database it runs on. Background sweeping is off, because no behaviour may depend on it.
//! Cases about announcements open another instance with sweeping on.

mod access;
mod audit;
mod claim;
mod clear;
mod console;
mod delivery;
mod destination;
mod expired_deliveries;
mod expiry;
mod finalize;
mod idempotency;
mod identity;
mod ids;
mod inbox;
mod instances;
mod lane;
mod lease;
mod live;
mod push;
mod queue;
mod reads;
mod retry;
mod schema;
mod screens;
mod sign_in;
mod sizes;
mod sync;
mod task;
mod time;
mod token;
mod why;
mod worker;
mod world;

pub(crate) use world::fresh_directory;
pub use world::{Backend, START, World, holder, resource};

use std::future::Future;
use std::pin::Pin;

/// A named claim about the engine.
pub struct Case {
    /// The claim, as a name.
    pub name: &'static str,
    /// Runs the case and panics if the claim is false.
    pub run: fn(World) -> Pin<Box<dyn Future<Output = ()> + Send>>,
}

/// Builds the list of a module's cases. The list also catches a case that is never run: the compiler warns
/// about the unused function.
macro_rules! cases {
    ($($name:ident),* $(,)?) => {
        /// Returns the cases of this file.
        pub(super) fn cases() -> Vec<super::Case> {
            vec![$(super::Case { name: stringify!($name), run: |world| Box::pin($name(world)) }),*]
        }
    };
}
pub(crate) use cases;

/// Returns all cases.
pub fn all() -> Vec<Case> {
    let cases = [
        lease::cases(),
        expiry::cases(),
        lane::cases(),
        queue::cases(),
        ids::cases(),
        inbox::cases(),
        sync::cases(),
        claim::cases(),
        delivery::cases(),
        reads::cases(),
        sizes::cases(),
        why::cases(),
        clear::cases(),
        expired_deliveries::cases(),
        retry::cases(),
        time::cases(),
        instances::cases(),
        finalize::cases(),
        task::cases(),
        access::cases(),
        token::cases(),
        console::cases(),
        identity::cases(),
        sign_in::cases(),
        idempotency::cases(),
        screens::cases(),
        destination::cases(),
        push::cases(),
        schema::cases(),
        audit::cases(),
        worker::cases(),
        live::cases(),
    ];
    cases.into_iter().flatten().collect()
}
