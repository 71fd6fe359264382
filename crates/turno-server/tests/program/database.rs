//! The whole program on PostgreSQL over TLS, and behind a pooler.

use super::{Folder, Running, text, turno};
use std::process::Output;
use turno_testkit::postgres::certificates::Authority;
use turno_testkit::postgres::{Cluster, Pooler, Settings};

/// Runs statements over a connection of the test's own.
fn sql(url: &str, statements: &str) -> Option<String> {
    let run = async {
        let (client, connection) = tokio_postgres::connect(url, tokio_postgres::NoTls).await.expect("a private server");
        tokio::spawn(connection);
        let answers = client.simple_query(statements).await.expect("the statements are valid");
        answers.into_iter().find_map(|answer| match answer {
            tokio_postgres::SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
            _ => None,
        })
    };
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime can be made").block_on(run)
}

/// Runs a command on the database of the variable `DATABASE_URL`, with the source of the guide.
fn on(url: &str, folder: &Folder, arguments: &[&str]) -> Output {
    let mut command = turno(arguments);
    command.env("DATABASE_URL", url).env("TURNO_CONFIG", folder.file("turno.toml")).env("MODULE_SECRET", "hush");
    command.output().expect("the program was built with this test")
}

fn succeeds(url: &str, folder: &Folder, arguments: &[&str]) -> String {
    let output = on(url, folder, arguments);
    assert!(output.status.success(), "{arguments:?}: {}", text(&output.stderr));
    text(&output.stdout)
}

fn configured(name: &str, file: &str) -> Folder {
    let folder = Folder::new(name);
    std::fs::write(folder.file("turno.toml"), file).expect("the folder for tests can be written");
    folder
}

const SOURCE: &str = "[[sync.source]]\npreset = \"siper\"\n";
const TABLE: &str = include_str!("../../../../docs/guides/sync-siper.sql");

#[test]
fn server_command_line_and_sync_use_verify_full_and_faults_are_explained() {
    // Production refuses a server without fsync.
    let mut cluster =
        Cluster::start_with(Settings { fsync: true, ..Settings::tests() }).expect("PostgreSQL is installed");
    let direct = cluster.fresh_database_blocking();
    sql(&direct, "create role shop superuser login password 's3cret'");
    sql(&direct, TABLE);
    let (authority, other) = (Authority::new("Turno's tests"), Authority::new("Other"));
    let identity = authority.issue(&["localhost"]);
    cluster.serve_tls(&identity, None, "hostssl all shop 127.0.0.1/32 scram-sha-256").expect("the server starts");
    let folder = configured("tls", SOURCE);
    for (name, root) in [("root.crt", authority.root()), ("other.crt", other.root())] {
        std::fs::write(folder.file(name), root).expect("the folder for tests can be written");
    }
    let (_, place) = direct.split_once("127.0.0.1:").expect("the cluster is on loopback");
    let with = |root: &str| {
        format!("postgres://shop:s3cret@localhost:{place}?sslmode=verify-full&sslrootcert={}", folder.file(root))
    };
    let url = with("root.crt");
    succeeds(&url, &folder, &["user", "add", "eva", "--role", "admin"]);
    succeeds(&url, &folder, &["sync", "install"]);
    assert!(succeeds(&url, &folder, &["config"]).contains("DATABASE_URL"), "the origin is shown");
    assert!(!succeeds(&url, &folder, &["config"]).contains("s3cret"));
    let mut server = turno(&["serve", "--listen", "127.0.0.1:0", "--env", "production"]);
    server.env("DATABASE_URL", &url).env("TURNO_CONFIG", folder.file("turno.toml")).env("MODULE_SECRET", "hush");
    let mut server = Running::spawn(server);
    assert!(server.get("/readyz", "").starts_with("HTTP/1.1 200"));
    let open = "select count(*) from pg_stat_activity join pg_stat_ssl using (pid) where usename = 'shop' and not ssl";
    assert_eq!(sql(&direct, open).as_deref(), Some("0"));
    let secure =
        "select count(*) > 3 from pg_stat_activity join pg_stat_ssl using (pid) where usename = 'shop' and ssl";
    assert_eq!(sql(&direct, secure).as_deref(), Some("t"));
    assert_eq!(server.signal("TERM"), Some(0));

    let refused = on(&with("other.crt"), &folder, &["user", "list"]);
    let talk = text(&refused.stderr);
    assert_eq!(refused.status.code(), Some(1), "{talk}");
    assert!(talk.contains("unknown authority") && talk.contains("next: name the authority"), "{talk}");
    let spanish = turno(&["user", "list", "--database", &with("other.crt")]).env("TURNO_LANG", "es").output();
    let talk = text(&spanish.expect("the program was built with this test").stderr);
    assert!(talk.contains("autoridad desconocida") && talk.contains("sslrootcert=ARCHIVO"), "{talk}");
    let plain = format!("postgres://shop:s3cret@localhost:{place}?sslmode=disable");
    let talk = text(&on(&plain, &folder, &["user", "list"]).stderr);
    assert!(talk.contains("(28000)") && talk.contains("sslmode=require") && !talk.contains("s3cret"), "{talk}");
}

