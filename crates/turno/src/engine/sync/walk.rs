//! Walks over all keys of a source, to send them again or to compare them with the last deliveries.
//!
//! A walk reads pages with short statements and pauses in between, so that it can run on a table of any size beside
//! its applications. Rows are read in the order of the key. An interrupted walk can continue after the last reported
//! key.

use super::SyncHandle;
use crate::engine::queue::Draft;
use crate::error::Error;
use crate::store::Walk;
use std::time::Duration;
use turno_core::audit::AuditAction;
use turno_core::event::EventName;
use turno_core::id::{Key, QueueId};
use turno_core::sync::{Difference, KeyState};

/// Keys per page: a few milliseconds of the database's time.
const PAGE: u32 = 500;
/// The pause between two pages.
const PAUSE: Duration = Duration::from_millis(20);
/// The largest number of listed differences.
const LISTED: usize = 1_000;

/// The largest number of listed keys that cannot be an item's key: enough to find their origin.
const UNFIT_LISTED: usize = 20;

/// The progress of a walk.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SyncProgress {
    /// How many keys were read.
    pub keys: u64,
    /// How many of them were queued.
    pub queued: u64,
    /// How many keys cannot be an item's key, because they are empty, too long or have control characters.
    pub unfit: u64,
    /// The first of those keys.
    pub unfit_keys: Vec<String>,
    /// The last key read from the source's rows: an interrupted walk continues after it. `None` before the first row
    /// and after the last one.
    pub after: Option<String>,
}

/// The result of a check.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SyncCheck {
    /// The progress, including how many differences were queued.
    pub progress: SyncProgress,
    /// How many keys differ.
    pub differing: u64,
    /// How many more keys differ but have a pending item that will correct them.
    pub on_its_way: u64,
    /// Keys that differ, with the difference; up to a thousand.
    pub differences: Vec<(String, Difference)>,
}

impl SyncHandle {
    /// Queues a key, whether or not a row exists for it: the data are read at the hand-out. Returns the key in the
    /// table's form. Audited.
    pub async fn resync(&self, key: Key) -> Result<Key, Error> {
        self.require_manage().await?;
        self.tables()?;
        self.queue().await?;
        let keys = self.keys(vec![key.clone()]).await?;
        self.mark(keys.clone()).await?;
        let key = keys.into_iter().next().unwrap_or(key);
        self.record_action(
            AuditAction::SyncResync,
            EventName::SourceResent,
            key.to_string(),
            [("key", key.to_string().into())],
        )
        .await?;
        Ok(key)
    }

    /// Queues every key of the source, after `after` if given, and then the delivered keys that have no row any more.
    /// Calls `progress` after every page. Audited.
    pub async fn resync_all(
        &self,
        after: Option<String>,
        mut progress: impl FnMut(&SyncProgress),
    ) -> Result<SyncProgress, Error> {
        let start = SyncProgress { after, ..SyncProgress::default() };
        let wanted = |kept: &KeyState| kept.data.is_some() || !kept.left;
        let mut queued = 0;
        let on_page = |_: &[KeyState], so_far: &SyncProgress| {
            queued = so_far.queued;
            progress(so_far);
        };
        let done = self.walk(start, wanted, true, on_page).await;
        // Audited also if the walk stopped midway, because its keys are queued.
        self.record_walk("all", queued, done.is_ok()).await?;
        done
    }

    async fn record_walk(&self, what: &str, queued: u64, complete: bool) -> Result<(), Error> {
        if queued == 0 {
            return Ok(());
        }
        let details = [("keys", what.into()), ("queued", queued.into()), ("complete", complete.into())];
        self.record_action(AuditAction::SyncResync, EventName::SourceResent, format!("{what}: {queued}"), details).await
    }

