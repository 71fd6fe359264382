//! People, tokens, and sessions for users of other applications.

use crate::cases;
use crate::world::{Client, World};
use reqwest::Method;
use serde_json::{Value, json};
use turno::access::{NewToken, Permission};

cases![
    me_returns_the_caller,
    people_are_added_changed_and_removed,
    people_are_listed_page_by_page,
    the_last_administrator_stays,
    an_invalid_person_is_refused_with_the_field_named,
    a_token_is_shown_once_and_refused_from_the_request_after_its_revocation,
    without_users_manage_a_caller_sees_and_creates_only_its_own_tokens,
    a_restricted_token_cannot_create_one_with_more_rights,
    a_revocation_works_on_every_instance,
    a_backend_mints_a_session_for_its_page,
    a_session_has_only_the_rights_it_was_minted_with,
    a_person_changes_their_own_password_with_the_current_one,
    a_repeated_creation_creates_nothing_and_shows_no_secret_twice,
];

async fn me_returns_the_caller(world: World) {
    let me = world.client("ana").await.get("/v1/me").await.expect(200);
    assert_eq!((&me["id"], &me["name"], &me["role"]), (&json!("ana"), &json!("Ana Pérez"), &json!("editor")));
    assert_eq!((&me["machine"], &me["via"]), (&json!(false), &json!(null)));
    let (work, read) =
        ("inventory.manage leases.use queues.produce queues.consume", "queues.read tasks.read metrics.read");
    let permissions: Vec<&str> = work.split(' ').chain(read.split(' ')).collect();
    assert_eq!(me["permissions"], json!(permissions));
    let scope = Some([Permission::QueuesConsume].into_iter().collect());
    let machine = NewToken { machine: true, scope, ..NewToken::for_user("ana").unwrap() };
    let me = world.token(machine).await.get("/v1/me").await.expect(200);
    assert_eq!((&me["machine"], &me["permissions"]), (&json!(true), &json!(["queues.consume"])));
    world.anonymous().get("/v1/me").await.problem(401, "unauthenticated");
    let stranger = Client::new(&world.server.base, Some(format!("turno_{}", "0".repeat(64))));
    stranger.get("/v1/me").await.problem(401, "unauthenticated");
}

async fn people_are_added_changed_and_removed(world: World) {
    let eva = world.client("eva").await;
    let new = json!({ "id": "tomás/2", "name": "Tomás Ríos", "role": "editor", "password": "una clave larga" });
    let made = eva.post("/v1/users", new.clone()).await.expect(201);
    assert_eq!((&made["id"], &made["role"], &made["disabled"]), (&json!("tomás/2"), &json!("editor"), &json!(false)));
    assert!(made.get("password").is_none(), "{made}");
    eva.post("/v1/users", new).await.problem(409, "already_exists");
    let path = "/v1/users/tom%C3%A1s%2F2";
    assert_eq!(eva.get(path).await.expect(200), made);
    let tomas = world.client("tomás/2").await;
    tomas.post("/v1/leases/caja:4/claim", json!({})).await.expect(200);
    let changed = eva.send(Method::PATCH, path, json!({ "name": "Tomás", "role": "viewer" })).await.expect(200);
    assert_eq!((&changed["name"], &changed["role"]), (&json!("Tomás"), &json!("viewer")));
    tomas.post("/v1/leases/caja:5/claim", json!({})).await.problem(403, "forbidden");
    let out = eva.send(Method::PATCH, path, json!({ "disabled": true })).await.expect(200);
    assert_eq!(out["disabled"], true);
    tomas.get("/v1/me").await.problem(401, "unauthenticated");
    assert_eq!(eva.get("/v1/leases/caja:4").await.expect(200)["state"], "free", "the removed person's lease is free");
    eva.delete(path).await.expect(204);
    eva.get(path).await.problem(404, "not_found");
    eva.delete(path).await.problem(404, "not_found");
    eva.send(Method::PATCH, path, json!({ "name": "x" })).await.problem(404, "not_found");
}

