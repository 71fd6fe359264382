//! The console's texts from outside: no English in Spanish pages, names instead of ids, and the values in force.

use crate::cases;
use crate::console::Browser;
use crate::world::World;
use turno::core::lease::Action;
use turno::queue::{Claim, Draft, Kind, Policy};

cases![
    errors_are_shown_in_the_readers_language,
    a_list_without_a_match_offers_to_clear_the_filters,
    an_empty_queue_shows_a_command_that_can_be_pasted,
    the_audit_shows_names_and_translated_details,
    the_settings_show_the_source_of_each_value,
    the_overview_links_to_items_that_need_attention,
];

async fn errors_are_shown_in_the_readers_language(world: World) {
    world.turno.put_queue("chat", Policy::for_kind(Kind::Lane)).await.unwrap();
    let (ana, reader) =
        (Browser::signed_in(&world, "ana").await, Browser::signed_in(&world, "ana").await.reading("en"));
    for (path, status, spanish, english) in [
        ("/tasks?status=nada", 400, "no es un estado de una tarea", "is no status of a task"),
        ("/queues/chat?state=nada", 400, "no es un estado de un elemento", "is no state of an item"),
        ("/queues/chat?cursor=x", 400, "pase el next_cursor", "pass on the next_cursor"),
        ("/queues/ninguna", 404, "la cola ninguna", "queue ninguna"),
        ("/tasks/99999", 404, "la tarea 99999", "task 99999"),
        ("/audit", 403, "leer la auditoría (audit.read)", "read the audit (audit.read)"),
        ("/admin", 403, "administrar personas (users.manage)", "manage people (users.manage)"),
    ] {
        let (here, there) = (ana.open(path).await, reader.open(path).await);
        assert_eq!((here.status.as_u16(), there.status.as_u16()), (status, status), "{path}");
        assert!(here.text.contains(spanish) && !here.text.contains(english), "{path}: {}", here.text);
        assert!(there.text.contains(english), "{path}: {}", there.text);
    }
    // The start of an ownership is shown as a duration, because a time of day would need the reader's time zone.
    let command = world.turno.command("caja:1", "ana", Action::Claim { ttl: None, wait: false }).unwrap();
    world.turno.lease_command(command).await.unwrap().answer.unwrap();
    let refused = world.client("leo").await.post("/v1/leases/caja%3A1/claim", serde_json::json!({})).await.expect(409);
    let detail = refused["detail"].as_str().unwrap();
    assert!(detail.contains("desde hace ") && !detail.contains('Z'), "{detail}");
}

async fn a_list_without_a_match_offers_to_clear_the_filters(world: World) {
    world.turno.put_queue("chat", Policy::for_kind(Kind::Lane)).await.unwrap();
    let eva = Browser::signed_in(&world, "eva").await;
    for (path, all) in [
        ("/leases?prefix=nada", "/leases"),
        ("/queues?name=nada", "/queues"),
        ("/queues?state=exhausted", "/queues"),
        ("/queues/chat?key=nadie", "/queues/chat"),
        ("/audit?actor=nadie", "/audit"),
        ("/admin/tokens?user=nadie", "/admin/tokens"),
    ] {
        let page = eva.page(path).await;
        assert!(page.contains("Sin resultados para estos filtros"), "{path}: {page}");
        assert!(page.contains(&format!("href=\"{all}\">Quitar filtros")), "{path}: {page}");
        assert!(!eva.page(all).await.contains("Quitar filtros"), "{all}");
    }
}

async fn an_empty_queue_shows_a_command_that_can_be_pasted(world: World) {
    let eva = Browser::signed_in(&world, "eva").await;
    assert!(eva.page("/queues").await.contains(&format!("{}/v1/queues/chat", world.server.base)));
    for (name, kind) in [("chat", Kind::Lane), ("entrada", Kind::Inbox), ("usuarios", Kind::Sync)] {
        world.turno.put_queue(name, Policy::for_kind(kind)).await.unwrap();
        let page = eva.page(&format!("/queues/{name}")).await;
        assert!(page.contains(&format!("turno queue enqueue {name}")), "{page}");
        assert!(page.contains(&format!("--server {}", world.server.base)), "{page}");
        assert_eq!(page.contains("--key"), kind != Kind::Inbox, "{name}");
    }
}

async fn the_audit_shows_names_and_translated_details(world: World) {
    let eva = Browser::signed_in(&world, "eva").await;
    let command = world.turno.command("caja:1", "ana", Action::Claim { ttl: None, wait: false }).unwrap();
    world.turno.lease_command(command).await.unwrap().answer.unwrap();
    eva.done("/console/leases/caja%3A1/force-release", &[("reason", "se fue"), ("back", "/leases")]).await;
    eva.done("/console/people", &[("id", "sol.v"), ("name", "Sol Vega"), ("role", "viewer")]).await;
    eva.done("/console/people/sol.v/change", &[("name", "Sol Vega"), ("role", "editor")]).await;
    let page = eva.page("/audit").await;
    for text in
        ["title=\"eva\">Eva Ruiz<", "Titular anterior:", "Motivo:", "Tuvo efecto:</span> sí", "Rol:</span> Edición"]
    {
        assert!(page.contains(text), "{text}: {page}");
    }
    for raw in ["holder_before", "role_before", "changed:", ">true", ">null"] {
        assert!(!page.contains(raw), "{raw}: {page}");
    }
    let english = eva.reading("en").page("/audit").await;
    assert!(english.contains("Took effect:</span> yes") && english.contains("Previous holder:"), "{english}");
}

async fn the_settings_show_the_source_of_each_value(world: World) {
    world.turno.put_queue("chat", Policy { max_attempts: 17, ..Policy::for_kind(Kind::Lane) }).await.unwrap();
    let eva = Browser::signed_in(&world, "eva").await;
    let page = eva.page("/admin/settings").await;
    assert!(page.contains("por omisión") && !page.contains(">default<"), "{page}");
    assert!(page.contains(">17<") && page.contains("una llamada a la API"), "the value in force is shown, too: {page}");
    assert!(eva.reading("en").page("/admin/settings").await.contains(">default<"));
}

async fn the_overview_links_to_items_that_need_attention(world: World) {
    let policy = Policy { max_attempts: 1, ..Policy::for_kind(Kind::Inbox) };
    let entrada = world.turno.put_queue("entrada", policy).await.unwrap();
    world.turno.put_queue("chat", Policy::for_kind(Kind::Lane)).await.unwrap();
    entrada.enqueue(vec![Draft { payload: "{}".into(), ..Draft::default() }]).await.unwrap();
    let got = entrada.claim(Claim::by("uno")).await.unwrap().remove(0);
    let act = turno::core::queue::Act::Fail { error: "no".to_owned(), item: None, retry_in: None, give_up: false };
    entrada.settle(vec![turno::queue::Settlement { reference: got.reference, act }]).await.unwrap();
    let page = Browser::signed_in(&world, "ana").await.page("/").await;
    assert!(page.contains("class=\"figure bad\" href=\"/queues/entrada?state=exhausted\""), "{page}");
    assert!(page.contains("<a href=\"/queues/entrada?state=exhausted\">1 elemento agotado en entrada"), "{page}");
}