    /// Compares every key of the source, and every delivered key, with its last delivery. Queues the keys that differ
    /// if `queue_differences` is set. A key with a pending item does not count as differing.
    pub async fn check(
        &self,
        queue_differences: bool,
        after: Option<String>,
        mut progress: impl FnMut(&SyncProgress),
    ) -> Result<SyncCheck, Error> {
        let start = SyncProgress { after, ..SyncProgress::default() };
        let mut check = SyncCheck::default();
        let differs = |kept: &KeyState| kept.difference().is_some();
        let mut queued = 0;
        let done = self.walk(start, differs, queue_differences, |page, so_far| {
            queued = so_far.queued;
            check.on_its_way += page.iter().filter(|kept| kept.on_its_way().is_some()).count() as u64;
            for (key, difference) in page.iter().filter_map(|kept| Some((&kept.key, kept.difference()?))) {
                check.differing += 1;
                if check.differences.len() < LISTED {
                    check.differences.push((key.clone(), difference));
                }
            }
            progress(so_far);
        });
        let done = done.await;
        self.record_walk("differences", queued, done.is_ok()).await?;
        check.progress = done?;
        Ok(check)
    }

    async fn walk(
        &self,
        start: SyncProgress,
        wanted: impl Fn(&KeyState) -> bool,
        queue_them: bool,
        mut on_page: impl FnMut(&[KeyState], &SyncProgress),
    ) -> Result<SyncProgress, Error> {
        self.require_manage().await?;
        self.tables()?;
        let queue = self.queue().await?;
        let mut so_far = start;
        for walk in [Walk::Rows, Walk::Delivered] {
            let mut after = so_far.after.take();
            loop {
                let page = self.page(queue, walk, after.clone()).await?;
                let Some(last) = page.last() else { break };
                after = Some(last.key.clone());
                let full = page.len() >= PAGE as usize;
                // Delivered keys that have a row were read with the rows.
                let page: Vec<KeyState> =
                    page.into_iter().filter(|kept| walk == Walk::Rows || kept.data.is_none()).collect();
                self.take(&page, &wanted, queue_them, &mut so_far).await?;
                so_far.after = after.clone().filter(|_| walk == Walk::Rows);
                on_page(&page, &so_far);
                if !full {
                    break;
                }
                tokio::time::sleep(PAUSE).await;
            }
            so_far.after = None;
        }
        Ok(so_far)
    }

    async fn page(&self, queue: QueueId, walk: Walk, after: Option<String>) -> Result<Vec<KeyState>, Error> {
        // Take in the marks first: a mark in the intake is found only by reading all of it, a queued one by its key.
        self.turno.inner.intake.read(queue).await?;
        Ok(self.tables()?.walk(self.source.clone(), queue, walk, after, PAGE).await??)
    }

    async fn take(
        &self,
        page: &[KeyState],
        wanted: &impl Fn(&KeyState) -> bool,
        queue_them: bool,
        so_far: &mut SyncProgress,
    ) -> Result<(), Error> {
        so_far.keys += page.len() as u64;
        let mut keys = Vec::new();
        for kept in page.iter().filter(|kept| wanted(kept)) {
            match Key::new(kept.key.as_str()) {
                Ok(key) => keys.push(key),
                Err(_) => {
                    so_far.unfit += 1;
                    if so_far.unfit_keys.len() < UNFIT_LISTED {
                        so_far.unfit_keys.push(kept.key.clone());
                    }
                }
            }
        }
        if queue_them && !keys.is_empty() {
            so_far.queued += keys.len() as u64;
            self.mark(keys).await?;
        }
        Ok(())
    }

    async fn mark(&self, keys: Vec<Key>) -> Result<(), Error> {
        let draft = |key| Draft { key: Some(key), payload: "null".into(), ..Draft::default() };
        // The engine itself enqueues: the caller needs `sync.manage`, which was checked, not the right to produce
        // items.
        let queue = self.engine().queue(self.source.queue.clone()).await?;
        queue.enqueue(keys.into_iter().map(draft).collect()).await.map(drop)
    }
}
