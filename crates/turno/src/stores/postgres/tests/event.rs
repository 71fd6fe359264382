//! Positions of events: in the order in which events become visible, whatever transactions run beside the sequencer.

use super::*;
use crate::clock::Manual;
use crate::store::{EventSpan, Sequenced};
use std::collections::BTreeSet;
use turno_core::id::Position;

/// A store whose clock stands still until it is advanced.
async fn still_store() -> (PostgresStore, String, Arc<Manual>) {
    let url = Cluster::for_tests().fresh_database().await;
    let time = Manual::starting_at(Time(1_700_000_000_000));
    let store = PostgresStore::open(&url, None, Arc::new(Clock::manual(time.clone())), true).await.unwrap();
    (store, url, time)
}

/// Writes an event as a group does, in the transaction that the client has open.
async fn write(client: &Client, resource: &str) {
    let sql = "insert into turno.event_in (topic, name, resource, at) values ('leases', 'lease.claimed', $1, 7)";
    client.execute(sql, &[&resource]).await.unwrap();
}

/// Opens a transaction that has written an event.
async fn writing(url: &str, resource: &str) -> Client {
    let client = outside(url).await;
    client.batch_execute("begin").await.unwrap();
    write(&client, resource).await;
    client
}

async fn read(store: &PostgresStore, after: i64) -> Vec<(i64, String)> {
    let events = store.events(Position(after), 10_000).await.unwrap();
    events.into_iter().map(|(position, event)| (position.0, event.resource.to_string())).collect()
}

/// Reads like a reader that uses the numbers of the inserts as positions.
async fn read_by_number(client: &Client, after: i64) -> Vec<(i64, String)> {
    let rows = client.query("select n, resource from turno.event_in where n > $1 order by n", &[&after]).await.unwrap();
    rows.iter().map(|row| (row.get(0), row.get(1))).collect()
}

#[tokio::test]
async fn transactions_that_commit_out_of_order_are_neither_skipped_nor_repeated() {
    let (store, url, _) = still_store().await;
    let first = writing(&url, "first").await;
    let second = writing(&url, "second").await;
    second.batch_execute("commit").await.unwrap();
    assert_eq!(store.sequence().await, Ok(Sequenced::All(1)));
    assert_eq!(read(&store, 0).await, [(1, "second".to_owned())]);
    first.batch_execute("commit").await.unwrap();
    assert_eq!(store.sequence().await, Ok(Sequenced::All(1)));
    assert_eq!(read(&store, 1).await, [(2, "first".to_owned())], "the later commit gets the later position");
    assert_eq!(store.sequence().await, Ok(Sequenced::All(0)));
    assert_eq!(read(&store, 0).await.len(), 2);
}

#[tokio::test]
async fn control_a_cursor_over_insert_numbers_misses_late_commits() {
    let (_store, url, _) = still_store().await;
    let reader = outside(&url).await;
    let first = writing(&url, "first").await;
    let second = writing(&url, "second").await;
    second.batch_execute("commit").await.unwrap();
    let seen = read_by_number(&reader, 0).await;
    assert_eq!(seen, [(2, "second".to_owned())]);
    first.batch_execute("commit").await.unwrap();
    assert_eq!(read_by_number(&reader, 2).await, [], "the reader never sees the first event");
    assert_eq!(read_by_number(&reader, 0).await.len(), 2, "the first event exists");
}

#[tokio::test]
async fn an_idle_transaction_with_an_old_snapshot_does_not_stop_the_sequencer() {
    let (store, url, time) = still_store().await;
    let idle = outside(&url).await;
    idle.batch_execute("begin isolation level repeatable read; select count(*) from turno.event_in").await.unwrap();
    write(&idle, "idle").await;
    let writer = outside(&url).await;
    let mut received = Vec::new();
    for n in 0..5 {
        write(&writer, &format!("{n}")).await;
        time.advance(Span(700));
        assert_eq!(store.sequence().await, Ok(Sequenced::All(1)));
        received.extend(read(&store, received.len() as i64).await);
    }
    idle.batch_execute("commit").await.unwrap();
    time.advance(Span(1_000));
    assert_eq!(store.sequence().await, Ok(Sequenced::All(1)), "a commit some seconds late is still found");
    received.extend(read(&store, received.len() as i64).await);
    let expected = ["0", "1", "2", "3", "4", "idle"].map(str::to_owned);
    assert_eq!(received, (1..).zip(expected).collect::<Vec<_>>());
}

