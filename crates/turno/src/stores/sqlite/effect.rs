//! An application's own effect of a line, inside the line's transaction.
//!
//! The effect is a future of the application's runtime, the transaction belongs to the thread that writes. That
//! thread keeps the transaction open and serves the effect's statements, one after another, until the effect is
//! done, or has taken too long, or whoever waited for it has gone. Nobody else writes meanwhile. So an effect that
//! asks the engine for something, instead of its transaction, waits for itself, until its time is up.

use super::line::{self, Found};
use super::{SqliteStore, begin, now, statements as sql};
use crate::clock::Clock;
use crate::store::{Dialect, Effect, EffectError, LineStep, LineToApply, Pending, StoreError, Tx, Value};
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use rusqlite::types::{Value as Cell, ValueRef};
use rusqlite::{Connection, Error, ErrorCode, Statement};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::oneshot;
use turno_core::task::{Apply, LineError};
use turno_core::text::kept;

/// Longest that an effect may take: all other writers wait for it, and the shortest usual ttl of a lease is 30 s.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);

/// Steps of SQLite's machine between two looks whether anybody still waits for a statement: well below a millisecond.
const STEPS: i32 = 10_000;

/// Keeps an effect's statements from ending the transaction that they are part of, from changing the connection that
/// everybody writes through, and from running on when nobody waits for them. It holds the sign of the line whose
/// statement is running. Installed once: each installation has SQLite prepare all statements anew.
#[derive(Clone, Default)]
pub(super) struct Guard(Arc<Mutex<Option<Left>>>);

/// The sign that a line is not waited for any more.
type Left = Arc<AtomicBool>;

impl Guard {
    pub(super) fn install(writer: &mut Connection) -> Result<Guard, StoreError> {
        let guard = Guard::default();
        let running = guard.clone();
        writer.authorizer(Some(move |context: AuthContext<'_>| match context.action {
            AuthAction::Transaction { .. }
            | AuthAction::Savepoint { .. }
            | AuthAction::Attach { .. }
            | AuthAction::Detach { .. }
            | AuthAction::Pragma { .. }
                if running.lock().is_some() =>
            {
                Authorization::Deny
            }
            _ => Authorization::Allow,
        }))?;
        let running = guard.clone();
        writer.progress_handler(STEPS, Some(move || running.lock().as_ref().is_some_and(is_set)))?;
        Ok(guard)
    }

    /// Guards until the answer is dropped.
    fn on(&self, left: &Left) -> On<'_> {
        *self.lock() = Some(left.clone());
        On(self)
    }

    fn lock(&self) -> MutexGuard<'_, Option<Left>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_set(left: &Left) -> bool {
    left.load(Ordering::Relaxed)
}

/// Ends with its scope, also by a panic.
struct On<'a>(&'a Guard);

impl Drop for On<'_> {
    fn drop(&mut self) {
        *self.0.lock() = None;
    }
}

/// Whoever waits for a line; gone, they leave the sign.
struct Waits(Left);

