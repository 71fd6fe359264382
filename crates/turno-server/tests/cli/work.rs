//! Queues, tasks, the audit and live events from the command line.

use serde_json::json;

use crate::cases;
use crate::shell::Shell;
use crate::world::{Running, World};

cases![
    BOTH: [
        an_item_goes_through_a_queue,
        exhausted_items_are_counted_edited_and_retried,
        a_task_is_created_claimed_and_finalized,
        a_forced_release_is_audited_with_its_reason,
    ],
    SQLITE: [
        an_item_outside_the_delivery_is_refused_and_settles_nothing,
        a_returned_item_has_no_holder,
        an_empty_stdin_is_refused,
        many_items_are_read_from_stdin,
        a_settlement_of_a_foreign_delivery_is_refused,
        a_queue_from_the_configuration_cannot_be_changed_on_the_command_line,
        a_ticket_is_kept_and_given_up,
        events_are_followed_from_a_position,
        why_distinguishes_an_unknown_item_from_a_free_lease,
        why_of_a_queue_names_what_blocks_it,
        output_and_server_messages_are_in_spanish_in_a_spanish_locale,
        an_invalid_item_on_stdin_is_named_by_its_line,
    ],
];

async fn an_item_goes_through_a_queue(world: World) {
    let (eva, ana) = (Shell::signed_in(&world, "eva").await, Shell::signed_in(&world, "ana").await);
    let policy = eva.run(&["queue", "put", "bot", "--kind", "lane", "--window", "0s", "--json"]).await.json();
    assert_eq!((&policy["kind"], &policy["window_ms"]), (&json!("lane"), &json!(0)));
    let payload = r#"{"b":1.0,"a":"ñ"}"#;
    ana.run(&["queue", "enqueue", "bot", payload, "--key", "k1", "--id", "m1"]).await.done();
    let again = ana.run(&["queue", "enqueue", "bot", payload, "--key", "k1", "--id", "m1"]).await;
    assert!(again.done().contains("duplicate"), "{again:?}");
    let claimed = ana.run(&["queue", "claim", "bot", "--instance", "w1", "--json"]).await;
    assert!(claimed.out.contains(payload), "the payload is unchanged: {claimed:?}");
    let delivery = &claimed.json()["deliveries"][0];
    assert!(ana.run(&["queue", "why", "bot", "m1"]).await.done().contains("w1"));
    assert!(ana.run(&["why", "bot", "key", "k1"]).await.done().contains("w1"));
    let (name, fence) = (delivery["delivery"].as_str().unwrap(), delivery["fence"].to_string());
    let failed = ana.run(&["queue", "fail", "bot", name, "--fence", &fence, "--error", "no route", "--final"]).await;
    assert_eq!(failed.code, Some(0), "{failed:?}");
    let listed = ana.run(&["queue", "items", "bot", "--state", "exhausted"]).await;
    assert!(listed.done().contains("m1") && listed.out.contains("no route"), "{listed:?}");
    eva.run(&["queue", "retry", "bot", "m1"]).await.done();
    let claimed = ana.run(&["queue", "claim", "bot", "--instance", "w2", "--json"]).await.json();
    let delivery = &claimed["deliveries"][0];
    let (name, fence) = (delivery["delivery"].as_str().unwrap(), delivery["fence"].to_string());
    assert!(ana.run(&["queue", "ack", "bot", name, "--fence", &fence]).await.talk.contains("acked"));
    assert!(ana.run(&["queue", "item", "bot", "m1"]).await.done().contains("processed"));
    assert!(ana.run(&["queue", "list"]).await.done().contains("bot"));
    assert!(ana.run(&["queue", "pause", "bot"]).await.refused(1).contains("queues.manage"));
}

async fn exhausted_items_are_counted_edited_and_retried(world: World) {
    let eva = Shell::signed_in(&world, "eva").await;
    eva.run(&["queue", "put", "mails", "--kind", "inbox"]).await.done();
    for id in ["m1", "m2", "m3"] {
        eva.run(&["queue", "enqueue", "mails", "1", "--id", id]).await.done();
        let claimed = eva.run(&["queue", "claim", "mails", "--instance", "w1", "--item", id, "--json"]).await.json();
        let (name, fence) = (claimed["delivery"].as_str().unwrap(), claimed["fence"].to_string());
        let error = if id == "m1" { "bad address" } else { "no route" };
        eva.run(&["queue", "fail", "mails", name, "--fence", &fence, "--error", error, "--final"]).await;
    }
    let matching = ["queue", "retry-exhausted", "mails", "--error", "no route"];
    let dry = eva.run(&[&matching[..], &["--dry-run"]].concat()).await;
    assert!(dry.talk.contains("2 exhausted items of mails match"), "{dry:?}");
    let corrected = eva.run(&["queue", "retry", "mails", "m1", "--payload", "{\"to\":\"ana\"}"]).await;
    assert!(corrected.talk.contains("new payload"), "{corrected:?}");
    let shown = eva.run(&["queue", "item", "mails", "m1"]).await;
    assert!(shown.done().contains("{\"to\":\"ana\"}") && shown.out.contains("edited"), "{shown:?}");
    assert!(shown.out.contains("bad address") && shown.out.contains("w1, by eva"), "{shown:?}");
    let retried = eva.run(&matching).await;
    assert!(retried.talk.contains("2 items of mails will be retried"), "{retried:?}");
    assert!(eva.run(&["queue", "purge", "mails"]).await.talk.contains("0 finished items"));
    assert!(eva.run(&["queue", "purge", "mails", "--dry-run"]).await.talk.contains("nothing was changed"));
}

