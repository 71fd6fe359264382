//! Guessed passwords, proxies, links from other sites, and the headers and cookies behind HTTPS.

use crate::cases;
use crate::world::{Answer, Client, Running, World, answer};
use argon2::Argon2;
use argon2::password_hash::PasswordHasher;
use argon2::password_hash::phc::PasswordHash;
use reqwest::{Method, redirect};
use serde_json::{Value, json};
use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;
use turno::access::{LinkFor, NewPerson, PaceStep, PersonChange, Role};

cases![
    a_guesser_is_refused_and_the_user_signs_in_from_another_source,
    the_pace_is_shared_by_all_servers_of_a_database,
    a_trusted_proxy_names_the_source_and_another_peer_cannot,
    failures_and_refusals_are_logged_and_audited_with_a_bound,
    a_link_opened_by_another_site_asks_before_it_signs_in,
    behind_https_the_cookie_has_the_host_prefix_and_browsers_stay_with_https,
    answers_are_not_stored_by_caches,
    common_passwords_are_refused_and_stored_ones_stay_valid,
    dots_and_bidi_controls_are_refused_in_new_names,
];

const PASSWORD: &str = "una clave larga";
const HOUR: Duration = Duration::from_secs(3_600);

/// Returns a client whose connections come from this loopback address.
fn from_source(last: u8) -> reqwest::Client {
    let address = IpAddr::V4(Ipv4Addr::new(127, 0, 0, last));
    reqwest::Client::builder().redirect(redirect::Policy::none()).local_address(address).build().unwrap()
}

async fn try_password(client: &reqwest::Client, base: &str, headers: &[(&str, &str)], password: &str) -> Answer {
    let request = client.post(format!("{base}/sign-in")).json(&json!({ "user": "ana", "password": password }));
    let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
    answer(request.send().await.unwrap()).await
}

/// Guesses passwords until the server refuses, and returns how many were checked.
async fn guess(client: &reqwest::Client, base: &str, headers: &[(&str, &str)]) -> usize {
    for n in 0..60 {
        let answer = try_password(client, base, headers, &format!("intento {n}")).await;
        if answer.status == 429 {
            answer.problem(429, "too_many_requests");
            let seconds: u32 = answer.headers["retry-after"].to_str().unwrap().parse().unwrap();
            assert!((1..=4).contains(&seconds), "{seconds}");
            return n;
        }
        answer.problem(401, "wrong_password");
    }
    panic!("sixty guesses were checked");
}

async fn set_password(world: &World) {
    let body = json!({ "password": PASSWORD });
    world.client("eva").await.send(Method::PATCH, "/v1/users/ana", body).await.expect(200);
}

async fn audit(world: &World, action: &str) -> Vec<Value> {
    let path = format!("/v1/audit?action={action}&limit=100");
    world.client("eva").await.get(&path).await.expect(200)["items"].as_array().unwrap().clone()
}

async fn a_guesser_is_refused_and_the_user_signs_in_from_another_source(world: World) {
    set_password(&world).await;
    let base = &world.server.base;
    let guesser = from_source(2);
    let checked = guess(&guesser, base, &[]).await;
    assert!((20..=23).contains(&checked), "{checked}");
    try_password(&guesser, base, &[], PASSWORD).await.problem(429, "too_many_requests");
    // The symptom of 0.1.0: twenty guesses locked Ana out everywhere.
    try_password(&from_source(3), base, &[], PASSWORD).await.expect(200);
    let leo = guesser.post(format!("{base}/sign-in")).json(&json!({ "user": "leo", "password": "x" }));
    answer(leo.send().await.unwrap()).await.problem(401, "wrong_password");
}