impl Waits {
    fn give_up(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Drop for Waits {
    fn drop(&mut self) {
        self.give_up();
    }
}

/// What an effect wants of the thread that writes.
enum Ask {
    Execute { text: String, values: Vec<Value>, answer: oneshot::Sender<Result<u64, StoreError>> },
    Query { text: String, values: Vec<Value>, answer: oneshot::Sender<Result<Vec<Vec<Value>>, StoreError>> },
    Done(Result<(), EffectError>),
}

/// Carries out a line whose effect is the application's, within `patience`.
pub(super) fn apply(
    store: &SqliteStore,
    apply: Apply,
    effect: Arc<dyn Effect>,
    patience: Duration,
) -> Pending<'_, LineStep> {
    Box::pin(async move {
        let (asks, asked) = mpsc::channel();
        let (begun, mut begins) = oneshot::channel();
        let (clock, guard) = (store.clock.clone(), store.guard.clone());
        let number = apply.number;
        let waits = Waits(Left::default());
        let left = waits.0.clone();
        let mut written = store.writer.run(move |db| {
            let served = Served { apply, guard, asked, patience, left };
            served.run(db, &clock, begun)
        });
        let line = tokio::select! {
            step = &mut written => return step,
            line = &mut begins => line,
        };
        // Without a line there is nothing to be done about it.
        if let Ok(line) = line {
            let mut tx = Remote { asks: asks.clone() };
            let done = tokio::select! {
                step = &mut written => return step,
                done = tokio::time::timeout(patience, effect.apply(&line, &mut tx)) => done,
            };
            let late = |_| {
                waits.give_up();
                Err(EffectError::Store(unanswered(number, patience)))
            };
            // Whoever does not listen any more has an answer ready.
            let _ = asks.send(Ask::Done(done.unwrap_or_else(late)));
        }
        written.await
    })
}

fn unanswered(number: u32, patience: Duration) -> StoreError {
    StoreError::Rejected(format!(
        "the effect of line {number} was not done within {} s, and all of it is undone; find out what it waits for: \
         it must use nothing but its own transaction",
        patience.as_secs_f32()
    ))
}

/// The other end, on the thread that writes.
struct Served {
    apply: Apply,
    guard: Guard,
    asked: Receiver<Ask>,
    patience: Duration,
    left: Left,
}

impl Served {
    /// Whatever ends this with an error rolls everything back.
    fn run(
        self,
        db: &mut Connection,
        clock: &Clock,
        begun: oneshot::Sender<LineToApply>,
    ) -> Result<LineStep, StoreError> {
        let write = begin(db, clock)?;
        let going = match line::find(&write, &self.apply)? {
            Found::Go(going) => going,
            Found::Over(step) => return Ok(step),
        };
        let Apply { task, fence, ref who, .. } = self.apply;
        let line = LineToApply { task, line: going.line.clone(), by: who.user.clone(), fence, now: write.now };
        write.tx.prepare_cached(sql::EFFECT_BEGIN)?.execute([])?;
        begun.send(line).map_err(|_| gone())?;
        let effect = match self.serve(&write.tx)? {
            Ok(()) => Ok(()),
            Err(message) => {
                write.tx.prepare_cached(sql::EFFECT_UNDO)?.execute([])?;
                Err(LineError::Refused { message: kept(&message) })
            }
        };
        write.tx.prepare_cached(sql::EFFECT_END)?.execute([])?;
        let worked_at = now(clock);
        line::settle(write, &self.apply, *going, effect, worked_at)
    }

    /// Answers until the effect is done, or has refused with a message.
    ///
    /// One that failed in a statement and went on as if nothing had happened is not believed: the other database would
    /// not let it.
    fn serve(&self, tx: &Connection) -> Result<Result<(), String>, StoreError> {
        let mut failed = None;
        loop {
            // A second bound beside the one of the future, for a runtime that stands still.
            let ask = self.asked.recv_timeout(self.patience).map_err(|why| match why {
                RecvTimeoutError::Timeout => unanswered(self.apply.number, self.patience),
                RecvTimeoutError::Disconnected => gone(),
            })?;
            match ask {
                Ask::Execute { text, values, answer } => {
                    let done = self.guarded(tx, || execute(tx, &text, &values))?;
                    failed = failed.or_else(|| done.as_ref().err().cloned());
                    // An effect may drop its own question.
                    let _ = answer.send(done);
                }
                Ask::Query { text, values, answer } => {
                    let done = self.guarded(tx, || query(tx, &text, &values))?;
                    failed = failed.or_else(|| done.as_ref().err().cloned());
                    let _ = answer.send(done);
                }
                Ask::Done(Ok(())) => match failed {
                    None => return Ok(Ok(())),
                    Some(error) => {
                        let number = self.apply.number;
                        let text = format!("the effect of line {number} failed in a statement and went on: {error}");
                        return Err(StoreError::Rejected(text));
                    }
                },
                Ask::Done(Err(EffectError::Refused(message))) => return Ok(Err(message)),
                Ask::Done(Err(EffectError::Store(error))) => return Err(error),
            }
        }
    }

