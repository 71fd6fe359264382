//! The sync page with a configured source: the state of its triggers, of its destination, and what a person can do
//! about an exhausted item.

use crate::cases;
use crate::console::Browser;
use crate::receiver::PATIENCE;
use crate::sync::users;
use crate::world::{Running, World};
use std::time::Duration;
use turno::core::queue::Act;
use turno::queue::{Claim, DeliveryItem, Draft, ItemQuery, Settlement};
use turno::store::AuditQuery;

cases![
    the_page_shows_whether_the_triggers_match_the_configuration,
    a_destination_that_is_down_is_shown_with_its_start_and_its_last_error,
    an_exhausted_event_is_found_by_its_state_and_retried_by_its_button,
    a_full_resync_shows_the_count_first_and_needs_a_reason,
    the_action_of_an_item_is_shown_in_words,
    sync_actions_need_the_manage_permission,
];

const PRESET: &str = "[[sync.source]]\npreset = \"siper\"\n";
/// The same source with one watched column fewer.
const OTHERWISE: &str = "[[sync.source]]\npreset = \"siper\"\nwatch = [\"nombre\"]\n";
const CALLS: &str = "[[sync.source]]\npreset = \"siper\"\ndeliver = { url = \"http://127.0.0.1:9/usuarios\", secret_env = \"MODULE_SECRET\" }\n";

/// Starts a server with this source in its configuration, beside the world's own. It gets the secret only if the
/// configuration names a destination: otherwise the preset's example destination would be called and take the changes.
fn configured(world: &World, text: &str) -> Running {
    let port = world.server.base.rsplit(':').next().unwrap();
    let file = std::env::temp_dir().join(format!("turno-console-sync-{port}.toml"));
    std::fs::write(&file, text).unwrap();
    let secret: &[_] = if text.contains("secret_env") { &[("MODULE_SECRET", "hush")] } else { &[] };
    let server = Running::with(&world.url, &["--config", file.to_str().unwrap()], secret);
    std::fs::remove_file(&file).unwrap();
    server
}

async fn the_page_shows_whether_the_triggers_match_the_configuration(world: World) {
    let database = users(&world).await;
    let server = configured(&world, PRESET);
    let eva = Browser::signed_in(&world, "eva").await.at(&server);
    let page = eva.page("/sync").await;
    assert!(page.contains("siper.usuarios") && page.contains("idper"), "{page}");
    let Some(database) = database else {
        assert!(page.contains(">Sin triggers<"), "{page}");
        assert!(page.contains("los triggers necesitan PostgreSQL"), "r10: {page}");
        assert!(!page.contains("turno sync install") && !page.contains("Enviar todo de nuevo"), "{page}");
        return;
    };
    assert!(page.contains("Sin instalar") && !page.contains("Trigger instalado"), "{page}");
    assert!(page.contains("turno sync install --source usuarios"), "the page says what to do: {page}");
    let plan = world.turno.sync(turno::core::sync::Source::siper()).plan().await.unwrap();
    database.batch_execute(&plan).await.unwrap();
    let page = eva.page("/sync").await;
    assert!(page.contains("Trigger instalado") && page.contains("turno.sync_usuarios"), "{page}");
    assert!(!page.contains("turno sync install"), "{page}");
    // Another server whose configuration describes the same table differently.
    let other = configured(&world, OTHERWISE);
    let page = Browser::signed_in(&world, "eva").await.at(&other).page("/sync").await;
    assert!(
        page.contains("Distinto de la configuración") && page.contains("turno sync install --source usuarios"),
        "{page}"
    );
    let english = Browser::signed_in(&world, "eva").await.at(&other).reading("en").page("/sync").await;
    assert!(!english.contains("Distinto"), "{english}");
}

async fn a_destination_that_is_down_is_shown_with_its_start_and_its_last_error(world: World) {
    users(&world).await;
    let server = configured(&world, CALLS);
    let eva = Browser::signed_in(&world, "eva").await.at(&server);
    assert!(eva.page("/sync").await.contains("El módulo responde"));
    let queue = world.turno.queue("usuarios_modulo").await.unwrap();
    for n in 0..turno::core::destination::FAILURES {
        queue.destination_failed(&failure(n), Duration::from_secs(600)).await.unwrap();
    }
    let page = eva.page("/sync").await;
    assert!(page.contains("El módulo no responde desde") && page.contains("503: en mantenimiento"), "{page}");
    let overview = eva.page("/").await;
    assert!(overview.contains("El destino de usuarios_modulo no responde"), "{overview}");
}

/// Returns a failure of the destination, with another key each time: failures of one key alone count against the key.
fn failure(n: u32) -> turno::core::destination::DeliveryFailure {
    let key = turno::core::id::Lane(i64::from(n));
    let error = "503: en mantenimiento".to_owned();
    turno::core::destination::DeliveryFailure {
        of: key,
        handed_at: turno::core::time::Time(1_760_000_000_000),
        error,
        unreached: false,
        round_began: None,
    }
}

