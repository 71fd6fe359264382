//! The console from outside: pages for each role, in both languages, with foreign text escaped; forms that act as
//! their sender.

use crate::cases;
use crate::world::{Answer, World, answer};
use reqwest::{Method, redirect};
use serde_json::json;
use turno::core::lease::Action;
use turno::core::queue::OnExhausted;
use turno::queue::{Claim, Draft, Kind, Policy};

cases![
    every_page_answers_each_role_in_both_languages_without_a_missing_text,
    an_anonymous_visitor_signs_in_and_returns_to_the_page,
    a_missing_page_is_answered_as_a_page_and_to_programs_as_json,
    actions_without_permission_are_neither_offered_nor_carried_out,
    foreign_names_are_escaped_on_every_page,
    filters_are_kept_in_the_address,
    a_forced_release_needs_a_reason_and_is_audited,
    a_queue_is_paused_and_resumed_by_its_buttons,
    exhausted_items_are_counted_before_they_are_retried,
    a_key_with_only_exhausted_items_is_shown_as_waiting_for_a_decision,
    an_item_is_corrected_and_retried_and_cancelled,
    a_form_of_another_site_changes_nothing,
    the_chosen_language_and_theme_are_kept,
    pages_contain_no_inline_script_or_style,
];

/// The browser of a signed-in user. It sends a cookie and the origin of its forms, and follows no redirect by itself.
pub(crate) struct Browser {
    http: reqwest::Client,
    base: String,
    cookies: Vec<String>,
    language: &'static str,
}

impl Browser {
    pub(crate) async fn signed_in(world: &World, user: &str) -> Browser {
        let client = world.client(user).await;
        Browser::with(world, vec![format!("turno_session={}", client.secret())])
    }

    /// Returns the same browser with another language.
    pub(crate) fn reading(self, language: &'static str) -> Browser {
        Browser { language, ..self }
    }

    /// Returns the same browser for another server.
    pub(crate) fn at(self, server: &crate::world::Running) -> Browser {
        Browser { base: server.base.clone(), ..self }
    }

    pub(crate) fn stranger(world: &World) -> Browser {
        Browser::with(world, Vec::new())
    }

    pub(crate) fn with(world: &World, cookies: Vec<String>) -> Browser {
        let http = reqwest::Client::builder().redirect(redirect::Policy::none()).build().unwrap();
        Browser { http, base: world.server.base.clone(), cookies, language: "es" }
    }

    fn request(&self, method: Method, path: &str) -> reqwest::RequestBuilder {
        let request = self.http.request(method, format!("{}{path}", self.base));
        let request = request.header("accept", "text/html").header("accept-language", self.language);
        if self.cookies.is_empty() { request } else { request.header("cookie", self.cookies.join("; ")) }
    }

    pub(crate) async fn open(&self, path: &str) -> Answer {
        answer(self.request(Method::GET, path).send().await.unwrap()).await
    }

    /// Opens a page, asserts that it exists, and returns its text.
    pub(crate) async fn page(&self, path: &str) -> String {
        let page = self.open(path).await;
        assert_eq!(page.status, 200, "{path}: {}", page.text);
        assert!(page.headers["content-type"].to_str().unwrap().starts_with("text/html"), "{path}");
        page.text
    }

    pub(crate) async fn post(&self, path: &str, fields: &[(&str, &str)]) -> Answer {
        self.post_from(&self.base, path, fields).await
    }

    async fn post_from(&self, origin: &str, path: &str, fields: &[(&str, &str)]) -> Answer {
        let body: Vec<String> = fields.iter().map(|(name, value)| format!("{name}={}", encoded(value))).collect();
        let request = self.request(Method::POST, path).header("origin", origin);
        let request = request.header("content-type", "application/x-www-form-urlencoded").body(body.join("&"));
        answer(request.send().await.unwrap()).await
    }

