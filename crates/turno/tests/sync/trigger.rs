//! The trigger itself: statements over many rows, partitions, inheritance, replication, and an upgrade from the trigger
//! that wrote into the intake.

use super::*;

/// The objects of the preset as the version before `turno.sync_mark` installed them.
const EARLIER: &str = include_str!("trigger_0_2.sql");
const MARKS: &str = "select count(*) from turno.sync_mark";

#[tokio::test]
async fn one_statement_over_many_rows_marks_the_rows_whose_watched_columns_changed() {
    let world = World::new().await;
    let many = "insert into siper.usuarios (idper, nombre, apellido, algoritmo_pass, principal)
        select n, 'n' || n, 'a', 'PG-SHA256', true from generate_series(1, 300) n";
    world.run(many).await;
    assert_eq!(world.number(MARKS).await, 300);
    world.drain().await;
    world.run("update siper.usuarios set telefono = '1'").await;
    world.run("update siper.usuarios set nombre = nombre, telefono = '2'").await;
    assert_eq!(world.number(MARKS).await, 0, "no watched column has another value");
    world.run("update siper.usuarios set nombre = case when idper % 3 = 0 then nombre || '!' else nombre end").await;
    assert_eq!(world.number(MARKS).await, 100);
    assert_eq!(world.queue.counts().await.unwrap().pending, 100);
}

#[tokio::test]
async fn a_change_of_a_column_that_only_the_condition_reads_marks_rows_that_begin_to_take_part() {
    let world = World::new().await;
    world.run(&user("1", "MD5", true)).await;
    world.assert_events(&[]).await;
    world.run("update siper.usuarios set algoritmo_pass = 'SHA1'").await;
    world.assert_events(&[]).await;
    world.run("update siper.usuarios set algoritmo_pass = 'PG-SHA256'").await;
    world.assert_events(&["1 ACTUALIZAR PENDIENTE 0"]).await;
}

/// The plan of a source whose queue does not exist yet. Its function finds the queue once it exists.
#[tokio::test]
async fn a_plan_read_before_its_queue_exists_marks_keys_of_that_queue() {
    let world = World::bare(siper()).await;
    let early = Source { queue: QueueName::new("later").unwrap(), ..siper() };
    let sync = world.turno.sync(early);
    let plan = sync.plan().await.unwrap();
    let queue = world.turno.put_queue("later", Policy::for_kind(Kind::Sync)).await.unwrap();
    world.sql.batch_execute(&plan).await.unwrap();
    world.run(&person(7)).await;
    assert_eq!(queue.counts().await.unwrap().pending, 1);
    sync.install().await.unwrap();
    world.run(&person(8)).await;
    assert_eq!(queue.counts().await.unwrap().pending, 2);
}

/// The same claims for conditions that the trigger evaluates by a query.
#[tokio::test]
async fn a_condition_with_a_function_marks_the_same_keys_as_a_plain_one() {
    let plain = World::new().await;
    let free = World::with(Source {
        current_when: Some("coalesce(principal, false)".to_owned()),
        enqueue_when: Some("idper is not null and upper(algoritmo_pass) = 'PG-SHA256'".to_owned()),
        ..siper()
    })
    .await;
    let config = "select array_length(p.proconfig, 1)::bigint from pg_proc p where p.proname = 'sync_usuarios'";
    assert_eq!((plain.number(config).await, free.number(config).await), (1, 7), "settings of the function");
    for statement in [
        person(1),
        user("2", "MD5", true),
        user("3", "PG-SHA256", false),
        "update siper.usuarios set telefono = '1'".to_owned(),
        "update siper.usuarios set principal = not principal where idper in (1, 3)".to_owned(),
        "update siper.usuarios set algoritmo_pass = 'PG-SHA256' where idper = 2".to_owned(),
        "update siper.usuarios set idper = 20 where idper = 2".to_owned(),
        "update siper.usuarios set algoritmo_pass = 'MD5' where idper = 3".to_owned(),
        "update siper.usuarios set nombre = 'x'".to_owned(),
        "delete from siper.usuarios".to_owned(),
    ] {
        plain.run(&statement).await;
        free.run(&statement).await;
        assert_eq!(plain.events().await, free.events().await, "{statement}");
        assert_eq!(plain.drain().await, free.drain().await, "{statement}");
    }
}

