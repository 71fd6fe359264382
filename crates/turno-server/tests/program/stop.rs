//! The stop: readiness fails first, and everything else is served meanwhile.

use super::{Folder, Running, ended, text, turno};

/// Longer than any test may take, so that only the second signal ends it.
const LONG: &str = "600000";

#[test]
fn readiness_fails_before_the_stop_while_all_else_is_served() {
    let folder = Folder::new("drain");
    let url = folder.database();
    assert!(ended(&["user", "add", "ana", "--role", "editor", "--database", &url]).status.success());
    let token = text(&ended(&["token", "create", "--user", "ana", "--database", &url]).stdout);
    let mut server = Running::start(&["serve", "--listen", "127.0.0.1:0", "--database", &url, "--stop-drain-ms", LONG]);
    assert!(server.get("/readyz", "").starts_with("HTTP/1.1 200"));
    server.send("TERM");
    // The signal arrives at some moment, and the server still answers after it.
    let refused = std::iter::repeat_with(|| server.get("/readyz", "")).find(|one| !one.starts_with("HTTP/1.1 200"));
    assert!(refused.is_some_and(|answer| answer.starts_with("HTTP/1.1 503") && answer.contains("\"stopping\"")));
    assert!(server.get("/healthz", "").starts_with("HTTP/1.1 200"));
    let at = format!("http://{}", server.address);
    let claim =
        turno(&["lease", "claim", "caja:3", "--json", "--server", &at]).env("TURNO_TOKEN", token.trim()).output();
    let claim = claim.expect("the program was built with this test");
    assert!(claim.status.success() && text(&claim.stdout).contains("\"state\":\"locked\""), "{claim:?}");
    assert_eq!(ended(&["healthcheck", "--server", &at]).status.code(), Some(1), "a health check does not wait");
    assert_eq!(server.signal("TERM"), Some(0), "the second signal ends the drain");
}

#[test]
fn the_drain_ends_by_itself() {
    let mut server = Running::start(&["serve", "--listen", "127.0.0.1:0", "--stop-drain-ms", "50"]);
    assert_eq!(server.signal("TERM"), Some(0));
}

#[test]
fn language_of_the_configuration_answers_requests_that_name_none() {
    let server = Running::start(&["serve", "--listen", "127.0.0.1:0", "--language", "en"]);
    for (path, headers, tag) in [
        ("/docs", "", "en"),
        ("/sign-in", "", "en"),
        ("/none", "", "en"),
        ("/none", "Accept-Language: de\r\n", "en"),
        ("/none", "Accept-Language: es\r\n", "es"),
        ("/docs", "Accept-Language: es-AR, en;q=0.5\r\n", "es"),
    ] {
        let answer = server.get(path, headers);
        assert!(answer.contains(&format!("content-language: {tag}\r\n")), "{path} {headers}: {answer}");
    }
}
