//! S12: a key that is active at the destination and whose row is gone is deactivated or counted.

use super::{World, user};

const LEAVES: &str = "update siper.usuarios set algoritmo_pass = 'MD5' where idper = 42";
const DELETED: &str = "delete from siper.usuarios where idper = 42";

#[tokio::test]
async fn p7_a_row_that_left_by_its_condition_and_is_then_deleted_is_deactivated() {
    let world = World::new().await;
    world.people(&[42]).await;
    world.run(LEAVES).await;
    assert!(world.events().await.is_empty(), "with on_leave = ignore there is no event");
    world.run(DELETED).await;
    world.assert_events(&["42 DESACTIVAR PENDIENTE 0"]).await;
    assert_eq!(world.drain().await, ["DESACTIVAR 42"]);
    world.run(&user("42", "MD5", true)).await;
    world.run(DELETED).await;
    assert!(world.events().await.is_empty(), "the key is already inactive at the destination");
}

#[tokio::test]
async fn s12_a_row_that_left_is_deactivated_when_it_changes_its_key_or_stops_being_current() {
    for (change, sent) in [
        ("update siper.usuarios set idper = 43 where idper = 42", "DESACTIVAR 42"),
        ("update siper.usuarios set principal = false where idper = 42", "DESACTIVAR 42"),
        ("truncate siper.usuarios", "DESACTIVAR 42"),
        ("with gone as (delete from siper.usuarios returning 1) select * from gone", "DESACTIVAR 42"),
    ] {
        let world = World::new().await;
        world.people(&[42]).await;
        world.run(LEAVES).await;
        world.run(change).await;
        assert_eq!(world.drain().await, [sent], "{change}");
    }
}

#[tokio::test]
async fn s12_leaving_and_deletion_in_one_transaction_deactivate_once() {
    let world = World::new().await;
    world.people(&[42, 43]).await;
    world.run(&format!("begin; {LEAVES}; {DELETED}; commit")).await;
    world.assert_events(&["42 DESACTIVAR PENDIENTE 0"]).await;
    world.run(&format!("begin; {}; rollback", "delete from siper.usuarios where idper = 43")).await;
    assert_eq!(world.drain().await, ["DESACTIVAR 42"]);
}

#[tokio::test]
async fn deleting_a_row_that_was_never_delivered_makes_no_event() {
    let world = World::new().await;
    world.run(&user("42", "MD5", true)).await;
    world.run(&user("43", "MD5", false)).await;
    world.run("delete from siper.usuarios").await;
    assert!(world.events().await.is_empty());
    assert_eq!(
        world.number("select (select count(*) from turno.intake) + (select count(*) from turno.sync_mark)").await,
        0
    );
}

#[tokio::test]
async fn s12_a_row_that_leaves_and_is_deleted_while_its_first_delivery_is_under_way_is_deactivated() {
    let world = World::new().await;
    world.run(&super::person(42)).await;
    let got = world.claim().await.unwrap();
    let change = world.change(&got).await;
    // The destination has the row, but the delivery is not recorded yet.
    world.run(LEAVES).await;
    world.run(DELETED).await;
    world.sync.delivered(&change).await.unwrap();
    world.queue.ack([got.reference]).await.unwrap();
    assert_eq!(world.drain().await, ["DESACTIVAR 42"]);
}

#[tokio::test]
async fn s12_a_key_whose_row_is_gone_is_counted_until_its_deactivation_is_queued() {
    let world = World::new().await;
    world.people(&[42, 43, 44]).await;
    world.run("update siper.usuarios set algoritmo_pass = 'MD5' where idper = 43").await;
    let counts = async || {
        let status = world.sync.status().await.unwrap();
        (status.left, status.gone)
    };
    assert_eq!(counts().await, (Some(1), Some(0)));
    let missed = format!("set session_replication_role = replica; {DELETED}; reset session_replication_role");
    world.sql.batch_execute(&missed).await.unwrap();
    assert_eq!(counts().await, (Some(1), Some(1)));
    assert_eq!(world.sync.glance().await.unwrap().gone, None, "`glance` does not count");
    world.sync.resync(super::key("42")).await.unwrap();
    assert_eq!(counts().await, (Some(1), Some(0)), "the key is pending");
    let got = world.claim().await.unwrap();
    assert_eq!(counts().await, (Some(1), Some(0)), "in process");
    assert_eq!(world.deliver(&got).await, "DESACTIVAR 42");
    assert_eq!(counts().await, (Some(1), Some(0)), "deactivated");
}

#[tokio::test]
async fn a_trigger_of_an_earlier_version_is_noticed_and_installing_again_replaces_it() {
    let world = World::new().await;
    world.people(&[42]).await;
    // The trigger's body of 0.1.0, which does not read the deliveries.
    let known = "select prosrc from pg_proc where proname = 'sync_usuarios'";
    let body: String = world.sql.query_one(known, &[]).await.unwrap().get(0);
    let (from, to) = (body.find("elsif turno_old_speaks").unwrap(), body.find("if turno_new_speaks").unwrap());
    let older = format!("{}end if;\n            {}", &body[..from], &body[to..]);
    let replace =
        format!("update pg_proc set prosrc = $turno_body${older}$turno_body$ where proname = 'sync_usuarios'");
    world.sql.batch_execute(&replace).await.unwrap();
    let installed = async || turno::sync::Installed::from_status(Some(&world.sync.status().await.unwrap()), true);
    assert_eq!(installed().await, turno::sync::Installed::Differs);
    world.run(LEAVES).await;
    world.run(DELETED).await;
    assert!(world.events().await.is_empty(), "the older trigger marks nothing");
    assert_eq!(world.sync.status().await.unwrap().gone, Some(1), "the status counts the missed key");
    world.sync.install().await.unwrap();
    assert_eq!(installed().await, turno::sync::Installed::Yes);
    world.sync.check(true, None, |_| {}).await.unwrap();
    assert_eq!(world.drain().await, ["DESACTIVAR 42"]);
}
