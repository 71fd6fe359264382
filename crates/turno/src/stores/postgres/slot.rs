//! Places for connections: one per route, opened when needed and after every loss.
//!
//! Whoever works takes the connection out of its place and puts it back only when its transaction is known to
//! be over. A future that is dropped midway drops the connection with it, and the server rolls back.

use super::failure::Failure;
use super::link::{Address, Link};
use std::ops::{Deref, DerefMut};
use std::time::Duration;
use tokio::sync::{Mutex, MutexGuard};

/// The first pause after a failed attempt to connect; it doubles.
const PAUSE: Duration = Duration::from_millis(20);
/// How often it doubles: up to 1.28 s.
const DOUBLINGS: u32 = 6;

/// A place for one connection.
#[derive(Default)]
pub(super) struct Slot(Mutex<Place>);

#[derive(Default)]
struct Place {
    link: Option<Link>,
    failures: u32,
}

/// A connection that was taken out of its place.
pub(super) struct Taken<'a> {
    place: MutexGuard<'a, Place>,
    link: Link,
    /// It was made just now, so its loss is no leftover of an earlier one.
    pub(super) fresh: bool,
}

impl Slot {
    /// Waits for the place, and connects if there is no living connection in it.
    pub(super) async fn take(&self, address: &Address) -> Result<Taken<'_>, Failure> {
        let mut place = self.0.lock().await;
        if let Some(link) = place.link.take().filter(|link| !link.is_closed()) {
            return Ok(Taken { place, link, fresh: false });
        }
        match address.connect().await {
            Ok(link) => {
                place.failures = 0;
                Ok(Taken { place, link, fresh: true })
            }
            Err(failure) => {
                // A server that is down must not be hammered by those who try again at once.
                let pause = PAUSE * 2_u32.pow(place.failures.min(DOUBLINGS));
                place.failures = place.failures.saturating_add(1);
                tokio::time::sleep(pause).await;
                // Whatever it was that kept us out: it stored nothing and may pass.
                Err(match failure {
                    Failure::Refused { message, .. } => Failure::Lost(message),
                    other => other,
                })
            }
        }
    }

    /// Whether nobody works here now.
    pub(super) fn is_free(&self) -> bool {
        self.0.try_lock().is_ok()
    }
}

impl Taken<'_> {
    /// Puts the connection back for the next one: no transaction is open on it.
    pub(super) fn put_back(self) {
        let Taken { mut place, link, .. } = self;
        place.link = Some(link);
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
