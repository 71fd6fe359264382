//! One list of named cases, run on every database: the same behaviour, proved once per store.
//!
//! A case gets a [`World`]: a fresh database, an engine on it, and a time that only moves when the case says
//! so. Cases never ask which database they run on. Background sweeping is off, because nothing may depend
//! on it; cases about announcements open an instance of their own that sweeps.

mod access;
mod audit;
mod claim;
mod clear;
mod console;
mod delivery;
mod desk;
mod destination;
mod expiry;
mod finalize;
mod ids;
mod inbox;
mod instances;
mod lane;
mod lapse;
mod lease;
mod live;
mod look;
mod once;
mod retry;
mod schema;
mod sync;
mod task;
mod time;
mod why;
mod worker;
mod world;

pub use world::{Backend, START, World, holder, resource};

use std::future::Future;
use std::pin::Pin;

/// A named claim about the engine.
pub struct Case {
    /// What is claimed.
    pub name: &'static str,
    /// Shows it, or panics.
    pub run: fn(World) -> Pin<Box<dyn Future<Output = ()> + Send>>,
}

/// The cases of a module by their names; a list, so that a case that is not run cannot go unnoticed
/// (the compiler warns about the unused function).
macro_rules! cases {
    ($($name:ident),* $(,)?) => {
        /// The cases of this file.
        pub(super) fn cases() -> Vec<super::Case> {
            vec![$(super::Case { name: stringify!($name), run: |world| Box::pin($name(world)) }),*]
        }
    };
}
pub(crate) use cases;

/// All cases.
pub fn all() -> Vec<Case> {
    let cases = [
        lease::cases(),
        expiry::cases(),
        lane::cases(),
        ids::cases(),
        inbox::cases(),
        sync::cases(),
        claim::cases(),
        delivery::cases(),
        look::cases(),
        why::cases(),
        clear::cases(),
        lapse::cases(),
        retry::cases(),
        time::cases(),
        instances::cases(),
        finalize::cases(),
        task::cases(),
        access::cases(),
        console::cases(),
        once::cases(),
        desk::cases(),
        destination::cases(),
        schema::cases(),
        audit::cases(),
        worker::cases(),
        live::cases(),
    ];
    cases.into_iter().flatten().collect()
}
