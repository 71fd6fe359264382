//! Signing in: passwords, links, the console's cookie, the first administrator.

use crate::cases;
use crate::console::Browser;
use crate::world::{Answer, Client, Running, World, answer};
use reqwest::{Method, redirect};
use serde_json::json;
use std::time::Duration;
use turno::Turno;
use turno::access::{LinkFor, NewPerson, PersonChange, Role};
use turno::core::time::Span;

cases![
    a_password_opens_a_session_that_ends_with_signing_out,
    a_wrong_password_and_an_unknown_user_get_the_same_answer,
    a_sign_in_form_is_answered_with_a_page_or_a_redirect,
    sign_in_pages_use_the_readers_language_and_no_scripts,
    a_form_of_another_site_cannot_sign_in,
    guessing_passwords_is_rate_limited,
    a_link_signs_in_once_and_is_removed_from_the_address,
    a_user_signed_in_by_a_link_can_set_a_password,
    a_session_is_renewed_by_work_and_not_by_background_requests,
    a_new_password_ends_the_other_sessions,
    a_disabled_user_cannot_sign_in_and_learns_why_with_the_right_password,
    the_setup_link_creates_one_administrator,
    the_first_administrator_is_created_once_by_concurrent_calls,
];

const HOUR: Duration = Duration::from_secs(3_600);

/// Returns a client that follows no redirects.
fn browser() -> reqwest::Client {
    reqwest::Client::builder().redirect(redirect::Policy::none()).build().unwrap()
}

async fn form(base: &str, path: &str, fields: &str) -> Answer {
    let request = browser().post(format!("{base}{path}")).header("content-type", "application/x-www-form-urlencoded");
    answer(request.header("origin", base).body(fields.to_owned()).send().await.unwrap()).await
}

async fn open(base: &str, path: &str) -> Answer {
    answer(browser().get(format!("{base}{path}")).send().await.unwrap()).await
}

/// Returns the secret in the cookie of an answer.
fn cookie(answer: &Answer) -> String {
    let cookie = answer.headers["set-cookie"].to_str().unwrap();
    for part in ["HttpOnly", "SameSite=Lax", "Path=/"] {
        assert!(cookie.contains(part), "{cookie}");
    }
    assert!(!cookie.contains("Secure"), "in development the cookie works without TLS: {cookie}");
    cookie.strip_prefix("turno_session=").unwrap().split(';').next().unwrap().to_owned()
}

/// Returns the status of a call with this cookie.
async fn with_cookie(base: &str, method: Method, path: &str, secret: &str) -> u16 {
    let request = browser().request(method, format!("{base}{path}")).header("origin", base);
    request.header("cookie", format!("turno_session={secret}")).send().await.unwrap().status().as_u16()
}

/// Adds a person with a password.
async fn person(world: &World, id: &str, password: &str) {
    let new = json!({ "id": id, "name": "Rosa Vidal", "role": "editor", "password": password });
    world.client("eva").await.post("/v1/users", new).await.expect(201);
}

async fn sign_in(world: &World, user: &str, password: &str) -> Answer {
    world.anonymous().post("/sign-in", json!({ "user": user, "password": password })).await
}

async fn a_password_opens_a_session_that_ends_with_signing_out(world: World) {
    person(&world, "rosa", "una clave larga").await;
    let base = &world.server.base;
    let signed_in = sign_in(&world, "rosa", "una clave larga").await;
    let me = signed_in.expect(200);
    assert_eq!((&me["id"], &me["name"], &me["role"]), (&json!("rosa"), &json!("Rosa Vidal"), &json!("editor")));
    assert!(!signed_in.text.contains("turno_"), "the secret is only in the cookie");
    let secret = cookie(&signed_in);
    assert_eq!(with_cookie(base, Method::GET, "/v1/me", &secret).await, 200);
    let tokens = world.client("eva").await.get("/v1/tokens?user=rosa").await.expect(200);
    assert_eq!(tokens["items"][0]["kind"], "console");
    // Another site cannot sign a user out.
    let foreign = browser().post(format!("{base}/sign-out")).header("cookie", format!("turno_session={secret}"));
    answer(foreign.header("origin", "https://evil.example").send().await.unwrap()).await.problem(403, "cross_site");
    assert_eq!(with_cookie(base, Method::POST, "/sign-out", &secret).await, 204);
    assert_eq!(with_cookie(base, Method::GET, "/v1/me", &secret).await, 401);
    assert_eq!(with_cookie(base, Method::POST, "/sign-out", &secret).await, 204, "signing out twice is accepted");
    let eva = Browser::signed_in(&world, "eva").await;
    assert!(eva.page("/audit?action=token_revoke").await.contains("<th scope=\"row\">Cerró sesión</th>"));
}

