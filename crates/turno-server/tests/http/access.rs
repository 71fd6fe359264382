//! Access over HTTP: every route called in every role, and calls on behalf of another user.

use std::collections::BTreeSet;

use crate::cases;
use crate::world::{Client, Running, World};
use reqwest::Method;
use serde_json::json;
use turno::access::{NewToken, Permissions};

cases![
    every_route_answers_every_role_as_documented,
    the_access_table_and_the_routes_agree,
    a_machine_and_a_token_without_permissions_get_only_what_they_may,
    only_pages_of_the_console_can_change_data_with_its_session,
    a_backend_acts_for_a_user_and_the_audit_shows_both,
    pages_of_configured_origins_may_call,
    a_token_for_some_resources_cannot_read_queues,
    a_refusal_reaches_a_client_that_sends_a_large_body_first,
    the_audit_is_listed_newest_first_with_the_permission,
    an_audit_that_contradicts_the_kept_head_does_not_verify,
];

/// The call was let through. Its further answer depends on the handler.
pub(crate) const OK: u16 = 0;

/// What a token with bounds must reach to call a route. The names are those of the server's table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Scope {
    Any,
    Account,
    Leases,
    Tasks,
    Queues,
    Whole,
}
use Scope::{Account, Any, Leases, Queues, Tasks, Whole};