async fn many_items_are_read_from_stdin(world: World) {
    let eva = Shell::signed_in(&world, "eva").await;
    eva.run(&["queue", "put", "mails", "--kind", "inbox"]).await.done();
    let lines: String = (0..1_001).map(|n| format!("{{\"id\":\"m{n}\",\"payload\":{n}}}\n")).collect();
    let sent = eva.feed(&["queue", "enqueue", "mails", "--items"], &lines).await;
    assert_eq!(sent.done().lines().filter(|line| line.contains("queued")).count(), 1_001);
    let wrong = eva.feed(&["queue", "enqueue", "mails", "--items"], "{\"payload\":1}\nnonsense\n").await;
    assert!(wrong.refused(2).contains("line 2"), "{wrong:?}");
}

async fn a_settlement_of_a_foreign_delivery_is_refused(world: World) {
    let eva = Shell::signed_in(&world, "eva").await;
    eva.run(&["queue", "put", "mails", "--kind", "inbox"]).await.done();
    eva.run(&["queue", "enqueue", "mails", "1", "--id", "m1"]).await.done();
    let claimed = eva.run(&["queue", "claim", "mails", "--instance", "w1", "--item", "m1", "--json"]).await.json();
    let (name, fence) = (claimed["delivery"].as_str().unwrap(), claimed["fence"].as_i64().unwrap() + 1);
    let late = eva.run(&["queue", "ack", "mails", name, "--fence", &fence.to_string()]).await;
    assert!(late.refused(1).contains("has expired"), "{late:?}");
}

async fn an_item_outside_the_delivery_is_refused_and_settles_nothing(world: World) {
    let eva = Shell::signed_in(&world, "eva").await;
    eva.run(&["queue", "put", "mails", "--kind", "inbox"]).await.done();
    eva.run(&["queue", "enqueue", "mails", "1", "--id", "m1"]).await.done();
    let claimed = eva.run(&["queue", "claim", "mails", "--instance", "w1", "--json"]).await.json();
    let delivery = &claimed["deliveries"][0];
    let (name, fence) = (delivery["delivery"].as_str().unwrap(), delivery["fence"].to_string());
    let refused = eva.run(&["queue", "ack", "mails", name, "--fence", &fence, "--through", "m2"]).await;
    assert!(refused.refused(1).contains("not in this delivery"), "{refused:?}");
    assert!(eva.run(&["queue", "item", "mails", "m1"]).await.done().contains("in_process"));
}

async fn a_returned_item_has_no_holder(world: World) {
    let eva = Shell::signed_in(&world, "eva").await;
    eva.run(&["queue", "put", "mails", "--kind", "inbox"]).await.done();
    eva.run(&["queue", "enqueue", "mails", "1", "--id", "m1"]).await.done();
    let claimed = eva.run(&["queue", "claim", "mails", "--instance", "w1", "--json"]).await.json();
    assert!(eva.run(&["queue", "items", "mails"]).await.done().contains("w1"));
    let delivery = &claimed["deliveries"][0];
    let (name, fence) = (delivery["delivery"].as_str().unwrap(), delivery["fence"].to_string());
    assert!(eva.run(&["queue", "return", "mails", name, "--fence", &fence]).await.talk.contains("returned"));
    let listed = eva.run(&["queue", "items", "mails"]).await;
    assert!(listed.done().contains("pending") && !listed.out.contains("w1"), "{listed:?}");
    let item = eva.run(&["queue", "item", "mails", "m1"]).await;
    assert!(
        item.done().contains("returned") && item.out.contains("w1"),
        "the timeline still names the worker: {item:?}"
    );
}

async fn an_empty_stdin_is_refused(world: World) {
    let eva = Shell::signed_in(&world, "eva").await;
    eva.run(&["queue", "put", "mails", "--kind", "inbox"]).await.done();
    let refused = eva.run(&["queue", "enqueue", "mails", "--items"]).await;
    assert!(refused.refused(2).contains("stdin is empty"), "{refused:?}");
}

