//! The start beside the command line: the setup link for the first administrator.

use super::{Folder, Running, ended, turno};
use std::io::Read as _;
use std::process::Child;

#[test]
fn the_setup_link_is_printed_until_an_administrator_exists() {
    let folder = Folder::new("invite");
    let url = folder.database();
    let words = ["serve", "--listen", "127.0.0.1:0", "--database", &url];
    let talk_of = |mut server: Running| {
        assert!(server.before.is_empty(), "{:?}", server.before);
        let page = server.get("/setup?link=nonsense", "");
        assert_eq!(server.signal("TERM"), Some(0));
        let mut talk = String::new();
        server.child.stderr.take().expect("stderr is piped").read_to_string(&mut talk).expect("stderr is UTF-8");
        (talk, page)
    };
    let (talk, page) = talk_of(Running::start(&words));
    assert!(
        talk.contains("/setup?link=turno_") && talk.contains("turno user add") && page.contains("HTTP/1.1"),
        "{talk}"
    );
    assert!(ended(&["user", "add", "eva", "--role", "admin", "--database", &url]).status.success());
    assert!(!talk_of(Running::start(&words)).0.contains("/setup?link="));
}

/// Each round races the start against the command. Before the link's transaction made the decision, about one start in
/// four failed here.
#[test]
fn an_administrator_added_during_the_start_does_not_end_the_server() {
    for round in 0..12 {
        let folder = Folder::new(&format!("added-{round}"));
        let url = folder.database();
        let adding = turno(&["user", "add", "eva", "--role", "admin", "--database", &url]).spawn();
        let mut server = Running::start(&["serve", "--listen", "127.0.0.1:0", "--database", &url]);
        let added = adding.and_then(Child::wait_with_output).expect("the program was built with this test");
        assert!(added.status.success(), "{added:?}");
        assert!(server.get("/readyz", "").starts_with("HTTP/1.1 200"));
        assert_eq!(server.signal("TERM"), Some(0));
    }
}
