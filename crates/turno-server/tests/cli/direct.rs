//! Commands that work on the database while a server runs on it.

use serde_json::json;
use turno::core::lease::Action;

use crate::cases;
use crate::shell::Shell;
use crate::world::{Client, World};

cases![
    BOTH: [
        a_user_added_on_the_command_line_is_accepted_by_the_running_server,
        a_user_disabled_on_the_command_line_is_refused_by_the_running_server,
        the_last_administrator_stays,
        a_revoked_token_is_refused_by_the_running_server,
        a_token_can_be_restricted,
        a_token_for_an_unknown_user_is_refused_with_the_command_to_add_them,
        a_password_is_read_from_stdin_and_only_its_hash_is_kept,
        people_are_listed_without_their_secrets,
        check_finds_nothing_in_a_sound_database,
        check_finds_a_rewritten_audit,
    ],
    SQLITE: [
        a_backup_is_a_working_database,
        a_backup_overwrites_nothing,
        invalid_arguments_are_usage_errors_with_and_without_a_server,
    ],
    POSTGRES: [a_backup_of_postgres_is_left_to_its_own_tools],
];

async fn a_user_added_on_the_command_line_is_accepted_by_the_running_server(world: World) {
    let shell = Shell::at(&world);
    let added = shell.run(&["user", "add", "iris", "--role", "editor", "--name", "Iris Gómez"]).await;
    assert_eq!(added.done(), "", "the command prints no data");
    let token = shell.run(&["token", "create", "--user", "iris"]).await;
    assert_eq!(token.out.lines().count(), 1, "{token:?}");
    assert_eq!(token.talk, "");
    let iris = Client::new(&world.server.base, Some(token.done().to_owned()));
    let held = iris.post("/v1/leases/caja%3A1/claim", json!({})).await.expect(200);
    assert_eq!(held["holder"]["name"], "Iris Gómez");
    let again = shell.run(&["user", "add", "iris", "--role", "admin"]).await;
    assert!(again.refused(1).contains("iris exists already"));
}

async fn a_user_disabled_on_the_command_line_is_refused_by_the_running_server(world: World) {
    let (shell, ana) = (Shell::at(&world), world.client("ana").await);
    ana.post("/v1/leases/caja%3A1/claim", json!({})).await.expect(200);
    shell.run(&["user", "disable", "ana"]).await.done();
    ana.get("/v1/leases/caja%3A1").await.problem(401, "unauthenticated");
    let leo = world.client("leo").await;
    assert_eq!(leo.get("/v1/leases/caja%3A1").await.expect(200)["state"], "free");
    shell.run(&["user", "enable", "ana"]).await.done();
    ana.get("/v1/leases/caja%3A1").await.expect(200);
    shell.run(&["user", "remove", "ana"]).await.done();
    ana.get("/v1/leases/caja%3A1").await.problem(401, "unauthenticated");
}

async fn the_last_administrator_stays(world: World) {
    let shell = Shell::at(&world);
    for words in
        [&["user", "disable", "eva"][..], &["user", "remove", "eva"], &["user", "change", "eva", "--role", "viewer"]]
    {
        let refused = shell.run(words).await;
        assert!(refused.refused(1).contains("last administrator"), "{words:?}");
    }
    shell.run(&["user", "change", "ana", "--role", "admin"]).await.done();
    shell.run(&["user", "remove", "eva"]).await.done();
}

async fn a_revoked_token_is_refused_by_the_running_server(world: World) {
    let shell = Shell::at(&world);
    let secret = shell.run(&["token", "create", "--user", "ana"]).await.done().to_owned();
    let ana = Client::new(&world.server.base, Some(secret.clone()));
    ana.get("/v1/leases/x").await.expect(200);
    let listed = shell.run(&["token", "list", "--user", "ana", "--json"]).await;
    assert!(!listed.out.contains(&secret), "{listed:?}");
    let id = listed.json()["items"][0]["id"].as_str().unwrap().to_owned();
    shell.run(&["token", "revoke", &id]).await.done();
    ana.get("/v1/leases/x").await.problem(401, "unauthenticated");
    let again = shell.run(&["token", "revoke", &id]).await;
    assert!(again.refused(1).contains("token list"), "{again:?}");
}

