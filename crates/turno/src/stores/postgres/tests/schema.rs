//! Migrations, the dumped schema, and that every statement fits it.

use super::super::sql::{ALL, is_script};
use super::*;
use crate::store::SchemaFault;
use crate::stores::statement::names_in;
use std::collections::BTreeSet;
use std::path::Path;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/stores/postgres");

/// Tables with their columns, then indexes, sequences and table options, in a stable order.
const DUMP: &str = "
    select line from (
        select 1 as part, c.relname as owner, a.attnum::int as place,
               format('%s.%s %s%s%s%s', c.relname, a.attname, format_type(a.atttypid, a.atttypmod),
                      case when l.collname = 'C' then ' collate C' else '' end,
                      case when a.attnotnull then ' not null' else '' end,
                      coalesce(' default ' || pg_get_expr(d.adbin, d.adrelid), '')
                      || case when a.attidentity <> '' then ' identity' else '' end) as line
        from pg_attribute a join pg_class c on c.oid = a.attrelid
        left join pg_attrdef d on d.adrelid = c.oid and d.adnum = a.attnum
        left join pg_collation l on l.oid = a.attcollation
        where c.relnamespace = 'turno'::regnamespace and c.relkind = 'r' and a.attnum > 0 and not a.attisdropped
        union all
        select 2, c.relname, 0, pg_get_indexdef(c.oid) from pg_class c
        where c.relnamespace = 'turno'::regnamespace and c.relkind = 'i'
        union all
        select 3, sequencename, 0, format('sequence %s %s cache %s', sequencename, data_type, cache_size)
        from pg_sequences where schemaname = 'turno'
        union all
        select 4, c.relname, 0, format('table %s with (%s)', c.relname, array_to_string(c.reloptions, ', '))
        from pg_class c where c.relnamespace = 'turno'::regnamespace and c.relkind = 'r' and c.reloptions is not null
    ) s order by part, owner collate \"C\", place, line";

#[tokio::test]
async fn the_schema_dump_matches_the_migrations() {
    let (_store, url) = fresh_store().await;
    let rows = outside(&url).await.query(DUMP, &[]).await.unwrap();
    let mut dump = String::from("-- Made by the tests from a migrated database (TURNO_UPDATE_SCHEMA=1 rewrites it).\n");
    for row in rows {
        dump.push_str(row.get(0));
        dump.push('\n');
    }
    let path = Path::new(FOLDER).join("schema.sql");
    if std::env::var_os("TURNO_UPDATE_SCHEMA").is_some() {
        std::fs::write(&path, &dump).unwrap();
    }
    assert_eq!(
        std::fs::read_to_string(&path).unwrap_or_default(),
        dump,
        "run it with TURNO_UPDATE_SCHEMA=1 and look at the diff"
    );
}

#[tokio::test]
async fn every_statement_can_be_prepared_on_a_fresh_database() {
    let (_store, url) = fresh_store().await;
    let client = outside(&url).await;
    for sql in ALL.iter().filter(|sql| !is_script(sql)) {
        client.prepare(&sql.text).await.unwrap_or_else(|error| panic!("{}: {error:?}", sql.name));
    }
}

#[test]
fn every_statement_of_the_folder_is_in_the_list() {
    let known: BTreeSet<String> = ALL.iter().map(|sql| sql.name.clone()).collect();
    assert_eq!(names_in(&Path::new(FOLDER).join("sql")), known);
    assert_eq!(known.len(), ALL.len(), "every name is unique");
}

/// The class of every advisory lock, with the statements that take it. Two purposes in one class would wait for each
/// other. Class 1953854067 belongs to the installation of a source (`sync/render.rs`).
const LOCK_CLASSES: [(&str, &[&str]); 6] = [
    ("1953854062", &["lane_lock"]),
    ("1953854063", &["event_lock", "life_lock"]),
    ("1953854064", &["completing", "settle_completing"]),
    ("1953854065", &["intake_lock"]),
    ("1953854066", &["hot_request_lock"]),
    ("1953854068", &["life_lock"]),
];

