//! The view of the queue that the specification names, for users of the database.

use super::*;

#[tokio::test]
async fn the_view_has_the_columns_of_the_specification_and_times_with_time_zones() {
    let world = World::new().await;
    let sql = "select string_agg(a.attname || ' ' || format_type(a.atttypid, a.atttypmod), ', ' order by a.attnum)
        from pg_attribute a where a.attrelid = $1::text::regclass and a.attnum > 0";
    let columns: String = world.sql.query_one(sql, &[&VIEW]).await.unwrap().get(0);
    let expected = "id text, idper integer, accion text, estado text, intentos integer, ultimo_error text, \
                    creado_en timestamp with time zone, actualizado_en timestamp with time zone";
    assert_eq!(columns, expected);
}

#[tokio::test]
async fn an_event_keeps_its_id_and_its_time_when_it_is_taken_in() {
    let world = World::new().await;
    world.run(&person(42)).await;
    world.run("update siper.usuarios set nombre = 'b'").await;
    let sql = format!(
        "select id, actualizado_en >= creado_en, abs(extract(epoch from now() - creado_en)) < 60, creado_en::text from {VIEW}"
    );
    let seen = |row: tokio_postgres::Row| {
        (row.get::<_, String>(0), row.get::<_, bool>(1), row.get::<_, bool>(2), row.get::<_, String>(3))
    };
    let before = seen(world.sql.query_one(&sql, &[]).await.unwrap());
    assert!(before.1 && before.2);
    world.advance(3_600_000).await;
    world.queue.counts().await.unwrap();
    assert_eq!(seen(world.sql.query_one(&sql, &[]).await.unwrap()), before);
}

/// Section 6: a change while EN_PROCESO updates the record. So its time of update is that of the change, even after
/// the worker has finished, and it does not move without a change.
#[tokio::test]
async fn actualizado_en_moves_with_a_change_while_en_proceso_and_never_backwards() {
    let world = World::new().await;
    let sql = format!("select (extract(epoch from actualizado_en) * 1000)::bigint from {VIEW}");
    world.run(&person(42)).await;
    let got = world.claim().await.unwrap();
    let claimed = world.number(&sql).await;
    world.advance(10_000).await;
    assert_eq!(world.number(&sql).await, claimed, "no change yet");
    world.run("update siper.usuarios set nombre = 'Nuevo'").await;
    let marked = world.number(&sql).await;
    assert!(marked >= claimed + 10_000, "before the intake is read");
    world.assert_events(&["42 ACTUALIZAR PENDIENTE 0"]).await;
    let changed = world.number(&sql).await;
    assert!(changed >= marked, "{changed} {marked}: after the intake is read");
    world.advance(10_000).await;
    assert_eq!(world.number(&sql).await, changed);
    assert_eq!(
        world.queue.ack([got.reference]).await.unwrap()[0].outcome,
        turno::core::queue::SettleOutcome::Superseded
    );
    let again = world.number(&sql).await;
    assert!(again >= changed + 10_000, "the event is queued again");
    world.advance(10_000).await;
    assert_eq!(world.number(&sql).await, again);
    assert!(world.claim().await.is_some(), "the event can be claimed");
}

/// The same if the worker returns the event: the change counts, the return does not.
#[tokio::test]
async fn actualizado_en_stays_that_of_the_change_after_a_return() {
    let world = World::new().await;
    let sql = format!("select (extract(epoch from actualizado_en) * 1000)::bigint from {VIEW}");
    world.run(&person(42)).await;
    let got = world.claim().await.unwrap();
    world.advance(10_000).await;
    world.run("update siper.usuarios set nombre = 'Nuevo'").await;
    world.queue.counts().await.unwrap();
    let changed = world.number(&sql).await;
    world.advance(10_000).await;
    world.queue.settle(vec![Settlement { reference: got.reference, act: Act::Return { error: None } }]).await.unwrap();
    assert_eq!(world.number(&sql).await, changed);
    assert!(world.claim().await.is_some());
}

#[tokio::test]
async fn items_enqueued_through_the_api_do_not_break_the_view() {
    let world = World::new().await;
    world.run(&person(7)).await;
    world.queue.counts().await.unwrap();
    for text in ["seven", "99999999999999999999", "-", "2147483648", "7"] {
        // An embedding program can enqueue such keys. Over HTTP they are refused.
        let draft =
            turno::queue::Draft { key: Some(key(text)), payload: "null".into(), ..turno::queue::Draft::default() };
        world.queue.enqueue(vec![draft]).await.unwrap();
    }
    let shown = world.sql.query(&format!("select idper from {VIEW}"), &[]).await.unwrap();
    let ids: Vec<i32> = shown.iter().filter_map(|row| row.get(0)).collect();
    assert_eq!((shown.len(), ids), (5, vec![7]));
    let mut sent_texts = world.drain().await;
    sent_texts.sort_by_key(String::len);
    assert_eq!(sent_texts.len(), 5);
    assert_eq!(sent_texts.iter().filter(|one| one.starts_with("DESACTIVAR")).count(), 4, "{sent_texts:?}");
}

#[tokio::test]
async fn only_the_owner_of_the_table_may_read_the_view_unless_granted() {
    let world = World::bare(siper()).await;
    let owner = role(&world.url, "dba");
    let sql = format!(
        "create role {owner} login; grant all on schema siper to {owner}; alter table siper.usuarios owner to {owner}"
    );
    world.sql.batch_execute(&sql).await.unwrap();
    world.sync.install().await.unwrap();
    world.run(&person(42)).await;
    let dba = connect(&world.url, Some(&owner)).await;
    let look = format!("select idper from {VIEW}");
    assert_eq!(dba.query_one(&look, &[]).await.unwrap().get::<_, i32>(0), 42);
    assert_eq!(refused(dba.query("select from turno.intake", &[]).await), "42501", "the view gives no other right");
    assert_eq!(refused(world.app.query(&look, &[]).await), "42501");
    for change in ["insert into {} (id) values ('x')", "update {} set estado = 'PROCESADO'", "delete from {}"] {
        assert!(dba.execute(&change.replace("{}", VIEW), &[]).await.is_err(), "{change}");
    }
    world.sql.batch_execute(&format!("grant select on {VIEW} to public")).await.unwrap();
    assert_eq!(world.app.query(&look, &[]).await.unwrap().len(), 1);
    world.sync.install().await.unwrap();
    assert_eq!(refused(world.app.query(&look, &[]).await), "42501", "an install revokes the grant to public");
}

/// A leaking function is not run on rows that the view does not show.
#[tokio::test]
async fn a_leaking_function_sees_no_rows_of_other_queues() {
    let world = World::new().await;
    let other = world.turno.put_queue("otra", policy()).await.unwrap();
    let secret =
        turno::queue::Draft { key: Some(key("secreto")), payload: "1".into(), ..turno::queue::Draft::default() };
    other.enqueue(vec![secret]).await.unwrap();
    world.run(&person(42)).await;
    let role = role(&world.url, "web");
    let sql = format!("grant select on {VIEW} to {role}; create schema app authorization {role}");
    world.sql.batch_execute(&sql).await.unwrap();
    world.queue.counts().await.unwrap();
    world
        .run(
            "create function app.leak(text) returns boolean language plpgsql cost 0.0000001 as $$
        begin raise notice 'saw %', $1; if $1 = 'secreto' then raise exception 'leaked'; end if; return true; end $$",
        )
        .await;
    let sql = format!("select id from {VIEW} where app.leak(id) and app.leak(idper::text)");
    assert_eq!(world.app.query(&sql, &[]).await.unwrap().len(), 1);
}
