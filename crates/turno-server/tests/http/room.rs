//! Overload: half-sent and complete requests over real sockets (R5).

use std::io::{Read, Write};
use std::time::Duration;

use crate::cases;
use crate::queue::made;
use crate::world::{Client, Running, World, answer};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

cases![
    half_sent_heartbeats_do_not_affect_other_callers,
    half_sent_sign_ins_do_not_affect_other_callers,
    complete_requests_fill_their_room_and_half_sent_ones_do_not,
    half_sent_large_bodies_delay_only_their_caller,
    the_refusal_of_an_overloaded_server_reaches_clients_that_send_first,
    an_incomplete_body_is_refused_in_the_callers_language,
    a_body_beyond_the_limit_is_refused_before_it_is_sent,
];

/// Far longer than any answer takes on a slow machine, and shorter than the limit of the run.
const PATIENCE: Duration = Duration::from_secs(60);
const CONTINUE: &str = "HTTP/1.1 100 Continue";

/// A request without its complete body.
struct HalfSent(TcpStream);

impl HalfSent {
    /// Sends the head. `Expect` makes the server announce when it begins to read the body.
    async fn head(server: &Running, path: &str, secret: Option<&str>, length: usize) -> HalfSent {
        let host = server.base.trim_start_matches("http://");
        let bearer = secret.map_or_else(String::new, |secret| format!("authorization: Bearer {secret}\r\n"));
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: {host}\r\naccept-language: en\r\n{bearer}content-length: {length}\r\n\
             expect: 100-continue\r\n\r\n"
        );
        let mut stream = TcpStream::connect(host).await.unwrap();
        stream.write_all(head.as_bytes()).await.unwrap();
        HalfSent(stream)
    }

    /// Sends the head and, if the server asks for the body, its first byte.
    async fn begun(server: &Running, path: &str, secret: Option<&str>, length: usize) -> HalfSent {
        let mut request = HalfSent::head(server, path, secret, length).await;
        if request.read().await.starts_with(CONTINUE) {
            request.0.write_all(b"{").await.unwrap();
        }
        request
    }

    /// Waits for the next bytes from the server.
    async fn read(&mut self) -> String {
        let mut piece = [0; 4_096];
        let read = tokio::time::timeout(PATIENCE, self.0.read(&mut piece)).await.expect("the server answers in time");
        String::from_utf8(piece[..read.unwrap()].to_vec()).unwrap()
    }

    /// Returns whether the server has sent nothing since.
    fn is_silent(&self) -> bool {
        self.0.try_read(&mut [0]).is_err_and(|error| error.kind() == std::io::ErrorKind::WouldBlock)
    }

    /// Returns everything that the server sends until it closes the connection.
    async fn rest(mut self) -> String {
        let mut rest = String::new();
        let read = self.0.read_to_string(&mut rest);
        tokio::time::timeout(PATIENCE, read).await.expect("the server closes the connection").unwrap();
        rest
    }
}

/// Leo holds a lock and keeps working: another caller's traffic must not affect him.
struct Holder {
    leo: Client,
    fence: Value,
}

impl Holder {
    /// Claims the lock, and sets a password for Rosa to sign in with.
    async fn working(world: &World, server: &Running) -> Holder {
        let rosa = json!({ "id": "rosa", "role": "editor", "password": "una clave larga" });
        world.client("eva").await.post("/v1/users", rosa).await.expect(201);
        let leo = world.client("leo").await.at(server);
        let held = leo.post("/v1/leases/caja:1/claim", json!({ "ttl_ms": 120_000 })).await.expect(200);
        Holder { leo, fence: held["fence"].clone() }
    }

    /// Asserts that a heartbeat, a claim, a release, a read and a sign-in are answered.
    async fn is_answered(&self) {
        let beat = self.leo.post("/v1/leases/caja:1/heartbeat", json!({ "fence": self.fence })).await.expect(200);
        assert_eq!(beat["renewed"], true);
        let claimed = self.leo.post("/v1/leases/caja:9/claim", json!({})).await.expect(200);
        self.leo.post("/v1/leases/caja:9/release", json!({ "fence": claimed["fence"] })).await.expect(200);
        assert_eq!(self.leo.get("/v1/leases/caja:1").await.expect(200)["fence"], self.fence, "the lock is held");
        let rosa = json!({ "user": "rosa", "password": "una clave larga" });
        self.leo.fresh().post("/sign-in", rosa).await.expect(200);
    }
}

