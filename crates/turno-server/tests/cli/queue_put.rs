//! Queues created and changed from the command line, and how a pushed one is shown.

use serde_json::json;
use std::time::Duration;
use turno::core::destination::DeliveryFailure;
use turno::core::id::Lane;

use crate::cases;
use crate::shell::Shell;
use crate::world::World;

cases![
    BOTH: [
        fields_that_are_not_named_keep_their_values,
        concurrent_changes_of_different_fields_are_all_kept,
    ],
    SQLITE: [
        a_new_queue_needs_a_kind,
        a_change_of_kind_prints_what_it_resets,
        the_state_of_a_destination_is_shown,
    ],
];

/// No server listens there, and no call is made while the queue is empty.
const NOWHERE: &str = "http://127.0.0.1:1/in/{key}?token=s3cret";

async fn fields_that_are_not_named_keep_their_values(world: World) {
    let eva = Shell::signed_in(&world, "eva").await;
    let put = async |more: &[&str]| eva.run(&[&["queue", "put", "bot", "--json"], more].concat()).await.json();
    put(&["--kind", "lane", "--window", "7s", "--max-attempts", "3", "--push", NOWHERE]).await;
    let changed = put(&["--max-attempts", "4"]).await;
    assert_eq!((&changed["kind"], &changed["window_ms"]), (&json!("lane"), &json!(7_000)));
    assert_eq!(changed["max_attempts"], 4);
    assert_eq!(changed["push"]["url"], "http://127.0.0.1:1/in/{key}?***");
    let kept = world.turno.queue("bot").await.unwrap().row().await.unwrap().push.clone().unwrap();
    assert!(kept.contains("s3cret"), "the hidden part of the URL is kept: {kept}");
    // `max_hold` was derived from the lock timeout, so it follows it.
    let longer = put(&["--lock-timeout", "40s"]).await;
    assert_eq!((&longer["lock_timeout_ms"], &longer["max_hold_ms"]), (&json!(40_000), &json!(40_000)));
    let reset = put(&["--reset"]).await;
    assert_eq!(
        (&reset["kind"], &reset["window_ms"], &reset["max_attempts"]),
        (&json!("lane"), &json!(3_000), &json!(5))
    );
    assert!(reset["push"].is_object(), "{reset}");
    let unsaid = eva.run(&["queue", "put", "bot", "--kind", "inbox"]).await;
    assert!(unsaid.refused(2).contains("--reset"), "a change of kind needs `--reset`: {unsaid:?}");
    assert_eq!(put(&[]).await["kind"], "lane");
    let other = put(&["--kind", "inbox", "--reset"]).await;
    assert_eq!(
        (&other["batch_max"], &other["max_attempts"]),
        (&json!(1), &json!(20)),
        "the new kind has its own defaults"
    );
    assert_eq!(put(&["--no-push"]).await["push"], json!(null));
}

async fn concurrent_changes_of_different_fields_are_all_kept(world: World) {
    let eva = Shell::signed_in(&world, "eva").await;
    eva.run(&["queue", "put", "bot", "--kind", "lane"]).await.done();
    let put = async |name: &str, value: &str| eva.run(&["queue", "put", "bot", name, value]).await.done().to_owned();
    tokio::join!(
        put("--window", "7s"),
        put("--typing-extension", "8s"),
        put("--max-wait", "59s"),
        put("--batch-max", "9"),
        put("--max-attempts", "3"),
        put("--backoff", "11s"),
    );
    let policy = eva.run(&["queue", "get", "bot", "--json"]).await.json()["policy"].clone();
    let named = ["window_ms", "typing_extension_ms", "max_wait_ms", "batch_max", "max_attempts", "backoff_ms"];
    assert_eq!(named.map(|name| policy[name].as_i64().unwrap()), [7_000, 8_000, 59_000, 9, 3, 11_000]);
}

async fn a_new_queue_needs_a_kind(world: World) {
    let eva = Shell::signed_in(&world, "eva").await;
    let refused = eva.run(&["queue", "put", "bot", "--window", "5s"]).await;
    assert!(refused.refused(2).contains("--kind lane, inbox or sync"), "{refused:?}");
}

async fn a_change_of_kind_prints_what_it_resets(world: World) {
    let eva = Shell::signed_in(&world, "eva").await;
    assert_eq!(eva.run(&["queue", "put", "bot", "--kind", "lane"]).await.talk, "");
    assert_eq!(eva.run(&["queue", "put", "bot", "--kind", "lane", "--window", "5s"]).await.talk, "");
    let changed = eva.run(&["queue", "put", "bot", "--kind", "inbox", "--reset"]).await;
    assert!(changed.talk.starts_with("bot was lane and is inbox now; what was not named"), "{changed:?}");
}

async fn the_state_of_a_destination_is_shown(world: World) {
    let eva = Shell::signed_in(&world, "eva").await;
    eva.run(&["queue", "put", "mails", "--kind", "inbox", "--push", NOWHERE]).await.done();
    let well = eva.run(&["queue", "get", "mails"]).await;
    assert!(well.done().contains("POST http://127.0.0.1:1/in/{key}?*** (unsigned"), "{well:?}");
    assert!(well.out.contains("destination") && !well.out.contains("next probe"), "{well:?}");
    let queue = world.turno.queue("mails").await.unwrap();
    for key in [1, 2, 1] {
        let failure = DeliveryFailure {
            of: Lane(key),
            handed_at: world.turno.now(),
            error: "HTTP 503: lunch".to_owned(),
            unreached: false,
            round_began: None,
        };
        queue.destination_failed(&failure, Duration::from_secs(600)).await.unwrap();
    }
    let down = eva.run(&["queue", "get", "mails"]).await;
    assert!(down.done().contains("down since"), "{down:?}");
    assert!(down.out.contains("next probe") && down.out.contains("HTTP 503: lunch"), "{down:?}");
    assert!(eva.run(&["queue", "list"]).await.done().contains("destination down for"));
}
