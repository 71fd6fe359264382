//! The console's pages for administrators: people, tokens, the audit.

use crate::cases;
use crate::console::{Browser, furnished};
use crate::world::{Client, World};
use serde_json::json;

cases![
    a_person_is_added_given_a_password_and_disabled,
    a_token_is_shown_once_and_refused_after_its_revocation,
    the_audit_is_filtered_verified_and_exported,
];

async fn a_person_is_added_given_a_password_and_disabled(world: World) {
    let eva = Browser::signed_in(&world, "eva").await;
    let fields = [("id", "rosa"), ("name", "Rosa Vidal"), ("role", "editor")];
    let added = eva.done("/console/people", &fields).await;
    assert_eq!(added, "Se agregó a Rosa Vidal. Falta su contraseña");
    let typed = [("id", "rosa"), ("name", "Rosa Otra"), ("role", "viewer")];
    let again = eva.post("/console/people", &typed).await;
    assert_eq!(again.status, 409);
    assert!(again.text.contains("rosa ya existe"), "{}", again.text);
    for kept in ["value=\"Rosa Otra\"", "<option value=\"viewer\" selected>"] {
        assert!(again.text.contains(kept), "{kept}: {}", again.text);
    }
    let field = again.text.split("id=\"new-id\"").nth(1).unwrap().split('>').next().unwrap();
    assert!(field.contains("value=\"rosa\"") && field.contains("aria-invalid=\"true\""), "{field}");
    let nameless = eva.post("/console/people", &[("id", "luz"), ("name", "a\nb"), ("role", "viewer")]).await;
    let field = nameless.text.split("id=\"new-name\"").nth(1).unwrap().split('>').next().unwrap();
    assert!(nameless.status == 400 && field.contains("aria-invalid=\"true\""), "{} {field}", nameless.status);
    let weak = eva.done("/console/people/rosa/password", &[("password", "corta")]).await;
    assert!(weak.contains("al menos 8 caracteres"), "{weak}");
    eva.done("/console/people/rosa/password", &[("password", "una clave larga")]).await;
    let fields = [("user", "rosa"), ("password", "una clave larga")];
    let entered = Browser::stranger(&world).post("/sign-in", &fields).await;
    assert_eq!((entered.status.as_u16(), &entered.headers["location"]), (303, &"/".parse().unwrap()));
    let opened = world.client("eva").await.get("/v1/audit?action=sign_in").await.expect(200);
    assert_eq!(opened["items"][0]["actor"], "rosa", "the session is audited as opened by its user");
    let changed = world.client("eva").await.get("/v1/audit?action=user_change").await.expect(200);
    assert_eq!(changed["items"][0]["actor"], "eva", "the audit names the administrator");
    let cookie = entered.headers["set-cookie"].to_str().unwrap().split(';').next().unwrap().to_owned();
    let rosa = Browser::with(&world, vec![cookie]);
    assert!(rosa.page("/").await.contains("<b>Rosa Vidal</b>"));
    assert_eq!(
        eva.done("/console/people/rosa/change", &[("name", "Rosa"), ("role", "viewer")]).await,
        "Se guardaron los datos de Rosa"
    );
    eva.done("/console/people/rosa/disable", &[]).await;
    assert_eq!(rosa.open("/leases").await.status, 303, "a disabled user is signed out");
    assert!(eva.page("/admin").await.contains("Deshabilitada"));
    eva.done("/console/people/rosa/enable", &[]).await;
    assert_eq!(eva.done("/console/people/rosa/remove", &[]).await, "Se quitó a rosa");
    let last = eva.done("/console/people/eva/change", &[("role", "viewer")]).await;
    assert!(last.contains("último administrador"), "{last}");
}

async fn a_token_is_shown_once_and_refused_after_its_revocation(world: World) {
    let eva = Browser::signed_in(&world, "eva").await;
    let wrong = eva.done("/console/people/ana/token", &[("speaks", "machine"), ("scope", "all"), ("days", "0")]).await;
    assert!(wrong.contains("days"), "{wrong}");
    let fields = [("speaks", "machine"), ("scope", "queues.produce"), ("days", "7")];
    let made = eva.post("/console/people/ana/token", &fields).await;
    let secret = made.text.split("<code>").nth(1).unwrap().split("</code>").next().unwrap().to_owned();
    assert!(secret.starts_with("turno_"), "{}", made.text);
    let program = Client::new(&world.server.base, Some(secret.clone()));
    let me = program.get("/v1/me").await.expect(200);
    assert_eq!((&me["machine"], &me["permissions"]), (&json!(true), &json!(["queues.produce"])));
    assert!(me["expires_at"].is_string());
    let listed = eva.page("/admin/tokens?user=ana").await;
    assert!(!listed.contains(&secret) && listed.contains(me["token"].as_str().unwrap()));
    let path = format!("/console/tokens/{}/revoke", me["token"].as_str().unwrap());
    assert_eq!(eva.done(&path, &[("back", "/admin/tokens")]).await, "Se revocó el token");
    program.get("/v1/me").await.problem(401, "unauthenticated");
}

async fn the_audit_is_filtered_verified_and_exported(world: World) {
    furnished(&world).await;
    let eva = Browser::signed_in(&world, "eva").await;
    eva.done("/console/queues/chat/pause", &[("back", "/")]).await;
    eva.done("/console/queues/chat/items/m-3/cancel", &[("back", "/")]).await;
    let some = eva.page("/audit?action=queue_pause").await;
    let table = some.split("<tbody>").nth(1).unwrap();
    assert!(table.contains("Pausó una cola") && !table.contains("Canceló un elemento"), "{table}");
    let put = eva.page("/audit?action=queue_put").await;
    assert!(put.contains("tipo: carril") && put.contains(" · intentos: "), "each detail has a label: {put}");
    let whole = eva.done("/console/audit/verify", &[("back", "/audit")]).await;
    assert!(whole.starts_with("Auditoría íntegra"), "{whole}");
    let csv = eva.open("/audit/export?format=csv&action=item_cancel").await;
    assert_eq!(csv.headers["content-disposition"], "attachment; filename=\"turno-audit.csv\"");
    let lines: Vec<&str> = csv.text.lines().collect();
    assert_eq!((lines.len(), lines[0]), (2, "n,at,actor,via,action,resource,detail,hash"));
    assert!(lines[1].contains("\"eva\"") && lines[1].contains("\"chat/m-3\""), "{}", lines[1]);
    let all = eva.open("/audit/export?format=json").await;
    let entries: Vec<serde_json::Value> = all.text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(entries.len() > 3 && entries.windows(2).all(|pair| pair[0]["n"].as_i64() < pair[1]["n"].as_i64()));
    assert_eq!(eva.open("/audit/export?format=pdf").await.status, 400);
}
