//! D10: existing rows, and rows loaded with triggers off, can be sent, and the source can be compared with the
//! deliveries.

use super::*;
use turno::core::sync::Difference;
use turno::sync::SyncProgress;

/// Loads people without firing the trigger.
async fn load(world: &World, from: i32, to: i32) {
    let sql = format!(
        "set session_replication_role = replica;
         insert into siper.usuarios (idper, nombre, apellido, algoritmo_pass, principal)
         select n, 'n' || n, 'a', 'PG-SHA256', true from generate_series({from}, {to}) n;
         set session_replication_role = origin"
    );
    world.sql.batch_execute(&sql).await.unwrap();
}

async fn differences(world: &World) -> Vec<(String, Difference)> {
    world.sync.check(false, None, |_| {}).await.unwrap().differences
}

#[tokio::test]
async fn resync_of_one_key_sends_it_whether_there_is_a_row_or_not() {
    let world = World::new().await;
    load(&world, 1, 2).await;
    assert_eq!(world.drain().await, [""; 0]);
    world.sync.resync(key("2")).await.unwrap();
    world.sync.resync(key("99")).await.unwrap();
    let sent_texts = world.drain().await;
    assert!(
        sent_texts[0].starts_with("ACTUALIZAR 2 ") && sent_texts[1] == "DESACTIVAR 99" && sent_texts.len() == 2,
        "{sent_texts:?}"
    );
}

#[tokio::test]
async fn resync_of_all_walks_every_key_in_pages_and_reports_progress() {
    let world = World::new().await;
    load(&world, 1, 1_203).await;
    world.run(&user("5000", "MD5", true)).await;
    let mut sent_texts = Vec::new();
    let done = world.sync.resync_all(None, |progress| sent_texts.push(progress.clone())).await.unwrap();
    assert_eq!(done, SyncProgress { keys: 1_203, queued: 1_203, ..SyncProgress::default() });
    assert_eq!(sent_texts.iter().map(|one| one.keys).collect::<Vec<_>>(), [500, 1_000, 1_203]);
    assert_eq!(sent_texts[1].after.as_deref(), Some("1000"), "ordered by number, not by text");
    assert_eq!(world.queue.counts().await.unwrap().pending, 1_203);
}

#[tokio::test]
async fn an_interrupted_resync_continues_after_the_last_key() {
    let world = World::new().await;
    load(&world, 1, 20).await;
    let done = world.sync.resync_all(Some("15".to_owned()), |_| {}).await.unwrap();
    assert_eq!((done.keys, done.queued), (5, 5));
    let sent_texts = world.drain().await;
    assert!(sent_texts.len() == 5 && sent_texts.iter().all(|one| !one.starts_with("ACTUALIZAR 15 ")), "{sent_texts:?}");
}

#[tokio::test]
async fn resync_of_all_deactivates_delivered_keys_that_were_deleted_with_triggers_off() {
    let world = World::new().await;
    world.people(&[1, 2]).await;
    world
        .sql
        .batch_execute("set session_replication_role = replica; delete from siper.usuarios where idper = 1")
        .await
        .unwrap();
    world.sync.resync_all(None, |_| {}).await.unwrap();
    assert_eq!(world.drain().await, [sent(2), "DESACTIVAR 1".to_owned()]);
}

#[tokio::test]
async fn check_finds_missing_differing_and_gone_keys_and_nothing_else() {
    let world = World::new().await;
    world.people(&[1, 2, 3, 4]).await;
    world.run(&user("9", "MD5", true)).await;
    assert_eq!(differences(&world).await, []);
    load(&world, 10, 10).await;
    let off = "set session_replication_role = replica; update siper.usuarios set nombre = 'x' where idper = 2;
        update siper.usuarios set telefono = 'x' where idper = 4; delete from siper.usuarios where idper = 3";
    world.sql.batch_execute(off).await.unwrap();
    let expected = [("2", Difference::Differs), ("10", Difference::Missing), ("3", Difference::Gone)];
    assert_eq!(differences(&world).await, expected.map(|(key, how)| (key.to_owned(), how)));
    assert_eq!(world.queue.counts().await.unwrap().pending, 0, "a check without queueing queues nothing");
}

