//! The task pages from outside: for each role, in both languages, with foreign text escaped, and their forms. Process
//! mode needs a browser and is tested in `web/test`.

use crate::cases;
use crate::console::{Browser, missing_texts};
use crate::task::{claimed, made, ready, task};
use crate::world::World;
use reqwest::Method;
use serde_json::json;

cases![
    every_page_of_tasks_answers_each_role_in_both_languages,
    task_actions_without_permission_are_not_offered,
    a_list_of_tasks_is_filtered_by_its_address,
    a_draft_is_written_corrected_and_marked_as_ready,
    a_draft_saved_by_another_user_meanwhile_is_not_overwritten,
    a_draft_that_became_ready_meanwhile_offers_no_saving,
    an_invalid_draft_comes_back_with_its_input,
    foreign_titles_and_articles_are_escaped,
    a_task_is_cancelled_with_its_reason_unless_another_user_holds_it,
    the_form_that_cancels_a_task_asks_whether_applied_lines_stay,
    a_task_page_without_the_lock_is_read_only,
    a_finished_task_shows_the_outcome_of_every_line,
    the_address_of_a_form_that_is_reloaded_leads_to_its_page,
    a_waiting_user_sees_their_position_and_their_offer_in_the_list,
    people_are_shown_by_their_names,
    locks_of_tasks_are_shown_by_their_titles,
    the_overview_leads_to_the_tasks_that_are_ready,
    a_started_task_without_a_holder_waits_too_and_the_oldest_comes_next,
    a_form_sent_without_a_session_leads_to_sign_in_and_back_to_the_form,
    an_expired_lock_is_in_the_history_at_once,
    consecutive_edits_of_a_line_are_shown_as_one_change,
];

/// Creates a task in every status: free, locked, partially completed, completed, cancelled and draft.
async fn furnished(world: &World) -> Vec<i64> {
    let (ana, leo) = (world.client("ana").await, world.client("leo").await);
    let (free, locked) = (ready(&ana).await, ready(&ana).await);
    claimed(&leo, locked).await;
    let short = json!([
        { "kind": "quantity", "movement": "out", "sku": "clavos", "quantity": 500 },
        { "kind": "quantity", "sku": "tuercas", "quantity": 8 },
    ]);
    let (partly, whole) = (made(&ana, short).await, ready(&ana).await);
    for id in [partly, whole] {
        let fence = claimed(&ana, id).await["fence"].clone();
        ana.post(&format!("/v1/tasks/{id}/finalize"), json!({ "fence": fence })).await.expect(200);
    }
    let over = ready(&ana).await;
    ana.post(&format!("/v1/tasks/{over}/cancel"), json!({ "reason": "sobra" })).await.expect(200);
    let draft = ana.post("/v1/tasks", json!({ "title": "Borrador" })).await.expect(201)["id"].as_i64().unwrap();
    vec![free, locked, partly, whole, over, draft]
}

async fn every_page_of_tasks_answers_each_role_in_both_languages(world: World) {
    let ids = furnished(&world).await;
    for user in ["vera", "ana", "eva"] {
        for language in ["es", "en"] {
            let browser = Browser::signed_in(&world, user).await.reading(language);
            let tasks = ids.iter().map(|id| format!("/tasks/{id}"));
            let lists = ["/tasks", "/tasks?lock=mine", "/tasks?status=draft&lock=free"].map(str::to_owned);
            let forms = ["/tasks/new".to_owned(), format!("/tasks/{}/edit", ids[5])];
            let forms = forms.into_iter().filter(|_| user != "vera");
            for path in tasks.chain(lists).chain(forms) {
                let page = browser.page(&path).await;
                assert!(page.contains(&format!("<html lang=\"{language}\"")), "{path}");
                assert_eq!(page.matches("<h1").count(), 1, "{path} has one heading of the first level");
                assert_eq!(missing_texts(&page), [""; 0], "{path} in {language}");
            }
        }
    }
    for (path, status) in
        [("/tasks/999", 404), ("/tasks/x", 404), ("/tasks?status=raro", 400), ("/tasks?lock=raro", 400)]
    {
        assert_eq!(Browser::signed_in(&world, "ana").await.open(path).await.status, status, "{path}");
    }
}