#[tokio::test]
async fn an_event_committed_below_the_floor_is_late_but_not_lost() {
    let (store, url, time) = still_store().await;
    let forgotten = writing(&url, "forgotten").await;
    let writer = outside(&url).await;
    for n in 0..80 {
        write(&writer, &format!("{n}")).await;
        time.advance(Span(500));
        assert_eq!(store.sequence().await, Ok(Sequenced::All(1)));
    }
    forgotten.batch_execute("commit").await.unwrap();
    let mut waited = 0;
    while store.sequence().await == Ok(Sequenced::All(0)) {
        time.advance(Span(500));
        waited += 500;
    }
    assert!(waited > 0, "the control: rows below the floor are not read at every run");
    assert!(waited <= 30_000, "{waited}");
    assert_eq!(read(&store, 80).await, [(81, "forgotten".to_owned())]);
}

/// Runs the sequencer until all of `total` events have a position. Returns how often another one was running.
async fn sequence_all(store: PostgresStore, total: i64) -> usize {
    let mut busy = 0;
    while store.event_span().await.unwrap().newest.0 < total {
        let sequenced = store.sequence().await.expect("two sequencers at once would give the same position twice");
        busy += usize::from(sequenced == Sequenced::Busy);
    }
    busy
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_sequencers_give_every_event_one_position() {
    const EVENTS: i64 = 6_000;
    let (store, url) = fresh_store().await;
    let mut tasks = tokio::task::JoinSet::new();
    for writer in 0..3 {
        let client = outside(&url).await;
        tasks.spawn(async move {
            let sql = "insert into turno.event_in (topic, name, resource, at)
                select 'leases', 'lease.claimed', $1::text || '/' || n, n from generate_series(1, 20) n";
            for n in 0..100 {
                client.execute(sql, &[&format!("{writer}/{n}")]).await.unwrap();
            }
            0
        });
    }
    for _ in 0..3 {
        tasks.spawn(sequence_all(store_at(&url).await, EVENTS));
    }
    let busy: usize = tasks.join_all().await.into_iter().sum();
    assert!(busy > 0, "the sequencers ran at the same time");
    assert_eq!(store.sequence().await, Ok(Sequenced::All(0)));
    let events = read(&store, 0).await;
    let positions: Vec<i64> = events.iter().map(|(position, _)| *position).collect();
    assert_eq!(positions, (1..=EVENTS).collect::<Vec<_>>(), "unique and consecutive");
    let resources: BTreeSet<_> = events.iter().map(|(_, resource)| resource).collect();
    assert_eq!(resources.len(), positions.len());
}

#[tokio::test]
async fn a_sequencer_killed_before_its_commit_leaves_no_gap_and_no_lock() {
    let (store, url, _) = still_store().await;
    let client = outside(&url).await;
    write(&client, "a").await;
    let dying = outside(&url).await;
    dying.batch_execute("begin").await.unwrap();
    let lock = &super::super::sql::EVENT_LOCK.text;
    assert!(dying.query_one(lock, &[]).await.unwrap().get::<_, bool>(0));
    let moved = &super::super::sql::EVENT_SEQUENCE.text;
    assert_eq!(dying.query_one(moved, &[&0_i64, &10_i64]).await.unwrap().get::<_, i64>(0), 1);
    assert_eq!(store.sequence().await, Ok(Sequenced::Busy), "one sequencer at a time");
    assert_eq!(read(&store, 0).await, []);
    let pid = number(&dying, "select pg_backend_pid()::bigint").await;
    client.execute("select pg_terminate_backend($1::bigint::int, 10000)", &[&pid]).await.unwrap();
    write(&client, "b").await;
    assert_eq!(store.sequence().await, Ok(Sequenced::All(2)));
    assert_eq!(read(&store, 0).await, [(1, "a".to_owned()), (2, "b".to_owned())]);
}

#[tokio::test]
async fn positions_continue_after_a_full_purge_and_purges_leave_no_hole() {
    let (store, url, _) = still_store().await;
    let client = outside(&url).await;
    let sql = "insert into turno.event_in (topic, name, resource, at) values
        ('leases', 'x', 'r', 10), ('leases', 'x', 'r', 30), ('leases', 'x', 'r', 20), ('leases', 'x', 'r', 40)";
    client.batch_execute(sql).await.unwrap();
    store.sequence().await.unwrap();
    assert_eq!(
        store.purge_events(Time(25), 100).await,
        Ok(1),
        "the third event is old too, but behind one that is kept"
    );
    let span = EventSpan { oldest: Position(2), newest: Position(4) };
    assert_eq!(store.event_span().await, Ok(span));
    assert_eq!(store.purge_events(Time(100), 2).await, Ok(2), "at most the limit");
    assert_eq!(store.purge_events(Time(100), 100).await, Ok(1));
    assert_eq!(store.purge_events(Time(100), 100).await, Ok(0));
    assert_eq!(store.event_span().await, Ok(EventSpan { oldest: Position(5), newest: Position(4) }));
    write(&client, "after").await;
    store.sequence().await.unwrap();
    assert_eq!(read(&store, 0).await, [(5, "after".to_owned())]);
}
