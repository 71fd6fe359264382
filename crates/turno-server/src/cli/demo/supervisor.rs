//! Somebody who steps in: frees what a colleague left, and decides what no number of attempts will settle. So the audit has
//! something to tell.

use std::time::Duration;

use turno::core::id::QueueName;
use turno::core::lease::{Action, Holder, State};
use turno::core::queue::ItemState;
use turno::core::time::{Span, Time};
use turno::store::LeaseQuery;
use turno::{Error, ItemQuery, Turno};

/// Between two interventions.
const EVERY: Duration = Duration::from_secs(12);
/// Whoever has not worked for so long has gone for a coffee.
const AWAY: Span = Span::from_secs(18);

/// Steps in every so often, until it is dropped. `eva` is the handle in her name.
pub(super) async fn supervise(eva: &Turno, who: Holder, ours: impl Fn(&Holder) -> bool) {
    for turn in 0u64.. {
        tokio::time::sleep(EVERY).await;
        // What fails is left: the next look finds something else.
        let _ = match turn % 3 {
            0 => free(eva, &who, &ours).await,
            1 => settle(eva, "chat", true).await,
            _ => settle(eva, "usuarios_modulo", false).await,
        };
    }
}

/// Frees the lock of a colleague who is away; never a visitor's.
async fn free(eva: &Turno, who: &Holder, ours: impl Fn(&Holder) -> bool) -> Result<(), Error> {
    let held = eva.leases(LeaseQuery { limit: 50, ..LeaseQuery::default() }).await?;
    let left = |state: &&State| {
        let away = |since: Time| since.until(held.now).0 > AWAY.0;
        state.grant.as_ref().is_some_and(|grant| ours(&grant.holder) && away(grant.worked_at))
    };
    let Some(state) = held.states.iter().find(left) else {
        return Ok(());
    };
    // By the time it arrives somebody else may have it.
    let fence = state.grant.as_ref().map(|grant| grant.fence);
    let action = Action::ForceRelease { reason: "Salió a almorzar y la tarea urge".to_owned(), fence };
    eva.lease(eva.command_of(state.resource.clone(), who.clone(), action)).await.map(drop)
}

/// Gives up on the oldest exhausted item of a queue, or lets it try again. The last one is left for the visitor.
async fn settle(eva: &Turno, queue: &str, give_up: bool) -> Result<(), Error> {
    let queue = eva.queue(QueueName::new(queue)?).await?;
    let query = ItemQuery { state: Some(ItemState::Exhausted), key: None, after: None, limit: 2 };
    let [oldest, _] = &queue.items(query).await?[..] else {
        return Ok(());
    };
    let id = oldest.body.id.clone();
    if give_up { queue.cancel(id).await.map(drop) } else { queue.retry(id).await.map(drop) }
}
