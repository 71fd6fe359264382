//! The query plans of frequent statements, on a large database without statistics.

use super::super::sql::{self, Sql};
use super::*;

const LARGE: &str = "
    insert into turno.body select n, 1 + n % 3, 'id-' || n, 'key-' || n % 5000, null, '{}', n from generate_series(1, 200000) n;
    insert into turno.hot (seq, queue, lane, enqueued_at, not_before, ready_at, expires_at, fence, revision)
        select n, 1 + n % 3, case when n % 3 > 0 then n % 5000 end, n, n,
               case when n % 4 > 0 then n end, case when n % 4 = 0 then n end, case when n % 4 = 0 then n else 0 end, n
        from generate_series(1, 200000) n;
    insert into turno.lease (resource) select 'r-' || n from generate_series(1, 50000) n;
    insert into turno.done select n + 1000000, 1, 0, n, 1, n, n, 'w' from generate_series(1, 50000) n;
    insert into turno.attempt_error select n, 1, n, n, 'e', n, 'w' from generate_series(1, 50000) n;
    insert into turno.came_back select n, n, 2, n from generate_series(1, 50000) n;
    insert into turno.event_in (topic, name, resource, at)
        select 'leases', 'lease.claimed', 'r-' || n, n from generate_series(1, 50000) n;
    insert into turno.event_log (pos, topic, name, resource, at)
        select n, 'leases', 'lease.claimed', 'r-' || n, n from generate_series(1, 50000) n;";

/// The statements that groups and the engine's background tasks run all the time.
fn hot() -> [&'static Sql; 41] {
    [
        &sql::BODY_ADD,
        &sql::BODY_KNOWN,
        &sql::BODY_REPLACE,
        &sql::CAME_BACK_ADD,
        &sql::BODY_READ,
        &sql::HOT_FRONT,
        &sql::HOT_HEADS,
        &sql::HOT_HEAD_OF_ID,
        &sql::QUEUE_READ,
        &sql::HOT_REQUESTED,
        &sql::TYPING_READ,
        &sql::DONE_ADD,
        &sql::DONE_REMOVE,
        &sql::ERROR_ADD,
        &sql::HOT_EXPIRED,
        &sql::HOT_NEXT_EXPIRY,
        &sql::HOT_ADD,
        &sql::HOT_REMOVE,
        &sql::HOT_REQUEST,
        &sql::HOT_SAVE,
        &sql::ITEM_READ,
        &sql::HOT_FRONT_NAMED,
        &sql::HOT_FRONT_LOCK,
        &sql::HISTORY_READ,
        &sql::HISTORY_LIST,
        &sql::LEASE_INSERT,
        &sql::LEASE_LOCK,
        &sql::LEASE_LIST,
        &sql::LEASE_LOCK_BEATS,
        &sql::LEASE_PIN,
        &sql::LEASE_WORK,
        &sql::LEASE_READ,
        &sql::LEASE_SAVE,
        &sql::DONE_READ,
        &sql::HOT_READ,
        &sql::HOT_NEXT_LOOK,
        &sql::HOT_FIRST,
        &sql::HOT_FIRST_LOCK,
        &sql::HOT_MEMBERS,
        &sql::HOT_NEXT,
        &sql::LANE_LOCK,
    ]
}

/// The statements that the sequencer and readers of events run all the time.
fn events() -> [&'static Sql; 4] {
    [&sql::EVENT_LIST, &sql::EVENT_PURGE, &sql::EVENT_SEQUENCE, &sql::EVENT_SPAN]
}

/// The statements behind lists, with the index that each must use.
fn looks() -> [(&'static Sql, &'static str); 7] {
    [
        (&sql::ITEM_CANCELLED, "done_unacked"),
        (&sql::ITEM_EXHAUSTED, "hot_parked"),
        (&sql::ITEM_IN_PROCESS, "hot_expiry"),
        (&sql::ITEM_OF_KEY, "body_key"),
        (&sql::ITEM_PROCESSED, "done_pkey"),
        (&sql::ITEM_WAITING, "hot_pkey"),
        (&sql::LANE_NAMES, "hot_lane"),
    ]
}

