//! The health of push destinations.

use super::Pending;
use turno_core::destination::Destination;
use turno_core::event::Event;
use turno_core::id::QueueId;

/// The health of push destinations.
pub trait DestinationStore {
    /// Returns the recorded health of a queue's destination; `None` if the destination never failed.
    fn destination(&self, queue: QueueId) -> Pending<'_, Option<Destination>>;

    /// Returns the destinations that are failing or down.
    fn destinations(&self) -> Pending<'_, Vec<(QueueId, Destination)>>;

    /// Stores the health of a destination together with the event that announces it. Returns whether it was stored:
    /// `false` if another process stored a version since the one that `destination` was derived from.
    fn put_destination(&self, queue: QueueId, destination: Destination, news: Option<Event>) -> Pending<'_, bool>;
}