#[test]
fn every_advisory_lock_class_has_one_purpose() {
    for (class, names) in LOCK_CLASSES {
        let found: Vec<&str> = ALL.iter().filter(|sql| sql.text.contains(class)).map(|sql| sql.name.as_str()).collect();
        assert_eq!(found, names, "{class}");
    }
    for sql in ALL {
        let unlisted = sql
            .text
            .split("19538540")
            .skip(1)
            .filter_map(|rest| rest.get(..2))
            .find(|last| LOCK_CLASSES.iter().all(|(class, _)| !class.ends_with(last)));
        assert_eq!(unlisted, None, "{} takes a lock of an unlisted class", sql.name);
    }
}

/// The state in which 0.1.0 left tasks when a finalize ended early.
#[tokio::test]
async fn tasks_in_processing_with_applied_lines_become_partially_completed() {
    let (_store, url) = fresh_store().await;
    let client = outside(&url).await;
    let text = "insert into turno.task (id, title, status, created_at, created_by, updated_at) overriding system value
             values (1, 'a', 'processing', 1, 'eva', 1), (2, 'b', 'processing', 1, 'eva', 1), (3, 'c', 'cancelled', 1, 'eva', 1);
         insert into turno.task_line (task, number, movement, sku, quantity, status) values
             (1, 1, 'in', 'x', 1, 'failed'), (1, 2, 'in', 'x', 1, 'applied'), (2, 1, 'in', 'x', 1, 'failed'),
             (3, 1, 'in', 'x', 1, 'applied')";
    client.batch_execute(text).await.unwrap();
    client.batch_execute(include_str!("../migrations/0017_applied_lines.sql")).await.unwrap();
    let rows = client.query("select status from turno.task order by id", &[]).await.unwrap();
    let statuses: Vec<&str> = rows.iter().map(|row| row.get(0)).collect();
    assert_eq!(statuses, ["partially_completed", "processing", "cancelled"]);
}

/// Reading needed no permission in 0.1.0.
#[tokio::test]
async fn tokens_with_a_list_of_permissions_may_still_read_after_the_migration() {
    let (_store, url) = fresh_store().await;
    let client = outside(&url).await;
    let text = "alter table turno.token drop column queues;
         alter table turno.token drop column reads;
         insert into turno.token (id, hash, user_id, machine, scope, resources, created_at, created_by, parent) values
             ('all', '\\x01', 'ana', false, null, '[]', 1, 'ana', null),
             ('list', '\\x02', 'ana', true, 'leases.use queues.consume', '[]', 1, 'ana', null),
             ('none', '\\x03', 'ana', true, '', '[]', 1, 'ana', null),
             ('session', '\\x04', 'paco', false, 'leases.use', '[]', 1, 'ana', 'all')";
    client.batch_execute(text).await.unwrap();
    client.batch_execute(include_str!("../migrations/0018_scopes.sql")).await.unwrap();
    let rows = client.query("select scope, reads, queues from turno.token order by id", &[]).await.unwrap();
    let stored: Vec<(Option<&str>, &str, &str)> = rows.iter().map(|row| (row.get(0), row.get(1), row.get(2))).collect();
    let read = "queues.read tasks.read metrics.read";
    let list = Some("leases.use queues.consume");
    let expected = [(None, "", "[]"), (list, read, "[]"), (Some(""), read, "[]"), (Some("leases.use"), "", "[]")];
    assert_eq!(stored, expected);
}

#[tokio::test]
async fn concurrently_started_instances_migrate_once() {
    let url = Cluster::for_tests().fresh_database().await;
    let starts = (0..6).map(|_| {
        tokio::spawn({
            let url = url.clone();
            async move { store_at(&url).await }
        })
    });
    let mut stores = Vec::new();
    for start in starts.collect::<Vec<_>>() {
        stores.push(start.await.unwrap());
    }
    let steps = i64::try_from(super::super::schema::MIGRATIONS.len()).unwrap();
    assert_eq!(number(&outside(&url).await, "select count(*) from turno.schema_version").await, steps);
    assert!(stores[0].describe().starts_with("PostgreSQL 1"), "{}", stores[0].describe());
    assert!(!stores[0].describe().contains('@'));
}

