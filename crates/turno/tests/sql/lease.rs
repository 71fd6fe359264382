//! `turno.assert_lease`: the lease is held now, and cannot be taken until the transaction ends.

use super::*;
use turno::core::id::Fence;
use turno::lease::{Action, LeaseAnswer};

pub(super) const CLAIM: Action = Action::Claim { ttl: None, wait: false };

pub(super) async fn ask(world: &World, resource: &str, user: &str, action: Action) -> LeaseAnswer {
    world.turno.lease_command(world.turno.command(resource, user, action).unwrap()).await.unwrap()
}

pub(super) async fn held(world: &World, resource: &str) -> Fence {
    ask(world, resource, "ana", CLAIM).await.state.grant.expect("the lease is free").fence
}

pub(super) async fn assert_lease(
    client: &Client,
    resource: &str,
    fence: Fence,
) -> Result<Vec<Row>, tokio_postgres::Error> {
    client.query("select turno.assert_lease($1, $2)", &[&resource, &fence.0]).await
}

#[tokio::test]
async fn only_the_live_fence_is_asserted() {
    let world = World::new().await;
    let fence = held(&world, "caja:3").await;
    assert_lease(&world.sql, "caja:3", fence).await.unwrap();
    for (resource, fence) in [("caja:3", Fence(fence.0 + 1)), ("caja:4", fence), ("", fence)] {
        assert_eq!(refused(assert_lease(&world.sql, resource, fence).await), "TN020", "{resource}");
    }
    assert_eq!(refused(world.sql.query("select turno.assert_lease('caja:3', null)", &[]).await), "TN020");
    assert_eq!(refused(world.sql.query("select turno.assert_lease(null, 1)", &[]).await), "TN020");
    ask(&world, "caja:3", "ana", Action::Release { fence, claim: None }).await;
    assert_eq!(refused(assert_lease(&world.sql, "caja:3", fence).await), "TN020", "released");
    assert_eq!(refused(world.sql.query("select turno.assert_lease('caja:3', null)", &[]).await), "TN020");
    let fence = held(&world, "caja:3").await;
    world.advance(30_000).await;
    assert_eq!(refused(assert_lease(&world.sql, "caja:3", fence).await), "TN020", "expired");
}

#[tokio::test]
async fn an_asserted_lease_cannot_be_taken_until_the_transaction_ends_but_can_be_renewed() {
    for (taker, how) in [(CLAIM, "commit"), (Action::ForceClaim { reason: "urgent".into(), fence: None }, "rollback")] {
        let world = World::new().await;
        let fence = held(&world, "caja:3").await;
        let app = world.begin().await;
        assert_lease(&app, "caja:3", fence).await.unwrap();
        world.advance(20_000).await;
        let beat = Action::Heartbeat { fence, idle: None, worked: true };
        let beaten = soon(ask(&world, "caja:3", "ana", beat)).await;
        assert!(beaten.answer.is_ok(), "{beaten:?}");
        if taker == CLAIM {
            world.advance(120_000).await;
        }
        let mut taking = Box::pin(ask(&world, "caja:3", "luis", taker.clone()));
        waits(&mut taking).await;
        // The end of an expired ownership may be stored meanwhile, but there is no new ownership.
        let taken = "select count(*) from turno.lease where holder_user <> 'ana'";
        assert_eq!(world.number(taken).await, 0);
        end(&app, how).await;
        let taken = tokio::time::timeout(Duration::from_secs(20), taking).await.unwrap();
        let taken = if taken.answer.is_ok() { taken } else { ask(&world, "caja:3", "luis", taker).await };
        assert!(taken.answer.is_ok(), "{taken:?}");
        assert_eq!(refused(assert_lease(&app, "caja:3", fence).await), "TN020", "the fence is stale now");
    }
}

/// S8: every reader of the lease sees its fence, so another user could save with it.
#[tokio::test]
async fn a_fence_is_asserted_only_for_the_user_who_holds_it() {
    let world = World::new().await;
    let fence = held(&world, "caja:3").await;
    let sql = "select turno.assert_lease($1, $2, $3)";
    world.sql.query(sql, &[&"caja:3", &fence.0, &"ana"]).await.unwrap();
    for holder in [Some("luis"), Some(""), None] {
        assert_eq!(refused(world.sql.query(sql, &[&"caja:3", &fence.0, &holder]).await), "TN020", "{holder:?}");
    }
    assert_eq!(refused(world.sql.query(sql, &[&"caja:3", &(fence.0 + 1), &"ana"]).await), "TN020");
    ask(&world, "caja:3", "ana", Action::Release { fence, claim: None }).await;
    for holder in [Some("ana"), None] {
        assert_eq!(refused(world.sql.query(sql, &[&"caja:3", &fence.0, &holder]).await), "TN020", "released");
    }
    // The control: without the holder the fence alone is enough for every caller.
    let fence = held(&world, "caja:3").await;
    assert_lease(&world.sql, "caja:3", fence).await.unwrap();
}
