//! Commands that call a server.

use std::io::{Read, Write};
use std::net::TcpListener;

use serde_json::json;

use crate::cases;
use crate::shell::Shell;
use crate::world::World;

cases![
    BOTH: [a_lease_is_claimed_renewed_and_shown, a_held_lease_is_refused_with_its_holder],
    SQLITE: [
        an_offer_is_printed_as_the_callers_turn,
        a_release_request_for_a_free_lease_has_no_recipient,
        why_names_the_holder_in_a_sentence,
        the_json_output_is_the_servers_answer,
        without_a_token_the_error_explains_how_to_create_one,
        a_token_among_the_arguments_is_refused,
        a_token_may_come_from_a_file,
        an_unreachable_server_is_explained,
        an_answer_of_another_server_is_explained,
        healthcheck_distinguishes_a_healthy_server_from_none,
    ],
];

async fn a_lease_is_claimed_renewed_and_shown(world: World) {
    let ana = Shell::signed_in(&world, "ana").await;
    let claimed = ana.run(&["lease", "claim", "caja:3", "--ttl", "20s", "--json"]).await.json();
    assert!(claimed["mine"] == true && claimed["expires_in_ms"].as_i64().unwrap() > 15_000, "{claimed}");
    let fence = claimed["fence"].to_string();
    let beaten = ana.run(&["lease", "heartbeat", "caja:3", "--fence", &fence, "--json"]).await.json();
    assert_eq!(beaten["renewed"], true);
    let shown = ana.run(&["lease", "get", "caja:3"]).await;
    let text = shown.done();
    assert!(text.starts_with("caja:3\n") && text.contains("Ana Pérez (ana)") && text.contains(&fence), "{text}");
    assert!(text.contains("locked, yours") && text.contains("in "), "{text}");
    let unknown = ana.run(&["lease", "heartbeat", "caja:3", "--fence", "987654"]).await;
    assert!(unknown.refused(1).contains("The lease was lost"), "{unknown:?}");
}

async fn a_held_lease_is_refused_with_its_holder(world: World) {
    let (ana, leo) = (Shell::signed_in(&world, "ana").await, Shell::signed_in(&world, "leo").await);
    ana.run(&["lease", "claim", "caja:3"]).await.done();
    let refused = leo.run(&["lease", "claim", "caja:3"]).await;
    assert!(refused.refused(1).contains("Held by Ana Pérez"), "{refused:?}");
    assert_eq!(refused.out, "");
    // A waiting claim gets the lease once it has expired.
    ana.run(&["lease", "claim", "caja:4", "--ttl", "300ms"]).await.done();
    let waited = leo.run(&["lease", "claim", "caja:4", "--wait", "20s", "--json"]).await.json();
    assert_eq!(waited["holder"]["id"], "leo");
}

async fn an_offer_is_printed_as_the_callers_turn(world: World) {
    let (ana, leo) = (Shell::signed_in(&world, "ana").await, Shell::signed_in(&world, "leo").await);
    let output = leo.run(&["lease", "turn", "caja:3"]).await;
    assert!(output.done().starts_with("it is your turn: claim it within "), "{output:?}");
    ana.run(&["lease", "claim", "caja:4"]).await.done();
    let output = leo.run(&["lease", "turn", "caja:4"]).await;
    assert!(output.done().starts_with("number 1 in the waiting line; the place lasts "), "{output:?}");
}

async fn a_release_request_for_a_free_lease_has_no_recipient(world: World) {
    let (ana, leo) = (Shell::signed_in(&world, "ana").await, Shell::signed_in(&world, "leo").await);
    let output = leo.run(&["lease", "request-release", "caja:3"]).await;
    assert!(output.code == Some(0) && output.talk.contains("the lease is free, so no request was sent"), "{output:?}");
    ana.run(&["lease", "claim", "caja:3"]).await.done();
    let output = leo.run(&["lease", "request-release", "caja:3"]).await;
    assert!(output.talk.contains("the holder was asked to release it"), "{output:?}");
}

