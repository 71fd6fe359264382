//! Confirmed deliveries of sync queues. This store has no sources: it creates no triggers on tables of applications in
//! this file, because an application's own, older SQLite could damage the log.

use super::read::execute;
use super::{Write, sql};
use crate::store::{Delivered, StoreError};
use rusqlite::params;

pub(super) fn delivered(write: Write<'_>, delivered: &Delivered) -> Result<(), StoreError> {
    let Delivered { queue, seq, key, revision, action, was, digest, at } = delivered;
    let values = params![queue.0, key.as_str(), revision, action, digest, at.0];
    execute(&write.tx, &sql::SYNC_DELIVERED, values)?;
    execute(&write.tx, &sql::BODY_ACTED, params![seq.0, queue.0, action, was])?;
    write.commit()
}
