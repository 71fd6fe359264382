//! Normalising texts as the key's column prints them.
//!
//! A key is the text of a value, and many texts mean the same value: `0100`, ` 100` and `100` in a column of numbers.
//! Only the text that the trigger would write finds the row. With any other the row would seem to be gone.

use super::super::PostgresStore;
use super::super::error::TripError;
use super::super::row::get;
use super::facts::{Facts, KeyKind};
use tokio_postgres::types::Type;
use turno_core::sync::{BadIdent, Source, SourceRefused, quote_ident};

impl PostgresStore {
    /// Returns one key per text, in order. If one is refused, all are.
    pub(super) async fn source_keys(
        &self,
        source: &Source,
        given: &[String],
    ) -> Result<Result<Vec<String>, SourceRefused>, TripError> {
        let facts = match self.source_facts(source).await? {
            Ok(facts) => facts,
            Err(refused) => return Ok(Err(refused)),
        };
        let text = match statement(source, &facts) {
            Ok(text) => text,
            Err(bad) => return Ok(Err(bad.into())),
        };
        let refused = |cause: String| SourceRefused::NotAKey { column: source.key.clone(), cause };
        let rows = match self.source_query(&text, &[(&given, Type::TEXT_ARRAY)]).await {
            // No value of the type (22), or of its domain (23).
            Err(TripError::Refused { code: Some(code), message }) if ["22", "23"].contains(&&code.code()[..2]) => {
                return Ok(Err(refused(message)));
            }
            rows => rows?,
        };
        let mut keys = Vec::with_capacity(given.len());
        for (row, given) in rows.iter().zip(given) {
            let key: String = get(row, 0)?;
            // A cast truncates a text that is too long for its column.
            if facts.key == KeyKind::Text && key.trim_end_matches(' ') != given.trim_end_matches(' ') {
                return Ok(Err(refused(format!("{given:?} is too long for {}", facts.key_type))));
            }
            keys.push(key);
        }
        Ok(Ok(keys))
    }
}

/// Prefers the text of an existing row, because a numeric column may hold 1.50 where 1.5 is asked for.
fn statement(source: &Source, facts: &Facts) -> Result<String, BadIdent> {
    let (table, key, kind) = (source.table.quoted()?, quote_ident(&source.key)?, &facts.key_type);
    Ok(format!(
        "select coalesce((select r.{key}::text from {table} as r where r.{key} = c.value limit 1), c.value::text)
         from (
             select cast(g.given as {kind}) as value, g.place
             from unnest($1::text[]) with ordinality as g (given, place)
         ) c
         order by c.place"
    ))
}