async fn a_wrong_password_and_an_unknown_user_get_the_same_answer(world: World) {
    person(&world, "rosa", "una clave larga").await;
    let mut answers = Vec::new();
    for (user, password) in [
        ("rosa", "otra clave larga"),
        ("nadie", "una clave larga"),
        ("ana", "una clave larga"),
        ("a\nb", "x"),
        ("", ""),
    ] {
        let refused = sign_in(&world, user, password).await;
        assert!(!refused.headers.contains_key("set-cookie"));
        let mut problem = refused.problem(401, "wrong_password");
        problem.as_object_mut().unwrap().remove("request_id");
        answers.push(problem);
    }
    answers.dedup();
    assert_eq!(answers.len(), 1, "{answers:?}");
    let missing = world.anonymous().post("/sign-in", json!({ "user": "rosa" })).await.problem(400, "bad_field");
    assert_eq!(missing["field"], "password");
}

async fn a_sign_in_form_is_answered_with_a_page_or_a_redirect(world: World) {
    person(&world, "rosa", "una clave & larga").await;
    let base = &world.server.base;
    let entered = form(base, "/sign-in", "user=rosa&password=una+clave+%26+larga").await;
    assert_eq!((entered.status.as_u16(), &entered.headers["location"]), (303, &"/".parse().unwrap()));
    assert_eq!(with_cookie(base, Method::GET, "/v1/me", &cookie(&entered)).await, 200);
    let refused = form(base, "/sign-in", "user=%3Cb%3Erosa&password=no").await;
    assert_eq!(refused.status, 401);
    assert!(refused.headers["content-type"].to_str().unwrap().starts_with("text/html"));
    assert!(refused.text.contains("role=\"alert\">El usuario o la contraseña no son correctos"), "{}", refused.text);
    assert!(refused.text.contains("value=\"&#60;b&#62;rosa\""), "the input is kept and escaped");
    let broken = form(base, "/sign-in", "user=rosa").await;
    assert_eq!(broken.status, 400);
    let out = form(base, "/sign-out", "").await;
    assert_eq!((out.status.as_u16(), &out.headers["location"]), (303, &"/sign-in".parse().unwrap()));
}

async fn sign_in_pages_use_the_readers_language_and_no_scripts(world: World) {
    let get = async |language: &str| {
        let request = world.anonymous().request(Method::GET, "/sign-in").header("accept-language", language);
        answer(request.send().await.unwrap()).await
    };
    for (language, words) in [("es-AR", ["lang=\"es\"", "Contraseña"]), ("en", ["lang=\"en\"", "Password"])] {
        let page = get(language).await;
        assert_eq!(page.status, 200);
        assert!(words.iter().all(|word| page.text.contains(word)), "{}", page.text);
        for label in ["<label for=\"user\"", "<label for=\"password\""] {
            assert!(page.text.contains(label), "{label}");
        }
        let policy = page.headers["content-security-policy"].to_str().unwrap();
        assert!(policy.contains("default-src 'none'") && !policy.contains("unsafe"), "{policy}");
        // With a stricter policy a browser would not send the origin of the form.
        assert_eq!(page.headers["referrer-policy"], "same-origin");
        assert_eq!(page.headers["cache-control"], "no-store");
    }
}

async fn a_form_of_another_site_cannot_sign_in(world: World) {
    person(&world, "rosa", "una clave larga").await;
    for (name, value) in [("origin", "https://evil.example"), ("origin", "null"), ("sec-fetch-site", "cross-site")] {
        let request = world.anonymous().request(Method::POST, "/sign-in").header(name, value);
        let request = request.json(&json!({ "user": "rosa", "password": "una clave larga" }));
        let refused = answer(request.send().await.unwrap()).await;
        refused.problem(403, "cross_site");
        assert!(!refused.headers.contains_key("set-cookie"));
    }
}

async fn guessing_passwords_is_rate_limited(world: World) {
    let mut refused = None;
    for n in 0..200 {
        let answer = sign_in(&world, "ana", &format!("intento {n}")).await;
        if answer.status == 429 {
            refused = Some((n, answer));
            break;
        }
        answer.problem(401, "wrong_password");
    }
    let (n, refused) = refused.expect("guessing is refused before the two hundredth try");
    assert!(n >= 5, "a few wrong passwords are accepted: {n}");
    refused.problem(429, "too_many_requests");
    let seconds: u32 = refused.headers["retry-after"].to_str().unwrap().parse().unwrap();
    assert!((1..=60).contains(&seconds), "{seconds}");
    sign_in(&world, "leo", "otra persona").await.problem(401, "wrong_password");
}