    /// Sends a form that is answered with a redirect. Returns the message that the next page shows.
    pub(crate) async fn done(&self, path: &str, fields: &[(&str, &str)]) -> String {
        let sent = self.post(path, fields).await;
        assert_eq!(sent.status, 303, "{path}: {}", sent.text);
        let to = sent.headers["location"].to_str().unwrap();
        let flash = sent.headers["set-cookie"].to_str().unwrap().split(';').next().unwrap().to_owned();
        let browser =
            Browser { cookies: [&self.cookies[..], &[flash]].concat(), http: self.http.clone(), ..*self.copy() };
        let page = browser.open(to).await;
        assert!(page.headers["set-cookie"].to_str().unwrap().starts_with("turno_flash=;"), "the message is shown once");
        let flash =
            page.text.split("class=\"flash").nth(1).unwrap_or_else(|| panic!("no message was shown: {}", page.text));
        flash.split_once('>').unwrap().1.split("</p>").next().unwrap().to_owned()
    }

    fn copy(&self) -> Box<Browser> {
        let Browser { http, base, cookies, language } = self;
        Box::new(Browser { http: http.clone(), base: base.clone(), cookies: cookies.clone(), language })
    }
}

/// Encodes text as a form does.
fn encoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

/// Creates data to see: a lane with an exhausted item, another with a waiting item, and a lock.
pub(crate) async fn furnished(world: &World) {
    let policy = Policy { max_attempts: 1, window: turno::core::time::Span::ZERO, ..Policy::for_kind(Kind::Lane) };
    let chat = world.turno.put_queue("chat", policy).await.unwrap();
    let draft = |id: &str, key: &str| Draft::json(&json!({ "texto": id })).unwrap().id(id).unwrap().key(key).unwrap();
    chat.enqueue(vec![draft("m-1", "ana"), draft("m-2", "leo"), draft("m-3", "eva")]).await.unwrap();
    let editor = world.client("ana").await;
    let claim = json!({ "instance": "bot-1", "max": 2 });
    let got = editor.post("/v1/queues/chat/claim", claim).await.expect(200);
    for delivery in got["deliveries"].as_array().unwrap() {
        let failed = json!({ "delivery": delivery["delivery"], "fence": delivery["fence"], "error": "no hay línea" });
        let fail = json!({ "deliveries": [failed] });
        editor.post("/v1/queues/chat/fail", fail).await.expect(200);
    }
    lock(world, "caja:1").await;
}

async fn lock(world: &World, resource: &str) {
    let claim = Action::Claim { ttl: None, wait: false };
    world.turno.lease_command(world.turno.command(resource, "ana", claim).unwrap()).await.unwrap().answer.unwrap();
}

const PAGES: &[&str] = &[
    "/",
    "/tasks",
    "/leases",
    "/leases/caja%3A1",
    "/leases/caja%3A2",
    "/queues",
    "/queues/chat",
    "/queues/chat?state=exhausted",
    "/queues/chat?state=all",
    "/queues/chat/keys/ana",
    "/queues/chat/keys/nadie",
    "/queues/chat/items/m-1",
    "/queues/chat/items/m-3",
    "/sync",
];
const ADMIN_PAGES: &[&str] =
    &["/audit", "/admin", "/admin/people/ana", "/admin/tokens", "/admin/settings", "/audit?action=item_retry"];

/// Returns the message keys that were not translated: lower-case words joined by a dash where a sentence should be.
pub(crate) fn missing_texts(page: &str) -> Vec<String> {
    let texts = [include_str!("../../locales/console.es.ftl"), include_str!("../../locales/tasks.es.ftl")];
    let known: Vec<String> = texts
        .iter()
        .flat_map(|text| text.lines())
        .filter_map(|line| line.split_once(" =").map(|(name, _)| name.to_owned()))
        .filter(|name| name.contains('-') && !name.starts_with(' '))
        .collect();
    let bodies = page.split('>').filter_map(|piece| piece.split('<').next()).map(str::trim);
    bodies.filter(|text| known.iter().any(|name| name == text) || text.contains("{ $")).map(str::to_owned).collect()
}

