//! Reads show items that applications' transactions have committed, and clearing skips deliveries that they are
//! completing.

use super::*;
use turno::core::queue::SettleOutcome;
use turno::queue::{Claim, ItemQuery, ItemState, LaneLocks, WhyReason};

async fn enqueue(world: &World, id: &str) {
    let sql = "select turno.enqueue('q', '1', key => 'ana', id => $1)";
    world.sql.execute(sql, &[&id]).await.unwrap();
}

#[tokio::test]
async fn every_read_shows_committed_items() {
    for look in 0..8 {
        let world = World::new().await;
        let queue = world.queue("q", plain(Kind::Lane)).await;
        enqueue(&world, "x").await;
        let seen = match look {
            0 => queue.items(ItemQuery::default()).await.unwrap().len() == 1,
            1 => {
                let (state, key) = (Some(ItemState::Pending), Some(Key::new("ana").unwrap()));
                queue.items(ItemQuery { state, key, ..ItemQuery::default() }).await.unwrap().len() == 1
            }
            2 => queue.item(id("x")).await.unwrap().is_some(),
            3 => queue.why_item(id("x")).await.unwrap().is_some_and(|why| why.reason == WhyReason::Ready),
            4 => queue.why_key(Key::new("ana").unwrap()).await.unwrap().reason == WhyReason::Ready,
            5 => queue.counts().await.unwrap().pending == 1,
            6 => queue.overview().await.unwrap().oldest_waiting.is_some(),
            _ => world.turno.lane_locks().await.unwrap().active_queues == 1,
        };
        assert!(seen, "look {look}");
    }
}

#[tokio::test]
async fn no_read_shows_an_item_that_was_rolled_back() {
    let world = World::new().await;
    let queue = world.queue("q", plain(Kind::Lane)).await;
    let app = world.begin().await;
    app.execute("select turno.enqueue('q', '1', key => 'ana', id => 'x')", &[]).await.unwrap();
    assert_eq!(soon(queue.items(ItemQuery::default())).await.unwrap(), []);
    end(&app, "rollback").await;
    assert_eq!(soon(queue.why_item(id("x"))).await.unwrap(), None);
    assert_eq!(soon(world.turno.lane_locks()).await.unwrap(), LaneLocks::default());
}

#[tokio::test]
async fn an_item_that_was_just_committed_can_be_claimed_by_its_id_and_cleared() {
    let world = World::new().await;
    let queue = world.queue("q", plain(Kind::Lane)).await;
    enqueue(&world, "x").await;
    let got = queue.claim_item(id("x"), Claim::by("worker")).await.unwrap().delivery().expect("the item is due");
    enqueue(&world, "y").await;
    assert_eq!(world.turno.lane_clear().await.unwrap(), 2);
    assert_eq!(queue.ack([got.reference]).await.unwrap()[0].outcome, SettleOutcome::Stale);
}

#[tokio::test]
async fn clearing_skips_a_delivery_that_a_transaction_is_completing() {
    for (how, processed) in [("commit", 1), ("rollback", 0)] {
        let world = World::new().await;
        let queue = world.queue("q", plain(Kind::Lane)).await;
        queue.enqueue(vec![draft("1", "ana"), draft("2", "ana"), draft("3", "luis")]).await.unwrap();
        let got = claim(&queue).await.unwrap();
        let app = world.begin().await;
        complete(&app, &got).await.unwrap();
        assert_eq!(soon(world.turno.lane_clear()).await.unwrap(), 2, "the other items are cancelled");
        end(&app, how).await;
        let counts = queue.counts().await.unwrap();
        assert_eq!((counts.processed, counts.in_process, counts.cancelled), (processed, 1 - processed, 2));
    }
}
