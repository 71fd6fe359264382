//! The state of a queue's destination, shared by all processes that send its deliveries.
//!
//! A change reads the state, applies the rules of the core, and stores the result only if the stored state is still
//! the same. Otherwise it starts again.

use super::{Delivery, DeliveryItem, QueueHandle};
use crate::engine::Turno;
use crate::engine::access::Needs;
use crate::error::Error;
use crate::store::{ItemQuery, ItemRecord};
use std::time::Duration;
use turno_core::access::Permission;
use turno_core::destination::{DeliveryFailure, Destination, round_began};
use turno_core::event::{Event, EventName, Topic};
use turno_core::id::{Instance, ItemId, QueueId, Seq};
use turno_core::limits::ANSWER_BYTES;
use turno_core::queue::{ItemState, Manage, ManageAnswer, WorkerName};
use turno_core::time::Time;

const CONSUME: Needs<'static> = Needs::permission(Permission::QueuesConsume);
/// Reading a destination needs this permission.
const READ: Needs<'static> = Needs::permission(Permission::QueuesRead);
/// Exhausted items read per page.
const PAGE: u32 = 64;

impl Turno {
    /// Returns the destinations that have failures or items to revive, by queue id.
    pub async fn destinations(&self) -> Result<Vec<(QueueId, Destination)>, Error> {
        self.authorize_read(READ).await?;
        Ok(self.inner.store.destinations().await?)
    }
}

impl QueueHandle {
    /// Returns the state of the destination. `None` if it never failed.
    ///
    /// ```
    /// # use turno::queue::{Kind, Policy};
    /// # turno_testkit::example(async |turno| {
    /// # let queue = turno.put_queue("users", Policy::for_kind(Kind::Sync)).await?;
    /// # use turno::core::{destination::DeliveryFailure, id::Lane};
    /// assert_eq!(queue.destination().await?, None);
    /// for key in [1, 2, 1] {
    ///     let (of, error) = (Lane(key), "HTTP 503".to_owned());
    ///     let failure = DeliveryFailure { of, handed_at: turno.now(), error, unreached: false, round_began: None };
    ///     queue.destination_failed(&failure, std::time::Duration::from_secs(30)).await?;
    /// }
    /// assert!(queue.destination().await?.is_some_and(|destination| destination.is_down()));
    /// queue.destination_succeeded().await?;
    /// assert!(queue.destination().await?.is_some_and(|destination| !destination.is_down()));
    /// # Ok(()) });
    /// ```
    pub async fn destination(&self) -> Result<Option<Destination>, Error> {
        self.turno.authorize_read(READ.on_queue(self.name())).await?;
        let row = self.row().await?;
        Ok(self.turno.inner.store.destination(row.id).await?)
    }

    /// Records a failed call. Returns whether the destination was down before, and its new state. While it is down,
    /// the next probe is due after `probe`.
    pub async fn destination_failed(
        &self,
        failure: &DeliveryFailure,
        probe: Duration,
    ) -> Result<(bool, Destination), Error> {
        self.turno.authorize_read(CONSUME.on_queue(self.name())).await?;
        let row = self.row().await?;
        loop {
            let before = self.turno.inner.store.destination(row.id).await?;
            let was_down = before.as_ref().is_some_and(Destination::is_down);
            let after = Destination::failed(before.clone(), failure, self.turno.now(), probe.into());
            if self.put(before.as_ref(), &after, None).await? {
                return Ok((was_down, after));
            }
        }
    }

    /// Records a successful call. Returns the new state if it changed.
    pub async fn destination_succeeded(&self) -> Result<Option<Destination>, Error> {
        self.change(None, |before| before?.succeeded(self.turno.now())).await
    }

    /// Takes the due probe of a destination that is down or has a stuck key. Of several callers, one gets it. If its
    /// result is not reported, the next probe is due after `hold`.
    pub async fn destination_probe(&self, hold: Duration) -> Result<Option<Destination>, Error> {
        self.change(None, |before| before?.probing(self.turno.now(), hold.into())).await
    }

    /// Records that another endpoint replaced the one that was down, so that it is probed at once.
    pub async fn destination_replaced(&self) -> Result<Option<Destination>, Error> {
        self.change(None, |before| before?.replaced(self.turno.now())).await
    }