async fn why_names_the_holder_in_a_sentence(world: World) {
    let (ana, leo) = (Shell::signed_in(&world, "ana").await, Shell::signed_in(&world, "leo").await);
    assert_eq!(leo.run(&["why", "caja:3"]).await.done(), "caja:3 is free.");
    ana.run(&["lease", "claim", "caja:3"]).await.done();
    let output = leo.run(&["why", "caja:3"]).await;
    assert!(output.done().starts_with("caja:3 is held by Ana Pérez (ana) for "), "{output:?}");
    assert!(ana.run(&["why", "caja:3"]).await.done().contains("held by you for"));
}

async fn the_json_output_is_the_servers_answer(world: World) {
    let (ana, api) = (Shell::signed_in(&world, "ana").await, world.client("ana").await);
    let mut printed = ana.run(&["lease", "get", "ñ/1 %2F", "--json"]).await.json();
    let mut direct = api.get("/v1/leases/%C3%B1%2F1%20%252F").await.expect(200);
    for lease in [&mut printed, &mut direct] {
        lease["server_time"] = json!(null);
    }
    assert_eq!(printed, direct);
    assert_eq!(printed["resource"], "ñ/1 %2F");
}

async fn without_a_token_the_error_explains_how_to_create_one(world: World) {
    let refused = Shell::at(&world).run(&["lease", "get", "caja:3"]).await;
    assert!(refused.refused(1).contains("turno token create --user"), "{refused:?}");
    let viewer = Shell::signed_in(&world, "vera").await.run(&["lease", "claim", "caja:3"]).await;
    assert!(viewer.refused(1).contains("leases.use"), "{viewer:?}");
}

async fn a_token_among_the_arguments_is_refused(world: World) {
    let refused = Shell::at(&world).run(&["lease", "get", "caja:3", "--token", "turno_s3cret"]).await;
    assert!(refused.refused(2).contains("TURNO_TOKEN") && !refused.talk.contains("s3cret"), "{refused:?}");
}

async fn a_token_may_come_from_a_file(world: World) {
    let secret = world.client("ana").await.secret().to_owned();
    let file = format!("{}.token", world.url.trim_start_matches("sqlite:"));
    std::fs::write(&file, format!("{secret}\n")).unwrap();
    Shell::at(&world).run(&["lease", "get", "caja:3", "--token-file", &file]).await.done();
    let missing = Shell::at(&world).run(&["lease", "get", "caja:3", "--token-file", "/nowhere/token"]).await;
    assert!(missing.refused(1).contains("/nowhere/token"), "{missing:?}");
}

async fn an_unreachable_server_is_explained(world: World) {
    // A port that was free a moment ago and has no listener.
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let nowhere = format!("http://127.0.0.1:{port}");
    let refused = Shell::at(&world).run(&["lease", "get", "caja:3", "--server", &nowhere]).await;
    assert!(refused.refused(1).contains("turno serve") && refused.talk.contains(&nowhere), "{refused:?}");
    let wrong = Shell::at(&world).run(&["lease", "get", "caja:3", "--server", "127.0.0.1:7171"]).await;
    assert!(wrong.refused(2).contains("http://HOST:PORT"), "{wrong:?}");
}

async fn an_answer_of_another_server_is_explained(world: World) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let other = format!("http://{}", listener.local_addr().unwrap());
    let answering = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut asked = [0; 4096];
        assert!(stream.read(&mut asked).unwrap() > 0);
        stream.write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi").unwrap();
    });
    let refused = Shell::at(&world).run(&["lease", "get", "caja:3", "--server", &other]).await;
    assert!(refused.refused(1).contains("not as a Turno server"), "{refused:?}");
    answering.join().unwrap();
}

async fn healthcheck_distinguishes_a_healthy_server_from_none(mut world: World) {
    assert_eq!(Shell::at(&world).run(&["healthcheck"]).await.done(), "ready");
    let listen = world.server.base.trim_start_matches("http://").to_owned();
    let beside = Shell::at(&world).without("TURNO_URL").with("TURNO_LISTEN", &listen);
    assert_eq!(beside.run(&["healthcheck"]).await.done(), "ready");
    world.server.kill();
    assert!(Shell::at(&world).run(&["healthcheck"]).await.refused(1).contains("no server answers"));
}
