//! Deliveries of a source that an application's own consumer claimed: kept at the claim, recorded as delivered at the
//! ack.
//!
//! The row may change between the two, and the ack may arrive at another process. So the data are kept like an answer,
//! under the delivery and its fence.

use super::{SyncChange, SyncHandle};
use crate::engine::Turno;
use crate::error::Error;
use crate::store::{Answer, Delivered, Store};
use serde::{Deserialize, Serialize};
use turno_core::audit::Hash;
use turno_core::id::{Key, Once};
use turno_core::queue::DeliveryRef;
use turno_core::sync::digest;
use turno_core::time::Time;

/// The kept fields beside the digest.
#[derive(Serialize, Deserialize)]
struct Note {
    key: String,
    revision: i64,
    action: String,
    was: Option<String>,
    gone: bool,
}

impl SyncHandle {
    /// Keeps for a day which change a consumer received.
    pub(super) async fn keep(&self, change: &SyncChange) -> Result<(), Error> {
        let Some(key) = &change.key else { return Ok(()) };
        let note = Note {
            key: key.to_string(),
            revision: change.revision,
            action: change.action.clone(),
            was: change.was.clone(),
            gone: change.data.is_none(),
        };
        let body = serde_json::to_string(&note).map_err(|_| Error::Bug("a kept delivery has no JSON"))?;
        let fingerprint = Hash(digest(change.data.as_deref().unwrap_or_default()));
        let (scope, name) = answer_key(&change.reference);
        self.engine().keep_answer(&scope, &name, Answer { fingerprint, status: 200, body }).await?;
        Ok(())
    }

    /// Records the kept data as delivered, after the consumer's ack. Data older than a day are no longer kept: a later
    /// check then finds a difference and sends the key again. Needs `queues.consume`.
    pub async fn acked(&self, reference: &DeliveryRef) -> Result<(), Error> {
        self.require_consume().await?;
        confirm(&*self.turno.inner.store, reference, self.turno.now()).await
    }

    /// Returns a handle without a caller, because kept answers belong to the engine. The caller's permission was
    /// checked before.
    pub(super) fn engine(&self) -> Turno {
        Turno { inner: self.turno.inner.clone(), caller: None }
    }
}

/// Records the kept data of a delivery as received by the destination, after its consumer settled it through the API
/// or in its own transaction.
pub(crate) async fn confirm(store: &dyn Store, reference: &DeliveryRef, now: Time) -> Result<(), Error> {
    let (scope, name) = answer_key(reference);
    let Some((answer, _)) = store.answer(Once::new(&scope, &name)?).await? else { return Ok(()) };
    let note: Note = serde_json::from_str(&answer.body).map_err(|_| Error::Bug("a kept delivery is unreadable"))?;
    let delivered = Delivered {
        queue: reference.queue,
        seq: reference.seq,
        key: Key::new(note.key)?,
        revision: note.revision,
        action: note.action,
        was: note.was,
        digest: (!note.gone).then_some(answer.fingerprint.0),
        at: now,
    };
    Ok(store.sync_delivered(delivered).await?)
}

fn answer_key(reference: &DeliveryRef) -> (String, String) {
    (format!("sync {}", reference.queue.0), format!("{} {}", reference.token(), reference.fence.0))
}
