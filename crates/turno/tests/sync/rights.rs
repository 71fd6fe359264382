//! D8: the trigger works with any rights of the application's user, and gives that user no further rights.

use super::*;

#[tokio::test]
async fn the_application_enqueues_without_any_right_on_turnos_tables() {
    let world = World::new().await;
    world.run(&person(42)).await;
    world.assert_events(&["42 ACTUALIZAR PENDIENTE 0"]).await;
    for sql in [
        "select from turno.intake",
        "select from turno.hot",
        "insert into turno.intake (kind, at, queue) values ('enqueue', 1, 1)",
    ] {
        assert_eq!(refused(world.app.query(sql, &[]).await), "42501", "{sql}");
    }
    assert_eq!(refused(world.app.query("select turno.sync_usuarios()", &[]).await), "42501");
}

#[tokio::test]
async fn the_function_belongs_to_the_owner_with_a_pinned_path_and_cannot_be_called() {
    let world = World::new().await;
    let sql = "select p.prosecdef, p.proconfig[1], pg_get_userbyid(p.proowner) = pg_get_userbyid(n.nspowner),
            has_function_privilege('public', p.oid, 'execute'), has_function_privilege($1, p.oid, 'execute')
        from pg_proc p join pg_namespace n on n.oid = p.pronamespace where p.proname = 'sync_usuarios'";
    let row = world.sql.query_one(sql, &[&role(&world.url, "web")]).await.unwrap();
    assert_eq!((row.get::<_, bool>(0), row.get::<_, &str>(1)), (true, "search_path=pg_catalog, pg_temp"));
    assert_eq!((row.get::<_, bool>(2), row.get::<_, bool>(3), row.get::<_, bool>(4)), (true, false, false));
}

/// Objects that an attacker would create: exact type matches where the catalogue has only a cast, and the names of
/// everything that the function uses.
const TRAPS: &str = "
    create function trap(varchar, varchar) returns boolean language plpgsql as $$ begin raise 'trapped'; end $$;
    create operator = (function = trap, leftarg = varchar, rightarg = varchar);
    create operator <> (function = trap, leftarg = varchar, rightarg = varchar);
    create function trap(varchar, text) returns boolean language plpgsql as $$ begin raise 'trapped'; end $$;
    create operator = (function = trap, leftarg = varchar, rightarg = text);
    create function trap(record, record) returns boolean language plpgsql as $$ begin raise 'trapped'; end $$;
    create operator *<> (function = trap, leftarg = record, rightarg = record);
    create function gen_random_uuid() returns uuid language plpgsql as $$ begin raise 'trapped'; end $$;
    create function row_to_json(record) returns json language plpgsql as $$ begin raise 'trapped'; end $$;
    create function to_timestamp(numeric) returns timestamptz language plpgsql as $$ begin raise 'trapped'; end $$;
    create function array_append(text[], text) returns text[] language plpgsql as $$ begin raise 'trapped'; end $$;
    create table intake (n int); create table queue (id int, name text); create table usuarios (idper int, principal boolean);";

#[tokio::test]
async fn operators_functions_and_tables_of_a_hostile_user_are_ignored() {
    let world = World::bare(siper()).await;
    let role = role(&world.url, "web");
    world
        .sql
        .batch_execute(&format!("create schema {role} authorization {role}; grant create on schema public to public"))
        .await
        .unwrap();
    for schema in [role.as_str(), "public"] {
        world.run(&format!("set search_path = {schema}, pg_catalog; {TRAPS}")).await;
    }
    world.run("create temp table intake (n int); create temp table queue (id int, name text)").await;
    world.run(&format!("set search_path = pg_temp, {role}, public, pg_catalog")).await;
    // The traps work: a statement that uses the search path fails.
    assert!(world.app.query("select 'a'::varchar = 'b'::varchar", &[]).await.is_err());
    world.sync.install().await.unwrap();
    world.run(&person(42)).await;
    world.run("update siper.usuarios set nombre = 'Otro'").await;
    world.assert_events(&["42 ACTUALIZAR PENDIENTE 0"]).await;
    assert_eq!(world.drain().await.len(), 1);
    assert!(world.sync.status().await.unwrap().is_installed());
    assert_eq!(world.sync.check(false, None, |_| {}).await.unwrap().differing, 0);
    world.run("truncate siper.usuarios").await;
    assert_eq!(world.drain().await, ["DESACTIVAR 42"]);
}

/// The engine's role is no superuser, the table belongs to another role, and each role has only the rights it needs.
#[tokio::test]
async fn select_and_trigger_rights_on_the_table_are_enough_for_turnos_role() {
    let url = Cluster::for_tests().fresh_database().await;
    let sql = connect(&url, None).await;
    sql.batch_execute(SCHEMA).await.unwrap();
    let (engine, dba, web) = (role(&url, "engine"), role(&url, "dba"), role(&url, "web"));
    let database = url.rsplit('/').next().unwrap();
    let rights = format!(
        "create role {engine} login; create role {dba} login; create role {web} login;
         grant create on database {database} to {engine}; alter schema siper owner to {dba};
         alter table siper.usuarios owner to {dba}; grant usage on schema siper to {engine}, {web};
         grant select, insert, update, delete on siper.usuarios to {web}"
    );
    sql.batch_execute(&rights).await.unwrap();
    let turno = World::engine(&url.replace("postgres://turno@", &format!("postgres://{engine}@"))).await;
    turno.put_queue(siper().queue, policy()).await.unwrap();
    let source = Source { one_current_per_key: false, ..siper() };
    let sync = turno.sync(source);
    let refusal = sync.plan().await.unwrap_err().to_string();
    assert_eq!(refusal, format!("{engine} may not read siper.usuarios"));
    sql.batch_execute(&format!(
        "grant select, trigger on siper.usuarios to {engine}; grant create on schema siper to {engine}"
    ))
    .await
    .unwrap();
    sync.install().await.unwrap();
    let app = connect(&url, Some(&web)).await;
    app.batch_execute(&person(42)).await.unwrap();
    let seen =
        connect(&url, Some(&dba)).await.query_one(&format!("select estado, accion from {VIEW}"), &[]).await.unwrap();
    assert_eq!((seen.get::<_, &str>(0), seen.get::<_, &str>(1)), ("PENDIENTE", "ACTUALIZAR"));
    assert!(sync.current(&key("42")).await.unwrap().into_data().is_some());
    assert!(sync.status().await.unwrap().is_installed());
    sync.remove().await.unwrap();
}

