//! A row that stops meeting `enqueue_when` while it is still current: it is neither deleted nor replaced.

use super::{Source, World, key, sent, siper};
use std::time::Duration;
use turno::core::event::{EventName, Topic};
use turno::core::sync::{Difference, OnLeave};
use turno::event::Live;
use turno::queue::Claim;

/// Longer than any event takes.
const LIMIT: Duration = Duration::from_secs(60);

const LEAVES: &str = "update siper.usuarios set algoritmo_pass = 'MD5' where idper = 42";

/// Returns the finished events of 42, newest last: action and state.
async fn finished(world: &World) -> Vec<String> {
    let sql = "select concat_ws(' ', accion, estado) from siper.cola_sincronizacion_usuarios_modulo
        where idper = 42 and estado = 'PROCESADO' order by actualizado_en, creado_en";
    world.sql.query(sql, &[]).await.unwrap().iter().map(|row| row.get(0)).collect()
}

#[tokio::test]
async fn with_ignore_a_waiting_event_of_a_row_that_left_is_skipped_and_shown_as_ninguna() {
    let world = World::new().await;
    world.people(&[42]).await;
    world.run("update siper.usuarios set nombre = 'Otro' where idper = 42").await;
    world.assert_events(&["42 ACTUALIZAR PENDIENTE 0"]).await;
    world.run(LEAVES).await;
    world.assert_events(&["42 NINGUNA PENDIENTE 0"]).await;
    assert_eq!(world.drain().await, ["nothing 42"]);
    assert_eq!(finished(&world).await, ["ACTUALIZAR PROCESADO", "NINGUNA PROCESADO"]);
    // The destination keeps the last delivery, as configured, so the check finds no difference.
    let check = world.sync.check(false, None, |_| {}).await.unwrap();
    assert_eq!((check.differing, check.on_its_way), (0, 0), "{check:?}");
    assert_eq!(world.sync.status().await.unwrap().left, Some(1), "the key is counted as left");
    world.run("update siper.usuarios set algoritmo_pass = 'PG-SHA256' where idper = 42").await;
    let sent_texts = world.drain().await;
    assert!(
        sent_texts.len() == 1 && sent_texts[0].starts_with("ACTUALIZAR 42") && sent_texts[0].contains("Otro"),
        "{sent_texts:?}"
    );
}

#[tokio::test]
async fn with_ignore_a_resync_of_a_key_whose_row_has_left_is_skipped() {
    let world = World::new().await;
    world.people(&[42]).await;
    world.run(LEAVES).await;
    world.sync.resync(key("42")).await.unwrap();
    assert_eq!(world.drain().await, ["nothing 42"]);
    // A deleted row is gone even if it had left before.
    world.run("delete from siper.usuarios where idper = 42").await;
    assert_eq!(world.drain().await, ["DESACTIVAR 42"]);
}

#[tokio::test]
async fn with_ignore_a_key_that_was_never_delivered_is_not_deactivated() {
    let world = World::new().await;
    world.run(&super::user("42", "MD5", true)).await;
    world.sync.resync(key("42")).await.unwrap();
    assert_eq!(world.drain().await, ["nothing 42"]);
    assert_eq!(world.number("select count(*) from turno.sync_delivered").await, 0);
}

#[tokio::test]
async fn with_ignore_a_row_that_stops_being_current_is_deactivated_although_it_has_left() {
    let world = World::new().await;
    world.people(&[42]).await;
    world.run("update siper.usuarios set principal = false, algoritmo_pass = 'MD5' where idper = 42").await;
    assert_eq!(world.drain().await, ["DESACTIVAR 42"]);
}

#[tokio::test]
async fn a_skipped_item_has_its_own_event() {
    let world = World::new().await;
    let mut listener = world.turno.subscribe(Topic::Sync.into(), None).await.unwrap();
    world.people(&[42]).await;
    world.run(LEAVES).await;
    world.sync.resync(key("42")).await.unwrap();
    world.drain().await;
    let mut names = Vec::new();
    while names.last() != Some(&EventName::ItemSkipped) {
        let heard = tokio::time::timeout(LIMIT, listener.next()).await.expect("the event is received").unwrap();
        if let Live::Event { event, .. } = heard
            && event.name.as_str().starts_with("item.")
        {
            assert_eq!(event.key.as_deref(), Some("42"), "{event:?}");
            names.push(event.name.clone());
        }
    }
    assert_eq!(names, [EventName::ItemDelivered, EventName::ItemSkipped]);
}

#[tokio::test]
async fn with_deactivate_a_row_that_leaves_is_deactivated_and_a_check_finds_missed_rows() {
    let world = World::with(Source { on_leave: OnLeave::Deactivate, ..siper() }).await;
    world.people(&[42]).await;
    world.run("update siper.usuarios set nombre = 'Otro' where idper = 42").await;
    world.run(LEAVES).await;
    world.assert_events(&["42 DESACTIVAR PENDIENTE 0"]).await;
    assert_eq!(world.drain().await, ["DESACTIVAR 42"]);
    world.run("update siper.usuarios set algoritmo_pass = 'PG-SHA256', nombre = 'Nombre 42' where idper = 42").await;
    assert_eq!(world.drain().await, [sent(42)]);
    let missed = format!("set session_replication_role = replica; {LEAVES}; reset session_replication_role");
    world.sql.batch_execute(&missed).await.unwrap();
    assert!(world.queue.claim(Claim::by("worker")).await.unwrap().is_empty(), "the trigger did not mark the key");
    let check = world.sync.check(true, None, |_| {}).await.unwrap();
    assert_eq!(check.differences, [("42".to_owned(), Difference::Gone)]);
    assert_eq!(world.drain().await, ["DESACTIVAR 42"]);
}
