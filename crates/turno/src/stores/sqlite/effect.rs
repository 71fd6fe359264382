//! An application's own effect of a line, inside the line's transaction.
//!
//! The effect is a future on the application's runtime, but the transaction belongs to the writer thread. That thread
//! keeps the transaction open and runs the effect's statements, one after another, until the effect is done, has
//! exceeded its time limit, or its caller has gone. Nothing else is written meanwhile. So an effect that calls the
//! engine instead of using its transaction waits for itself, until its time limit.

use super::line::{self, Found};
use super::{SqliteStore, begin, now, sql};
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
use turno_core::text::clip_text;

/// The time limit of an effect: all other writes wait for it, and the shortest usual ttl of a lease is 30 s.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);

/// Steps of SQLite's virtual machine between two checks whether a statement is still wanted: well below a millisecond.
const STEPS: i32 = 10_000;

/// Keeps an effect's statements from ending their transaction, from changing the shared writer connection, and from
/// running on after the caller has gone. Holds the abandon flag of the line whose statement is running. Installed once,
/// because each installation makes SQLite prepare all statements again.
#[derive(Clone, Default)]
pub(super) struct Guard(Arc<Mutex<Option<Abandoned>>>);

/// The flag that a line's caller has gone.
type Abandoned = Arc<AtomicBool>;

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

    /// Guards until the returned value is dropped.
    fn on(&self, abandoned: &Abandoned) -> GuardScope<'_> {
        *self.lock() = Some(abandoned.clone());
        GuardScope(self)
    }

    fn lock(&self) -> MutexGuard<'_, Option<Abandoned>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_set(abandoned: &Abandoned) -> bool {
    abandoned.load(Ordering::Relaxed)
}

/// Ends the guard with its scope, also after a panic.
struct GuardScope<'a>(&'a Guard);

impl Drop for GuardScope<'_> {
    fn drop(&mut self) {
        *self.0.lock() = None;
    }
}

/// Sets the flag when the caller of a line goes away.
struct AbandonOnDrop(Abandoned);

impl AbandonOnDrop {
    fn give_up(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Drop for AbandonOnDrop {
    fn drop(&mut self) {
        self.give_up();
    }
}

/// A request of an effect to the writer thread.
enum Request {
    Execute { text: String, values: Vec<Value>, answer: oneshot::Sender<Result<u64, StoreError>> },
    Query { text: String, values: Vec<Value>, answer: oneshot::Sender<Result<Vec<Vec<Value>>, StoreError>> },
    Done(Result<(), EffectError>),
}

/// Applies a line with the application's effect, within `patience`.
pub(super) fn apply(
    store: &SqliteStore,
    apply: Apply,
    effect: Arc<dyn Effect>,
    patience: Duration,
) -> Pending<'_, LineStep> {
    Box::pin(async move {
        let (requests, received) = mpsc::channel();
        let (begun, mut begins) = oneshot::channel();
        let (clock, guard) = (store.clock.clone(), store.guard.clone());
        let number = apply.number;
        let caller = AbandonOnDrop(Abandoned::default());
        let abandoned = caller.0.clone();
        let mut written = store.writer.run(move |db| {
            let served = Served { apply, guard, received, patience, abandoned };
            served.run(db, &clock, begun)
        });
        let line = tokio::select! {
            step = &mut written => return step,
            line = &mut begins => line,
        };
        // Without a line there is nothing to apply.
        if let Ok(line) = line {
            let mut tx = Remote { requests: requests.clone() };
            let done = tokio::select! {
                step = &mut written => return step,
                done = tokio::time::timeout(patience, effect.apply(&line, &mut tx)) => done,
            };
            let late = |_| {
                caller.give_up();
                Err(EffectError::Store(unanswered(number, patience)))
            };
            // If the writer thread no longer listens, its answer is ready.
            let _ = requests.send(Request::Done(done.unwrap_or_else(late)));
        }
        written.await
    })
}

fn unanswered(number: u32, patience: Duration) -> StoreError {
    StoreError::Rejected(format!(
        "the effect of line {number} was not done within {} s, and all of it is undone; find out what it waits for: \
         it must use nothing but its own transaction",
        patience.as_secs_f32()
    ).into())
}

/// The serving end, on the writer thread.
struct Served {
    apply: Apply,
    guard: Guard,
    received: Receiver<Request>,
    patience: Duration,
    abandoned: Abandoned,
}

impl Served {
    /// Runs the line's transaction. Any error rolls all of it back.
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
        write.tx.prepare_cached(&sql::EFFECT_BEGIN)?.execute([])?;
        begun.send(line).map_err(|_| gone())?;
        let effect = match self.serve(&write.tx)? {
            Ok(()) => Ok(()),
            Err(message) => {
                write.tx.prepare_cached(&sql::EFFECT_UNDO)?.execute([])?;
                Err(LineError::Refused { message: clip_text(&message) })
            }
        };
        write.tx.prepare_cached(&sql::EFFECT_END)?.execute([])?;
        let worked_at = now(clock);
        line::settle(write, &self.apply, *going, effect, worked_at)
    }

