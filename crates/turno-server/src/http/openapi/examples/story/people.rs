//! Setting up, signing in, users, tokens and sessions.

use std::time::Duration;

use serde_json::json;
use turno::access::LinkFor;

use super::super::recorder::{Call, Recorder};
use super::Cast;
use crate::oidc::pkce;

const PASSWORD: &str = "una frase larga";

/// Creates the first administrator with the link that the server prints, signs in and signs out.
pub(super) async fn set_up(recorder: &mut Recorder) {
    let turno = recorder.bench.app.trusted().clone();
    let link = turno.make_link(LinkFor::Setup, Duration::from_secs(3_600)).await.expect("the link is created");
    recorder.call(Call::new("setup_page").with("link", link.clone())).await;
    recorder.call(Call::new("setup").body(json!({ "link": link, "user": "eva", "password": PASSWORD }))).await;
    recorder.call(Call::new("sign_in_page").with("next", "/tasks")).await;
    let sign_in = |password: &str| Call::new("sign_in").body(json!({ "user": "eva", "password": password }));
    let signed_in = recorder.call(sign_in(PASSWORD)).await;
    recorder.refused(sign_in("otra frase"), "wrong_password").await;
    let link =
        turno.make_link(LinkFor::SignIn("eva".try_into().expect("a valid id")), Duration::from_secs(3_600)).await;
    let link = json!({ "link": link.expect("the link is created") });
    recorder.call(Call::new("sign_in_link").body(link.clone())).await;
    recorder.refused(Call::new("sign_in_link").body(link), "link_used").await;
    let cookie = signed_in.cookie.expect("the answer sets the cookie");
    recorder
        .call(Call::new("sign_out").header("cookie", cookie).header("sec-fetch-site", "same-origin".to_owned()))
        .await;
}

pub(super) async fn manage(recorder: &mut Recorder, cast: &Cast) {
    let eva = &cast.eva;
    let rosa = json!({ "id": "rosa", "name": "Rosa Vidal", "role": "editor", "password": "otra frase larga" });
    recorder.call(Call::new("user_add").body(rosa.clone()).by(eva)).await;
    recorder.refused(Call::new("user_add").body(rosa).by(eva), "already_exists").await;
    recorder.call(Call::new("users_list").with("limit", 2).by(eva)).await;
    recorder.call(Call::new("user_get").with("id", "rosa").by(eva)).await;
    recorder.refused(Call::new("user_get").with("id", "luis").by(eva), "not_found").await;
    recorder.refused(Call::new("user_get").with("id", "rosa").by(&cast.ana), "forbidden").await;
    recorder.call(Call::new("user_change").with("id", "rosa").body(json!({ "role": "viewer" })).by(eva)).await;
    let identity = json!({ "issuer": "https://id.example.com", "subject": "248289761001" });
    recorder.call(Call::new("user_link").with("id", "rosa").body(identity.clone()).by(eva)).await;
    recorder.refused(Call::new("user_link").with("id", "ana").body(identity).by(eva), "identity_linked").await;
    recorder.call(Call::new("user_unlink").with("id", "rosa").by(eva)).await;
    recorder.call(Call::new("user_remove").with("id", "rosa").by(eva)).await;

    recorder.call(Call::new("me_get").by(&cast.ana)).await;
    recorder.refused(Call::new("me_get"), "unauthenticated").await;
    let change = json!({ "current": PASSWORD, "new": "una frase más larga" });
    recorder.call(Call::new("me_password").body(change).by(eva)).await;

    let scope = json!({ "user": "leo", "machine": true, "permissions": ["queues.consume"], "expires_in_s": 2_592_000 });
    let made = recorder.call(Call::new("token_create").body(scope).by(eva)).await;
    recorder.call(Call::new("tokens_list").with("user", "ana").by(eva)).await;
    let overlap = json!({ "overlap_s": 3_600 });
    let rotate = Call::new("token_rotate").with("id", made.body["id"].clone()).body(overlap);
    let made = recorder.call(rotate.by(eva)).await;
    recorder.call(Call::new("token_revoke").with("id", made.body["id"].clone()).by(eva)).await;
    log_in(recorder).await;
    let user = json!({ "user": { "id": "cliente-17", "name": "Marta Gil" }, "resources": ["factura:"], "ttl_s": 600 });
    recorder.call(Call::new("session_mint").body(user).by(eva)).await;
}

/// Exchanges a code of `turno login` for a token.
async fn log_in(recorder: &mut Recorder) {
    let turno = recorder.bench.app.trusted().clone();
    let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
    let ana = LinkFor::SignIn("ana".try_into().expect("a valid id"));
    let code = turno.make_bound_link(ana, Duration::from_secs(60), &pkce::challenge(verifier)).await;
    let code = code.expect("the code is created");
    let exchange = || Call::new("login_token").body(json!({ "code": code, "verifier": verifier }));
    recorder.call(exchange()).await;
    recorder.refused(exchange(), "link_used").await;
}