#[tokio::test]
async fn a_statement_that_names_a_partition_marks_its_rows_also_in_a_partition_added_later() {
    let source = Source { table: Relation::parse("siper.partes"), one_current_per_key: false, ..siper() };
    let world = World::bare(source).await;
    let tables = "
        create table siper.partes (like siper.usuarios) partition by list (activo);
        alter table siper.partes alter column id drop not null;
        create table siper.si partition of siper.partes for values in (true);
        grant all on all tables in schema siper to public";
    world.sql.batch_execute(tables).await.unwrap();
    world.sync.install().await.unwrap();
    let later = "create table siper.no partition of siper.partes for values in (false);
        grant all on all tables in schema siper to public";
    world.sql.batch_execute(later).await.unwrap();
    let insert = |table: &str, active: bool, id: i32| {
        let values = format!("values ({active}, ");
        person(id).replace("siper.usuarios", table).replace("(idper,", "(activo, idper,").replace("values (", &values)
    };
    world.run(&insert("siper.si", true, 1)).await;
    world.run(&insert("siper.no", false, 2)).await;
    world.assert_events(&["1 ACTUALIZAR PENDIENTE 0", "2 ACTUALIZAR PENDIENTE 0"]).await;
    world.drain().await;
    world.run("update siper.no set nombre = 'x'; update siper.no set telefono = '1'").await;
    assert_eq!(world.drain().await.len(), 1);
    world.run("delete from siper.si").await;
    assert_eq!(world.drain().await, ["DESACTIVAR 1"]);
}

#[tokio::test]
async fn an_inherited_child_is_a_source_of_its_own() {
    let world = World::new().await;
    // A child does not inherit the identity of the column.
    let child = "create table siper.hija () inherits (siper.usuarios); grant all on siper.hija to public;
        alter table siper.hija alter column id set default 1";
    world.sql.batch_execute(child).await.unwrap();
    let own = Source {
        name: "hija".to_owned(),
        table: Relation::parse("siper.hija"),
        trigger: "tr_hija".to_owned(),
        view: None,
        ..siper()
    };
    world.run(&person(1).replace("siper.usuarios", "siper.hija")).await;
    assert_eq!(world.number(MARKS).await, 0, "the parent's triggers do not fire for a child");
    world.turno.sync(own).install().await.unwrap();
    world.run("update siper.usuarios set nombre = 'por el padre'").await;
    assert_eq!(world.number(MARKS).await, 1, "a statement over the parent fires the child's trigger");
}

#[tokio::test]
async fn enable_always_marks_replicated_changes_and_survives_an_install() {
    let world = World::new().await;
    let replica = "set session_replication_role = replica";
    world.sql.batch_execute(&format!("{replica}; {} reset session_replication_role", person(1))).await.unwrap();
    assert_eq!(world.number(MARKS).await, 0, "the control: an ordinary trigger does not fire for a subscription");
    let always = "alter table siper.usuarios enable always trigger tr_sincro_usuarios_modulo_global";
    world.sql.batch_execute(always).await.unwrap();
    let source = Source { watch: vec!["nombre".to_owned(), "telefono".to_owned()], ..siper() };
    let changed = world.turno.sync(source);
    assert!(!changed.status().await.unwrap().is_installed());
    changed.install().await.unwrap();
    let enabled =
        "select count(*) from pg_trigger where tgname = 'tr_sincro_usuarios_modulo_global' and tgenabled = 'A'";
    assert_eq!(world.number(enabled).await, 1);
    assert!(changed.status().await.unwrap().is_installed());
    world.sql.batch_execute(&format!("{replica}; {} reset session_replication_role", person(2))).await.unwrap();
    world.assert_events(&["2 ACTUALIZAR PENDIENTE 0"]).await;
}

