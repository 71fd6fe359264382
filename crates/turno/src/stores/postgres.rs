//! The PostgreSQL store.
//!
//! A group is one transaction in at most two pipelined round trips, or three where the second read depends on the
//! first. The first trip begins, locks, reads, and reads the clock last. Then the group is decided. The second trip
//! writes and commits. Each route has its own connection, and so have heartbeats and hints. There is no connection
//! pool, and no session state is relied on between two transactions.
//!
//! | file | contents |
//! |---|---|
//! | `sql`, `call` | the list of statements; a statement with its parameters |
//! | `url`, `tls` | the parameters of the URL; TLS as libpq does it |
//! | `connection`, `slot`, `read`, `error` | a connection, the slot that keeps it, reads outside of groups, the errors |
//! | `tx`, `commit` | a group's transaction, and finding out its outcome |
//! | `lease`, `enqueue`, `claim`, `settle`, `manage`, `task`, `access` | the rows that each kind of group locks and reads |
//! | `changes` | the rows that queue commands write |
//! | `arrive` | inbox items that are written without reading first |
//! | `line`, `effect`, `stock` | one line of a finalize, an application's own effect, and the stock ledger |
//! | `audit` | the audit's head, which every transaction locks last, and its entries |
//! | `sync` | triggers on tables of applications, and reading those tables |
//! | `intake` | taking in what applications enqueued or completed in their own transactions |
//! | `floor`, `expiry`, `lane` | where index scans start, so that they skip dead entries |
//! | `life` | lives of the database: caches are cleared when a new life begins |
//! | `item`, `queue`, `event`, `answer`, `purge`, `check`, `repair` | everything else outside of groups |
//! | `row` | conversion between columns and values |
//! | `hint`, `schema` | hints to other processes; the schema |
//!
//! All transactions lock in one order: task, lease, line, article (or lane, item, queue), and the audit's head last. No
//! transaction waits for a lock that an application can hold: leases that an open transaction asserts are skipped and
//! reported as pinned, and a busy task is refused as busy.
//!
//! Not here: rules (the core's), retries of conflicts (the engine's).

mod access;
mod answer;
mod arrive;
mod audit;
mod call;
mod changes;
mod check;
mod claim;
mod commit;
mod connection;
mod destination;
mod effect;
mod enqueue;
mod error;
mod event;
mod expiry;
mod floor;
mod hint;
mod intake;
mod item;
mod lane;
mod lease;
mod life;
mod line;
mod manage;
mod pace;
mod purge;
mod queue;
mod read;
mod repair;
mod row;
mod schema;
mod settle;
mod slot;
mod sql;
mod stock;
mod sync;
mod task;
#[cfg(test)]
mod tests;
mod tls;
mod tx;
pub(crate) mod url;

use crate::clock::Clock;
use crate::error::Error;
use crate::store::{
    Delivered, Effect, Group, Hint, IntakeStore, LineStep, Outcomes, Pending, Routes, SchemaState, SourceTables, Store,
    StoreError,
};
use connection::Address;
use event::Sequencer;
use expiry::Expiry;
use floor::Floors;
use hint::Hints;
use intake::Intake;
use lane::Lanes;
use life::{Lives, Recorded};
use slot::Slot;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;
use turno_core::access::Epoch;
use turno_core::life::Occasion;
use turno_core::task::Apply;
use turno_core::time::Time;

/// Connections for groups: two for leases, two for items, and the reserved one.
const ROUTES: usize = 5;
/// Connections for heartbeats, which are read outside of groups.
const PEEKERS: usize = 2;
/// Connections for reads outside of groups.
const READERS: usize = 2;
/// Connections for lines of finalizes. An effect may be slow, so lines share no connection with groups.
const LINES: usize = 2;

/// The store for a PostgreSQL database.
pub(crate) struct PostgresStore {
    description: String,
    address: Address,
    shared: Shared,
    expiry: Expiry,
    looks: Expiry,
    routes: [Slot; ROUTES],
    readers: [Slot; READERS],
    peekers: [Slot; PEEKERS],
    sequencer: Sequencer,
    lines: [Slot; LINES],
    line_permits: Semaphore,
    effect_max: Duration,
    /// For writes outside of groups and lines.
    keeper: Slot,
    intake: Intake,
    sources: [Slot; sync::SOURCES],
    hints: Hints,
}

