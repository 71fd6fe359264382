//! The health of a pusher's destination: what this process knows of it, and how many calls it allows.

use super::Inner;
use crate::engine::queue::Delivery;
use crate::engine::worker::WorkerLimit;
use std::sync::PoisonError;
use turno_core::destination::{DeliveryFailure, Destination, Fault};
use turno_core::id::{Key, Lane};
use turno_core::time::Time;

impl Inner {
    /// Returns whether this delivery may be tried, and if so whether it is a probe.
    pub(super) fn admit(&self) -> Option<bool> {
        if !self.is_down() {
            return Some(false);
        }
        let ticket = self.ticket.lock().unwrap_or_else(PoisonError::into_inner).take();
        let good = ticket.filter(|until| self.now() < *until);
        self.update_limit();
        good.map(|_| true)
    }

    /// Stores that the destination answers: it accepted the delivery, or refused only this message.
    pub(super) async fn note_success(&self, probe: bool) {
        let failing = self.seen.borrow().as_ref().is_some_and(|seen| seen.failures > 0);
        if !(probe || failing) {
            return;
        }
        match self.settings.queue.destination_succeeded().await {
            Ok(destination) => self.update_state(destination),
            Err(error) => tracing::warn!(%error, queue = %self.name, "a success was not noted; the next one will be"),
        }
    }

    /// Stores a failure of the destination. Returns whether it was down before.
    pub(super) async fn note_failure(
        &self,
        got: &Delivery,
        error: &str,
        fault: Fault,
        round_began: Option<Time>,
    ) -> bool {
        let unreached = fault == Fault::Unreached;
        let failure = DeliveryFailure {
            of: failure_lane(got),
            handed_at: got.now,
            error: error.to_owned(),
            unreached,
            round_began,
        };
        match self.settings.queue.destination_failed(&failure, self.settings.probe).await {
            Ok((was_down, destination)) => {
                self.update_state(Some(destination));
                was_down
            }
            Err(error) => {
                tracing::warn!(%error, queue = %self.name, "a failure was not noted");
                self.is_down()
            }
        }
    }

    fn is_down(&self) -> bool {
        self.seen.borrow().as_ref().is_some_and(Destination::is_down)
    }

    /// Takes over a destination state if it is newer than the known one.
    pub(super) fn update_state(&self, destination: Option<Destination>) {
        let Some(new) = destination else { return };
        let was_down = self.is_down();
        let newer = |old: &mut Option<Destination>| {
            let newer = old.as_ref().is_none_or(|old| old.version < new.version);
            if newer {
                *old = Some(new.clone());
            }
            newer
        };
        if !self.seen.send_if_modified(newer) {
            return;
        }
        match (was_down, new.is_down()) {
            (false, true) => {
                tracing::warn!(queue = %self.name, error = new.error, "the destination is down: no attempts are spent on it");
            }
            (true, false) => tracing::info!(queue = %self.name, "the destination is back"),
            _ => {}
        }
        match new.is_down() {
            true => self.settings.sender.went_down(),
            false => self.settings.sender.came_back(),
        }
        self.update_limit();
    }

    /// Sets how many deliveries the worker may hold: all that are configured, none while the destination is down, or
    /// one if this process has taken the probe.
    pub(super) fn update_limit(&self) {
        let ticket = *self.ticket.lock().unwrap_or_else(PoisonError::into_inner);
        let probes = ticket.is_some_and(|until| self.now() < until);
        let limit = match (self.is_down(), probes) {
            (false, _) => WorkerLimit::UpTo(self.settings.concurrency),
            (true, true) => WorkerLimit::Probe,
            (true, false) => WorkerLimit::UpTo(0),
        };
        self.limit.send_if_modified(|now| std::mem::replace(now, limit) != limit);
    }
}

/// Returns the lane that a failure counts against: the key's, or the item's if it has no key.
fn failure_lane(got: &Delivery) -> Lane {
    match (&got.key, got.items.first()) {
        (Some(key), _) => Lane::from_key(key),
        (None, Some(item)) => Key::new(item.id.as_str()).map_or(Lane(got.reference.seq.0), |id| Lane::from_key(&id)),
        (None, None) => Lane(got.reference.seq.0),
    }
}
