//! Taking in what applications left in transactions of their own: enqueued with `turno.enqueue`, acked with
//! `turno.complete`.
//!
//! Applications tell nobody when they commit: a notification would take a lock of the whole server with it. So this
//! looks, ten times a second, and whoever waits for work or asks what there is looks too.

use crate::clock::Clock;
use crate::engine::Announce;
use crate::engine::sync::confirm;
use crate::error::Error;
use crate::store::{Folded, Hint, Store};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::Mutex;

/// How often it looks by itself. By the machine's clock: the database's may be a manual one.
const EVERY: Duration = Duration::from_millis(100);

/// Takes in what applications left.
#[derive(Clone)]
pub(crate) struct Intake {
    store: Arc<dyn Store>,
    clock: Arc<Clock>,
    announce: Announce,
    looks: Arc<Looks>,
}

#[derive(Default)]
struct Looks {
    /// How many have begun.
    begun: AtomicU64,
    /// What the last one found; one at a time.
    last: Mutex<Option<bool>>,
}

impl Intake {
    pub(crate) fn new(store: Arc<dyn Store>, clock: Arc<Clock>, announce: Announce) -> Intake {
        Intake { store, clock, announce, looks: Arc::default() }
    }

    /// Takes in everything that was committed when it was called; answers whether there was anything.
    ///
    /// Many may ask at once; one looks, and those who asked before it began share what it found.
    pub(crate) async fn now(&self) -> Result<bool, Error> {
        if !self.store.has_intake() {
            return Ok(false);
        }
        let asked = self.looks.begun.load(Ordering::SeqCst);
        let mut last = self.looks.last.lock().await;
        if let Some(found) = *last
            && self.looks.begun.load(Ordering::SeqCst) > asked
        {
            return Ok(found);
        }
        self.looks.begun.fetch_add(1, Ordering::SeqCst);
        *last = None;
        let Folded { changed, completed } = self.store.fold().await?;
        for handed in &completed {
            // A comparison finds a difference later, and sends it once more.
            let told = confirm(&*self.store, handed, self.clock.estimate()).await;
            told.unwrap_or_else(|error| tracing::warn!(%error, "what was completed is not remembered as delivered"));
        }
        let found = !changed.is_empty();
        *last = Some(found);
        if found {
            changed.into_iter().for_each(|queue| self.announce.tell(Hint::Queue(queue)));
            self.announce.wrote_events();
        }
        Ok(found)
    }

    /// As [`Intake::now`], for those who can go on without it.
    pub(crate) async fn try_now(&self) -> bool {
        self.now().await.unwrap_or_else(|error| {
            tracing::warn!(%error, "could not take in what applications left");
            false
        })
    }

    /// Looks again and again until the engine is closed.
    pub(crate) async fn run(self) {
        while self.store.has_intake() {
            tokio::time::sleep(EVERY).await;
            self.try_now().await;
        }
    }
}
