//! Reading an application's table: the current row of a key, and pages of keys with their delivered states.

use super::super::PostgresStore;
use super::super::call::{AsText, Call};
use super::super::connection::Link;
use super::super::error::TripError;
use super::super::row::{garbled, get};
use super::super::sql;
use super::facts::Facts;
use super::render::{condition, list};
use crate::store::{SourceLook, Walk};
use std::collections::HashMap;
use tokio_postgres::Row;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::{ToSql, Type};
use turno_core::id::{Key, Lane, QueueId};
use turno_core::sync::{BadIdent, KeyState, OnLeave, Outgoing, Source, SourceRefused, quote_ident};

pub(super) type Typed<'a> = (&'a (dyn ToSql + Sync), Type);

/// The fragments of the statements about one source.
struct Texts {
    /// The payload columns of row `r`, as JSON.
    data: String,
    table: String,
    key: String,
    speaks: String,
    takes_part: String,
    /// Whether leaving rows are ignored.
    ignores: bool,
}

impl Texts {
    fn new(source: &Source) -> Result<Texts, BadIdent> {
        let payload: Vec<&str> = source.payload.iter().map(String::as_str).collect();
        Ok(Texts {
            data: format!("(select row_to_json(p)::text from (select {}) as p)", list("r", &payload)?),
            table: source.table.quoted()?,
            key: format!("r.{}", quote_ident(&source.key)?),
            speaks: format!("({})", condition(source.current_when.as_deref())),
            takes_part: format!("({})", condition(source.enqueue_when.as_deref())),
            ignores: source.on_leave == OnLeave::Ignore,
        })
    }

    /// Reads the current row of a key; if several rows are current, always the same one. Also reads whether a current
    /// row takes no part.
    fn current(&self) -> String {
        let Texts { data, table, key, speaks, takes_part, .. } = self;
        let of_key = format!("from {table} as r where {key} = $1 and {key}::text = $2 and {speaks}");
        format!(
            "select (select {data} {of_key} and {takes_part} order by 1 limit 1),
                    exists (select {of_key} and ({takes_part}) is not true)"
        )
    }

    /// Fails if and only if the text is no value of the key's type.
    fn probe(&self) -> String {
        let Texts { table, key, .. } = self;
        format!("select coalesce((select {key} from {table} as r where false), $1) is null")
    }

    /// Reads a page of rows. Finds the page's last key first and then reads only up to it, because otherwise every page
    /// would sort all following rows.
    fn rows(&self, after: bool) -> String {
        let Texts { data, table, key, speaks, takes_part, .. } = self;
        let behind = if after { format!("and {key} > $3") } else { String::new() };
        let meant = format!("from {table} as r where {key} is not null and {speaks} and {takes_part} {behind}");
        format!(
            "with page as materialized (select distinct {key} as place {meant} order by place limit $2)
             select s.key, s.data, false, d.queue is not null, d.digest, {MARKED}
             from (
                 select distinct on ({key}) {key} as place, {key}::text as key, {data} as data
                 {meant} and {key} <= (select p.place from page p order by p.place desc limit 1)
                 order by {key}, data
             ) s
             left join turno.sync_delivered d on d.queue = $1 and d.key = s.key
             order by s.place"
        )
    }

    fn delivered(&self, facts: &Facts) -> String {
        let Texts { table, key, speaks, takes_part, ignores, .. } = self;
        let matches = facts.key.matches(key, "s.key");
        format!(
            "select s.key,
                    case when exists (select from {table} as r where {matches} and {speaks} and {takes_part}) then '' end,
                    {ignores} and exists (
                        select from {table} as r where {matches} and {speaks} and ({takes_part}) is not true
                    ),
                    true, s.digest, {MARKED}
             from (
                 select d.key, d.digest from turno.sync_delivered d
                 where d.queue = $1 and d.key > $3 and d.digest is not null
                 order by d.key limit $2
             ) s
             order by s.key"
        )
    }

    /// Counts keys that are active at the destination although no row takes part: those whose row has left by its
    /// condition, and those without a row and without a change on its way.
    fn unmatched(&self, facts: &Facts) -> String {
        let Texts { table, key, speaks, takes_part, ignores, .. } = self;
        let matches = facts.key.matches(key, "s.key");
        format!(
            "select count(*) filter (where u.stays), count(*) filter (where not u.stays and not u.queued)
             from (
                 select {ignores} and exists (
                            select from {table} as r where {matches} and {speaks} and ({takes_part}) is not true
                        ) as stays,
                        {MARKED} or exists (
                            select from turno.body b join turno.hot h on h.seq = b.seq
                            where b.queue = $1 and b.key = s.key and not h.parked
                        ) as queued
                 from turno.sync_delivered s
                 where s.queue = $1 and s.digest is not null
                     and not exists (select from {table} as r where {matches} and {speaks} and {takes_part})
                 limit $2
             ) u"
        )
    }

