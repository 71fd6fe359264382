//! Endpoints that cannot be set over the API, and addresses that cannot be called.

use crate::cases;
use crate::push::{item_in, pushed};
use crate::queue::{add, audited, made};
use crate::receiver::Receiver;
use crate::world::{Running, World};
use reqwest::Method;
use serde_json::json;

cases![
    private_addresses_are_refused_unless_they_are_allowed,
    a_name_that_resolves_to_a_private_address_is_not_called,
    a_push_secret_can_only_name_a_variable_with_the_push_prefix,
    a_change_of_an_endpoint_is_audited,
];

async fn private_addresses_are_refused_unless_they_are_allowed(world: World) {
    let eva = world.client("eva").await;
    let put = |url: &str| json!({ "kind": "inbox", "push": { "url": url } });
    for url in [
        "http://10.1.2.3/",
        "http://172.16.0.1/",
        "http://192.168.0.1:8080/x",
        "http://169.254.169.254/latest/meta-data",
        "http://100.64.0.1/",
        "http://0.0.0.0/",
        "http://[fd00::1]/",
        "http://[fe80::1]/",
        "http://[::ffff:10.0.0.1]/",
        "http://0xa000001/",
        "https://10.1.2.3/{key}",
    ] {
        let refused = eva.send(Method::PUT, "/v1/queues/mails", put(url)).await.problem(400, "bad_field");
        assert_eq!(refused["field"], "push.url", "{url}");
    }
    let listed = eva.get("/v1/queues").await.expect(200);
    assert_eq!(listed["items"], json!([]), "nothing was stored");
    for url in ["http://93.184.215.14/", "https://example.com/{key}"] {
        eva.send(Method::PUT, "/v1/queues/outside", put(url)).await.expect(200);
    }
    let server = Running::start(&world.url, &["--push-allow", "10.1.0.0/16"]);
    let there = eva.at(&server);
    there.send(Method::PUT, "/v1/queues/mails", put("http://10.1.2.3/")).await.expect(200);
    there.send(Method::PUT, "/v1/queues/mails", put("http://10.2.2.3/")).await.problem(400, "bad_field");
}

/// In production the server's own machine cannot be called either, and `localhost` resolves to it.
async fn a_name_that_resolves_to_a_private_address_is_not_called(world: World) {
    let mut receiver = Receiver::start().await;
    let mut world = world;
    let port = receiver.address.port();
    let push = json!({ "url": format!("http://localhost:{port}/") });
    let policy = json!({ "kind": "inbox", "max_attempts": 1 });
    let eva = pushed(&world, "mails", policy, push.clone()).await;
    add(&eva, "mails", json!({ "id": "m-1", "payload": 1 })).await;
    receiver.next().await.answer(200);
    item_in(&eva, "mails", "m-1", "processed").await;
    world.server.kill();
    let production = match Running::in_production(&world.url) {
        Ok(production) => production,
        // The tests' cluster runs with fsync off, and production must refuse such a database (R4).
        Err(stderr) => {
            return assert!(stderr.contains("fsync = off") && world.url.starts_with("postgres:"), "{stderr}");
        }
    };
    let eva = eva.at(&production);
    add(&eva, "mails", json!({ "id": "m-2", "payload": 1 })).await;
    let item = item_in(&eva, "mails", "m-2", "exhausted").await;
    assert!(item["errors"][0]["error"].as_str().unwrap().contains("private address"), "{item}");
    assert!(!receiver.has_more());
}

async fn a_push_secret_can_only_name_a_variable_with_the_push_prefix(world: World) {
    let variables = [("TURNO_PUSH_SECRET_BOT", "s3cret-of-the-bot"), ("OTHER_SECRET", "s3cret-of-others")];
    let server = Running::with(&world.url, &[], &variables);
    let eva = world.client("eva").await.at(&server);
    let put =
        |variable: &str| json!({ "kind": "inbox", "push": { "url": "https://example.com/", "secret_env": variable } });
    for variable in ["OTHER_SECRET", "TURNO_DATABASE", "TURNO_PUSH_SECRET_UNSET", "PATH"] {
        let refused = eva.send(Method::PUT, "/v1/queues/bot", put(variable)).await.problem(400, "bad_field");
        assert_eq!(refused["field"], "push.secret_env", "{variable}");
        assert!(!refused.to_string().contains("s3cret"));
    }
    let made = eva.send(Method::PUT, "/v1/queues/bot", put("TURNO_PUSH_SECRET_BOT")).await.expect(200);
    assert_eq!(made["push"]["secret_env"], "TURNO_PUSH_SECRET_BOT");
    assert!(!made.to_string().contains("s3cret"));
    let stored = world.turno.queue("bot").await.unwrap().row().await.unwrap().push.clone().unwrap();
    assert!(!stored.contains("s3cret"), "{stored}");
    let given = json!({ "kind": "inbox", "push": { "url": "https://example.com/", "secret": "s3cret" } });
    eva.send(Method::PUT, "/v1/queues/bot", given).await.problem(400, "bad_field");
}

async fn a_change_of_an_endpoint_is_audited(world: World) {
    let push = json!({ "url": "https://example.com/in?token=s3cret" });
    pushed(&world, "mails", json!({ "kind": "inbox" }), push.clone()).await;
    pushed(&world, "mails", json!({ "kind": "inbox" }), push).await;
    assert_eq!(audited(&world, "queue_put").await.len(), 1, "an unchanged push leaves no entry");
    made(&world, "mails", json!({ "kind": "inbox", "push": null })).await;
    let query = turno::store::AuditQuery { after: Some(0), limit: 100, ..Default::default() };
    let puts = world.turno.audit(query).await.unwrap().into_iter().filter(|entry| entry.action == "queue_put");
    let pushes: Vec<_> =
        puts.map(|entry| serde_json::from_str::<serde_json::Value>(&entry.detail).unwrap()["push"].clone()).collect();
    let endpoint = "POST https://example.com/in?*** (10000 ms, unsigned)";
    assert_eq!(pushes, [json!(endpoint), json!(null)]);
}
