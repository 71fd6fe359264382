//! A running server whose SQLite file is removed, replaced or truncated.

use super::{Folder, Running};
use std::fs;

/// The damage to the file at this path.
type Harm = fn(&str);

#[test]
fn readiness_fails_if_the_database_file_is_removed_replaced_or_truncated() {
    let harms: [(&str, &str, Harm); 3] = [
        ("gone", "se borró o se movió", |file| fs::remove_file(file).expect("the file exists")),
        ("replaced", "se reemplazó por otro", |file| {
            fs::copy(file, format!("{file}.other")).expect("the file exists");
            fs::rename(format!("{file}.other"), file).expect("the copy exists");
        }),
        ("cut_short", "se cortó", |file| {
            fs::OpenOptions::new().write(true).truncate(true).open(file).map(drop).expect("the file exists");
        }),
    ];
    for (reason, words, harm) in harms {
        let folder = Folder::new(&format!("harm-{reason}"));
        let server = Running::start(&["serve", "--listen", "127.0.0.1:0", "--database", &folder.database()]);
        assert!(server.get("/readyz", "").starts_with("HTTP/1.1 200"));
        harm(&folder.file("turno.db"));
        let answer = server.get("/readyz", "");
        assert!(answer.starts_with("HTTP/1.1 503") && answer.contains(words), "{answer}");
        assert!(answer.contains(&format!("\"reason\":\"{reason}\"")), "{answer}");
        let english = server.get("/readyz", "Accept-Language: en\r\n");
        assert!(english.contains("The database file was"), "{english}");
        assert!(server.get("/healthz", "").starts_with("HTTP/1.1 200"), "the process itself is alive");
    }
}

#[cfg(unix)]
#[test]
fn new_database_files_are_readable_by_their_owner_only() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new("private");
    let server = Running::start(&["serve", "--listen", "127.0.0.1:0", "--database", &folder.database()]);
    assert!(server.get("/readyz", "").starts_with("HTTP/1.1 200"));
    let mode = |name: &str| fs::metadata(folder.file(name)).expect("the file exists").permissions().mode() & 0o777;
    for name in ["turno.db", "turno.db-wal", "turno.db-shm"] {
        assert_eq!(mode(name), 0o600, "{name}");
    }
    // A file that exists keeps the permissions that its owner chose.
    drop(server);
    fs::set_permissions(folder.file("turno.db"), fs::Permissions::from_mode(0o640)).expect("the file is ours");
    let server = Running::start(&["serve", "--listen", "127.0.0.1:0", "--database", &folder.database()]);
    assert!(server.get("/readyz", "").starts_with("HTTP/1.1 200"));
    assert_eq!(mode("turno.db"), 0o640);
}