/// The expected answers of every route to an anonymous caller, a viewer, an editor and an administrator, and its scope.
pub(crate) const EXPECTED: &[(&str, [u16; 4], Scope)] = &[
    ("GET /", [OK, OK, OK, OK], Any),
    ("GET /assets/{file}", [OK, OK, OK, OK], Any),
    ("GET /oidc/start", [OK, OK, OK, OK], Any),
    ("GET /oidc/callback", [OK, OK, OK, OK], Any),
    ("GET /login", [401, OK, OK, OK], Whole),
    ("POST /console/login", [401, OK, OK, OK], Whole),
    ("POST /console/preferences", [OK, OK, OK, OK], Any),
    ("GET /tasks", [401, OK, OK, OK], Whole),
    ("GET /tasks/new", [401, 403, OK, OK], Whole),
    ("GET /tasks/{id}", [401, OK, OK, OK], Whole),
    ("GET /tasks/{id}/edit", [401, 403, OK, OK], Whole),
    ("POST /console/tasks", [401, 403, OK, OK], Whole),
    ("POST /console/tasks/{id}/edit", [401, 403, OK, OK], Whole),
    ("POST /console/tasks/{id}/ready", [401, 403, OK, OK], Whole),
    ("POST /console/tasks/{id}/cancel", [401, 403, OK, OK], Whole),
    ("GET /leases", [401, OK, OK, OK], Whole),
    ("GET /leases/{resource}", [401, OK, OK, OK], Whole),
    ("POST /console/leases/{resource}/force-release", [401, 403, 403, OK], Whole),
    ("POST /console/leases/{resource}/force-claim", [401, 403, 403, OK], Whole),
    ("GET /queues", [401, OK, OK, OK], Whole),
    ("GET /queues/{queue}", [401, OK, OK, OK], Whole),
    ("GET /queues/{queue}/keys/{key}", [401, OK, OK, OK], Whole),
    ("GET /queues/{queue}/items/{id}", [401, OK, OK, OK], Whole),
    ("POST /console/queues/{queue}/pause", [401, 403, 403, OK], Whole),
    ("POST /console/queues/{queue}/resume", [401, 403, 403, OK], Whole),
    ("POST /console/queues/{queue}/retry-exhausted", [401, 403, 403, OK], Whole),
    ("POST /console/queues/{queue}/items/{id}/retry", [401, 403, 403, OK], Whole),
    ("POST /console/queues/{queue}/items/{id}/cancel", [401, 403, 403, OK], Whole),
    ("GET /sync", [401, OK, OK, OK], Whole),
    ("POST /console/sync/{name}/resync", [401, 403, 403, OK], Whole),
    ("POST /console/sync/{name}/resync-all", [401, 403, 403, OK], Whole),
    ("GET /audit", [401, 403, 403, OK], Whole),
    ("GET /audit/export", [401, 403, 403, OK], Whole),
    ("POST /console/audit/verify", [401, 403, 403, OK], Whole),
    ("GET /admin", [401, 403, 403, OK], Whole),
    ("GET /admin/people/{id}", [401, 403, 403, OK], Whole),
    ("GET /admin/tokens", [401, 403, 403, OK], Whole),
    ("GET /admin/settings", [401, 403, 403, OK], Whole),
    ("POST /console/people", [401, 403, 403, OK], Whole),
    ("POST /console/people/{id}/change", [401, 403, 403, OK], Whole),
    ("POST /console/people/{id}/disable", [401, 403, 403, OK], Whole),
    ("POST /console/people/{id}/enable", [401, 403, 403, OK], Whole),
    ("POST /console/people/{id}/remove", [401, 403, 403, OK], Whole),
    ("POST /console/people/{id}/password", [401, 403, 403, OK], Whole),
    ("POST /console/people/{id}/token", [401, 403, 403, OK], Whole),
    ("POST /console/people/{id}/link", [401, 403, 403, OK], Whole),
    ("POST /console/people/{id}/unlink", [401, 403, 403, OK], Whole),
    ("POST /console/tokens/{id}/rotate", [401, 403, 403, OK], Whole),
    ("POST /console/tokens/{id}/revoke", [401, 403, 403, OK], Whole),
    ("GET /healthz", [OK, OK, OK, OK], Any),
    ("GET /readyz", [OK, OK, OK, OK], Any),
    ("GET /openapi.json", [OK, OK, OK, OK], Any),
    ("GET /docs", [OK, OK, OK, OK], Any),
    ("GET /turno.js", [OK, OK, OK, OK], Any),
    ("GET /turno.d.ts", [OK, OK, OK, OK], Any),
    ("GET /sign-in", [OK, OK, OK, OK], Any),
    ("POST /sign-in", [OK, OK, OK, OK], Any),
    ("POST /sign-in/link", [OK, OK, OK, OK], Any),
    ("POST /sign-out", [OK, OK, OK, OK], Any),
    ("GET /setup", [OK, OK, OK, OK], Any),
    ("POST /setup", [OK, OK, OK, OK], Any),
    ("GET /metrics", [401, OK, OK, OK], Whole),
    ("GET /locks", [401, OK, OK, OK], Whole),
    ("POST /locks/clear", [401, 403, 403, OK], Whole),
    ("GET /v1/me", [401, OK, OK, OK], Any),
    ("POST /v1/sessions", [401, 403, 403, OK], Account),
    ("GET /v1/events", [401, OK, OK, OK], Any),
    ("GET /v1/audit", [401, 403, 403, OK], Whole),
    ("GET /v1/audit/verify", [401, 403, 403, OK], Whole),
    ("GET /v1/users", [401, 403, 403, OK], Whole),
    ("POST /v1/users", [401, 403, 403, OK], Whole),
    ("GET /v1/users/{id}", [401, 403, 403, OK], Whole),
    ("PATCH /v1/users/{id}", [401, 403, 403, OK], Whole),
    ("DELETE /v1/users/{id}", [401, 403, 403, OK], Whole),
    ("PUT /v1/users/{id}/identity", [401, 403, 403, OK], Whole),
    ("DELETE /v1/users/{id}/identity", [401, 403, 403, OK], Whole),
    ("POST /v1/me/password", [401, OK, OK, OK], Account),
    ("GET /v1/tokens", [401, OK, OK, OK], Account),
    ("POST /v1/tokens", [401, OK, OK, OK], Account),
    ("DELETE /v1/tokens/{id}", [401, OK, OK, OK], Any),
    ("POST /v1/tokens/{id}/rotate", [401, OK, OK, OK], Account),
    ("POST /v1/login", [OK, OK, OK, OK], Any),
    ("GET /v1/leases", [401, OK, OK, OK], Leases),
    ("POST /v1/leases/claim", [401, 403, OK, OK], Leases),
    ("GET /v1/leases/claim", [401, OK, OK, OK], Leases),
    ("POST /v1/leases/heartbeat", [401, 403, OK, OK], Leases),
    ("GET /v1/leases/heartbeat", [401, OK, OK, OK], Leases),
    ("POST /v1/leases/release", [401, 403, OK, OK], Leases),
    ("GET /v1/leases/release", [401, OK, OK, OK], Leases),
    ("GET /v1/leases/{resource}", [401, OK, OK, OK], Leases),
    ("GET /v1/leases/{resource}/history", [401, OK, OK, OK], Leases),
    ("POST /v1/leases/{resource}/claim", [401, 403, OK, OK], Leases),
    ("POST /v1/leases/{resource}/heartbeat", [401, 403, OK, OK], Leases),
    ("POST /v1/leases/{resource}/release", [401, 403, OK, OK], Leases),
    ("POST /v1/leases/{resource}/force-claim", [401, 403, 403, OK], Leases),
    ("POST /v1/leases/{resource}/force-release", [401, 403, 403, OK], Leases),
    ("POST /v1/leases/{resource}/request-release", [401, 403, OK, OK], Leases),
    ("POST /v1/leases/{resource}/decline-release", [401, 403, OK, OK], Leases),
    ("POST /v1/leases/{resource}/turn", [401, 403, OK, OK], Leases),
    ("DELETE /v1/leases/{resource}/turn", [401, 403, OK, OK], Leases),
    ("POST /v1/tasks", [401, 403, OK, OK], Tasks),
    ("GET /v1/tasks", [401, OK, OK, OK], Tasks),
    ("GET /v1/tasks/{id}", [401, OK, OK, OK], Tasks),
    ("PUT /v1/tasks/{id}", [401, 403, OK, OK], Tasks),
    ("GET /v1/tasks/{id}/history", [401, OK, OK, OK], Tasks),
    ("POST /v1/tasks/{id}/ready", [401, 403, OK, OK], Tasks),
    ("POST /v1/tasks/{id}/cancel", [401, 403, OK, OK], Tasks),
    ("POST /v1/tasks/{id}/claim", [401, 403, OK, OK], Tasks),
    ("POST /v1/tasks/{id}/heartbeat", [401, 403, OK, OK], Tasks),
    ("POST /v1/tasks/{id}/release", [401, 403, OK, OK], Tasks),
    ("POST /v1/tasks/{id}/force-claim", [401, 403, 403, OK], Tasks),
    ("POST /v1/tasks/{id}/force-release", [401, 403, 403, OK], Tasks),
    ("POST /v1/tasks/{id}/request-release", [401, 403, OK, OK], Tasks),
    ("POST /v1/tasks/{id}/decline-release", [401, 403, OK, OK], Tasks),
    ("POST /v1/tasks/{id}/turn", [401, 403, OK, OK], Tasks),
    ("DELETE /v1/tasks/{id}/turn", [401, 403, OK, OK], Tasks),
    ("PATCH /v1/tasks/{id}/lines/{number}", [401, 403, OK, OK], Tasks),
    ("POST /v1/tasks/{id}/lines/{number}/validate", [401, 403, OK, OK], Tasks),
    ("POST /v1/tasks/{id}/finalize", [401, 403, OK, OK], Tasks),
    ("GET /v1/stock/{sku}", [401, OK, OK, OK], Whole),
    ("GET /v1/queues", [401, OK, OK, OK], Queues),
    ("PUT /v1/queues/{queue}", [401, 403, 403, OK], Queues),
    ("GET /v1/queues/{queue}", [401, OK, OK, OK], Queues),
    ("POST /v1/queues/{queue}/items", [401, 403, OK, OK], Queues),
    ("GET /v1/queues/{queue}/items", [401, OK, OK, OK], Queues),
    ("GET /v1/queues/{queue}/items/{id}", [401, OK, OK, OK], Queues),
    ("GET /v1/queues/{queue}/items/{id}/why", [401, OK, OK, OK], Queues),
    ("GET /v1/queues/{queue}/keys/{key}/why", [401, OK, OK, OK], Queues),
    ("POST /v1/queues/{queue}/typing", [401, 403, OK, OK], Queues),
    ("POST /v1/queues/{queue}/claim", [401, 403, OK, OK], Queues),
    ("POST /v1/queues/{queue}/items/{id}/claim", [401, 403, OK, OK], Queues),
    ("POST /v1/queues/{queue}/heartbeat", [401, 403, OK, OK], Queues),
    ("POST /v1/queues/{queue}/ack", [401, 403, OK, OK], Queues),
    ("POST /v1/queues/{queue}/fail", [401, 403, OK, OK], Queues),
    ("POST /v1/queues/{queue}/return", [401, 403, OK, OK], Queues),
    ("POST /v1/queues/{queue}/items/{id}/retry", [401, 403, 403, OK], Queues),
    ("POST /v1/queues/{queue}/items/{id}/cancel", [401, 403, 403, OK], Queues),
    ("POST /v1/queues/{queue}/pause", [401, 403, 403, OK], Queues),
    ("POST /v1/queues/{queue}/resume", [401, 403, 403, OK], Queues),
    ("POST /v1/queues/{queue}/retry-exhausted", [401, 403, 403, OK], Queues),
    ("POST /v1/queues/{queue}/purge", [401, 403, 403, OK], Queues),
    ("GET /v1/sync/sources", [401, OK, OK, OK], Queues),
    ("GET /v1/sync/sources/{name}", [401, OK, OK, OK], Queues),
    ("POST /v1/sync/sources/{name}/resync", [401, 403, 403, OK], Queues),
];

