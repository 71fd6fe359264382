//! Signing in with an OpenID provider, against a provider that forges tokens, and signing in on the command line.

use crate::cases;
use crate::issuer::{CLIENT, Issuer};
use crate::world::{Answer, Client, Running, World, answer};
use reqwest::{Method, redirect};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::time::Duration;
use tokio::net::TcpListener;
use turno::access::{NewToken, Role};

cases![
    a_provider_signs_in_a_new_person_with_the_mapped_role,
    the_role_follows_the_provider_and_a_missing_one_ends_access,
    a_local_user_is_refused_until_an_administrator_links_it,
    forged_and_replayed_answers_are_refused,
    claims_that_the_id_token_lacks_come_from_userinfo,
    a_provider_that_is_down_delays_neither_the_start_nor_passwords,
    only_the_provider_signs_in_while_passwords_are_off,
    signing_out_leads_to_the_provider,
    a_code_of_the_command_line_works_once_with_its_verifier,
    a_rotated_token_replaces_the_old_one,
    tokens_that_expire_soon_are_marked_and_counted,
];

/// A server with a provider, and a browser.
struct Site {
    server: Running,
    http: reqwest::Client,
}

/// A sign-in under way.
struct Attempt {
    query: HashMap<String, String>,
    cookie: String,
}

impl Site {
    fn start(world: &World, issuer: &str, extra: &str) -> Site {
        let name = format!("turno-oidc-{}-{}.toml", std::process::id(), issuer.rsplit(':').next().unwrap());
        let config = std::env::temp_dir().join(name);
        let text = format!(
            "[oidc]\nissuer = \"{issuer}\"\nclient_id = \"{}\"\nclient_secret_env = \"OIDC_SECRET\"\n\
             roles = {{ staff = \"editor\", ops = \"admin\" }}\n{extra}",
            CLIENT.0
        );
        std::fs::write(&config, text).unwrap();
        let arguments = ["--config", config.to_str().unwrap()];
        let server = Running::with(&world.url, &arguments, &[("OIDC_SECRET", CLIENT.1), ("TURNO_LOG_LEVEL", "error")]);
        std::fs::remove_file(&config).unwrap();
        let http = reqwest::Client::builder().redirect(redirect::Policy::none()).build().unwrap();
        Site { server, http }
    }

    async fn get(&self, path: &str, cookie: &str) -> Answer {
        let request = self.http.get(format!("{}{path}", self.server.base)).header("accept", "text/html");
        answer(request.header("accept-language", "en").header("cookie", cookie).send().await.unwrap()).await
    }

    async fn form(&self, path: &str, cookie: &str, fields: &str) -> Answer {
        let request = self.http.post(format!("{}{path}", self.server.base)).header("origin", &self.server.base);
        let request = request.header("content-type", "application/x-www-form-urlencoded").header("accept", "text/html");
        answer(request.header("cookie", cookie).body(fields.to_owned()).send().await.unwrap()).await
    }

    /// Begins a sign-in and returns what the provider and the browser know of it.
    async fn begin(&self, next: &str) -> Attempt {
        let sent = self.get(&format!("/oidc/start?next={next}"), "").await;
        assert_eq!(sent.status, 303, "{}", sent.text);
        let url = sent.headers["location"].to_str().unwrap().to_owned();
        let query = url.split_once('?').unwrap().1;
        let query: HashMap<String, String> = form_urlencoded::parse(query.as_bytes()).into_owned().collect();
        let cookie = sent.headers["set-cookie"].to_str().unwrap();
        for part in ["HttpOnly", "SameSite=Lax", "Path=/", "Max-Age=600"] {
            assert!(cookie.contains(part), "{cookie}");
        }
        Attempt { query, cookie: cookie.split(';').next().unwrap().to_owned() }
    }

    async fn finish(&self, attempt: &Attempt, code: &str) -> Answer {
        let state = &attempt.query["state"];
        self.get(&format!("/oidc/callback?code={code}&state={state}"), &attempt.cookie).await
    }

    /// Signs in with these claims.
    async fn sign_in(&self, issuer: &Issuer, world: &World, claims: Value) -> Answer {
        let attempt = self.begin("/tasks").await;
        issuer.grant("c-1", &attempt.query, &header(), &full(issuer, world, &attempt, claims));
        self.finish(&attempt, "c-1").await
    }

