//! Queues as the file and the API describe them.

use super::*;
use crate::config::tests::{refused, settings};
use crate::texts::terminal::render;
use serde_json::json;

fn fields(json: serde_json::Value) -> QueueFields {
    serde_json::from_value(json).unwrap()
}

#[test]
fn a_kind_alone_has_the_defaults_of_its_kind() {
    for kind in [Kind::Lane, Kind::Inbox, Kind::Sync] {
        assert_eq!(QueueFields::with_defaults(kind).policy(), Ok(Policy::for_kind(kind)));
    }
}

#[test]
fn every_field_reaches_the_policy() {
    let all = json!({
        "kind": "lane", "lock_timeout_ms": 1001, "max_hold_ms": 1002, "window_ms": 1003, "typing_extension_ms": 1004,
        "max_wait_ms": 1005, "batch_max": 6, "max_attempts": 7, "backoff_ms": 1008, "retention_s": 9,
        "on_exhausted": "hold",
        "push": {"url": "http://a/{key}", "method": "PATCH", "timeout_ms": 1000, "secret_env": "S",
            "concurrency": 11, "probe_ms": 1012},
    });
    let settings = fields(all.clone()).settings().unwrap();
    let policy = Policy {
        kind: Kind::Lane,
        lock_timeout: Span(1001),
        max_hold: Some(Span(1002)),
        window: Span(1003),
        typing_extension: Span(1004),
        max_wait: Span(1005),
        batch_max: 6,
        max_attempts: 7,
        backoff: Span(1008),
        retention: Span(9_000),
        on_exhausted: OnExhausted::Hold,
    };
    assert_eq!(settings.policy, policy);
    assert_eq!(settings.push.unwrap().display(), "PATCH http://a/{key} (1000 ms, signed with S)");
    assert_eq!(serde_json::to_value(fields(all.clone())).unwrap(), all, "the fields survive a round trip");
    let known: std::collections::BTreeSet<&str> = FIELDS.iter().map(|field| field.name).collect();
    let sent: std::collections::BTreeSet<&str> = all.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(known, sent, "the file and the API know the same fields");
}

#[test]
fn a_longer_lock_raises_the_default_maximum() {
    let policy = |json| fields(json).policy().unwrap().max_hold;
    assert_eq!(policy(json!({"kind": "lane", "lock_timeout_ms": 60_000})), Some(Span(60_000)));
    assert_eq!(policy(json!({"kind": "lane", "lock_timeout_ms": 500})), Some(Span(15_000)));
    assert_eq!(policy(json!({"kind": "lane", "lock_timeout_ms": 60_000, "max_hold_ms": 500})), Some(Span(500)));
    assert_eq!(policy(json!({"kind": "inbox", "lock_timeout_ms": 500})), None);
}

#[test]
fn a_maximum_wait_below_the_window_is_accepted() {
    let policy = |json| fields(json).policy().unwrap();
    let cut = policy(json!({"kind": "lane", "window_ms": 60_000, "max_wait_ms": 500}));
    assert_eq!((cut.window, cut.max_wait), (Span(60_000), Span(500)), "the maximum wait may be below the window");
    let long = policy(json!({"kind": "lane", "window_ms": 60_000}));
    assert_eq!(long.max_wait, Span(30_000), "the default maximum wait applies, too");
}

#[test]
fn each_field_outside_its_bounds_is_named_with_them() {
    let wrong = [
        ("lock_timeout_ms", json!({"kind": "inbox", "lock_timeout_ms": 99})),
        ("max_hold_ms", json!({"kind": "inbox", "max_hold_ms": 0})),
        ("window_ms", json!({"kind": "lane", "window_ms": -1})),
        ("batch_max", json!({"kind": "lane", "batch_max": 1001})),
        ("batch_max", json!({"kind": "lane", "batch_max": i64::MAX})),
        ("max_attempts", json!({"kind": "inbox", "max_attempts": 10_001})),
        ("backoff_ms", json!({"kind": "inbox", "backoff_ms": 0})),
        ("retention_s", json!({"kind": "inbox", "retention_s": i64::MAX})),
        ("push.url", json!({"kind": "inbox", "push": {"url": "x"}})),
    ];
    for (field, json) in wrong {
        let bad = fields(json).settings().unwrap_err();
        assert_eq!(bad.field, field, "{bad:?}");
    }
    let bad = fields(json!({"kind": "inbox", "lock_timeout_ms": 99})).policy().unwrap_err();
    assert_eq!(render(&bad.wrong), "must be between 100 and 31622400000");
}

#[test]
fn unknown_fields_are_refused_over_the_api_too() {
    for json in [json!({"kind": "lane", "lock_timeout": 5}), json!({"kind": "heap"}), json!({})] {
        assert!(serde_json::from_value::<QueueFields>(json.clone()).is_err(), "{json}");
    }
}

#[test]
fn the_api_is_described_with_the_words_that_it_accepts() {
    let schema = serde_json::to_value(<QueueFields as utoipa::PartialSchema>::schema()).unwrap();
    assert_eq!(schema["properties"]["kind"]["enum"], json!(["lane", "inbox", "sync"]));
    assert_eq!(schema["properties"]["on_exhausted"]["enum"], json!(["continue", "hold", null]));
    assert_eq!(schema["required"], json!(["kind"]));
    assert_eq!(schema["properties"].as_object().unwrap().len(), FIELDS.len());
}

#[test]
fn the_file_describes_queues_with_the_same_fields() {
    let file = "[queues.bot]\nkind = \"lane\"\nwindow_ms = 500\n[queues.\"out box\".push]\nurl = \"http://a/\"\n[queues.\"out box\"]\nkind = \"inbox\"";
    let queues = settings(file).queues;
    let bot = &queues[&QueueName::new("bot").unwrap()];
    assert_eq!(bot.policy, Policy { window: Span(500), ..Policy::for_kind(Kind::Lane) });
    assert_eq!(queues[&QueueName::new("out box").unwrap()].push.as_ref().unwrap().method, "POST");
}

#[test]
fn an_error_in_the_file_names_its_key_and_line() {
    let cases = [
        ("[queues.bot]\nwindow_ms = 5", "line 1: queues.bot.kind is missing"),
        ("[queues.bot]\nkind = \"lain\"", "line 2: queues.bot.kind must be"),
        (
            "[queues.bot]\nkind = \"inbox\"\nbatch_max = 0",
            "line 3: queues.bot.batch_max is 0, but must be between 1 and 1000",
        ),
        ("[queues.bot]\nkind = \"inbox\"\npush = { urll = \"x\" }", "unknown key `urll` in [queues.bot.push]; did you"),
        ("[queues.bot]\nkind = \"inbox\"\npush = { method = \"PUT\" }", "line 3: queues.bot.push has no url"),
        ("[queues.bot]\nkind = \"inbox\"\npush = \"http://a\"", "line 3: queues.bot.push is a text"),
        ("[queues.\"\"]\nkind = \"inbox\"", "queue name is empty"),
        ("[queues]\nbot = 1", "line 2: queues.bot is a whole number"),
    ];
    for (file, cause) in cases {
        let failure = refused(file);
        assert!(failure.cause().contains(cause), "{}", failure.cause());
    }
}
