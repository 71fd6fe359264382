//! `turno.enqueue`: visible exactly if the caller's transaction commits.

use super::*;
use std::sync::Arc;
use turno::clock::{Clock, Manual};
use turno::core::queue::Accepted;
use turno::core::time::Time;
use turno::queue::Claim;

const ENQUEUE: &str = "select turno.enqueue('q', '{\"a\": 1}', key => 'ana', id => $1)";

#[tokio::test]
async fn an_enqueued_item_is_visible_if_and_only_if_the_transaction_commits() {
    let world = World::new().await;
    let queue = world.queue("q", plain(Kind::Lane)).await;
    let app = world.begin().await;
    app.execute(ENQUEUE, &[&"gone"]).await.unwrap();
    end(&app, "rollback").await;
    end(&app, "begin").await;
    app.execute(ENQUEUE, &[&"kept"]).await.unwrap();
    end(&app, "savepoint s").await;
    app.execute(ENQUEUE, &[&"undone"]).await.unwrap();
    end(&app, "rollback to s").await;
    assert_eq!(queue.counts().await.unwrap().pending, 0, "the transaction is still open");
    assert_eq!(queue.item(id("kept")).await.unwrap(), None);
    end(&app, "commit").await;
    assert_eq!(queue.counts().await.unwrap().pending, 1);
    assert!(queue.item(id("kept")).await.unwrap().is_some());
    assert_eq!(claimed_ids(&queue, 10).await, ["kept"]);
    assert_eq!(world.number("select count(*) from turno.intake").await, 0);
}

#[tokio::test]
async fn an_enqueued_item_keeps_all_its_fields() {
    let world = World::new().await;
    let queue = world.queue("q", plain(Kind::Lane)).await;
    let sql = "select turno.enqueue('q', '{\"b\": [1, null]}', 'ana', 'x-1', 'ACTUALIZAR', '0')";
    assert_eq!(world.sql.query_one(sql, &[]).await.unwrap().get::<_, &str>(0), "x-1");
    let got = claim(&queue).await.expect("a claim that finds nothing takes in rows");
    assert_eq!(got.key.as_ref().map(Key::as_str), Some("ana"));
    let item = &got.items[0];
    assert_eq!((item.id.as_str(), item.action.as_deref()), ("x-1", Some("ACTUALIZAR")));
    assert_eq!(&*item.payload, "{\"b\": [1, null]}");
    world.queue("in", plain(Kind::Inbox)).await;
    let made: String = world.sql.query_one("select turno.enqueue('in', 'null')", &[]).await.unwrap().get(0);
    assert_eq!(made.len(), 36, "{made}");
}

#[tokio::test]
async fn committed_items_of_a_key_keep_their_order_and_ids_are_accepted_once() {
    let world = World::new().await;
    let queue = world.queue("q", plain(Kind::Lane)).await;
    assert_eq!(queue.enqueue(vec![draft("known", "luis")]).await.unwrap()[0].1, Accepted::Queued);
    for name in ["1", "2", "3"] {
        let app = world.begin().await;
        app.execute(ENQUEUE, &[&name]).await.unwrap();
        app.execute(ENQUEUE, &[&"known"]).await.unwrap();
        end(&app, "commit").await;
    }
    world.sql.execute(ENQUEUE, &[&"2"]).await.unwrap();
    assert_eq!(queue.counts().await.unwrap().pending, 4, "each id once");
    let mut order = Vec::new();
    while let Some(got) = claim(&queue).await {
        order.push(got.items[0].id.to_string());
        queue.ack([got.reference]).await.unwrap();
    }
    order.retain(|id| id != "known");
    assert_eq!(order, ["1", "2", "3"]);
}

#[tokio::test]
async fn items_of_a_long_transaction_appear_as_soon_as_it_commits() {
    let world = World::new().await;
    let queue = world.queue("q", plain(Kind::Lane)).await;
    let slow = world.begin().await;
    slow.execute(ENQUEUE, &[&"slow"]).await.unwrap();
    let old = connect(&world.url).await;
    end(&old, "begin isolation level repeatable read; select count(*) from pg_class").await;
    for n in 0..30 {
        world.sql.execute(ENQUEUE, &[&format!("{n}")]).await.unwrap();
        assert_eq!(queue.counts().await.unwrap().pending, n + 1);
    }
    end(&slow, "commit").await;
    assert_eq!(queue.counts().await.unwrap().pending, 31, "items taken in meanwhile do not hide it");
}

#[tokio::test]
async fn a_delay_counts_from_the_call() {
    let world = World::new().await;
    let queue = world.queue("in", plain(Kind::Inbox)).await;
    let sql = "select turno.enqueue('in', '1', id => 'late', delay => interval '1 hour')";
    world.sql.execute(sql, &[]).await.unwrap();
    world.advance(1_800_000).await;
    assert_eq!(claim(&queue).await, None, "taken in after half an hour");
    world.advance(1_700_000).await;
    assert_eq!(claim(&queue).await, None);
    world.advance(200_000).await;
    assert_eq!(claimed_ids(&queue, 1).await, ["late"]);
}

