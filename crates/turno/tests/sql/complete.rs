//! `turno.complete`: the effect and the ack commit together or not at all.

use super::*;
use turno::core::id::QueueId;
use turno::core::queue::{DeliveryRef, ManageRefused, SettleOutcome};
use turno::queue::{Claim, ClaimedItem};

/// Creates a queue with one delivery in process, and a table for its effect.
async fn reference(world: &World, kind: Kind) -> (QueueHandle, Delivery) {
    let queue = world.queue("q", plain(kind)).await;
    world.sql.batch_execute("create table effect (what text)").await.unwrap();
    queue.enqueue(vec![draft("x", "ana")]).await.unwrap();
    let got = claim(&queue).await.unwrap();
    (queue, got)
}

/// Writes the effect and completes the delivery, in a transaction that stays open.
async fn completing(world: &World, got: &Delivery) -> Client {
    let app = world.begin().await;
    app.execute("insert into effect values ('done')", &[]).await.unwrap();
    complete(&app, got).await.unwrap();
    app
}

async fn effects(world: &World) -> i64 {
    world.number("select count(*) from effect").await
}

#[tokio::test]
async fn a_commit_acks_and_a_rollback_leaves_the_delivery_to_its_worker() {
    for kind in [Kind::Lane, Kind::Inbox, Kind::Sync] {
        let world = World::new().await;
        let (queue, got) = reference(&world, kind).await;
        end(&completing(&world, &got).await, "rollback").await;
        assert_eq!((queue.counts().await.unwrap().in_process, effects(&world).await), (1, 0));
        end(&completing(&world, &got).await, "commit").await;
        let counts = queue.counts().await.unwrap();
        assert_eq!((counts.processed, counts.in_process, effects(&world).await), (1, 0, 1));
        assert_eq!(refused(complete(&world.sql, &got).await), "TN010", "the delivery is already acked");
        let ack = queue.ack([got.reference]).await.unwrap();
        assert_eq!((&ack[0].outcome, ack[0].repeated), (&SettleOutcome::Acked, true));
    }
}

#[tokio::test]
async fn rolling_back_to_a_savepoint_undoes_the_ack() {
    let world = World::new().await;
    let (queue, got) = reference(&world, Kind::Lane).await;
    let app = world.begin().await;
    end(&app, "savepoint s").await;
    complete(&app, &got).await.unwrap();
    end(&app, "rollback to s; commit").await;
    assert_eq!(queue.counts().await.unwrap().in_process, 1);
}

#[tokio::test]
async fn completing_a_group_acks_all_items_and_frees_the_lane() {
    let world = World::new().await;
    let queue = world.queue("q", Policy { batch_max: 3, ..plain(Kind::Lane) }).await;
    queue.enqueue(["1", "2", "3", "4"].map(|id| draft(id, "ana")).into()).await.unwrap();
    let got = claim(&queue).await.unwrap();
    assert_eq!(got.items.len(), 3);
    complete(&world.sql, &got).await.unwrap();
    assert_eq!(claimed_ids(&queue, 9).await, ["4"]);
    assert_eq!(queue.counts().await.unwrap().processed, 3);
}

#[tokio::test]
async fn a_change_during_the_delivery_is_delivered_after_the_completion() {
    let world = World::new().await;
    let (queue, got) = reference(&world, Kind::Sync).await;
    let app = completing(&world, &got).await;
    app.execute("select turno.enqueue('q', '\"newer\"', key => 'ana')", &[]).await.unwrap();
    end(&app, "commit").await;
    let next = claim(&queue).await.unwrap();
    assert_eq!(&*next.items[0].payload, "\"newer\"");
}

#[tokio::test]
async fn an_expired_delivery_is_not_handed_out_while_a_transaction_completes_it() {
    for kind in [Kind::Lane, Kind::Inbox, Kind::Sync] {
        let world = World::new().await;
        let (queue, got) = reference(&world, kind).await;
        let other = World::engine(&world.url, true).await;
        let other = other.queue(QueueName::new("q").unwrap()).await.unwrap();
        let app = completing(&world, &got).await;
        world.advance(60_000).await;
        for _ in 0..3 {
            assert_eq!(claim(&queue).await, None);
            assert_eq!(claim(&other).await, None);
        }
        end(&app, "commit").await;
        assert_eq!(claim(&other).await, None, "the delivery was acked in time");
        let counts = queue.counts().await.unwrap();
        assert_eq!((counts.processed, effects(&world).await), (1, 1), "{kind:?}");
        let record = queue.item(id("x")).await.unwrap().unwrap();
        assert_eq!((record.done.unwrap().fence, record.errors.len()), (got.reference.fence, 0));
    }
}

