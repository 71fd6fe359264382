//! TLS against a real server with a private authority: what is accepted, and which fault is reported.

use std::path::Path;
use tokio_postgres::{Client, NoTls};
use turno::store::{StoreError, TlsFault, TlsFileProblem};
use turno::{Error, Turno};
use turno_testkit::postgres::Cluster;
use turno_testkit::postgres::certificates::{Authority, Identity};

/// Admits `scram` by password and `guest` by certificate, over TLS only; `plain` without TLS only.
const ADMISSION: &str = "hostssl all scram 127.0.0.1/32 scram-sha-256\n\
                         hostssl all guest 127.0.0.1/32 cert\n\
                         hostnossl all plain 127.0.0.1/32 trust";

/// A server with TLS, and files for its clients.
struct World {
    cluster: Cluster,
    url: String,
}

impl World {
    async fn new() -> World {
        let cluster = Cluster::start().unwrap();
        let url = cluster.fresh_database().await;
        let client = outside(&url).await;
        let roles = "create role scram superuser login password 's3cret'; create role guest superuser login;
            create role plain superuser login";
        client.batch_execute(roles).await.unwrap();
        World { cluster, url }
    }

    /// Writes a file for clients, readable by this user only.
    fn file(&self, name: &str, text: &str) -> String {
        let path = self.cluster.directory().join(name);
        self.cluster.write(&path, text).unwrap().display().to_string()
    }

    /// Returns the URL for this user and host.
    fn at(&self, user: &str, host: &str, query: &str) -> String {
        let (_, tail) = self.url.split_once("127.0.0.1:").unwrap();
        format!("postgres://{user}@{host}:{tail}?{query}")
    }
}

