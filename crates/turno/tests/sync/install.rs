//! S8: install and remove are idempotent, transactional, and touch only what they name.

use super::*;
use turno::Error;
use turno::core::sync::SourceRefused;
use turno::store::PartState;
use turno::sync::{Installed, SyncStatus};

/// Reads everything that the catalogue has about tables, functions, triggers, indexes, views, rights and comments.
const CATALOGUE: &str = "
    select line from (
        select concat_ws(' ', 'class', c.oid, n.nspname, c.relname, c.relkind, c.relowner, c.relacl::text, c.reloptions::text,
                         obj_description(c.oid, 'pg_class'), case when c.relkind = 'v' then pg_get_viewdef(c.oid) end,
                         case when c.relkind in ('i', 'I') then pg_get_indexdef(c.oid) end) as line
        from pg_class c join pg_namespace n on n.oid = c.relnamespace
        where n.nspname not in ('pg_catalog', 'pg_toast', 'information_schema') and n.nspname not like 'pg_temp%'
        union all
        select concat_ws(' ', 'proc', p.oid, n.nspname, p.proname, p.prosrc, p.proowner, p.proacl::text, p.proconfig::text,
                         p.prosecdef, obj_description(p.oid, 'pg_proc'))
        from pg_proc p join pg_namespace n on n.oid = p.pronamespace
        where n.nspname not in ('pg_catalog', 'information_schema')
        union all
        select concat_ws(' ', 'trigger', t.oid, pg_get_triggerdef(t.oid), t.tgenabled) from pg_trigger t
        union all
        select concat_ws(' ', 'namespace', n.nspname, n.nspowner, n.nspacl::text) from pg_namespace n where n.nspname !~ '^pg_'
        union all
        select concat_ws(' ', 'attribute', a.attrelid, a.attname, a.attacl::text) from pg_attribute a
        where a.attrelid = 'siper.usuarios'::regclass
    ) s order by line";

async fn catalogue(world: &World) -> Vec<String> {
    world.sql.query(CATALOGUE, &[]).await.unwrap().iter().map(|row| row.get(0)).collect()
}

fn states(status: &SyncStatus) -> Vec<(&str, PartState)> {
    status.parts.iter().map(|part| (part.what, part.state)).collect()
}

#[tokio::test]
async fn installing_twice_changes_nothing_and_remove_restores_the_catalogue() {
    let world = World::bare(siper()).await;
    world
        .sql
        .batch_execute(
            "create function siper.mine() returns trigger language plpgsql as 'begin return null; end';
        create trigger zzz after update on siper.usuarios for each row execute function siper.mine();
        create view siper.otra as select idper from siper.usuarios; create index on siper.usuarios (idper)",
        )
        .await
        .unwrap();
    let before = catalogue(&world).await;
    assert!(world.sync.status().await.unwrap().is_absent());
    world.sync.install().await.unwrap();
    let installed = catalogue(&world).await;
    assert!(world.sync.status().await.unwrap().is_installed());
    world.sync.install().await.unwrap();
    assert_eq!(catalogue(&world).await, installed, "nothing is created again");
    assert!(before.iter().all(|line| installed.contains(line)), "nothing else is changed");
    assert_eq!(installed.len(), before.len() + 5, "function, two triggers, index, view");
    let removed = world.sync.remove().await.unwrap();
    let expected = [
        "index siper.turno_usuarios_one_current",
        "view siper.cola_sincronizacion_usuarios_modulo",
        "trigger tr_sincro_usuarios_modulo_global on siper.usuarios",
        "trigger tr_sincro_usuarios_modulo_global_truncate on siper.usuarios",
        "function turno.sync_usuarios",
    ];
    let mut removed: Vec<&str> = removed.iter().map(String::as_str).collect();
    removed.sort_by_key(|name| expected.iter().position(|other| other == name));
    assert_eq!(removed, expected);
    assert_eq!(catalogue(&world).await, before);
    assert!(world.sync.remove().await.unwrap().is_empty(), "a second remove finds nothing");
    world.run(&person(1)).await;
    assert_eq!(world.queue.counts().await.unwrap().pending, 0);
}

#[tokio::test]
async fn the_plan_is_exactly_the_sql_that_install_runs() {
    let (one, other) = (World::bare(siper()).await, World::bare(siper()).await);
    let plan = one.sync.plan().await.unwrap();
    assert!(one.sync.status().await.unwrap().is_absent(), "`plan` changes nothing");
    assert!(plan.contains("\nbegin;\n") && plan.ends_with("\ncommit;\n"), "{plan}");
    assert_eq!(plan, other.sync.plan().await.unwrap());
    one.sql.batch_execute(&plan).await.unwrap();
    assert!(one.sync.status().await.unwrap().is_installed(), "running the plan installs the source");
    other.sync.install().await.unwrap();
    // Object numbers and roles differ between two databases. Everything else is equal.
    let plain = |lines: Vec<String>| -> Vec<String> {
        let without_numbers =
            |line: &str| line.split(' ').filter(|word| word.parse::<u64>().is_err()).collect::<Vec<_>>().join(" ");
        let ours = lines.iter().filter(|line| line.contains("Turno sync source") || line.contains("tr_sincro"));
        let mut ours: Vec<String> = ours.map(|line| without_numbers(line)).collect();
        ours.sort();
        ours
    };
    assert_eq!(plain(catalogue(&one).await), plain(catalogue(&other).await));
}

