//! Sources: triggers on tables of applications, and reading those tables.
//!
//! All names in statements are resolved through the catalogue only (`sql/sync_begin.sql`), so that another role's
//! schema cannot substitute a function or an operator. Generated SQL is in `render`; names and texts in it pass through
//! the core's two quoting functions.
//!
//! | file | contents |
//! |---|---|
//! | `body` | the values of the trigger's body, by the kind of the conditions |
//! | `facts` | what the catalogue says about a table, and why a source is refused |
//! | `keys` | normalising a text as the key's column prints it |
//! | `render` | the SQL of a source, from the templates beside it |
//! | `parts` | comparing the installed objects with the wanted ones |
//! | `read` | the current row of a key, and pages of keys |

mod body;
mod facts;
mod keys;
mod parts;
mod read;
mod render;

use super::PostgresStore;
use super::call::Call;
use super::error::TripError;
use super::row::get;
use super::slot::Slot;
use super::sql;
use crate::store::{Delivered, Pending, SourceLook, SourceTables, Sourced, StoreError, Walk};
use facts::Facts;
use parts::Found;
use render::Rendered;
use std::sync::Arc;
use turno_core::audit::Draft;
use turno_core::event::Event;
use turno_core::id::{Key, QueueId, Seq};
use turno_core::sync::{KeyState, NOTHING, Outgoing, Source, SourceRefused};

/// Connections for reading applications' tables. Such a read may take long, so nothing else uses them.
pub(super) const SOURCES: usize = 2;

/// A source as found in the database, and as it should be.
struct Seen {
    facts: Facts,
    found: Found,
    rendered: Rendered,
}

impl PostgresStore {
    pub(super) async fn delivered(&self, delivered: Delivered) -> Result<(), StoreError> {
        let Delivered { queue, seq, key, revision, action, was, digest, at } = &delivered;
        let save = Call::new(&sql::SYNC_DELIVERED)
            .int(queue.0)
            .text(key.as_str())
            .big(*revision)
            .text(action)
            .maybe_bytes(digest.as_ref().map(|digest| &digest[..]))
            .big(at.0);
        let acted = Call::new(&sql::BODY_ACTED).big(seq.0).int(queue.0).text(action).maybe_text(was.as_deref());
        self.read_on(self.source_slot(), vec![save, acted]).await?;
        Ok(())
    }

    fn source_slot(&self) -> &Slot {
        super::read::free(&self.sources)
    }

    /// Reads everything about a source. Refuses a source that could not be installed, even if it is installed.
    async fn source_seen(&self, source: &Source) -> Result<Result<Seen, SourceRefused>, TripError> {
        let mut link = self.source_slot().take(&self.address).await?;
        link.script(&sql::SYNC_BEGIN.text).await?;
        let seen = async {
            let facts = match Facts::read(&mut link, source).await? {
                Ok(facts) => facts,
                Err(refused) => return Ok(Err(refused)),
            };
            let rendered = match Rendered::new(source, &facts) {
                Ok(rendered) => rendered,
                Err(bad) => return Ok(Err(bad.into())),
            };
            let found = Found::read(&mut link, source).await?;
            // Explained but not run. The server accepts only one statement here: a condition cannot add another one. It
            // is not prepared, because behind a pooler the name of a prepared statement may be taken.
            let explain = format!("explain {}", rendered.check());
            match link.client.query_typed(&explain, &[]).await.map_err(TripError::from) {
                Err(TripError::Refused { message, .. }) => Ok(Err(SourceRefused::Condition(message))),
                Err(failure) => Err(failure),
                Ok(_) => Ok(Ok(Seen { facts, found, rendered })),
            }
        }
        .await;
        if !matches!(&seen, Err(failure) if failure.is_lost()) {
            link.cancel();
        }
        seen
    }

    async fn source_plan(&self, source: &Source) -> Result<Result<String, SourceRefused>, TripError> {
        let seen = match self.source_seen(source).await? {
            Ok(seen) => seen,
            Err(refused) => return Ok(Err(refused)),
        };
        if let Err(refused) = seen.found.free(source) {
            return Ok(Err(refused));
        }
        let kept = seen.found.kept(source);
        let plan = seen.found.outdated(source, &seen.rendered).map(|drops| seen.rendered.plan(source, &drops, &kept));
        Ok(plan.map_err(SourceRefused::from))
    }