async fn the_pace_is_shared_by_all_servers_of_a_database(world: World) {
    set_password(&world).await;
    let second = world.second();
    // Attempts that another server has counted.
    for _ in 0..20 {
        world.turno.pace_sign_in("127.0.0.2", "ana", PaceStep::Attempt).await.unwrap();
    }
    let guesser = from_source(2);
    for base in [&world.server.base, &second.base] {
        try_password(&guesser, base, &[], PASSWORD).await.problem(429, "too_many_requests");
        try_password(&from_source(3), base, &[], PASSWORD).await.expect(200);
    }
    // The control: without the counts in the database the guesser is let in.
    world.turno.pace_sign_in("127.0.0.2", "ana", PaceStep::Success).await.unwrap();
    let fresh = world.second();
    try_password(&guesser, &fresh.base, &[], PASSWORD).await.expect(200);
}

async fn a_trusted_proxy_names_the_source_and_another_peer_cannot(world: World) {
    set_password(&world).await;
    let server = Running::start(&world.url, &["--trusted-proxy", "127.0.0.9/32", "--behind-proxy"]);
    let (proxy, base) = (from_source(9), &server.base);
    let guesser = ("x-forwarded-for", "198.51.100.1");
    assert!(guess(&proxy, base, &[guesser]).await >= 20);
    try_password(&proxy, base, &[("x-forwarded-for", "198.51.100.2")], PASSWORD).await.expect(200);
    try_password(&proxy, base, &[("forwarded", "for=198.51.100.3;proto=https")], PASSWORD).await.expect(200);
    // The proxy appends the real address behind those that the guesser invents.
    let invented = ("x-forwarded-for", "198.51.100.2, 198.51.100.1");
    try_password(&proxy, base, &[invented], PASSWORD).await.problem(429, "too_many_requests");
    let sources: Vec<String> =
        audit(&world, "sign_in").await.iter().map(|entry| entry["detail"]["source"].to_string()).collect();
    assert_eq!(sources, ["\"198.51.100.3\"", "\"198.51.100.2\""]);
    // A peer that is no proxy cannot choose its source.
    let other = from_source(4);
    for n in 0..30 {
        let invented = format!("203.0.113.{n}");
        try_password(&other, base, &[("x-forwarded-for", &invented)], "no es").await;
    }
    try_password(&other, base, &[("x-forwarded-for", "203.0.113.99")], PASSWORD)
        .await
        .problem(429, "too_many_requests");
}

async fn failures_and_refusals_are_logged_and_audited_with_a_bound(world: World) {
    set_password(&world).await;
    let mut server = Running::with_log(&world.url, &[]);
    let checked = guess(&from_source(2), &server.base, &[]).await;
    for _ in 0..200 {
        try_password(&from_source(2), &server.base, &[], "sigue").await.problem(429, "too_many_requests");
    }
    let stranger = Client::new(&server.base, None);
    for n in 0..5 {
        let wrong = json!({ "user": format!("my-secret-{n}"), "password": "x" });
        stranger.post("/sign-in", wrong).await.problem(401, "wrong_password");
    }
    try_password(&from_source(3), &server.base, &[], PASSWORD).await.expect(200);
    assert_eq!(server.stop(), Some(0), "a stop writes the counts");
    let mut log = Vec::new();
    while let Some(line) = server.try_log_line() {
        log.push(line);
    }
    let lines = |message: &str, user: &str| {
        log.iter().filter(|line| line["message"] == message && line["user"] == user).cloned().collect::<Vec<_>>()
    };
    let failed = lines("sign-in failed", "ana");
    assert_eq!(failed.len(), checked);
    assert!(failed.iter().all(|line| line["source"] == "127.0.0.2" && line["level"] == "WARN"));
    assert_eq!(lines("sign-in refused", "ana").len(), 2, "the first refusal, and the count of the others");
    assert_eq!(lines("sign-in failed", "").len(), 5);
    let all = format!("{log:?}");
    assert!(!all.contains("my-secret") && !all.contains("intento") && !all.contains(PASSWORD), "no secrets: {all}");

    let entries = audit(&world, "sign_in_failed").await;
    let of = |resource: &str| entries.iter().filter(|entry| entry["resource"] == resource).collect::<Vec<_>>();
    let sum = |resource: &str, field: &str| {
        of(resource).iter().map(|entry| entry["detail"][field].as_u64().unwrap()).sum::<u64>()
    };
    assert_eq!((of("ana").len(), of("unknown user").len()), (2, 2), "{entries:?}");
    assert_eq!((sum("ana", "failed"), sum("ana", "refused")), (checked as u64, 201));
    assert_eq!(sum("unknown user", "failed"), 5);
    assert!(of("ana").iter().all(|entry| entry["detail"]["source"] == "127.0.0.2"));
    let [entered] = &audit(&world, "sign_in").await[..] else { panic!("one sign-in") };
    assert_eq!((&entered["actor"], &entered["detail"]["method"]), (&json!("ana"), &json!("password")));
}

