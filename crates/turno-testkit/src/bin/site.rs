//! Creates a database with an administrator for checks from outside: `site sqlite` or `site postgres`.
//!
//! Prints the database's URL and a token, one per line, and keeps the database until its standard input ends.

use std::io::Read;

use turno::Turno;
use turno::access::{NewPerson, NewToken, Role};
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
    let token = runtime.block_on(prepare(&url));
    println!("{url}\n{token}");
    // Standard input ends when the parent process closes it or dies.
    let _ = std::io::stdin().read_to_end(&mut Vec::new());
    drop(cluster);
    let _ = std::fs::remove_dir_all(&folder);
}

/// Fills the database: a person, a queue of every kind and an item in each. Returns a token.
async fn prepare(url: &str) -> String {
    let turno = Turno::open(url).await.expect("the database opens");
    let eva = NewPerson::new("eva", "Eva Ruiz", Role::Admin).expect("a person");
    turno.add_person(eva).await.expect("the database is empty");
    for (name, kind) in [("bot", Kind::Lane), ("mails", Kind::Inbox), ("usuarios", Kind::Sync)] {
        let queue = turno.put_queue(name, Policy::for_kind(kind)).await.expect("a queue");
        let draft = Draft::json("hola").and_then(|draft| draft.key("u1")).expect("the draft is valid");
        queue.enqueue(vec![draft]).await.expect("the item is accepted");
    }
    let token = NewToken::for_user("eva").expect("a name");
    turno.create_token(token).await.expect("the person exists").1
}