/// State that all transactions share: the guarded clock, and caches of where to start scanning.
struct Shared {
    clock: Arc<Clock>,
    floors: Floors,
    lanes: Lanes,
    lives: Lives,
    /// The highest time this process has recorded.
    recorded: Recorded,
}

impl PostgresStore {
    /// Connects, and migrates the schema if `migrate` is true. Otherwise returns an error if this program cannot use
    /// the schema. Then begins a life and resumes the clock from the recorded mark.
    ///
    /// Hints go over `direct` if it is given.
    pub(crate) async fn open(
        url: &str,
        direct: Option<&str>,
        clock: Arc<Clock>,
        migrate: bool,
    ) -> Result<PostgresStore, Error> {
        let address = Address::parse(url)?;
        let direct = direct.map(Address::parse).transpose()?;
        let mut link = address.connect().await.map_err(StoreError::from)?;
        if migrate {
            schema::migrate(&mut link).await?;
        } else {
            schema::look(&mut link).await?.required()?;
        }
        let description = format!("PostgreSQL {}, {}", link.version, address.url.location());
        let floors = Floors::default();
        let hints = Hints::new(address.clone(), direct, floors.clone());
        let (lanes, lives, recorded) = (Lanes::default(), Lives::default(), Recorded::default());
        let shared = Shared { clock, floors, lanes, lives, recorded };
        let store = PostgresStore {
            description,
            address,
            shared,
            expiry: Expiry::default(),
            looks: Expiry::default(),
            routes: Default::default(),
            readers: Default::default(),
            peekers: Default::default(),
            sequencer: Sequencer::default(),
            lines: Default::default(),
            line_permits: Semaphore::new(LINES),
            effect_max: effect::EFFECT_MAX,
            keeper: Slot::default(),
            intake: Intake::default(),
            sources: Default::default(),
            hints,
        };
        store.begin_life(Occasion::Start).await?;
        Ok(store)
    }

    /// Reads the schema's version of the database that the URL names.
    pub(crate) async fn schema_of(url: &str) -> Result<SchemaState, Error> {
        let mut link = Address::parse(url)?.connect().await.map_err(StoreError::from)?;
        Ok(schema::look(&mut link).await?)
    }
}

impl Store for PostgresStore {
    fn describe(&self) -> &str {
        &self.description
    }

    fn routes(&self) -> Routes {
        Routes { merges: false, leases: vec![0, 1], items: vec![2, 3], reserved: 4 }
    }

    fn commit(&self, route: usize, groups: Arc<[Group]>, as_of: Option<Epoch>) -> Pending<'_, Vec<Outcomes>> {
        Box::pin(async move {
            match &*groups {
                [group] => Ok(vec![self.commit_one(route, group, as_of).await?]),
                [] => Ok(Vec::new()),
                _ => Err(StoreError::Bug("this store takes one group at a time")),
            }
        })
    }

    fn apply_line(&self, apply: Apply, effect: Option<Arc<dyn Effect>>) -> Pending<'_, LineStep> {
        Box::pin(async move { self.line_apply(apply, effect.as_deref()).await })
    }

    fn recorded(&self) -> Option<Time> {
        self.shared.recorded.get(self.shared.lives.generation())
    }

    fn raise_mark(&self, now: Time) -> Pending<'_, ()> {
        Box::pin(self.mark_raise(now))
    }

    fn intake(&self) -> Option<&dyn IntakeStore> {
        Some(self)
    }

    fn source_tables(&self) -> Option<&dyn SourceTables> {
        Some(self)
    }

    fn sync_delivered(&self, delivered: Delivered) -> Pending<'_, ()> {
        Box::pin(self.delivered(delivered))
    }

    fn hint(&self) -> Pending<'_, Hint> {
        Box::pin(self.hints.next())
    }

    fn announce(&self, hints: Vec<Hint>) -> Pending<'_, ()> {
        Box::pin(async move {
            self.hints.announce(hints);
            Ok(())
        })
    }
}
