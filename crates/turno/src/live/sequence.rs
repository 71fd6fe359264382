//! The sequencer: gives positions to committed events. Every instance runs it, and one of them does the work for all.
//!
//! It runs after this process may have written events, and regularly by the clock, for events of a process that died
//! after its commit. It decides nothing: a lock in the store lets one sequencer run at a time.

use crate::clock::Clock;
use crate::engine::{Announce, LOOK_AGAIN};
use crate::store::{Hint, Sequenced, Store};
use std::sync::Arc;
use std::time::Duration;

/// The pause between two runs, so that events written meanwhile share a run. In real time, because it only limits the
/// load.
const PAUSE: Duration = Duration::from_millis(50);

pub(super) async fn run(store: Arc<dyn Store>, clock: Arc<Clock>, announce: Announce) {
    loop {
        let again = match store.sequence().await {
            Ok(Sequenced::All(0)) => false,
            Ok(Sequenced::All(_) | Sequenced::AtCommit) => {
                announce.send(Hint::Events);
                false
            }
            Ok(Sequenced::Full(_)) => {
                announce.send(Hint::Events);
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