    fn size(&self) -> String {
        let Texts { table, key, speaks, takes_part, .. } = self;
        format!(
            "select count(*) from (
                 select distinct {key} from {table} as r
                 where {key} is not null and {speaks} and {takes_part} limit $1
             ) k"
        )
    }

    fn duplicates(&self) -> String {
        let Texts { table, key, speaks, .. } = self;
        format!(
            "select {key}::text, count(*), count(*) over ()
             from {table} as r where {key} is not null and {speaks}
             group by {key} having count(*) > 1 order by 2 desc, 1 limit 20"
        )
    }
}

/// Whether the intake has a row or a mark for the key `s.key` that arrived after the walk took in.
const MARKED: &str =
    "(s.key in (select i.key from turno.intake i where i.queue = $1 and i.kind = 'enqueue' and i.key is not null)
    or s.key in (select k.key from turno.sync_mark k where k.queue = $1))";
/// For a page that is read in several statements, all as of one instant.
const ONE_INSTANT: &str = "set transaction isolation level repeatable read";

impl PostgresStore {
    pub(super) async fn source_current(
        &self,
        source: &Source,
        key: &str,
    ) -> Result<Result<Outgoing, SourceRefused>, TripError> {
        let texts = match Texts::new(source) {
            Ok(texts) => texts,
            Err(bad) => return Ok(Err(bad.into())),
        };
        let (typed, plain) = (AsText(Some(key.into())), key);
        let params: [Typed<'_>; 2] = [(&typed, Type::UNKNOWN), (&plain, Type::TEXT)];
        let read = self.source_query(&texts.current(), &params).await;
        let rows = match read {
            Err(TripError::Refused { code: Some(code), message }) if code.code().starts_with("22") => {
                // Either the key is no value of the column's type, so that no row has it. Or a condition failed, and
                // then nothing is known about the key.
                return match self.source_query(&texts.probe(), &params[..1]).await {
                    Err(TripError::Refused { code: Some(code), .. }) if code.code().starts_with("22") => {
                        Ok(Ok(Outgoing::Deactivate))
                    }
                    Err(other) => Err(other),
                    Ok(_) => Err(TripError::Refused { code: Some(code), message }),
                };
            }
            Err(TripError::Refused { code: Some(SqlState::UNDEFINED_TABLE), .. }) => {
                return Ok(Err(SourceRefused::NoTable(source.table.display())));
            }
            read => read?,
        };
        let row = rows.first().ok_or_else(|| garbled("nothing said of a key"))?;
        Ok(Ok(source.decide_outgoing(get(row, 0)?, get(row, 1)?)))
    }

    pub(super) async fn source_walk(
        &self,
        source: &Source,
        queue: QueueId,
        walk: Walk,
        after: Option<&str>,
        limit: u32,
    ) -> Result<Result<Vec<KeyState>, SourceRefused>, TripError> {
        let texts = match Texts::new(source) {
            Ok(texts) => texts,
            Err(bad) => return Ok(Err(bad.into())),
        };
        // Checked first, so that an unusable table is refused with our message and not with the error of a statement.
        let facts = match self.source_facts(source).await? {
            Ok(facts) => facts,
            Err(refused) => return Ok(Err(refused)),
        };
        let limit = i64::from(limit);
        let typed = AsText(Some(after.unwrap_or_default().into()));
        let mut params: Vec<Typed<'_>> = vec![(&queue.0, Type::INT4), (&limit, Type::INT8)];
        let text = match walk {
            Walk::Rows => {
                if after.is_some() {
                    params.push((&typed, Type::UNKNOWN));
                }
                texts.rows(after.is_some())
            }
            Walk::Delivered => {
                params.push((&typed, Type::TEXT));
                texts.delivered(&facts)
            }
        };
        let (rows, unfinished) = self.source_read(&text, &params, Some(queue)).await?;
        let mut page: Vec<KeyState> = rows.iter().map(kept_from_row).collect::<Result<_, _>>()?;
        let unfinished: HashMap<&str, bool> =
            unfinished.iter().map(|row| Ok((get(row, 0)?, get(row, 1)?))).collect::<Result<_, TripError>>()?;
        for kept in &mut page {
            match unfinished.get(&*kept.key) {
                Some(true) => kept.exhausted = true,
                Some(false) => kept.waiting = true,
                None => {}
            }
        }
        Ok(Ok(page))
    }

    /// Counts active keys at the destination whose row has left by its condition, and those whose row is gone with no
    /// change on its way; see [`SourceLook`].
    pub(super) async fn source_unmatched(
        &self,
        source: &Source,
        queue: QueueId,
        facts: &Facts,
        most: i64,
    ) -> Result<(i64, i64), TripError> {
        let texts = Texts::new(source).map_err(|bad| TripError::rejected(bad.to_string()))?;
        let params: [Typed<'_>; 2] = [(&queue.0, Type::INT4), (&most, Type::INT8)];
        let rows = self.source_query(&texts.unmatched(facts), &params).await?;
        rows.first().map_or(Ok((0, 0)), |row| Ok((get(row, 0)?, get(row, 1)?)))
    }

    pub(super) async fn source_size(&self, source: &Source) -> Result<Result<i64, SourceRefused>, TripError> {
        let texts = match Texts::new(source) {
            Ok(texts) => texts,
            Err(bad) => return Ok(Err(bad.into())),
        };
        let rows = match self.source_query(&texts.size(), &[(&SourceLook::MOST, Type::INT8)]).await {
            Err(TripError::Refused { code: Some(SqlState::UNDEFINED_TABLE), .. }) => {
                return Ok(Err(SourceRefused::NoTable(source.table.display())));
            }
            read => read?,
        };
        Ok(Ok(rows.first().map_or(Ok(0), |row| get(row, 0))?))
    }

    /// Returns keys with several current rows, worst first, and how many such keys exist.
    pub(super) async fn source_duplicates(&self, source: &Source) -> Result<(Vec<(String, i64)>, i64), TripError> {
        let texts = Texts::new(source).map_err(|bad| TripError::rejected(bad.to_string()))?;
        let rows = self.source_query(&texts.duplicates(), &[]).await?;
        let found = rows.iter().map(|row| Ok((get(row, 0)?, get(row, 1)?))).collect::<Result<Vec<_>, TripError>>()?;
        let count = rows.first().map_or(Ok(0), |row| get(row, 2))?;
        Ok((found, count))
    }

    pub(super) async fn source_facts(&self, source: &Source) -> Result<Result<Facts, SourceRefused>, TripError> {
        let mut link = self.source_slot().take(&self.address).await?;
        link.trip(&[Call::new(&sql::SYNC_BEGIN)]).await?;
        let facts = Facts::read(&mut link, source).await;
        link.abandon();
        link.put_back();
        facts
    }

    /// Runs one statement on an application's table in its own transaction. Repeats it once if the connection was
    /// stale.
    pub(super) async fn source_query(&self, text: &str, params: &[Typed<'_>]) -> Result<Vec<Row>, TripError> {
        Ok(self.source_read(text, params, None).await?.0)
    }

    /// Does the same. With a queue, also returns the unfinished items of the keys in the first column, as of the same
    /// instant.
    async fn source_read(
        &self,
        text: &str,
        params: &[Typed<'_>],
        queue: Option<QueueId>,
    ) -> Result<(Vec<Row>, Vec<Row>), TripError> {
        let mut again = true;
        loop {
            let mut link = self.source_slot().take(&self.address).await?;
            let fresh = link.fresh;
            let failure = match query(&mut link, text, params, queue).await {
                Ok(rows) => {
                    link.put_back();
                    return Ok(rows);
                }
                Err(failure) => failure,
            };
            if !failure.is_lost() {
                link.abandon();
                link.put_back();
                return Err(failure);
            }
            if fresh || !again {
                return Err(failure);
            }
            again = false;
        }
    }
}

/// Runs the statement unprepared, because its text is the source's own and a pooler may not keep it.
async fn query(
    link: &mut Link,
    text: &str,
    params: &[Typed<'_>],
    queue: Option<QueueId>,
) -> Result<(Vec<Row>, Vec<Row>), TripError> {
    link.script(&sql::SYNC_BEGIN.text).await?;
    if queue.is_some() {
        link.script(ONE_INSTANT).await?;
    }
    let rows = link.client.query_typed(text, params).await?;
    let unfinished = match queue {
        Some(queue) => {
            let keys: Vec<&str> = rows.iter().map(|row| get(row, 0)).collect::<Result<_, _>>()?;
            // A text that is no valid key is in no lane.
            let lanes: Vec<i64> = keys.iter().filter_map(|key| Some(Lane::from_key(&Key::new(*key).ok()?).0)).collect();
            let params: [Typed<'_>; 2] = [(&queue.0, Type::INT4), (&lanes, Type::INT8_ARRAY)];
            link.client.query_typed(&sql::SYNC_UNFINISHED.text, &params).await?
        }
        None => Vec::new(),
    };
    link.script(&sql::COMMIT.text).await?;
    Ok((rows, unfinished))
}

fn kept_from_row(row: &Row) -> Result<KeyState, TripError> {
    let digest: Option<Vec<u8>> = get(row, 4)?;
    let digest = digest.map(|bytes| bytes.try_into().map_err(|_| garbled("a digest of another size"))).transpose()?;
    let delivered: bool = get(row, 3)?;
    Ok(KeyState {
        key: get(row, 0)?,
        data: get(row, 1)?,
        left: get(row, 2)?,
        delivered: delivered.then_some(digest),
        waiting: get(row, 5)?,
        exhausted: false,
    })
}