async fn a_token_can_be_restricted(world: World) {
    let shell = Shell::at(&world);
    let words = [
        "token",
        "create",
        "--user",
        "ana",
        "--machine",
        "--can",
        "leases.use",
        "--resource",
        "caja:",
        "--expires",
        "1h",
    ];
    let secret = shell.run(&words).await.done().to_owned();
    let bot = Client::new(&world.server.base, Some(secret));
    bot.post("/v1/leases/caja%3A1/claim", json!({})).await.problem(400, "instance_required");
    bot.post("/v1/leases/caja%3A1/claim", json!({ "instance": "b1" })).await.expect(200);
    bot.post("/v1/leases/mesa%3A1/claim", json!({ "instance": "b1" })).await.problem(403, "other_resource");
    let wrong = shell.run(&["token", "create", "--user", "ana", "--can", "lease.use"]).await;
    assert_eq!(wrong.code, Some(2), "{wrong:?}");
    assert!(wrong.talk.contains("leases.use"), "the error suggests the right name: {wrong:?}");
}

async fn a_token_for_an_unknown_user_is_refused_with_the_command_to_add_them(world: World) {
    let refused = Shell::at(&world).run(&["token", "create", "--user", "ghost"]).await;
    assert!(refused.refused(1).contains("turno user add ghost"), "{refused:?}");
    assert_eq!(refused.out, "");
}

async fn a_password_is_read_from_stdin_and_only_its_hash_is_kept(world: World) {
    let shell = Shell::at(&world);
    let words = ["user", "add", "iris", "--role", "viewer", "--password-stdin"];
    let short = shell.feed(&words, "corta\n").await;
    assert!(short.refused(1).contains("at least 8"), "{short:?}");
    shell.feed(&words, "correcto caballo\n").await.done();
    let hash = || async { world.turno.person("iris".try_into().unwrap()).await.unwrap().unwrap().password.unwrap() };
    let first = hash().await;
    assert!(first.starts_with("$argon2id$") && !first.contains("caballo"), "{first}");
    shell.feed(&["user", "password", "iris"], "otra clave larga\n").await.done();
    assert_ne!(hash().await, first);
}

async fn people_are_listed_without_their_secrets(world: World) {
    let shell = Shell::at(&world);
    shell.feed(&["user", "password", "ana"], "correcto caballo\n").await.done();
    let table = shell.run(&["user", "list"]).await;
    let rows: Vec<&str> = table.done().lines().collect();
    assert!(rows[0].starts_with("ID ") && rows.len() == 5, "{table:?}");
    assert!(rows[1].contains("Ana Pérez") && rows[1].contains("editor") && rows[1].contains("yes"), "{table:?}");
    let listed = shell.run(&["user", "list", "--json"]).await;
    assert!(!listed.out.contains("argon2"), "{listed:?}");
    assert_eq!(listed.json()["items"][0]["has_password"], true);
    let shown = shell.run(&["user", "show", "eva", "--json"]).await.json();
    assert_eq!((&shown["role"], &shown["tokens"]), (&json!("admin"), &json!([])));
    assert!(shell.run(&["user", "show", "ghost"]).await.refused(1).contains("ghost is not known"));
}

async fn check_finds_nothing_in_a_sound_database(world: World) {
    let ana = world.client("ana").await;
    ana.post("/v1/leases/caja%3A1/claim", json!({})).await.expect(200);
    let checked = Shell::at(&world).run(&["check"]).await;
    assert_eq!(checked.done(), "", "no findings");
    assert!(checked.talk.contains("checking 1 of 19: ") && !checked.talk.contains(" 0 of 19"), "{checked:?}");
    assert!(checked.talk.contains("checking 19 of 19: ") && checked.talk.contains("checked 19 of 19"), "{checked:?}");
    let machine = Shell::at(&world).run(&["check", "--json"]).await;
    assert_eq!(machine.json(), json!({ "findings": [] }));
}

