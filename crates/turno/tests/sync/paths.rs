//! S7: every way to write to the table marks its keys. S5: the event commits exactly if the change does.

use super::*;

#[tokio::test]
async fn a_statement_over_many_rows_marks_each_key_once() {
    let world = World::new().await;
    let many = "insert into siper.usuarios (idper, nombre, apellido, algoritmo_pass, principal)
        select n, 'n' || n, 'a', 'PG-SHA256', true from generate_series(1, 1500) n";
    world.run(many).await;
    world.run("update siper.usuarios set nombre = nombre || '!' where idper % 2 = 0").await;
    assert_eq!(world.queue.counts().await.unwrap().pending, 1_500);
    world.run("delete from siper.usuarios where idper <= 3").await;
    let deactivated = format!("select count(*) from {VIEW} where accion = 'DESACTIVAR' and estado = 'PENDIENTE'");
    assert_eq!(world.number(&deactivated).await, 3);
    assert_eq!(world.number(&format!("select count(*) from {VIEW}")).await, 1_500, "one row per key");
}

#[tokio::test]
async fn insert_on_conflict_marks_inserted_and_updated_rows() {
    let world = World::new().await;
    world.sql.batch_execute("create unique index on siper.usuarios (mail)").await.unwrap();
    world.people(&[1]).await;
    let upsert =
        |id: i32| format!("{} on conflict (mail) do update set nombre = 'Nuevo'", person(id).trim_end_matches(';'));
    world.run(&upsert(1)).await;
    world.run(&upsert(2)).await;
    world.assert_events(&["1 ACTUALIZAR PENDIENTE 0", "2 ACTUALIZAR PENDIENTE 0"]).await;
    world.drain().await;
    world.run(&format!("{} on conflict (mail) do nothing", person(1).trim_end_matches(';'))).await;
    world.assert_events(&[]).await;
}

#[tokio::test]
async fn copy_marks_loaded_rows() {
    let world = World::new().await;
    let copy = "copy siper.usuarios (idper, nombre, apellido, algoritmo_pass, principal) from stdin";
    let sink = world.app.copy_in::<_, &[u8]>(copy).await.unwrap();
    let mut sink = std::pin::pin!(sink);
    let rows: &[u8] = b"7\tAna\tP\tPG-SHA256\tt\n8\tLuis\tQ\tMD5\tt\n9\tEva\tR\tPG-SHA256\tf\n";
    futures_util::SinkExt::send(&mut sink, rows).await.unwrap();
    sink.finish().await.unwrap();
    world.assert_events(&["7 ACTUALIZAR PENDIENTE 0"]).await;
}

#[tokio::test]
async fn truncate_deactivates_every_active_key() {
    let world = World::new().await;
    world.people(&[1, 2]).await;
    world.run(&user("3", "MD5", true)).await;
    world.run(&user("4", "PG-SHA256", false)).await;
    world.run("truncate siper.usuarios").await;
    world.assert_events(&["1 DESACTIVAR PENDIENTE 0", "2 DESACTIVAR PENDIENTE 0"]).await;
    world.run(&format!("begin; truncate siper.usuarios; {} rollback", person(1))).await;
    world.run(&format!("begin; {} truncate siper.usuarios; {} commit", person(1), person(2))).await;
    world.assert_events(&["1 DESACTIVAR PENDIENTE 0", "2 ACTUALIZAR PENDIENTE 0"]).await;
    assert_eq!(world.drain().await, [sent(2), "DESACTIVAR 1".to_owned()]);
}

#[tokio::test]
async fn rows_deleted_or_changed_by_a_cascade_are_marked() {
    let world = World::new().await;
    let parent = "
        create table siper.personas (idper integer primary key);
        insert into siper.personas values (1), (2), (3);
        alter table siper.usuarios add foreign key (idper) references siper.personas on delete cascade on update cascade;
        grant all on siper.personas to public";
    world.sql.batch_execute(parent).await.unwrap();
    world.people(&[1, 2, 3]).await;
    world.run("delete from siper.personas where idper = 1; update siper.personas set idper = 30 where idper = 3").await;
    world.assert_events(&["1 DESACTIVAR PENDIENTE 0", "3 DESACTIVAR PENDIENTE 0", "30 ACTUALIZAR PENDIENTE 0"]).await;
}

#[tokio::test]
async fn a_rollback_leaves_no_event_even_to_a_savepoint() {
    let world = World::new().await;
    world.run(&format!("begin; {} rollback", person(1))).await;
    world.assert_events(&[]).await;
    world.run(&format!("begin; {} savepoint s; {} rollback to s; {} commit", person(1), person(2), person(3))).await;
    world.assert_events(&["1 ACTUALIZAR PENDIENTE 0", "3 ACTUALIZAR PENDIENTE 0"]).await;
}