async fn every_page_answers_each_role_in_both_languages_without_a_missing_text(world: World) {
    furnished(&world).await;
    for user in ["vera", "ana", "eva"] {
        for language in ["es", "en"] {
            let browser = Browser { language, ..*Browser::signed_in(&world, user).await.copy() };
            let more = if user == "eva" { ADMIN_PAGES } else { &[] };
            for path in PAGES.iter().chain(more) {
                let page = browser.page(path).await;
                assert!(page.contains(&format!("<html lang=\"{language}\"")), "{path}");
                assert!(page.contains("class=\"skip\" href=\"#main\""), "{path} has a skip link");
                assert_eq!(page.matches("<h1").count(), 1, "{path} has one heading of the first level");
                assert_eq!(page.matches("<main").count(), 1, "{path}");
                assert_eq!(missing_texts(&page), [""; 0], "{path} in {language}");
            }
            if user != "eva" {
                for path in ADMIN_PAGES {
                    let refused = browser.open(path).await;
                    assert_eq!(refused.status, 403, "{path} for {user}");
                    assert!(
                        refused.text.contains("<h1>") && refused.text.contains("</nav>"),
                        "a refusal is shown in the console's frame"
                    );
                }
            }
        }
    }
}

async fn an_anonymous_visitor_signs_in_and_returns_to_the_page(world: World) {
    let eva = world.client("eva").await;
    let new = json!({ "id": "rosa", "name": "Rosa", "role": "editor", "password": "una clave larga" });
    eva.post("/v1/users", new).await.expect(201);
    let stranger = Browser::stranger(&world);
    assert!(stranger.page("/").await.contains("action=\"/sign-in\""), "the page shows the sign-in form");
    let sent = stranger.open("/queues/chat?state=error").await;
    assert_eq!(sent.status, 303);
    let to = sent.headers["location"].to_str().unwrap().to_owned();
    assert_eq!(to, "/sign-in?next=%2Fqueues%2Fchat%3Fstate%3Derror");
    let form = stranger.page(&to).await;
    assert!(form.contains("name=\"next\" value=\"/queues/chat?state=error\""), "{form}");
    let fields = [("user", "rosa"), ("password", "una clave larga"), ("next", "/queues/chat?state=error")];
    let entered = stranger.post("/sign-in", &fields).await;
    assert_eq!(entered.headers["location"], "/queues/chat?state=error");
    for foreign in ["https://evil.example/", "//evil.example", "/\\evil.example"] {
        let fields = [("user", "rosa"), ("password", "una clave larga"), ("next", foreign)];
        assert_eq!(stranger.post("/sign-in", &fields).await.headers["location"], "/", "{foreign}");
    }
    // An open page gets a header instead of a redirect, because it may contain unsaved input.
    let part = stranger.request(Method::GET, "/queues").header("hx-request", "true").send().await.unwrap();
    assert_eq!(part.status(), 401);
    assert!(!part.headers().contains_key("hx-redirect") && !part.headers().contains_key("location"));
}

async fn a_missing_page_is_answered_as_a_page_and_to_programs_as_json(world: World) {
    let ana = Browser::signed_in(&world, "ana").await;
    for path in ["/nada", "/queues/nada", "/queues/nada/items/x", "/leases?cursor=zz", "/queues/nada?state=raro"] {
        let page = ana.open(path).await;
        assert!(matches!(page.status.as_u16(), 400 | 404), "{path}: {}", page.status);
        assert!(page.text.contains("<h1>") && page.text.contains("aria-label=\"Secciones\""), "{path}: {}", page.text);
        assert!(page.text.contains(page.headers["x-request-id"].to_str().unwrap()), "{path}");
    }
    let program = world.client("ana").await;
    program.get("/queues/nada").await.problem(404, "not_found");
    program.get("/v1/queues/nada").await.problem(404, "not_found");
    let api = answer(ana.request(Method::GET, "/v1/queues/nada").send().await.unwrap()).await;
    api.problem(404, "not_found");
}

