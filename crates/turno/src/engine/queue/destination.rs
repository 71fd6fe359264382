//! How a queue's destination is doing, for whoever sends its deliveries somewhere: shared by all processes.
//!
//! What is known is read, changed by the rules of the core, and stored if nobody else was faster; otherwise it is
//! looked at anew.

use super::QueueHandle;
use crate::engine::Turno;
use crate::engine::access::Needs;
use crate::error::Error;
use crate::store::ItemQuery;
use turno_core::access::Permission;
use turno_core::destination::{Destination, Failure, REVIVED};
use turno_core::event::{Event, Topic};
use turno_core::id::QueueId;
use turno_core::queue::{ItemState, Manage};
use turno_core::time::{Span, Time};

const CONSUME: Needs<'static> = Needs::of(Permission::QueuesConsume);
/// Exhausted items that are looked at together when a destination is back.
const PAGE: u32 = 64;

impl Turno {
    /// The destinations that are not well, by the numbers of their queues.
    pub async fn destinations(&self) -> Result<Vec<(QueueId, Destination)>, Error> {
        self.reads(Needs::READING).await?;
        Ok(self.inner.store.destinations().await?)
    }
}

impl QueueHandle {
    /// How the destination is doing; nothing if it never failed.
    ///
    /// ```
    /// # use turno::*;
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// # let dir = std::env::temp_dir().join(format!("turno-doc-destination-{}", std::process::id()));
    /// # std::fs::create_dir_all(&dir).unwrap();
    /// # let turno = Turno::open(&format!("sqlite:{}/doc.db", dir.display())).await?;
    /// # let queue = turno.put_queue("users", Policy::of(Kind::Sync)).await?;
    /// # use turno::core::{destination::Failure, id::Lane, time::Span};
    /// assert_eq!(queue.destination().await?, None);
    /// for key in [1, 2, 1] {
    ///     let failure = Failure { of: Lane(key), handed_at: turno.now(), error: "HTTP 503".to_owned(), unreached: false };
    ///     queue.destination_failed(&failure, Span::from_secs(30)).await?;
    /// }
    /// assert!(queue.destination().await?.is_some_and(|destination| destination.is_down()));
    /// queue.destination_succeeded().await?;
    /// assert!(queue.destination().await?.is_some_and(|destination| !destination.is_down()));
    /// # std::fs::remove_dir_all(&dir).unwrap();
    /// # Ok::<(), turno::Error>(()) }).unwrap();
    /// ```
    pub async fn destination(&self) -> Result<Option<Destination>, Error> {
        self.turno.reads(Needs::READING).await?;
        let row = self.row().await?;
        Ok(self.turno.inner.store.destination(row.id).await?)
    }

    /// A call failed; answers whether the destination was down before that, and how it is doing now. While it is down it
    /// is asked again after `probe`.
    pub async fn destination_failed(&self, failure: &Failure, probe: Span) -> Result<(bool, Destination), Error> {
        self.turno.reads(CONSUME).await?;
        let row = self.row().await?;
        loop {
            let before = self.turno.inner.store.destination(row.id).await?;
            let was_down = before.as_ref().is_some_and(Destination::is_down);
            let after = Destination::failed(before.clone(), failure, self.turno.now(), probe);
            if self.put(before.as_ref(), &after, None).await? {
                return Ok((was_down, after));
            }
        }
    }

    /// A call succeeded; answers how the destination is doing if that changed anything.
    pub async fn destination_succeeded(&self) -> Result<Option<Destination>, Error> {
        self.change(None, |before| before?.succeeded()).await
    }

    /// Takes the probe of a destination that is down, if one is due; of all who ask, one gets it. If nothing is heard of
    /// it, the next one is due after `hold`.
    pub async fn destination_probe(&self, hold: Span) -> Result<Option<Destination>, Error> {
        self.change(None, |before| before?.probing(self.turno.now(), hold)).await
    }

    /// Another endpoint has taken the place of the one that was down: it is asked at once.
    pub async fn destination_replaced(&self) -> Result<Option<Destination>, Error> {
        self.change(None, |before| before?.replaced(self.turno.now())).await
    }

