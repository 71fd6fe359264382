//! An application's open transaction blocks no other call, whichever function it has called.

use super::lease::{CLAIM, ask, assert_lease, held};
use super::*;
use turno::core::queue::{Act, SettleOutcome};
use turno::lease::Action;

/// Makes all calls of other callers, each in bounded time: enqueue, claim, heartbeat and ack in the same queue and
/// lane, and leases.
async fn assert_others_continue(world: &World, queue: &QueueHandle, key: &str) {
    let name = format!("{}", world.number("select nextval('turno.number')").await);
    soon(queue.enqueue(vec![draft(&name, key), draft(&format!("{name}b"), "luis")])).await.unwrap();
    let got = claim(queue).await.expect("luis's lane is free");
    let beat = turno::queue::Settlement { reference: got.reference, act: Act::Beat };
    let beaten = soon(queue.settle(vec![beat])).await.unwrap();
    assert!(matches!(beaten[0].outcome, SettleOutcome::Renewed { .. }), "{beaten:?}");
    let acked = soon(queue.ack([got.reference])).await.unwrap();
    assert_eq!(acked[0].outcome, SettleOutcome::Acked);
    for n in 0..8 {
        let resource = format!("{name}:{n}");
        let fence = soon(ask(world, &resource, "luis", CLAIM)).await.state.grant.unwrap().fence;
        let beat = Action::Heartbeat { fence, idle: None, worked: true };
        assert!(soon(ask(world, &resource, "luis", beat)).await.answer.is_ok());
        assert!(soon(ask(world, &resource, "luis", Action::Release { fence, claim: None })).await.answer.is_ok());
    }
    soon(queue.counts()).await.unwrap();
}

#[tokio::test]
async fn an_open_transaction_that_enqueued_blocks_no_other_call() {
    let world = World::new().await;
    let queue = world.queue("q", plain(Kind::Lane)).await;
    let app = world.begin().await;
    app.execute("select turno.enqueue('q', '1', key => 'luis')", &[]).await.unwrap();
    assert_others_continue(&world, &queue, "ana").await;
    end(&app, "commit").await;
}

#[tokio::test]
async fn an_open_transaction_that_completed_blocks_no_other_call() {
    let world = World::new().await;
    let queue = world.queue("q", plain(Kind::Lane)).await;
    queue.enqueue(vec![draft("x", "ana")]).await.unwrap();
    let got = claim(&queue).await.unwrap();
    let app = world.begin().await;
    complete(&app, &got).await.unwrap();
    assert_others_continue(&world, &queue, "ana").await;
    world.advance(60_000).await;
    assert_others_continue(&world, &queue, "ana").await;
    let acked =
        soon(queue.settle(vec![turno::queue::Settlement { reference: got.reference, act: Act::Beat }])).await.unwrap();
    assert_eq!(acked[0].outcome, SettleOutcome::Stale, "the worker learns at once that its delivery has expired");
    end(&app, "commit").await;
    assert!(queue.item(id("x")).await.unwrap().unwrap().done.is_some());
}

#[tokio::test]
async fn an_open_transaction_that_asserted_a_lease_blocks_no_other_call() {
    let world = World::new().await;
    let queue = world.queue("q", plain(Kind::Lane)).await;
    let fence = held(&world, "caja:3").await;
    let app = world.begin().await;
    assert_lease(&app, "caja:3", fence).await.unwrap();
    assert_others_continue(&world, &queue, "ana").await;
    end(&app, "commit").await;
}

#[tokio::test]
async fn a_claim_of_an_asserted_lease_blocks_no_other_call() {
    let world = World::new().await;
    let queue = world.queue("q", plain(Kind::Lane)).await;
    let fence = held(&world, "caja:3").await;
    let app = world.begin().await;
    assert_lease(&app, "caja:3", fence).await.unwrap();
    let (turno, reason) = (world.turno.clone(), "urgent".to_owned());
    let force = turno.command("caja:3", "luis", Action::ForceClaim { reason, fence: None }).unwrap();
    let taking = tokio::spawn(async move { turno.lease_command(force).await });
    assert_others_continue(&world, &queue, "ana").await;
    end(&app, "commit").await;
    drop(taking);
}