#[tokio::test]
async fn an_event_is_not_seen_before_its_transaction_commits() {
    let world = World::new().await;
    world.run(&format!("begin; {}", person(1))).await;
    world.assert_events(&[]).await;
    world.run("commit").await;
    world.assert_events(&["1 ACTUALIZAR PENDIENTE 0"]).await;
}

#[tokio::test]
async fn merge_and_updatable_views_mark_rows_too() {
    let world = World::new().await;
    world.people(&[1]).await;
    world
        .sql
        .batch_execute(
            "create view siper.v as select idper, nombre, mail from siper.usuarios; grant all on siper.v to public",
        )
        .await
        .unwrap();
    world.run("update siper.v set nombre = 'Por la vista'").await;
    world.assert_events(&["1 ACTUALIZAR PENDIENTE 0"]).await;
    world
        .run("merge into siper.usuarios u using (values (1)) as s (id) on u.idper = s.id when matched then delete")
        .await;
    world.assert_events(&["1 DESACTIVAR PENDIENTE 0"]).await;
}

#[tokio::test]
async fn all_partitions_of_a_table_are_watched_with_any_column_order() {
    let source = Source { table: Relation::parse("siper.partes"), one_current_per_key: false, ..siper() };
    let world = World::bare(source).await;
    let tables = "
        create table siper.partes (like siper.usuarios) partition by list (activo);
        create table siper.si partition of siper.partes for values in (true);
        create table siper.no (principal boolean not null, activo boolean not null, mail varchar(120), telefono varchar(30),
            idper integer, apellido varchar(80) not null, nombre varchar(80) not null, hashpass varchar(200),
            algoritmo_pass varchar(20), id bigint not null);
        alter table siper.partes attach partition siper.no for values in (false);
        alter table siper.partes alter column id drop not null;
        grant all on siper.partes to public";
    world.sql.batch_execute(tables).await.unwrap();
    world.sync.install().await.unwrap();
    let insert = |id: i32| {
        person(id)
            .replace("siper.usuarios", "siper.partes")
            .replace("(idper,", "(activo, idper,")
            .replace("values (", "values (false, ")
    };
    world.run(&insert(1)).await;
    world.assert_events(&["1 ACTUALIZAR PENDIENTE 0"]).await;
    let sent_text = world.drain().await;
    assert_eq!(sent_text, [sent(1).replace("true", "false")]);
    world.run("update siper.partes set activo = true").await;
    assert_eq!(world.drain().await, [sent(1)], "a row that moves to another partition");
    world.run("update siper.partes set telefono = '1'").await;
    assert_eq!(world.drain().await, [""; 0]);
    world.sql.batch_execute("create table siper.otra partition of siper.partes default").await.unwrap();
    world.run("truncate siper.partes").await;
    assert_eq!(world.drain().await, ["DESACTIVAR 1"]);
}

#[tokio::test]
async fn adding_and_dropping_columns_does_not_disturb_a_running_session() {
    let world = World::new().await;
    world.people(&[1]).await;
    world.sql.batch_execute("alter table siper.usuarios add column nueva text default 'x'").await.unwrap();
    world.run("update siper.usuarios set nombre = 'A', nueva = 'y'").await;
    assert_eq!(world.drain().await.len(), 1);
    world.sql.batch_execute("alter table siper.usuarios drop column nueva, drop column telefono").await.unwrap();
    world.run("update siper.usuarios set nombre = 'B'; delete from siper.usuarios").await;
    assert_eq!(world.drain().await, ["DESACTIVAR 1"]);
}

/// S10, with a negative control: an update of a row that the engine locks.
#[tokio::test]
async fn an_open_transaction_with_marks_does_not_delay_a_delivery_of_the_same_key() {
    let world = World::new().await;
    world.people(&[1]).await;
    world.run("update siper.usuarios set nombre = 'A'").await;
    let got = world.claim().await.unwrap();
    world.run("begin; update siper.usuarios set nombre = 'B'").await;
    let sent_text = tokio::time::timeout(std::time::Duration::from_secs(3), world.deliver(&got))
        .await
        .expect("the delivery does not wait");
    assert!(sent_text.contains("\"nombre\":\"A\""), "{sent_text}");
    world.run("commit").await;
    assert!(world.drain().await[0].contains("\"nombre\":\"B\""));
    world.run("update siper.usuarios set nombre = 'C'").await;
    let got = world.claim().await.unwrap();
    world.sql.batch_execute("begin; update turno.hot set attempt = attempt").await.unwrap();
    let blocked = world.queue.ack([got.reference]);
    assert!(
        tokio::time::timeout(std::time::Duration::from_secs(1), blocked).await.is_err(),
        "a real lock does block the ack"
    );
    world.sql.batch_execute("rollback").await.unwrap();
}