async fn task_actions_without_permission_are_not_offered(world: World) {
    let ids = furnished(&world).await;
    let page = async |user: &str, id: i64| Browser::signed_in(&world, user).await.page(&format!("/tasks/{id}")).await;
    let offered = async |user: &str, id: i64, text: &str| page(user, id).await.contains(text);
    for (text, vera, ana, eva) in [
        ("data-do=\"claim\"", false, true, true),
        ("process.", false, true, true),
        ("data-do=\"take-turn\"", false, true, true),
        ("/force-claim", false, false, true),
    ] {
        for (user, expected) in [("vera", vera), ("ana", ana), ("eva", eva)] {
            assert_eq!(offered(user, ids[1], text).await, expected, "{text} for {user}");
        }
    }
    let vera = Browser::signed_in(&world, "vera").await;
    assert_eq!(vera.post(&format!("/console/tasks/{}/cancel", ids[0]), &[]).await.status, 403);
    assert_eq!(vera.open("/tasks/new").await.status, 403);
}

async fn a_list_of_tasks_is_filtered_by_its_address(world: World) {
    let ids = furnished(&world).await;
    let leo = Browser::signed_in(&world, "leo").await;
    let listed = async |address: &str| -> Vec<i64> {
        let page = leo.page(address).await;
        ids.iter().copied().filter(|id| page.contains(&format!("<tr id=\"task-{id}\""))).collect()
    };
    assert_eq!(listed("/tasks").await, ids);
    assert_eq!(listed("/tasks?lock=mine").await, [ids[1]]);
    assert_eq!(listed("/tasks?lock=locked").await, [ids[1]]);
    assert_eq!(listed("/tasks?status=ready&lock=free").await, [ids[0]]);
    assert_eq!(listed("/tasks?status=ready&lock=mine").await, [0; 0]);
    assert_eq!(listed("/tasks?status=partially_completed").await, [ids[2]]);
    let none = leo.page("/tasks?status=completed&lock=mine").await;
    assert!(none.contains("Ninguna tarea coincide con los filtros") && !none.contains("No hay tareas"), "{none}");
    for address in ["/tasks?status=raro", "/tasks?lock=raro"] {
        let page = leo.open(address).await.text;
        assert!(page.contains("elija") && !page.contains("is no status"), "{address}: {page}");
    }
    let page = leo.page("/tasks?status=draft").await;
    assert!(page.contains("<option value=\"draft\" selected>Borrador</option>"), "{page}");
    let other = Browser::signed_in(&world, "vera").await.page("/tasks").await;
    assert!(other.contains("Bloqueada por Leo Díaz desde"), "{other}");
}

async fn a_draft_is_written_corrected_and_marked_as_ready(world: World) {
    let (browser, ana) = (Browser::signed_in(&world, "ana").await, world.client("ana").await);
    let fields = [
        ("title", "Alta"),
        ("sku", "clavos"),
        ("movement", "in"),
        ("kind", "quantity"),
        ("amount", "12"),
        ("sku", ""),
        ("movement", "in"),
        ("kind", "quantity"),
        ("amount", ""),
        ("sku", "taladro"),
        ("movement", "out"),
        ("kind", "serialized"),
        ("amount", "T-1, T-2\r\nT-3"),
        ("then", "draft"),
    ];
    let made = browser.post("/console/tasks", &fields).await;
    assert_eq!(made.status, 303);
    let address = made.headers["location"].to_str().unwrap().to_owned();
    let id: i64 = address.strip_prefix("/tasks/").unwrap().parse().unwrap();
    let draft = task(&ana, id).await;
    assert_eq!(
        (&draft["status"], &draft["title"], &draft["lines"][0]["quantity"]),
        (&json!("draft"), &json!("Alta"), &json!(12))
    );
    let second = &draft["lines"][1];
    assert_eq!((&second["movement"], &second["serials"]), (&json!("out"), &json!(["T-1", "T-2", "T-3"])));
    let form = browser.page(&format!("{address}/edit")).await;
    assert!(form.contains("value=\"taladro\"") && form.contains("T-1\nT-2\nT-3"), "{form}");
    let change = [("title", "Alta corregida"), ("sku", "clavos"), ("amount", "13"), ("then", "ready")];
    let message = browser.done(&format!("/console/tasks/{id}/edit"), &change).await;
    assert_eq!(message, "La tarea está lista para procesar");
    let after = task(&ana, id).await;
    assert_eq!((&after["status"], &after["title"]), (&json!("ready"), &json!("Alta corregida")));
    assert_eq!(after["lines"].as_array().unwrap().len(), 1);
    assert_eq!(
        browser.open(&format!("{address}/edit")).await.headers["location"],
        address.as_str(),
        "the task is not a draft any more"
    );
}