    /// A statement may still end the transaction by failing (`insert or rollback`): then nothing may be written after
    /// it, since it would be stored on its own.
    fn guarded<T>(
        &self,
        tx: &Connection,
        run: impl FnOnce() -> Result<T, StoreError>,
    ) -> Result<Result<T, StoreError>, StoreError> {
        let on = self.guard.on(&self.left);
        let done = run();
        drop(on);
        if is_set(&self.left) {
            return Err(unanswered(self.apply.number, self.patience));
        }
        if tx.is_autocommit() {
            let why = done.err().map_or_else(String::new, |error| format!(": {error}"));
            let text = format!("a statement of the effect of line {} rolled everything back{why}", self.apply.number);
            return Err(StoreError::Rejected(text));
        }
        Ok(done)
    }
}

/// Nobody waits for the line any more.
fn gone() -> StoreError {
    StoreError::Unavailable("whoever applied the line has gone".into())
}

fn execute(tx: &Connection, text: &str, values: &[Value]) -> Result<u64, StoreError> {
    let before = tx.total_changes();
    let mut statement = prepared(tx, text, values)?;
    let mut rows = statement.raw_query();
    while rows.next()?.is_some() {}
    // What is no change leaves the count of the one before.
    Ok(if tx.total_changes() == before { 0 } else { tx.changes() })
}

fn query(tx: &Connection, text: &str, values: &[Value]) -> Result<Vec<Vec<Value>>, StoreError> {
    let mut statement = prepared(tx, text, values)?;
    let columns = statement.column_count();
    let mut rows = statement.raw_query();
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let row = (0..columns).map(|at| value(row.get_ref(at)?)).collect::<Result<_, StoreError>>()?;
        found.push(row);
    }
    Ok(found)
}

/// With its parameters, which are counted by their names: to SQLite `$2` is just a name, and may come first.
fn prepared<'c>(tx: &'c Connection, text: &str, values: &[Value]) -> Result<Statement<'c>, StoreError> {
    let mut statement = tx.prepare(text).map_err(denied)?;
    let mut used = 0;
    for index in 1..=statement.parameter_count() {
        let name = statement.parameter_name(index).unwrap_or("?");
        let number = name.strip_prefix('$').and_then(|digits| digits.parse::<usize>().ok()).unwrap_or(0);
        let Some(value) = number.checked_sub(1).and_then(|at| values.get(at)) else {
            let text = format!("parameter {name} has no value: there are $1 to ${}", values.len());
            return Err(StoreError::Rejected(text));
        };
        used = used.max(number);
        statement.raw_bind_parameter(index, cell(value))?;
    }
    if used < values.len() {
        return Err(StoreError::Rejected(format!("{} values for parameters $1 to ${used}", values.len())));
    }
    Ok(statement)
}

fn denied(error: Error) -> StoreError {
    match error.sqlite_error_code() {
        Some(ErrorCode::AuthorizationForStatementDenied) => StoreError::Rejected(
            "the transaction is the line's: an effect cannot begin, end or nest one, attach a database or set a pragma"
                .into(),
        ),
        _ => error.into(),
    }
}

fn cell(value: &Value) -> Cell {
    match value {
        Value::Null => Cell::Null,
        Value::Bool(yes) => Cell::Integer(i64::from(*yes)),
        Value::Int(number) => Cell::Integer(*number),
        Value::Real(number) => Cell::Real(*number),
        Value::Text(text) => Cell::Text(text.clone()),
    }
}

fn value(cell: ValueRef<'_>) -> Result<Value, StoreError> {
    Ok(match cell {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => Value::Int(number),
        ValueRef::Real(number) => Value::Real(number),
        ValueRef::Text(_) => Value::Text(cell.as_str().map_err(Error::from)?.to_owned()),
        ValueRef::Blob(_) => {
            return Err(StoreError::Rejected("a blob cannot be read in an effect; select hex() of it".into()));
        }
    })
}

/// The transaction as the effect sees it.
struct Remote {
    asks: Sender<Ask>,
}

impl Remote {
    async fn ask<T>(&self, make: impl FnOnce(oneshot::Sender<Result<T, StoreError>>) -> Ask) -> Result<T, StoreError> {
        let over = || StoreError::Rejected("the transaction of the line is over".into());
        let (answer, answered) = oneshot::channel();
        self.asks.send(make(answer)).map_err(|_| over())?;
        answered.await.map_err(|_| over())?
    }
}

impl Tx for Remote {
    fn dialect(&self) -> Dialect {
        Dialect::Sqlite
    }

    fn execute<'a>(&'a mut self, sql: &'a str, params: &'a [Value]) -> Pending<'a, u64> {
        let (text, values) = (sql.to_owned(), params.to_vec());
        Box::pin(self.ask(move |answer| Ask::Execute { text, values, answer }))
    }

    fn query<'a>(&'a mut self, sql: &'a str, params: &'a [Value]) -> Pending<'a, Vec<Vec<Value>>> {
        let (text, values) = (sql.to_owned(), params.to_vec());
        Box::pin(self.ask(move |answer| Ask::Query { text, values, answer }))
    }
}