async fn a_queue_from_the_configuration_cannot_be_changed_on_the_command_line(world: World) {
    let file = format!("{}.toml", world.url.trim_start_matches("sqlite:"));
    std::fs::write(&file, "[queues.bot]\nkind = \"lane\"\nwindow_ms = 1234\n").unwrap();
    let server = Running::start(&world.url, &["--config", &file]);
    let eva = Shell::signed_in(&world, "eva").await.with("TURNO_URL", &server.base);
    assert_eq!(eva.run(&["queue", "get", "bot", "--json"]).await.json()["policy"]["window_ms"], 1_234);
    let refused = eva.run(&["queue", "put", "bot", "--kind", "lane"]).await;
    assert!(refused.refused(1).contains("configuration file"), "{refused:?}");
}

async fn a_task_is_created_claimed_and_finalized(world: World) {
    let (ana, leo) = (Shell::signed_in(&world, "ana").await, Shell::signed_in(&world, "leo").await);
    let words =
        ["task", "create", "--title", "Recepción", "--quantity", "TORN=40", "--serials", "ROUTER=A1,A2", "--ready"];
    assert!(ana.run(&words).await.done().starts_with("task 1\n"));
    let claimed = ana.run(&["task", "claim", "1", "--json"]).await.json();
    let fence = claimed["fence"].as_i64().or(claimed["lock"]["fence"].as_i64()).unwrap().to_string();
    assert!(leo.run(&["task", "claim", "1"]).await.refused(1).contains("Ana Pérez"));
    let why = leo.run(&["why", "task:1"]).await;
    assert!(why.done().starts_with("Task 1 is processing. task:1 is held by Ana Pérez (ana) for "), "{why:?}");
    ana.run(&["task", "validate", "1", "--line", "1", "--fence", &fence]).await.done();
    let done = ana.run(&["task", "finalize", "1", "--fence", &fence]).await;
    assert_eq!(done.done().matches("applied").count(), 2, "{done:?}");
    assert!(done.talk.contains("completed"), "{done:?}");
    // A serial number in stock cannot come in again, and the exit code must tell a script.
    ana.run(&["task", "create", "--title", "Otra", "--serials", "ROUTER=A1", "--ready"]).await.done();
    let claimed = ana.run(&["task", "claim", "2", "--json"]).await.json();
    let fence = claimed["fence"].as_i64().or(claimed["lock"]["fence"].as_i64()).unwrap().to_string();
    let partial = ana.run(&["task", "finalize", "2", "--fence", &fence]).await;
    assert!(partial.refused(1).contains("1 of 1 lines were not applied"), "{partial:?}");
    assert!(ana.run(&["task", "history", "1"]).await.done().contains("finalized"));
    assert!(ana.run(&["task", "list", "--status", "completed"]).await.done().contains("Recepción"));
}

async fn a_forced_release_is_audited_with_its_reason(world: World) {
    let (eva, ana) = (Shell::signed_in(&world, "eva").await, Shell::signed_in(&world, "ana").await);
    ana.run(&["lease", "claim", "caja:3"]).await.done();
    assert!(
        ana.run(&["lease", "force-release", "caja:3", "--reason", "x"]).await.refused(1).contains("locks.override")
    );
    eva.run(&["lease", "force-release", "caja:3", "--reason", "Ana is on holiday"]).await.done();
    let listed = eva.run(&["audit", "list", "--action", "lock_force_release"]).await;
    assert!(listed.done().contains("eva") && listed.out.contains("Ana is on holiday"), "{listed:?}");
    let history = ana.run(&["lease", "history", "caja:3"]).await;
    assert!(history.done().contains("Ana Pérez") && history.out.contains("forced"), "{history:?}");
    assert!(ana.run(&["audit", "list"]).await.refused(1).contains("audit.read"));
}

async fn a_ticket_is_kept_and_given_up(world: World) {
    let (ana, leo) = (Shell::signed_in(&world, "ana").await, Shell::signed_in(&world, "leo").await);
    let held = ana.run(&["lease", "claim", "caja:3", "--json"]).await.json();
    assert!(leo.run(&["lease", "turn", "caja:3"]).await.done().starts_with("number 1 in the waiting line"));
    leo.run(&["lease", "request-release", "caja:3", "--message", "por favor"]).await.done();
    let asked = ana.run(&["lease", "get", "caja:3"]).await;
    assert!(asked.done().contains("por favor"), "{asked:?}");
    leo.run(&["lease", "turn", "caja:3", "--leave"]).await.done();
    let fence = held["fence"].to_string();
    assert!(ana.run(&["lease", "release", "caja:3", "--fence", &fence]).await.done().contains("free"));
    assert_eq!(leo.run(&["lease", "list", "--json"]).await.json()["items"], json!([]));
}