    async fn me(&self, cookie: &str) -> Answer {
        self.get("/v1/me", cookie).await
    }
}

fn header() -> Value {
    json!({ "alg": "ES256", "kid": "k-1" })
}

/// Adds the claims of a valid token to these.
fn full(issuer: &Issuer, world: &World, attempt: &Attempt, claims: Value) -> Value {
    let now = world.turno.now().0 / 1_000;
    let mut all =
        json!({ "iss": issuer.url(), "aud": CLIENT.0, "nonce": attempt.query["nonce"], "iat": now, "exp": now + 300 });
    all.as_object_mut().unwrap().extend(claims.as_object().unwrap().clone());
    all
}

fn ana(groups: &[&str]) -> Value {
    json!({ "sub": "s-77", "preferred_username": "ana.perez", "name": "Ana Pérez", "groups": groups })
}

/// Returns the session cookie that an answer sets.
fn session(answer: &Answer) -> String {
    let cookies = answer.headers.get_all("set-cookie").into_iter().map(|cookie| cookie.to_str().unwrap());
    let mut found =
        cookies.filter(|cookie| cookie.starts_with("turno_session=")).map(|cookie| cookie.split(';').next().unwrap());
    found.next_back().unwrap_or_else(|| panic!("no session: {answer:?}")).to_owned()
}

fn refused(answer: &Answer, status: u16, text: &str) {
    assert_eq!(answer.status.as_u16(), status, "{}", answer.text);
    assert!(answer.text.contains(text), "{text}: {}", answer.text);
    let cookies = answer.headers.get_all("set-cookie").into_iter().map(|cookie| cookie.to_str().unwrap());
    assert!(cookies.into_iter().all(|cookie| !cookie.starts_with("turno_session=")), "no session is opened");
}

async fn a_provider_signs_in_a_new_person_with_the_mapped_role(world: World) {
    let issuer = Issuer::start().await;
    let site = Site::start(&world, issuer.url(), "");
    let page = site.get("/sign-in?next=%2Ftasks", "").await;
    assert!(page.text.contains("Sign in with 127.0.0.1") && page.text.contains("/oidc/start?next=%2Ftasks"));
    let attempt = site.begin("/tasks").await;
    let query = &attempt.query;
    assert_eq!(
        (query["tenant"].as_str(), query["response_type"].as_str()),
        ("1", "code"),
        "the endpoint's query stays"
    );
    assert_eq!(query["redirect_uri"], format!("{}/oidc/callback", site.server.base));
    assert_eq!(query["code_challenge_method"], "S256");
    issuer.grant("c-1", query, &header(), &full(&issuer, &world, &attempt, ana(&["staff"])));
    let entered = site.finish(&attempt, "c-1").await;
    assert_eq!((entered.status.as_u16(), &entered.headers["location"]), (303, &"/tasks".parse().unwrap()));
    let me = site.me(&session(&entered)).await.expect(200);
    assert_eq!((&me["id"], &me["name"], &me["role"]), (&json!("ana.perez"), &json!("Ana Pérez"), &json!("editor")));
    let user = world.client("eva").await.get("/v1/users/ana.perez").await.expect(200);
    assert_eq!(user["identity"], json!({ "issuer": issuer.url(), "subject": "s-77" }));
    // A second sign-in is the same person, also under a new name.
    let renamed = json!({ "sub": "s-77", "preferred_username": "ana.ruiz", "groups": ["staff"] });
    let again = session(&site.sign_in(&issuer, &world, renamed).await);
    assert_eq!(site.me(&again).await.expect(200)["id"], "ana.perez");
    for foreign in ["//evil.example", "https:%2F%2Fevil.example"] {
        let attempt = site.begin(foreign).await;
        issuer.grant("c-2", &attempt.query, &header(), &full(&issuer, &world, &attempt, ana(&["staff"])));
        assert_eq!(site.finish(&attempt, "c-2").await.headers["location"], "/", "{foreign}");
    }
}

