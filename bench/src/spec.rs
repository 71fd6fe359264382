//! The rows, their goals, and the known figures of peers.
//!
//! Goals and figures of peers come from the design's table. Peers were measured on the same kind of machine (2 cores,
//! PostgreSQL 15, the same durability), not in this run and not by this program.

use crate::rows::{HttpWork, Sender};
use crate::site::Database::{self, Postgres, Sqlite};

/// The goal of a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Goal {
    /// No goal.
    None,
    /// At least this many operations per second.
    PerSecond(f64),
    /// At least this share of the rate under easier conditions.
    Share(f64),
    /// At most this long.
    Latency {
        /// The limit of the median.
        p50_ms: f64,
        /// The limit of the 99th percentile.
        p99_ms: f64,
    },
}

/// The kind of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WorkKind {
    EnqueueSingle,
    EnqueueBatch,
    /// With this batch size.
    Drain(u32),
    Ordered,
    PickUp,
    /// As `PickUp`, beside a bulk change in another queue.
    BesideBulk(Sender),
    Heartbeats,
    /// With this many holders.
    Pairs(usize),
    Backlog,
    History,
    OpenTransaction,
    ManyLanes,
    /// The same work over HTTP.
    Http(HttpWork),
    Overload,
}

/// A row of the table.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) name: &'static str,
    /// Distinguishes rows with the same name.
    pub(crate) variant: &'static str,
    pub(crate) database: Database,
    pub(crate) work: WorkKind,
    pub(crate) goal: Goal,
    /// The lower end of the raw limit that the goal was set by: the goal divided by it is the goal's ratio. For a
    /// latency,
    /// the milliseconds of one durable commit.
    pub(crate) documented: Option<f64>,
    pub(crate) peers: &'static str,
}

const fn row(name: &'static str, variant: &'static str, database: Database, work: WorkKind) -> Row {
    let (goal, documented, peers) = (Goal::None, None, "");
    Row { name, variant, database, work, goal, documented, peers }
}

const fn http(name: &'static str, variant: &'static str, database: Database, work: HttpWork) -> Row {
    row(name, variant, database, WorkKind::Http(work))
}

impl Row {
    const fn goal(mut self, goal: Goal) -> Row {
        self.goal = goal;
        self
    }

    const fn rate(mut self, goal: f64, documented: Option<f64>) -> Row {
        self.documented = documented;
        self.goal(Goal::PerSecond(goal))
    }

    const fn beside(mut self, documented: f64) -> Row {
        self.documented = Some(documented);
        self
    }

    const fn peers(mut self, peers: &'static str) -> Row {
        self.peers = peers;
        self
    }
}

const fn latency(p50_ms: f64, p99_ms: f64) -> Goal {
    Goal::Latency { p50_ms, p99_ms }
}

const PEERS_DRAIN: &str = "pgmq 50k/s (no fence), graphile_worker (Rust) batched 32k, graphile-worker batched 30k (no fence), \
     pg-boss 9-21k, apalis 6-16k, BullMQ/Redis 9.4k, graphile-worker default 2.4k, procrastinate 0.3k";
const PEERS_PAIRS: &str =
    "Redis 18-21k/s (limited by a Node client), row in PostgreSQL 7.5k, etcd 2k (0.7k with its lock call)";