async fn events_are_followed_from_a_position(world: World) {
    let ana = Shell::signed_in(&world, "ana").await;
    ana.run(&["lease", "claim", "caja:3"]).await.done();
    let words = ["events", "--topics", "leases", "--after", "0", "--count", "1"];
    assert!(ana.run(&words).await.done().contains("lease.claimed  caja:3"));
    let machine = ana.run(&[&words[..], &["--json"]].concat()).await.json();
    assert_eq!((&machine["topic"], &machine["resource"]), (&json!("leases"), &json!("caja:3")));
    let wrong = ana.run(&["events", "--topics", "weather"]).await;
    assert!(wrong.refused(2).contains("leases, tasks, queues"), "{wrong:?}");
}

async fn why_distinguishes_an_unknown_item_from_a_free_lease(world: World) {
    let eva = Shell::signed_in(&world, "eva").await;
    let typo = eva.run(&["why", "mails/m1"]).await;
    let text = "there is no queue mails, and no lease mails/m1 was ever held";
    assert!(typo.refused(1).contains(text), "{typo:?}");
    // A lease name may contain a slash. Once it was held, it is a lease.
    let fence = eva.run(&["lease", "claim", "mails/m1", "--json"]).await.json()["fence"].to_string();
    assert!(eva.run(&["why", "mails/m1"]).await.done().starts_with("mails/m1 is held by you "));
    eva.run(&["lease", "release", "mails/m1", "--fence", &fence]).await.done();
    assert_eq!(eva.run(&["why", "mails/m1"]).await.done(), "mails/m1 is free.");
    eva.run(&["queue", "put", "mails", "--kind", "inbox"]).await.done();
    assert!(eva.run(&["why", "mails/m1"]).await.refused(1).contains("m1 was not found"));
}

async fn why_of_a_queue_names_what_blocks_it(world: World) {
    let eva = Shell::signed_in(&world, "eva").await;
    assert_eq!(eva.run(&["why", "mails"]).await.done(), "mails is free.");
    eva.run(&["queue", "put", "mails", "--kind", "inbox"]).await.done();
    assert_eq!(eva.run(&["why", "mails"]).await.done(), "mails has no unfinished items.");
    eva.run(&["queue", "enqueue", "mails", "1"]).await.done();
    let waiting = eva.run(&["why", "mails"]).await;
    assert!(waiting.done().starts_with("mails is ready, ") && waiting.out.contains("; 1 waiting; "), "{waiting:?}");
    eva.run(&["queue", "pause", "mails"]).await.done();
    assert!(eva.run(&["why", "mails"]).await.done().starts_with("mails is paused: "));
    eva.run(&["lease", "claim", "mails"]).await.done();
    let both = eva.run(&["why", "mails"]).await;
    assert!(both.done().contains("mails is held by you") && both.out.contains("mails is paused"), "{both:?}");
}

async fn output_and_server_messages_are_in_spanish_in_a_spanish_locale(world: World) {
    let eva = Shell::signed_in(&world, "eva").await.with("TURNO_LANG", "es");
    let none = eva.run(&["queue", "get", "none"]).await;
    assert!(
        none.talk.starts_with("error: No encontrado: No se encontró la cola none\n  qué hacer: revise el nombre"),
        "{none:?}"
    );
    eva.run(&["queue", "put", "mails", "--kind", "inbox"]).await.done();
    eva.run(&["queue", "enqueue", "mails", "1", "--id", "m1"]).await.done();
    let paused = eva.run(&["queue", "pause", "mails"]).await;
    assert_eq!(paused.talk.trim_end(), "mails está en pausa: no se entrega nada hasta que se reanude");
    assert_eq!(eva.run(&["why", "mails/m1"]).await.done(), "La cola está en pausa. Reanúdela para continuar");
    assert!(eva.run(&["lease", "claim", "caja:3"]).await.done().contains("  estado          bloqueado, suyo"));
    let why = eva.run(&["why", "caja:3"]).await;
    assert!(why.done().starts_with("caja:3 lo tiene usted desde hace "), "{why:?}");
    // JSON output is not translated.
    let machine = eva.run(&["why", "mails/m1", "--json"]).await;
    let english = Shell::signed_in(&world, "eva").await.run(&["why", "mails/m1", "--json"]).await;
    assert_eq!(machine.json(), english.json());
}

async fn an_invalid_item_on_stdin_is_named_by_its_line(world: World) {
    let eva = Shell::signed_in(&world, "eva").await;
    eva.run(&["queue", "put", "mails", "--kind", "inbox"]).await.done();
    let items = "{\"payload\":1}\n\n{\"payload\":2,\"id\":\"\"}\n";
    let wrong = eva.feed(&["queue", "enqueue", "mails", "--items"], items).await;
    let output = wrong.refused(2);
    assert!(output.starts_with("error: line 3: The field id is not valid: "), "{output}");
}
