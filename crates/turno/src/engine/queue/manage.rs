//! Managing a queue: typing, retries, cancellation, pauses.

use super::QueueHandle;
use crate::engine::Job;
use crate::engine::access::Needs;
use crate::error::Error;
use crate::store::{ManageGroup, ManageOutcome, PauseQueue, QueueRow, TypingGroup};
use std::sync::Arc;
use turno_core::access::Permission;
use turno_core::id::{ItemId, Key};
use turno_core::queue::{Manage, ManageRefused};

impl QueueHandle {
    /// Reports that a person is typing, which extends the open window of the key.
    ///
    /// ```
    /// # use turno::queue::{Draft, Kind, Policy};
    /// # turno_testkit::example(async |turno| {
    /// let chat = turno.put_queue("chat", Policy::for_kind(Kind::Lane)).await?;
    /// chat.enqueue(vec![Draft::json("hola")?.key("ana")?]).await?;
    /// chat.typing("ana".try_into()?).await?;
    /// # Ok(()) });
    /// ```
    pub async fn typing(&self, key: Key) -> Result<(), Error> {
        let row = self.row().await?;
        // The message may still be in the intake.
        self.turno.inner.intake.try_slice(row.id).await;
        let group = TypingGroup { queue: row.id, policy: row.policy.clone(), keys: vec![key] };
        self.turno.submit(Needs::permission(Permission::QueuesProduce).on_queue(&self.name), group, Job::Typing).await
    }

    /// Queues an exhausted or failed item again, at its old position.
    ///
    /// ```
    /// # use turno::queue::{Claim, Draft, Settlement};
    /// # turno_testkit::queue_example(async |_, queue| {
    /// # use turno::{queue::Act, id::Span};
    /// let (id, _) = queue.enqueue(vec![Draft::json("hola")?]).await?.remove(0);
    /// let reference = queue.claim(Claim::by("worker-1")).await?[0].reference;
    /// let give_up = Act::Fail { error: "no route".to_owned(), item: None, retry_in: None, give_up: true };
    /// queue.settle(vec![Settlement { reference, act: give_up }]).await?;
    /// assert!(queue.retry(id).await?.is_ok());
    /// assert_eq!(queue.claim(Claim::by("worker-1")).await?.len(), 1, "the item is delivered again");
    /// # Ok(()) });
    /// ```
    pub async fn retry(&self, id: ItemId) -> Result<ManageOutcome, Error> {
        self.manage(id, Manage::Retry).await
    }

    /// Queues an exhausted or failed item again with a repaired payload, at its old position and with its id. The
    /// audit keeps fingerprints of the old and the new payload.
    ///
    /// ```
    /// # use turno::queue::{Claim, Draft, Settlement};
    /// # turno_testkit::queue_example(async |_, queue| {
    /// # use turno::{queue::Act, id::Span};
    /// let (id, _) = queue.enqueue(vec![Draft::json("hloa")?]).await?.remove(0);
    /// let reference = queue.claim(Claim::by("worker-1")).await?[0].reference;
    /// let give_up = Act::Fail { error: "hloa?".to_owned(), item: None, retry_in: None, give_up: true };
    /// queue.settle(vec![Settlement { reference, act: give_up }]).await?;
    /// assert!(queue.retry_with(id, "\"hola\"").await?.is_ok());
    /// assert_eq!(&*queue.claim(Claim::by("worker-1")).await?[0].items[0].payload, "\"hola\"");
    /// # Ok(()) });
    /// ```
    pub async fn retry_with(&self, id: ItemId, payload: impl Into<Arc<str>>) -> Result<ManageOutcome, Error> {
        let payload = payload.into();
        super::check_payload(&payload, self.turno.inner.payload_bytes)?;
        self.manage(id, Manage::RetryWith { payload }).await
    }

    /// Cancels a waiting item.
    ///
    /// ```
    /// # use turno::queue::{Claim, Draft};
    /// # turno_testkit::queue_example(async |_, queue| {
    /// # use turno::id::Span;
    /// let (id, _) = queue.enqueue(vec![Draft::json("hola")?]).await?.remove(0);
    /// assert!(queue.cancel(id).await?.is_ok());
    /// assert!(queue.claim(Claim::by("worker-1")).await?.is_empty());
    /// # Ok(()) });
    /// ```
    pub async fn cancel(&self, id: ItemId) -> Result<ManageOutcome, Error> {
        self.manage(id, Manage::Cancel).await
    }

    async fn manage(&self, id: ItemId, wish: Manage) -> Result<ManageOutcome, Error> {
        let row = self.row().await?;
        self.turno.inner.intake.read(row.id).await?;
        match self.manage_one(id.clone(), wish.clone()).await? {
            // The item may still be in the intake, behind a large backlog.
            Err(ManageRefused::Unknown) if self.turno.inner.intake.all(row.id).await?.found => {
                self.manage_one(id, wish).await
            }
            outcome => Ok(outcome),
        }
    }

    pub(super) async fn manage_one(&self, id: ItemId, wish: Manage) -> Result<ManageOutcome, Error> {
        let row = self.row().await?;
        let group = ManageGroup {
            queue: row.id,
            name: self.name.clone(),
            policy: row.policy.clone(),
            id,
            wish,
            by: self.turno.actor(),
        };
        self.turno.submit(Needs::permission(Permission::QueuesManage).on_queue(&self.name), group, Job::Manage).await
    }

    /// Pauses hand-outs. Running deliveries continue.
    ///
    /// ```
    /// # use turno::queue::{Claim, Draft};
    /// # turno_testkit::queue_example(async |_, queue| {
    /// # use turno::id::Span;
    /// queue.pause().await?;
    /// queue.enqueue(vec![Draft::json("hola")?]).await?;
    /// assert!(queue.claim(Claim::by("worker-1")).await?.is_empty(), "the queue is paused");
    /// # Ok(()) });
    /// ```
    pub async fn pause(&self) -> Result<(), Error> {
        self.turno.authorize_read(Needs::permission(Permission::QueuesManage).on_queue(&self.name)).await?;
        let row = self.row().await?;
        let pause = PauseQueue { queue: row.id, paused: true, by: self.turno.actor() };
        Ok(self.turno.inner.store.pause_queue(pause).await?)
    }

    /// Resumes hand-outs.
    ///
    /// ```
    /// # use turno::queue::{Claim, Draft};
    /// # turno_testkit::queue_example(async |_, queue| {
    /// # use turno::id::Span;
    /// queue.pause().await?;
    /// queue.enqueue(vec![Draft::json("hola")?]).await?;
    /// queue.resume().await?;
    /// assert_eq!(queue.claim(Claim::by("worker-1")).await?.len(), 1);
    /// # Ok(()) });
    /// ```
    pub async fn resume(&self) -> Result<(), Error> {
        self.turno.authorize_read(Needs::permission(Permission::QueuesManage).on_queue(&self.name)).await?;
        let row = self.row().await?;
        let resume = PauseQueue { queue: row.id, paused: false, by: self.turno.actor() };
        self.turno.inner.store.pause_queue(resume).await?;
        self.turno.inner.wake_queue(row.id).await;
        Ok(())
    }

    /// Returns the queue's row: id, policy, and whether it is paused.
    ///
    /// ```
    /// # turno_testkit::queue_example(async |_, queue| {
    /// assert_eq!(queue.row().await?.policy.max_attempts, 20);
    /// # Ok(()) });
    /// ```
    pub async fn row(&self) -> Result<Arc<QueueRow>, Error> {
        self.turno.inner.queue(&self.name).await
    }
}
