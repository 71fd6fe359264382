//! `--json` of the commands that work on the database and print no answer of a server.

use super::{Folder, Running, ended, text};

/// Runs a command with `--json`. Returns its exit code and the keys and values of the printed document.
fn json(words: &[&str]) -> (Option<i32>, serde_json::Value) {
    let output = ended(&[words, &["--json"]].concat());
    let printed = text(&output.stdout);
    assert_eq!(printed.lines().count(), 1, "one document: {output:?}");
    (output.status.code(), serde_json::from_str(&printed).unwrap_or_else(|_| panic!("no JSON: {output:?}")))
}

#[test]
fn commands_on_the_database_print_json() {
    let folder = Folder::new("json");
    let (url, copy) = (folder.database(), folder.file("copy.db"));
    let at = |words: &[&str]| json(&[words, &["--database", &url]].concat());
    let (code, absent) = at(&["migrate", "--check"]);
    assert_eq!((code, &absent["compatible"], &absent["found"]), (Some(1), &false.into(), &0.into()));
    let (code, made) = at(&["migrate"]);
    assert_eq!((code, &made["compatible"], &made["migrated"]), (Some(0), &true.into(), &true.into()));
    assert_eq!(at(&["migrate"]).1["migrated"], false);
    let (_, added) = at(&["user", "add", "eva", "--role", "viewer", "--name", "Eva"]);
    assert_eq!((&added["id"], &added["name"], &added["role"]), (&"eva".into(), &"Eva".into(), &"viewer".into()));
    assert_eq!(at(&["user", "change", "eva", "--role", "editor"]).1["role"], "editor");
    assert_eq!(at(&["user", "disable", "eva"]).1["disabled"], true);
    assert_eq!(at(&["user", "enable", "eva"]).1["disabled"], false);
    let (_, token) = at(&["token", "create", "--user", "eva", "--can", "leases.use"]);
    assert!(token["token"].as_str().is_some_and(|secret| secret.starts_with("turno_")), "{token}");
    assert_eq!(token["permissions"], serde_json::json!(["leases.use"]));
    assert_eq!(at(&["user", "show", "eva"]).1["tokens"][0]["id"], token["id"]);
    let revoked = at(&["token", "revoke", token["id"].as_str().expect("a token has an id")]).1;
    assert_eq!((&revoked["id"], &revoked["revoked"]), (&token["id"], &true.into()));
    assert_eq!(at(&["user", "remove", "eva"]).1, serde_json::json!({ "id": "eva", "removed": true }));
    assert_eq!(at(&["backup", &copy]).1["file"], copy.as_str());
    let server = Running::start(&["serve", "--listen", "127.0.0.1:0", "--database", &url]);
    let (code, health) = json(&["healthcheck", "--server", &format!("http://{}", server.address)]);
    assert_eq!((code, &health["status"]), (Some(0), &"ok".into()));
}