/// S9: a hidden row must not count as gone.
#[tokio::test]
async fn a_table_with_row_security_is_refused_and_reading_an_installed_one_is_an_error() {
    let url = Cluster::for_tests().fresh_database().await;
    let sql = connect(&url, None).await;
    sql.batch_execute(SCHEMA).await.unwrap();
    let engine = role(&url, "engine");
    let database = url.rsplit('/').next().unwrap();
    let rights = format!(
        "create role {engine} login; grant create on database {database} to {engine};
         grant all on schema siper to {engine}; grant all on siper.usuarios to {engine}; {}",
        person(42)
    );
    sql.batch_execute(&rights).await.unwrap();
    let turno = World::engine(&url.replace("postgres://turno@", &format!("postgres://{engine}@"))).await;
    turno.put_queue(siper().queue, policy()).await.unwrap();
    let sync = turno.sync(Source { one_current_per_key: false, ..siper() });
    sync.install().await.unwrap();
    assert!(sync.current(&key("42")).await.unwrap().into_data().is_some());
    sql.batch_execute("alter table siper.usuarios enable row level security").await.unwrap();
    assert!(sync.current(&key("42")).await.is_err(), "a row that cannot be read does not count as gone");
    assert!(sync.install().await.unwrap_err().to_string().contains("row security"));
}

/// The rights listed in the guide are sufficient, and each is necessary.
#[tokio::test]
async fn the_rights_that_the_guide_lists_are_enough_and_each_of_them_is_needed() {
    let url = Cluster::for_tests().fresh_database().await;
    let sql = connect(&url, None).await;
    let (engine, owner) = (role(&url, "engine"), role(&url, "owner"));
    let database = url.rsplit('/').next().unwrap();
    let made = format!(
        "{SCHEMA} create role {engine} login; create role {owner};
         alter schema siper owner to {owner}; alter table siper.usuarios owner to {owner}"
    );
    sql.batch_execute(&made).await.unwrap();
    let as_engine = url.replace("postgres://turno@", &format!("postgres://{engine}@"));
    let options = || Options { sweep: false, ..Options::default() };
    let closed = Turno::open_with(&as_engine, options()).await.unwrap_err().to_string();
    assert!(closed.contains("permission denied for database"), "{closed}");
    sql.batch_execute(&format!("grant create on database {database} to {engine}")).await.unwrap();
    let turno = World::engine(&as_engine).await;
    // The right to create is not needed after the schema exists.
    sql.batch_execute(&format!("revoke create on database {database} from {engine}")).await.unwrap();
    turno.put_queue(siper().queue, policy()).await.unwrap();
    let sync = turno.sync(siper());
    for (missing, grant) in [
        ("may not read", format!("grant usage on schema siper to {engine}")),
        ("may not read", format!("grant select on siper.usuarios to {engine}")),
        ("permission denied for table usuarios", format!("grant trigger on siper.usuarios to {engine}")),
        ("must be owner of table usuarios", format!("grant {owner} to {engine}")),
    ] {
        let refused = sync.install().await.unwrap_err().to_string();
        assert!(refused.contains(missing), "{missing}: {refused}");
        sql.batch_execute(&grant).await.unwrap();
    }
    sync.install().await.unwrap();
    sync.remove().await.unwrap();
    // Without the index no ownership is needed, but the view needs the right to create in its schema.
    sql.batch_execute(&format!("revoke {owner} from {engine}")).await.unwrap();
    let plain = turno.sync(Source { one_current_per_key: false, ..siper() });
    let refused = plain.install().await.unwrap_err().to_string();
    assert!(refused.contains("permission denied for schema siper"), "{refused}");
    sql.batch_execute(&format!("grant create on schema siper to {engine}")).await.unwrap();
    plain.install().await.unwrap();
}

/// If a superuser runs the plan, Turno's role only needs to read the table.
#[tokio::test]
async fn a_superuser_may_run_the_plan_for_a_role_that_may_only_read() {
    let url = Cluster::for_tests().fresh_database().await;
    let sql = connect(&url, None).await;
    let engine = role(&url, "engine");
    let database = url.rsplit('/').next().unwrap();
    let rights = format!(
        "{SCHEMA} create role {engine} login; grant create on database {database} to {engine};
         grant usage on schema siper to {engine}; grant select on siper.usuarios to {engine}"
    );
    sql.batch_execute(&rights).await.unwrap();
    let turno = World::engine(&url.replace("postgres://turno@", &format!("postgres://{engine}@"))).await;
    let queue = turno.put_queue(siper().queue, policy()).await.unwrap();
    let sync = turno.sync(siper());
    sql.batch_execute(&sync.plan().await.unwrap()).await.unwrap();
    assert!(sync.status().await.unwrap().is_installed());
    sql.batch_execute(&person(42)).await.unwrap();
    assert_eq!(queue.counts().await.unwrap().pending, 1);
    assert!(sync.current(&key("42")).await.unwrap().into_data().is_some());
}
