//! What consumers of their own were handed: remembered at the hand-out, and delivered once they ack it.
//!
//! Between the two the row may change, and the ack may come to another process. So what was answered is kept like the
//! answer to any call, under the delivery and its fence.

use super::SyncHandle;
use crate::engine::Turno;
use crate::engine::access::Needs;
use crate::engine::queue::Got;
use crate::error::Error;
use crate::store::{Answer, Delivered, Store};
use serde::{Deserialize, Serialize};
use turno_core::access::Permission;
use turno_core::audit::Hash;
use turno_core::id::{Key, Once};
use turno_core::queue::Handed;
use turno_core::sync::digest;
use turno_core::time::Time;

/// What is kept beside the digest.
#[derive(Serialize, Deserialize)]
struct Note {
    key: String,
    revision: i64,
    action: String,
    was: Option<String>,
    gone: bool,
}

impl SyncHandle {
    /// Remembers for a day what a consumer was handed: the action and the data, or none. Needs `queues.consume`.
    pub async fn handed(&self, got: &Got, action: &str, data: Option<&str>) -> Result<(), Error> {
        self.turno.reads(Needs::of(Permission::QueuesConsume)).await?;
        let Some(key) = &got.key else { return Ok(()) };
        let note = Note {
            key: key.to_string(),
            revision: got.revision,
            action: action.to_owned(),
            was: got.items.first().and_then(|item| item.action.clone()),
            gone: data.is_none(),
        };
        let body = serde_json::to_string(&note).map_err(|bad| Error::Invalid(bad.to_string()))?;
        let fingerprint = Hash(digest(data.unwrap_or_default()));
        let (scope, name) = place_of(&got.handed);
        self.engine().keep_answer(&scope, &name, Answer { fingerprint, status: 200, body }).await?;
        Ok(())
    }

    /// The consumer has acked it: from then on it is what the destination knows. What was handed out longer than a day ago is
    /// not known any more; a comparison then finds a difference and sends it once more. Needs `queues.consume`.
    pub async fn acked(&self, handed: &Handed) -> Result<(), Error> {
        self.turno.reads(Needs::of(Permission::QueuesConsume)).await?;
        confirm(&*self.turno.inner.store, handed, self.turno.now()).await
    }

    /// Kept answers are the engine's; who may was asked before.
    pub(super) fn engine(&self) -> Turno {
        Turno { inner: self.turno.inner.clone(), caller: None }
    }
}

/// What was kept at the hand-out is what the destination knows from now on; whoever was handed it has settled it, over the
/// API or in a transaction of their own.
pub(crate) async fn confirm(store: &dyn Store, handed: &Handed, now: Time) -> Result<(), Error> {
    let (scope, name) = place_of(handed);
    let Some((answer, _)) = store.answer(Once::new(&scope, &name)?).await? else { return Ok(()) };
    let note: Note = serde_json::from_str(&answer.body).map_err(|bad| Error::Invalid(bad.to_string()))?;
    let delivered = Delivered {
        queue: handed.queue,
        seq: handed.seq,
        key: Key::new(note.key)?,
        revision: note.revision,
        action: note.action,
        was: note.was,
        digest: (!note.gone).then_some(answer.fingerprint.0),
        at: now,
    };
    Ok(store.sync_delivered(delivered).await?)
}

fn place_of(handed: &Handed) -> (String, String) {
    (format!("sync {}", handed.queue.0), format!("{} {}", handed.token(), handed.fence.0))
}
