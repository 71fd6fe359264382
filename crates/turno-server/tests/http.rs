//! The HTTP API from outside, over a real server on each database: `sqlite::NAME`, `postgres::NAME`.
//!
//! Every case gets a fresh database with its own server process. No case sleeps: it waits for an effect through the
//! API.
#![expect(clippy::unwrap_used, reason = "a test fails where it unwraps")]

#[path = "http/access.rs"]
mod access;
#[path = "http/access_scopes.rs"]
mod access_scopes;
#[path = "http/budget.rs"]
mod budget;
#[path = "http/callers.rs"]
mod callers;
#[path = "http/chat_bot.rs"]
mod chat_bot;
#[path = "http/console.rs"]
mod console;
#[path = "http/console_admin.rs"]
mod console_admin;
#[path = "http/console_sync.rs"]
mod console_sync;
#[path = "http/console_tasks.rs"]
mod console_tasks;
#[path = "http/console_words.rs"]
mod console_words;
#[path = "http/events.rs"]
mod events;
#[path = "http/events_sync.rs"]
mod events_sync;
#[path = "http/idempotency.rs"]
mod idempotency;
#[path = "http/input.rs"]
mod input;
#[path = "http/issuer.rs"]
mod issuer;
#[path = "http/lease.rs"]
mod lease;
#[path = "http/lease_batch.rs"]
mod lease_batch;
#[path = "http/lease_line.rs"]
mod lease_line;
#[path = "http/locks.rs"]
mod locks;
#[path = "http/logs.rs"]
mod logs;
#[path = "http/metrics.rs"]
mod metrics;
#[path = "http/oidc.rs"]
mod oidc;
#[path = "http/operation.rs"]
mod operation;
#[path = "http/people.rs"]
mod people;
#[path = "http/push.rs"]
mod push;
#[path = "http/push_alone.rs"]
mod push_alone;
#[path = "http/push_guard.rs"]
mod push_guard;
#[path = "http/push_guide.rs"]
mod push_guide;
#[path = "http/push_many.rs"]
mod push_many;
#[path = "http/push_outage.rs"]
mod push_outage;
#[path = "http/push_sync.rs"]
mod push_sync;
#[path = "http/queue.rs"]
mod queue;
#[path = "http/queue_claim.rs"]
mod queue_claim;
#[path = "http/queue_exhausted.rs"]
mod queue_exhausted;
#[path = "http/queue_items.rs"]
mod queue_items;
#[path = "http/queue_look.rs"]
mod queue_look;
#[path = "http/queue_settle.rs"]
mod queue_settle;
#[path = "http/receiver.rs"]
mod receiver;
#[path = "http/room.rs"]
mod room;
#[path = "http/scopes.rs"]
mod scopes;
#[path = "http/shared_inbox.rs"]
mod shared_inbox;
#[path = "http/sign_in.rs"]
mod sign_in;
#[path = "http/sign_in_guard.rs"]
mod sign_in_guard;
#[path = "http/sync.rs"]
mod sync;
#[path = "http/sync_soak.rs"]
mod sync_soak;
#[path = "http/task.rs"]
mod task;
#[path = "http/task_exclusive.rs"]
mod task_exclusive;
#[path = "http/task_lock.rs"]
mod task_lock;
#[path = "http/task_override.rs"]
mod task_override;
#[path = "http/task_process.rs"]
mod task_process;
#[path = "http/world.rs"]
mod world;

use libtest_mimic::{Arguments, Trial};
use std::pin::Pin;
use world::{Backend, World};

/// A named claim about the API.
pub(crate) struct Case {
    name: &'static str,
    run: fn(World) -> Pin<Box<dyn Future<Output = ()>>>,
}

/// Lists functions as cases, under their own names.
#[macro_export]
macro_rules! cases {
    ($($name:ident),* $(,)?) => {
        pub(crate) fn all() -> Vec<$crate::Case> {
            vec![$($crate::Case { name: stringify!($name), run: |world| Box::pin($name(world)) }),*]
        }
    };
}

fn main() {
    // reqwest is built with TLS and needs a default provider, even for plain HTTP.
    rustls::crypto::ring::default_provider().install_default().unwrap();
    let mut trials = Vec::new();
    for (prefix, backend) in [("sqlite", Backend::Sqlite), ("postgres", Backend::Postgres)] {
        for case in [
            access::all(),
            access_scopes::all(),
            budget::all(),
            callers::all(),
            console::all(),
            console_admin::all(),
            console_sync::all(),
            console_tasks::all(),
            console_words::all(),
            events::all(),
            events_sync::all(),
            idempotency::all(),
            input::all(),
            lease::all(),
            locks::all(),
            lease_batch::all(),
            lease_line::all(),
            logs::all(),
            metrics::all(),
            oidc::all(),
            operation::all(),
            people::all(),
            push::all(),
            push_guard::all(),
            push_guide::all(),
            push_many::all(),
            push_alone::all(),
            push_outage::all(),
            push_sync::all(),
            queue::all(),
            queue_claim::all(),
            queue_exhausted::all(),
            queue_items::all(),
            queue_look::all(),
            queue_settle::all(),
            room::all(),
            task_override::all(),
            task_exclusive::all(),
            chat_bot::all(),
            scopes::all(),
            shared_inbox::all(),
            sign_in::all(),
            sign_in_guard::all(),
            sync::all(),
            sync_soak::all(),
            task::all(),
            task_lock::all(),
            task_process::all(),
        ]
        .into_iter()
        .flatten()
        {
            trials.push(Trial::test(format!("{prefix}::{}", case.name), move || {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
                runtime.block_on(async { (case.run)(World::on(backend).await).await });
                Ok(())
            }));
        }
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}