async fn the_role_follows_the_provider_and_a_missing_one_ends_access(world: World) {
    let issuer = Issuer::start().await;
    let site = Site::start(&world, issuer.url(), "");
    let first = session(&site.sign_in(&issuer, &world, ana(&["staff"])).await);
    let second = session(&site.sign_in(&issuer, &world, ana(&["staff", "ops"])).await);
    for cookie in [&first, &second] {
        assert_eq!(site.me(cookie).await.expect(200)["role"], "admin", "older sessions follow, too");
    }
    let (_, token) = world.turno.create_token(NewToken::for_user("ana.perez").unwrap()).await.unwrap();
    refused(&site.sign_in(&issuer, &world, ana(&["guests"])).await, 403, "has no role here");
    for cookie in [&first, &second] {
        site.me(cookie).await.expect(401);
    }
    Client::new(&site.server.base, Some(token)).get("/v1/me").await.expect(401);
    let unknown = json!({ "sub": "s-78", "preferred_username": "luz", "groups": [] });
    refused(&site.sign_in(&issuer, &world, unknown).await, 403, "has no role here");
    world.client("eva").await.get("/v1/users/luz").await.problem(404, "not_found");
    let audit = world.client("eva").await.get("/v1/audit?action=access_end").await.expect(200);
    assert_eq!(audit["items"].as_array().unwrap().len(), 1, "{audit}");
}

async fn a_local_user_is_refused_until_an_administrator_links_it(world: World) {
    let issuer = Issuer::start().await;
    let site = Site::start(&world, issuer.url(), "");
    let leo = || json!({ "sub": "s-9", "preferred_username": "leo", "groups": ["ops"] });
    refused(&site.sign_in(&issuer, &world, leo()).await, 403, "link it to the subject s-9");
    let identity = json!({ "issuer": issuer.url(), "subject": "s-9" });
    let link = async |client: &Client, id: &str, body: &Value| {
        client.send(Method::PUT, &format!("/v1/users/{id}/identity"), body.clone()).await
    };
    let (eva, ana) = (world.client("eva").await, world.client("ana").await);
    link(&ana, "leo", &identity).await.problem(403, "forbidden");
    link(&eva, "leo", &json!({ "issuer": "", "subject": "s-9" })).await.problem(400, "bad_field");
    assert_eq!(link(&eva, "leo", &identity).await.expect(200)["identity"], identity);
    link(&eva, "ana", &identity).await.problem(409, "identity_linked");
    let cookie = session(&site.sign_in(&issuer, &world, leo()).await);
    let me = site.me(&cookie).await.expect(200);
    assert_eq!((&me["id"], &me["role"]), (&json!("leo"), &json!("admin")));
    eva.delete("/v1/users/leo/identity").await.expect(204);
    refused(&site.sign_in(&issuer, &world, leo()).await, 403, "link it to the subject s-9");
    let audit = eva.get("/v1/audit?action=user_link").await.expect(200);
    assert_eq!(audit["items"].as_array().unwrap().len(), 2, "{audit}");
    // The console's form links as well.
    let eva = session_of(&world, "eva").await;
    let page = site.get("/admin/people/leo", &eva).await;
    assert!(page.text.contains("Link account"), "{}", page.text);
    let fields = format!("issuer={}&subject=s-9", issuer.url().replace(':', "%3A").replace('/', "%2F"));
    assert_eq!(site.form("/console/people/leo/link", &eva, &fields).await.status, 303);
    assert!(site.get("/admin/people/leo", &eva).await.text.contains("<code>s-9</code>"));
    assert_eq!(site.form("/console/people/leo/unlink", &eva, "").await.status, 303);
    world.turno.sign_in_identity(claims_of_leo(issuer.url())).await.unwrap_err();
}

fn claims_of_leo(issuer: &str) -> turno::access::IdentityClaims {
    let identity = turno::access::Identity { issuer: issuer.to_owned(), subject: "s-9".to_owned() };
    let id = "leo".try_into().unwrap();
    turno::access::IdentityClaims { identity, id, name: "Leo".to_owned(), role: Some(Role::Viewer) }
}

async fn session_of(world: &World, user: &str) -> String {
    let (_, secret) = world.turno.open_session(user.try_into().unwrap(), Duration::from_secs(3_600)).await.unwrap();
    format!("turno_session={secret}")
}