/// P3, signed in. A limit of two requests leaves a room of 8 for heartbeats, which each wave alone would fill.
async fn half_sent_heartbeats_do_not_affect_other_callers(world: World) {
    let server = Running::start(&world.url, &["--limits-requests", "2"]);
    let holder = Holder::working(&world, &server).await;
    let ana = world.client("ana").await;
    let mut attack = Vec::new();
    for _wave in 0..3 {
        for _ in 0..12 {
            let path = "/v1/leases/caja:2/heartbeat";
            attack.push(HalfSent::begun(&server, path, Some(ana.secret()), 1_000).await);
        }
        holder.is_answered().await;
    }
    assert!(attack.iter().all(HalfSent::is_silent), "no half-sent request was answered meanwhile");
}

/// P3, not signed in. A limit of two requests is the whole room that sign-ins share with reads.
async fn half_sent_sign_ins_do_not_affect_other_callers(world: World) {
    let server = Running::start(&world.url, &["--limits-requests", "2"]);
    let holder = Holder::working(&world, &server).await;
    let mut attack = Vec::new();
    for _wave in 0..4 {
        for _ in 0..20 {
            attack.push(HalfSent::begun(&server, "/sign-in", None, 1_000).await);
        }
        holder.is_answered().await;
    }
    // One source has at most 64 unread sign-ins, and a new one ends the oldest. So the honest sign-in gets in.
    let newest = attack.split_off(attack.len() - 60);
    assert!(newest.iter().all(HalfSent::is_silent), "the newest are still being read");
    let oldest = attack.remove(0).rest().await;
    assert!(oldest.starts_with("HTTP/1.1 429") && oldest.contains(r#""code":"too_many_requests""#), "{oldest}");
}

/// The negative control of the cases above: the rooms are that small, and only complete requests fill them.
async fn complete_requests_fill_their_room_and_half_sent_ones_do_not(world: World) {
    let eva = made(&world, "mails", json!({ "kind": "inbox" })).await;
    let server = Running::start(&world.url, &["--limits-requests", "1"]);
    let (eva, path) = (eva.at(&server), "/v1/queues/mails/claim");
    let mut attack = Vec::new();
    for _ in 0..12 {
        attack.push(HalfSent::begun(&server, path, Some(eva.secret()), 1_000).await);
    }
    eva.post(path, json!({ "instance": "w" })).await.expect(200);
    let waiting: Vec<_> = (0..8)
        .map(|_| {
            let eva = eva.fresh();
            tokio::spawn(async move { eva.post(path, json!({ "instance": "w", "wait_ms": 30_000 })).await })
        })
        .collect();
    let full = async { while !eva.get("/metrics").await.text.contains("in_progress{room=\"waiting\"} 8") {} };
    tokio::time::timeout(PATIENCE, full).await.expect("eight complete claims are in the room");
    eva.post(path, json!({ "instance": "w" })).await.problem(503, "overloaded");
    waiting.iter().for_each(tokio::task::JoinHandle::abort);
}

/// One caller gets a quarter of the memory for bodies: two of 8 MiB, and eight heartbeats of 512 KiB.
async fn half_sent_large_bodies_delay_only_their_caller(world: World) {
    made(&world, "mails", json!({ "kind": "inbox" })).await;
    let holder = Holder::working(&world, &world.server).await;
    let ana = world.client("ana").await;
    for (path, length, share) in [("/v1/queues/mails/items", 8 << 20, 2), ("/v1/leases/heartbeat", 512 << 10, 8)] {
        let mut attack = Vec::new();
        for _ in 0..share {
            attack.push(HalfSent::begun(&world.server, path, Some(ana.secret()), length).await);
        }
        let mut beyond = HalfSent::head(&world.server, path, Some(ana.secret()), length).await;
        holder.is_answered().await;
        let large = json!({ "payload": "x".repeat(1 << 20) });
        holder.leo.post("/v1/queues/mails/items", large).await.expect(201);
        let beat = format!("{}{}", json!({ "fence": holder.fence }), " ".repeat(100_000));
        let beat = holder.leo.request(Method::POST, "/v1/leases/caja:1/heartbeat").body(beat);
        assert_eq!(answer(beat.send().await.unwrap()).await.expect(200)["renewed"], true);
        assert!(beyond.is_silent(), "the body is not read while its caller has no memory left: {path}");
        drop(attack.pop());
        assert!(beyond.read().await.starts_with(CONTINUE), "the body is read once there is memory: {path}");
    }
}

/// P12: a limit of one request, twelve clients, bodies of 200 kB.
async fn the_refusal_of_an_overloaded_server_reaches_clients_that_send_first(world: World) {
    let eva = made(&world, "mails", json!({ "kind": "inbox" })).await;
    let server = Running::start(&world.url, &["--limits-requests", "1"]);
    let (host, secret) = (server.base.trim_start_matches("http://").to_owned(), eva.secret().to_owned());
    let clients: Vec<_> = (0..12)
        .map(|_| {
            let (host, secret) = (host.clone(), secret.clone());
            tokio::task::spawn_blocking(move || {
                (0..5).map(|_| send_then_read(&host, &secret, 200_000)).collect::<Vec<_>>()
            })
        })
        .collect();
    let (mut accepted, mut refused) = (0, 0);
    for client in clients {
        for answer in client.await.unwrap() {
            if answer.starts_with("HTTP/1.1 201") {
                accepted += 1;
            } else {
                assert!(answer.starts_with("HTTP/1.1 503") && answer.contains(r#""code":"overloaded""#), "{answer}");
                refused += 1;
            }
        }
    }
    assert!(accepted > 0 && refused > 0, "{accepted} accepted, {refused} refused");
    assert_eq!(
        eva.get("/v1/queues/mails").await.expect(200)["counts"]["pending"],
        accepted,
        "only accepted items are stored"
    );
}

/// Sends a whole request before reading, and returns the answer.
fn send_then_read(host: &str, secret: &str, size: usize) -> String {
    let body = json!({ "payload": "x".repeat(size) }).to_string();
    let mut stream = std::net::TcpStream::connect(host).unwrap();
    stream.set_nodelay(true).unwrap();
    let head = format!(
        "POST /v1/queues/mails/items HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {secret}\r\n\
         content-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    // In pieces, as clients that copy a file do: if the server closes early, one of the writes fails.
    for piece in body.as_bytes().chunks(8_192) {
        stream.write_all(piece).expect("the server reads the body");
        std::thread::yield_now();
    }
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("the answer arrives before the connection closes");
    answer
}

async fn an_incomplete_body_is_refused_in_the_callers_language(world: World) {
    let ana = world.client("ana").await;
    let (host, secret) = (world.server.base.trim_start_matches("http://"), ana.secret());
    for (language, expected) in [
        ("es", "el cuerpo se cortó antes de su fin; envíelo entero"),
        ("en", "the body broke off before its end; send all of it"),
    ] {
        for framing in ["content-length: 100\r\n\r\n{", "transfer-encoding: chunked\r\n\r\n20\r\n{"] {
            let mut stream = TcpStream::connect(host).await.unwrap();
            let request = format!(
                "POST /v1/leases/caja:1/claim HTTP/1.1\r\nhost: {host}\r\naccept-language: {language}\r\n\
                 authorization: Bearer {secret}\r\n{framing}"
            );
            stream.write_all(request.as_bytes()).await.unwrap();
            stream.shutdown().await.unwrap();
            let answer = HalfSent(stream).rest().await;
            assert!(answer.starts_with("HTTP/1.1 400") && answer.contains(r#""code":"bad_body""#), "{answer}");
            assert!(answer.contains(expected), "{answer}");
        }
    }
    assert_eq!(ana.get("/v1/leases/caja:1").await.expect(200)["state"], "free", "nothing was claimed");
}

async fn a_body_beyond_the_limit_is_refused_before_it_is_sent(world: World) {
    let ana = world.client("ana").await;
    for (path, secret, length, bound) in [
        ("/v1/queues/mails/items", Some(ana.secret()), (8 << 20) + 1, "8 MiB"),
        ("/v1/leases/heartbeat", Some(ana.secret()), (8 << 20) + 1, "8 MiB"),
        ("/sign-in", None, (16 << 10) + 1, "16 KiB"),
    ] {
        let answer = HalfSent::head(&world.server, path, secret, length).await.rest().await;
        assert!(answer.starts_with("HTTP/1.1 413") && answer.contains(bound), "{path}: {answer}");
    }
}