#[tokio::test]
async fn a_failed_install_leaves_nothing_behind() {
    let world = World::bare(Source { view: Some(Relation::parse("no_such_schema.cola")), ..siper() }).await;
    let before = catalogue(&world).await;
    assert!(world.sync.install().await.is_err());
    assert_eq!(catalogue(&world).await, before);
    assert!(world.sync.status().await.unwrap().is_absent());
}

/// D4.
#[tokio::test]
async fn the_index_lets_no_idper_have_two_principals() {
    let world = World::new().await;
    world.run(&person(42)).await;
    assert_eq!(refused(world.app.batch_execute(&person(42)).await), "23505");
    world.run(&user("42", "PG-SHA256", false)).await;
    world.run(&user("null", "PG-SHA256", true)).await;
    world.run(&user("null", "PG-SHA256", true)).await;
    assert_eq!(refused(world.app.batch_execute("update siper.usuarios set principal = true").await), "23505");
}

#[tokio::test]
async fn install_lists_duplicate_principals_before_the_index_fails() {
    let world = World::bare(siper()).await;
    for id in [7, 8, 8, 9, 9, 9] {
        world.run(&person(id)).await;
    }
    let Err(Error::Source(SourceRefused::Duplicates { found, count, .. })) = world.sync.install().await else {
        panic!("the install is refused");
    };
    assert_eq!((found, count), (vec![("9".to_owned(), 3), ("8".to_owned(), 2)], 2));
    assert!(world.sync.status().await.unwrap().is_absent());
}

#[tokio::test]
async fn status_shows_whether_the_installed_trigger_is_the_configured_one() {
    let world = World::new().await;
    let other = Source { watch: vec!["nombre".to_owned()], ..siper() };
    let status = world.turno.sync(other.clone()).status().await.unwrap();
    assert_eq!(states(&status)[0], ("function", PartState::Differs));
    assert!(!status.is_installed() && !status.is_absent());
    world.turno.sync(other.clone()).install().await.unwrap();
    assert!(world.turno.sync(other).status().await.unwrap().is_installed());
    world.sync.install().await.unwrap();
    for (change, part, expected) in [
        ("alter table siper.usuarios disable trigger tr_sincro_usuarios_modulo_global", 1, PartState::Disabled),
        ("drop trigger tr_sincro_usuarios_modulo_global_truncate on siper.usuarios", 2, PartState::Missing),
        ("alter function turno.sync_usuarios() reset search_path", 0, PartState::Differs),
        ("alter function turno.sync_usuarios() security invoker", 0, PartState::Differs),
        ("grant execute on function turno.sync_usuarios() to public", 0, PartState::Differs),
        (
            "create or replace function turno.sync_usuarios() returns trigger language plpgsql security definer as 'begin return null; end'",
            0,
            PartState::Differs,
        ),
        ("drop index siper.turno_usuarios_one_current", 3, PartState::Missing),
        ("drop view siper.cola_sincronizacion_usuarios_modulo", 4, PartState::Missing),
    ] {
        world.sql.batch_execute(change).await.unwrap();
        let status = world.sync.status().await.unwrap();
        assert_eq!(status.parts[part].state, expected, "{change}: {:?}", status.parts);
        if expected == PartState::Disabled {
            world.sql.batch_execute("alter table siper.usuarios enable trigger all").await.unwrap();
        }
        world.sync.install().await.unwrap();
        assert!(world.sync.status().await.unwrap().is_installed(), "{change}");
    }
}

#[tokio::test]
async fn parts_of_an_old_configuration_are_shown_and_removed_by_the_next_install() {
    let world = World::new().await;
    world.sql.batch_execute("create table siper.nuevos (like siper.usuarios including all)").await.unwrap();
    let moved = Source {
        table: Relation::parse("siper.nuevos"),
        trigger: "otro".to_owned(),
        view: Some(Relation::parse("siper.otra_cola")),
        one_current_per_key: false,
        ..siper()
    };
    let sync = world.turno.sync(moved);
    let stale = |status: &SyncStatus| status.parts.iter().filter(|part| part.state == PartState::Stale).count();
    assert_eq!(stale(&sync.status().await.unwrap()), 4, "two triggers, the index, the view");
    sync.install().await.unwrap();
    assert!(sync.status().await.unwrap().is_installed());
    world.run("insert into siper.usuarios (nombre, apellido, idper, principal) values ('a', 'b', 1, true)").await;
    assert_eq!(world.number("select count(*) from pg_trigger where tgrelid = 'siper.usuarios'::regclass").await, 0);
    assert_eq!(sync.remove().await.unwrap().len(), 4);
    let copied = "select count(*) from pg_index where indrelid = 'siper.nuevos'::regclass";
    assert_eq!(world.number(copied).await, 2, "a copied index with a copied comment does not belong to the source");
}