#[test]
fn production_refuses_a_far_database_without_tls() {
    let folder = configured("plaintext", "env = \"production\"\n");
    let far = "postgres://shop:s3cret@192.0.2.1/shop";
    let refused = on(far, &folder, &["serve", "--listen", "127.0.0.1:0"]);
    let talk = text(&refused.stderr);
    assert_eq!(refused.status.code(), Some(2), "{talk}");
    assert!(talk.contains("192.0.2.1 is reached without TLS") && talk.contains("database_plaintext"), "{talk}");
    assert!(!talk.contains("s3cret"), "{talk}");
}

#[test]
fn other_databases_are_answered_with_the_supported_ones() {
    let folder = configured("kinds", "");
    for url in ["mysql://ana:s3cret@db/shop", "mongodb+srv://ana:s3cret@db/shop"] {
        let refused = on(url, &folder, &["user", "list"]);
        let talk = text(&refused.stderr);
        assert_eq!(refused.status.code(), Some(2), "{talk}");
        assert!(talk.contains("not supported") && talk.contains("use sqlite: or postgres://"), "{talk}");
        assert!(talk.contains("DATABASE_URL") && !talk.contains("s3cret"), "{talk}");
    }
}

#[test]
fn server_command_line_sync_and_worker_run_behind_a_transaction_pooler() {
    let cluster = Cluster::start().expect("PostgreSQL is installed");
    let direct = cluster.fresh_database_blocking();
    sql(&direct, TABLE);
    let mut pooler = Pooler::start(&cluster, "transaction").expect("PgBouncer is installed");
    let url = pooler.url(&direct);
    let folder = configured("pooler", SOURCE);
    succeeds(&url, &folder, &["user", "add", "eva", "--role", "admin"]);
    let mut server = turno(&["serve", "--listen", "127.0.0.1:0"]);
    server.env("DATABASE_URL", &url).env("TURNO_CONFIG", folder.file("turno.toml")).env("MODULE_SECRET", "hush");
    let mut server = Running::spawn(server);
    // With named statements, most of these commands met a statement of the server in the session that they got.
    for _ in 0..8 {
        assert!(succeeds(&url, &folder, &["user", "list"]).contains("eva"));
    }
    for arguments in [&["sync", "install"][..], &["sync", "resync", "--all"], &["sync", "check"]] {
        let output = on(&url, &folder, arguments);
        assert_ne!(output.status.code(), Some(2), "{arguments:?}: {}", text(&output.stderr));
        assert!(!text(&output.stderr).contains("prepared statement"), "{}", text(&output.stderr));
    }
    let token = succeeds(&url, &folder, &["token", "create", "--user", "eva"]);
    let address = format!("http://{}", server.address);
    let ask = |arguments: &[&str]| {
        let asked = turno(arguments).env("TURNO_URL", &address).env("TURNO_TOKEN", token.trim()).output();
        let asked = asked.expect("the program was built with this test");
        assert!(asked.status.success(), "{arguments:?}: {}", text(&asked.stderr));
    };
    ask(&["queue", "put", "mails", "--kind", "inbox"]);
    for round in 0..3 {
        ask(&["queue", "enqueue", "mails", "{}"]);
        pooler.restart().expect("PgBouncer starts again");
        succeeds(&url, &folder, &["queue", "work", "mails", "--until-empty", "--database", &url, "--", "true"]);
        assert!(server.get("/readyz", "").starts_with("HTTP/1.1 200"), "round {round}");
    }
    let left = "select count(*) from turno.hot h join turno.queue q on q.id = h.queue where q.name = 'mails'";
    assert_eq!(sql(&direct, left).as_deref(), Some("0"), "every item was processed");
    assert_eq!(server.signal("TERM"), Some(0));
}
