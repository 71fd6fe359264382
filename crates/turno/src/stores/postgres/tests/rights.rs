//! The page about PostgreSQL rights: its blocks work, its grants are enough for every statement, each of them is needed,
//! and the server's role can do nothing else.

use super::super::sql::{ALL, Sql, is_script};
use super::*;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/operating/postgres-rights.md");

/// A database that was set up as the page says, on a separate server, because roles belong to the whole server.
struct World {
    _cluster: Cluster,
    superuser: Client,
    owner: Client,
    server: Client,
    server_url: String,
}

impl World {
    async fn new() -> World {
        let cluster = Cluster::start().unwrap();
        let url = cluster.fresh_database().await;
        let database = url.rsplit('/').next().unwrap().to_owned();
        let superuser = outside(&url).await;
        let page = std::fs::read_to_string(PAGE).unwrap();
        let mut owner = None;
        for block in page.split("```").skip(1).step_by(2) {
            if let Some(sql) = block.strip_prefix("sql\n-- as a superuser\n") {
                let sql = sql.replace("database turno ", &format!("database {database} "));
                superuser.batch_execute(&sql).await.unwrap_or_else(|error| panic!("{error:?} in {sql}"));
            } else if let Some(sql) = block.strip_prefix("sql\n-- as turno_owner\n") {
                let client = owner.as_ref().expect("the page migrates before it grants");
                Client::batch_execute(client, sql).await.unwrap_or_else(|error| panic!("{error:?} in {sql}"));
            } else if block.starts_with("sh\nturno migrate ") {
                drop(store_at(&as_role(&url, "turno_owner")).await);
                owner = Some(outside(&as_role(&url, "turno_owner")).await);
            } else {
                assert!(!block.starts_with("sql\n"), "the block names no role: {block}");
            }
        }
        let server_url = as_role(&url, "turno_server");
        let server = outside(&server_url).await;
        World { _cluster: cluster, superuser, owner: owner.unwrap(), server, server_url }
    }
}

fn as_role(url: &str, role: &str) -> String {
    url.replace("postgres://turno@", &format!("postgres://{role}@"))
}

/// Returns the statements that the role may not run. `EXPLAIN` checks the rights on tables and functions, and runs
/// nothing.
async fn refused<'a>(client: &Client, statements: impl Iterator<Item = &'a Sql>) -> Vec<String> {
    let mut refused = Vec::new();
    for sql in statements {
        let params = client.prepare(&sql.text).await.unwrap().params().len();
        let arguments = if params == 0 { String::new() } else { format!("({})", vec!["null"; params].join(", ")) };
        let text = format!("prepare p as {}; explain execute p{arguments}", sql.text);
        if let Err(error) = client.batch_execute(&text).await {
            assert_eq!(error.code().unwrap().code(), "42501", "{}: {error:?}", sql.name);
            refused.push(sql.name.clone());
        }
        client.batch_execute("deallocate all").await.unwrap();
    }
    refused
}

/// Statements without a plan, which need no right on a table, and the one that only a migration runs.
const OTHERS: [&str; 4] = ["commit", "hint_listen", "rollback", "schema_save"];

/// Returns the statements of a running server that touch tables or functions.
fn statements() -> impl Iterator<Item = &'static Sql> {
    ALL.iter().copied().filter(|sql| !is_script(sql) && !OTHERS.contains(&sql.name.as_str()))
}

