//! States and the upsert: sections 5 and 6 of the specification, through the trigger.

use super::*;
use turno::core::queue::SettleOutcome;

/// Fails the event on every attempt until it is exhausted.
async fn exhaust(world: &World) {
    for attempt in 1..=5 {
        let got = world.claim().await.unwrap_or_else(|| panic!("attempt {attempt} is handed out"));
        assert_eq!(got.attempt, attempt);
        world.fail(&got, &format!("HTTP 503 ({attempt})")).await;
        world.advance(3_600_000).await;
    }
}

#[tokio::test]
async fn an_event_goes_from_pendiente_through_en_proceso_to_procesado() {
    let world = World::new().await;
    world.run(&person(42)).await;
    world.assert_events(&["42 ACTUALIZAR PENDIENTE 0"]).await;
    let got = world.claim().await.unwrap();
    world.assert_events(&["42 ACTUALIZAR EN_PROCESO 1"]).await;
    world.deliver(&got).await;
    world.assert_events(&[]).await;
    let shown = world.sql.query_one(&format!("select idper, accion, estado, intentos from {VIEW}"), &[]).await.unwrap();
    let shown = (shown.get::<_, i32>(0), shown.get::<_, &str>(1), shown.get::<_, &str>(2), shown.get::<_, i32>(3));
    assert_eq!(shown, (42, "ACTUALIZAR", "PROCESADO", 1));
}

#[tokio::test]
async fn a_failed_execution_is_error_and_retried_and_after_five_attempts_agotado() {
    let world = World::new().await;
    world.run(&person(42)).await;
    let got = world.claim().await.unwrap();
    world.fail(&got, "HTTP 500").await;
    world.assert_events(&["42 ACTUALIZAR ERROR 1"]).await;
    assert!(world.claim().await.is_none(), "no retry before the delay is over");
    world.advance(3_600_000).await;
    for attempt in 2..=5 {
        let got = world.claim().await.unwrap();
        assert_eq!(got.attempt, attempt);
        world.fail(&got, &format!("HTTP 503 ({attempt})")).await;
        world.advance(3_600_000).await;
    }
    world.assert_events(&["42 ACTUALIZAR AGOTADO 5"]).await;
    assert!(world.claim().await.is_none());
    let error: String = world.sql.query_one(&format!("select ultimo_error from {VIEW}"), &[]).await.unwrap().get(0);
    assert_eq!(error, "HTTP 503 (5)");
}

/// The view keeps the errors of finished events, like the API.
#[tokio::test]
async fn the_last_error_of_an_event_is_kept_after_it_ended() {
    let world = World::new().await;
    let sql = format!("select ultimo_error from {VIEW} where idper = $1 and estado = 'PROCESADO'");
    let error = async |idper: i32| world.sql.query_one(&sql, &[&idper]).await.unwrap().get::<_, Option<String>>(0);
    world.run(&person(42)).await;
    let got = world.claim().await.unwrap();
    world.fail(&got, "HTTP 503").await;
    world.advance(3_600_000).await;
    let got = world.claim().await.unwrap();
    world.queue.ack([got.reference]).await.unwrap();
    assert_eq!(error(42).await.as_deref(), Some("HTTP 503"));
    world.run(&person(43)).await;
    let got = world.claim().await.unwrap();
    world.queue.ack([got.reference]).await.unwrap();
    assert_eq!(error(43).await, None, "an event that never failed has no error");
}

#[tokio::test]
async fn an_expired_claim_is_shown_as_error() {
    let world = World::new().await;
    world.run(&person(42)).await;
    world.claim().await.unwrap();
    world.advance(60_001).await;
    assert_eq!(world.events().await, ["42 ACTUALIZAR ERROR 1"]);
}

#[tokio::test]
async fn a_user_who_is_not_in_the_queue_or_was_procesado_gets_a_new_record() {
    let world = World::new().await;
    world.people(&[42]).await;
    world.run("update siper.usuarios set nombre = 'Otro'").await;
    world.assert_events(&["42 ACTUALIZAR PENDIENTE 0"]).await;
    assert_eq!(world.number(&format!("select count(*) from {VIEW}")).await, 2);
    assert_eq!(world.number(&format!("select count(distinct id) from {VIEW}")).await, 2);
}

/// S3, S6.
#[tokio::test]
async fn a_change_of_a_user_in_error_updates_his_record_resets_attempts_and_overtakes_the_retry() {
    let world = World::new().await;
    world.run(&person(42)).await;
    world.fail(&world.claim().await.unwrap(), "HTTP 500").await;
    let id = format!("select id from {VIEW}");
    let before: String = world.sql.query_one(&id, &[]).await.unwrap().get(0);
    world.run("update siper.usuarios set nombre = 'Otro'").await;
    world.assert_events(&["42 ACTUALIZAR PENDIENTE 0"]).await;
    assert_eq!(world.sql.query_one(&id, &[]).await.unwrap().get::<_, &str>(0), before, "the same row is updated");
    let got = world.claim().await.expect("due at once, without the delay of the stale change");
    assert!(world.deliver(&got).await.contains("Otro"));
}