#[tokio::test]
async fn check_queues_the_differences_on_request() {
    let world = World::new().await;
    world.people(&[1]).await;
    load(&world, 2, 3).await;
    world
        .sql
        .batch_execute("set session_replication_role = replica; delete from siper.usuarios where idper = 1")
        .await
        .unwrap();
    let found = world.sync.check(true, None, |_| {}).await.unwrap();
    assert_eq!((found.differing, found.progress.queued), (3, 3));
    assert_eq!(differences(&world).await, [], "a pending change is no difference");
    assert_eq!(world.drain().await.len(), 3);
    assert_eq!(differences(&world).await, []);
}

#[tokio::test]
async fn a_pending_change_is_no_difference_and_an_exhausted_one_is() {
    let world = World::new().await;
    world.people(&[1]).await;
    world.run("update siper.usuarios set nombre = 'x'").await;
    assert_eq!(differences(&world).await, [], "not taken in yet");
    let got = world.claim().await.unwrap();
    assert_eq!(differences(&world).await, [], "in process");
    let act = Act::Fail { error: "no".to_owned(), item: None, retry_in: None, give_up: true };
    world.queue.settle(vec![Settlement { reference: got.reference, act }]).await.unwrap();
    assert_eq!(differences(&world).await, [("1".to_owned(), Difference::Differs)]);
}

#[tokio::test]
async fn a_row_that_left_without_a_deactivation_is_no_difference() {
    let world = World::new().await;
    world.people(&[1]).await;
    world.run("update siper.usuarios set algoritmo_pass = 'MD5'").await;
    assert_eq!(differences(&world).await, []);
    let missed = "set session_replication_role = replica; delete from siper.usuarios; reset session_replication_role";
    world.sql.batch_execute(missed).await.unwrap();
    assert_eq!(differences(&world).await, [("1".to_owned(), Difference::Gone)]);
}

#[tokio::test]
async fn a_late_older_delivery_does_not_replace_the_recorded_one() {
    let world = World::new().await;
    world.run(&person(1)).await;
    let old = world.claim().await.unwrap();
    world.advance(60_001).await;
    world.run("update siper.usuarios set nombre = 'x'").await;
    world.queue.counts().await.unwrap();
    let new = world.claim().await.expect("the first delivery has expired");
    world.deliver(&new).await;
    let mut change = world.change(&old).await;
    change.data = Some("{}".into());
    world.sync.delivered(&change).await.unwrap();
    assert_eq!(differences(&world).await, []);
}

