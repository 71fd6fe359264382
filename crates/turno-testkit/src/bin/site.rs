//! Creates a database with a caller of every role for checks from outside: `site sqlite` or `site postgres`.
//!
//! Prints the database's URL, then a line `ROLE TOKEN ID,USER` per role, then `ready`. Keeps the database until its standard
//! input ends.

use std::io::Read;
use std::time::Duration;

use turno::Turno;
use turno::access::{NewPerson, NewToken, Permission, Role, Token};
use turno::queue::{Draft, Kind, Policy};
use turno_testkit::postgres::{Cluster, Settings};

fn main() {
    let kind = std::env::args().nth(1).unwrap_or_default();
    let folder = std::env::temp_dir().join(format!("turno-site-{}", std::process::id()));
    // Dropped at the end of `main`, which stops the server.
    let mut cluster = None;
    let url = match kind.as_str() {
        "sqlite" => {
            std::fs::create_dir_all(&folder).expect("the temporary folder can be written");
            format!("sqlite:{}", folder.join("turno.db").display())
        }
        "postgres" => {
            let started = Cluster::start_with(Settings::tests()).expect("PostgreSQL starts");
            cluster.insert(started).fresh_database_blocking()
        }
        _ => {
            eprintln!("usage: site sqlite|postgres");
            std::process::exit(2);
        }
    };
    let runtime = tokio::runtime::Runtime::new().expect("the runtime starts");
    let tokens = runtime.block_on(prepare(&url));
    println!("{url}\n{tokens}ready");
    // Standard input ends when the parent process closes it or dies.
    let _ = std::io::stdin().read_to_end(&mut Vec::new());
    drop(cluster);
    let _ = std::fs::remove_dir_all(&folder);
}

/// Fills the database: people, a queue of every kind and an item in each. Returns a line `ROLE TOKEN ID,USER` per role.
async fn prepare(url: &str) -> String {
    let turno = Turno::open(url).await.expect("the database opens");
    for (name, kind) in [("bot", Kind::Lane), ("mails", Kind::Inbox), ("usuarios", Kind::Sync)] {
        let queue = turno.put_queue(name, Policy::for_kind(kind)).await.expect("a queue");
        let draft = Draft::json("hola").and_then(|draft| draft.key("u1")).expect("the draft is valid");
        queue.enqueue(vec![draft]).await.expect("the item is accepted");
    }
    // The example person of the description, so that requests about a person find one.
    let eva = NewPerson::new("eva", "Eva Ruiz", Role::Admin).expect("a person");
    turno.add_person(eva).await.expect("the person is new");
    let mut lines = String::new();
    let mut add = |role: &str, (token, secret): (Token, String)| {
        lines.push_str(&format!("{role} {secret} {},{}\n", token.id, token.user));
    };
    for (name, role) in [("admin", Role::Admin), ("editor", Role::Editor), ("viewer", Role::Viewer)] {
        // No example of the description has these names, because requests from examples must not disable a caller.
        let id = format!("caller-{name}");
        turno.add_person(NewPerson::new(&id, "Eva Ruiz", role).expect("a person")).await.expect("the person is new");
        let token = turno.create_token(NewToken::for_user(&id).expect("a name")).await.expect("the person exists");
        add(name, token);
    }
    let scope = [Permission::LeasesUse, Permission::QueuesProduce, Permission::QueuesConsume, Permission::QueuesRead];
    let machine = NewToken {
        machine: true,
        scope: Some(scope.into_iter().collect()),
        ..NewToken::for_user("caller-editor").expect("a name")
    };
    add("machine", turno.create_token(machine).await.expect("the person exists"));
    let session = NewToken {
        name: Some("Paco".to_owned()),
        resources: vec!["invoice:".to_owned()],
        ..NewToken::for_user("laravel-31").expect("a name")
    };
    let ttl = Duration::from_secs(900);
    add("session", turno.mint_session(session, ttl).await.expect("the session is narrow enough"));
    lines
}