/// A walk through a table runs this statement for every page.
#[tokio::test]
async fn a_page_of_a_walk_reads_only_the_items_of_its_keys() {
    let (_store, url) = fresh_store().await;
    let client = outside(&url).await;
    client.batch_execute(LARGE).await.unwrap();
    client.batch_execute(&sql::SYNC_BEGIN.text).await.unwrap();
    client.batch_execute(&format!("prepare p as {}", &sql::SYNC_UNFINISHED.text)).await.unwrap();
    let lanes = (1..=500).map(|lane| lane.to_string()).collect::<Vec<_>>().join(",");
    let explain = format!("explain (analyze, timing off, costs off, summary off) execute p(2, '{{{lanes}}}')");
    let plan: Vec<String> = client.query(&explain, &[]).await.unwrap().iter().map(|row| row.get(0)).collect();
    assert!(!plan.iter().any(|line| line.contains("Seq Scan")), "{plan:#?}");
    // 200,000 items wait, and 500 lanes of this queue have at most a tenth of them.
    let read: i64 =
        plan.iter().filter(|line| line.contains(" on hot ") || line.contains(" on body ")).map(|line| rows(line)).sum();
    assert!((2..=30_000).contains(&read), "{read} rows: {plan:#?}");
}

/// Returns how many rows a step of a plan has read: rows per loop, times the loops.
fn rows(line: &str) -> i64 {
    let number = |name: &str| {
        let digits = line.split(name).nth(1)?.split(|one: char| !one.is_ascii_digit()).next()?;
        digits.parse::<i64>().ok()
    };
    number("rows=").unwrap_or(0).max(1) * number("loops=").unwrap_or(1)
}

#[tokio::test]
async fn no_frequent_statement_scans_a_whole_table() {
    let (_store, url) = fresh_store().await;
    let client = outside(&url).await;
    client.batch_execute(LARGE).await.unwrap();
    client.batch_execute(&sql::BEGIN.text).await.unwrap();
    let looks = looks();
    let looked = looks.iter().map(|(sql, _)| *sql);
    for sql in hot().into_iter().chain(events()).chain([&sql::SETTLED, &sql::ERROR_LIST]).chain(looked) {
        let params = client.prepare(&sql.text).await.unwrap().params().len();
        let arguments = vec!["null"; params].join(", ");
        client.batch_execute(&format!("prepare p as {}", sql.text)).await.unwrap();
        let explain =
            if params == 0 { "explain execute p".to_owned() } else { format!("explain execute p({arguments})") };
        let rows = client.query(&explain, &[]).await.unwrap();
        let plan: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
        let plan = plan.join("\n");
        for table in
            ["hot", "body", "lease", "done", "lease_history", "attempt_error", "came_back", "event_in", "event_log"]
        {
            assert!(!plan.contains(&format!("Seq Scan on {table} ")), "{}:\n{plan}", sql.name);
        }
        assert!(sql.name != "hot_heads" || (plan.contains("hot_ready") && !plan.contains("Sort")), "{plan}");
        assert!(sql.name != "hot_next" || (plan.contains("hot_lane") && !plan.contains("Sort")), "{plan}");
        assert!(sql.name != "event_list" || (plan.contains("event_log_pkey") && !plan.contains("Sort")), "{plan}");
        let index = looks.iter().find(|(look, _)| look.name == sql.name).map_or("", |(_, index)| *index);
        assert!(plan.contains(index), "{} without {index}:\n{plan}", sql.name);
        assert!(sql.name != "hot_requested" || plan.contains("hot_request"), "{plan}");
        client.batch_execute("deallocate p").await.unwrap();
    }
}

/// Returns how many pages a statement touches.
async fn pages(client: &Client, sql: &str) -> i64 {
    let explain = format!("explain (analyze, buffers, timing off, costs off, summary off) {sql}");
    let plan: Vec<String> = client.query(&explain, &[]).await.unwrap().iter().map(|row| row.get(0)).collect();
    let number = |line: &String, name: &str| {
        let digits = line.split(name).nth(1)?.split(|one: char| !one.is_ascii_digit()).next()?;
        digits.parse::<i64>().ok()
    };
    let first = plan.iter().find(|line| line.contains("Buffers:")).expect("the plan shows the pages");
    number(first, "hit=").unwrap_or(0) + number(first, "read=").unwrap_or(0)
}