/// Items grow old while no server runs. Afterwards their age counts from the call, and their order from the admission.
#[tokio::test]
async fn the_age_of_an_item_counts_from_the_call_even_without_a_server() {
    let world = World::new().await;
    let queue = world.queue("in", plain(Kind::Inbox)).await;
    world.sql.execute("select turno.enqueue('in', '1', id => 'first')", &[]).await.unwrap();
    let at = world.number("select at from turno.intake").await;
    world.advance(3_600_000).await;
    queue.enqueue(vec![draft("second", "ana")]).await.unwrap();
    let now = world.turno.now();
    assert!(now.0 >= at + 3_600_000);
    world.sql.execute("select turno.enqueue('in', '1', id => 'third')", &[]).await.unwrap();
    assert_eq!(queue.overview().await.unwrap().oldest_waiting, Some(Time(at)), "the age includes the outage");
    let first = queue.item(id("first")).await.unwrap().unwrap();
    let item = first.item.unwrap();
    assert_eq!((first.body.enqueued_at, item.enqueued_at), (Time(at), Time(at)));
    assert!(item.ready_at >= Some(now), "the item was not ready before its admission: {item:?}");
    assert_eq!(claimed_ids(&queue, 3).await, ["second", "first", "third"], "in the order of admission");
}

#[tokio::test]
async fn in_a_sync_queue_the_newest_change_of_a_key_replaces_the_others() {
    let world = World::new().await;
    let queue = world.queue("s", plain(Kind::Sync)).await;
    for n in 1..=3 {
        let sql = "select turno.enqueue('s', to_jsonb($1::bigint), key => 'ana', action => 'v' || $1)";
        world.sql.execute(sql, &[&(n as i64)]).await.unwrap();
    }
    assert_eq!(queue.counts().await.unwrap().pending, 1);
    let got = claim(&queue).await.unwrap();
    assert_eq!((&*got.items[0].payload, got.items[0].action.as_deref()), ("3", Some("v3")));
}

#[tokio::test]
async fn a_backlog_larger_than_a_slice_arrives_complete_and_in_order() {
    let world = World::new().await;
    let queue = world.queue("in", plain(Kind::Inbox)).await;
    let sql = "select count(turno.enqueue('in', to_jsonb(n), id => 'n' || n)) from generate_series(1, 1700) n";
    world.sql.execute(sql, &[]).await.unwrap();
    assert_eq!(queue.counts().await.unwrap().pending, 1_700);
    let sorted = "select count(*) from (select b.payload::int = row_number() over (order by b.seq) as same from turno.body b) s where same";
    assert_eq!(world.number(sorted).await, 1_700);
}

#[tokio::test]
async fn a_running_engine_takes_in_items_in_the_background() {
    let world = World::new().await;
    let queue = world.queue("q", plain(Kind::Lane)).await;
    let awake = World::engine(&world.url, true).await;
    let waiting = awake.queue(QueueName::new("q").unwrap()).await.unwrap();
    let waiting = tokio::spawn(async move { waiting.claim(Claim::by("worker").wait(Duration::from_secs(20))).await });
    world.sql.execute(ENQUEUE, &[&"x"]).await.unwrap();
    let got = tokio::time::timeout(Duration::from_secs(10), waiting).await.unwrap().unwrap().unwrap();
    assert_eq!(got[0].items[0].id, id("x"));
    drop(queue);
}

/// No time passes, so the waiting claim looks again only because of the hint from the process that took the item in.
#[tokio::test]
async fn items_taken_in_by_one_process_reach_a_waiting_claim_in_another() {
    let world = World::new().await;
    world.queue("s", plain(Kind::Sync)).await;
    let still = Manual::starting_at(Time(1_900_000_000_000));
    let process = async || {
        let clock = Arc::new(Clock::manual(still.clone()));
        let turno = Turno::open_with(&world.url, Options { sweep: false, clock, ..Options::default() }).await.unwrap();
        turno.queue(QueueName::new("s").unwrap()).await.unwrap()
    };
    let (queue, other) = (process().await, process().await);
    for round in 0..2 {
        let mut claim = Box::pin(other.claim(Claim::by("worker").wait(Duration::from_secs(30))));
        waits(&mut claim).await;
        let sql = "select turno.enqueue('s', '1', key => $1)";
        world.sql.execute(sql, &[&format!("ana {round}")]).await.unwrap();
        assert_eq!(queue.counts().await.unwrap().pending, 1, "taken in by this process");
        let got = soon(claim).await.unwrap().remove(0);
        assert_eq!((got.attempt, got.key.unwrap().as_str()), (1, &*format!("ana {round}")));
        queue.ack([got.reference]).await.unwrap();
    }
}

