//! The page of synchronisation with a source of the configuration: its triggers as they are, the module at the other end, and
//! what a person does about an event that nobody will carry.

use crate::cases;
use crate::console::Browser;
use crate::receiver::PATIENCE;
use crate::sync::users;
use crate::world::{Running, World};
use turno::core::queue::Act;
use turno::core::time::Span;
use turno::store::AuditQuery;
use turno::{Draft, GotItem, ItemQuery, Settlement};

cases![
    the_page_says_whether_the_triggers_are_as_configured,
    a_module_that_is_down_is_said_with_since_when_and_what_it_last_said,
    an_exhausted_event_is_found_by_its_state_and_retried_by_its_button,
    everything_is_sent_again_after_a_look_at_how_much_that_is_and_with_a_reason,
    what_is_done_about_an_event_is_told_in_words,
    whoever_may_not_manage_synchronisation_only_looks,
];

const PRESET: &str = "[[sync.source]]\npreset = \"siper\"\n";
/// The same source with one column fewer to watch.
const OTHERWISE: &str = "[[sync.source]]\npreset = \"siper\"\nwatch = [\"nombre\"]\n";
const CALLS: &str = "[[sync.source]]\npreset = \"siper\"\ndeliver = { url = \"http://127.0.0.1:9/usuarios\", secret_env = \"MODULE_SECRET\" }\n";

/// A server that has been told about the source, beside the world's own. It has the secret only for a destination that the
/// text names: with it, the preset's own example would be called too, and take the changes before a case can.
fn configured(world: &World, text: &str) -> Running {
    let port = world.server.base.rsplit(':').next().unwrap();
    let file = std::env::temp_dir().join(format!("turno-console-sync-{port}.toml"));
    std::fs::write(&file, text).unwrap();
    let secret: &[_] = if text.contains("secret_env") { &[("MODULE_SECRET", "hush")] } else { &[] };
    let server = Running::with(&world.url, &["--config", file.to_str().unwrap()], secret);
    std::fs::remove_file(&file).unwrap();
    server
}

async fn the_page_says_whether_the_triggers_are_as_configured(world: World) {
    let database = users(&world).await;
    let server = configured(&world, PRESET);
    let eva = Browser::of(&world, "eva").await.at(&server);
    let page = eva.page("/sync").await;
    assert!(page.contains("siper.usuarios") && page.contains("idper"), "{page}");
    let Some(database) = database else {
        assert!(page.contains(">Sin triggers<"), "{page}");
        assert!(!page.contains("turno sync install") && !page.contains("Enviar todo de nuevo"), "{page}");
        return;
    };
    assert!(page.contains("Sin instalar") && !page.contains("Trigger instalado"), "{page}");
    assert!(page.contains("turno sync install --source usuarios"), "it says what to do: {page}");
    let plan = world.turno.sync(turno::core::sync::Source::siper()).plan().await.unwrap();
    database.batch_execute(&plan).await.unwrap();
    let page = eva.page("/sync").await;
    assert!(page.contains("Trigger instalado") && page.contains("turno.sync_usuarios"), "{page}");
    assert!(!page.contains("turno sync install"), "{page}");
    // Another server whose file says something else about the same table.
    let other = configured(&world, OTHERWISE);
    let page = Browser::of(&world, "eva").await.at(&other).page("/sync").await;
    assert!(
        page.contains("Distinto de la configuración") && page.contains("turno sync install --source usuarios"),
        "{page}"
    );
    let english = Browser::of(&world, "eva").await.at(&other).reading("en").page("/sync").await;
    assert!(!english.contains("Distinto"), "{english}");
}

async fn a_module_that_is_down_is_said_with_since_when_and_what_it_last_said(world: World) {
    users(&world).await;
    let server = configured(&world, CALLS);
    let eva = Browser::of(&world, "eva").await.at(&server);
    assert!(eva.page("/sync").await.contains("El módulo responde"));
    let queue = world.turno.queue("usuarios_modulo").await.unwrap();
    for n in 0..turno::core::destination::FAILURES {
        queue.destination_failed(&failure(n), Span::from_secs(600)).await.unwrap();
    }
    let page = eva.page("/sync").await;
    assert!(page.contains("El módulo no responde desde") && page.contains("503: en mantenimiento"), "{page}");
    let overview = eva.page("/").await;
    assert!(overview.contains("El destino de usuarios_modulo no responde"), "{overview}");
}

/// A failure of the destination itself, of another key each time: of one alone it would be the key's.
fn failure(n: u32) -> turno::core::destination::Failure {
    let of = turno::core::id::Lane(i64::from(n));
    let error = "503: en mantenimiento".to_owned();
    turno::core::destination::Failure {
        of,
        handed_at: turno::core::time::Time(1_760_000_000_000),
        error,
        unreached: false,
        round_began: None,
    }
}