async fn forged_and_replayed_answers_are_refused(world: World) {
    let issuer = Issuer::start().await;
    let site = Site::start(&world, issuer.url(), "");
    let now = world.turno.now().0 / 1_000;
    let wrong = [
        (header(), json!({ "nonce": "another" })),
        (header(), json!({ "aud": "another" })),
        (header(), json!({ "iss": "https://evil.example" })),
        (header(), json!({ "exp": now - 3_600 })),
        (json!({ "alg": "none" }), json!({})),
        (json!({ "alg": "HS256", "kid": "k-1" }), json!({})),
        (json!({ "alg": "ES256", "kid": "k-2" }), json!({})),
    ];
    for (header, change) in wrong {
        let attempt = site.begin("/").await;
        let mut claims = full(&issuer, &world, &attempt, ana(&["staff"]));
        claims.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        issuer.grant("c-1", &attempt.query, &header, &claims);
        refused(&site.finish(&attempt, "c-1").await, 403, "The answer of the provider is not valid");
    }
    // Without the forgery the same token signs in. This is the control of all cases above and below.
    let attempt = site.begin("/").await;
    let grant = || issuer.grant("c-1", &attempt.query, &header(), &full(&issuer, &world, &attempt, ana(&["staff"])));
    grant();
    session(&site.finish(&attempt, "c-1").await);
    refused(&site.finish(&attempt, "c-1").await, 403, "The provider refused the sign-in (invalid_grant)");
    grant();
    let other = site.begin("/").await;
    let swapped = Attempt { query: attempt.query.clone(), cookie: other.cookie.clone() };
    refused(&site.finish(&swapped, "c-1").await, 403, "was begun in another tab");
    let bare = Attempt { query: attempt.query.clone(), cookie: String::new() };
    refused(&site.finish(&bare, "c-1").await, 403, "was begun in another tab");
    // A stolen code is useless in another browser, because its verifier is another one.
    let thief = Attempt { query: other.query.clone(), cookie: other.cookie };
    refused(&site.finish(&thief, "c-1").await, 403, "invalid_grant");
    let denied = format!("/oidc/callback?error=access_denied&state={}", attempt.query["state"]);
    refused(&site.get(&denied, &attempt.cookie).await, 403, "(access_denied)");
    assert_eq!(world.turno.people(None, 10).await.unwrap().len(), 5, "only one sign-in added a person");
}

async fn claims_that_the_id_token_lacks_come_from_userinfo(world: World) {
    let issuer = Issuer::start().await;
    let site = Site::start(&world, issuer.url(), "");
    issuer.tell(json!({ "sub": "s-5", "preferred_username": "mar", "groups": ["staff"] }));
    let cookie = session(&site.sign_in(&issuer, &world, json!({ "sub": "s-5" })).await);
    assert_eq!(site.me(&cookie).await.expect(200)["id"], "mar");
    let other = site.sign_in(&issuer, &world, json!({ "sub": "s-6" })).await;
    refused(&other, 403, "The answer of the provider is not valid");
    issuer.tell(json!({ "sub": "s-7", "groups": ["staff"] }));
    let nameless = site.sign_in(&issuer, &world, json!({ "sub": "s-7" })).await;
    refused(&nameless, 403, "The provider sends no valid preferred_username");
}

async fn a_provider_that_is_down_delays_neither_the_start_nor_passwords(world: World) {
    // A bound port without an accepting server would hang, so the port is closed again.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let site = Site::start(&world, &format!("http://{address}"), "");
    refused(&site.get("/oidc/start", "").await, 503, "The OpenID provider cannot be used now");
    assert!(site.get("/oidc/start", "").await.text.contains("name=\"password\""), "passwords are still offered");
    let new = json!({ "id": "rosa", "role": "editor", "password": "una clave larga" });
    world.client("eva").await.post("/v1/users", new).await.expect(201);
    let entered = site.form("/sign-in", "", "user=rosa&password=una+clave+larga").await;
    assert_eq!(entered.status, 303, "{}", entered.text);
    // Once the provider is there, the same server uses it.
    let issuer = Issuer::at(TcpListener::bind(address).await.unwrap());
    session(&site.sign_in(&issuer, &world, ana(&["staff"])).await);
}