async fn a_link_opened_by_another_site_asks_before_it_signs_in(world: World) {
    let base = &world.server.base;
    let link = world.turno.make_link(LinkFor::SignIn("ana".try_into().unwrap()), HOUR).await.unwrap();
    let browser = from_source(1);
    let html = ("accept", "text/html");
    let visit = async |headers: &[(&str, &str)]| {
        let request = browser.get(format!("{base}/sign-in?link={link}"));
        let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        answer(request.send().await.unwrap()).await
    };
    // The symptom of 0.1.0: a visit from another site signed the person in.
    for site in [Some("cross-site"), Some("same-site"), None] {
        let headers: Vec<_> = site.map(|site| ("sec-fetch-site", site)).into_iter().chain([html]).collect();
        let asked = visit(&headers).await;
        assert_eq!(asked.status, 200, "{site:?}");
        assert!(!asked.headers.contains_key("set-cookie"), "{site:?}");
        assert!(asked.text.contains("action=\"/sign-in/link\"") && asked.text.contains("como ana"), "{}", asked.text);
        assert!(!asked.text.contains("type=\"password\""));
    }
    let confirm = async |origin: &str| {
        let request = browser.post(format!("{base}/sign-in/link")).header("origin", origin);
        let request = request.header("content-type", "application/x-www-form-urlencoded").body(format!("link={link}"));
        answer(request.send().await.unwrap()).await
    };
    assert_eq!(confirm("https://evil.example").await.status, 403, "another site cannot send the form");
    let entered = confirm(base).await;
    assert_eq!((entered.status.as_u16(), &entered.headers["location"]), (303, &"/".parse().unwrap()));
    assert!(entered.headers.contains_key("set-cookie"));
    assert_eq!(confirm(base).await.status, 410, "the link works once");
    assert_eq!(visit(&[("sec-fetch-site", "cross-site"), html]).await.status, 410);
    // A person who types the address is not asked.
    let link = world.turno.make_link(LinkFor::SignIn("leo".try_into().unwrap()), HOUR).await.unwrap();
    let typed = browser.get(format!("{base}/sign-in?link={link}")).header("sec-fetch-site", "none");
    assert_eq!(answer(typed.header("accept", "text/html").send().await.unwrap()).await.status, 303);
}

async fn behind_https_the_cookie_has_the_host_prefix_and_browsers_stay_with_https(world: World) {
    set_password(&world).await;
    let secure = ["--public-url", "https://turno.example.com"];
    let server = Running::start(&world.url, &secure);
    let base = &server.base;
    let public = ("host", "turno.example.com");
    let entered = try_password(&from_source(2), base, &[public], PASSWORD).await;
    entered.expect(200);
    let cookie = entered.headers["set-cookie"].to_str().unwrap();
    assert!(cookie.starts_with("__Host-turno_session=") && cookie.contains("; Secure") && cookie.contains("; Path=/;"));
    assert!(!cookie.contains("Domain"), "{cookie}");
    assert_eq!(entered.headers["strict-transport-security"], "max-age=31536000");
    assert_eq!(entered.headers["cross-origin-opener-policy"], "same-origin");
    let secret = cookie.split(['=', ';']).nth(1).unwrap();
    let me = async |name: &str, host: &str| {
        let request = from_source(2).get(format!("{base}/v1/me")).header("host", host);
        request.header("cookie", format!("{name}={secret}")).send().await.unwrap().status().as_u16()
    };
    assert_eq!(me("__Host-turno_session", "turno.example.com").await, 200);
    assert_eq!(me("turno_session", "turno.example.com").await, 401, "another host of the domain can set this name");
    assert_eq!(me("turno_session", "localhost:7171").await, 200, "programs on the machine use plain HTTP");
    // The control: without HTTPS there is nothing to stay with.
    let plain = try_password(&from_source(2), &world.server.base, &[], PASSWORD).await;
    assert!(plain.headers["set-cookie"].to_str().unwrap().starts_with("turno_session="));
    assert!(!plain.headers.contains_key("strict-transport-security"));
}