/// Without the view and the index, which use their columns, nothing of Turno stands in the way of an ALTER TABLE.
#[tokio::test]
async fn the_triggers_stop_no_change_of_the_table() {
    let world = World::with(Source { one_current_per_key: false, view: None, ..siper() }).await;
    world.people(&[1]).await;
    for statement in [
        "alter table siper.usuarios alter column nombre type text",
        "alter table siper.usuarios alter column idper type bigint",
        "alter table siper.usuarios alter column algoritmo_pass type text",
    ] {
        world.sql.batch_execute(statement).await.unwrap_or_else(|error| panic!("{statement}: {error:?}"));
        world.run("update siper.usuarios set nombre = nombre || '.'").await;
        assert_eq!(world.drain().await.len(), 1, "{statement}");
    }
    world.sql.batch_execute("alter table siper.usuarios rename column apellido to apellidos").await.unwrap();
    world.run("update siper.usuarios set telefono = '1'").await;
    assert_eq!(world.number(MARKS).await, 1, "a column that cannot be compared may have changed");
    world.sql.batch_execute("alter table siper.usuarios rename column apellidos to apellido").await.unwrap();
    assert_eq!(world.drain().await.len(), 1);
    // In one transaction with changes before and after it.
    let both = "begin; update siper.usuarios set nombre = 'a'; alter table siper.usuarios drop column nombre;
        alter table siper.usuarios drop column algoritmo_pass; update siper.usuarios set apellido = 'b'; commit";
    world.sql.batch_execute(both).await.unwrap();
    assert!(world.number(MARKS).await >= 1);
    world.sql.batch_execute("drop table siper.usuarios").await.unwrap();
}

#[tokio::test]
async fn an_upgrade_from_the_earlier_trigger_loses_no_mark() {
    let world = World::bare(siper()).await;
    world.sql.batch_execute(EARLIER).await.unwrap();
    world
        .sql
        .batch_execute("alter table siper.usuarios enable always trigger tr_sincro_usuarios_modulo_global")
        .await
        .unwrap();
    let status = world.sync.status().await.unwrap();
    assert!(!status.is_installed() && !status.is_absent(), "the earlier trigger is recognised as not as configured");
    world.run(&person(1)).await;
    world.run(&person(2)).await;
    assert_eq!(world.number("select count(*) from turno.intake").await, 2);
    world.run("begin; update siper.usuarios set nombre = 'abierta' where idper = 2").await;
    // The install waits for the open transaction, which still has marks of the earlier trigger.
    let (install, commit) = tokio::join!(world.sync.install(), async {
        let waits = "select count(*) from pg_locks where not granted";
        while world.number(waits).await == 0 {
            tokio::task::yield_now().await;
        }
        world.run("commit").await;
    });
    install.unwrap();
    let () = commit;
    assert!(world.sync.status().await.unwrap().is_installed());
    world.run("update siper.usuarios set nombre = 'nueva' where idper = 1").await;
    world.run(&person(3)).await;
    assert_eq!(world.number(MARKS).await, 2);
    let expected = ["1 ACTUALIZAR PENDIENTE 0", "2 ACTUALIZAR PENDIENTE 0", "3 ACTUALIZAR PENDIENTE 0"];
    world.assert_events(&expected).await;
    let enabled =
        "select count(*) from pg_trigger where tgname = 'tr_sincro_usuarios_modulo_global' and tgenabled = 'A'";
    assert_eq!(world.number(enabled).await, 1, "the install keeps ENABLE ALWAYS");
    let sent_texts = world.drain().await;
    assert_eq!(sent_texts.len(), 3);
    assert!(
        sent_texts.iter().any(|text| text.contains("nueva")) && sent_texts.iter().any(|text| text.contains("abierta"))
    );
}

/// The trigger changes no setting of the application's transaction that the application can notice.
#[tokio::test]
async fn a_truncate_keeps_the_applications_setting_of_row_security() {
    let world = World::new().await;
    world.people(&[1]).await;
    world.run("begin; set local row_security = on; truncate siper.usuarios").await;
    let setting: String = world.app.query_one("show row_security", &[]).await.unwrap().get(0);
    assert_eq!(setting, "on");
    world.run("commit").await;
    assert_eq!(world.drain().await, ["DESACTIVAR 1"]);
}