    /// What was exhausted since then is revived, so many; see [`QueueHandle::revive`]. Where nothing was, nothing is told.
    pub async fn destination_revived(&self, since: Time, count: u64) -> Result<Option<Destination>, Error> {
        self.change((count > 0).then(|| count.to_string()), |before| before?.revived(since)).await
    }

    async fn change(
        &self,
        detail: Option<String>,
        change: impl Fn(Option<Destination>) -> Option<Destination>,
    ) -> Result<Option<Destination>, Error> {
        self.turno.reads(CONSUME).await?;
        let row = self.row().await?;
        loop {
            let before = self.turno.inner.store.destination(row.id).await?;
            let Some(after) = change(before.clone()) else { return Ok(None) };
            if self.put(before.as_ref(), &after, detail.clone()).await? {
                return Ok(Some(after));
            }
        }
    }

    /// Stores what became of a destination, and tells it if it is news.
    async fn put(
        &self,
        before: Option<&Destination>,
        after: &Destination,
        more: Option<String>,
    ) -> Result<bool, Error> {
        let row = self.row().await?;
        let news = after.news(before).filter(|(name, _)| *name != REVIVED || more.is_some());
        let news = news.map(|(name, detail)| Event {
            topic: Topic::of(row.policy.kind),
            name: name.into(),
            resource: row.name.as_str().into(),
            key: None,
            at: self.turno.now(),
            fence: None,
            by: None,
            detail: detail.or(more),
        });
        let told = news.is_some();
        let stored = self.turno.inner.store.put_destination(row.id, after.clone(), news).await?;
        if stored && told {
            self.turno.inner.signals.wrote.notify_one();
        }
        Ok(stored)
    }

    /// Sends round again what was exhausted since then, because its destination is back, oldest first and at most
    /// `limit`; answers how many. Each is audited as `sync_revived`. What changed or was retried meanwhile stays as it is.
    ///
    /// ```
    /// # use turno::*;
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// # let dir = std::env::temp_dir().join(format!("turno-doc-revive-{}", std::process::id()));
    /// # std::fs::create_dir_all(&dir).unwrap();
    /// # let turno = Turno::open(&format!("sqlite:{}/doc.db", dir.display())).await?;
    /// # let queue = turno.put_queue("users", Policy::of(Kind::Sync)).await?;
    /// # use turno::core::{queue::Act, time::Span};
    /// queue.enqueue(vec![Draft::json("ana")?.key("1")?]).await?;
    /// let got = queue.claim("worker-1", 1, Span::ZERO).await?.remove(0);
    /// let give_up = Act::Fail { error: "no route".to_owned(), item: None, retry_in: None, give_up: true };
    /// queue.settle(vec![Settlement { handed: got.handed, act: give_up }]).await?;
    /// assert_eq!(queue.revive(turno.now() + Span::from_secs(1), 10).await?, 0, "it was exhausted earlier");
    /// assert_eq!(queue.revive(got.now, 10).await?, 1);
    /// # std::fs::remove_dir_all(&dir).unwrap();
    /// # Ok::<(), turno::Error>(()) }).unwrap();
    /// ```
    pub async fn revive(&self, since: Time, limit: u32) -> Result<u64, Error> {
        self.turno.reads(Needs::of(Permission::QueuesManage)).await?;
        let row = self.row().await?;
        let (mut after, mut sum) = (None, 0);
        while sum < u64::from(limit) {
            let query = ItemQuery { state: Some(ItemState::Exhausted), key: None, after, limit: PAGE };
            let found = self.records(&row, query).await?;
            let Some(last) = found.last() else { break };
            after = Some(last.body.seq);
            for record in found {
                let failed = record.errors.last().map(|error| error.at);
                let exhausted = record.done.as_ref().map(|done| done.at).or(failed);
                if sum < u64::from(limit) && exhausted.is_some_and(|at| at >= since) {
                    sum += u64::from(self.manage_one(record.body.id, Manage::Revive).await?.is_ok());
                }
            }
        }
        Ok(sum)
    }
}
