//! The deliveries that a worker holds: running, or waiting to be settled.
//!
//! Times are arguments, so that tests need no waiting.

use super::handler::Progress;
use crate::engine::queue::Delivery;
use std::collections::BTreeMap;
use tokio::sync::watch;
use tokio::task::AbortHandle;
use turno_core::id::Fence;
use turno_core::queue::{Act, DeliveryRef};
use turno_core::time::{Span, Time};

/// A delivery is renewed after this fraction of its ttl, so that two more tries fit before it expires.
const RENEW_AT: i64 = 3;
/// A failed call is repeated after this fraction of the shortest ttl held.
const RETRY_AT: i64 = 10;
/// The bounds of the pause before a failed call is repeated.
const RETRY: (Span, Span) = (Span(10), Span(1_000));

/// One delivery.
pub(super) struct Holding {
    pub(super) reference: DeliveryRef,
    expires_at: Time,
    /// The delivery's ttl.
    lasts: Span,
    renew_at: Time,
    pub(super) stage: Stage,
}

pub(super) enum Stage {
    /// The handler is running.
    Running { handler: AbortHandle, progress: Progress, alive: watch::Sender<()> },
    /// The handler has ended; settle with this act.
    Over(Act),
}

impl Holding {
    pub(super) fn new(got: &Delivery, stage: Stage) -> Holding {
        let lasts = got.expires_at - got.now;
        let renew_at = got.now + Span(lasts.0 / RENEW_AT);
        Holding { reference: got.reference, expires_at: got.expires_at, lasts, renew_at, stage }
    }

    fn runs(&self) -> bool {
        matches!(self.stage, Stage::Running { .. })
    }
}

/// The deliveries of a worker, by fence.
#[derive(Default)]
pub(super) struct Held {
    all: BTreeMap<Fence, Holding>,
    /// How long before its expiry a running delivery is given up.
    margin: Span,
}

impl Held {
    pub(super) fn with(margin: Span) -> Held {
        Held { margin, ..Held::default() }
    }

    /// Returns when a delivery is given up. The margin takes at most half of the ttl, so that the handler has the
    /// rest.
    fn ends_at(&self, holding: &Holding) -> Time {
        let margin = self.margin.min(Span(holding.lasts.0 / 2));
        if holding.runs() { Time(holding.expires_at.0.saturating_sub(margin.0)) } else { holding.expires_at }
    }

    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    pub(super) fn insert(&mut self, holding: Holding) {
        self.all.insert(holding.reference.fence, holding);
    }

    pub(super) fn remove(&mut self, fence: Fence) -> Option<Holding> {
        self.all.remove(&fence)
    }

    /// Marks a delivery as finished. `act` is `None` if the handler was dropped; then its progress decides.
    pub(super) fn finish(&mut self, fence: Fence, act: Option<Act>) {
        if let Some(holding) = self.all.get_mut(&fence)
            && let Stage::Running { progress, .. } = &holding.stage
        {
            let act = act.unwrap_or_else(|| progress.so_far());
            holding.stage = Stage::Over(act);
        }
    }

    /// Stores a renewal. The next one counts from `asked`, because the answer may have taken a while.
    pub(super) fn renewed(&mut self, fence: Fence, expires_at: Time, asked: Time) {
        if let Some(holding) = self.all.get_mut(&fence) {
            holding.expires_at = expires_at;
            holding.renew_at = asked + Span(holding.lasts.0 / RENEW_AT);
        }
    }

    /// Removes a running delivery that was lost. One that is finished finds out when it is settled.
    pub(super) fn lose(&mut self, fence: Fence) -> Option<Holding> {
        self.all.get(&fence).filter(|holding| holding.runs())?;
        self.all.remove(&fence)
    }

    /// Removes all deliveries.
    pub(super) fn clear(&mut self) -> Vec<Holding> {
        std::mem::take(&mut self.all).into_values().collect()
    }

    /// Removes the deliveries that have expired by `now`, margin included.
    pub(super) fn expire(&mut self, now: Time) -> Vec<Holding> {
        let over: Vec<Fence> =
            self.all.iter().filter(|(_, holding)| self.ends_at(holding) <= now).map(|(fence, _)| *fence).collect();
        over.into_iter().filter_map(|fence| self.all.remove(&fence)).collect()
    }

    /// Returns all running deliveries if one of them needs a renewal by `now`, because renewing them together costs
    /// one commit.
    pub(super) fn to_renew(&self, now: Time) -> Vec<DeliveryRef> {
        let running = || self.all.values().filter(|holding| holding.runs());
        if running().any(|holding| holding.renew_at <= now) {
            running().map(|holding| holding.reference).collect()
        } else {
            Vec::new()
        }
    }