async fn answers_are_not_stored_by_caches(world: World) {
    let eva = world.client("eva").await;
    for path in ["/v1/me", "/v1/users", "/v1/leases/caja:1", "/v1/audit", "/v1/nothing", "/sign-in"] {
        assert_eq!(eva.get(path).await.headers["cache-control"], "no-store", "{path}");
    }
    assert_eq!(eva.get("/turno.js").await.headers["cache-control"], "no-cache", "the module has no secrets");
}

async fn common_passwords_are_refused_and_stored_ones_stay_valid(world: World) {
    let eva = world.client("eva").await;
    for password in ["12345678", "password", "Password1!", "contraseña", "aaaaaaaa", "rosa.vidal", "Rosa Vidal"] {
        let new = json!({ "id": "rosa.vidal", "name": "Rosa Vidal", "role": "editor", "password": password });
        let refused = eva.post("/v1/users", new).await.problem(400, "weak_password");
        assert!(refused["detail"].as_str().unwrap().contains("fácil de adivinar"), "{refused}");
    }
    let change = json!({ "password": "12345678" });
    eva.send(Method::PATCH, "/v1/users/ana", change).await.problem(400, "weak_password");
    // A password of 0.1.0 that would be refused now.
    let hash: PasswordHash = Argon2::default().hash_password(b"12345678").unwrap();
    let stored = PersonChange { password: Some(hash.to_string()), ..PersonChange::default() };
    world.turno.change_person("ana".try_into().unwrap(), stored).await.unwrap();
    try_password(&from_source(2), &world.server.base, &[], "12345678").await.expect(200);
}

async fn dots_and_bidi_controls_are_refused_in_new_names(world: World) {
    let eva = world.client("eva").await;
    for dots in [".", ".."] {
        let user = json!({ "id": dots, "role": "viewer" });
        assert_eq!(eva.post("/v1/users", user).await.problem(400, "bad_field")["field"], "id");
        let claim = json!({ "leases": [{ "resource": dots }] });
        let claimed = eva.post("/v1/leases/claim", claim).await.expect(200);
        assert_eq!(claimed["results"][0]["problem"]["code"], "invalid", "{claimed}");
    }
    for name in ["Ana \u{202e}zereP", "\u{2066}Ana", "Ana\u{200f}"] {
        let user = json!({ "id": "x", "name": name, "role": "viewer" });
        assert_eq!(eva.post("/v1/users", user).await.problem(400, "bad_field")["field"], "name");
        let change = json!({ "name": name });
        eva.send(Method::PATCH, "/v1/users/ana", change).await.problem(400, "bad_field");
    }
    // Ids and keys of applications may have any character, and stored names stay usable.
    eva.post("/v1/leases/claim", json!({ "leases": [{ "resource": "caja:\u{202e}1" }] })).await.expect(200);
    let name = "Vieja \u{202e}".to_owned();
    let stored = NewPerson { name, ..NewPerson::new("..", "..", Role::Viewer).unwrap() };
    world.turno.add_person(stored).await.unwrap();
    assert_eq!(world.client("..").await.get("/v1/me").await.expect(200)["name"], "Vieja \u{202e}");
}
