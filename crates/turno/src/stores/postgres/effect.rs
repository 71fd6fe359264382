//! An application's own effect of a line: its statements, run within a savepoint and a time limit.
//!
//! Values are sent as text and the server infers their types, so that a text can be a UUID, a time or JSON, and a
//! number can have any size. Statements that would end the transaction are refused. If an effect evades that check, the
//! changed transaction id reveals it afterwards.

use super::call::{AsText, Call};
use super::connection::Link;
use super::error::TripError;
use super::sql;
use crate::store::{Dialect, Effect, EffectError, LineToApply, Pending, StoreError, Tx, Value};
use std::borrow::Cow;
use std::time::Duration;
use tokio_postgres::Row;
use tokio_postgres::types::{FromSql, ToSql, Type};

/// The time limit of an effect, because the task cannot be taken over meanwhile. Equals the limit of one statement.
pub(super) const EFFECT_MAX: Duration = Duration::from_secs(10);

/// An effect with its time limit.
#[derive(Clone, Copy)]
pub(super) struct Bounded<'a> {
    pub(super) effect: &'a dyn Effect,
    pub(super) longest: Duration,
}

/// The result of an effect.
pub(super) enum Ran {
    /// The effect succeeded.
    Done,
    /// The effect refused the line, with this reason.
    Refused(String),
    /// The effect reported a database error.
    Failed(StoreError),
    /// The effect exceeded its time limit; a statement may still be running.
    Late(StoreError),
}

/// Runs an effect after setting a savepoint. The savepoint still exists afterwards.
pub(super) async fn run(link: &mut Link, effect: Bounded<'_>, line: &LineToApply) -> Result<Ran, TripError> {
    let Bounded { effect, longest } = effect;
    link.trip(&[Call::new(&sql::EFFECT_BEGIN)]).await?;
    let mut tx = Statements { link, refused: None };
    let ran = tokio::time::timeout(longest, effect.apply(line, &mut tx)).await;
    Ok(match ran {
        Ok(Ok(())) => tx.refused.take().map_or(Ran::Done, Ran::Failed),
        Ok(Err(EffectError::Refused(message))) => Ran::Refused(message),
        Ok(Err(EffectError::Store(error))) => Ran::Failed(error),
        Err(_) => Ran::Late(StoreError::Rejected(format!(
            "the effect of line {} of task {} took longer than {longest:?} and was undone; what is slow or remote belongs into a queue",
            line.line.number, line.task
        ).into())),
    })
}

/// The transaction as an effect sees it.
struct Statements<'a> {
    link: &'a mut Link,
    /// The error of a statement that was refused before it was sent. It fails the effect even if the effect ignored it.
    refused: Option<StoreError>,
}

impl Statements<'_> {
    fn checked(&mut self, sql: &str) -> Result<(), StoreError> {
        check(sql).inspect_err(|refused| self.refused = Some(refused.clone()))
    }
}

impl Tx for Statements<'_> {
    fn dialect(&self) -> Dialect {
        Dialect::Postgres
    }

    fn execute<'a>(&'a mut self, sql: &'a str, params: &'a [Value]) -> Pending<'a, u64> {
        Box::pin(async move {
            self.checked(sql)?;
            let params: Vec<AsText<'_>> = params.iter().map(as_text).collect();
            Ok(self.link.client.execute_typed(sql, &typed(&params)).await.map_err(TripError::from)?)
        })
    }

    fn query<'a>(&'a mut self, sql: &'a str, params: &'a [Value]) -> Pending<'a, Vec<Vec<Value>>> {
        Box::pin(async move {
            self.checked(sql)?;
            let params: Vec<AsText<'_>> = params.iter().map(as_text).collect();
            let rows = self.link.client.query_typed(sql, &typed(&params)).await.map_err(TripError::from)?;
            rows.iter().map(|row| (0..row.len()).map(|column| value(row, column)).collect()).collect()
        })
    }
}