    /// Serves statements until the effect succeeds or refuses with a message.
    ///
    /// If a statement failed and the effect ignored that, the line fails, because PostgreSQL would not let it continue
    /// either.
    fn serve(&self, tx: &Connection) -> Result<Result<(), String>, StoreError> {
        let mut failed = None;
        loop {
            // A second limit beside that of the future, for a runtime that is blocked.
            let request = self.received.recv_timeout(self.patience).map_err(|why| match why {
                RecvTimeoutError::Timeout => unanswered(self.apply.number, self.patience),
                RecvTimeoutError::Disconnected => gone(),
            })?;
            match request {
                Request::Execute { text, values, answer } => {
                    let done = self.guarded(tx, || execute(tx, &text, &values))?;
                    failed = failed.or_else(|| done.as_ref().err().cloned());
                    // The effect may have dropped its request.
                    let _ = answer.send(done);
                }
                Request::Query { text, values, answer } => {
                    let done = self.guarded(tx, || query(tx, &text, &values))?;
                    failed = failed.or_else(|| done.as_ref().err().cloned());
                    let _ = answer.send(done);
                }
                Request::Done(Ok(())) => match failed {
                    None => return Ok(Ok(())),
                    Some(error) => {
                        let number = self.apply.number;
                        let text = format!("the effect of line {number} failed in a statement and went on: {error}");
                        return Err(StoreError::Rejected(text.into()));
                    }
                },
                Request::Done(Err(EffectError::Refused(message))) => return Ok(Err(message)),
                Request::Done(Err(EffectError::Store(error))) => return Err(error),
            }
        }
    }

    /// Runs one statement under the guard. A statement can still end the transaction by failing (`insert or rollback`).
    /// Then nothing may be written after it, because that would be committed separately.
    fn guarded<T>(
        &self,
        tx: &Connection,
        run: impl FnOnce() -> Result<T, StoreError>,
    ) -> Result<Result<T, StoreError>, StoreError> {
        let on = self.guard.on(&self.abandoned);
        let done = run();
        drop(on);
        if is_set(&self.abandoned) {
            return Err(unanswered(self.apply.number, self.patience));
        }
        if tx.is_autocommit() {
            let why = done.err().map_or_else(String::new, |error| format!(": {error}"));
            let text = format!("a statement of the effect of line {} rolled everything back{why}", self.apply.number);
            return Err(StoreError::Rejected(text.into()));
        }
        Ok(done)
    }
}

/// Returns the error for a caller that has gone.
fn gone() -> StoreError {
    StoreError::Unavailable("the task that applied the line has ended".into())
}

fn execute(tx: &Connection, text: &str, values: &[Value]) -> Result<u64, StoreError> {
    let before = tx.total_changes();
    let mut statement = prepared(tx, text, values)?;
    let mut rows = statement.raw_query();
    while rows.next()?.is_some() {}
    // A statement that changes nothing leaves the previous statement's count, so that count must not be returned.
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

/// Prepares a statement and binds its parameters by name, because to SQLite `$2` is a name that may come first.
fn prepared<'c>(tx: &'c Connection, text: &str, values: &[Value]) -> Result<Statement<'c>, StoreError> {
    let mut statement = tx.prepare(text).map_err(denied)?;
    let mut used = 0;
    for index in 1..=statement.parameter_count() {
        let name = statement.parameter_name(index).unwrap_or("?");
        let number = name.strip_prefix('$').and_then(|digits| digits.parse::<usize>().ok()).unwrap_or(0);
        let Some(value) = number.checked_sub(1).and_then(|at| values.get(at)) else {
            let text = format!("parameter {name} has no value: there are $1 to ${}", values.len());
            return Err(StoreError::Rejected(text.into()));
        };
        used = used.max(number);
        statement.raw_bind_parameter(index, cell(value))?;
    }
    if used < values.len() {
        return Err(StoreError::Rejected(format!("{} values for parameters $1 to ${used}", values.len()).into()));
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
    requests: Sender<Request>,
}

impl Remote {
    async fn ask<T>(
        &self,
        make: impl FnOnce(oneshot::Sender<Result<T, StoreError>>) -> Request,
    ) -> Result<T, StoreError> {
        let over = || StoreError::Rejected("the transaction of the line is over".into());
        let (answer, answered) = oneshot::channel();
        self.requests.send(make(answer)).map_err(|_| over())?;
        answered.await.map_err(|_| over())?
    }
}

impl Tx for Remote {
    fn dialect(&self) -> Dialect {
        Dialect::Sqlite
    }

    fn execute<'a>(&'a mut self, sql: &'a str, params: &'a [Value]) -> Pending<'a, u64> {
        let (text, values) = (sql.to_owned(), params.to_vec());
        Box::pin(self.ask(move |answer| Request::Execute { text, values, answer }))
    }

    fn query<'a>(&'a mut self, sql: &'a str, params: &'a [Value]) -> Pending<'a, Vec<Vec<Value>>> {
        let (text, values) = (sql.to_owned(), params.to_vec());
        Box::pin(self.ask(move |answer| Request::Query { text, values, answer }))
    }
}
