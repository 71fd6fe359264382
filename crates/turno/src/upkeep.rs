//! Upkeep: purges old data and stores when tokens were used.
//!
//! Nothing depends on when it runs. Purged items are counted and audited. Unfinished items are never purged.

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

/// Rows purged in one transaction. Small, so that other transactions do not wait.
const AT_ONCE: u32 = 2_000;
/// How long live events are kept for resuming listeners. A listener that resumes later gets a reset.
const EVENTS_KEPT: Span = Span::from_secs(7 * 86_400);
/// How long a free lease is kept at least, whatever the options say. Its row holds the time of its last decision, and
/// no other instance's clock may fall behind that time.
const LEASES_KEPT: Span = Span::from_secs(3_600);
/// The interval for storing the use of tokens. Precise enough to find unused tokens.
const NOTE_USES: Span = Span::from_secs(60);
/// A purge runs after this many intervals: every hour.
const PURGE_EVERY: u32 = 60;

/// The numbers of purged rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Purged {
    /// Finished items older than their queue's retention.
    pub items: u64,
    /// Ids of absorbed sync changes, older than their queue's retention.
    pub absorbed: u64,
    /// Ended ownerships of leases.
    pub history: u64,
    /// Leases without a holder and a waiting line that were not held recently.
    pub leases: u64,
    /// Expired tokens and sessions.
    pub tokens: u64,
    /// Expired links.
    pub links: u64,
    /// Delivery records of deactivated keys, older than their queue's retention.
    pub delivered: u64,
    /// Kept answers that are too old to be repeated.
    pub answers: u64,
    /// Live events that are too old to resume from.
    pub events: u64,
}

/// Purges old data.
#[derive(Clone)]
pub(crate) struct Upkeep {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) clock: Arc<Clock>,
    /// How long lease histories are kept.
    pub(crate) keep: Span,
}

impl Turno {
    /// Purges finished items older than their queue's retention, and old histories. Needs `queues.manage`.
    ///
    /// It also runs automatically every hour.
    ///
    /// ```
    /// # use turno::Purged;
    /// # turno_testkit::example(async |turno| {
    /// assert_eq!(turno.purge().await?, Purged::default(), "nothing is old enough yet");
    /// # Ok(()) });
    /// ```
    pub async fn purge(&self) -> Result<Purged, Error> {
        self.authorize_read(Needs::permission(Permission::QueuesManage)).await?;
        self.inner.upkeep.purge(self.actor()).await
    }
}

impl QueueHandle {
    /// Purges this queue's finished items older than its retention now. Returns how many. Needs `queues.manage`.
    /// Audited.
    ///
    /// It also runs automatically every hour. Unfinished items are never purged.
    ///
    /// ```
    /// # turno_testkit::queue_example(async |_, queue| {
    /// assert_eq!(queue.purge().await?, 0, "nothing is old enough yet");
    /// # Ok(()) });
    /// ```
    pub async fn purge(&self) -> Result<u64, Error> {
        let turno = self.turno();
        turno.authorize_read(Needs::permission(Permission::QueuesManage)).await?;
        let (row, upkeep) = (self.row().await?, &turno.inner.upkeep);
        let before = Time(upkeep.clock.estimate().0.saturating_sub(row.policy.retention.0));
        upkeep.purge_all(Purge::Absorbed(row.id), before).await?;
        upkeep.purge_all(Purge::Items(row.id, turno.actor()), before).await
    }

    /// Counts the items that [`QueueHandle::purge`] would purge now. Needs `queues.manage`.
    ///
    /// ```
    /// # turno_testkit::queue_example(async |_, queue| {
    /// assert_eq!(queue.count_purgeable().await?, 0, "nothing is old enough yet");
    /// # Ok(()) });
    /// ```
    pub async fn count_purgeable(&self) -> Result<u64, Error> {
        let turno = self.turno();
        turno.authorize_read(Needs::permission(Permission::QueuesManage)).await?;
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
            purged.items += self.purge_all(Purge::Items(queue.id, by.clone()), before).await?;
            purged.absorbed += self.purge_all(Purge::Absorbed(queue.id), before).await?;
            if queue.policy.kind == Kind::Sync {
                purged.delivered += self.purge_all(Purge::Delivered(queue.id), before).await?;
            }
        }
        purged.history = self.purge_all(Purge::LeaseHistory, before(self.keep)).await?;
        purged.leases = self.purge_leases(before(self.keep.max(LEASES_KEPT))).await?;
        purged.tokens = self.purge_all(Purge::Tokens, now).await?;
        purged.links = self.purge_all(Purge::Links, now).await?;
        purged.answers = self.purge_all(Purge::Answers, before(ANSWER_KEPT)).await?;
        loop {
            let gone = self.store.purge_events(before(EVENTS_KEPT), AT_ONCE).await?;
            purged.events += gone;
            if gone < u64::from(AT_ONCE) {
                break;
            }
        }
        Ok(purged)
    }

    async fn purge_leases(&self, before: Time) -> Result<u64, Error> {
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

    async fn purge_all(&self, purge: Purge, before: Time) -> Result<u64, Error> {
        let mut sum = 0;
        loop {
            let gone = self.store.purge(purge.clone(), before, AT_ONCE).await?;
            sum += gone;
            if gone < u64::from(AT_ONCE) {
                return Ok(sum);
            }
        }
    }

    /// Runs until the engine is closed.
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