/// Served but not part of the described API: pages, their assets, and the console's forms.
const PAGES: &[&str] = &[
    "GET /",
    "GET /assets/{file}",
    "GET /oidc/start",
    "GET /oidc/callback",
    "GET /login",
    "GET /openapi.json",
    "GET /docs",
    "GET /turno.js",
    "GET /turno.d.ts",
    "GET /tasks",
    "GET /tasks/new",
    "GET /tasks/{id}",
    "GET /tasks/{id}/edit",
    "GET /leases",
    "GET /leases/{resource}",
    "GET /queues",
    "GET /queues/{queue}",
    "GET /queues/{queue}/keys/{key}",
    "GET /queues/{queue}/items/{id}",
    "GET /sync",
    "GET /audit",
    "GET /audit/export",
    "GET /admin",
    "GET /admin/people/{id}",
    "GET /admin/tokens",
    "GET /admin/settings",
];

/// Returns the status of a call without content, or `OK` if the call was let through and refused for another reason.
pub(crate) async fn status(client: &Client, route: &str) -> u16 {
    let (method, path) = route.split_once(' ').unwrap();
    let path = [
        ("{file}", "turno.css"),
        ("{resource}", "caja:1"),
        ("{id}", "none"),
        ("{number}", "1"),
        ("{sku}", "sku"),
        ("{queue}", "none"),
        ("{key}", "k"),
        ("{name}", "none"),
    ]
    .iter()
    .fold(path.to_owned(), |path, (name, value)| path.replace(name, value));
    let method: Method = method.parse().unwrap();
    let body = (method != Method::GET).then_some("{}");
    let mut request = client.request(method, &path);
    if let Some(body) = body {
        request = request.header("content-type", "application/json").body(body);
    }
    let response = request.send().await.unwrap();
    let status = response.status().as_u16();
    if !matches!(status, 401 | 403) {
        // Only the head is read, because a live stream has no end.
        return status;
    }
    match crate::world::answer(response).await.json()["code"].as_str() {
        Some("unauthenticated" | "forbidden" | "other_resource") => status,
        _ => 409,
    }
}