    /// Records that `count` items exhausted since `since` were revived, see [`QueueHandle::revive`]. Writes no event
    /// if `count` is 0.
    pub async fn destination_revived(&self, since: Time, count: u64) -> Result<Option<Destination>, Error> {
        self.change((count > 0).then(|| count.to_string()), |before| before?.revived(since)).await
    }

    async fn change(
        &self,
        detail: Option<String>,
        change: impl Fn(Option<Destination>) -> Option<Destination>,
    ) -> Result<Option<Destination>, Error> {
        self.turno.authorize_read(CONSUME.on_queue(self.name())).await?;
        let row = self.row().await?;
        loop {
            let before = self.turno.inner.store.destination(row.id).await?;
            let Some(after) = change(before.clone()) else { return Ok(None) };
            if self.put(before.as_ref(), &after, detail.clone()).await? {
                return Ok(Some(after));
            }
        }
    }

    /// Stores the new state of a destination, with its event if there is one. Returns `false` if another process was
    /// faster.
    async fn put(
        &self,
        before: Option<&Destination>,
        after: &Destination,
        more: Option<String>,
    ) -> Result<bool, Error> {
        let row = self.row().await?;
        let news = after.news(before).filter(|(name, _)| *name != EventName::DestinationRevived || more.is_some());
        let news = news.map(|(name, detail)| Event {
            topic: Topic::for_kind(row.policy.kind),
            name,
            resource: row.name.as_str().into(),
            key: None,
            queue: None,
            at: self.turno.now(),
            fence: None,
            by: None,
            detail: detail.or(more),
            to: Vec::new(),
        });
        let has_event = news.is_some();
        let stored = self.turno.inner.store.put_destination(row.id, after.clone(), news).await?;
        if stored && has_event {
            self.turno.inner.signals.wrote.notify_one();
        }
        Ok(stored)
    }

    /// Returns when the first failed attempt of the present round of a delivery's item was handed out, for
    /// [`DeliveryFailure::round_began`].
    pub async fn round_began(&self, got: &Delivery) -> Result<Time, Error> {
        let Some(first) = got.items.first() else { return Ok(got.now) };
        let record = self.item(first.id.clone()).await?;
        Ok(record.map_or(got.now, |record| round_began(&record.errors, got.attempt, got.now)))
    }

    /// Hands out an exhausted item of a sync queue as a probe. Returns `None` if no item was exhausted since `since`.
    /// Chooses the item that was handed out least recently, so that one key that always fails does not block the
    /// probes.
    ///
    /// The caller settles the delivery before it expires: with [`Act::Park`] if the probe failed, otherwise with an
    /// ack after [`QueueHandle::probe_succeeded`].
    ///
    /// [`Act::Park`]: turno_core::queue::Act::Park
    pub async fn probe_exhausted(&self, instance: &str, since: Time) -> Result<Option<Delivery>, Error> {
        self.turno.authorize_read(Needs::permission(Permission::QueuesManage).on_queue(self.name())).await?;
        let mut after = None;
        let mut chosen: Option<ItemRecord> = None;
        while let Some((found, last)) = self.exhausted_by(since, Time(i64::MAX), after).await? {
            after = Some(last);
            let claimed = |record: &ItemRecord| record.item.as_ref().and_then(|item| item.claimed_at);
            chosen = chosen.into_iter().chain(found).min_by_key(claimed);
        }
        let Some(record) = chosen else { return Ok(None) };
        let taker = WorkerName::from(Instance::new(instance)?.as_str());
        let body = record.body;
        let answer = self.manage_one(body.id.clone(), Manage::Probe { taker }).await?;
        // The item changed or was retried in the meantime.
        let Ok(ManageAnswer::Probing(probe)) = answer else { return Ok(None) };
        let attempt = probe.attempt;
        let (id, enqueued_at) = (body.id, body.enqueued_at);
        let item = DeliveryItem { id, action: body.action, payload: body.payload, attempt, enqueued_at };
        Ok(Some(Delivery {
            reference: probe.reference,
            key: body.key,
            attempt,
            revision: probe.revision,
            now: probe.now,
            expires_at: probe.expires_at,
            items: vec![item],
        }))
    }