async fn actions_without_permission_are_neither_offered_nor_carried_out(world: World) {
    furnished(&world).await;
    let (ana, eva) = (Browser::signed_in(&world, "ana").await, Browser::signed_in(&world, "eva").await);
    for path in ["/queues/chat", "/queues/chat/items/m-1", "/leases/caja%3A1"] {
        let offers = |page: String| page.split("<main").nth(1).unwrap().contains("action=\"/console/");
        assert!(!offers(ana.page(path).await), "{path}");
        assert!(offers(eva.page(path).await), "{path}: the control, an administrator");
    }
    assert!(!ana.page("/").await.contains("href=\"/admin\"") && eva.page("/").await.contains("href=\"/admin\""));
    assert_eq!(ana.post("/console/queues/chat/pause", &[]).await.status, 403);
    assert!(!world.turno.queue("chat").await.unwrap().row().await.unwrap().paused);
    // A token that is restricted to some resources, as for pages of other applications, cannot open the console.
    let token = turno::access::NewToken {
        resources: vec!["caja:".to_owned()],
        ..turno::access::NewToken::for_user("eva").unwrap()
    };
    let (_, secret) = world.turno.create_token(token).await.unwrap();
    let confined = Browser::with(&world, vec![format!("turno_session={secret}")]);
    for path in ["/", "/queues", "/audit"] {
        assert_eq!(confined.open(path).await.status, 403, "{path}");
    }
}

async fn foreign_names_are_escaped_on_every_page(world: World) {
    const EVIL: &str = "<img src=x onerror=alert(1)>\"'&";
    let queue =
        world.turno.put_queue("inbox", Policy { max_attempts: 1, ..Policy::for_kind(Kind::Inbox) }).await.unwrap();
    let draft = Draft::json(&json!({ "x": EVIL })).unwrap().id(EVIL).unwrap().key(EVIL).unwrap();
    queue.enqueue(vec![draft]).await.unwrap();
    let got = queue.claim(Claim::by(EVIL)).await.unwrap();
    let ana = world.client("ana").await;
    drop(got);
    ana.post("/v1/users", json!({})).await.problem(403, "forbidden");
    world
        .turno
        .add_person(turno::access::NewPerson::new(EVIL, EVIL, turno::access::Role::Editor).unwrap())
        .await
        .unwrap();
    let claim = Action::Claim { ttl: None, wait: false };
    world.turno.lease_command(world.turno.command(EVIL, EVIL, claim).unwrap()).await.unwrap().answer.unwrap();
    let eva = Browser::signed_in(&world, "eva").await;
    let name = encoded(EVIL);
    let reason =
        eva.done(&format!("/console/leases/{name}/force-claim"), &[("reason", EVIL), ("back", "/leases")]).await;
    assert!(reason.contains("&#60;img") && !reason.contains("<img"), "{reason}");
    for path in [
        "/",
        "/leases",
        &format!("/leases/{name}"),
        &format!("/leases?prefix={name}"),
        "/queues",
        "/queues/inbox?state=all",
        &format!("/queues/inbox?key={name}&error={name}&state=exhausted"),
        &format!("/queues/inbox/items/{name}"),
        &format!("/queues/inbox/keys/{name}"),
        "/audit",
        &format!("/audit?resource={name}"),
        "/admin",
        &format!("/admin/people/{name}"),
        "/admin/tokens",
        &format!("/admin/tokens?user={name}"),
        &format!("/{name}"),
    ] {
        let page = eva.open(path).await;
        assert!(page.status != 500, "{path}: {}", page.text);
        assert!(!page.text.contains("<img src=x") && !page.text.contains("\"'&\""), "{path}: {}", page.text);
    }
    assert!(
        eva.page("/leases").await.contains("&#60;img src=x onerror=alert(1)&#62;"),
        "the control: the text is shown"
    );
}

