//! Which rows take part: the conditions of the source, before and after a change.

use super::*;

#[tokio::test]
async fn a_record_must_have_an_idper() {
    let world = World::new().await;
    world.run(&user("null", "PG-SHA256", true)).await;
    world.assert_events(&[]).await;
    world.run("update siper.usuarios set nombre = 'Sin id'").await;
    world.assert_events(&[]).await;
    world.run("update siper.usuarios set idper = 42").await;
    world.assert_events(&["42 ACTUALIZAR PENDIENTE 0"]).await;
    world.drain().await;
    world.run("update siper.usuarios set idper = null").await;
    world.assert_events(&["42 DESACTIVAR PENDIENTE 0"]).await;
}

#[tokio::test]
async fn algoritmo_pass_must_be_strictly_pg_sha256() {
    let world = World::new().await;
    for (n, algorithm) in ["MD5", "pg-sha256", "PG-SHA256 ", "", "XPG-SHA256"].iter().enumerate() {
        world.run(&user(&n.to_string(), algorithm, true)).await;
    }
    world.run("insert into siper.usuarios (idper, nombre, apellido, principal) values (9, 'a', 'b', true)").await;
    world.assert_events(&[]).await;
    world.run("update siper.usuarios set nombre = 'Otro', hashpass = 'x'").await;
    world.run("delete from siper.usuarios").await;
    world.assert_events(&[]).await;
}

#[tokio::test]
async fn a_record_that_begins_to_meet_the_conditions_is_sent_even_if_no_watched_field_changed() {
    let world = World::new().await;
    world.run(&user("42", "MD5", true)).await;
    world.assert_events(&[]).await;
    world.run("update siper.usuarios set algoritmo_pass = 'PG-SHA256'").await;
    world.assert_events(&["42 ACTUALIZAR PENDIENTE 0"]).await;
    assert_eq!(world.drain().await, [sent(42)]);
}

#[tokio::test]
async fn a_record_that_stops_meeting_the_conditions_is_ignored_counted_and_shown() {
    let world = World::new().await;
    world.people(&[42, 43]).await;
    world.run("update siper.usuarios set algoritmo_pass = 'MD5', hashpass = 'new' where idper = 42").await;
    world.assert_events(&[]).await;
    let status = world.sync.status().await.unwrap();
    assert_eq!((status.left, status.is_installed()), (Some(1), true));
    world.run("update siper.usuarios set algoritmo_pass = 'PG-SHA256' where idper = 42").await;
    world.drain().await;
    assert_eq!(world.sync.status().await.unwrap().left, Some(0));
}

#[tokio::test]
async fn with_on_leave_deactivate_a_record_that_stops_meeting_the_conditions_is_deactivated() {
    let world = World::with(Source { on_leave: OnLeave::Deactivate, ..siper() }).await;
    world.people(&[42]).await;
    world.run("update siper.usuarios set algoritmo_pass = 'MD5'").await;
    world.assert_events(&["42 DESACTIVAR PENDIENTE 0"]).await;
    assert_eq!(world.drain().await, ["DESACTIVAR 42"]);
    assert_eq!(world.sync.status().await.unwrap().left, Some(0));
}

/// A trigger that returns early because of the new row would leave the old id active forever.
#[tokio::test]
async fn the_old_id_is_deactivated_even_if_the_new_row_does_not_take_part() {
    let world = World::new().await;
    world.people(&[1, 2, 3]).await;
    world.run("update siper.usuarios set idper = null, algoritmo_pass = null where idper = 1").await;
    world.run("update siper.usuarios set idper = 20, algoritmo_pass = 'MD5' where idper = 2").await;
    world.run("update siper.usuarios set principal = false, algoritmo_pass = 'MD5' where idper = 3").await;
    world.assert_events(&["1 DESACTIVAR PENDIENTE 0", "2 DESACTIVAR PENDIENTE 0", "3 DESACTIVAR PENDIENTE 0"]).await;
    assert_eq!(world.drain().await, ["DESACTIVAR 1", "DESACTIVAR 2", "DESACTIVAR 3"]);
}

#[tokio::test]
async fn a_condition_that_is_null_counts_as_false() {
    let source = Source {
        current_when: None,
        one_current_per_key: false,
        enqueue_when: Some("activo and mail <> 'x'".to_owned()),
        ..siper()
    };
    let world = World::with(source).await;
    world.run(&person(1)).await;
    world.run("insert into siper.usuarios (idper, nombre, apellido) values (2, 'a', 'b')").await;
    world.assert_events(&["1 ACTUALIZAR PENDIENTE 0"]).await;
    world.drain().await;
    world.run("update siper.usuarios set nombre = 'c' where idper = 2").await;
    world.assert_events(&[]).await;
}