#[tokio::test]
async fn two_engines_that_take_in_at_once_admit_each_item_once() {
    let world = World::new().await;
    let queue = world.queue("in", plain(Kind::Inbox)).await;
    let other = World::engine(&world.url, false).await;
    let other = other.queue(QueueName::new("in").unwrap()).await.unwrap();
    for round in 1..=20 {
        let sql = "select count(turno.enqueue('in', '1')) from generate_series(1, 50)";
        world.sql.execute(sql, &[]).await.unwrap();
        let (one, two) = tokio::join!(queue.counts(), other.counts());
        assert_eq!((one.unwrap().pending, two.unwrap().pending), (round * 50, round * 50));
    }
}

#[tokio::test]
async fn an_invalid_intake_row_is_put_aside_and_blocks_no_other() {
    let world = World::new().await;
    let queue = world.queue("in", plain(Kind::Inbox)).await;
    let rows = "insert into turno.intake (kind, at, queue, id, payload)
        select 'enqueue', 7, coalesce(q.queue, (select id from turno.queue)), q.id, q.payload
        from (values (null, 'good', '1'), (null, e'a\\nb', '2'), (999, 'nowhere', '3'), (null, 'empty', null),
                     (null, 'good too', '4')) as q (queue, id, payload)";
    world.sql.execute(rows, &[]).await.unwrap();
    assert_eq!(queue.counts().await.unwrap().pending, 2);
    // No call reads a queue that does not exist, so only the background task finds rows for it.
    let awake = World::engine(&world.url, true).await;
    let over = async { while world.number("select count(*) from turno.intake").await > 0 {} };
    tokio::time::timeout(Duration::from_secs(60), over).await.expect("the background task takes it in");
    drop(awake);
    let aside = "select count(*) from turno.intake_refused where error <> '' and id in (e'a\\nb', 'nowhere', 'empty')";
    assert_eq!(world.number(aside).await, 3);
}

#[tokio::test]
async fn an_item_without_a_key_is_put_aside_when_its_queue_becomes_a_lane() {
    let world = World::new().await;
    let queue = world.queue("q", plain(Kind::Inbox)).await;
    let app = world.begin().await;
    app.execute("select turno.enqueue('q', '1', id => 'loose')", &[]).await.unwrap();
    world.queue("q", plain(Kind::Lane)).await;
    end(&app, "commit").await;
    assert_eq!(queue.counts().await.unwrap().pending, 0);
    let row = world.sql.query_one("select id, error from turno.intake_refused", &[]).await.unwrap();
    let why = "it has no key, and its queue has become one that needs keys";
    assert_eq!((row.get::<_, &str>(0), row.get::<_, &str>(1)), ("loose", why));
}

#[tokio::test]
async fn each_invalid_enqueue_is_refused_with_its_code() {
    let world = World::new().await;
    world.queue("q", plain(Kind::Lane)).await;
    world.queue("s", plain(Kind::Sync)).await;
    world.queue("in", plain(Kind::Inbox)).await;
    for (call, code) in [
        ("'nowhere', '1'", "TN001"),
        ("null, '1'", "TN001"),
        ("'q', '1'", "TN002"),
        ("'s', '1'", "TN002"),
        ("'in', '1', id => ''", "TN003"),
        ("'in', '1', id => repeat('á', 201)", "TN003"),
        ("'in', '1', id => e'a\\nb'", "TN003"),
        ("'in', '1', id => u&'a\\0085b'", "TN003"),
        ("'in', '1', key => ''", "TN004"),
        ("'q', '1', key => repeat('k', 201)", "TN004"),
        ("'q', '1', key => e'\\x7f'", "TN004"),
        ("'in', '1', action => repeat('á', 201)", "TN005"),
        ("'in', '1', action => e'a\\tb'", "TN005"),
        ("'in', null", "TN006"),
        ("'in', to_jsonb(repeat('x', 8388608))", "TN006"),
        ("'in', '1', delay => interval '-1 second'", "TN007"),
        ("'in', '1', delay => interval '367 days'", "TN007"),
    ] {
        assert_eq!(refused(world.sql.query(&format!("select turno.enqueue({call})"), &[]).await), code, "{call}");
    }
    assert_eq!(world.number("select count(*) from turno.intake").await, 0);
    for call in [
        "'in', '1', id => repeat('á', 200), key => repeat('é', 200), action => repeat('á', 200)",
        "'in', to_jsonb(repeat('x', 8388606))",
        "'in', 'null', delay => interval '366 days'",
        "'in', 'null', delay => null",
    ] {
        world.sql.query(&format!("select turno.enqueue({call})"), &[]).await.expect(call);
    }
    let queue = world.turno.queue(QueueName::new("in").unwrap()).await.unwrap();
    assert_eq!(queue.counts().await.unwrap().pending, 4, "accepted items are taken in");
}