    /// Records that the destination accepted the exhausted item of a probe. Audited as `sync_revived`.
    pub async fn probe_succeeded(&self, id: ItemId) -> Result<(), Error> {
        self.turno.authorize_read(Needs::permission(Permission::QueuesManage).on_queue(self.name())).await?;
        self.manage_one(id, Manage::Probed).await.map(drop)
    }

    /// Queues again up to `limit` items that were exhausted between `since` and `until`, oldest first, because their
    /// destination is back. Returns how many. `until` applies to the hand-out of the last attempt, because items
    /// handed out later failed for another reason. Each is audited as `sync_revived`. Items that changed or were
    /// retried meanwhile stay unchanged.
    ///
    /// ```
    /// # use turno::queue::{Claim, Draft, Kind, Policy, Settlement};
    /// # turno_testkit::example(async |turno| {
    /// # let queue = turno.put_queue("users", Policy::for_kind(Kind::Sync)).await?;
    /// # use turno::{queue::Act, id::{Span, Time}};
    /// queue.enqueue(vec![Draft::json("ana")?.key("1")?]).await?;
    /// let got = queue.claim(Claim::by("worker-1")).await?.remove(0);
    /// let give_up = Act::Fail { error: "no route".to_owned(), item: None, retry_in: None, give_up: true };
    /// queue.settle(vec![Settlement { reference: got.reference, act: give_up }]).await?;
    /// let later = turno.now() + Span::from_secs(1);
    /// assert_eq!(queue.revive(later, later, 10).await?, 0, "the item was exhausted earlier");
    /// assert_eq!(queue.revive(got.now, later, 10).await?, 1);
    /// # Ok(()) });
    /// ```
    pub async fn revive(&self, since: Time, until: Time, limit: u32) -> Result<u64, Error> {
        self.turno.authorize_read(Needs::permission(Permission::QueuesManage).on_queue(self.name())).await?;
        let (mut after, mut sum) = (None, 0);
        while sum < u64::from(limit)
            && let Some((found, last)) = self.exhausted_by(since, until, after).await?
        {
            after = Some(last);
            for record in found.into_iter().take(usize::try_from(u64::from(limit) - sum).unwrap_or(usize::MAX)) {
                sum += u64::from(self.manage_one(record.body.id, Manage::Revive).await?.is_ok());
            }
        }
        Ok(sum)
    }

    /// Returns whether a delivery handed out at or before `then` is still in process.
    pub async fn handed_out_before(&self, then: Time) -> Result<bool, Error> {
        self.turno.authorize_read(READ.on_queue(self.name())).await?;
        let row = self.row().await?;
        let mut after = None;
        loop {
            let found = self.records(&row, page(ItemState::InProcess, after)).await?.items;
            let Some(last) = found.last() else { return Ok(false) };
            after = Some(last.body.seq);
            if found.iter().filter_map(|record| record.item.as_ref()?.claimed_at).any(|at| at <= then) {
                return Ok(true);
            }
        }
    }

    /// Returns the exhausted items of the next page that belong to the outage, and the page's last sequence number.
    /// `None` at the end.
    async fn exhausted_by(
        &self,
        since: Time,
        until: Time,
        after: Option<Seq>,
    ) -> Result<Option<(Vec<ItemRecord>, Seq)>, Error> {
        let mut found = self.records(&*self.row().await?, page(ItemState::Exhausted, after)).await?.items;
        let Some(last) = found.last().map(|record| record.body.seq) else { return Ok(None) };
        found.retain(|record| {
            let failed = record.errors.last();
            let ended = record.done.as_ref().map(|done| done.at).or(failed.map(|error| error.at));
            let reference = failed.map(|error| error.handed_at.unwrap_or(error.at)).or(ended);
            ended.is_some_and(|at| at >= since) && reference.is_some_and(|at| at <= until)
        });
        Ok(Some((found, last)))
    }
}

/// Returns the query for the next page of items in a state. Their errors bound the page too.
fn page(state: ItemState, after: Option<Seq>) -> ItemQuery {
    ItemQuery { state: Some(state), after, limit: PAGE, bytes: ANSWER_BYTES, ..ItemQuery::without_payloads() }
}