async fn filters_are_kept_in_the_address(world: World) {
    furnished(&world).await;
    lock(&world, "puerta:1").await;
    let ana = Browser::signed_in(&world, "ana").await;
    let all = ana.page("/leases").await;
    assert!(all.contains("caja:1") && all.contains("puerta:1"));
    let some = ana.page("/leases?prefix=puerta&holder=").await;
    assert!(!some.contains("caja:1") && some.contains("puerta:1") && some.contains("value=\"puerta\""), "{some}");
    let none = ana.page("/leases?holder=leo").await;
    assert!(
        none.contains("Sin resultados") && none.contains("href=\"/leases\"") && !none.contains("Sin bloqueos activos")
    );
    assert!(ana.page("/leases?holder=ANA%20P%C3%89REZ").await.contains("caja:1"), "by name, in any case");
    let waiting = ana.page("/queues/chat?state=pending").await;
    assert!(waiting.contains("m-3") && !waiting.contains("m-1"), "{waiting}");
    let of_key = ana.page("/queues/chat?state=all&key=ana").await;
    assert!(of_key.contains("m-1") && !of_key.contains("m-2"));
    let kinds = ana.page("/queues?kind=inbox").await;
    assert!(!kinds.contains("/queues/chat\"") && kinds.contains("value=\"inbox\" selected"));
    // The link to the next page keeps the filter.
    for n in 0..60 {
        lock(&world, &format!("muchas:{n:02}")).await;
    }
    let first = ana.page("/leases?prefix=muchas").await;
    let next = first.split("rel=\"next\"").next().unwrap().rsplit("href=\"").next().unwrap().split('"').next().unwrap();
    let next = next.replace("&#38;", "&");
    assert!(next.contains("prefix=muchas") && next.contains("cursor="), "{next}");
    let second = ana.page(&next).await;
    assert!(second.contains("muchas:59") && !second.contains("muchas:00") && first.contains("muchas:00"));
}

async fn a_forced_release_needs_a_reason_and_is_audited(world: World) {
    lock(&world, "caja:1").await;
    let eva = Browser::signed_in(&world, "eva").await;
    assert!(eva.page("/leases/caja%3A1").await.contains("Bloqueada por"));
    let back = [("back", "/leases/caja%3A1")];
    let empty = eva.done("/console/leases/caja%3A1/force-release", &[back[0], ("reason", "  ")]).await;
    assert!(empty.contains("reason"), "a reason is asked for: {empty}");
    assert!(eva.page("/leases/caja%3A1").await.contains("Bloqueada por"), "the lock is unchanged");
    let older = [back[0], ("reason", "cierre de caja"), ("fence", "0")];
    let late = eva.done("/console/leases/caja%3A1/force-release", &older).await;
    assert_eq!(late, "No se cambió nada: ahora lo tiene ana.");
    let done = eva.done("/console/leases/caja%3A1/force-release", &[back[0], ("reason", "cierre de caja")]).await;
    assert_eq!(done, "caja:1 quedó libre");
    let page = eva.page("/leases/caja%3A1").await;
    assert!(page.contains("Libre") && page.contains("cierre de caja"), "the history has the reason: {page}");
    let entry = &world.client("eva").await.get("/v1/audit?action=lock_force_release").await.expect(200)["items"][0];
    assert_eq!((&entry["actor"], &entry["resource"]), (&json!("eva"), &json!("caja:1")));
    assert!(entry["detail"].to_string().contains("cierre de caja"), "{entry}");
    assert!(eva.page("/audit").await.contains("Liberó un bloqueo a la fuerza"));
}

async fn a_queue_is_paused_and_resumed_by_its_buttons(world: World) {
    furnished(&world).await;
    let eva = Browser::signed_in(&world, "eva").await;
    let paused = eva.done("/console/queues/chat/pause", &[("back", "/queues/chat")]).await;
    assert_eq!(paused, "chat quedó en pausa");
    assert!(world.turno.queue("chat").await.unwrap().overview().await.unwrap().row.paused);
    assert!(eva.page("/queues/chat").await.contains("Reanudar") && eva.page("/").await.contains("chat está en pausa"));
    assert_eq!(eva.done("/console/queues/chat/resume", &[("back", "/queues/chat")]).await, "chat se reanudó");
    assert!(!world.turno.queue("chat").await.unwrap().overview().await.unwrap().row.paused);
    let actions = world.client("eva").await.get("/v1/audit").await.expect(200)["items"].to_string();
    assert!(actions.contains("queue_pause") && actions.contains("queue_resume"));
    let unknown = eva.done("/console/queues/nada/pause", &[("back", "/queues")]).await;
    assert!(unknown.contains("No se encontró"), "{unknown}");
}

