//! A bulk change in one queue does not affect another queue.

use super::*;
use turno::queue::Claim;

/// Writes `rows` items for the queue `bulk` in one application transaction, like a trigger on a large update.
async fn bulk_change(world: &World, rows: i64) -> QueueHandle {
    let queue = world.queue("bulk", plain(Kind::Sync)).await;
    let sql = "insert into turno.intake (kind, at, queue, id, key, payload)
        select 'enqueue', turno.time_ms(), q.id, 'b-' || n, 'k-' || n, 'null'
        from turno.queue q, generate_series(1, $1::bigint) n where q.name = 'bulk'";
    world.sql.execute(sql, &[&rows]).await.unwrap();
    queue
}

/// Counts the rows of `bulk` that are still in the intake.
async fn left(world: &World) -> i64 {
    world.number("select count(*) from turno.intake i join turno.queue q on q.id = i.queue where q.name = 'bulk'").await
}

async fn enqueue(world: &World, id: &str) {
    let sql = "select turno.enqueue('q', '1', key => 'ana', id => $1)";
    world.sql.execute(sql, &[&id]).await.unwrap();
}

/// Locks the intake of a queue until the transaction ends, like a process that is taking it in.
async fn lock_intake(app: &Client, queue: &str) {
    let sql = "select pg_advisory_xact_lock(1953854065, id) from turno.queue where name = $1";
    app.execute(sql, &[&queue]).await.unwrap();
}

#[tokio::test]
async fn claims_and_reads_take_in_only_their_own_queue() {
    let world = World::new().await;
    let queue = world.queue("q", plain(Kind::Lane)).await;
    let bulk = bulk_change(&world, 100_000).await;
    enqueue(&world, "x").await;
    assert_eq!(claimed_ids(&queue, 10).await, ["x"], "the claim takes in its own queue");
    assert_eq!(claim(&queue).await, None);
    enqueue(&world, "y").await;
    assert_eq!(soon(queue.overview()).await.unwrap().counts.pending, 1);
    assert!(soon(queue.item(id("y"))).await.unwrap().is_some());
    assert_eq!(soon(world.turno.lane_locks()).await.unwrap().active_queues, 1);
    assert_eq!(left(&world).await, 100_000, "no item of the other queue was taken in");
    // The control: a claim of that queue takes in rows, but only one slice.
    assert_eq!(claimed_ids(&bulk, 1).await, ["b-1"]);
    assert!((99_500..100_000).contains(&left(&world).await));
}

#[tokio::test]
async fn queue_that_another_process_takes_in_delays_no_other_queue() {
    let world = World::new().await;
    let queue = world.queue("q", plain(Kind::Lane)).await;
    bulk_change(&world, 1_000).await;
    let process = world.begin().await;
    lock_intake(&process, "bulk").await;
    enqueue(&world, "x").await;
    assert_eq!(claimed_ids(&queue, 10).await, ["x"]);
    // The background task is not blocked either.
    let awake = World::engine(&world.url, true).await;
    let waiting = awake.queue(QueueName::new("q").unwrap()).await.unwrap();
    let mut waiting = Box::pin(waiting.claim(Claim::by("worker").wait(Duration::from_secs(60))));
    waits(&mut waiting).await;
    world.sql.execute("select turno.enqueue('q', '1', key => 'luis', id => 'y')", &[]).await.unwrap();
    assert_eq!(soon(waiting).await.unwrap()[0].items[0].id, id("y"));
    assert_eq!(left(&world).await, 1_000);
    drop(awake);
    // The control: a claim of the locked queue itself waits.
    end(&process, "rollback; begin").await;
    lock_intake(&process, "q").await;
    world.sql.execute("select turno.enqueue('q', '1', key => 'eva', id => 'z')", &[]).await.unwrap();
    let mut blocked = Box::pin(queue.claim(Claim::by("worker")));
    waits(&mut blocked).await;
    end(&process, "rollback").await;
    assert_eq!(soon(blocked).await.unwrap()[0].items[0].id, id("z"));
}

#[tokio::test]
async fn read_of_a_large_backlog_is_bounded_and_still_finds_an_item_by_its_id() {
    let world = World::new().await;
    let bulk = bulk_change(&world, 12_000).await;
    let pending = bulk.counts().await.unwrap().pending;
    assert!((10_000..12_000).contains(&pending), "{pending}");
    assert_eq!(left(&world).await, 12_000 - pending);
    assert!(bulk.item(id("b-12000")).await.unwrap().is_some());
    assert_eq!(left(&world).await, 0);
}

#[tokio::test]
async fn backlog_of_many_slices_keeps_its_order_with_two_engines() {
    let world = World::new().await;
    let queue = world.queue("in", plain(Kind::Inbox)).await;
    let other = World::engine(&world.url, true).await;
    let other = other.queue(QueueName::new("in").unwrap()).await.unwrap();
    for round in 0..3 {
        let sql = "select count(turno.enqueue('in', to_jsonb($1 * 1000 + n))) from generate_series(1, 1000) n";
        world.sql.execute(sql, &[&round]).await.unwrap();
        let (one, two) = tokio::join!(queue.counts(), other.counts());
        let all = i64::from(round + 1) * 1_000;
        assert_eq!((one.unwrap().pending, two.unwrap().pending), (all, all), "each item is taken in once");
    }
    let sorted = "select count(*) from (select b.payload::int = row_number() over (order by b.seq) as same from turno.body b) s where same";
    assert_eq!(world.number(sorted).await, 3_000);
}