async fn a_link_signs_in_once_and_is_removed_from_the_address(world: World) {
    let base = &world.server.base;
    let link = world.turno.make_link(LinkFor::SignIn("ana".try_into().unwrap()), HOUR).await.unwrap();
    let path = format!("/sign-in?link={link}");
    // A mere HEAD or GET, as by mail scanners, does not use the link.
    assert_eq!(browser().head(format!("{base}{path}")).send().await.unwrap().status(), 200);
    let entered = open(base, &path).await;
    assert_eq!((entered.status.as_u16(), &entered.headers["location"]), (303, &"/".parse().unwrap()));
    let secret = cookie(&entered);
    assert_ne!(secret, link);
    assert_eq!(with_cookie(base, Method::GET, "/v1/me", &secret).await, 200);
    let again = open(base, &path).await;
    assert_eq!(again.status, 410);
    assert!(again.text.contains("El enlace ya se usó") && !again.headers.contains_key("set-cookie"));
    assert_eq!(open(base, "/sign-in?link=nonsense").await.status, 410);
}

async fn a_user_signed_in_by_a_link_can_set_a_password(world: World) {
    let base = &world.server.base;
    let link = world.turno.make_link(LinkFor::SignIn("ana".try_into().unwrap()), HOUR).await.unwrap();
    let secret = cookie(&open(base, &format!("/sign-in?link={link}")).await);
    let request = browser().post(format!("{base}/v1/me/password")).header("origin", base);
    let request = request.header("cookie", format!("turno_session={secret}"));
    answer(request.json(&json!({ "new": "una clave larga" })).send().await.unwrap()).await.expect(204);
    assert_eq!(with_cookie(base, Method::GET, "/v1/me", &secret).await, 200, "the session stays valid");
    sign_in(&world, "ana", "una clave larga").await.expect(200);
}

async fn a_session_is_renewed_by_work_and_not_by_background_requests(world: World) {
    let base = &world.server.base;
    let ana = || "ana".try_into().unwrap();
    // Less than half of the session's time is left.
    let opened = world.turno.open_session(ana(), HOUR).await.unwrap();
    let ends = async |id: &str| {
        let tokens = world.turno.tokens(Some(ana()), None, 9).await.unwrap();
        tokens.into_iter().find(|token| token.id == id).unwrap().expires_at.unwrap()
    };
    let ask = async |secret: &str, method: Method, path: &str, headers: &[(&str, &str)]| {
        let request = browser().request(method, format!("{base}{path}")).header("origin", base);
        let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        request.header("cookie", format!("turno_session={secret}")).json(&json!({})).send().await.unwrap().status()
    };
    let (token, secret) = &opened;
    let html = ("accept", "text/html,application/xhtml+xml");
    assert_eq!(ask(secret, Method::GET, "/tasks", &[html, ("hx-request", "true")]).await, 200);
    assert_eq!(ask(secret, Method::GET, "/v1/me", &[("accept", "application/json")]).await, 200);
    ask(secret, Method::POST, "/v1/leases/caja:1/heartbeat", &[]).await;
    assert_eq!(ends(&token.id).await, token.expires_at.unwrap(), "requests of an open page do not renew");
    assert_eq!(ask(secret, Method::GET, "/tasks", &[html]).await, 200);
    let until = ends(&token.id).await;
    assert!(token.expires_at.unwrap().until(until) > Span::from(HOUR * 10), "{until:?}");
    assert_eq!(ask(secret, Method::GET, "/tasks", &[html]).await, 200);
    assert_eq!(ends(&token.id).await, until, "a session is not renewed with every page");
    let (other, secret) = world.turno.open_session(ana(), HOUR).await.unwrap();
    assert_eq!(ask(&secret, Method::POST, "/v1/leases/caja:1/claim", &[]).await, 200);
    assert!(other.expires_at.unwrap() < ends(&other.id).await, "a change renews the session");
}

async fn a_new_password_ends_the_other_sessions(world: World) {
    person(&world, "rosa", "una clave larga").await;
    let base = &world.server.base;
    let first = cookie(&sign_in(&world, "rosa", "una clave larga").await);
    let second = cookie(&sign_in(&world, "rosa", "una clave larga").await);
    let request = browser().post(format!("{base}/v1/me/password")).header("origin", base);
    let request = request.header("cookie", format!("turno_session={first}"));
    let change = json!({ "current": "una clave larga", "new": "una clave nueva" });
    answer(request.json(&change).send().await.unwrap()).await.expect(204);
    assert_eq!(
        with_cookie(base, Method::GET, "/v1/me", &first).await,
        200,
        "the session that changed the password stays"
    );
    assert_eq!(with_cookie(base, Method::GET, "/v1/me", &second).await, 401);
    let eva = world.client("eva").await;
    eva.send(Method::PATCH, "/v1/users/rosa", json!({ "password": "una clave ajena" })).await.expect(200);
    assert_eq!(with_cookie(base, Method::GET, "/v1/me", &first).await, 401);
    sign_in(&world, "rosa", "una clave ajena").await.expect(200);
}

