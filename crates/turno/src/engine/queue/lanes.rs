//! Operations on the lanes of all queues: counting and clearing.

use crate::engine::access::Needs;
use crate::engine::{Job, Turno};
use crate::error::Error;
use crate::store::{ClearGroup, LaneLocks, QueueRow};
use turno_core::access::Permission;
use turno_core::id::{Lane, QueueId};
use turno_core::queue::Kind;
use turno_core::time::Time;

/// Lanes listed per page.
const AT_ONCE: u32 = 500;

impl Turno {
    /// Counts the keys in queues of kind lane: with a live delivery, with waiting items, and with either.
    ///
    /// ```
    /// # use turno::queue::{Draft, Kind, Policy};
    /// # turno_testkit::example(async |turno| {
    /// let chat = turno.put_queue("chat", Policy::for_kind(Kind::Lane)).await?;
    /// chat.enqueue(vec![Draft::json("hola")?.key("ana")?, Draft::json("hola")?.key("leo")?]).await?;
    /// let locks = turno.lane_locks().await?;
    /// assert_eq!((locks.active_locks, locks.active_queues, locks.total_users), (0, 2, 2));
    /// # Ok(()) });
    /// ```
    pub async fn lane_locks(&self) -> Result<LaneLocks, Error> {
        self.authorize_read(Needs::permission(Permission::QueuesRead)).await?;
        for queue in self.lanes_waiting().await? {
            self.inner.intake.read(queue).await?;
        }
        Ok(self.inner.store.lane_locks().await?)
    }

    /// Cancels all waiting items and running deliveries in queues of kind lane, and returns how many items. The fences
    /// of those deliveries are stale from then on. Needs `queues.manage`. Audited lane by lane, each in its own
    /// transaction.
    ///
    /// Exhausted items stay, and so do items that arrive meanwhile and deliveries that an application's transaction is
    /// completing.
    ///
    /// ```
    /// # use turno::queue::{Draft, Kind, Policy};
    /// # turno_testkit::example(async |turno| {
    /// let chat = turno.put_queue("chat", Policy::for_kind(Kind::Lane)).await?;
    /// chat.enqueue(vec![Draft::json("hola")?.key("ana")?]).await?;
    /// assert_eq!(turno.lane_clear().await?, 1);
    /// assert_eq!(chat.counts().await?.cancelled, 1);
    /// # Ok(()) });
    /// ```
    pub async fn lane_clear(&self) -> Result<u64, Error> {
        self.authorize_read(Needs::permission(Permission::QueuesManage)).await?;
        for queue in self.lanes_waiting().await? {
            self.inner.intake.all(queue).await?;
        }
        let until = self.inner.clock.estimate();
        let mut sum = 0;
        for queue in self.inner.store.queues().await? {
            if queue.policy.kind != Kind::Lane || !self.reaches_queue(&queue.name) {
                continue;
            }
            let mut after = None;
            loop {
                let lanes = self.inner.store.lanes(queue.id, after, AT_ONCE).await?;
                let Some(last) = lanes.last() else { break };
                after = Some(*last);
                for lane in lanes {
                    sum += self.clear(&queue, lane, until).await?;
                }
            }
        }
        Ok(sum)
    }

    /// Returns the queues of kind lane that have rows in the intake.
    async fn lanes_waiting(&self) -> Result<Vec<QueueId>, Error> {
        let waiting = self.inner.intake.waiting().await?;
        if waiting.is_empty() {
            return Ok(waiting);
        }
        let lanes = self.inner.store.queues().await?.into_iter().filter(|queue| queue.policy.kind == Kind::Lane);
        Ok(lanes.map(|queue| queue.id).filter(|queue| waiting.contains(queue)).collect())
    }

    async fn clear(&self, queue: &QueueRow, lane: Lane, until: Time) -> Result<u64, Error> {
        let mut sum = 0;
        loop {
            let group = ClearGroup {
                queue: queue.id,
                name: queue.name.clone(),
                policy: queue.policy.clone(),
                lane,
                until,
                by: self.actor(),
            };
            let cleared = self.submit(Needs::permission(Permission::QueuesManage), group, Job::Clear).await?;
            sum += cleared.count;
            if !cleared.more {
                return Ok(sum);
            }
        }
    }
}