#[tokio::test]
async fn foreign_objects_are_neither_replaced_nor_removed() {
    for (theirs, what) in [
        ("create function siper.f() returns trigger language plpgsql as 'begin return null; end';
          create trigger tr_sincro_usuarios_modulo_global after insert on siper.usuarios for each row execute function siper.f()", "trigger"),
        ("create function turno.sync_usuarios() returns trigger language plpgsql as 'begin return null; end'", "function"),
        ("create table siper.cola_sincronizacion_usuarios_modulo (id int)", "table"),
        ("create view siper.cola_sincronizacion_usuarios_modulo as select 1 as id", "view"),
        ("create index turno_usuarios_one_current on siper.usuarios (mail)", "index"),
    ] {
        let world = World::bare(siper()).await;
        world.sql.batch_execute(theirs).await.unwrap();
        let before = catalogue(&world).await;
        let refused = match world.sync.install().await {
            Err(Error::Source(refused @ SourceRefused::Taken { what: taken, .. })) if taken == what => refused,
            other => panic!("{theirs}: {other:?}"),
        };
        let status = world.sync.status().await.unwrap();
        assert_eq!(Installed::from_status(Some(&status), true), Installed::Blocked, "{theirs}: installing does not help");
        assert_eq!(status.taken(), Some(refused), "{theirs}: the status names the same object as `install`");
        assert!(world.sync.remove().await.unwrap().is_empty(), "{theirs}");
        assert_eq!(catalogue(&world).await, before, "{theirs}");
    }
}

#[tokio::test]
async fn two_sources_on_one_table_are_independent() {
    let world = World::new().await;
    let second = Source {
        name: "usuarios\" 2".to_owned(),
        queue: QueueName::new("otra").unwrap(),
        trigger: "segundo".to_owned(),
        view: None,
        key: "mail".to_owned(),
        one_current_per_key: false,
        ..siper()
    };
    let queue = world.turno.put_queue("otra", policy()).await.unwrap();
    let sync = world.turno.sync(second);
    sync.install().await.unwrap();
    world.run(&person(42)).await;
    assert_eq!(queue.counts().await.unwrap().pending, 1);
    assert_eq!(sync.remove().await.unwrap().len(), 3);
    assert!(world.sync.status().await.unwrap().is_installed(), "a source with a similar name is another source");
    world.run(&person(43)).await;
    assert_eq!((queue.counts().await.unwrap().pending, world.queue.counts().await.unwrap().pending), (1, 2));
}

#[tokio::test]
async fn each_invalid_source_is_refused_with_the_next_step() {
    let world = World::bare(siper()).await;
    world
        .sql
        .batch_execute(
            "create view siper.vista as select idper from siper.usuarios;
        alter table siper.usuarios add column cuando timestamptz",
        )
        .await
        .unwrap();
    let texts = |text: &str| vec![text.to_owned()];
    for (source, text) in [
        (Source { table: Relation::parse("siper.nadie"), ..siper() }, "there is no table siper.nadie"),
        (Source { table: Relation::parse("usuarios"), ..siper() }, "there is no table usuarios"),
        (Source { table: Relation::parse("siper.vista"), ..siper() }, "siper.vista is not a table"),
        (Source { watch: texts("Nombre"), ..siper() }, "table siper.usuarios has no column Nombre"),
        (Source { payload: texts("clave"), ..siper() }, "table siper.usuarios has no column clave"),
        (Source { key: "cuando".to_owned(), ..siper() }, "column cuando is of type timestamptz, which cannot be a key"),
        (
            Source { enqueue_when: Some("idper is nt null".to_owned()), ..siper() },
            "the conditions cannot be used: syntax error",
        ),
        (
            Source { current_when: Some("principl".to_owned()), ..siper() },
            "the conditions cannot be used: column \"principl\"",
        ),
        (
            Source { current_when: Some("true); drop table siper.usuarios; select (true".to_owned()), ..siper() },
            "the conditions cannot be used: cannot insert multiple commands",
        ),
        (Source { queue: QueueName::new("ninguna").unwrap(), ..siper() }, "there is no queue ninguna of kind sync"),
        (Source { trigger: "x".repeat(64), ..siper() }, "has more than 63 bytes"),
    ] {
        match world.turno.sync(source).install().await {
            Err(Error::Source(refused)) => {
                assert!(refused.to_string().contains(text), "{refused}");
                assert!(!refused.next().is_empty());
            }
            other => panic!("{text}: {other:?}"),
        }
    }
    assert!(world.sync.status().await.unwrap().is_absent());
    assert_eq!(world.number("select count(*) from siper.usuarios").await, 0, "the table still exists");
}

#[tokio::test]
async fn concurrent_installs_install_once() {
    let world = World::bare(siper()).await;
    let installs = (0..4).map(|_| {
        let (url, source) = (world.url.clone(), siper());
        tokio::spawn(async move { World::engine(&url).await.sync(source).install().await })
    });
    for install in installs.collect::<Vec<_>>() {
        install.await.unwrap().unwrap();
    }
    assert!(world.sync.status().await.unwrap().is_installed());
}