#[tokio::test]
async fn why_says_completing_while_a_transaction_completes_an_expired_delivery() {
    for kind in [Kind::Lane, Kind::Inbox, Kind::Sync] {
        let world = World::new().await;
        let (queue, got) = reference(&world, kind).await;
        let app = completing(&world, &got).await;
        let seen = async || {
            let (item, key) = (
                queue.why_item(id("x")).await.unwrap().unwrap(),
                queue.why_key(Key::new("ana").unwrap()).await.unwrap(),
            );
            assert_eq!((item.running, item.reason.code()), (key.running, key.reason.code()), "{kind:?}");
            (item.running, item.reason.code())
        };
        assert_eq!(seen().await, (true, "running"), "{kind:?}");
        world.advance(60_000).await;
        assert_eq!(seen().await, (true, "completing"), "{kind:?}");
        assert_eq!(
            queue.claim_item(id("x"), Claim::by("other")).await.unwrap(),
            ClaimedItem::AlreadyClaimed,
            "{kind:?}"
        );
        let refused = queue.cancel(id("x")).await.unwrap();
        assert_eq!(refused, Err(ManageRefused::InProcess), "{kind:?}: the application is completing it");
        end(&app, "rollback").await;
        assert_eq!(seen().await, (false, "ready"), "{kind:?}");
        queue.cancel(id("x")).await.unwrap().unwrap();
    }
}

#[tokio::test]
async fn an_expired_delivery_is_handed_out_again_once_its_transaction_rolled_back() {
    let world = World::new().await;
    let (queue, got) = reference(&world, Kind::Lane).await;
    let app = completing(&world, &got).await;
    world.advance(60_000).await;
    assert_eq!(claim(&queue).await, None);
    end(&app, "rollback").await;
    let again = claim(&queue).await.expect("the item is free again");
    assert_eq!((again.attempt, effects(&world).await), (2, 0));
    assert_eq!(refused(complete(&world.sql, &got).await), "TN010", "the first worker is too late");
    complete(&world.sql, &again).await.unwrap();
    assert_eq!(queue.counts().await.unwrap().processed, 1);
}

/// Does the same as `complete`, without its lock.
const BY_HAND: &str = "insert into turno.intake (kind, at, queue, seq, lane, size, fence)
    select 'ack', turno.time_ms(), h.queue, h.seq, h.lane, 1, h.fence from turno.hot h
    where h.seq = $1 and h.fence = $2 and h.expires_at > turno.time_ms()";

#[tokio::test]
async fn control_without_the_lock_the_item_is_processed_twice() {
    let world = World::new().await;
    let (queue, got) = reference(&world, Kind::Lane).await;
    let app = world.begin().await;
    app.execute("insert into effect values ('first')", &[]).await.unwrap();
    assert_eq!(app.execute(BY_HAND, &[&got.reference.seq.0, &got.reference.fence.0]).await.unwrap(), 1);
    world.advance(60_000).await;
    let again = claim(&queue).await.expect("without the lock the delivery is taken back");
    end(&completing(&world, &again).await, "commit").await;
    end(&app, "commit").await;
    assert_eq!(queue.counts().await.unwrap().processed, 1);
    assert_eq!(effects(&world).await, 2, "the double effect that the lock prevents");
}

#[tokio::test]
async fn of_two_transactions_that_complete_the_same_delivery_one_is_refused() {
    for (how, second) in [("commit", Some("TN010")), ("rollback", None)] {
        let world = World::new().await;
        let (queue, got) = reference(&world, Kind::Inbox).await;
        let first = completing(&world, &got).await;
        let app = world.begin().await;
        let mut waiting = Box::pin(complete(&app, &got));
        waits(&mut waiting).await;
        end(&first, how).await;
        let answer = soon(waiting).await;
        assert_eq!(answer.err().map(|error| error.code().unwrap().code().to_owned()).as_deref(), second);
        drop(app);
        assert_eq!(queue.counts().await.unwrap().processed, i64::from(second.is_some()));
    }
}