/// Returns the routes that do not answer this caller as expected.
async fn wrong(client: &Client, column: usize) -> Vec<String> {
    let mut wrong = Vec::new();
    for (route, expected, _) in EXPECTED {
        let got = status(client, route).await;
        let fits = match expected[column] {
            OK => !matches!(got, 401 | 403 | 405) && got < 500,
            refused => got == refused,
        };
        if !fits {
            wrong.push(format!("{route}: {got} instead of {}", expected[column]));
        }
    }
    wrong
}

async fn every_route_answers_every_role_as_documented(world: World) {
    assert_eq!(wrong(&world.anonymous(), 0).await, [""; 0], "anonymous");
    for (column, user) in [(1, "vera"), (2, "ana"), (3, "eva")] {
        assert_eq!(wrong(&world.client(user).await, column).await, [""; 0], "{user}");
    }
    // The control: a caller in another role gets other answers.
    assert!(
        wrong(&world.client("vera").await, 3).await.len() > 20,
        "a viewer is refused where an administrator is not"
    );
}

async fn a_machine_and_a_token_without_permissions_get_only_what_they_may(world: World) {
    let machine = world.token(NewToken { machine: true, ..NewToken::for_user("ana").unwrap() }).await;
    assert_eq!(wrong(&machine, 2).await, [""; 0], "an editor's machine");
    let reading = NewToken { scope: Some(Permissions::TO_READ), ..NewToken::for_user("eva").unwrap() };
    assert_eq!(wrong(&world.token(reading).await, 1).await, [""; 0], "an administrator's token that may only read");
    // A list of permissions is exact: without the permissions to read, only leases and the own account are readable.
    let nothing = NewToken { scope: Some(Permissions::default()), ..NewToken::for_user("eva").unwrap() };
    let nothing = world.token(nothing).await;
    let refused = wrong(&nothing, 1).await;
    let parts = ["queue", "task", "stock", "sync", "locks", "metrics", "GET /:"];
    let read = |route: &String| parts.iter().any(|part| route.contains(part));
    assert!(refused.len() > 15 && refused.iter().all(read), "{refused:?}");
    for path in ["/v1/leases", "/v1/leases/caja:1", "/v1/me", "/v1/tokens"] {
        nothing.get(path).await.expect(200);
    }
}

