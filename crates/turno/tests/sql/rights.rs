//! What an application's role may do, and that it cannot redirect the functions.

use super::*;

const FUNCTIONS: &str = "turno.enqueue(text, jsonb, text, text, text, interval), turno.complete(text, bigint), \
                         turno.assert_lease(text, bigint), turno.assert_lease(text, bigint, text)";

/// Connects as a role that may only call the functions. Its name is unique, because roles belong to the whole server.
async fn application(world: &World) -> Client {
    let role = format!("app_{}", world.url.rsplit('/').next().unwrap());
    let sql = format!(
        "create role {role} login; grant usage on schema turno to {role}; grant execute on function {FUNCTIONS} to {role}; \
         create schema {role} authorization {role}"
    );
    world.sql.batch_execute(&sql).await.unwrap();
    let mut config: tokio_postgres::Config = world.url.parse().unwrap();
    let (client, connection) = config.user(&role).connect(NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

#[tokio::test]
async fn an_unprivileged_role_calls_the_functions_and_reads_nothing() {
    let world = World::new().await;
    let queue = world.queue("q", plain(Kind::Lane)).await;
    let fence = super::lease::held(&world, "caja:3").await;
    let app = application(&world).await;
    app.execute("select turno.enqueue('q', '1', key => 'ana', id => 'x')", &[]).await.unwrap();
    let got = claim(&queue).await.unwrap();
    complete(&app, &got).await.unwrap();
    super::lease::assert_lease(&app, "caja:3", fence).await.unwrap();
    assert_eq!(queue.counts().await.unwrap().processed, 1);
    let tables = "select format('turno.%I', relname) from pg_class
        where relnamespace = 'turno'::regnamespace and relkind in ('r', 'S')";
    let tables = world.sql.query(tables, &[]).await.unwrap();
    assert!(tables.len() > 15, "{}", tables.len());
    for row in tables {
        let table: &str = row.get(0);
        assert_eq!(refused(app.query(&format!("select from {table}"), &[]).await), "42501", "{table}");
    }
    for call in ["turno.time_ms()", "turno.is_name('x')", "nextval('turno.number')", "1 from turno.intake for update"] {
        assert_eq!(refused(app.query(&format!("select {call}"), &[]).await), "42501", "{call}");
    }
    let insert = "insert into turno.intake (kind, at, queue) values ('ack', 1, 1)";
    assert_eq!(refused(app.execute(insert, &[]).await), "42501");
}

#[tokio::test]
async fn a_role_without_a_grant_cannot_call_the_functions() {
    let world = World::new().await;
    let app = application(&world).await;
    let role: String = app.query_one("select current_user::text", &[]).await.unwrap().get(0);
    world.sql.batch_execute(&format!("revoke execute on function {FUNCTIONS} from {role}")).await.unwrap();
    for call in ["enqueue('q', '1')", "complete('a1-1-1', 1)", "assert_lease('r', 1)", "assert_lease('r', 1, 'ana')"] {
        assert_eq!(refused(app.query(&format!("select turno.{call}"), &[]).await), "42501", "{call}");
    }
}

#[tokio::test]
async fn functions_and_tables_of_the_same_name_in_other_schemas_are_ignored() {
    let world = World::new().await;
    let queue = world.queue("q", plain(Kind::Lane)).await;
    let app = application(&world).await;
    let traps = "
        create temp table intake (n int); create temp table queue (id int, name text, kind text);
        create temp table hot (seq bigint, queue int, lane bigint, fence bigint, expires_at bigint);
        insert into pg_temp.queue values (7, 'trap', 'inbox');
        create function octet_length(text) returns int language plpgsql as $$ begin raise 'trapped'; end $$;
        create function char_length(text) returns int language plpgsql as $$ begin raise 'trapped'; end $$;
        create function gen_random_uuid() returns uuid language plpgsql as $$ begin raise 'trapped'; end $$;
        create function lpad(text, int, text) returns text language plpgsql as $$ begin raise 'trapped'; end $$;
        create function pg_advisory_xact_lock(int, int) returns void language plpgsql as $$ begin null; end $$;
        create function greatest_of(bigint, bigint) returns boolean language plpgsql as $$ begin raise 'trapped'; end $$;
        create operator > (function = greatest_of, leftarg = bigint, rightarg = bigint);";
    let role: String = app.query_one("select current_user::text", &[]).await.unwrap().get(0);
    let path =
        format!("set search_path = {role}, pg_temp, pg_catalog; {traps} set search_path = pg_temp, {role}, pg_catalog");
    app.batch_execute(&path).await.unwrap();
    app.execute("select turno.enqueue('q', '1', key => 'ana')", &[]).await.unwrap();
    assert_eq!(refused(app.query("select turno.enqueue('trap', '1')", &[]).await), "TN001");
    let got = claim(&queue).await.expect("the item is in Turno's own table");
    complete(&app, &got).await.unwrap();
    assert_eq!(refused(complete(&app, &got).await), "TN010");
    assert_eq!(queue.counts().await.unwrap().processed, 1);
}