/// 100,000 marks of one transaction are one pair to a look, and are listed from an index of their own.
#[tokio::test]
async fn a_large_transaction_of_marks_barely_slows_looks_and_other_queues() {
    let (_store, url) = fresh_store().await;
    let (client, open) = (outside(&url).await, outside(&url).await);
    let bulk =
        "insert into turno.sync_mark (queue, at, key) select 1, now(), 'k-' || n from generate_series(1, 100000) n";
    client.batch_execute(bulk).await.unwrap();
    open.batch_execute(&format!("begin; {bulk}")).await.unwrap();
    let small = "insert into turno.sync_mark (queue, at, key) values (3, now(), 's')";
    client.batch_execute(small).await.unwrap();
    let xid = number(&client, "select xid::text::bigint from turno.sync_mark where queue = 3").await;
    client.batch_execute(&sql::BEGIN.text).await.unwrap();
    for (name, sql) in [("look", &sql::INTAKE_LOOK), ("list", &sql::INTAKE_LIST)] {
        client.batch_execute(&format!("prepare {name} as {}", sql.text)).await.unwrap();
    }
    assert_eq!(client.query("execute look(0, '{}', 10000)", &[]).await.unwrap().len(), 2);
    for statistics in ["select 1", "analyze turno.sync_mark"] {
        client.batch_execute(statistics).await.unwrap();
        let look = pages(&client, "execute look(0, '{}', 10000)").await;
        let list = pages(&client, &format!("execute list(3, array[{xid}], 10000)")).await;
        let large = pages(&client, "select count(octet_length(key)) from turno.sync_mark").await;
        assert!(look <= 100 && list <= 20 && large > 500, "{statistics}: look {look}, list {list}, all {large}");
    }
}

/// 100,000 rows of one transaction, committed or still open, are one pair of transaction and queue to a look. The list
/// of another queue does not read them.
#[tokio::test]
async fn a_large_intake_transaction_barely_slows_looks_and_other_queues() {
    let (_store, url) = fresh_store().await;
    let (client, open) = (outside(&url).await, outside(&url).await);
    let bulk = "insert into turno.intake (kind, at, queue, id, payload)
        select 'enqueue', 7, 1, 'b-' || n, 'null' from generate_series(1, 100000) n";
    client.batch_execute(bulk).await.unwrap();
    open.batch_execute(&format!("begin; {bulk}")).await.unwrap();
    for queue in 2..=4 {
        let small =
            format!("insert into turno.intake (kind, at, queue, id, payload) values ('enqueue', 7, {queue}, 's', '1')");
        client.batch_execute(&small).await.unwrap();
    }
    let xid = "select xid from turno.intake where queue = 3";
    let xid = number(&client, xid).await;
    client.batch_execute(&sql::BEGIN.text).await.unwrap();
    for (name, sql) in [("look", &sql::INTAKE_LOOK), ("list", &sql::INTAKE_LIST)] {
        client.batch_execute(&format!("prepare {name} as {}", sql.text)).await.unwrap();
    }
    let found = client.query("execute look(0, '{}', 10000)", &[]).await.unwrap();
    assert_eq!(found.len(), 4, "a transaction of each queue, and not the open one");
    for statistics in ["select 1", "analyze turno.intake"] {
        client.batch_execute(statistics).await.unwrap();
        let look = pages(&client, "execute look(0, '{}', 10000)").await;
        let list = pages(&client, &format!("execute list(3, array[{xid}], 10000)")).await;
        // The control: reading all rows of the large transaction.
        let large = pages(&client, "select count(octet_length(id)) from turno.intake").await;
        assert!(look <= 100 && list <= 20 && large > 500, "{statistics}: look {look}, list {list}, all {large}");
    }
}
