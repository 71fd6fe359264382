//! Going through all keys of a source: to send them again, or to compare them with what was delivered.
//!
//! In pages, each a short statement of its own, with a pause between them: a table of any size can be gone through beside
//! its applications. Rows are walked through in the order of the key; a walk that was interrupted goes on behind the last key it told.

use super::SyncHandle;
use crate::engine::queue::Draft;
use crate::error::Error;
use crate::store::Walk;
use std::time::Duration;
use turno_core::id::{Key, QueueId};
use turno_core::sync::{Difference, Kept};

/// Keys in one page: some milliseconds of the database's time.
const PAGE: u32 = 500;
/// How long the database is left alone between two pages.
const PAUSE: Duration = Duration::from_millis(20);
/// Differences that are listed: who has more queues them all.
const LISTED: usize = 1_000;

/// Keys that cannot be an event and are listed: enough to find out where they come from.
const UNFIT_LISTED: usize = 20;

/// How far a walk is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SyncProgress {
    /// How many keys were gone through.
    pub keys: u64,
    /// How many of them were put into the queue.
    pub queued: u64,
    /// How many cannot be an event, because the key is empty, too long or has control characters.
    pub unfit: u64,
    /// The first of them.
    pub unfit_keys: Vec<String>,
    /// The last key among the source's rows: the walk can be taken up behind it. Nothing before the first, and once all
    /// rows are done.
    pub after: Option<String>,
}

/// What a comparison found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SyncCheck {
    /// How far it went, and how many differences were queued.
    pub progress: SyncProgress,
    /// How many keys differ.
    pub differing: u64,
    /// How many differ besides, and an event that is on its way will bring them in line.
    pub on_its_way: u64,
    /// Keys that differ, with how; up to a thousand of them.
    pub differences: Vec<(String, Difference)>,
}

impl SyncHandle {
    /// Puts a key into the queue, whether a row speaks for it or not: what is sent is decided when it is handed out. Answers
    /// the key as the table has it. Audited.
    pub async fn resync(&self, key: Key) -> Result<Key, Error> {
        self.managed().await?;
        self.tables()?;
        self.queue().await?;
        let keys = self.keys(vec![key.clone()]).await?;
        self.mark(keys.clone()).await?;
        let key = keys.into_iter().next().unwrap_or(key);
        self.noted("sync_resync", "source.resent", key.to_string(), [("key", key.to_string().into())]).await?;
        Ok(key)
    }

    /// Puts every key of the source into the queue, behind `after` if it is given, and then those that were delivered and
    /// have no row any more. `progress` is told after every page. Audited.
    pub async fn resync_all(
        &self,
        after: Option<String>,
        mut progress: impl FnMut(&SyncProgress),
    ) -> Result<SyncProgress, Error> {
        let start = SyncProgress { after, ..SyncProgress::default() };
        let wanted = |kept: &Kept| kept.data.is_some() || !kept.left;
        let mut queued = 0;
        let told = |_: &[Kept], so_far: &SyncProgress| {
            queued = so_far.queued;
            progress(so_far);
        };
        let done = self.walk(start, wanted, true, told).await;
        // Also of a walk that stopped midway: what it has queued is queued.
        self.noted_walk("all", queued, done.is_ok()).await?;
        done
    }

    async fn noted_walk(&self, what: &str, queued: u64, complete: bool) -> Result<(), Error> {
        if queued == 0 {
            return Ok(());
        }
        let details = [("keys", what.into()), ("queued", queued.into()), ("complete", complete.into())];
        self.noted("sync_resync", "source.resent", format!("{what}: {queued}"), details).await
    }

    /// Compares every key of the source, and every key that was delivered, with what was delivered last; puts those that
    /// differ into the queue if asked to. What is on its way is no difference.
    pub async fn check(
        &self,
        queue_differences: bool,
        after: Option<String>,
        mut progress: impl FnMut(&SyncProgress),
    ) -> Result<SyncCheck, Error> {
        let start = SyncProgress { after, ..SyncProgress::default() };
        let mut check = SyncCheck::default();
        let differs = |kept: &Kept| kept.difference().is_some();
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
        self.noted_walk("differences", queued, done.is_ok()).await?;
        check.progress = done?;
        Ok(check)
    }

    async fn walk(
        &self,
        start: SyncProgress,
        wanted: impl Fn(&Kept) -> bool,
        queue_them: bool,
        mut told: impl FnMut(&[Kept], &SyncProgress),
    ) -> Result<SyncProgress, Error> {
        self.managed().await?;
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
                // What has a row was seen among the rows.
                let page: Vec<Kept> =
                    page.into_iter().filter(|kept| walk == Walk::Rows || kept.data.is_none()).collect();
                self.take(&page, &wanted, queue_them, &mut so_far).await?;
                so_far.after = after.clone().filter(|_| walk == Walk::Rows);
                told(&page, &so_far);
                if !full {
                    break;
                }
                tokio::time::sleep(PAUSE).await;
            }
            so_far.after = None;
        }
        Ok(so_far)
    }

    async fn page(&self, queue: QueueId, walk: Walk, after: Option<String>) -> Result<Vec<Kept>, Error> {
        // What was left is found by its key once it is taken in, and by reading all of it before.
        self.turno.inner.intake.read(queue).await?;
        Ok(self.tables()?.walk(self.source.clone(), queue, walk, after, PAGE).await??)
    }

    async fn take(
        &self,
        page: &[Kept],
        wanted: &impl Fn(&Kept) -> bool,
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
        // What may be sent again was decided by whoever manages synchronisation, not by who produces items.
        let queue = self.engine().queue(self.source.queue.clone()).await?;
        queue.enqueue(keys.into_iter().map(draft).collect()).await.map(drop)
    }
}