    /// Returns up to `most` finished deliveries with their acts.
    pub(super) fn to_settle(&self, most: usize) -> Vec<(DeliveryRef, Act)> {
        let over = self.all.values().filter_map(|holding| match &holding.stage {
            Stage::Over(act) => Some((holding.reference, act.clone())),
            Stage::Running { .. } => None,
        });
        over.take(most).collect()
    }

    pub(super) fn next_expiry(&self) -> Option<Time> {
        self.all.values().map(|holding| self.ends_at(holding)).min()
    }

    pub(super) fn next_renewal(&self) -> Option<Time> {
        self.all.values().filter(|holding| holding.runs()).map(|holding| holding.renew_at).min()
    }

    /// Returns the pause before a failed call is repeated, so that several tries fit before an expiry.
    pub(super) fn retry_after(&self) -> Span {
        let shortest = self.all.values().map(|holding| holding.lasts).min().unwrap_or(RETRY.1);
        Span(shortest.0 / RETRY_AT).clamp(RETRY.0, RETRY.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use turno_core::id::{QueueId, Seq};

    fn finished(fence: i64, at: i64, lasts: i64) -> Holding {
        let reference =
            DeliveryRef { queue: QueueId(1), seq: Seq(fence + 100), lane: None, size: 1, fence: Fence(fence) };
        let (now, expires_at) = (Time(at), Time(at + lasts));
        let got = Delivery { reference, key: None, attempt: 1, revision: 0, now, expires_at, items: Vec::new() };
        Holding::new(&got, Stage::Over(Act::Return { error: None }))
    }

    fn running(fence: i64, at: i64, lasts: i64) -> Holding {
        let task = tokio::spawn(std::future::pending::<()>());
        let stage =
            Stage::Running { handler: task.abort_handle(), progress: Progress::default(), alive: watch::channel(()).0 };
        Holding { stage, ..finished(fence, at, lasts) }
    }

    #[tokio::test]
    async fn one_due_renewal_renews_all_running_deliveries() {
        let mut held = Held::default();
        held.insert(running(1, 0, 60_000));
        held.insert(running(2, 15_000, 60_000));
        held.insert(finished(3, 0, 60_000));
        assert!(held.to_renew(Time(19_999)).is_empty());
        let due: Vec<Fence> = held.to_renew(Time(20_000)).iter().map(|reference| reference.fence).collect();
        assert_eq!(due, [Fence(1), Fence(2)]);
        held.renewed(Fence(1), Time(80_000), Time(20_000));
        held.renewed(Fence(2), Time(80_000), Time(20_000));
        assert_eq!((held.next_renewal(), held.next_expiry()), (Some(Time(40_000)), Some(Time(60_000))));
    }

    #[tokio::test]
    async fn an_expired_delivery_is_removed_at_its_expiry_and_not_before() {
        let mut held = Held::default();
        held.insert(running(1, 0, 60_000));
        held.insert(finished(2, 0, 70_000));
        assert!(held.expire(Time(59_999)).is_empty());
        let gone: Vec<Fence> = held.expire(Time(60_000)).iter().map(|holding| holding.reference.fence).collect();
        assert_eq!((gone, held.len()), (vec![Fence(1)], 1));
    }

    #[tokio::test]
    async fn a_running_delivery_is_given_up_a_margin_before_expiry_a_finished_one_at_expiry() {
        let mut held = Held::with(Span(1_000));
        held.insert(running(1, 0, 60_000));
        held.insert(finished(2, 0, 60_000));
        held.insert(running(3, 58_500, 1_000));
        assert_eq!(held.next_expiry(), Some(Time(59_000)));
        assert!(held.expire(Time(58_999)).is_empty());
        let gone: Vec<Fence> = held.expire(Time(59_000)).iter().map(|holding| holding.reference.fence).collect();
        assert_eq!(gone, [Fence(1), Fence(3)], "the margin takes at most half of a short ttl");
        assert_eq!(held.len(), 1);
    }

    #[tokio::test]
    async fn a_late_renewal_does_not_remove_a_finished_delivery() {
        let mut held = Held::default();
        held.insert(running(1, 0, 60_000));
        held.finish(Fence(1), Some(Act::Ack { through: None }));
        assert!(held.lose(Fence(1)).is_none(), "the renewal is stale because of the ack");
        assert_eq!(held.to_settle(10).len(), 1);
    }

    #[test]
    fn the_retry_pause_fits_several_times_into_the_shortest_ttl() {
        let mut held = Held::default();
        held.insert(finished(1, 0, 60_000));
        assert_eq!(held.retry_after(), Span(1_000));
        held.insert(finished(2, 0, 100));
        assert_eq!(held.retry_after(), Span(10));
    }
}