async fn an_exhausted_event_is_found_by_its_state_and_retried_by_its_button(world: World) {
    let Some(database) = users(&world).await else { return };
    let server = configured(&world, PRESET);
    let eva = Browser::signed_in(&world, "eva").await.at(&server);
    database.batch_execute(&world.turno.sync(turno::core::sync::Source::siper()).plan().await.unwrap()).await.unwrap();
    database.execute(include_str!("../cli/sync_user.sql"), &[&42]).await.unwrap();
    let queue = world.turno.queue("usuarios_modulo").await.unwrap();
    let got = queue.claim(Claim::by("a mano").wait(Duration::from_secs(5))).await.unwrap().remove(0);
    assert_eq!(got.attempt, 1, "no other worker has claimed the item");
    let item: DeliveryItem = got.items[0].clone();
    assert!(eva.page("/sync?queue=usuarios_modulo&state=in_process").await.contains("EN_PROCESO"));
    let act = Act::Fail { error: "falta el correo".to_owned(), item: None, retry_in: None, give_up: true };
    queue.settle(vec![Settlement { reference: got.reference, act }]).await.unwrap();
    let page = eva.page("/sync?queue=usuarios_modulo&state=exhausted").await;
    assert!(page.contains("AGOTADO") && page.contains("falta el correo") && page.contains(">42</a>"), "{page}");
    let none = eva.page("/sync?queue=usuarios_modulo&state=error").await;
    assert!(none.contains("Sin resultados") && none.contains("href=\"/sync?queue=usuarios%5Fmodulo\""), "{none}");
    let form = format!("/console/queues/usuarios_modulo/items/{}/retry", item.id);
    let message = eva.done(&form, &[("back", "/sync?queue=usuarios_modulo")]).await;
    assert_eq!(message, format!("{} se reintentará", item.id));
    assert!(eva.page("/sync?queue=usuarios_modulo").await.contains("PENDIENTE"));
    // One key is sent again.
    let again = eva.done("/console/sync/usuarios/resync", &[("key", "42"), ("back", "/sync")]).await;
    assert_eq!(again, "42 va de nuevo");
}

async fn a_full_resync_shows_the_count_first_and_needs_a_reason(world: World) {
    let database = users(&world).await;
    let server = configured(&world, PRESET);
    let eva = Browser::signed_in(&world, "eva").await.at(&server);
    let form = "/console/sync/usuarios/resync-all";
    let Some(database) = database else {
        let message = eva.done(form, &[("reason", "se restauró"), ("back", "/sync")]).await;
        assert!(message.contains("PostgreSQL"), "without triggers it is refused: {message}");
        return;
    };
    for idper in [1, 2, 3] {
        database.execute(include_str!("../cli/sync_user.sql"), &[&idper]).await.unwrap();
    }
    world.turno.sync(turno::core::sync::Source::siper()).install().await.unwrap();
    let page = eva.page("/sync").await;
    assert!(
        page.contains("all=usuarios") && !page.contains("name=\"reason\""),
        "the count comes before the form: {page}"
    );
    let page = eva.page("/sync?queue=usuarios_modulo&all=usuarios").await;
    assert!(page.contains("Se envían de nuevo 3 claves") && page.contains("name=\"reason\""), "{page}");
    let refused = eva.done(form, &[("reason", " "), ("back", "/sync")]).await;
    assert!(!refused.contains("va de nuevo"), "without a reason it is refused: {refused}");
    let message = eva.done(form, &[("reason", "se restauró"), ("back", "/sync")]).await;
    assert_eq!(message, "usuarios va de nuevo, de a poco");
    let audited = async {
        loop {
            let query = AuditQuery { action: Some("sync_resync".to_owned()), limit: 9, ..AuditQuery::default() };
            if let [entry] = &world.turno.audit(query).await.unwrap()[..] {
                return entry.clone();
            }
        }
    };
    let entry = tokio::time::timeout(PATIENCE, audited).await.expect("the end of the resync is audited");
    assert!(entry.actor.user.as_str() == "eva" && entry.detail.contains("se restauró"), "{entry:?}");
    assert!(entry.detail.contains("\"queued\":3"), "all keys are queued: {entry:?}");
}

async fn the_action_of_an_item_is_shown_in_words(world: World) {
    users(&world).await;
    let server = configured(&world, PRESET);
    let eva = Browser::signed_in(&world, "eva").await.at(&server);
    let queue = world.turno.queue("usuarios_modulo").await.unwrap();
    let mark = |key: &str| Draft { payload: "null".into(), ..Draft::json("").unwrap().key(key).unwrap() };
    queue.enqueue(vec![mark("42")]).await.unwrap();
    let page = eva.page("/sync?queue=usuarios_modulo").await;
    assert!(page.contains("se decide al entregar") && page.contains("PENDIENTE"), "{page}");
    let id = queue.items(ItemQuery { limit: 1, ..ItemQuery::default() }).await.unwrap()[0].body.id.clone();
    let item = eva.page(&format!("/queues/usuarios_modulo/items/{id}")).await;
    assert!(item.contains("se decide al entregar"), "{item}");
    let update = Draft { action: Some("ACTUALIZAR".to_owned()), ..mark("42") };
    queue.enqueue(vec![update]).await.unwrap();
    let page = eva.page("/sync?queue=usuarios_modulo").await;
    assert!(page.contains("<code>ACTUALIZAR</code>") && !page.contains("se decide al entregar"), "{page}");
}

async fn sync_actions_need_the_manage_permission(world: World) {
    users(&world).await;
    let server = configured(&world, PRESET);
    let vera = Browser::signed_in(&world, "vera").await.at(&server);
    assert!(!vera.page("/sync").await.contains("Enviar de nuevo"));
    let refused = vera.post("/console/sync/usuarios/resync", &[("key", "42"), ("back", "/sync")]).await;
    assert_eq!(refused.status.as_u16(), 403);
    let page = vera.page("/sync?all=usuarios").await;
    assert!(!page.contains("name=\"reason\"") && !page.contains("Enviar todo"), "{page}");
    let queue = world.turno.queue("usuarios_modulo").await.unwrap();
    assert!(queue.claim(Claim::by("nadie")).await.unwrap().is_empty(), "no key was queued");
}
