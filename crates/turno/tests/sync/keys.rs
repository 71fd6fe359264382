//! A key is the text that the trigger writes: another notation of the same value is the same key, or is refused.

use super::*;
use turno::Error;
use turno::core::sync::SourceRefused;

/// Creates a world whose key column has the type `kind`.
async fn world_with_key(kind: &str) -> World {
    let source = Source { one_current_per_key: false, key: "clave".to_owned(), enqueue_when: None, ..siper() };
    let world = World::bare(source).await;
    let sql = format!(
        "create type siper.color as enum ('rojo', 'azul'); create domain siper.codigo as int check (value > 0);
         alter table siper.usuarios add column clave {kind}"
    );
    world.sql.batch_execute(&sql).await.unwrap();
    world.sync.install().await.unwrap();
    world
}

#[tokio::test]
async fn a_key_in_another_notation_is_converted_and_its_row_is_found() {
    let long = "10000000-0000-0000-0000-0000000000AB";
    for (kind, stored, written) in [
        ("integer", "100", vec!["100", "0100", " 100", "+100"]),
        ("bigint", "-7", vec!["-7", "-007"]),
        ("numeric", "2.50", vec!["2.5", "2.500", "25e-1"]),
        ("numeric(10,2)", "2.50", vec!["2.5", "2.50"]),
        ("uuid", "10000000-0000-0000-0000-0000000000ab", vec![long, "{100000000000000000000000000000ab}"]),
        ("char(5)", "a", vec!["a", "a    "]),
        ("varchar(5)", "a b", vec!["a b"]),
        ("siper.color", "rojo", vec!["rojo"]),
        ("siper.codigo", "5", vec!["05"]),
    ] {
        let world = world_with_key(kind).await;
        let add = "insert into siper.usuarios (clave, nombre, apellido, principal) values";
        world.run(&format!("{add} ('{stored}', 'a', 'b', true)")).await;
        world.drain().await;
        for text in written {
            assert_eq!(world.sync.resync(key(text)).await.unwrap().as_str(), stored, "{kind} {text:?}");
            let sent_texts = world.drain().await;
            assert!(
                sent_texts.len() == 1 && sent_texts[0].starts_with(&format!("ACTUALIZAR {stored} ")),
                "{kind} {text:?}: {sent_texts:?}"
            );
        }
    }
}

#[tokio::test]
async fn a_key_that_no_row_can_have_is_refused_with_the_cause() {
    for (kind, wrong, cause) in [
        ("integer", "x", "invalid input syntax for type integer"),
        ("integer", "99999999999", "out of range"),
        ("uuid", "7", "invalid input syntax for type uuid"),
        ("varchar(3)", "abcd", "too long for character varying(3)"),
        ("siper.color", "negro", "invalid input value for enum"),
        ("siper.codigo", "0", "violates check constraint"),
    ] {
        let world = world_with_key(kind).await;
        let refused = world.sync.resync(key(wrong)).await.unwrap_err();
        let Error::Source(refused @ SourceRefused::NotAKey { .. }) = &refused else { panic!("{kind}: {refused}") };
        assert!(refused.to_string().contains(cause), "{kind}: {refused}");
        assert_eq!(world.queue.counts().await.unwrap().pending, 0, "{kind}");
    }
}

/// If the table does not exist, the queue is fed through the API, and keys are passed unchanged.
#[tokio::test]
async fn without_the_table_keys_stay_unchanged() {
    let world = World::bare(Source { table: Relation::parse("siper.nadie"), ..siper() }).await;
    assert_eq!(world.sync.keys(vec![key("0100")]).await.unwrap(), [key("0100")]);
}

/// Also if the column changed after the installation: the database's own error would not help.
#[tokio::test]
async fn walk_and_install_refuse_an_unsuitable_key_column_with_the_same_text() {
    for kind in ["json", "boolean", "timestamptz", "double precision", "point"] {
        let source = Source { one_current_per_key: false, key: "clave".to_owned(), enqueue_when: None, ..siper() };
        let world = World::bare(source).await;
        world.sql.batch_execute(&format!("alter table siper.usuarios add column clave {kind}")).await.unwrap();
        let installed = world.sync.install().await.unwrap_err();
        assert!(matches!(&installed, Error::Source(SourceRefused::KeyType { .. })), "{kind}: {installed}");
        let checked = world.sync.check(false, None, |_| {}).await.unwrap_err();
        let resent = world.sync.resync_all(None, |_| {}).await.unwrap_err();
        assert_eq!((checked.to_string(), resent.to_string()), (installed.to_string(), installed.to_string()));
    }
}