/// S6.
#[tokio::test]
async fn a_change_of_a_user_who_is_agotado_makes_him_pendiente_with_attempts_zero() {
    let world = World::new().await;
    world.run(&person(42)).await;
    exhaust(&world).await;
    world.assert_events(&["42 ACTUALIZAR AGOTADO 5"]).await;
    world.run("delete from siper.usuarios").await;
    world.assert_events(&["42 DESACTIVAR PENDIENTE 0"]).await;
    assert_eq!(world.drain().await, ["DESACTIVAR 42"]);
    assert_eq!(world.number(&format!("select count(*) from {VIEW}")).await, 1);
}

/// S2, S3, D7.
#[tokio::test]
async fn a_change_while_en_proceso_shows_pendiente_is_not_handed_to_a_second_worker_and_is_delivered_right_after() {
    let world = World::new().await;
    world.run(&person(42)).await;
    let got = world.claim().await.unwrap();
    let change = world.change(&got).await;
    world.run("update siper.usuarios set nombre = 'Nuevo'").await;
    world.assert_events(&["42 ACTUALIZAR PENDIENTE 0"]).await;
    assert!(world.claim().await.is_none(), "the first worker still holds it");
    world.sync.delivered(&change).await.unwrap();
    let settled = world.queue.ack([got.reference]).await.unwrap();
    assert_eq!(settled[0].outcome, SettleOutcome::Superseded, "the ack does not discard the newer change");
    world.assert_events(&["42 ACTUALIZAR PENDIENTE 0"]).await;
    let again = world.claim().await.expect("due right after the ack");
    assert!(again.revision > got.revision);
    assert!(world.deliver(&again).await.contains("\"nombre\":\"Nuevo\""));
    world.assert_events(&[]).await;
    assert_eq!(world.number(&format!("select count(*) from {VIEW}")).await, 1, "there was always one row");
}

/// S2 if the change was not taken in before the ack: committed while in process, and found in the intake later.
#[tokio::test]
async fn a_change_still_in_the_intake_when_the_worker_acks_is_delivered() {
    let world = World::new().await;
    world.run(&person(42)).await;
    let got = world.claim().await.unwrap();
    let change = world.change(&got).await;
    world.run("update siper.usuarios set nombre = 'Nuevo'").await;
    world.sync.delivered(&change).await.unwrap();
    world.queue.ack([got.reference]).await.unwrap();
    assert_eq!(world.events().await, ["42 ACTUALIZAR PENDIENTE 0"]);
    assert!(world.drain().await[0].contains("\"nombre\":\"Nuevo\""));
}

#[tokio::test]
async fn a_failure_of_the_stale_change_does_not_count_against_the_new_one() {
    let world = World::new().await;
    world.run(&person(42)).await;
    let got = world.claim().await.unwrap();
    world.run("update siper.usuarios set nombre = 'Nuevo'").await;
    world.queue.counts().await.unwrap();
    world.fail(&got, "HTTP 500").await;
    world.assert_events(&["42 ACTUALIZAR PENDIENTE 0"]).await;
    assert_eq!(world.claim().await.expect("due at once").attempt, 1);
}

/// The data are read after the claim. Reading them in the same statement could lose an update.
#[tokio::test]
async fn the_data_are_read_at_the_delivery_and_not_at_the_change() {
    let world = World::new().await;
    world.run(&person(42)).await;
    let got = world.claim().await.unwrap();
    world.run("update siper.usuarios set nombre = 'Más nuevo'").await;
    assert!(world.sync.current(&key("42")).await.unwrap().into_data().unwrap().contains("Más nuevo"));
    world.run("delete from siper.usuarios").await;
    assert_eq!(world.sync.current(&key("42")).await.unwrap().into_data(), None);
    assert_eq!(world.deliver(&got).await, "DESACTIVAR 42");
}

/// Decoupling: the event stays, with or without a running server.
#[tokio::test]
async fn an_event_stays_in_the_queue_until_the_service_is_back() {
    let mut world = World::new().await;
    world.run(&person(42)).await;
    world.turno = World::engine(&world.url).await;
    world.queue = world.turno.queue(siper().queue).await.unwrap();
    world.sync = world.turno.sync(siper());
    world.advance(7 * 86_400_000).await;
    world.run("update siper.usuarios set nombre = 'Días después'").await;
    assert!(world.drain().await[0].contains("Días después"));
}
