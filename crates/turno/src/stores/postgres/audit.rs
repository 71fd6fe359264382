//! The audit: its head, which is locked last, and its entries.

use super::PostgresStore;
use super::call::Call;
use super::error::TripError;
use super::lease::add_events;
use super::row::{garbled, get, maybe_name, name};
use super::sql;
use super::tx::{Moment, Tx};
use crate::store::{AuditQuery, AuditReader, Pending, StoreError};
use tokio_postgres::Row;
use turno_core::audit::{Actor, Draft, Entry, Hash, Head, chain};
use turno_core::event::{Event, EventName, Topic};
use turno_core::id::UserId;
use turno_core::time::Time;

/// The name of the event that announces an entry.
static RECORDED: EventName = EventName::AuditRecorded;

/// Locks the head. Comes after all other locks of the transaction.
pub(super) fn lock<'a>() -> Call<'a> {
    Call::new(&sql::AUDIT_LOCK)
}

/// Reads the head from the answer.
pub(super) fn head(rows: &[Row]) -> Result<Head, TripError> {
    let row = rows.first().ok_or_else(|| garbled("an audit without a head"))?;
    Ok(Head { n: get(row, 0)?, hash: hash(row, 1)? })
}

/// Returns the statements that write the entries and move the head to the last of them.
pub(super) fn calls(entries: &[Entry]) -> Vec<Call<'_>> {
    let Some(last) = entries.last() else {
        return Vec::new();
    };
    let add = Call::new(&sql::AUDIT_ADD)
        .bigs(entries.iter().map(|entry| entry.n))
        .bigs(entries.iter().map(|entry| entry.at.0))
        .texts(entries.iter().map(|entry| entry.actor.user.as_str()))
        .maybe_texts(entries.iter().map(|entry| Some(entry.actor.via.as_ref()?.as_str())))
        .texts(entries.iter().map(|entry| entry.action.as_str()))
        .texts(entries.iter().map(|entry| entry.resource.as_str()))
        .texts(entries.iter().map(|entry| entry.detail.as_str()))
        .many_bytes(entries.iter().map(|entry| &entry.hash.0[..]));
    // The same event as `Entry::event` builds.
    let announce = Call::new(&sql::EVENT_ADD)
        .texts(entries.iter().map(|_| Topic::Audit.as_str()))
        .texts(entries.iter().map(|_| RECORDED.as_str()))
        .texts(entries.iter().map(|entry| entry.resource.as_str()))
        .bigs(entries.iter().map(|entry| entry.at.0))
        .maybe_bigs(entries.iter().map(|_| None))
        .maybe_texts(entries.iter().map(|entry| Some(entry.actor.user.as_str())))
        .maybe_texts(entries.iter().map(|entry| Some(entry.action.as_str())))
        .maybe_texts(entries.iter().map(|_| None));
    vec![add, announce, Call::new(&sql::AUDIT_HEAD_SAVE).big(last.n).bytes(&last.hash.0)]
}

async fn note(tx: &mut Tx<'_>, draft: Draft) -> Result<(Vec<Entry>, Option<String>), TripError> {
    let mut answers = tx.trip(vec![lock(), Moment::call(0, true)]).await?;
    let mut head = head(&answers.take())?;
    let moment = tx.moment(&answers.take())?;
    Ok((chain(&mut head, moment.now, vec![draft]), moment.xid))
}

impl PostgresStore {
    /// Writes one entry in its own transaction, together with an event for readers who may not read the audit.
    pub(super) async fn audit_note(&self, draft: Draft, event: Event) -> Result<(), StoreError> {
        let mut again = true;
        loop {
            let mut link = self.keeper.take(&self.address).await?;
            match note(&mut Tx::new(&mut link, &self.shared, None), draft.clone()).await {
                Ok((entries, xid)) => {
                    let at = entries.first().map_or(event.at, |entry| entry.at);
                    let events = [Event { at, ..event }];
                    let mut calls = calls(&entries);
                    calls.push(add_events(&events));
                    return self.commit_calls(link, calls, None, xid.as_deref()).await.map(drop);
                }
                Err(failure) => self.failed(link, failure, &mut again).await?,
            }
        }
    }
}

fn entry(row: &Row) -> Result<Entry, TripError> {
    Ok(Entry {
        n: get(row, 0)?,
        at: Time(get(row, 1)?),
        actor: Actor { user: name(row, 2, UserId::new)?, via: maybe_name(row, 3, UserId::new)? },
        action: get(row, 4)?,
        resource: get(row, 5)?,
        detail: get(row, 6)?,
        hash: hash(row, 7)?,
    })
}

/// Reads a column that holds a hash.
pub(super) fn hash(row: &Row, column: usize) -> Result<Hash, TripError> {
    let bytes: &[u8] = get(row, column)?;
    bytes.try_into().map(Hash).map_err(|_| garbled(format!("a hash of {} bytes", bytes.len())))
}

impl AuditReader for PostgresStore {
    fn audit(&self, query: AuditQuery) -> Pending<'_, Vec<Entry>> {
        Box::pin(async move {
            let AuditQuery { after, before, action, actor, resource, limit } = &query;
            let (sql, cursor) = match after {
                Some(after) => (&sql::AUDIT_AFTER, *after),
                None => (&sql::AUDIT_BEFORE, before.unwrap_or(i64::MAX)),
            };
            let call = Call::new(sql)
                .big(cursor)
                .maybe_text(resource.as_deref())
                .maybe_text(action.as_deref())
                .maybe_text(actor.as_ref().map(UserId::as_str))
                .big(i64::from(*limit));
            self.all(call, entry).await
        })
    }

    fn audit_head(&self) -> Pending<'_, Head> {
        Box::pin(async move { Ok(head(&self.read(vec![Call::new(&sql::AUDIT_HEAD)]).await?.take())?) })
    }
}