async fn only_the_provider_signs_in_while_passwords_are_off(world: World) {
    let issuer = Issuer::start().await;
    let site = Site::start(&world, issuer.url(), "only = true\n");
    let new = json!({ "id": "rosa", "role": "admin", "password": "una clave larga" });
    world.client("eva").await.post("/v1/users", new).await.expect(201);
    let page = site.get("/sign-in", "").await;
    assert!(!page.text.contains("name=\"password\"") && page.text.contains("/oidc/start"), "{}", page.text);
    refused(&site.form("/sign-in", "", "user=rosa&password=una+clave+larga").await, 403, "");
    let call = Client::new(&site.server.base, None);
    let body = json!({ "user": "rosa", "password": "una clave larga" });
    call.post("/sign-in", body).await.problem(403, "passwords_off");
    session(&site.sign_in(&issuer, &world, ana(&["ops"])).await);
    // The command line makes a link for an administrator, and for no other person.
    let link = |user: &str| {
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_turno"));
        command.args(["user", "break-glass", user, "--database", &world.url]).env("LC_ALL", "C").output().unwrap()
    };
    assert!(!link("ana").status.success());
    let printed = link("eva");
    let url = String::from_utf8(printed.stdout).unwrap();
    let path = url.trim().split_once("7171").unwrap_or_else(|| panic!("{url}")).1.to_owned();
    let link = path.split_once("link=").unwrap().1;
    assert_eq!(world.turno.redeem_link(link).await.unwrap().unwrap().user().unwrap().as_str(), "eva");
}

async fn signing_out_leads_to_the_provider(world: World) {
    let issuer = Issuer::start().await;
    let site = Site::start(&world, issuer.url(), "");
    let entered = site.sign_in(&issuer, &world, ana(&["staff"])).await;
    let cookie = session(&entered);
    let mut all = entered.headers.get_all("set-cookie").into_iter().map(|cookie| cookie.to_str().unwrap());
    let marker = all.rfind(|cookie| cookie.starts_with("turno_oidc=")).unwrap().split(';').next().unwrap();
    let left = site.form("/sign-out", &format!("{cookie}; {marker}"), "").await;
    assert_eq!(left.status, 200, "{}", left.text);
    let refresh = left.headers["refresh"].to_str().unwrap();
    let back = format!("{}/sign-in", site.server.base).replace(':', "%3A").replace('/', "%2F");
    let url = format!("{}/end?client_id=turno&post_logout_redirect_uri={back}", issuer.url());
    assert_eq!(refresh, format!("0;url={url}"));
    site.me(&cookie).await.expect(401);
    // A session that a link opened ends here only.
    let eva = session_of(&world, "eva").await;
    let left = site.form("/sign-out", &eva, "").await;
    assert_eq!((left.status.as_u16(), &left.headers["location"]), (303, &"/sign-in".parse().unwrap()));
}