async fn people_are_listed_page_by_page(world: World) {
    let eva = world.client("eva").await;
    let first = eva.get("/v1/users?limit=3").await.expect(200);
    let ids = |page: &Value| {
        let items = page["items"].as_array().unwrap().iter();
        items.map(|item| item["id"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(ids(&first), ["ana", "eva", "leo"]);
    let rest = eva.get(&format!("/v1/users?limit=3&cursor={}", first["next_cursor"].as_str().unwrap())).await;
    let rest = rest.expect(200);
    assert_eq!((ids(&rest), &rest["next_cursor"]), (vec!["vera".to_owned()], &json!(null)));
    eva.get("/v1/users?limit=0").await.problem(400, "bad_query");
    eva.get("/v1/users?page=2").await.problem(400, "bad_query");
    world.client("ana").await.get("/v1/users").await.problem(403, "forbidden");
}

async fn the_last_administrator_stays(world: World) {
    let eva = world.client("eva").await;
    for change in [json!({ "role": "editor" }), json!({ "disabled": true })] {
        eva.send(Method::PATCH, "/v1/users/eva", change).await.problem(409, "last_admin");
    }
    eva.delete("/v1/users/eva").await.problem(409, "last_admin");
    eva.get("/v1/me").await.expect(200);
}

async fn an_invalid_person_is_refused_with_the_field_named(world: World) {
    let eva = world.client("eva").await;
    for (body, code, field) in [
        (json!({ "role": "viewer" }), "bad_field", "id"),
        (json!({ "id": "", "role": "viewer" }), "bad_field", "id"),
        (json!({ "id": "x".repeat(201), "role": "viewer" }), "bad_field", "id"),
        (json!({ "id": "a\u{0}b", "role": "viewer" }), "bad_field", "id"),
        (json!({ "id": "x", "role": "boss" }), "bad_field", "role"),
        (json!({ "id": "x", "name": "a\nb", "role": "viewer" }), "bad_field", "name"),
        (json!({ "id": "x", "role": "viewer", "admin": true }), "bad_field", "admin"),
        (json!({ "id": "x", "role": "viewer", "password": "corta" }), "weak_password", "password"),
        (json!({ "id": "x", "role": "viewer", "password": "x".repeat(1_001) }), "weak_password", "password"),
    ] {
        let problem = eva.post("/v1/users", body.clone()).await.problem(400, code);
        assert_eq!(problem["field"], field, "{body}");
    }
    eva.get("/v1/users/x").await.problem(404, "not_found");
}

async fn a_token_is_shown_once_and_refused_from_the_request_after_its_revocation(world: World) {
    let eva = world.client("eva").await;
    let wish = json!({
        "user": "ana", "machine": true, "permissions": ["leases.use"], "resources": ["caja:"], "expires_in_s": 60
    });
    let made = eva.post("/v1/tokens", wish).await.expect(201);
    let secret = made["token"].as_str().unwrap().to_owned();
    let ana = Client::new(&world.server.base, Some(secret.clone()));
    ana.post("/v1/leases/caja:1/claim", json!({})).await.problem(400, "instance_required");
    ana.post("/v1/leases/caja:1/claim", json!({ "instance": "a" })).await.expect(200);
    ana.post("/v1/leases/otra:1/claim", json!({ "instance": "a" })).await.problem(403, "other_resource");
    let listed = eva.get("/v1/tokens?user=ana").await;
    assert!(!listed.text.contains(&secret), "the secret was shown once");
    let listed = listed.expect(200);
    let token = listed["items"].as_array().unwrap().iter().find(|token| token["id"] == made["id"]).unwrap();
    assert_eq!((&token["user"], &token["machine"], &token["kind"]), (&json!("ana"), &json!(true), &json!("token")));
    assert_eq!((&token["permissions"], &token["resources"]), (&json!(["leases.use"]), &json!(["caja:"])));
    assert_eq!((&token["created_by"], &token["expires_at"]), (&json!("eva"), &made["expires_at"]));
    assert!(token["created_at"].as_str() < token["expires_at"].as_str() && token.get("last_used_at").is_some());
    let path = format!("/v1/tokens/{}", made["id"].as_str().unwrap());
    eva.delete(&path).await.expect(204);
    ana.get("/v1/leases/caja:1").await.problem(401, "unauthenticated");
    eva.delete(&path).await.problem(404, "not_found");
    eva.delete("/v1/tokens/%00").await.problem(404, "not_found");
}

async fn without_users_manage_a_caller_sees_and_creates_only_its_own_tokens(world: World) {
    let (ana, leo) = (world.client("ana").await, world.client("leo").await);
    let own = ana.post("/v1/tokens", json!({})).await.expect(201);
    assert_eq!(own["user"], "ana");
    for path in ["/v1/tokens", "/v1/tokens?user=leo"] {
        let seen = ana.get(path).await.expect(200);
        let items = seen["items"].as_array().unwrap();
        assert!(items.len() == 2 && items.iter().all(|token| token["user"] == "ana"), "{seen}");
    }
    ana.post("/v1/tokens", json!({ "user": "leo" })).await.problem(403, "forbidden");
    let path = format!("/v1/tokens/{}", own["id"].as_str().unwrap());
    leo.delete(&path).await.problem(403, "forbidden");
    ana.delete(&path).await.expect(204);
}

async fn a_restricted_token_cannot_create_one_with_more_rights(world: World) {
    let scope = Some([Permission::LeasesUse].into_iter().collect());
    let narrow = world.token(NewToken { scope, ..NewToken::for_user("ana").unwrap() }).await;
    narrow.post("/v1/tokens", json!({})).await.problem(403, "more_than_held");
    narrow.post("/v1/tokens", json!({ "permissions": ["leases.use"] })).await.expect(201);
    let eva = world.client("eva").await;
    let problem = eva.post("/v1/tokens", json!({ "permissions": ["leases.use", "all"] })).await;
    assert_eq!(problem.problem(400, "bad_field")["field"], "permissions[1]");
    let problem = eva.post("/v1/tokens", json!({ "resources": ["caja:", ""] })).await;
    assert_eq!(problem.problem(400, "bad_field")["field"], "resources[1]");
    let problem = eva.post("/v1/tokens", json!({ "expires_in_s": 0 })).await.problem(400, "bad_field");
    assert_eq!(problem["field"], "expires_in_s");
    eva.post("/v1/tokens", json!({ "user": "nadie" })).await.problem(404, "not_found");
}

async fn a_revocation_works_on_every_instance(world: World) {
    let second = world.second();
    let eva = world.client("eva").await;
    let made = eva.post("/v1/tokens", json!({ "user": "leo" })).await.expect(201);
    let leo = Client::new(&second.base, Some(made["token"].as_str().unwrap().to_owned()));
    leo.post("/v1/leases/caja:1/claim", json!({})).await.expect(200);
    eva.delete(&format!("/v1/tokens/{}", made["id"].as_str().unwrap())).await.expect(204);
    leo.post("/v1/leases/caja:2/claim", json!({})).await.problem(401, "unauthenticated");
    leo.get("/v1/leases/caja:2").await.problem(401, "unauthenticated");
}

async fn a_backend_mints_a_session_for_its_page(world: World) {
    let eva = world.client("eva").await;
    let wish = json!({ "user": { "id": "laravel-31", "name": "Paco Gil" }, "resources": ["task:", "caja:"] });
    let made = eva.post("/v1/sessions", wish).await.expect(201);
    let paco = Client::new(&world.server.base, Some(made["token"].as_str().unwrap().to_owned()));
    let me = paco.get("/v1/me").await.expect(200);
    assert_eq!((&me["id"], &me["name"], &me["via"]), (&json!("laravel-31"), &json!("Paco Gil"), &json!("eva")));
    assert_eq!(me["expires_at"], made["expires_at"]);
    assert_eq!(me["permissions"], json!(["inventory.manage", "leases.use"]));
    assert!(me.get("role").is_none(), "{me}");
    let held = paco.post("/v1/leases/caja:1/claim", json!({})).await.expect(200);
    assert_eq!(held["holder"]["name"], "Paco Gil");
    paco.post("/v1/leases/otra:1/claim", json!({})).await.problem(403, "other_resource");
    let entries = eva.get("/v1/audit?action=session_mint").await.expect(200);
    assert_eq!(
        (&entries["items"][0]["actor"], &entries["items"][0]["resource"]),
        (&json!("eva"), &json!("laravel-31"))
    );
    // A session lives no longer than the token that minted it.
    let maker = eva.post("/v1/tokens", json!({})).await.expect(201);
    let backend = Client::new(&world.server.base, Some(maker["token"].as_str().unwrap().to_owned()));
    let made = backend.post("/v1/sessions", json!({ "user": { "id": "u" } })).await.expect(201);
    let page = Client::new(&world.server.base, Some(made["token"].as_str().unwrap().to_owned()));
    page.get("/v1/me").await.expect(200);
    eva.delete(&format!("/v1/tokens/{}", maker["id"].as_str().unwrap())).await.expect(204);
    page.get("/v1/me").await.problem(401, "unauthenticated");
}

async fn a_session_has_only_the_rights_it_was_minted_with(world: World) {
    let (eva, ana) = (world.client("eva").await, world.client("ana").await);
    let user = json!({ "id": "u-1" });
    ana.post("/v1/sessions", json!({ "user": user })).await.problem(403, "forbidden");
    for ttl in [0, -1, 901] {
        let refused = eva.post("/v1/sessions", json!({ "user": user, "ttl_s": ttl })).await.problem(400, "bad_field");
        assert_eq!(refused["field"], "ttl_s", "{ttl}");
    }
    let refused = eva.post("/v1/sessions", json!({ "user": { "id": "u", "nombre": "x" } })).await;
    assert_eq!(refused.problem(400, "bad_field")["field"], "user.nombre");
    for permission in ["sessions.mint", "users.manage"] {
        eva.post("/v1/sessions", json!({ "user": user, "permissions": [permission] })).await.problem(400, "invalid");
    }
    let scope = Some([Permission::SessionsMint].into_iter().collect());
    let minter = world.token(NewToken { scope, ..NewToken::for_user("eva").unwrap() }).await;
    let wish = json!({ "user": user, "permissions": ["queues.manage"] });
    minter.post("/v1/sessions", wish).await.problem(403, "more_than_held");
    let made = minter.post("/v1/sessions", json!({ "user": user, "permissions": ["leases.use"] })).await.expect(201);
    let page = Client::new(&world.server.base, Some(made["token"].as_str().unwrap().to_owned()));
    assert_eq!(page.get("/v1/me").await.expect(200)["permissions"], json!(["leases.use"]));
    page.post("/v1/sessions", json!({ "user": user })).await.problem(403, "other_resource");
}

async fn a_person_changes_their_own_password_with_the_current_one(world: World) {
    let eva = world.client("eva").await;
    let new = json!({ "id": "rosa", "role": "viewer", "password": "la primera clave" });
    eva.post("/v1/users", new).await.expect(201);
    let rosa = world.client("rosa").await;
    let change = async |current: Option<&str>, new: &str| {
        rosa.post("/v1/me/password", json!({ "current": current, "new": new })).await
    };
    change(Some("no es esta"), "la segunda clave").await.problem(401, "wrong_password");
    assert_eq!(change(None, "la segunda clave").await.problem(400, "bad_field")["field"], "current");
    assert_eq!(change(Some("la primera clave"), "corta").await.problem(400, "weak_password")["field"], "new");
    change(Some("la primera clave"), "la segunda clave").await.expect(204);
    let sign_in = async |password: &str| {
        world.anonymous().post("/sign-in", json!({ "user": "rosa", "password": password })).await
    };
    sign_in("la primera clave").await.problem(401, "wrong_password");
    sign_in("la segunda clave").await.expect(200);
    // A user without a password cannot set one with a token alone, because the token may be stolen.
    let ana = world.client("ana").await;
    ana.post("/v1/me/password", json!({ "new": "una clave larga" })).await.problem(401, "wrong_password");
}

async fn a_repeated_creation_creates_nothing_and_shows_no_secret_twice(world: World) {
    let eva = world.client("eva").await;
    let keyed = async |path: &str, key: &str, body: Value| {
        let request = eva.request(Method::POST, path).header("idempotency-key", key).json(&body);
        crate::world::answer(request.send().await.unwrap()).await
    };
    for (path, body, other) in [
        ("/v1/tokens", json!({ "user": "ana" }), json!({ "user": "leo" })),
        ("/v1/sessions", json!({ "user": { "id": "u" } }), json!({ "user": { "id": "v" } })),
    ] {
        let made = keyed(path, "k-1", body.clone()).await.expect(201);
        let again = keyed(path, "k-1", body.clone()).await;
        assert!(!again.text.contains(made["token"].as_str().unwrap()));
        assert_eq!(again.problem(409, "already_created")["id"], made["id"], "{path}");
        keyed(path, "k-1", other).await.problem(422, "idempotency_key_reused");
        assert_ne!(keyed(path, "k-2", body).await.expect(201)["id"], made["id"]);
    }
    let count = eva.get("/v1/tokens?user=ana").await.expect(200)["items"].as_array().unwrap().len();
    assert_eq!(count, 2, "one token per key");
    let rosa = json!({ "id": "rosa", "role": "viewer", "password": "una clave larga" });
    let made = keyed("/v1/users", "k-1", rosa.clone()).await.expect(201);
    let again = keyed("/v1/users", "k-1", rosa.clone()).await;
    assert_eq!((again.expect(201), &again.headers["idempotency-replayed"]), (made, &"true".parse().unwrap()));
    keyed("/v1/users", "k-2", rosa).await.problem(409, "already_exists");
    // A refusal is not kept, so the call can be repeated under its key.
    keyed("/v1/tokens", "k-3", json!({ "user": "nadie" })).await.problem(404, "not_found");
    eva.post("/v1/users", json!({ "id": "nadie", "role": "viewer" })).await.expect(201);
    keyed("/v1/tokens", "k-3", json!({ "user": "nadie" })).await.expect(201);
}