async fn a_key_with_only_exhausted_items_is_shown_as_waiting_for_a_decision(world: World) {
    furnished(&world).await;
    let policy = Policy {
        max_attempts: 1,
        window: turno::core::time::Span::ZERO,
        on_exhausted: OnExhausted::Continue,
        ..Policy::for_kind(Kind::Lane)
    };
    world.turno.put_queue("chat", policy).await.unwrap();
    let eva = Browser::signed_in(&world, "eva").await;
    let page = eva.page("/queues/chat/keys/ana").await;
    assert!(page.contains("1 sin terminar") && page.contains("solo tiene elementos agotados"), "{page}");
    assert!(!page.contains("no tiene elementos sin terminar"), "{page}");
    let client = world.client("eva").await;
    let why = client.get("/v1/queues/chat/keys/ana/why").await.expect(200);
    assert_eq!(why["reason"], "empty", "the code for programs stays");
    assert!(why["detail"].as_str().unwrap().contains("solo tiene elementos agotados"), "{why}");
    let none = client.get("/v1/queues/chat/keys/nadie/why").await.expect(200);
    assert!(none["detail"].as_str().unwrap().contains("no tiene elementos sin terminar"), "{none}");
}

async fn exhausted_items_are_counted_before_they_are_retried(world: World) {
    furnished(&world).await;
    let eva = Browser::signed_in(&world, "eva").await;
    assert!(eva.page("/queues/chat").await.contains("¿Reintentar 2 elementos?"));
    assert!(eva.page("/").await.contains("2 elementos agotados en chat"), "the overview lists exhausted items");
    let one = eva.page("/queues/chat?state=exhausted&key=ana").await;
    assert!(one.contains("¿Reintentar 1 elemento?") && one.contains("name=\"key\" value=\"ana\""), "{one}");
    let none = eva.page("/queues/chat?state=exhausted&error=otro").await;
    assert!(!none.contains("popovertarget=\"retry\""), "without a match there is no retry button");
    let retried = eva.done("/console/queues/chat/retry-exhausted", &[("key", "ana"), ("back", "/queues/chat")]).await;
    assert_eq!(retried, "1 elemento se reintentará");
    let counts = world.turno.queue("chat").await.unwrap().counts().await.unwrap();
    assert_eq!((counts.exhausted, counts.pending), (1, 2));
    let rest = eva.done("/console/queues/chat/retry-exhausted", &[("error", "línea"), ("back", "/queues/chat")]).await;
    assert_eq!(rest, "1 elemento se reintentará");
}

async fn an_item_is_corrected_and_retried_and_cancelled(world: World) {
    furnished(&world).await;
    let eva = Browser::signed_in(&world, "eva").await;
    let page = eva.page("/queues/chat/items/m-1").await;
    assert!(
        page.contains("no hay línea") && page.contains("bot-1") && page.contains("Corregir y reintentar"),
        "{page}"
    );
    let back = ("back", "/queues/chat/items/m-1");
    // The form keeps the input and shows the error and its place in the reader's language.
    let typed = "{\n  \"texto\": \"corre<gido\",\n  \"hora\": x\n}";
    let broken = eva.post("/console/queues/chat/items/m-1/retry", &[("payload", typed), back]).await;
    assert_eq!(broken.status, 422, "{}", broken.text);
    assert!(broken.text.contains("no es JSON válido en la línea 3, columna 11"), "{}", broken.text);
    assert!(broken.text.contains("corre&#60;gido") && broken.text.contains("aria-invalid"), "{}", broken.text);
    let english = Browser::signed_in(&world, "eva").await.reading("en");
    let broken = english.post("/console/queues/chat/items/m-1/retry", &[("payload", "{"), back]).await;
    assert!(broken.text.contains("it ends too early, at line 1 column 1"), "{}", broken.text);
    let fields = [("payload", "{\"texto\": \"corregido\"}"), back];
    assert_eq!(eva.done("/console/queues/chat/items/m-1/retry", &fields).await, "m-1 se reintentará");
    let item = world.client("eva").await.get("/v1/queues/chat/items/m-1").await.expect(200);
    assert_eq!((&item["payload"]["texto"], &item["state"]), (&json!("corregido"), &json!("pending")));
    assert!(eva.page("/queues/chat/items/m-1").await.contains("Una persona lo corrigió y reintentó"));
    assert_eq!(eva.done("/console/queues/chat/items/m-3/cancel", &[back]).await, "m-3 quedó cancelado");
    let again = eva.done("/console/queues/chat/items/m-3/cancel", &[back]).await;
    assert!(again.contains("está cancelado"), "the message names the state: {again}");
    let actions = world.client("eva").await.get("/v1/audit").await.expect(200)["items"].to_string();
    assert!(actions.contains("item_edit") && actions.contains("item_cancel"));
}