async fn a_code_of_the_command_line_works_once_with_its_verifier(world: World) {
    use base64::Engine as _;
    use sha2::Digest as _;
    let http = reqwest::Client::builder().redirect(redirect::Policy::none()).build().unwrap();
    let site = Site { server: world.second(), http };
    let (verifier, state) = ("v".repeat(43), "s".repeat(43));
    let challenge = base64::prelude::BASE64_URL_SAFE_NO_PAD.encode(sha2::Sha256::digest(verifier.as_bytes()));
    let query = format!("port=4711&challenge={challenge}&state={state}&machine=pc-7");
    let away = site.get(&format!("/login?{query}"), "").await;
    assert!(away.headers["location"].to_str().unwrap().starts_with("/sign-in?next=%2Flogin"), "{away:?}");
    let ana = session_of(&world, "ana").await;
    let page = site.get(&format!("/login?{query}"), &ana).await;
    assert!(page.text.contains("pc-7") && page.text.contains("act as ana"), "{}", page.text);
    let policy = page.headers["content-security-policy"].to_str().unwrap();
    assert!(policy.contains("form-action 'self' http://127.0.0.1:4711;"), "{policy}");
    assert_eq!(site.get("/login?port=4711&challenge=x&state=y", &ana).await.status, 400);
    let code = async || {
        let sent = site.form("/console/login", &ana, &query).await;
        let url = sent.headers["location"].to_str().unwrap().to_owned();
        let rest = url.strip_prefix("http://127.0.0.1:4711/?code=").unwrap_or_else(|| panic!("{url}")).to_owned();
        let (code, rest) = rest.split_once('&').unwrap();
        assert_eq!(rest, format!("state={state}"));
        code.to_owned()
    };
    let exchange = async |code: &str, verifier: &str| {
        world.anonymous().post("/v1/login", json!({ "code": code, "verifier": verifier })).await
    };
    let first = code().await;
    exchange(&first, &"w".repeat(43)).await.problem(410, "link_used");
    assert_eq!(site.get(&format!("/sign-in?link={first}"), "").await.status, 410, "the code is no sign-in link");
    // The code was made by one instance and is exchanged at another.
    let made = exchange(&first, &verifier).await.expect(201);
    exchange(&first, &verifier).await.problem(410, "link_used");
    let token = Client::new(&world.server.base, Some(made["token"].as_str().unwrap().to_owned()));
    assert_eq!(token.get("/v1/me").await.expect(200)["id"], "ana");
    // A program with a token cannot confirm for its owner, and another site cannot either.
    let program = format!("turno_session={}", world.client("ana").await.secret());
    assert_ne!(
        site.form("/console/login", &program, &query).await.headers["location"].to_str().unwrap().get(..17),
        Some("http://127.0.0.1:")
    );
    let foreign =
        site.http.post(format!("{}/console/login", site.server.base)).header("origin", "https://evil.example");
    let foreign = foreign.header("cookie", &ana).header("content-type", "application/x-www-form-urlencoded");
    assert_eq!(foreign.body(query.clone()).send().await.unwrap().status(), 403);
}

async fn a_rotated_token_replaces_the_old_one(world: World) {
    let eva = world.client("eva").await;
    let body = json!({ "user": "ana", "permissions": ["queues.consume"], "queues": ["mails"], "expires_in_s": 3_600 });
    let old = eva.post("/v1/tokens", body).await.expect(201);
    let rotate = async |client: &Client, id: &Value, body: Value| {
        client.post(&format!("/v1/tokens/{}/rotate", id.as_str().unwrap()), body).await
    };
    let bot = Client::new(&world.server.base, Some(old["token"].as_str().unwrap().to_owned()));
    rotate(&bot, &old["id"], json!({})).await.problem(400, "invalid");
    rotate(&eva, &old["id"], json!({ "overlap_s": -1 })).await.problem(400, "bad_field");
    let new = rotate(&eva, &old["id"], json!({ "overlap_s": 60 })).await.expect(201);
    for field in ["user", "permissions", "queues", "machine"] {
        assert_eq!(new[field], old[field], "{field}");
    }
    bot.get("/v1/me").await.expect(200);
    let last = rotate(&eva, &new["id"], json!({})).await.expect(201);
    Client::new(&world.server.base, Some(new["token"].as_str().unwrap().to_owned())).get("/v1/me").await.expect(401);
    Client::new(&world.server.base, Some(last["token"].as_str().unwrap().to_owned())).get("/v1/me").await.expect(200);
    rotate(&world.client("leo").await, &last["id"], json!({})).await.problem(403, "forbidden");
    rotate(&eva, &json!("unknown"), json!({})).await.problem(404, "not_found");
}

async fn tokens_that_expire_soon_are_marked_and_counted(world: World) {
    let day = Duration::from_secs(86_400);
    for days in [6, 8] {
        let new = NewToken { expires_in: Some(day * days), ..NewToken::for_user("ana").unwrap() };
        world.turno.create_token(new).await.unwrap();
    }
    let eva = world.client("eva").await;
    let metrics = eva.get("/metrics").await.text;
    assert!(metrics.contains("turno_tokens_expiring_soon 1"), "{metrics}");
    let cookie = session_of(&world, "eva").await;
    let page = reqwest::Client::new().get(format!("{}/admin/tokens", world.server.base)).header("cookie", cookie);
    let page = answer(page.header("accept-language", "es").send().await.unwrap()).await;
    assert_eq!(page.text.matches("Vence pronto").count(), 1, "{}", page.text);
}
