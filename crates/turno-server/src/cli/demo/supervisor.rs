//! A simulated supervisor, who force-releases abandoned leases and decides exhausted items. This fills the audit.

use std::time::Duration;

use turno::core::id::QueueName;
use turno::core::lease::{Action, Holder, State};
use turno::core::queue::ItemState;
use turno::core::time::{Span, Time};
use turno::queue::ItemQuery;
use turno::store::LeaseQuery;
use turno::{Error, Turno};

/// The interval between two interventions.
const EVERY: Duration = Duration::from_secs(12);
/// The time without work after which a colleague counts as away.
const AWAY: Span = Span::from_secs(18);

/// Intervenes at regular intervals, until the future is dropped. `eva` is the handle in her name.
pub(super) async fn supervise(eva: &Turno, who: Holder, ours: impl Fn(&Holder) -> bool) {
    for turn in 0u64.. {
        tokio::time::sleep(EVERY).await;
        // A failed intervention is skipped.
        let _ = match turn % 3 {
            0 => free(eva, &who, &ours).await,
            1 => settle(eva, "chat", true).await,
            _ => settle(eva, "usuarios_modulo", false).await,
        };
    }
}

/// Force-releases the lease of a colleague who is away, and never a visitor's.
async fn free(eva: &Turno, who: &Holder, ours: impl Fn(&Holder) -> bool) -> Result<(), Error> {
    let held = eva.leases(LeaseQuery { limit: 50, ..LeaseQuery::default() }).await?;
    let left = |state: &&State| {
        let away = |since: Time| since.until(held.now).0 > AWAY.0;
        state.grant.as_ref().is_some_and(|grant| ours(&grant.holder) && away(grant.worked_at))
    };
    let Some(state) = held.states.iter().find(left) else {
        return Ok(());
    };
    // The fence binds the override to this grant, because another holder may have the lease by then.
    let fence = state.grant.as_ref().map(|grant| grant.fence);
    let action = Action::ForceRelease { reason: "Salió a almorzar y la tarea urge".to_owned(), fence };
    eva.lease_command(eva.command_of(state.resource.clone(), who.clone(), action)).await.map(drop)
}

/// Cancels or retries the oldest exhausted item of a queue. Leaves the last one for the visitor.
async fn settle(eva: &Turno, queue: &str, give_up: bool) -> Result<(), Error> {
    let queue = eva.queue(QueueName::new(queue)?).await?;
    let query = ItemQuery { state: Some(ItemState::Exhausted), limit: 2, ..ItemQuery::listed() };
    let [oldest, _] = &queue.items(query).await?[..] else {
        return Ok(());
    };
    let id = oldest.body.id.clone();
    if give_up { queue.cancel(id).await.map(drop) } else { queue.retry(id).await.map(drop) }
}