/// All rows, in the order of the measurement.
pub(crate) const ROWS: &[Row] = &[
    row("enqueue-single", "16 callers", Sqlite, WorkKind::EnqueueSingle).rate(60e3, Some(5e3)).peers("apalis 1-2k/s"),
    row("enqueue-batch", "1,000 at a time", Sqlite, WorkKind::EnqueueBatch)
        .rate(200e3, Some(300e3))
        .peers("apalis 10-28k/s"),
    row("drain", "100 at a time", Sqlite, WorkKind::Drain(100)).rate(100e3, Some(146e3)).peers("apalis 0.4k/s"),
    row("drain", "1,000 at a time", Sqlite, WorkKind::Drain(1_000)).rate(100e3, Some(317e3)).peers("apalis 0.4k/s"),
    row("ordered", "1,000 keys", Sqlite, WorkKind::Ordered).rate(60e3, None),
    row("heartbeats", "256 holders", Sqlite, WorkKind::Heartbeats).rate(300e3, Some(6e3)),
    row("pick-up", "idle queue", Sqlite, WorkKind::PickUp).goal(latency(0.6, 2.0)).beside(0.15),
    row("lease-pairs", "32 holders", Sqlite, WorkKind::Pairs(32)),
    row("lease-pairs", "256 holders", Sqlite, WorkKind::Pairs(256)),
    row("enqueue-single", "16 callers", Postgres, WorkKind::EnqueueSingle)
        .rate(25e3, Some(11e3))
        .peers("pgmq 9.5k/s, BullMQ/Redis 7.6k, apalis 3.0k, procrastinate 1.7k, graphile-worker 1.2k, pg-boss 1.2k"),
    row("enqueue-batch", "1,000 at a time", Postgres, WorkKind::EnqueueBatch)
        .rate(120e3, Some(280e3))
        .peers("pgmq 179k/s (100 at a time), apalis 63k, graphile-worker 44k, pg-boss 43k, BullMQ 15k"),
    row("drain", "100 at a time", Postgres, WorkKind::Drain(100)).rate(60e3, Some(66e3)).peers(PEERS_DRAIN),
    row("drain", "1,000 at a time", Postgres, WorkKind::Drain(1_000)).rate(60e3, Some(103e3)).peers(PEERS_DRAIN),
    row("ordered", "1,000 keys", Postgres, WorkKind::Ordered).rate(30e3, None).peers(
        "pgmq FIFO 13k/s (one consumer; 0.2k with eight), pg-boss strict FIFO 1.3k, graphile-worker 0.6k, \
             procrastinate 0.3k (graphile-worker batched 21k, but jobs of one key overlapped)",
    ),
    row("pick-up", "idle queue", Postgres, WorkKind::PickUp).goal(latency(1.2, 3.0)).beside(0.2).peers(
        "p50 / p99 ms: BullMQ/Redis 1.4 / 3.3, graphile-worker 2.8 / 7.4, graphile_worker (Rust) 3.7 / 9.3, \
             pg-boss 4.1 / 11, procrastinate 4.7 / 10, apalis 19 / 44",
    ),
    row("pick-up-beside-bulk", "enqueued by a caller", Postgres, WorkKind::BesideBulk(Sender::Library))
        .goal(latency(100.0, 100.0)),
    row("pick-up-beside-bulk", "enqueued in SQL", Postgres, WorkKind::BesideBulk(Sender::Sql))
        .goal(latency(100.0, 100.0)),
    row("heartbeats", "256 holders", Postgres, WorkKind::Heartbeats)
        .rate(200e3, Some(12e3))
        .peers("Redis 33-38k/s, row in PostgreSQL 16k, etcd 4-5k (Redis and etcd limited by a Node client)"),
    row("lease-pairs", "32 holders", Postgres, WorkKind::Pairs(32)).rate(25e3, None).peers(PEERS_PAIRS),
    row("lease-pairs", "256 holders", Postgres, WorkKind::Pairs(256)).rate(25e3, None).peers(PEERS_PAIRS),
    row("drain-backlog", "1M waiting against 10k", Postgres, WorkKind::Backlog)
        .goal(Goal::Share(0.95))
        .peers("pgmq 96-100 % batched, 70-80 % single; plain SKIP LOCKED 95 % / 73 %"),
    row("drain-history", "1M finished against none", Postgres, WorkKind::History)
        .goal(Goal::Share(0.95))
        .peers("pgmq archive 95 %"),
    row("drain-open-transaction", "last against first", Postgres, WorkKind::OpenTransaction)
        .goal(Goal::Share(0.90))
        .peers(
            "after 100k items: plain SKIP LOCKED 60k -> 19k/s, pgmq 52k -> 4.3k/s, graphile-worker default \
             2.9k -> 0.34k, batched unharmed",
        ),
    row("lanes-100k", "against 1,000 lanes", Postgres, WorkKind::ManyLanes).goal(Goal::Share(0.90)),
    http("http-enqueue-single", "16 connections", Sqlite, HttpWork::EnqueueSingle).rate(25e3, None),
    http("http-enqueue-batch", "1,000 at a time", Sqlite, HttpWork::EnqueueBatch).rate(120e3, None),
    http("http-drain", "100 at a time", Sqlite, HttpWork::Drain).rate(50e3, None),
    http("http-ordered", "1,000 keys", Sqlite, HttpWork::Ordered).rate(30e3, None),
    http("http-heartbeats", "256 connections", Sqlite, HttpWork::Heartbeats).rate(45e3, None),
    http("http-lease-pairs", "64 connections", Sqlite, HttpWork::Pairs),
    http("http-pick-up", "idle queue", Sqlite, HttpWork::PickUp).goal(latency(1.5, 4.0)),
    row("http-overload", "ten times the room", Sqlite, WorkKind::Overload),
    http("http-enqueue-single", "16 connections", Postgres, HttpWork::EnqueueSingle).rate(20e3, None),
    http("http-enqueue-batch", "1,000 at a time", Postgres, HttpWork::EnqueueBatch).rate(100e3, None),
    http("http-drain", "100 at a time", Postgres, HttpWork::Drain).rate(40e3, None),
    http("http-ordered", "1,000 keys", Postgres, HttpWork::Ordered).rate(20e3, None),
    http("http-heartbeats", "256 connections", Postgres, HttpWork::Heartbeats).rate(40e3, None),
    http("http-lease-pairs", "64 connections", Postgres, HttpWork::Pairs).rate(12e3, None),
    http("http-pick-up", "idle queue", Postgres, HttpWork::PickUp).goal(latency(2.0, 5.0)),
    row("http-overload", "ten times the room", Postgres, WorkKind::Overload),
];
