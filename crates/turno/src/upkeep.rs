//! Forgetting what is old enough, and noting when tokens were used.
//!
//! Nothing depends on when this runs. What is purged by retention is counted and audited; unfinished work is never
//! forgotten, however old.

use crate::clock::Clock;
use crate::engine::Turno;
use crate::engine::access::{Access, Needs};
use crate::engine::queue::QueueHandle;
use crate::error::Error;
use crate::store::{Purge, Store};
use std::sync::Arc;
use turno_core::access::Permission;
use turno_core::audit::Actor;
use turno_core::limits::ANSWER_KEPT;
use turno_core::queue::Kind;
use turno_core::time::{Span, Time};

/// Things forgotten in one transaction: little enough to hold nobody up.
const AT_ONCE: u32 = 2_000;
/// How long live events are kept for those who resume; who comes later is told to read everything anew.
const EVENTS_KEPT: Span = Span::from_secs(7 * 86_400);
/// A free lease is kept at least this long, whatever the options say: it remembers when it was last decided, which no
/// clock of another instance may fall behind.
const LEASES_KEPT: Span = Span::from_secs(3_600);
/// How often uses of tokens are noted: about when is enough to find one that nobody uses.
const NOTE_USES: Span = Span::from_secs(60);
/// After how many of those something is forgotten: every hour.
const PURGE_EVERY: u32 = 60;

/// What was forgotten.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Purged {
    /// Finished items beyond their queue's retention.
    pub items: u64,
    /// Ids of changes that sync items took in, beyond their queue's retention.
    pub absorbed: u64,
    /// Ended ownerships of leases.
    pub history: u64,
    /// Leases that nobody holds, waits for, or has held lately.
    pub leases: u64,
    /// Tokens and sessions that had expired.
    pub tokens: u64,
    /// Links that nobody followed in time.
    pub links: u64,
    /// What destinations know of keys that were deactivated, beyond their queue's retention.
    pub delivered: u64,
    /// Kept answers that nobody will repeat the call of.
    pub answers: u64,
    /// Live events that nobody will resume from.
    pub events: u64,
}

/// What keeps the database small.
#[derive(Clone)]
pub(crate) struct Upkeep {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) clock: Arc<Clock>,
    /// How long histories are kept.
    pub(crate) keep: Span,
}

impl Turno {
    /// Forgets finished items beyond their queue's retention, and old histories. Needs `queues.manage`.
    ///
    /// It also happens by itself, every hour.
    ///
    /// ```
    /// # use turno::*;
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// # let dir = std::env::temp_dir().join(format!("turno-doc-purge-{}", std::process::id()));
    /// # std::fs::create_dir_all(&dir).unwrap();
    /// # let turno = Turno::open(&format!("sqlite:{}/doc.db", dir.display())).await?;
    /// assert_eq!(turno.purge().await?, Purged::default(), "nothing is old enough yet");
    /// # std::fs::remove_dir_all(&dir).unwrap();
    /// # Ok::<(), turno::Error>(()) }).unwrap();
    /// ```
    pub async fn purge(&self) -> Result<Purged, Error> {
        self.reads(Needs::of(Permission::QueuesManage)).await?;
        self.inner.upkeep.purge(self.actor()).await
    }
}

impl QueueHandle {
    /// Forgets this queue's finished items beyond its retention now; answers how many. Needs `queues.manage`; audited.
    ///
    /// It also happens by itself, every hour. Unfinished items are never forgotten.
    ///
    /// ```
    /// # use turno::*;
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// # let dir = std::env::temp_dir().join(format!("turno-doc-queue-purge-{}", std::process::id()));
    /// # std::fs::create_dir_all(&dir).unwrap();
    /// # let turno = Turno::open(&format!("sqlite:{}/doc.db", dir.display())).await?;
    /// # let queue = turno.put_queue("mails", Policy::of(Kind::Inbox)).await?;
    /// assert_eq!(queue.purge().await?, 0, "nothing is old enough yet");
    /// # std::fs::remove_dir_all(&dir).unwrap();
    /// # Ok::<(), turno::Error>(()) }).unwrap();
    /// ```
    pub async fn purge(&self) -> Result<u64, Error> {
        let turno = self.turno();
        turno.reads(Needs::of(Permission::QueuesManage)).await?;
        let (row, upkeep) = (self.row().await?, &turno.inner.upkeep);
        let before = Time(upkeep.clock.estimate().0.saturating_sub(row.policy.retention.0));
        upkeep.forget(Purge::Absorbed { queue: row.id, before }).await?;
        upkeep.forget(Purge::Items { queue: row.id, before, by: turno.actor() }).await
    }

