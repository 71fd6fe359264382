//! Limits per caller: a greedy caller is refused, and the others go on (S2).

use crate::cases;
use crate::world::{Client, Running, World};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use turno::core::queue::{Kind, Policy};

cases![
    streams_of_one_caller_are_limited_and_others_listen,
    waiting_claims_of_one_caller_are_limited_and_others_work,
    leases_of_one_caller_are_limited_and_others_claim,
    connections_of_one_source_are_limited,
    callers_without_limits_use_everything,
];

const LIMITS: &[&str] =
    &["--limits-streams-per-caller", "3", "--limits-waiting-per-caller", "4", "--limits-leases-per-caller", "5"];
const NO_LIMITS: &[&str] =
    &["--limits-streams-per-caller", "0", "--limits-waiting-per-caller", "0", "--limits-leases-per-caller", "0"];

async fn listen(client: &Client) -> reqwest::Response {
    client.request(Method::GET, "/v1/events").send().await.unwrap()
}

/// Opens this many streams, or ends with the first refusal.
async fn streams(client: &Client, count: usize) -> Vec<reqwest::Response> {
    let mut open = Vec::new();
    for _ in 0..count {
        open.push(listen(client).await);
    }
    open
}

async fn figure(client: &Client, line: &str) -> bool {
    client.get("/metrics").await.text.lines().any(|found| found == line)
}

/// Waits until this many claims are under way.
async fn wait_for_claims(client: &Client, count: usize) {
    let line = format!("turno_http_in_progress{{room=\"waiting\"}} {count}");
    while !figure(client, &line).await {}
}

fn waiting(client: &Client) -> tokio::task::JoinHandle<u16> {
    let client = client.clone();
    let claim = json!({ "instance": "w1", "wait_ms": 30_000 });
    tokio::spawn(async move { client.post("/v1/queues/mails/claim", claim).await.status.as_u16() })
}

/// Checks that a caller can claim, renew and release a lease, and settle nothing less.
async fn works(client: &Client, resource: &str) {
    let path = |verb: &str| format!("/v1/leases/{resource}/{verb}");
    let fence = client.post(&path("claim"), json!({})).await.expect(200)["fence"].clone();
    client.post(&path("heartbeat"), json!({ "fence": fence })).await.expect(200);
    client.post(&path("release"), json!({ "fence": fence })).await.expect(200);
}

fn refused_by(problem: &Value, limit: &str) {
    assert_eq!(problem["limit"], limit, "{problem}");
}

async fn streams_of_one_caller_are_limited_and_others_listen(world: World) {
    let server = Running::start(&world.url, LIMITS);
    let (ana, leo) = (world.client("ana").await.at(&server), world.client("leo").await.at(&server));
    let again = world.client("ana").await.at(&server);
    let mut open = streams(&ana, 3).await;
    assert!(open.iter().all(|stream| stream.status() == 200));
    // Another token of the same account is the same caller.
    let refused = again.get("/v1/events").await;
    assert_eq!(refused.headers["retry-after"], "1");
    refused_by(&refused.problem(429, "too_many_requests"), "limits.streams_per_caller");
    assert_eq!(listen(&leo).await.status(), 200);
    assert!(figure(&leo, "turno_caller_usage{caller=\"ana\",kind=\"streams\"} 3").await);
    assert!(figure(&leo, "turno_caller_refused_total{limit=\"limits.streams_per_caller\"} 1").await);
    let page = world.client("eva").await.at(&server).get("/admin/settings").await;
    assert!(page.text.contains("id=\"callers\""), "{}", page.text);
    works(&ana, "caja:1").await;
    open.pop();
    while listen(&ana).await.status() != 200 {}
}

async fn waiting_claims_of_one_caller_are_limited_and_others_work(world: World) {
    world.turno.put_queue("mails", Policy::for_kind(Kind::Inbox)).await.unwrap();
    let server = Running::start(&world.url, LIMITS);
    let (ana, leo) = (world.client("ana").await.at(&server), world.client("leo").await.at(&server));
    let held = ana.post("/v1/leases/caja:1/claim", json!({})).await.expect(200);
    let claims: Vec<_> = (0..4).map(|_| waiting(&ana)).collect();
    wait_for_claims(&leo, 4).await;
    let refused = ana.post("/v1/leases/caja:2/claim", json!({})).await.problem(429, "too_many_requests");
    refused_by(&refused, "limits.waiting_per_caller");
    works(&leo, "caja:3").await;
    for verb in ["heartbeat", "release"] {
        let path = format!("/v1/leases/caja:1/{verb}");
        ana.post(&path, json!({ "fence": held["fence"] })).await.expect(200);
    }
    claims.iter().for_each(tokio::task::JoinHandle::abort);
}

