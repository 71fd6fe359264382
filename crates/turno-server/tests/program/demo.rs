//! `turno demo`: its database, its help and its configuration.

use std::io::Read;
use std::path::{Path, PathBuf};

use super::{Running, ended, text};

/// Starts a demo. Returns it with the folder of its database.
fn demo() -> (Running, PathBuf) {
    let demo = Running::start(&["demo", "--listen", "127.0.0.1:0"]);
    assert!(demo.before.len() < 8, "{:?}", demo.before);
    let banner = demo.before.first().expect("the demo prints a banner");
    let path = banner.split("SQLite, ").nth(1).and_then(|rest| rest.split_once(" (removed at the end)"));
    let path = Path::new(path.expect("the banner has the path of the database").0);
    let folder = path.parent().expect("the path has a folder").to_owned();
    assert!(folder.is_dir(), "{path:?}");
    (demo, folder)
}

#[test]
fn the_demo_prints_its_database_and_removes_it_at_the_end() {
    let (mut demo, folder) = demo();
    assert_eq!(demo.signal("TERM"), Some(0));
    assert!(!folder.exists(), "{folder:?}");
    let mut logged = String::new();
    let mut stderr = demo.child.stderr.take().expect("stderr is piped");
    stderr.read_to_string(&mut logged).expect("stderr is UTF-8");
    assert!(!logged.contains("ERROR"), "the folder is removed after the last write: {logged}");
}

#[test]
fn the_next_demo_removes_the_folder_of_a_killed_one_and_not_of_a_running_one() {
    let (mut running, kept) = demo();
    let (mut killed, left) = demo();
    assert_eq!(killed.signal("KILL"), None);
    assert!(left.is_dir(), "a killed demo removes nothing");
    let (mut next, _) = demo();
    assert!(!left.exists() && kept.is_dir(), "{left:?} {kept:?}");
    assert_eq!((next.signal("TERM"), running.signal("TERM")), (Some(0), Some(0)));
}

#[test]
fn the_help_of_the_demo_lists_only_its_own_options() {
    let help = text(&ended(&["demo", "--help"]).stdout);
    assert!(
        help.contains("--database <URL>") && !help.contains("TURNO_DATABASE") && !help.contains("--config"),
        "{help}"
    );
    let refused = ended(&["demo", "--database", "sqlite:x.db"]);
    assert!(text(&refused.stderr).contains("temporary file or on PostgreSQL"), "{refused:?}");
}

#[test]
fn the_demo_accepts_a_configuration_file_like_every_command() {
    let refused = ended(&["demo", "--config", "turno.toml", "--database", "sqlite:x.db"]);
    let stderr = text(&refused.stderr);
    assert!(refused.status.code() == Some(2) && stderr.contains("temporary file or on PostgreSQL"), "{refused:?}");
}