fn typed<'a>(params: &'a [AsText<'_>]) -> Vec<(&'a (dyn ToSql + Sync), Type)> {
    params.iter().map(|param| (param as &(dyn ToSql + Sync), Type::UNKNOWN)).collect()
}

fn as_text(value: &Value) -> AsText<'_> {
    AsText(match value {
        Value::Null => None,
        Value::Bool(value) => Some(value.to_string().into()),
        Value::Int(value) => Some(value.to_string().into()),
        Value::Real(value) => Some(value.to_string().into()),
        Value::Text(value) => Some(Cow::Borrowed(value)),
    })
}

/// Reads a column's value.
fn value(row: &Row, column: usize) -> Result<Value, StoreError> {
    fn get<'a, T: FromSql<'a>>(row: &'a Row, column: usize, as_value: fn(T) -> Value) -> Result<Value, StoreError> {
        let value: Option<T> = row.try_get(column).map_err(TripError::from)?;
        Ok(value.map_or(Value::Null, as_value))
    }
    let described = &row.columns()[column];
    match described.type_() {
        &Type::BOOL => get(row, column, Value::Bool),
        &Type::INT2 => get(row, column, |value: i16| Value::Int(value.into())),
        &Type::INT4 => get(row, column, |value: i32| Value::Int(value.into())),
        &Type::INT8 => get(row, column, Value::Int),
        &Type::OID => get(row, column, |value: u32| Value::Int(value.into())),
        &Type::FLOAT4 => get(row, column, |value: f32| Value::Real(value.into())),
        &Type::FLOAT8 => get(row, column, Value::Real),
        &Type::VOID => Ok(Value::Null),
        text if <String as FromSql>::accepts(text) => get(row, column, Value::Text),
        other => {
            let name = described.name();
            let message =
                format!("column {name} is of type {other}, which an effect cannot read; cast it: {name}::text");
            Err(StoreError::Rejected(message.into()))
        }
    }
}

/// Refuses statements that would end the transaction.
fn check(sql: &str) -> Result<(), StoreError> {
    match ending_word(sql) {
        Some(word) => Err(StoreError::Rejected(
            format!("an effect stays inside the transaction it is given; leave {word} out").into(),
        )),
        None => Ok(()),
    }
}

/// Returns the first word if the statement ends or begins a transaction.
fn ending_word(sql: &str) -> Option<String> {
    let mut words = uncommented(sql).split(|char: char| !char.is_ascii_alphabetic()).filter(|word| !word.is_empty());
    let first = words.next()?.to_ascii_lowercase();
    let mut has = |wanted: &str| words.by_ref().take(2).any(|word| word.eq_ignore_ascii_case(wanted));
    let ends = match first.as_str() {
        // Savepoints too: an inner savepoint of the same name would make undoing the effect incomplete.
        "commit" | "end" | "abort" | "begin" | "start" | "rollback" | "savepoint" | "release" => true,
        "prepare" => has("transaction"),
        _ => false,
    };
    ends.then_some(first)
}

/// Returns the statement from its first word on.
fn uncommented(sql: &str) -> &str {
    let mut rest = sql;
    loop {
        rest = rest.trim_start_matches(|char: char| char.is_whitespace() || char == ';');
        let end = if rest.starts_with("--") {
            rest.find('\n').map(|at| at + 1)
        } else if rest.starts_with("/*") {
            rest.find("*/").map(|at| at + 2)
        } else {
            return rest;
        };
        rest = &rest[end.unwrap_or(rest.len())..];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_that_end_the_transaction_are_recognised_behind_comments() {
        for sql in ["commit", " ;-- x\n COMMIT work", "/* a */ End;", "rollback", "prepare transaction 'a'", "Begin"]
            .into_iter()
            .chain(["savepoint turno_effect", "release x", "rollback to savepoint mine"])
        {
            assert!(ending_word(sql).is_some(), "{sql}");
        }
        for sql in ["prepare p as select 1", "update t set x = 'commit'", "-- commit", ""] {
            assert_eq!(ending_word(sql), None, "{sql}");
        }
    }
}