#[tokio::test]
async fn a_database_of_the_first_schema_is_migrated_with_its_data() {
    let url = Cluster::for_tests().fresh_database().await;
    let client = outside(&url).await;
    client.batch_execute(include_str!("../migrations/0001_engine.sql")).await.unwrap();
    client
        .batch_execute(
            "insert into turno.schema_version values (1, 1);
             insert into turno.lease (resource, holder_user, holder_name, fence, claim, ttl_ms, locked_at, worked_at,
                                      heartbeat_at, expires_at, idle)
                 values ('a', 'ana', 'Ana', 7, 1, 30000, 1, 2, 3, 9000000000000, false);
             insert into turno.lease (resource, waiting) values ('offered', '[[],null,[]]');
             update turno.mark set high = 5",
        )
        .await
        .unwrap();
    let store = store_at(&url).await;
    let peeked = store.peek(vec![resource("a")]).await.unwrap();
    assert_eq!(peeked.states[0].grant.as_ref().unwrap().fence, Fence(7));
    assert_eq!(peeked.states[0].look_at, Some(Time(9_000_000_000_000)), "the expiry will be announced");
    assert_eq!(store.due_leases(10).await.unwrap().0, [resource("offered")], "an offer is due at once");
    assert_eq!((peeked.epoch.0, store.audit_head().await.unwrap().n), (0, 0));
    let (_, granted, _) = decide(&store, lease("a", "luis", force("mine"))).await.unwrap();
    assert!(granted);
    assert_eq!(verify_audit(&store).await, 1);
}

#[tokio::test]
async fn a_newer_schema_is_used_if_compatible_and_refused_if_not() {
    let (_store, url) = fresh_store().await;
    let client = outside(&url).await;
    client.batch_execute("insert into turno.schema_version values (1001, 1)").await.unwrap();
    store_at(&url).await;
    client.batch_execute("insert into turno.schema_version values (1002, 1002)").await.unwrap();
    let refused = PostgresStore::open(&url, None, Arc::new(Clock::system()), true).await.err();
    assert!(matches!(&refused, Some(crate::Error::Store(StoreError::Schema(SchemaFault::New { .. })))), "{refused:?}");
}

#[tokio::test]
async fn the_mark_only_rises_and_a_new_process_resumes_from_it() {
    let (store, url) = fresh_store().await;
    let far = Time(store.peek(Vec::new()).await.unwrap().now.0 + 3_600_000);
    let sql = outside(&url).await;
    sql.execute("update turno.mark set high = $1", &[&far.0]).await.unwrap();
    assert!(store.peek(Vec::new()).await.unwrap().now >= far, "a running process reads the mark with the clock");
    let next = store_at(&url).await;
    assert!(next.peek(Vec::new()).await.unwrap().now >= far);
    commit(&next, 0, lease("r", "ana", CLAIM)).await.unwrap();
    let row = sql.query_one("select high from turno.mark", &[]).await.unwrap();
    assert!(row.get::<_, i64>(0) >= far.0);
}

#[tokio::test]
async fn an_open_store_notices_an_incompatible_schema() {
    let (store, url) = fresh_store().await;
    assert!(store.schema().await.unwrap().compatible);
    outside(&url).await.batch_execute("insert into turno.schema_version values (900, 900)").await.unwrap();
    assert!(store.schema().await.unwrap().required().is_err());
    let refused = PostgresStore::open(&url, None, Arc::new(Clock::system()), false).await.err();
    assert!(matches!(&refused, Some(crate::Error::Store(StoreError::Schema(SchemaFault::New { .. })))), "{refused:?}");
}