async fn the_access_table_and_the_routes_agree(world: World) {
    let document = world.anonymous().get("/openapi.json").await.expect(200);
    let mut routes = BTreeSet::new();
    for (path, operations) in document["paths"].as_object().unwrap() {
        for method in operations.as_object().unwrap().keys() {
            routes.insert(format!("{} {path}", method.to_uppercase()));
        }
    }
    let expected: BTreeSet<String> = EXPECTED.iter().map(|(route, ..)| (*route).to_owned()).collect();
    assert_eq!(expected.len(), EXPECTED.len(), "no route is expected twice");
    assert_eq!(differences(&expected, &table()), [""; 0], "the expected routes equal the server access table");
    let described =
        expected.iter().filter(|route| !PAGES.contains(&route.as_str()) && !route.contains(" /console/")).cloned();
    let described: BTreeSet<String> = described.collect();
    assert_eq!(differences(&described, &routes), [""; 0], "the described routes equal the served ones");
    // The control: one route more or less is noticed.
    routes.insert("GET /v1/nonsense".to_owned());
    routes.remove("GET /v1/me");
    assert_eq!(differences(&described, &routes).len(), 2);
}

/// Returns the rows of the server's own access table.
fn table() -> BTreeSet<String> {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/access.md");
    let page = std::fs::read_to_string(page).unwrap();
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`'));
    rows.map(|(route, _)| route.to_owned()).collect()
}

fn differences(expected: &BTreeSet<String>, found: &BTreeSet<String>) -> Vec<String> {
    let missing = expected.difference(found).map(|route| format!("{route} is missing"));
    missing.chain(found.difference(expected).map(|route| format!("{route} is not expected"))).collect()
}

async fn only_pages_of_the_console_can_change_data_with_its_session(world: World) {
    let eva = world.client("eva").await;
    let cookie = format!("otra=1; turno_session={}", eva.secret());
    let claim = |headers: &[(&'static str, String)]| {
        let request = world.anonymous().request(Method::POST, "/v1/leases/caja:1/claim").header("cookie", &cookie);
        headers.iter().fold(request, |request, (name, value)| request.header(*name, value)).body("{}")
    };
    let host = world.server.base.strip_prefix("http://").unwrap().to_owned();
    for foreign in [
        &[][..],
        &[("origin", "https://evil.example".to_owned())],
        &[("origin", "null".to_owned())],
        &[("sec-fetch-site", "cross-site".to_owned()), ("origin", format!("http://{host}"))],
        &[("sec-fetch-site", "same-site".to_owned())],
    ] {
        crate::world::answer(claim(foreign).send().await.unwrap()).await.problem(403, "cross_site");
    }
    for ours in [&[("origin", format!("http://{host}"))][..], &[("sec-fetch-site", "same-origin".to_owned())]] {
        assert_eq!(claim(ours).send().await.unwrap().status(), 200);
    }
    // A read changes nothing, so a link from another site may lead here.
    let read = world.anonymous().request(Method::GET, "/v1/me").header("cookie", &cookie);
    assert_eq!(read.send().await.unwrap().status(), 200);
}

async fn pages_of_configured_origins_may_call(world: World) {
    let server = Running::start(&world.url, &["--cors-origin", "https://tienda.example"]);
    let ask = |origin: &str| {
        let request = world.anonymous().at(&server).request(Method::OPTIONS, "/v1/leases/caja:1/claim");
        request.header("origin", origin).header("access-control-request-method", "POST").send()
    };
    let allowed = ask("https://tienda.example").await.unwrap();
    assert_eq!(
        (allowed.status().as_u16(), &allowed.headers()["access-control-allow-origin"]),
        (200, &"https://tienda.example".parse().unwrap())
    );
    assert!(!ask("https://evil.example").await.unwrap().headers().contains_key("access-control-allow-origin"));
}

async fn a_backend_acts_for_a_user_and_the_audit_shows_both(world: World) {
    let (eva, ana) = (world.client("eva").await, world.client("ana").await);
    let acting = |client: &Client, actor: &str, method: Method, path: &str, body: serde_json::Value| {
        client.request(method, path).header("turno-actor", actor).json(&body).send()
    };
    let claimed = acting(&eva, "paco", Method::POST, "/v1/leases/caja:9/claim", json!({})).await.unwrap();
    let claimed = crate::world::answer(claimed).await.expect(200);
    assert_eq!((&claimed["holder"]["id"], &claimed["mine"]), (&json!("paco"), &json!(true)));
    let me = crate::world::answer(acting(&eva, "ni%C3%B1o", Method::GET, "/v1/me", json!({})).await.unwrap()).await;
    let me = me.expect(200);
    assert_eq!((&me["id"], &me["via"]), (&json!("niño"), &json!("eva")));
    assert_eq!(me["permissions"], json!(["inventory.manage", "leases.use"]));
    // A known user acts with the permissions that both have, and the audit names both.
    world
        .turno
        .add_person(turno::access::NewPerson::new("jefa", "Jefa", turno::access::Role::Admin).unwrap())
        .await
        .unwrap();
    let made = acting(&eva, "jefa", Method::POST, "/v1/users", json!({ "id": "nuevo", "role": "viewer" })).await;
    crate::world::answer(made.unwrap()).await.expect(201);
    let entries = eva.get("/v1/audit?action=user_add&resource=nuevo").await.expect(200);
    assert_eq!((&entries["items"][0]["actor"], &entries["items"][0]["via"]), (&json!("jefa"), &json!("eva")));
    // Acting for a user needs the permission and a valid user id.
    let refused = acting(&ana, "paco", Method::GET, "/v1/me", json!({})).await.unwrap();
    let refused = crate::world::answer(refused).await.problem(403, "forbidden");
    assert_eq!(refused["permission"], "sessions.mint");
    let bad = acting(&eva, "%00", Method::GET, "/v1/me", json!({})).await.unwrap();
    crate::world::answer(bad).await.problem(400, "bad_header");
}

async fn a_token_for_some_resources_cannot_read_queues(world: World) {
    let eva = world.client("eva").await;
    eva.send(Method::PUT, "/v1/queues/mails", json!({ "kind": "inbox" })).await.expect(200);
    let page = NewToken { resources: vec!["caja:".to_owned()], ..NewToken::for_user("vera").unwrap() };
    let page = world.token(page).await;
    for path in ["/v1/queues", "/v1/queues/mails", "/v1/queues/mails/items", "/v1/stock/a", "/locks", "/metrics"] {
        page.get(path).await.problem(403, "other_resource");
    }
    page.get("/v1/leases/caja:1").await.expect(200);
    // Permissions for queues do not widen the scope. In 0.1.0 they did.
    let worker = NewToken { resources: vec!["caja:".to_owned()], ..NewToken::for_user("ana").unwrap() };
    world.token(worker).await.get("/v1/queues/mails").await.problem(403, "other_resource");
}

async fn a_refusal_reaches_a_client_that_sends_a_large_body_first(world: World) {
    use std::io::{Read, Write};
    let address = world.server.base.trim_start_matches("http://").to_owned();
    let length = 9 << 20;
    // Written by hand, because a client that reads while it writes would see the answer anyway.
    let answer = tokio::task::spawn_blocking(move || {
        let mut stream = std::net::TcpStream::connect(&address).unwrap();
        write!(stream, "POST /v1/tasks HTTP/1.1\r\nhost: {address}\r\ncontent-length: {length}\r\n\r\n").unwrap();
        stream.write_all(&vec![b' '; length]).unwrap();
        let mut head = [0; 12];
        stream.read_exact(&mut head).unwrap();
        String::from_utf8(head.to_vec()).unwrap()
    });
    assert_eq!(answer.await.unwrap(), "HTTP/1.1 401");
}

async fn the_audit_is_listed_newest_first_with_the_permission(world: World) {
    let eva = world.client("eva").await;
    for n in 0..5 {
        let id = json!({ "id": format!("p{n}"), "name": "P", "role": "viewer" });
        eva.post("/v1/users", id).await.expect(201);
    }
    let newest = eva.get("/v1/audit?limit=2&action=user_add&actor=eva").await.expect(200);
    let names = |page: &serde_json::Value| {
        let items = page["items"].as_array().unwrap().iter();
        items.map(|item| item["resource"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(names(&newest), ["p4", "p3"]);
    assert_eq!(newest["items"][0]["detail"]["role"], "viewer");
    assert_eq!(newest["items"][0]["hash"].as_str().unwrap().len(), 64);
    let cursor = newest["next_cursor"].as_str().unwrap();
    let rest = eva.get(&format!("/v1/audit?limit=9&action=user_add&actor=eva&cursor={cursor}")).await.expect(200);
    assert_eq!((names(&rest), &rest["next_cursor"]), (vec!["p2".into(), "p1".into(), "p0".into()], &json!(null)));
    eva.get("/v1/audit?cursor=x").await.problem(400, "bad_query");
    eva.get("/v1/audit?actor=%00").await.problem(400, "bad_query");
    eva.get("/v1/audit?resource=%00").await.problem(400, "bad_query");
    for user in ["ana", "vera"] {
        let client = world.client(user).await;
        assert_eq!(client.get("/v1/audit").await.problem(403, "forbidden")["permission"], "audit.read");
        client.get("/v1/audit/verify").await.problem(403, "forbidden");
    }
    let verified = eva.get("/v1/audit/verify").await.expect(200);
    assert_eq!(verified["ok"], true, "{verified}");
    let head = verified["head"].as_str().unwrap();
    assert!(head.starts_with(&format!("{}:", verified["entries"])), "{verified}");
    eva.post("/v1/users", json!({ "id": "later", "role": "viewer" })).await.expect(201);
    assert_eq!(eva.get(&format!("/v1/audit/verify?head={head}")).await.expect(200)["ok"], true);
}

async fn an_audit_that_contradicts_the_kept_head_does_not_verify(world: World) {
    let eva = world.client("eva").await;
    let verified = eva.get("/v1/audit/verify").await.expect(200);
    let (n, hash) = verified["head"].as_str().unwrap().split_once(':').unwrap();
    let other = hash.replace(&hash[..1], if hash.starts_with('0') { "1" } else { "0" });
    // Another head of the same length: the entries before it differ.
    let broken = eva.get(&format!("/v1/audit/verify?head={n}:{other}")).await.expect(200);
    assert_eq!((&broken["ok"], &broken["head"]), (&json!(false), &json!(null)));
    assert!(broken["broken"].as_str().unwrap().contains("rewritten"), "{broken}");
    eva.get("/v1/audit/verify?head=nonsense").await.problem(400, "bad_query");
}