#[tokio::test]
async fn complete_refuses_deliveries_that_are_not_live_under_the_fence() {
    let world = World::new().await;
    let (queue, got) = reference(&world, Kind::Lane).await;
    let (token, fence) = (got.reference.token(), got.reference.fence.0);
    let call = async |token: &str, fence: i64| {
        refused(world.sql.query("select turno.complete($1, $2)", &[&token, &fence]).await)
    };
    for bad in ["", "x", "a1-1", &token.to_uppercase(), &format!("{token}0"), "a1-1-1; drop table turno.hot"] {
        assert_eq!(call(bad, fence).await, "TN011", "{bad}");
    }
    assert_eq!(refused(world.sql.query("select turno.complete(null, 1)", &[]).await), "TN011");
    assert_eq!(call(&token, fence + 1).await, "TN010");
    assert_eq!(refused(world.sql.query("select turno.complete($1, null)", &[&token]).await), "TN010");
    assert_eq!(call("a1-7fffffffffffffff-1", fence).await, "TN010");
    assert_eq!(call(token.rsplit_once('-').unwrap().0, fence).await, "TN010", "without its lane");
    let app = world.begin().await;
    complete(&app, &got).await.unwrap();
    assert_eq!(refused(complete(&app, &got).await), "TN010", "completed twice in one transaction");
    end(&app, "rollback").await;
    for level in ["repeatable read", "serializable"] {
        end(&app, &format!("begin isolation level {level}")).await;
        assert_eq!(refused(complete(&app, &got).await), "TN012");
        end(&app, "rollback").await;
    }
    world.advance(15_000).await;
    assert_eq!(
        refused(complete(&app, &got).await),
        "TN010",
        "the delivery has expired, even if no other claim took it"
    );
    queue.ack([got.reference]).await.unwrap();
    assert_eq!(world.number("select count(*) from turno.intake").await, 0);
}

#[tokio::test]
async fn an_altered_delivery_is_refused_and_nothing_is_acked() {
    let world = World::new().await;
    let queue = world.queue("q", Policy { batch_max: 3, ..plain(Kind::Lane) }).await;
    queue.enqueue(["1", "2", "3", "4"].map(|id| draft(id, "ana")).into()).await.unwrap();
    queue.enqueue(vec![draft("other", "luis")]).await.unwrap();
    let got = queue.claim(Claim::by("worker").max(2)).await.unwrap();
    let (reference, other) = (got[0].reference, got[1].reference);
    assert_eq!((reference.size, other.size), (3, 1));
    let second = queue.item(id("2")).await.unwrap().unwrap().body.seq;
    let altered = [
        DeliveryRef { size: 0, ..reference },
        DeliveryRef { size: 1, ..reference },
        DeliveryRef { size: 2, ..reference },
        DeliveryRef { size: 4, ..reference },
        DeliveryRef { seq: second, ..reference },
        DeliveryRef { seq: second, size: 2, ..reference },
        DeliveryRef { seq: second, size: 1, ..reference },
        DeliveryRef { seq: other.seq, ..reference },
        DeliveryRef { lane: other.lane, ..reference },
        DeliveryRef { lane: None, ..reference },
        DeliveryRef { queue: QueueId(reference.queue.0 + 1), ..reference },
        DeliveryRef { size: 2, ..other },
    ];
    for reference in altered {
        let altered = Delivery { reference, ..got[0].clone() };
        assert_eq!(refused(complete(&world.sql, &altered).await), "TN010", "{reference:?}");
    }
    assert_eq!(world.number("select count(*) from turno.intake").await, 0);
    assert_eq!(queue.counts().await.unwrap().in_process, 4);
    complete(&world.sql, &got[0]).await.unwrap();
    complete(&world.sql, &got[1]).await.unwrap();
    assert_eq!(queue.counts().await.unwrap().processed, 4);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn workers_that_race_with_expiry_process_every_item_once() {
    const ITEMS: i64 = 60;
    let world = World::new().await;
    let queue = world.queue("q", Policy { max_attempts: 10_000, ..plain(Kind::Inbox) }).await;
    world.sql.batch_execute("create table effect (what text)").await.unwrap();
    queue.enqueue((0..ITEMS).map(|n| draft(&format!("{n}"), "k")).collect()).await.unwrap();
    let mut workers = tokio::task::JoinSet::new();
    for worker in 0..3 {
        let turno = World::engine(&world.url, true).await;
        let queue = turno.queue(QueueName::new("q").unwrap()).await.unwrap();
        let (app, time) = (connect(&world.url).await, connect(&world.url).await);
        workers.spawn(async move {
            for round in 0_u32.. {
                if queue.counts().await.unwrap().processed == ITEMS {
                    return;
                }
                for got in queue.claim(Claim::by("worker").max(2)).await.unwrap() {
                    let name = got.items[0].id.to_string();
                    app.batch_execute("begin").await.unwrap();
                    app.execute("insert into effect values ($1)", &[&name]).await.unwrap();
                    let completed = complete(&app, &got).await.is_ok();
                    if (round + worker).is_multiple_of(3) {
                        // Everything expires in the middle of the transaction.
                        let late = "update turno.mark set high = turno.time_ms() + 16000";
                        time.batch_execute(late).await.unwrap();
                    }
                    app.batch_execute(if completed { "commit" } else { "rollback" }).await.unwrap();
                }
            }
        });
    }
    tokio::time::timeout(Duration::from_secs(60), workers.join_all()).await.expect("the workers finish");
    assert_eq!(effects(&world).await, ITEMS);
    assert_eq!(world.number("select count(distinct what) from effect").await, ITEMS);
}