/// Key types that are walked in order, and key types that are compared as text.
#[tokio::test]
async fn keys_of_every_supported_type_are_read_compared_and_resynced() {
    for (kind, values, other) in [
        ("smallint", ["-3", "7", "300"], "70000"),
        ("bigint", ["-9223372036854775808", "9", "9223372036854775807"], "x"),
        ("numeric", ["-1.5", "2.50", "10"], "1e5"),
        ("text", ["a'b", "ñ 100%", "Z"], "?"),
        ("char(5)", ["a", "bb", "ccccc"], "?"),
        (
            "uuid",
            [
                "00000000-0000-0000-0000-00000000000a",
                "10000000-0000-0000-0000-000000000000",
                "f0000000-0000-0000-0000-000000000000",
            ],
            "A",
        ),
        ("siper.color", ["rojo", "azul", "verde"], "negro"),
        ("siper.codigo", ["1", "20", "3"], "0"),
    ] {
        let source = Source { one_current_per_key: false, key: "clave".to_owned(), enqueue_when: None, ..siper() };
        let world = World::bare(source).await;
        let sql = format!("create type siper.color as enum ('rojo', 'azul', 'verde'); create domain siper.entero as int;
            create domain siper.codigo as siper.entero check (value > 0); alter table siper.usuarios add column clave {kind}");
        world.sql.batch_execute(&sql).await.unwrap();
        world.sync.install().await.unwrap();
        for value in values {
            let value = value.replace('\'', "''");
            world
                .run(&format!(
                    "insert into siper.usuarios (clave, nombre, apellido, principal) values ('{value}', 'a', 'b', true)"
                ))
                .await;
        }
        let mut sent_texts = world.drain().await;
        sent_texts.retain(|one| one.starts_with("ACTUALIZAR"));
        assert_eq!(sent_texts.len(), 3, "{kind}");
        for value in values {
            assert!(world.sync.current(&key(value)).await.unwrap().into_data().is_some(), "{kind} {value}");
        }
        assert_eq!(world.sync.current(&key(other)).await.unwrap().into_data(), None, "{kind}");
        assert_eq!(differences(&world).await, [], "{kind}");
        let done = world.sync.resync_all(None, |_| {}).await.unwrap();
        assert_eq!((done.keys, done.queued), (3, 3), "{kind}");
        let shown = format!(
            "select count(*) from {VIEW} where clave is not null and accion = 'ACTUALIZAR' and estado = 'PENDIENTE'"
        );
        assert_eq!(world.number(&shown).await, 3, "{kind}");
        world.run("delete from siper.usuarios").await;
        world.queue.counts().await.unwrap();
        let sent_texts = world.drain().await;
        assert!(
            sent_texts.len() == 3 && sent_texts.iter().all(|one| one.starts_with("DESACTIVAR ")),
            "{kind} {sent_texts:?}"
        );
    }
}

/// A failing condition says nothing about the row, so the row must not count as gone (S9).
#[tokio::test]
async fn a_condition_that_fails_is_an_error_and_never_a_deactivation() {
    let source = Source { enqueue_when: Some("telefono::int > 0".to_owned()), ..siper() };
    let world = World::with(source).await;
    world.run(&person(1)).await;
    world.drain().await;
    world
        .sql
        .batch_execute("set session_replication_role = replica; update siper.usuarios set telefono = 'no number'")
        .await
        .unwrap();
    assert!(world.sync.current(&key("1")).await.is_err());
    assert_eq!(
        world.sync.current(&key("x")).await.unwrap().into_data(),
        None,
        "a text cannot be a key of a numeric column"
    );
}

#[tokio::test]
async fn differences_with_a_pending_event_are_counted_apart() {
    let world = World::new().await;
    world.people(&[1, 2]).await;
    load(&world, 3, 3).await;
    world.run("update siper.usuarios set nombre = 'x' where idper = 1").await;
    world.sync.resync(key("2")).await.unwrap();
    let found = world.sync.check(false, None, |_| {}).await.unwrap();
    assert_eq!((found.differing, found.on_its_way), (1, 1), "3 was never delivered, 1 is pending, 2 is unchanged");
    assert_eq!(found.differences, [("3".to_owned(), Difference::Missing)]);
}

#[tokio::test]
async fn keys_that_cannot_be_queued_are_counted_and_named_and_the_others_are_queued() {
    let source = Source { one_current_per_key: false, key: "mail".to_owned(), enqueue_when: None, ..siper() };
    let world = World::with(source).await;
    world
        .sql
        .batch_execute(
            "set session_replication_role = replica;
             insert into siper.usuarios (nombre, apellido, principal, mail)
             values ('a', 'a', true, 'good'), ('b', 'b', true, ''), ('c', 'c', true, E'two\nlines')",
        )
        .await
        .unwrap();
    let found = world.sync.check(true, None, |_| {}).await.unwrap();
    assert_eq!((found.differing, found.progress.queued, found.progress.unfit), (3, 1, 2));
    assert_eq!(found.progress.unfit_keys, ["", "two\nlines"]);
}