async fn outside(url: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

async fn fault(url: &str) -> TlsFault {
    match Turno::open(url).await.unwrap_err() {
        Error::Store(StoreError::Tls(fault)) => fault,
        other => panic!("{other:?}"),
    }
}

/// Returns how many of the user's sessions are encrypted, and how many there are, while the engine is open.
async fn encrypted(world: &World, user: &str) -> (i64, i64) {
    let sql = "select count(*) filter (where s.ssl), count(*) from pg_stat_activity a join pg_stat_ssl s using (pid)
        where a.usename = $1";
    let row = outside(&world.url).await.query_one(sql, &[&user]).await.unwrap();
    (row.get(0), row.get(1))
}

#[tokio::test]
async fn verify_full_encrypts_every_connection_and_refuses_what_libpq_refuses() {
    let mut world = World::new().await;
    let (authority, other) = (Authority::new("Turno's tests"), Authority::new("Other"));
    let (root, wrong) = (world.file("root.crt", &authority.root()), world.file("other.crt", &other.root()));
    world.cluster.serve_tls(&authority.issue(&["localhost"]), None, ADMISSION).unwrap();
    let full = format!("sslmode=verify-full&sslrootcert={root}");

    // Channel binding is required, so that the certificate's digest reaches the server's own.
    let url = world.at("scram:s3cret", "localhost", &format!("{full}&channel_binding=require"));
    let turno = Turno::open(&url).await.unwrap();
    turno.lease("caja:7").claim("ana").await.unwrap();
    let (secure, all) = encrypted(&world, "scram").await;
    assert!(secure == all && all > 1, "{secure} of {all}");
    drop(turno);

    let named = fault(&world.at("turno", "127.0.0.1", &full)).await;
    assert_eq!(named, TlsFault::WrongName { host: "127.0.0.1".into(), names: vec!["localhost".into()] });
    for mode in ["verify-ca", "require"] {
        let query = format!("sslmode={mode}&sslrootcert={root}");
        Turno::open(&world.at("turno", "127.0.0.1", &query)).await.unwrap();
        let query = format!("sslmode={mode}&sslrootcert={wrong}");
        assert_eq!(fault(&world.at("turno", "127.0.0.1", &query)).await, TlsFault::UnknownIssuer, "{mode}");
    }
    Turno::open(&world.at("turno", "127.0.0.1", "sslmode=require")).await.unwrap();
    let system = fault(&world.at("turno", "localhost", "sslrootcert=system")).await;
    let no_roots = |problem: &TlsFault| matches!(problem, TlsFault::File { parameter: "sslrootcert", .. });
    assert!(system == TlsFault::UnknownIssuer || no_roots(&system), "{system:?}");
    let missing = fault(&world.at("turno", "localhost", "sslmode=verify-full&sslrootcert=/nowhere/root.crt")).await;
    assert!(matches!(missing, TlsFault::File { problem: TlsFileProblem::Unreadable(_), .. }), "{missing:?}");

    let keywords = format!(
        "host=localhost port={} user=scram password=s3cret dbname={} sslmode=verify-full sslrootcert={root}",
        port(&world.url),
        world.url.rsplit('/').next().unwrap()
    );
    Turno::open(&keywords).await.unwrap();

    // A wrong password is no fault of TLS, and appears nowhere.
    let refused = Turno::open(&world.at("scram:wr0ng", "localhost", &full)).await.unwrap_err();
    let Error::Store(StoreError::Unavailable(cause)) = &refused else { panic!("{refused:?}") };
    assert_eq!(cause.code.as_deref(), Some("28P01"));
    assert!(!format!("{refused:?} {refused}").contains("wr0ng"));
}

fn port(url: &str) -> &str {
    url.split_once("127.0.0.1:").and_then(|(_, tail)| tail.split_once('/')).unwrap().0
}

#[tokio::test]
async fn the_fault_of_the_certificate_is_named() {
    let mut world = World::new().await;
    let authority = Authority::new("Turno's tests");
    let root = world.file("root.crt", &authority.root());
    let full = format!("sslmode=verify-full&sslrootcert={root}");

    world.cluster.serve_tls(&authority.issue_expired(&["localhost"]), None, ADMISSION).unwrap();
    assert_eq!(fault(&world.at("turno", "localhost", &full)).await, TlsFault::Expired);

    world.cluster.serve_tls(&authority.issue_common_name("localhost"), None, ADMISSION).unwrap();
    Turno::open(&world.at("turno", "localhost", &full)).await.unwrap();
    let named = fault(&world.at("turno", "127.0.0.1", &full)).await;
    assert_eq!(named, TlsFault::WrongName { host: "127.0.0.1".into(), names: vec!["localhost".into()] });

    // As in PostgreSQL's manual: the server's certificate is its own authority, and the client's root.
    let own = Identity::self_signed("localhost");
    let pinned = world.file("own.crt", &own.certificate);
    world.cluster.serve_tls(&own, None, ADMISSION).unwrap();
    Turno::open(&world.at("turno", "localhost", &format!("sslmode=verify-full&sslrootcert={pinned}"))).await.unwrap();
    let again = Identity::self_signed("localhost");
    world.cluster.serve_tls(&again, None, ADMISSION).unwrap();
    let replaced = fault(&world.at("turno", "localhost", &format!("sslmode=verify-full&sslrootcert={pinned}"))).await;
    assert!(matches!(replaced, TlsFault::UnknownIssuer | TlsFault::Certificate(_)), "{replaced:?}");
}

#[tokio::test]
async fn a_client_certificate_is_sent_if_it_is_given() {
    let mut world = World::new().await;
    let (authority, other) = (Authority::new("Turno's tests"), Authority::new("Other"));
    let root = world.file("root.crt", &authority.root());
    let (right, wrong) = (authority.issue(&["guest"]), other.issue(&["guest"]));
    let (certificate, key) = (world.file("guest.crt", &right.certificate), world.file("guest.key", &right.key));
    let (stranger, its_key) = (world.file("stranger.crt", &wrong.certificate), world.file("stranger.key", &wrong.key));
    let server = authority.issue(&["localhost"]);
    world.cluster.serve_tls(&server, Some(&authority.root()), ADMISSION).unwrap();
    let with = |certificate: &str, key: &str| {
        let query = format!("sslmode=verify-full&sslrootcert={root}&sslcert={certificate}&sslkey={key}");
        world.at("guest", "localhost", &query)
    };
    Turno::open(&with(&certificate, &key)).await.unwrap();
    let without = world.at("guest", "localhost", &format!("sslmode=verify-full&sslrootcert={root}"));
    let refused = Turno::open(&without).await.unwrap_err();
    let Error::Store(StoreError::Unavailable(cause)) = &refused else { panic!("{refused:?}") };
    assert_eq!(cause.code.as_deref(), Some("28000"), "{cause}");
    assert_eq!(fault(&with(&stranger, &its_key)).await, TlsFault::ClientRefused);

    let problem = async |certificate: &str, key: &str| match fault(&with(certificate, key)).await {
        TlsFault::File { problem, .. } => problem,
        other => panic!("{other:?}"),
    };
    assert_eq!(problem(&certificate, &its_key).await, TlsFileProblem::Mismatch);
    assert_eq!(problem(&certificate, &certificate).await, TlsFileProblem::NoKey);
    assert_eq!(problem(&key, &key).await, TlsFileProblem::NoCertificate);
    open_to_all(Path::new(&key));
    assert_eq!(problem(&certificate, &key).await, TlsFileProblem::Exposed);
}

fn open_to_all(path: &Path) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o644)).unwrap();
}

#[tokio::test]
async fn a_server_without_tls_is_refused_unless_it_is_only_preferred() {
    let mut world = World::new().await;
    assert_eq!(fault(&world.at("turno", "127.0.0.1", "sslmode=require")).await, TlsFault::Refused);
    Turno::open(&world.url).await.unwrap();
    world.cluster.serve_tls(&Authority::new("a").issue(&["localhost"]), None, ADMISSION).unwrap();
    let turno = Turno::open(&world.at("turno", "127.0.0.1", "sslmode=prefer&application_name=x")).await.unwrap();
    let (secure, _) = encrypted(&world, "turno").await;
    assert!(secure > 0, "TLS is used where it is offered");
    drop(turno);
    // The server admits this user without TLS only.
    let turno = Turno::open(&world.at("plain", "127.0.0.1", "sslmode=prefer")).await.unwrap();
    let (secure, all) = encrypted(&world, "plain").await;
    assert!(secure == 0 && all > 0);
    drop(turno);
    Turno::open(&world.at("turno", "127.0.0.1", "sslmode=disable")).await.unwrap();
    let socket = world.cluster.directory().join("socket").display().to_string().replace('/', "%2F");
    Turno::open(&world.at("turno", &socket, "sslmode=require")).await.unwrap();
}
