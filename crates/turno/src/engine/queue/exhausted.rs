//! Retrying or counting many exhausted items at once.

use super::QueueHandle;
use crate::engine::access::Needs;
use crate::error::Error;
use crate::store::{ItemQuery, ItemRecord};
use tokio::task::JoinSet;
use turno_core::access::Permission;
use turno_core::id::{Key, Seq};
use turno_core::limits::{ANSWER_BYTES, BATCH_MAX};
use turno_core::queue::{ItemState, Manage};
use turno_core::time::Time;

/// Retries that run at the same time.
const TOGETHER: u32 = 64;

/// Selects exhausted items that meet all of the given conditions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exhausted {
    /// Only items of this key.
    pub key: Option<Key>,
    /// Only items whose last error contains this text.
    pub error: Option<String>,
    /// Only items exhausted at this time or later.
    pub since: Option<Time>,
}

impl Exhausted {
    fn matches(&self, record: &ItemRecord) -> bool {
        let error_contains = |part: &String| record.errors.last().is_some_and(|error| error.error.contains(part));
        let ended = record.errors.last().map(|error| error.at).or(record.done.as_ref().map(|done| done.at));
        self.error.as_ref().is_none_or(error_contains)
            && self.since.is_none_or(|since| ended.is_some_and(|at| since <= at))
    }
}

impl QueueHandle {
    /// Queues exhausted items again, of one key or of all, oldest first and at most `limit`. Returns how many. Each
    /// retry has its own transaction and its own audit entry.
    ///
    /// ```
    /// # use turno::queue::{Claim, Draft, Settlement};
    /// # turno_testkit::queue_example(async |_, queue| {
    /// # use turno::{queue::Act, id::Span};
    /// queue.enqueue(vec![Draft::json("hola")?]).await?;
    /// let reference = queue.claim(Claim::by("worker-1")).await?[0].reference;
    /// let give_up = Act::Fail { error: "no route".to_owned(), item: None, retry_in: None, give_up: true };
    /// queue.settle(vec![Settlement { reference, act: give_up }]).await?;
    /// assert_eq!(queue.retry_exhausted(None, 1_000).await?, 1);
    /// assert_eq!(queue.retry_exhausted(None, 1_000).await?, 0, "no exhausted item is left");
    /// # Ok(()) });
    /// ```
    pub async fn retry_exhausted(&self, key: Option<Key>, limit: u32) -> Result<u64, Error> {
        self.retry_matching(&Exhausted { key, ..Exhausted::default() }, limit).await
    }

    /// Queues matching exhausted items again, oldest first and at most `limit`. Returns how many. Each retry has its
    /// own transaction and its own audit entry.
    ///
    /// ```
    /// # use turno::queue::{Claim, Draft, Exhausted, Settlement};
    /// # turno_testkit::queue_example(async |_, queue| {
    /// # use turno::{queue::Act, id::Span};
    /// queue.enqueue(vec![Draft::json("hola")?, Draft::json("adiós")?]).await?;
    /// for (got, error) in queue.claim(Claim::by("worker-1").max(2)).await?.iter().zip(["no route", "bad address"]) {
    ///     let act = Act::Fail { error: error.to_owned(), item: None, retry_in: None, give_up: true };
    ///     queue.settle(vec![Settlement { reference: got.reference, act }]).await?;
    /// }
    /// let unreachable = Exhausted { error: Some("route".to_owned()), ..Exhausted::default() };
    /// assert_eq!(queue.count_matching(&unreachable, 1_000).await?, 1, "a preview");
    /// assert_eq!(queue.retry_matching(&unreachable, 1_000).await?, 1);
    /// # Ok(()) });
    /// ```
    pub async fn retry_matching(&self, which: &Exhausted, limit: u32) -> Result<u64, Error> {
        self.prepare_manage().await?;
        let (mut left, mut after, mut sum) = (limit as usize, None, 0);
        while left > 0 {
            let Some((found, last)) = self.exhausted(which, after, TOGETHER).await? else { break };
            after = Some(last);
            let chosen: Vec<ItemRecord> = found.into_iter().take(left).collect();
            left -= chosen.len();
            // Concurrent retries can share one flush of the disk.
            let mut retries = JoinSet::new();
            for record in chosen {
                let queue = self.clone();
                retries.spawn(async move { queue.manage_one(record.body.id, Manage::Retry).await });
            }
            while let Some(retried) = retries.join_next().await {
                sum += u64::from(retried.map_err(|_| Error::Closed)??.is_ok());
            }
        }
        Ok(sum)
    }

    /// Counts the matching exhausted items, up to `limit`: a preview of [`QueueHandle::retry_matching`].
    ///
    /// ```
    /// # use turno::queue::Exhausted;
    /// # turno_testkit::queue_example(async |_, queue| {
    /// assert_eq!(queue.count_matching(&Exhausted::default(), 1_000).await?, 0);
    /// # Ok(()) });
    /// ```
    pub async fn count_matching(&self, which: &Exhausted, limit: u32) -> Result<u64, Error> {
        self.prepare_manage().await?;
        let (mut after, mut sum) = (None, 0);
        while sum < u64::from(limit) {
            let Some((found, last)) = self.exhausted(which, after, BATCH_MAX as u32).await? else { break };
            after = Some(last);
            sum += found.len() as u64;
        }
        Ok(sum.min(limit.into()))
    }

    /// Returns the matching items of the next page and the page's last sequence number. `None` at the end.
    async fn exhausted(
        &self,
        which: &Exhausted,
        after: Option<Seq>,
        limit: u32,
    ) -> Result<Option<(Vec<ItemRecord>, Seq)>, Error> {
        let (state, key) = (Some(ItemState::Exhausted), which.key.clone());
        let query = ItemQuery { state, key, after, limit, bytes: ANSWER_BYTES, ..ItemQuery::without_payloads() };
        let mut found = self.records(&*self.row().await?, query).await?.items;
        let Some(last) = found.last().map(|record| record.body.seq) else {
            return Ok(None);
        };
        found.retain(|record| which.matches(record));
        Ok(Some((found, last)))
    }

    /// Checks `queues.manage` and takes in the queue's rows from the intake.
    async fn prepare_manage(&self) -> Result<(), Error> {
        self.turno.authorize_read(Needs::permission(Permission::QueuesManage).on_queue(self.name())).await?;
        let row = self.row().await?;
        self.turno.inner.intake.read(row.id).await.map(drop)
    }
}
