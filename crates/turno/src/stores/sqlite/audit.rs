//! The audit: its head, its entries, and reads of them.
//!
//! Entries are built by `turno_core::audit::chain` behind the head that was read here, in the same transaction.
//! Triggers of the schema refuse changing or deleting an entry. If the triggers are removed, the chain reveals the
//! change.

use super::read::{all, execute, only};
use super::row::{name, name_if};
use super::{SqliteStore, event, sql};
use crate::store::{AuditQuery, AuditReader, Pending, StoreError};
use rusqlite::{Connection, Error, Row, params};
use turno_core::audit::{Actor, Draft, Entry, Hash, Head, chain};
use turno_core::id::UserId;
use turno_core::time::Time;

/// Returns the end of the chain.
pub(super) fn head(db: &Connection) -> Result<Head, StoreError> {
    only(db, &sql::AUDIT_HEAD, [], |row| Ok(Head { n: row.get(0)?, hash: Hash(row.get(1)?) }))
}

/// Adds entries that were built behind [`head`] in the same transaction, and moves the head.
pub(super) fn write(tx: &Connection, entries: &[Entry]) -> Result<(), StoreError> {
    let Some(last) = entries.last() else {
        return Ok(());
    };
    let mut add = tx.prepare_cached(&sql::AUDIT_ADD)?;
    for entry in entries {
        let via = entry.actor.via.as_ref().map(UserId::as_str);
        let (user, hash) = (entry.actor.user.as_str(), entry.hash.0);
        add.execute(params![entry.n, entry.at.0, user, via, entry.action, entry.resource, entry.detail, hash])?;
    }
    if execute(tx, &sql::AUDIT_HEAD_SAVE, (last.n, last.hash.0))? != 1 {
        return Err(StoreError::Bug("the audit would have gone back"));
    }
    let events: Vec<_> = entries.iter().map(Entry::event).collect();
    event::add(tx, &events)
}

/// Adds one entry about a change that the store itself made.
pub(super) fn note(tx: &Connection, now: Time, draft: Draft) -> Result<(), StoreError> {
    let mut head = head(tx)?;
    write(tx, &chain(&mut head, now, vec![draft]))
}

fn list(db: &Connection, query: &AuditQuery) -> Result<Vec<Entry>, StoreError> {
    let from = query.after.or(query.before).unwrap_or(i64::MAX);
    let (action, actor) = (query.action.as_deref(), query.actor.as_ref().map(UserId::as_str));
    match &query.resource {
        None => {
            let text = if query.after.is_some() { &sql::AUDIT_AFTER } else { &sql::AUDIT_BEFORE };
            all(db, text, (from, action, actor, query.limit), entry)
        }
        Some(resource) => {
            let text = if query.after.is_some() { &sql::AUDIT_OF_AFTER } else { &sql::AUDIT_OF_BEFORE };
            all(db, text, (from, action, actor, query.limit, resource), entry)
        }
    }
}

fn entry(row: &Row<'_>) -> Result<Entry, Error> {
    Ok(Entry {
        n: row.get(0)?,
        at: Time(row.get(1)?),
        actor: Actor { user: name(row, 2, UserId::new)?, via: name_if(row, 3, UserId::new)? },
        action: row.get(4)?,
        resource: row.get(5)?,
        detail: row.get(6)?,
        hash: Hash(row.get(7)?),
    })
}

impl AuditReader for SqliteStore {
    fn audit(&self, query: AuditQuery) -> Pending<'_, Vec<Entry>> {
        self.looks.run(move |db| list(db, &query))
    }

    fn audit_head(&self) -> Pending<'_, Head> {
        self.looks.run(|db| head(db))
    }
}
