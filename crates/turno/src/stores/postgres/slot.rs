//! Slots for connections: one per route, connected when needed and again after every loss.
//!
//! A caller takes the connection out of its slot, and puts it back only when its transaction is known to be over. If
//! the caller's future is dropped midway, the connection is dropped with it and the server rolls back.

use super::connection::{Address, Link};
use super::error::TripError;
use std::ops::{Deref, DerefMut};
use std::time::Duration;
use tokio::sync::{Mutex, MutexGuard};

/// The first pause after a failed attempt to connect; it doubles.
const PAUSE: Duration = Duration::from_millis(20);
/// How often the pause doubles: up to 1.28 s.
const DOUBLINGS: u32 = 6;

/// A slot for one connection.
#[derive(Default)]
pub(super) struct Slot(Mutex<SlotState>);

#[derive(Default)]
struct SlotState {
    link: Option<Link>,
    failures: u32,
}

/// A connection that was taken out of its slot.
pub(super) struct Taken<'a> {
    state: MutexGuard<'a, SlotState>,
    link: Link,
    /// Whether the connection was made just now. The loss of an older one may only mean that the server has restarted.
    pub(super) fresh: bool,
}

impl Slot {
    /// Waits for the slot, and connects if it holds no open connection.
    pub(super) async fn take(&self, address: &Address) -> Result<Taken<'_>, TripError> {
        let mut state = self.0.lock().await;
        if let Some(link) = state.link.take().filter(|link| !link.is_closed()) {
            return Ok(Taken { state, link, fresh: false });
        }
        match address.connect().await {
            Ok(link) => {
                state.failures = 0;
                Ok(Taken { state, link, fresh: true })
            }
            Err(failure) => {
                // Callers that retry at once must not flood a server that is down.
                let pause = PAUSE * 2_u32.pow(state.failures.min(DOUBLINGS));
                state.failures = state.failures.saturating_add(1);
                tokio::time::sleep(pause).await;
                // Nothing was stored, and the cause may pass, so every refusal to connect counts as a lost connection.
                Err(match failure {
                    TripError::Refused { message, .. } => TripError::Lost(message.into()),
                    other => other,
                })
            }
        }
    }

    /// Returns whether the slot is unused now.
    pub(super) fn is_free(&self) -> bool {
        self.0.try_lock().is_ok()
    }
}

impl Taken<'_> {
    /// Abandons the open transaction and puts the connection back.
    pub(super) fn cancel(self) {
        self.abandon();
        self.put_back();
    }

    /// Puts the connection back for the next caller. No transaction may be open on it.
    pub(super) fn put_back(self) {
        let Taken { mut state, link, .. } = self;
        state.link = Some(link);
    }
}

impl Deref for Taken<'_> {
    type Target = Link;
    fn deref(&self) -> &Link {
        &self.link
    }
}

impl DerefMut for Taken<'_> {
    fn deref_mut(&mut self) -> &mut Link {
        &mut self.link
    }
}