async fn leases_of_one_caller_are_limited_and_others_claim(world: World) {
    let server = Running::start(&world.url, LIMITS);
    let (ana, leo) = (world.client("ana").await.at(&server), world.client("leo").await.at(&server));
    let entries = |from: usize, to: usize| {
        let all: Vec<_> = (from..to).map(|n| json!({ "resource": format!("caja:{n}") })).collect();
        json!({ "leases": all })
    };
    let answer = ana.post("/v1/leases/claim", entries(0, 8)).await.expect(200);
    let results = answer["results"].as_array().unwrap();
    let granted = results.iter().filter(|result| result.get("lease").is_some()).count();
    assert_eq!(granted, 5, "{answer}");
    let problem = &results[7]["problem"];
    assert_eq!(problem["code"], "too_many_requests");
    refused_by(problem, "limits.leases_per_caller");
    ana.post("/v1/leases/caja:9/claim", json!({})).await.problem(429, "too_many_requests");
    ana.post("/v1/leases/caja:0/claim", json!({})).await.expect(200);
    works(&leo, "caja:20").await;
    let fence = &results[1]["lease"]["fence"];
    ana.post("/v1/leases/caja:1/heartbeat", json!({ "fence": fence })).await.expect(200);
    ana.post("/v1/leases/caja:1/release", json!({ "fence": fence })).await.expect(200);
    ana.post("/v1/leases/caja:9/claim", json!({})).await.expect(200);
    ana.post("/v1/leases/caja:10/claim", json!({})).await.problem(429, "too_many_requests");
}

async fn connect(server: &Running) -> TcpStream {
    TcpStream::connect(server.base.trim_start_matches("http://")).await.unwrap()
}

/// Sends one request and returns the whole answer.
async fn ask(mut stream: TcpStream) -> String {
    stream.write_all(b"GET /healthz HTTP/1.1\r\nhost: t\r\nconnection: close\r\n\r\n").await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

async fn connections_of_one_source_are_limited(world: World) {
    let server = Running::start(&world.url, &["--limits-connections-per-source", "5"]);
    let mut open = Vec::new();
    for _ in 0..5 {
        open.push(connect(&server).await);
    }
    let refused = ask(connect(&server).await).await;
    assert!(refused.starts_with("HTTP/1.1 429"), "{refused}");
    assert!(refused.contains("retry-after: 1") && refused.contains("limits.connections_per_source"), "{refused}");
    open.pop();
    while !ask(connect(&server).await).await.starts_with("HTTP/1.1 200") {}
    let unlimited = Running::start(&world.url, &["--limits-connections-per-source", "0"]);
    let mut open = Vec::new();
    for _ in 0..20 {
        open.push(connect(&unlimited).await);
    }
    assert!(ask(connect(&unlimited).await).await.starts_with("HTTP/1.1 200"), "the negative control");
}

/// The negative control of this file: without limits one caller takes more than any case above allows.
async fn callers_without_limits_use_everything(world: World) {
    world.turno.put_queue("mails", Policy::for_kind(Kind::Inbox)).await.unwrap();
    let server = Running::start(&world.url, NO_LIMITS);
    let (ana, leo) = (world.client("ana").await.at(&server), world.client("leo").await.at(&server));
    assert!(streams(&ana, 70).await.iter().all(|stream| stream.status() == 200));
    let claims: Vec<_> = (0..10).map(|_| waiting(&ana)).collect();
    wait_for_claims(&leo, 10).await;
    claims.iter().for_each(tokio::task::JoinHandle::abort);
    let all: Vec<_> = (0..20).map(|n| json!({ "resource": format!("caja:{n}") })).collect();
    let answer = ana.post("/v1/leases/claim", json!({ "leases": all })).await.expect(200);
    assert!(answer["results"].as_array().unwrap().iter().all(|result| result.get("lease").is_some()));
}
