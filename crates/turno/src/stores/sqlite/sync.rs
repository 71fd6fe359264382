//! Confirmed deliveries of sync queues. This store has no sources: it creates no triggers on tables of applications in
//! this file, because an application's own, older SQLite could damage the log.

use super::{Write, sql};
use crate::store::{Delivered, StoreError};
use rusqlite::params;

pub(super) fn delivered(write: Write<'_>, delivered: &Delivered) -> Result<(), StoreError> {
    let Delivered { queue, seq, key, revision, action, was, digest, at } = delivered;
    let values = params![queue.0, key.as_str(), revision, action, digest, at.0];
    write.tx.prepare_cached(&sql::SYNC_DELIVERED)?.execute(values)?;
    write.tx.prepare_cached(&sql::BODY_ACTED)?.execute(params![seq.0, queue.0, action, was])?;
    write.commit()
}
