//! The SQLite file is destroyed under a running server.

use super::{Folder, Running};
use std::fs;

/// What is done to the file at this path.
type Harm = fn(&str);

#[test]
fn readiness_fails_when_the_database_file_is_gone_replaced_or_cut_short() {
    let harms: [(&str, &str, Harm); 3] = [
        ("gone", "se borró o se movió", |file| fs::remove_file(file).expect("it is there")),
        ("replaced", "se reemplazó por otro", |file| {
            fs::copy(file, format!("{file}.other")).expect("it is there");
            fs::rename(format!("{file}.other"), file).expect("it is there");
        }),
        ("cut_short", "se cortó", |file| {
            fs::OpenOptions::new().write(true).truncate(true).open(file).map(drop).expect("it is there");
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
