//! The answer to a repeated settlement, from the rows of the delivery.

use crate::db::Db;
use turno_core::id::Seq;
use turno_core::queue::{DeliveryRef, Ended, Last, SettleOutcome};

/// Returns how a delivery ended, as far as its rows still show it.
///
/// It reads every item and returns `None` once the failed one has moved on. Reading only the first item would
/// take a failure in the middle of a group for an ack.
pub(super) fn settled(db: &Db, reference: &DeliveryRef) -> Option<SettleOutcome> {
    let members = db.handed_out.get(&reference.fence).filter(|seqs| seqs.first() == Some(&reference.seq))?;
    let mut failed = None;
    for seq in members {
        let errors = db.errors.get(seq);
        let Some(error) = errors.and_then(|all| all.iter().find(|error| error.fence == reference.fence)) else {
            continue;
        };
        if error.is_expiry() {
            return None;
        }
        let outcome = match (db.hot.get(seq), db.done.get(seq)) {
            (Some(item), _) if item.fence != reference.fence || item.expires_at.is_some() => {
                return None;
            }
            (Some(item), _) if item.parked => SettleOutcome::Exhausted,
            (Some(item), _) if item.last == Last::Failed => SettleOutcome::Retrying { retry_at: item.not_before },
            (None, Some(done)) if done.fence == reference.fence && done.ended == Ended::Exhausted => {
                SettleOutcome::Exhausted
            }
            _ => return None,
        };
        if failed.is_none() || failed == Some(SettleOutcome::Exhausted) {
            failed = Some(outcome);
        }
    }
    if failed.is_some() {
        return failed;
    }
    let back = |seq: &Seq, how| {
        let all = db.came_back.get(seq).into_iter().flatten();
        all.filter(|back| back.fence == reference.fence).any(|back| back.how == how)
    };
    if members.iter().any(|seq| back(seq, Last::Superseded)) {
        return Some(SettleOutcome::Superseded);
    }
    match db.done.get(&reference.seq) {
        Some(done) if done.fence == reference.fence && done.ended == Ended::Processed => Some(SettleOutcome::Acked),
        _ => back(&reference.seq, Last::Returned).then_some(SettleOutcome::Returned),
    }
}

/// Returns whether the first item of the delivery was not handed out again since.
pub(super) fn was_last(db: &Db, reference: &DeliveryRef) -> bool {
    db.hot.get(&reference.seq).is_some_and(|item| item.fence == reference.fence)
}