async fn check_finds_a_rewritten_audit(world: World) {
    let force = Action::ForceClaim { reason: "urgent".to_owned(), fence: None };
    world.turno.lease_command(world.turno.command("caja:3", "eva", force).unwrap()).await.unwrap();
    let shell = Shell::at(&world);
    let head = shell.run(&["audit", "verify"]).await.done().to_owned();
    assert_eq!(shell.run(&["audit", "verify", "--head", &head]).await.done(), head);
    let (n, hash) = head.split_once(':').unwrap();
    let other: String = hash.chars().map(|digit| if digit == '0' { '1' } else { '0' }).collect();
    let noticed = shell.run(&["audit", "verify", "--head", &format!("{n}:{other}")]).await;
    assert!(noticed.refused(1).contains("rewritten"), "{noticed:?}");
    let wrong = shell.run(&["audit", "verify", "--head", "nonsense"]).await;
    assert!(wrong.code == Some(2) && wrong.talk.contains("NUMBER:HASH"), "{wrong:?}");
}

async fn a_backup_is_a_working_database(world: World) {
    let copy = format!("{}.copy", world.url.trim_start_matches("sqlite:"));
    let shell = Shell::at(&world);
    shell.run(&["backup", &copy]).await.done();
    let listed = shell.run(&["--database", &format!("sqlite:{copy}"), "user", "list", "--json"]).await.json();
    assert_eq!(listed["items"].as_array().unwrap().len(), 4);
}

async fn a_backup_overwrites_nothing(world: World) {
    let copy = format!("{}.copy", world.url.trim_start_matches("sqlite:"));
    std::fs::write(&copy, "precious").unwrap();
    assert!(Shell::at(&world).run(&["backup", &copy]).await.refused(1).contains("exists already"));
    assert_eq!(std::fs::read_to_string(&copy).unwrap(), "precious");
}

async fn a_backup_of_postgres_is_left_to_its_own_tools(world: World) {
    let refused = Shell::at(&world).run(&["backup", "turno.copy"]).await;
    assert!(refused.refused(1).contains("pg_dump"), "{refused:?}");
}

async fn invalid_arguments_are_usage_errors_with_and_without_a_server(world: World) {
    let ana = Shell::signed_in(&world, "ana").await;
    let run = |resource: &'static str, more: &[&'static str]| {
        let typed = [&["run", "--resource", resource], more, &["--", "true"]].concat();
        typed.into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    let words = |typed: &[&str]| typed.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let direct = [run("job", &["--ttl", "10ms"]), words(&["--database", &world.url])];
    let [mut here, database] = direct;
    here.splice(1..1, database);
    for (typed, says) in [
        (run("job", &["--ttl", "10ms"]), "--ttl must lie between 100"),
        (words(&["lease", "claim", "caja:1", "--ttl", "10ms"]), "--ttl must lie between 100"),
        (here, "the ttl must be between 100"),
        (words(&["lease", "get", ""]), "resource is empty"),
        (words(&["lease", "claim", "a\tb"]), "resource contains a control character"),
        (run("", &[]), "resource is empty"),
        (words(&["token", "create", "--user", "ana", "--expires", "0s"]), "expire"),
        (words(&["config", "--config", "no-such-folder/turno.toml"]), "no-such-folder/turno.toml"),
    ] {
        let typed: Vec<&str> = typed.iter().map(String::as_str).collect();
        let output = ana.run(&typed).await;
        assert!(output.code == Some(2) && output.talk.contains(says), "{typed:?}: {output:?}");
    }
}