    /// How many items [`QueueHandle::purge`] would forget now. Needs `queues.manage`.
    ///
    /// ```
    /// # use turno::*;
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// # let dir = std::env::temp_dir().join(format!("turno-doc-queue-purgeable-{}", std::process::id()));
    /// # std::fs::create_dir_all(&dir).unwrap();
    /// # let turno = Turno::open(&format!("sqlite:{}/doc.db", dir.display())).await?;
    /// # let queue = turno.put_queue("mails", Policy::of(Kind::Inbox)).await?;
    /// assert_eq!(queue.count_purgeable().await?, 0, "nothing is old enough yet");
    /// # std::fs::remove_dir_all(&dir).unwrap();
    /// # Ok::<(), turno::Error>(()) }).unwrap();
    /// ```
    pub async fn count_purgeable(&self) -> Result<u64, Error> {
        let turno = self.turno();
        turno.reads(Needs::of(Permission::QueuesManage)).await?;
        let (row, upkeep) = (self.row().await?, &turno.inner.upkeep);
        let before = Time(upkeep.clock.estimate().0.saturating_sub(row.policy.retention.0));
        Ok(upkeep.store.count_purgeable(row.id, before).await?)
    }
}

impl Upkeep {
    async fn purge(&self, by: Actor) -> Result<Purged, Error> {
        let now = self.clock.estimate();
        let before = |span: Span| Time(now.0.saturating_sub(span.0));
        let mut purged = Purged::default();
        for queue in self.store.queues().await? {
            let before = before(queue.policy.retention);
            purged.items += self.forget(Purge::Items { queue: queue.id, before, by: by.clone() }).await?;
            purged.absorbed += self.forget(Purge::Absorbed { queue: queue.id, before }).await?;
            if queue.policy.kind == Kind::Sync {
                purged.delivered += self.forget(Purge::Delivered { queue: queue.id, before }).await?;
            }
        }
        purged.history = self.forget(Purge::LeaseHistory { before: before(self.keep) }).await?;
        purged.leases = self.forget_leases(before(self.keep.max(LEASES_KEPT))).await?;
        purged.tokens = self.forget(Purge::Tokens { before: now }).await?;
        purged.links = self.forget(Purge::Links { before: now }).await?;
        purged.answers = self.forget(Purge::Answers { before: before(ANSWER_KEPT) }).await?;
        loop {
            let gone = self.store.purge_events(before(EVENTS_KEPT), AT_ONCE).await?;
            purged.events += gone;
            if gone < u64::from(AT_ONCE) {
                break;
            }
        }
        Ok(purged)
    }

    async fn forget_leases(&self, before: Time) -> Result<u64, Error> {
        let (mut sum, mut after) = (0, None);
        loop {
            let (gone, last) = self.store.purge_leases(after, before, AT_ONCE).await?;
            sum += gone;
            if last.is_none() {
                return Ok(sum);
            }
            after = last;
        }
    }

    async fn forget(&self, what: Purge) -> Result<u64, Error> {
        let mut sum = 0;
        loop {
            let gone = self.store.purge(what.clone(), AT_ONCE).await?;
            sum += gone;
            if gone < u64::from(AT_ONCE) {
                return Ok(sum);
            }
        }
    }

    /// Goes on until the engine is closed.
    pub(crate) async fn run(self, access: Arc<Access>) {
        for round in 1_u32.. {
            self.clock.sleep_until(self.clock.estimate() + NOTE_USES).await;
            let used = access.take_used();
            if !used.is_empty()
                && let Err(error) = self.store.touch_tokens(used).await
            {
                tracing::warn!(%error, "could not note when tokens were used");
            }
            if round.is_multiple_of(PURGE_EVERY)
                && let Err(error) = self.purge(Actor::system()).await
            {
                tracing::warn!(%error, "could not forget what is old");
            }
        }
    }
}