#[tokio::test]
async fn the_granted_rights_are_enough_for_every_statement_and_each_is_needed() {
    let world = World::new().await;
    assert_eq!(refused(&world.server, statements()).await, Vec::<String>::new(), "grant what these statements need");
    let rights = "select table_name::text, privilege_type::text from information_schema.role_table_grants
        where grantee = 'turno_server' order by 1, 2";
    let rights = world.superuser.query(rights, &[]).await.unwrap();
    assert!(rights.len() > 50, "{}", rights.len());
    let mut unneeded = Vec::new();
    for row in rights {
        let (table, right): (&str, &str) = (row.get(0), row.get(1));
        world.owner.batch_execute(&format!("revoke {right} on turno.{table} from turno_server")).await.unwrap();
        let name = format!("turno.{table}");
        let using = statements().filter(|sql| sql.text.contains(&name));
        if refused(&world.server, using).await.is_empty() {
            unneeded.push(format!("{right} on {table}"));
        }
        world.owner.batch_execute(&format!("grant {right} on turno.{table} to turno_server")).await.unwrap();
    }
    assert_eq!(unneeded, Vec::<String>::new(), "revoke what no statement needs");
    for function in ["server_life()", "server_identifier()"] {
        world
            .owner
            .batch_execute(&format!("revoke execute on function turno.{function} from turno_server"))
            .await
            .unwrap();
        assert!(!refused(&world.server, statements()).await.is_empty(), "{function}");
    }
}

/// Sequences are checked only when a statement runs, so the store works with the role: a life that begins, a lease, items
/// of every kind of group, a purge and a check.
#[tokio::test]
async fn a_store_works_with_the_servers_role() {
    let world = World::new().await;
    let store = PostgresStore::open(&world.server_url, None, Arc::new(Clock::system()), false).await.unwrap();
    let (_, granted, _) = decide(&store, lease("caja:3", "ana", CLAIM)).await.unwrap();
    assert!(granted);
    let (_, forced, _) = decide(&store, lease("caja:3", "eva", force("lunch"))).await.unwrap();
    assert!(forced);
    queue(&store, Policy::for_kind(Kind::Inbox)).await;
    assert_eq!(verify_audit(&store).await, 2, "the override and the queue");
    // A failover: the stored life is another one.
    world.superuser.batch_execute("update turno.life set timeline = '00000000', identifier = 'other'").await.unwrap();
    let store = PostgresStore::open(&world.server_url, None, Arc::new(Clock::system()), false).await.unwrap();
    assert_eq!(verify_audit(&store).await, 3, "the new life");
    let (_, granted, _) = decide(&store, lease("caja:4", "ana", CLAIM)).await.unwrap();
    assert!(granted);
}

#[tokio::test]
async fn the_servers_role_can_do_nothing_else() {
    let world = World::new().await;
    world.superuser.batch_execute("create schema shop; create table shop.orders (id int)").await.unwrap();
    for sql in [
        "create table turno.t (n int)",
        "create table public.t (n int)",
        "create temp table t (n int)",
        "create schema mine",
        "create function turno.f() returns int language sql as 'select 1'",
        "create trigger t after insert on turno.lease execute function turno.server_life()",
        "alter table turno.lease add column n int",
        "alter role turno_server superuser",
        "drop table turno.lease",
        "drop schema turno cascade",
        "truncate turno.lease",
        "do 'begin lock table turno.audit in exclusive mode; end'",
        "update turno.audit set actor = 'x'",
        "delete from turno.audit",
        "delete from turno.stock_move",
        "insert into turno.schema_version (version, min_compatible) values (99, 99)",
        "select from shop.orders",
        "insert into shop.orders values (1)",
        "select turno.enqueue('q', '1')",
        "set role turno_owner",
        "set session_replication_role = replica",
        "create role mine",
        "create database mine",
        "copy turno.lease to '/tmp/lease'",
        "copy turno.lease to program 'cat'",
        "select pg_read_file('PG_VERSION')",
        "select pg_ls_dir('.')",
        "select pg_reload_conf()",
        "select lo_import('/etc/passwd')",
    ] {
        let error = world.server.batch_execute(sql).await.expect_err(sql);
        assert_eq!(error.code().map(|code| code.code()), Some("42501"), "{sql}: {error:?}");
    }
    let others = "select count(*) from pg_auth_members where member = 'turno_server'::regrole";
    assert_eq!(number(&world.superuser, others).await, 0);
}