    async fn source_install(&self, source: &Source) -> Result<Result<(), SourceRefused>, TripError> {
        let plan = match self.source_plan(source).await? {
            Ok(plan) => plan,
            Err(refused) => return Ok(Err(refused)),
        };
        if source.one_current_per_key {
            let (found, count) = self.source_duplicates(source).await?;
            if count > 0 {
                return Ok(Err(SourceRefused::Duplicates { table: source.table.display(), found, count }));
            }
        }
        self.source_script(&plan).await?;
        Ok(Ok(()))
    }

    async fn source_remove(&self, source: &Source) -> Result<Result<Vec<String>, SourceRefused>, TripError> {
        let mut link = self.source_slot().take(&self.address).await?;
        let found = Found::read(&mut link, source).await;
        link.put_back();
        let drops = match found?.drops(source) {
            Ok(drops) => drops,
            Err(bad) => return Ok(Err(bad.into())),
        };
        if drops.is_empty() {
            return Ok(Ok(Vec::new()));
        }
        let (names, drops): (Vec<Vec<String>>, Vec<String>) = drops.into_iter().unzip();
        let begin = "begin;\nset local lock_timeout = '10s';";
        self.source_script(&format!("{begin}\n{}\ncommit;", drops.join("\n"))).await?;
        Ok(Ok(names.concat()))
    }

    /// Runs a script that is a whole transaction.
    async fn source_script(&self, text: &str) -> Result<(), TripError> {
        let link = self.source_slot().take(&self.address).await?;
        let done = link.script(text).await;
        if done.is_err() {
            link.abandon();
        }
        if !link.is_closed() {
            link.put_back();
        }
        done
    }

    async fn source_look(
        &self,
        source: &Source,
        queue: QueueId,
        count_unmatched: bool,
    ) -> Result<Result<SourceLook, SourceRefused>, TripError> {
        let Seen { facts, found, rendered } = match self.source_seen(source).await? {
            Ok(seen) => seen,
            Err(refused) => return Ok(Err(refused)),
        };
        let rows = self.read(vec![Call::new(&sql::SYNC_REFUSED).int(queue.0)]).await?.take();
        let refused = rows.first().map_or(Ok(0), |row| get(row, 0))?;
        let (left, gone) = match count_unmatched {
            true => {
                let (left, gone) = self.source_unmatched(source, queue, &facts, SourceLook::MOST).await?;
                (Some(left), Some(gone))
            }
            false => (None, None),
        };
        Ok(Ok(SourceLook { parts: found.parts(source, &facts, &rendered), refused, left, gone }))
    }
}

impl SourceTables for PostgresStore {
    fn plan(&self, source: Arc<Source>) -> Sourced<'_, String> {
        Box::pin(async move { Ok(self.source_plan(&source).await?) })
    }

    fn install(&self, source: Arc<Source>) -> Sourced<'_, ()> {
        Box::pin(async move { Ok(self.source_install(&source).await?) })
    }

    fn remove(&self, source: Arc<Source>) -> Sourced<'_, Vec<String>> {
        Box::pin(async move { Ok(self.source_remove(&source).await?) })
    }

    fn look(&self, source: Arc<Source>, queue: QueueId, count_unmatched: bool) -> Sourced<'_, SourceLook> {
        Box::pin(async move { Ok(self.source_look(&source, queue, count_unmatched).await?) })
    }

    fn size(&self, source: Arc<Source>) -> Sourced<'_, i64> {
        Box::pin(async move { Ok(self.source_size(&source).await?) })
    }

    fn keys(&self, source: Arc<Source>, given: Vec<String>) -> Sourced<'_, Vec<String>> {
        Box::pin(async move { Ok(self.source_keys(&source, &given).await?) })
    }

    fn current(&self, source: Arc<Source>, key: Key) -> Sourced<'_, Outgoing> {
        Box::pin(async move { Ok(self.source_current(&source, key.as_str()).await?) })
    }

    fn skipped(&self, queue: QueueId, seq: Seq, was: Option<String>) -> Pending<'_, ()> {
        Box::pin(async move {
            let acted = Call::new(&sql::BODY_ACTED).big(seq.0).int(queue.0).text(NOTHING).maybe_text(was.as_deref());
            Ok(self.read_on(self.source_slot(), vec![acted]).await.map(drop)?)
        })
    }

    fn audit(&self, draft: Draft, event: Event) -> Pending<'_, ()> {
        Box::pin(async move { self.audit_note(draft, event).await })
    }

    fn walk(
        &self,
        source: Arc<Source>,
        queue: QueueId,
        walk: Walk,
        after: Option<String>,
        limit: u32,
    ) -> Sourced<'_, Vec<KeyState>> {
        Box::pin(async move { Ok(self.source_walk(&source, queue, walk, after.as_deref(), limit).await?) })
    }
}