/// Returns the hidden field that holds the version which the form started from.
fn seen(form: &str) -> String {
    let field = form.split("name=\"seen\" value=\"").nth(1).expect("the form has the field `seen`");
    field.split('"').next().unwrap().to_owned()
}

async fn a_draft_saved_by_another_user_meanwhile_is_not_overwritten(world: World) {
    let (ana, leo) = (Browser::signed_in(&world, "ana").await, Browser::signed_in(&world, "leo").await);
    let api = world.client("ana").await;
    let lines = json!([{ "kind": "quantity", "sku": "clavos", "quantity": 1 }]);
    let id = api.post("/v1/tasks", json!({ "title": "Alta", "lines": lines })).await.expect(201)["id"].clone();
    let id = id.as_i64().unwrap();
    let (page, form) = (format!("/tasks/{id}/edit"), format!("/console/tasks/{id}/edit"));
    let (hers, his) = (seen(&ana.page(&page).await), seen(&leo.page(&page).await));
    let typed = |seen: &str, amount: &str| {
        [("seen", seen), ("title", "Alta"), ("sku", "clavos"), ("amount", amount), ("then", "draft")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
    };
    let send = async |browser: &Browser, fields: [(String, String); 5]| {
        let fields = fields.each_ref().map(|(name, value)| (name.as_str(), value.as_str()));
        browser.post(&form, &fields).await
    };
    let amount = async || task(&api, id).await["lines"][0]["quantity"].clone();
    assert_eq!(send(&leo, typed(&his, "22")).await.status, 303);
    assert_eq!(send(&leo, typed(&his, "22")).await.status, 303, "the same form sent twice is one change");
    let back = send(&ana, typed(&hers, "333")).await;
    assert_eq!((back.status.as_u16(), amount().await), (409, json!(22)), "Leo's change is kept");
    for text in ["Leo Díaz cambió este borrador", "clavos · Entrada · 22", ">333</textarea>", "de todos modos"] {
        assert!(back.text.contains(text), "{text}: {}", back.text);
    }
    assert_eq!(missing_texts(&back.text), [""; 0]);
    assert_eq!(send(&leo, typed(&seen(&leo.page(&page).await), "44")).await.status, 303);
    let again = send(&ana, typed(&seen(&back.text), "333")).await;
    assert_eq!(
        (again.status.as_u16(), amount().await),
        (409, json!(44)),
        "a change after the conflict page is kept, too"
    );
    assert_eq!(send(&ana, typed(&seen(&again.text), "333")).await.status, 303);
    assert_eq!(amount().await, json!(333), "a change that is confirmed against the newest version is saved");
}

async fn a_draft_that_became_ready_meanwhile_offers_no_saving(world: World) {
    let (browser, ana) = (Browser::signed_in(&world, "ana").await, world.client("ana").await);
    let id = ready(&ana).await;
    let fields = [("title", "Lo mío"), ("sku", "clavos"), ("amount", "13"), ("then", "draft")];
    let back = browser.post(&format!("/console/tasks/{id}/edit"), &fields).await;
    assert_eq!(back.status, 409);
    for text in ["ya no es un borrador: está lista. Para corregir sus líneas, procésela", "value=\"Lo mío\""] {
        assert!(back.text.contains(text), "{text}: {}", back.text);
    }
    assert!(!back.text.contains("name=\"then\"") && back.text.contains("Ver tarea"), "{}", back.text);
    assert_eq!(missing_texts(&back.text), [""; 0]);
}

async fn an_invalid_draft_comes_back_with_its_input(world: World) {
    let browser = Browser::signed_in(&world, "ana").await;
    for (sku, kind, amount, message) in [
        ("clavos", "quantity", "muchos", "Línea 1: la cantidad"),
        ("clavos", "quantity", "-1", "Línea 1: la cantidad"),
        ("clavos", "quantity", "99999999999999999999", "un número entero de 1 a 1.000.000.000.000"),
        ("clavos", "quantity", "1000000000001", "un número entero de 1 a 1.000.000.000.000"),
        ("", "quantity", "3", "Línea 1: escriba un artículo"),
        ("taladro", "serialized", "A A", "Línea 1: el número de serie A está repetido"),
    ] {
        let fields = [("title", "Lo mío"), ("sku", sku), ("movement", "in"), ("kind", kind), ("amount", amount)];
        let back = browser.post("/console/tasks", &fields).await;
        assert_eq!(back.status, 422, "{amount}");
        assert!(back.text.contains(message), "{message}: {}", back.text);
        assert!(back.text.contains("value=\"Lo mío\"") && back.text.contains(&format!(">{amount}</textarea>")));
    }
    assert_eq!(world.client("ana").await.get("/v1/tasks").await.expect(200)["items"], json!([]));
}

async fn foreign_titles_and_articles_are_escaped(world: World) {
    let ana = world.client("ana").await;
    let hostile = "<script>alert(1)</script>";
    let lines = json!([{ "kind": "serialized", "sku": hostile, "serials": ["\"><b>"] }]);
    let new = json!({ "title": hostile, "lines": lines, "status": "ready" });
    let id = ana.post("/v1/tasks", new).await.expect(201)["id"].as_i64().unwrap();
    let draft =
        ana.post("/v1/tasks", json!({ "title": hostile, "lines": lines })).await.expect(201)["id"].as_i64().unwrap();
    let fence = claimed(&ana, id).await["fence"].clone();
    let leo = world.client("leo").await;
    leo.post(&format!("/v1/tasks/{id}/request-release"), json!({ "message": hostile })).await.expect(202);
    let browser = Browser::signed_in(&world, "eva").await;
    for path in ["/tasks".to_owned(), format!("/tasks/{id}"), format!("/tasks/{draft}/edit")] {
        let page = browser.page(&path).await;
        assert!(!page.contains(hostile) && !page.contains("\"><b>"), "{path}");
        assert!(page.contains("&#60;script&#62;"), "{path}: the title is shown as text");
    }
    ana.post(&format!("/v1/tasks/{id}/finalize"), json!({ "fence": fence })).await.expect(200);
    assert!(!browser.page(&format!("/tasks/{id}")).await.contains(hostile));
}

async fn the_form_that_cancels_a_task_asks_whether_applied_lines_stay(world: World) {
    let (partly, browser) = (furnished(&world).await[2], Browser::signed_in(&world, "ana").await);
    let (path, back) = (format!("/console/tasks/{partly}/cancel"), format!("/tasks/{partly}"));
    let page = browser.open(&back).await.text;
    assert!(page.contains("name=\"keep_applied\"") && page.contains("1 línea ya se aplicó"), "{page}");
    let back = ("back", back.as_str());
    let refused = browser.done(&path, &[back]).await;
    assert!(refused.contains("ya se aplicaron"), "{refused}");
    assert_eq!(browser.done(&path, &[back, ("keep_applied", "true")]).await, "Se anuló la tarea");
}

async fn a_task_is_cancelled_with_its_reason_unless_another_user_holds_it(world: World) {
    let (ana, leo) = (world.client("ana").await, world.client("leo").await);
    let id = ready(&ana).await;
    let lock = claimed(&leo, id).await;
    let browser = Browser::signed_in(&world, "ana").await;
    let path = format!("/console/tasks/{id}/cancel");
    let back = format!("/tasks/{id}");
    let fields = [("reason", "ya no hace falta"), ("back", back.as_str())];
    let refused = browser.done(&path, &fields).await;
    assert!(refused.contains("Bloqueada por Leo Díaz"), "{refused}");
    assert_eq!(task(&ana, id).await["status"], "processing");
    leo.post(&format!("/v1/tasks/{id}/release"), json!({ "fence": lock["fence"] })).await.expect(200);
    assert_eq!(browser.done(&path, &fields).await, "Se anuló la tarea");
    let page = browser.page(&back).await;
    assert!(page.contains("la anuló: ya no hace falta"), "{page}");
}

async fn a_task_page_without_the_lock_is_read_only(world: World) {
    let ana = world.client("ana").await;
    let id = ready(&ana).await;
    claimed(&ana, id).await;
    for user in ["ana", "leo", "eva"] {
        let page = Browser::signed_in(&world, user).await.page(&format!("/tasks/{id}")).await;
        let fields = page.split("id=\"amount-").skip(1).map(|field| field.split('>').next().unwrap());
        let fields: Vec<_> = fields.collect();
        assert_eq!(fields.len(), 2, "{user}");
        assert!(
            fields.iter().all(|field| field.contains(" readonly")),
            "a page without the lock is read-only: {fields:?}"
        );
    }
}

async fn a_finished_task_shows_the_outcome_of_every_line(world: World) {
    let ids = furnished(&world).await;
    let browser = Browser::signed_in(&world, "vera").await;
    let partly = browser.page(&format!("/tasks/{}", ids[2])).await;
    for text in
        ["Finalizada en parte", "1 línea aplicada, 1 con error", "se piden 500 y hay 0", "Aplicada", "Ana Pérez"]
    {
        assert!(partly.contains(text), "{text}: {partly}");
    }
    let whole = browser.page(&format!("/tasks/{}", ids[3])).await;
    assert!(whole.contains("Sus 2 líneas están aplicadas.") && !whole.contains("id=\"lock\""), "{whole}");
}

async fn the_address_of_a_form_that_is_reloaded_leads_to_its_page(world: World) {
    let browser = Browser::signed_in(&world, "eva").await;
    for (form, page) in [
        ("/console/tasks", "/tasks"),
        ("/console/tasks/7/edit", "/tasks/7/edit"),
        ("/console/tasks/7/cancel", "/tasks/7"),
        ("/console/leases/caja%3A1/force-release", "/leases/caja%3A1"),
        ("/console/preferences", "/"),
    ] {
        let answer = browser.open(form).await;
        assert_eq!((answer.status.as_u16(), answer.headers["location"].to_str().unwrap()), (303, page), "{form}");
    }
    world.client("eva").await.get("/v1/leases/claim/x/y").await.problem(404, "not_found");
    world.client("eva").await.get("/v1/leases/caja/turn").await.problem(405, "method_not_allowed");
}

async fn a_waiting_user_sees_their_position_and_their_offer_in_the_list(world: World) {
    let (ana, leo) = (world.client("ana").await, world.client("leo").await);
    let id = ready(&ana).await;
    let fence = claimed(&ana, id).await["fence"].clone();
    leo.post(&format!("/v1/tasks/{id}/turn"), json!({})).await.expect(200);
    let list = async |user: &str| Browser::signed_in(&world, user).await.page("/tasks").await;
    assert!(list("leo").await.contains("su puesto: 1"));
    assert!(list("eva").await.contains("1 espera"));
    ana.post(&format!("/v1/tasks/{id}/release"), json!({ "fence": fence })).await.expect(200);
    let his = list("leo").await;
    assert!(his.contains("¡Es su turno!") && his.contains("En proceso</span>"), "{his}");
    assert!(list("eva").await.contains("Reservada para Leo Díaz"));
}

async fn people_are_shown_by_their_names(world: World) {
    let (ana, leo) = (world.client("ana").await, world.client("leo").await);
    let eva = world.client("eva").await;
    let id = ready(&ana).await;
    let fence = claimed(&leo, id).await["fence"].clone();
    eva.post(&format!("/v1/tasks/{id}/force-release"), json!({ "reason": "cierre" })).await.expect(200);
    let beat = json!({ "fence": fence, "idle_ms": 0 });
    let lost = leo.post(&format!("/v1/tasks/{id}/heartbeat"), beat).await.problem(409, "lease_lost");
    let (name, detail) = (lost["by_name"].as_str().unwrap(), lost["detail"].as_str().unwrap());
    assert!(lost["by"] == "eva" && name.starts_with("Eva ") && detail.contains(name), "{lost}");
    let browser = Browser::signed_in(&world, "vera").await;
    let page = browser.page(&format!("/tasks/{id}")).await;
    assert!(page.contains("Creada por Ana Pérez") && page.contains(name), "{page}");
    // A viewer does not see the reason of the override, and its former holder does.
    assert!(!page.contains("cierre"), "{page}");
    let page = Browser::signed_in(&world, "leo").await.page(&format!("/tasks/{id}")).await;
    assert!(page.contains(&format!("{name} · cierre")), "{page}");
    let lock = browser.page(&format!("/leases/task:{id}")).await;
    assert!(lock.contains(name) && lock.contains(&format!("<a href=\"/tasks/{id}\">")), "{lock}");
}

async fn locks_of_tasks_are_shown_by_their_titles(world: World) {
    let (ana, browser) = (world.client("ana").await, Browser::signed_in(&world, "vera").await);
    let id = ready(&ana).await;
    let title = ana.get(&format!("/v1/tasks/{id}")).await.expect(200)["title"].as_str().unwrap().to_owned();
    ana.post("/v1/leases/caja:1/claim", json!({})).await.expect(200);
    claimed(&ana, id).await;
    for path in ["/", "/leases", "/leases?prefix=task"] {
        let page = browser.page(path).await;
        let named =
            format!("<a href=\"/leases/task%3A{id}\">{title}</a> <code class=\"small soft nowrap\">task:{id}</code>");
        assert!(page.contains(&named), "{path}: {page}");
        // The control: a resource that is not a task is shown by its own name.
        let own = page.contains("<a href=\"/leases/caja%3A1\"><code>caja:1</code></a>");
        assert_eq!(own, path != "/leases?prefix=task", "{path}: {page}");
    }
}

async fn the_overview_leads_to_the_tasks_that_are_ready(world: World) {
    let (ana, browser) = (world.client("ana").await, Browser::signed_in(&world, "ana").await);
    let before = browser.page("/").await;
    assert!(!before.contains("status=ready"), "{before}");
    ready(&ana).await;
    let one = browser.page("/").await;
    assert!(one.contains("<a href=\"/tasks?status=ready&#38;lock=free\">1 tarea lista para procesar</a>"), "{one}");
    ready(&ana).await;
    assert!(browser.page("/").await.contains(">2 tareas listas para procesar</a>"));
    let vera = Browser::signed_in(&world, "vera").await.page("/").await;
    assert!(!vera.contains("listas para procesar") && !vera.contains("mire cómo se crean"), "{vera}");
}

async fn a_started_task_without_a_holder_waits_too_and_the_oldest_comes_next(world: World) {
    let (ana, browser) = (world.client("ana").await, Browser::signed_in(&world, "ana").await);
    let (held, begun) = (ready(&ana).await, ready(&ana).await);
    let later = [ready(&ana).await, ready(&ana).await, ready(&ana).await];
    claimed(&world.client("leo").await, held).await;
    let fence = claimed(&ana, begun).await["fence"].clone();
    let overview = browser.page("/").await;
    assert!(!overview.contains("status=processing"), "a task with a holder is not listed as waiting: {overview}");
    ana.post(&format!("/v1/tasks/{begun}/release"), json!({ "fence": fence })).await.expect(200);
    let overview = browser.page("/").await;
    let wanted = "<a href=\"/tasks?status=processing&#38;lock=free\">1 tarea en proceso sin titular</a>";
    assert!(overview.contains(wanted), "{overview}");
    let next = async |done: i64| {
        ana.post(&format!("/v1/tasks/{done}/cancel"), json!({})).await.expect(200);
        let page = browser.page(&format!("/tasks/{done}")).await;
        page.split_once("data-next-task href=\"/tasks/").map(|(_, rest)| rest.split('"').next().unwrap().to_owned())
    };
    assert_eq!(
        next(later[2]).await,
        Some(begun.to_string()),
        "a started task that is older than the ready ones comes next"
    );
    assert_eq!(next(begun).await, Some(later[0].to_string()));
    assert_eq!(next(later[0]).await, Some(later[1].to_string()));
    assert_eq!(next(later[1]).await, None, "a task with another holder is not offered");
}

async fn a_form_sent_without_a_session_leads_to_sign_in_and_back_to_the_form(world: World) {
    let client = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build().unwrap();
    for (action, form) in [("/console/tasks", "/tasks/new"), ("/console/tasks/7/edit", "/tasks/7/edit")] {
        let sent =
            client.post(format!("{}{action}", world.server.base)).header("accept", "text/html").body("title=Alta");
        let answer = sent.header("content-type", "application/x-www-form-urlencoded").send().await.unwrap();
        let header = |name: &str| answer.headers()[name].to_str().unwrap().to_owned();
        let location = header("location").replace("%2F", "/");
        assert_eq!((answer.status().as_u16(), location), (303, format!("/sign-in?next={form}")));
        let cookie = header("set-cookie").split(';').next().unwrap().to_owned();
        let way_in =
            client.get(format!("{}/sign-in", world.server.base)).header("cookie", cookie).send().await.unwrap();
        assert!(way_in.text().await.unwrap().contains("Su sesión terminó"), "{action}");
    }
}

async fn an_expired_lock_is_in_the_history_at_once(world: World) {
    let ana = world.client("ana").await;
    let id = ready(&ana).await;
    ana.post(&format!("/v1/tasks/{id}/claim"), json!({ "ttl_ms": 250 })).await.expect(200);
    let browser = Browser::signed_in(&world, "vera").await;
    let pages = [format!("/tasks/{id}"), format!("/leases/task:{id}")];
    // No command runs after the expiry: a read is enough.
    while task(&ana, id).await["lock"]["state"] != "free" {}
    for page in &pages {
        let over = browser.page(page).await;
        assert_eq!(over.matches("Venció: sin latidos").count(), 1, "{page}: {over}");
    }
    claimed(&ana, id).await;
    for page in &pages {
        let again = browser.page(page).await;
        assert_eq!(
            again.matches("Venció: sin latidos").count(),
            1,
            "{page}: once, also after the end is stored: {again}"
        );
    }
}

async fn consecutive_edits_of_a_line_are_shown_as_one_change(world: World) {
    let ana = world.client("ana").await;
    let id = ready(&ana).await;
    let fence = claimed(&ana, id).await["fence"].clone();
    let path = format!("/v1/tasks/{id}/lines");
    for quantity in [3, 31, 312] {
        ana.send(Method::PATCH, &format!("{path}/1"), json!({ "fence": fence, "quantity": quantity }))
            .await
            .expect(200);
    }
    ana.send(Method::PATCH, &format!("{path}/2"), json!({ "fence": fence, "serials": ["T-1"] })).await.expect(200);
    ana.send(Method::PATCH, &format!("{path}/1"), json!({ "fence": fence, "quantity": 4 })).await.expect(200);
    let page = Browser::signed_in(&world, "leo").await.page(&format!("/tasks/{id}")).await;
    let counts = ["cambió la línea 1", "cambió la línea 2"].map(|text| page.matches(text).count());
    assert_eq!(counts, [2, 1], "{page}");
    assert_eq!(page.matches("data-saved-by=\"ana\" data-saved-name=\"Ana Pérez\"").count(), 2, "{page}");
    let all = ana.get(&format!("/v1/tasks/{id}/history")).await.expect(200);
    let edits = all["items"].as_array().unwrap().iter().filter(|one| one["what"] == "line_edited").count();
    assert_eq!(edits, 5, "the history itself has every edit");
}
