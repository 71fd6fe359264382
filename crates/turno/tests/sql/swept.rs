//! An expired delivery that another process is taking back at the same moment.

use super::*;
use turno::queue::Claim;

/// Waits until `wanted` transactions wait for a lane's lock.
async fn waiting(world: &World, wanted: i64) {
    let sql = "select count(*) from pg_locks where locktype = 'advisory' and not granted
               and database = (select oid from pg_database where datname = current_database())";
    let until = async { while world.number(sql).await != wanted {} };
    tokio::time::timeout(Duration::from_secs(60), until).await.expect("the transactions wait");
}

async fn claim_now(queue: &QueueHandle) -> Option<Delivery> {
    queue.claim(Claim::by("worker")).await.unwrap().pop()
}

#[tokio::test]
async fn a_claim_during_the_sweep_of_another_process_gets_the_expired_item() {
    let world = World::new().await;
    let queue = world.queue("q", plain(Kind::Lane)).await;
    world.queue("elsewhere", plain(Kind::Lane)).await;
    queue.enqueue(vec![draft("x", "ana")]).await.unwrap();
    let lost = claim(&queue).await.unwrap();
    let other = World::engine(&world.url, false).await;
    let elsewhere = other.queue("elsewhere").await.unwrap();
    world.advance(60_000).await;
    // Both must wait for the lane's lock: first the other process, which does not want the item, then the claim.
    let keeper = world.begin().await;
    let all = "select count(pg_advisory_xact_lock(1953854062, slot)) from generate_series(0, 255) slot";
    keeper.execute(all, &[]).await.unwrap();
    let sweeping = tokio::spawn(async move { claim_now(&elsewhere).await });
    waiting(&world, 1).await;
    let claiming = tokio::spawn(async move { claim_now(&queue).await });
    waiting(&world, 2).await;
    end(&keeper, "commit").await;
    assert_eq!(sweeping.await.unwrap(), None);
    let got = claiming.await.unwrap().expect("the delivery had expired before the claim");
    assert!(got.reference.fence > lost.reference.fence, "{got:?}");
}
