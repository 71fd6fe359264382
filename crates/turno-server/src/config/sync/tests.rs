//! Sources as the file describes them.

use super::*;
use crate::config::Origin;
use crate::config::tests::{refused, settings};
use std::time::Duration;

const PLAIN: &str =
    "[[sync.source]]\nname = \"people\"\nqueue = \"q\"\ntable = \"people\"\nkey = \"id\"\nwatch = [\"a\"]\n";

#[test]
fn the_preset_is_the_example_of_the_seed() {
    let settings = settings("[[sync.source]]\npreset = \"siper\"");
    let [source] = settings.sync.as_slice() else { panic!("one source") };
    assert_eq!(source.source, Source::siper());
    assert_eq!(source.deliver.as_ref().unwrap().secret_env.as_deref(), Some("MODULE_SECRET"));
    let queue = &settings.queues[&source.queue];
    assert_eq!((queue.policy.kind, queue.policy.max_attempts), (Kind::Sync, 5));
    let origin = |key: &str| settings.explain().iter().find(|row| row.key == key).unwrap().origin.clone();
    assert_eq!(origin("sync.usuarios.table"), Origin::Preset("siper"));
    assert_eq!(origin("queues.usuarios_modulo.max_attempts"), Origin::Preset("siper"));
}

#[test]
fn a_key_given_beside_the_preset_replaces_the_presets() {
    let file = "[[sync.source]]\npreset = \"siper\"\nmax_attempts = 9\nwatch = [\"nombre\"]\ndeliver = { url = \"http://127.0.0.1:1/{key}\" }";
    let settings = settings(file);
    let source = &settings.sync[0];
    assert_eq!(source.watch, ["nombre"]);
    assert_eq!(settings.queues[&source.queue].policy.max_attempts, 9);
    let deliver = source.deliver.as_ref().unwrap();
    assert_eq!((deliver.method, deliver.secret_env.as_deref()), ("PUT", None), "replaced as a whole");
    assert_eq!(source.key, "idper");
}

#[test]
fn a_source_needs_only_name_queue_table_key_and_watch() {
    let settings = settings(PLAIN);
    let source = &settings.sync[0];
    assert_eq!(source.table, Relation { schema: None, name: "people".into() });
    assert_eq!((source.trigger.as_str(), source.view.as_ref()), ("turno_sync_people", None));
    assert_eq!(source.payload, ["id", "a"]);
    assert_eq!((source.update.as_str(), source.deactivate.as_str()), ("update", "deactivate"));
    assert_eq!((source.probe, source.deliver.as_ref()), (Span(30_000), None));
    assert_eq!(settings.queues[&source.queue].policy, Policy::for_kind(Kind::Sync));
}

#[test]
fn the_queue_of_a_source_may_not_contradict_the_source() {
    let described = settings(&format!("{PLAIN}backoff_ms = 7\n[queues.q]\nkind = \"sync\"\nlock_timeout_ms = 5000"));
    let policy = &described.queues[&described.sync[0].queue].policy;
    assert_eq!((policy.lock_timeout, policy.backoff), (Span(5_000), Span(7)));
    let lane = refused(&format!("{PLAIN}[queues.q]\nkind = \"lane\""));
    assert!(lane.cause().contains("line 8: queues.q.kind must be \"sync\""), "{}", lane.cause());
    let twice = refused(&format!("{PLAIN}[queues.q]\nkind = \"sync\"\nmax_attempts = 3"));
    assert!(twice.cause().contains("belongs to the source people"), "{}", twice.cause());
}

#[test]
fn an_invalid_source_is_refused_with_its_key() {
    let cases = [
        ("[[sync.source]]\nname = \"a\"", "line 1: sync.a.key is missing"),
        ("[[sync.source]]\npreset = \"sipre\"", "line 2: sync.source.preset must be one of \"siper\""),
        ("[[sync.source]]\npreset = \"siper\"\nkey = \"a.b\"", "line 3: sync.source.key has a dot"),
        ("[[sync.source]]\npreset = \"siper\"\nwatch = []", "line 3: sync.usuarios.watch is an empty list"),
        ("[[sync.source]]\npreset = \"siper\"\npayload = [\"a\", \"a\"]", "payload names a twice"),
        ("[[sync.source]]\npreset = \"siper\"\nwatch = [1]", "watch is a list with a whole number"),
        ("[[sync.source]]\npreset = \"siper\"\nmax_attempts = 10001", "must be between 1 and 10000"),
        ("[[sync.source]]\npreset = \"siper\"\nprobe_ms = 1", "must be between 100 and 3600000"),
        ("[[sync.source]]\npreset = \"siper\"\nactions = { update = \"U\" }", "must name both"),
        ("[[sync.source]]\npreset = \"siper\"\nactions = { update = \"U\", deactivate = \"U\" }", "the same name"),
        ("[[sync.source]]\npreset = \"siper\"\ndeliver = { method = \"PUT\" }", "deliver has no url"),
        (
            "[[sync.source]]\npreset = \"siper\"\ndeliver = { url = \"x\" }",
            "sync.source.deliver.url is not an HTTP URL",
        ),
        ("[[sync.source]]\npreset = \"siper\"\ndeliver = { url = \"http://a/\", method = \"GET\" }", "method must be"),
        (
            "[[sync.source]]\npreset = \"siper\"\ntabel = \"x\"",
            "unknown key `tabel` in [sync.source]; did you mean `table`?",
        ),
        ("[sync.source]\npreset = \"siper\"", "line 1: sync.source is a table"),
        ("[sync]\nsources = []", "unknown key `sources` in [sync]; did you mean `source`?"),
        ("sync = 5", "line 1: sync is a whole number"),
        ("[sync]\nsource = [5]", "sync.source is a whole number"),
    ];
    for (file, cause) in cases {
        let failure = refused(file);
        assert!(failure.cause().contains(cause), "{}", failure.cause());
    }
    let alone = refused(&format!("{PLAIN}one_current_per_key = true"));
    assert!(alone.cause().contains("line 7: sync.people.one_current_per_key needs current_when"), "{}", alone.cause());
}

#[test]
fn two_sources_share_neither_name_nor_queue_nor_trigger() {
    let second = "\n[[sync.source]]\npreset = \"siper\"\n";
    let pairs = [
        ("", "sync.usuarios.name is also that of the source usuarios"),
        ("name = \"b\"\n", "queue is also that of"),
        ("name = \"b\"\nqueue = \"b\"\n", "view is also that of"),
        ("name = \"b\"\nqueue = \"b\"\nview = \"b\"\n", "trigger is also that of"),
    ];
    for (more, cause) in pairs {
        let failure = refused(&format!("[[sync.source]]\npreset = \"siper\"\n{second}{more}"));
        assert!(failure.cause().contains(cause), "{}", failure.cause());
    }
    let apart = format!("{PLAIN}{second}");
    let settings = settings(&apart);
    assert_eq!(settings.sync.len(), 2);
    assert_eq!(settings.sync[1].deliver.as_ref().unwrap().timeout, Duration::from_secs(10));
}
