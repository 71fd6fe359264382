//! A table that is altered while its trigger exists: the application continues, and the status names the problem.

use super::*;

#[tokio::test]
async fn a_watched_column_that_was_dropped_does_not_stop_the_application_and_the_status_says_so() {
    let world = World::new().await;
    world.people(&[42, 43]).await;
    world.sql.batch_execute("alter table siper.usuarios drop column nombre").await.unwrap();
    world.run("update siper.usuarios set apellido = 'Otro' where idper = 42").await;
    world.run("update siper.usuarios set idper = 44 where idper = 43").await;
    world.run("delete from siper.usuarios where idper = 44").await;
    let trouble = turno::Error::from(world.sync.status().await.unwrap().trouble.unwrap()).to_string();
    assert_eq!(trouble, "table siper.usuarios has no column nombre");
    assert_eq!(world.events().await.len(), 3, "every key that may have changed is marked: {:?}", world.events().await);
    // After the table is repaired, the current state is sent.
    world.sql.batch_execute("alter table siper.usuarios add column nombre text default 'de vuelta'").await.unwrap();
    let sent_texts = world.drain().await;
    assert!(sent_texts[0].starts_with("ACTUALIZAR 42 ") && sent_texts[0].contains("de vuelta"), "{sent_texts:?}");
    assert_eq!(sent_texts[1..], ["DESACTIVAR 43", "DESACTIVAR 44"]);
    assert!(world.sync.status().await.unwrap().is_installed());
    world.run("update siper.usuarios set telefono = '1'").await;
    assert_eq!(world.drain().await, [""; 0], "unwatched columns make no event again");
}

#[tokio::test]
async fn a_key_that_was_dropped_does_not_stop_the_application_and_is_noted_once() {
    let world = World::with(Source { one_current_per_key: false, view: None, ..siper() }).await;
    world.sql.batch_execute("alter table siper.usuarios drop column idper").await.unwrap();
    for name in ["a", "b"] {
        let add = format!("insert into siper.usuarios (nombre, apellido, principal) values ('{name}', 'x', true)");
        world.run(&add).await;
    }
    world.run("truncate siper.usuarios").await;
    assert_eq!(world.number("select count(*) from turno.intake_refused").await, 1);
    let trouble = world.sync.status().await.unwrap().trouble.unwrap();
    assert!(turno::Error::from(trouble).to_string().contains("has no column idper"));
}

#[tokio::test]
async fn a_condition_that_fails_for_a_row_does_not_stop_the_application_and_its_key_is_marked() {
    let world = World::with(Source { enqueue_when: Some("telefono::int > 0".to_owned()), ..siper() }).await;
    world.run(&person(42)).await;
    world.drain().await;
    world.run("update siper.usuarios set telefono = 'no number'").await;
    assert_eq!(world.queue.counts().await.unwrap().pending, 1);
    assert!(world.sync.current(&key("42")).await.is_err(), "the row cannot be read, so nothing is sent");
    world.run("update siper.usuarios set telefono = '7'").await;
    world.queue.counts().await.unwrap();
    assert_eq!(world.drain().await.len(), 1);
}

#[tokio::test]
async fn a_truncate_with_a_condition_that_fails_marks_every_key() {
    let world = World::with(Source { enqueue_when: Some("telefono::int > 0".to_owned()), ..siper() }).await;
    world.run(&person(42)).await;
    world.run(&person(43)).await;
    world.drain().await;
    world.run("update siper.usuarios set telefono = 'no number' where idper = 42").await;
    world.run("truncate siper.usuarios").await;
    assert_eq!(world.drain().await, ["DESACTIVAR 42", "DESACTIVAR 43"]);
}