#[tokio::test]
async fn conditions_may_use_columns_of_any_name_and_end_in_a_comment() {
    let url_names = "
        create table siper.\"Rara\" (\"Clave\" uuid, \"found\" boolean, tg_op text, \"old\" text, \"a\"\"b\" json, \"turno_old\" int);
        grant all on siper.\"Rara\" to public";
    let source = Source {
        name: "la \"rara\"".to_owned(),
        queue: QueueName::new("rara's").unwrap(),
        table: Relation::parse("siper.Rara"),
        key: "Clave".to_owned(),
        watch: vec!["a\"b".to_owned(), "found".to_owned()],
        current_when: Some("found -- and nothing else".to_owned()),
        enqueue_when: Some("tg_op = 'it''s' /* the column */ and turno_old > 1".to_owned()),
        one_current_per_key: true,
        trigger: "tr \"x\"; --".to_owned(),
        view: Some(Relation::parse("siper.La cola \"rara\"")),
        payload: vec!["a\"b".to_owned(), "Clave".to_owned()],
        ..siper()
    };
    let world = World::bare(source.clone()).await;
    world.sql.batch_execute(url_names).await.unwrap();
    world.sync.install().await.unwrap();
    let id = "00000000-0000-0000-0000-00000000002a";
    world.run(&format!("insert into siper.\"Rara\" values ('{id}', true, 'it''s', null, '{{\"x\": 1}}', 2)")).await;
    assert_eq!(world.drain().await, [format!("ACTUALIZAR {id} {{\"a\\\"b\":{{\"x\": 1}},\"Clave\":\"{id}\"}}")]);
    world.run("update siper.\"Rara\" set tg_op = tg_op").await;
    assert_eq!(world.drain().await, [""; 0]);
    world.run("update siper.\"Rara\" set \"a\"\"b\" = '{\"x\":  1}'").await;
    assert_eq!(
        world.drain().await.len(),
        1,
        "a change of a json column is seen although json has no equality operator"
    );
    world.run("update siper.\"Rara\" set turno_old = 7, found = null").await;
    assert_eq!(world.drain().await, [format!("DESACTIVAR {id}")]);
    let shown = world.sql.query("select \"Clave\"::text from siper.\"La cola \"\"rara\"\"\"", &[]).await.unwrap();
    assert!(shown.iter().all(|row| row.get::<_, &str>(0) == id) && shown.len() == 3);
    assert!(world.sync.status().await.unwrap().is_installed());
    assert_eq!(world.sync.remove().await.unwrap().len(), 5);
}

#[tokio::test]
async fn an_invalid_key_does_not_stop_the_application_and_is_counted() {
    let source = Source {
        key: "mail".to_owned(),
        enqueue_when: None,
        current_when: None,
        one_current_per_key: false,
        view: None,
        ..siper()
    };
    let world = World::bare(source).await;
    world.sql.batch_execute("alter table siper.usuarios alter column mail type text").await.unwrap();
    world.sync.install().await.unwrap();
    world.run("insert into siper.usuarios (nombre, apellido, mail)
        values ('a', 'b', repeat('x', 201)), ('a', 'b', e'a\\nb'), ('a', 'b', ''), ('a', 'b', null), ('a', 'b', 'good')").await;
    let drained = world.drain().await;
    assert!(drained.len() == 1 && drained[0].starts_with("ACTUALIZAR good"), "{drained:?}");
    assert_eq!(world.sync.status().await.unwrap().refused, 3);
}

/// The trigger evaluates a row like the delivery does, with any settings of the application's session.
#[tokio::test]
async fn conditions_do_not_depend_on_the_settings_of_the_applications_session() {
    let cases = [
        // In Lima the first is still April, and the other already May.
        ("timezone = 'America/Lima'", "visto::date = date '2026-05-01'", "2026-05-01 02:00+00", "2026-05-02 02:00+00"),
        ("datestyle = 'German'", "visto::date::text = '2026-05-01'", "2026-05-01 12:00+00", "2026-05-02 12:00+00"),
        (
            "intervalstyle = 'iso_8601'",
            "(visto - timestamptz '2026-05-01 00:00+00')::text = '02:00:00'",
            "2026-05-01 02:00+00",
            "2026-05-01 03:00+00",
        ),
        (
            "extra_float_digits = -15",
            "extract(epoch from visto)::float8::text = '1777593600'",
            "2026-05-01 00:00+00",
            "2026-05-01 00:01+00",
        ),
    ];
    for (setting, condition, takes_part, does_not) in cases {
        let world = World::bare(Source { enqueue_when: Some(condition.to_owned()), ..siper() }).await;
        world.sql.batch_execute("alter table siper.usuarios add column visto timestamptz").await.unwrap();
        world.sync.install().await.unwrap();
        assert!(world.sync.status().await.unwrap().is_installed(), "the function is as configured");
        world.run(&format!("set {setting}; {} {}", person(42), person(43))).await;
        world.run(&format!("update siper.usuarios set visto = '{takes_part}' where idper = 42")).await;
        world.run(&format!("update siper.usuarios set visto = '{does_not}' where idper = 43")).await;
        assert_eq!(world.drain().await, [sent(42)], "{setting}");
    }
}