async fn an_exhausted_event_is_found_by_its_state_and_retried_by_its_button(world: World) {
    let Some(database) = users(&world).await else { return };
    let server = configured(&world, PRESET);
    let eva = Browser::of(&world, "eva").await.at(&server);
    database.batch_execute(&world.turno.sync(turno::core::sync::Source::siper()).plan().await.unwrap()).await.unwrap();
    database.execute(include_str!("../cli/sync_user.sql"), &[&42]).await.unwrap();
    let queue = world.turno.queue("usuarios_modulo").await.unwrap();
    let got = queue.claim("a mano", 1, Span::from_secs(5)).await.unwrap().remove(0);
    assert_eq!(got.attempt, 1, "nobody else has tried it");
    let item: GotItem = got.items[0].clone();
    assert!(eva.page("/sync?queue=usuarios_modulo&state=in_process").await.contains("EN_PROCESO"));
    let act = Act::Fail { error: "falta el correo".to_owned(), item: None, retry_in: None, give_up: true };
    queue.settle(vec![Settlement { handed: got.handed, act }]).await.unwrap();
    let page = eva.page("/sync?queue=usuarios_modulo&state=exhausted").await;
    assert!(page.contains("AGOTADO") && page.contains("falta el correo") && page.contains(">42</a>"), "{page}");
    let none = eva.page("/sync?queue=usuarios_modulo&state=error").await;
    assert!(none.contains("Nada coincide") && none.contains("href=\"/sync?queue=usuarios%5Fmodulo\""), "{none}");
    let form = format!("/console/queues/usuarios_modulo/items/{}/retry", item.id);
    let said = eva.done(&form, &[("back", "/sync?queue=usuarios_modulo")]).await;
    assert_eq!(said, format!("{} vuelve a intentarse", item.id));
    assert!(eva.page("/sync?queue=usuarios_modulo").await.contains("PENDIENTE"));
    // A key is sent again by hand.
    let again = eva.done("/console/sync/usuarios/resync", &[("key", "42"), ("back", "/sync")]).await;
    assert_eq!(again, "42 va de nuevo");
}

async fn everything_is_sent_again_after_a_look_at_how_much_that_is_and_with_a_reason(world: World) {
    let database = users(&world).await;
    let server = configured(&world, PRESET);
    let eva = Browser::of(&world, "eva").await.at(&server);
    let form = "/console/sync/usuarios/resync-all";
    let Some(database) = database else {
        let said = eva.done(form, &[("reason", "se restauró"), ("back", "/sync")]).await;
        assert!(said.contains("PostgreSQL"), "where there are no triggers it is refused: {said}");
        return;
    };
    for idper in [1, 2, 3] {
        database.execute(include_str!("../cli/sync_user.sql"), &[&idper]).await.unwrap();
    }
    world.turno.sync(turno::core::sync::Source::siper()).install().await.unwrap();
    let page = eva.page("/sync").await;
    assert!(page.contains("all=usuarios") && !page.contains("name=\"reason\""), "one looks first: {page}");
    let page = eva.page("/sync?queue=usuarios_modulo&all=usuarios").await;
    assert!(page.contains("Se envían de nuevo 3 claves") && page.contains("name=\"reason\""), "{page}");
    let refused = eva.done(form, &[("reason", " "), ("back", "/sync")]).await;
    assert!(!refused.contains("va de nuevo"), "without a reason nothing is sent: {refused}");
    let said = eva.done(form, &[("reason", "se restauró"), ("back", "/sync")]).await;
    assert_eq!(said, "usuarios va de nuevo, de a poco");
    let told = async {
        loop {
            let query = AuditQuery { action: Some("sync_resync".to_owned()), limit: 9, ..AuditQuery::default() };
            if let [entry] = &world.turno.audit(query).await.unwrap()[..] {
                return entry.clone();
            }
        }
    };
    let entry = tokio::time::timeout(PATIENCE, told).await.expect("the walk ends, and says so");
    assert!(entry.actor.user.as_str() == "eva" && entry.detail.contains("se restauró"), "{entry:?}");
    assert!(entry.detail.contains("\"queued\":3"), "all of them are on their way: {entry:?}");
}

async fn what_is_done_about_an_event_is_told_in_words(world: World) {
    users(&world).await;
    let server = configured(&world, PRESET);
    let eva = Browser::of(&world, "eva").await.at(&server);
    let queue = world.turno.queue("usuarios_modulo").await.unwrap();
    let mark = |key: &str| Draft { payload: "null".into(), ..Draft::json("").unwrap().key(key).unwrap() };
    queue.enqueue(vec![mark("42")]).await.unwrap();
    let page = eva.page("/sync?queue=usuarios_modulo").await;
    assert!(page.contains("se decide al entregar") && page.contains("PENDIENTE"), "{page}");
    let id = queue.items(ItemQuery { state: None, key: None, after: None, limit: 1 }).await.unwrap()[0].body.id.clone();
    let item = eva.page(&format!("/queues/usuarios_modulo/items/{id}")).await;
    assert!(item.contains("se decide al entregar"), "{item}");
    let said = Draft { action: Some("ACTUALIZAR".to_owned()), ..mark("42") };
    queue.enqueue(vec![said]).await.unwrap();
    let page = eva.page("/sync?queue=usuarios_modulo").await;
    assert!(page.contains("<code>ACTUALIZAR</code>") && !page.contains("se decide al entregar"), "{page}");
}

async fn whoever_may_not_manage_synchronisation_only_looks(world: World) {
    users(&world).await;
    let server = configured(&world, PRESET);
    let vera = Browser::of(&world, "vera").await.at(&server);
    assert!(!vera.page("/sync").await.contains("Enviar de nuevo"));
    let refused = vera.post("/console/sync/usuarios/resync", &[("key", "42"), ("back", "/sync")]).await;
    assert_eq!(refused.status.as_u16(), 403);
    let page = vera.page("/sync?all=usuarios").await;
    assert!(!page.contains("name=\"reason\"") && !page.contains("Enviar todo"), "{page}");
    let queue = world.turno.queue("usuarios_modulo").await.unwrap();
    assert!(queue.claim("nadie", 1, Span::ZERO).await.unwrap().is_empty(), "nothing was sent");
}
