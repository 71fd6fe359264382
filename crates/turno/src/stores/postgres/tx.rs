//! One group's transaction: its round trips, the clock between locks and decision, and the resulting plan.

use super::Shared;
use super::call::Call;
use super::connection::Link;
use super::error::TripError;
use super::floor::Scan;
use super::life::Generation;
use super::row::get;
use super::sql;
use crate::clock::Clock;
use crate::store::{AccessWrite, LeaseWrite, Outcomes, StoreError, TaskWrite};
use tokio_postgres::Row;
use turno_core::access::Epoch;
use turno_core::id::{Numbers, QueueId, Seq};
use turno_core::queue::Changes;
use turno_core::time::Time;

/// The answer of the clock statement, read after all locks are held.
pub(super) struct Moment {
    pub(super) now: Time,
    /// The latest time that a process has recorded in the database.
    pub(super) recorded: Time,
    pub(super) xid: Option<String>,
    pub(super) numbers: Vec<i64>,
    /// The epoch of access.
    pub(super) epoch: Epoch,
    /// The server's description of the database's life.
    pub(super) life: String,
    /// How many of the named queues exist.
    queues: i64,
}

impl Moment {
    /// Reads the clock and takes `numbers` fresh numbers. `writes` is true if the transaction certainly writes.
    pub(super) fn call<'a>(numbers: usize, writes: bool) -> Call<'a> {
        Moment::call_into(numbers, writes, &[])
    }

    /// Reads the clock as [`Moment::call`] does, for a group that adds items to these queues.
    pub(super) fn call_into<'a>(numbers: usize, writes: bool, queues: &[QueueId]) -> Call<'a> {
        let numbers = i32::try_from(numbers).unwrap_or(i32::MAX);
        Call::new(&sql::CLOCK).int(numbers).flag(writes).ints(queues.iter().map(|queue| queue.0))
    }

    /// Parses the answer and passes the time through the guarded clock.
    pub(super) fn read(clock: &Clock, rows: &[Row]) -> Result<Moment, TripError> {
        let row = rows.first().ok_or_else(|| TripError::Garbled("the clock did not answer".into()))?;
        let recorded = Time(get(row, 3)?);
        clock.resume(recorded);
        let now = clock.observe(Time(get(row, 0)?));
        let epoch = Epoch(get(row, 4)?);
        Ok(Moment {
            now,
            recorded,
            xid: get(row, 1)?,
            numbers: get(row, 2)?,
            epoch,
            life: get(row, 5)?,
            queues: get(row, 6)?,
        })
    }

    /// Returns `QueueGone` unless all these queues exist. An item added to a deleted queue would never be handed out.
    pub(super) fn knows(&self, queues: &[QueueId]) -> Result<(), TripError> {
        if usize::try_from(self.queues) == Ok(queues.len()) { Ok(()) } else { Err(StoreError::QueueGone.into()) }
    }

    pub(super) fn numbers(&mut self) -> Numbers {
        Numbers::new(std::mem::take(&mut self.numbers))
    }
}

/// The reading part of a transaction.
pub(super) struct Tx<'a> {
    pub(super) link: &'a mut Link,
    shared: &'a Shared,
    as_of: Option<Epoch>,
    /// The life that the caches used by this transaction belong to.
    pub(super) generation: Generation,
    open: bool,
}

impl<'a> Tx<'a> {
    /// Prepares a transaction on this connection. With `as_of`, it fails if the epoch of access differs.
    pub(super) fn new(link: &'a mut Link, shared: &'a Shared, as_of: Option<Epoch>) -> Tx<'a> {
        Tx { link, shared, as_of, generation: shared.lives.generation(), open: false }
    }

    /// Parses the clock's answer, and compares life and epoch. Call this before deciding and before caching anything.
    pub(super) fn moment(&self, rows: &[Row]) -> Result<Moment, TripError> {
        let moment = Moment::read(&self.shared.clock, rows)?;
        if !self.shared.lives.continues(self.generation, &moment.life) {
            return Err(TripError::AnotherLife);
        }
        match self.as_of {
            Some(epoch) if epoch != moment.epoch => Err(TripError::AccessChanged),
            _ => Ok(moment),
        }
    }

    /// Abandons the transaction. The next trip begins a new one.
    pub(super) fn restart(&mut self) {
        self.link.abandon();
        self.open = false;
    }

    /// Sends the calls in one trip. The first trip also begins the transaction.
    pub(super) async fn trip(&mut self, calls: Vec<Call<'_>>) -> Result<Answers, TripError> {
        if self.open {
            return Ok(Answers(self.link.trip(&calls).await?.into_iter()));
        }
        self.open = true;
        let mut all = vec![Call::new(&sql::BEGIN)];
        all.extend(calls);
        let mut answers = self.link.trip(&all).await?.into_iter();
        answers.next();
        Ok(Answers(answers))
    }
}

/// The answers of a trip, taken in the order of its calls.
pub(super) struct Answers(std::vec::IntoIter<Vec<Row>>);

impl Answers {
    pub(super) fn new(answers: std::vec::IntoIter<Vec<Row>>) -> Answers {
        Answers(answers)
    }

    pub(super) fn take(&mut self) -> Vec<Row> {
        self.0.next().unwrap_or_default()
    }
}

/// The plan of a group: its answers, and everything to write before they may be sent.
pub(super) struct Plan {
    pub(super) outcomes: Outcomes,
    pub(super) write: Write,
    /// The transaction's id, to find out its status if the connection is lost at commit.
    pub(super) xid: Option<String>,
    /// The items whose bodies are returned with the answers.
    pub(super) bodies: Vec<Seq>,
    /// Calls that delete the intake rows and the marks that this transaction applies.
    pub(super) taken_in: Vec<Call<'static>>,
    /// The scan of a queue's heads.
    pub(super) scan: Option<Scan>,
}

/// The rows that a group writes.
pub(super) enum Write {
    Nothing,
    Lease(LeaseWrite),
    Queue(Box<Changes>),
    Task(Box<TaskWrite>),
    Access(Box<AccessWrite>),
}

impl From<Changes> for Write {
    fn from(changes: Changes) -> Write {
        if changes.is_empty() { Write::Nothing } else { Write::Queue(Box::new(changes)) }
    }
}

impl Plan {
    pub(super) fn new(outcomes: Outcomes, write: impl Into<Write>, xid: Option<String>) -> Plan {
        Plan { outcomes, write: write.into(), xid, bodies: Vec::new(), taken_in: Vec::new(), scan: None }
    }

    pub(super) fn changes(&self) -> Option<&Changes> {
        match &self.write {
            Write::Queue(changes) => Some(changes),
            Write::Nothing | Write::Lease(_) | Write::Task(_) | Write::Access(_) => None,
        }
    }
}