async fn a_disabled_user_cannot_sign_in_and_learns_why_with_the_right_password(world: World) {
    person(&world, "rosa", "una clave larga").await;
    let link = world.turno.make_link(LinkFor::SignIn("rosa".try_into().unwrap()), HOUR).await.unwrap();
    let secret = cookie(&sign_in(&world, "rosa", "una clave larga").await);
    let out = PersonChange { disabled: Some(true), ..PersonChange::default() };
    world.turno.change_person("rosa".try_into().unwrap(), out).await.unwrap();
    sign_in(&world, "rosa", "una clave larga").await.problem(401, "user_disabled");
    sign_in(&world, "rosa", "otra clave larga").await.problem(401, "wrong_password");
    assert_eq!(with_cookie(&world.server.base, Method::GET, "/v1/me", &secret).await, 401);
    assert_eq!(open(&world.server.base, &format!("/sign-in?link={link}")).await.status, 410);
}

/// Starts a server on an empty database of the same kind.
async fn without_users(world: &World) -> (Turno, Running) {
    let url = world.empty().await;
    let turno = Turno::open(&url).await.unwrap();
    (turno, Running::start(&url, &[]))
}

async fn the_setup_link_creates_one_administrator(world: World) {
    let (turno, server) = without_users(&world).await;
    let link = turno.make_link(LinkFor::Setup, HOUR).await.unwrap();
    let page = open(&server.base, &format!("/setup?link={link}")).await;
    assert_eq!(page.status, 200);
    assert!(page.text.contains(&format!("name=\"link\" value=\"{link}\"")), "{}", page.text);
    // Invalid fields do not use the link.
    let weak = form(&server.base, "/setup", &format!("link={link}&user=marta&password=corta")).await;
    assert_eq!(weak.status, 400);
    assert!(weak.text.contains("al menos 8 caracteres") && weak.text.contains(&link), "{}", weak.text);
    let without = form(&server.base, "/setup", "link=x&user=marta&password=una+clave+larga").await;
    assert_eq!(without.status, 410, "the setup needs its link");
    let fields = format!("link={link}&user=marta&password=una+clave+larga");
    let made = form(&server.base, "/setup", &fields).await;
    assert_eq!((made.status.as_u16(), &made.headers["location"]), (303, &"/".parse().unwrap()));
    let marta = turno.person("marta".try_into().unwrap()).await.unwrap().unwrap();
    assert_eq!(marta.role, Role::Admin);
    assert_eq!(with_cookie(&server.base, Method::GET, "/v1/users", &cookie(&made)).await, 200);
    assert_eq!(form(&server.base, "/setup", &fields.replace("marta", "otra")).await.status, 410);
    assert_eq!(open(&server.base, &format!("/setup?link={link}")).await.status, 410);
    let client = Client::new(&server.base, None);
    client.post("/sign-in", json!({ "user": "marta", "password": "una clave larga" })).await.expect(200);
}

async fn the_first_administrator_is_created_once_by_concurrent_calls(world: World) {
    let (turno, server) = without_users(&world).await;
    turno.add_person(NewPerson::new("vieja", "Vieja", Role::Editor).unwrap()).await.unwrap();
    let link = turno.make_link(LinkFor::Setup, HOUR).await.unwrap();
    let client = Client::new(&server.base, None);
    let body = |user: &str| json!({ "link": link, "user": user, "password": "una clave larga" });
    // An existing person is not made an administrator, and the link is not used.
    client.post("/setup", body("vieja")).await.problem(409, "already_exists");
    let tries = ["a", "b", "c", "d"].map(|user| client.post("/setup", body(user)));
    let [a, b, c, d] = tries;
    let answers: [Answer; 4] = tokio::join!(a, b, c, d).into();
    let made = answers.iter().filter(|answer| answer.status == 201).count();
    assert_eq!(made, 1, "{answers:?}");
    answers.iter().filter(|answer| answer.status != 201).for_each(|answer| drop(answer.problem(410, "link_used")));
    let admins = turno.people(None, 10).await.unwrap().into_iter().filter(|person| person.role == Role::Admin).count();
    assert_eq!(admins, 1);
}
