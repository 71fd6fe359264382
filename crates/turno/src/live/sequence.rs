//! Keeps events from waiting for their positions, in every instance: whichever is first does it for all.
//!
//! It runs when this process may have written events, and by the clock, for those of a process that died right after
//! its commit. It decides nothing: the store's lock keeps two of them apart.

use crate::clock::Clock;
use crate::engine::{Announce, LOOK_AGAIN};
use crate::store::{Hint, Sequenced, Store};
use std::sync::Arc;
use std::time::Duration;

/// Between two runs, in real time, since it only spares the database: what is written meanwhile shares a run.
const PAUSE: Duration = Duration::from_millis(50);

pub(super) async fn run(store: Arc<dyn Store>, clock: Arc<Clock>, announce: Announce) {
    loop {
        let again = match store.sequence().await {
            Ok(Sequenced::All(0)) => false,
            Ok(Sequenced::All(_) | Sequenced::AtCommit) => {
                announce.tell(Hint::Events);
                false
            }
            Ok(Sequenced::Full(_)) => {
                announce.tell(Hint::Events);
                continue;
            }
            Ok(Sequenced::Busy) => true,
            Err(error) => {
                tracing::warn!(%error, "events wait for their positions; trying again by the clock");
                false
            }
        };
        tokio::time::sleep(PAUSE).await;
        if !again {
            tokio::select! {
                () = announce.signals.wrote.notified() => {}
                () = clock.sleep_until(clock.estimate() + LOOK_AGAIN) => {}
            }
        }
    }
}