async fn a_form_of_another_site_changes_nothing(world: World) {
    furnished(&world).await;
    let eva = Browser::signed_in(&world, "eva").await;
    for origin in ["https://evil.example", "null"] {
        for path in ["/console/queues/chat/pause", "/console/people", "/console/preferences"] {
            let refused = eva.post_from(origin, path, &[("back", "/")]).await;
            assert_eq!(refused.status, 403, "{path} from {origin}");
            assert!(refused.text.contains("otro sitio"), "{}", refused.text);
        }
    }
    assert!(!world.turno.queue("chat").await.unwrap().row().await.unwrap().paused);
}

async fn the_chosen_language_and_theme_are_kept(world: World) {
    let ana = Browser::signed_in(&world, "ana").await;
    let chosen = ana.post("/console/preferences", &[("language", "en"), ("back", "/leases?prefix=a")]).await;
    assert_eq!((chosen.status.as_u16(), &chosen.headers["location"]), (303, &"/leases?prefix=a".parse().unwrap()));
    let language = chosen.headers["set-cookie"].to_str().unwrap().split(';').next().unwrap().to_owned();
    let dark = ana.post("/console/preferences", &[("theme", "dark"), ("back", "//evil.example")]).await;
    assert_eq!(dark.headers["location"], "/");
    let theme = dark.headers["set-cookie"].to_str().unwrap().split(';').next().unwrap().to_owned();
    let cookies = [&ana.cookies[..], &[language, theme]].concat();
    let browser = Browser { cookies, ..*ana.copy() };
    let page = browser.page("/leases").await;
    assert!(page.contains("<html lang=\"en\" data-theme=\"dark\">") && page.contains("Locks"), "{page}");
    assert!(page.contains("Español"), "the page offers Spanish again");
    for nonsense in [("language", "fr"), ("theme", "<b>")] {
        assert!(!ana.post("/console/preferences", &[nonsense]).await.headers.contains_key("set-cookie"));
    }
}

async fn pages_contain_no_inline_script_or_style(world: World) {
    furnished(&world).await;
    let eva = Browser::signed_in(&world, "eva").await;
    for path in PAGES.iter().chain(ADMIN_PAGES) {
        let opened = eva.open(path).await;
        let policy = opened.headers["content-security-policy"].to_str().unwrap();
        assert!(policy.contains("default-src 'none'") && !policy.contains("unsafe"), "{policy}");
        assert_eq!(opened.headers["cache-control"], "no-store", "{path}");
        for forbidden in ["<style", "style=\"", " onclick", " onload", "hx-on", "js:", "=\"http", "=\"//"] {
            assert!(!opened.text.contains(forbidden), "{path}: {forbidden}");
        }
        for script in opened.text.split("<script").skip(1) {
            assert!(script.trim_start().starts_with("src=\"/assets/"), "{path}: {script}");
        }
        let asset = opened.text.split("href=\"/assets/console.").nth(1).unwrap().split('"').next().unwrap();
        let style = eva.open(&format!("/assets/console.{asset}")).await;
        assert_eq!(style.headers["cache-control"], "public, max-age=31536000, immutable");
    }
}
