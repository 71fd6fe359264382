//! The same work over HTTP: the program as its own process, beside the limit of its HTTP alone.

use super::Bench;
use super::ordered::Watch;
use crate::fill;
use crate::measure::{self, BoxError, Dice, Outcome, Until, closed_loop};
use crate::result::{Measured, Sample};
use crate::server::{Connection, Server};
use crate::site::Site;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The comparison of every row: an answer that needs no database.
const BESIDE: &str = "GET /healthz over as many connections: HTTP alone, generator included";

/// One row over HTTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HttpWork {
    EnqueueSingle,
    EnqueueBatch,
    Drain,
    Ordered,
    PickUp,
    Heartbeats,
    Pairs,
}

impl HttpWork {
    /// Returns the number of connections and a description of the work.
    fn shape(self) -> (usize, &'static str) {
        match self {
            HttpWork::EnqueueSingle => (16, "16 connections, one item of ~10 bytes per POST, inbox"),
            HttpWork::EnqueueBatch => (4, "4 connections, 1,000 items per POST, inbox; items per second"),
            HttpWork::Drain => {
                (8, "8 connections claim up to 100 and ack them, inbox filled beforehand; items per second")
            }
            HttpWork::Ordered => (
                4,
                "1,000 keys with 100 messages each, one per delivery; 4 connections claim up to 1,000; order checked",
            ),
            HttpWork::PickUp => {
                (2, "300 probes on an idle inbox: from just before POST items to the answer of a waiting claim")
            }
            HttpWork::Heartbeats => (256, "256 connections, each beating for its own lease of 30 s"),
            HttpWork::Pairs => (64, "64 connections claim one of 10,000 resources and release it; pairs per second"),
        }
    }
}

pub(super) async fn measure(bench: &Bench<'_>, work: HttpWork) -> Outcome<Measured> {
    let (connections, conditions) = work.shape();
    let span = bench.args.span();
    let mut measured = Measured {
        conditions: format!("closed loop, the server a process of its own on the same machine: {conditions}"),
        beside: if work == HttpWork::PickUp { String::new() } else { BESIDE.to_owned() },
        ..Measured::default()
    };
    let mut faults = Vec::new();
    let mut memory = Vec::new();
    let raw = async |site: &Site| {
        let server = Server::start(site).await?;
        trivial(&server, connections, span).await
    };
    let ours = async |site: &Site| {
        let count = bench.args.items(30e3);
        let keys = if work == HttpWork::Ordered { Some(Watch::over(KEYS)) } else { None };
        prepare(site, work, count).await?;
        let server = Server::start(site).await?;
        let sample = match work {
            HttpWork::EnqueueSingle => enqueue(&server, connections, 1, span).await,
            HttpWork::EnqueueBatch => enqueue(&server, connections, 1_000, span).await,
            HttpWork::Drain => drain(&server, "inbox", connections, 100, count, None).await,
            HttpWork::Ordered => drain(&server, "lanes", connections, 1_000, KEYS * EACH, keys.clone()).await,
            HttpWork::PickUp => pick_up(&server).await,
            HttpWork::Heartbeats => beats(&server, connections, span).await,
            HttpWork::Pairs => pairs(&server, connections, span).await,
        }?;
        if let Some(watch) = keys {
            faults.extend(watch.faults(KEYS, EACH));
        }
        memory.extend(server.memory().map(|bytes| format!("{} MB", bytes >> 20)));
        Ok(sample)
    };
    if work == HttpWork::PickUp {
        bench.our_rounds(&mut measured, ours).await?;
    } else {
        bench.rounds(&mut measured, raw, ours).await?;
    }
    measured.notes.push(format!("the server's memory at the end of each run: {}", memory.join(", ")));
    measured.faults = faults;
    Ok(measured)
}

const KEYS: u64 = 1_000;
const EACH: u64 = 100;
const RESOURCES: u64 = 10_000;
const PROBES: u64 = 300;

/// Creates the queues and fills them through the library.
async fn prepare(site: &Site, work: HttpWork, count: u64) -> Outcome<()> {
    let turno = site.turno().await?;
    let inbox = fill::inbox(&turno).await?;
    match work {
        HttpWork::Drain => fill::items(&inbox, count).await?,
        HttpWork::Ordered => fill::messages(&fill::lanes(&turno).await?, KEYS, EACH).await?,
        _ => return Ok(()),
    }
    site.settle_down().await
}

/// Opens `count` connections and creates a caller with its own state for each.
async fn callers<C>(server: &Server, count: usize, caller: impl Fn(usize, Connection) -> C) -> Outcome<Vec<C>> {
    let mut callers = Vec::new();
    for index in 0..count {
        callers.push(caller(index, server.connect().await?));
    }
    Ok(callers)
}

async fn trivial(server: &Server, connections: usize, span: Duration) -> Outcome<Sample> {
    let request = server.request("GET", "/healthz", "");
    let callers = callers(server, connections, |_, connection| {
        let request = request.clone();
        move || {
            let (connection, request) = (connection.clone(), request.clone());
            async move { connection.expect(200, &request).await.map(|_| 1) }
        }
    });
    closed_loop(callers.await?, Until::After(span)).await
}

async fn enqueue(server: &Server, connections: usize, batch: u64, span: Duration) -> Outcome<Sample> {
    let item = |number: u64| format!("{{\"payload\":{{\"n\":{number}}}}}");
    let body = if batch == 1 { item(1) } else { format!("[{}]", (0..batch).map(item).collect::<Vec<_>>().join(",")) };
    let request = server.request("POST", "/v1/queues/inbox/items", &body);
    let callers = callers(server, connections, |_, connection| {
        let request = request.clone();
        move || {
            let (connection, request) = (connection.clone(), request.clone());
            async move { connection.expect(201, &request).await.map(|_| batch) }
        }
    });
    closed_loop(callers.await?, Until::After(span)).await
}

/// Builds the request of an ack from its body.
type Ack = Arc<dyn Fn(&str) -> Arc<[u8]> + Send + Sync>;

/// Claims and acks until `target` items are acked.
async fn drain(
    server: &Server,
    queue: &'static str,
    connections: usize,
    batch: u32,
    target: u64,
    watch: Option<Arc<Watch>>,
) -> Outcome<Sample> {
    let acked = Arc::new(AtomicU64::new(0));
    let claim = |index: usize| {
        let body = json!({ "instance": format!("worker-{index}"), "max": batch, "wait_ms": 200 }).to_string();
        server.request("POST", &format!("/v1/queues/{queue}/claim"), &body)
    };
    // The head of the ack needs the length of the body, so each request is built separately.
    let ack: Ack = {
        let template = server.request("POST", &format!("/v1/queues/{queue}/ack"), "");
        let template = String::from_utf8(template.to_vec())?;
        Arc::new(move |body| {
            let head = template.replace("content-length: 0", &format!("content-length: {}", body.len()));
            [head.as_bytes(), body.as_bytes()].concat().into()
        })
    };
    let callers = callers(server, connections, |index, connection| {
        let (claim, ack, acked, watch) = (claim(index), ack.clone(), acked.clone(), watch.clone());
        move || {
            let (connection, claim, ack) = (connection.clone(), claim.clone(), ack.clone());
            let (acked, watch) = (acked.clone(), watch.clone());
            async move {
                for _ in 0..150 {
                    if acked.load(Ordering::Relaxed) >= target {
                        return Ok(0);
                    }
                    let got = connection.json(200, &claim).await?;
                    let deliveries = got["deliveries"].as_array().ok_or("a claim without deliveries")?;
                    if deliveries.is_empty() {
                        continue;
                    }
                    if let Some(watch) = &watch {
                        watch.check(deliveries);
                    }
                    let body = acks(deliveries);
                    let answer = connection.json(200, &ack(&body)).await?;
                    let results = answer["results"].as_array().ok_or("an ack without results")?;
                    let done = results.iter().filter(|result| result["outcome"] == "acked").count() as u64;
                    acked.fetch_add(done, Ordering::Relaxed);
                    return Ok(done);
                }
                Err(BoxError::from("no more work was handed out"))
            }
        }
    });
    closed_loop(callers.await?, Until::Empty).await
}

fn acks(deliveries: &[Value]) -> String {
    let one = |delivery: &Value| format!("{{\"delivery\":{},\"fence\":{}}}", delivery["delivery"], delivery["fence"]);
    format!("{{\"deliveries\":[{}]}}", deliveries.iter().map(one).collect::<Vec<_>>().join(","))
}

async fn beats(server: &Server, holders: usize, span: Duration) -> Outcome<Sample> {
    let mut beats = Vec::new();
    for index in 0..holders {
        let connection = server.connect().await?;
        let claim = server.request("POST", &format!("/v1/leases/lease-{index}/claim"), "{}");
        let fence = connection.json(200, &claim).await?["fence"].clone();
        let beat = server.request(
            "POST",
            &format!("/v1/leases/lease-{index}/heartbeat"),
            &json!({ "fence": fence }).to_string(),
        );
        beats.push(move || {
            let (connection, beat) = (connection.clone(), beat.clone());
            async move { connection.expect(200, &beat).await.map(|_| 1) }
        });
    }
    closed_loop(beats, Until::After(span)).await
}

async fn pairs(server: &Server, holders: usize, span: Duration) -> Outcome<Sample> {
    let claims: Arc<[Arc<[u8]>]> = (0..RESOURCES)
        .map(|number| server.request("POST", &format!("/v1/leases/lease-{number}/claim"), "{\"instance\":\"bench\"}"))
        .collect();
    let release = Arc::new(String::from_utf8(server.request("POST", "/v1/leases/NAME/release", "BODY").to_vec())?);
    let callers = callers(server, holders, |index, connection| {
        let (claims, release) = (claims.clone(), release.clone());
        // Each holder has its own resources, because a refusal would not be a pair.
        let own = RESOURCES / holders as u64;
        let (first, mut dice) = (own * index as u64, Dice::new(index));
        move || {
            let number = first + dice.below(own);
            let (connection, claims, release) = (connection.clone(), claims.clone(), release.clone());
            async move {
                let held = connection.json(200, &claims[number as usize]).await?;
                let body = format!("{{\"fence\":{}}}", held["fence"]);
                let request = release
                    .replace("/NAME/", &format!("/lease-{number}/"))
                    .replace("content-length: 4", &format!("content-length: {}", body.len()))
                    .replace("BODY", &body);
                connection.expect(200, request.as_bytes()).await.map(|_| 1)
            }
        }
    });
    closed_loop(callers.await?, Until::After(span)).await
}

async fn pick_up(server: &Server) -> Outcome<Sample> {
    let (caller, worker) = (server.connect().await?, server.connect().await?);
    let claim = server.request(
        "POST",
        "/v1/queues/inbox/claim",
        &json!({ "instance": "worker", "wait_ms": 10_000 }).to_string(),
    );
    let (mut dice, mut took) = (Dice::new(1), Vec::new());
    for number in 0..PROBES {
        let (waiting, claim) = (worker.clone(), claim.clone());
        let arrival =
            tokio::spawn(async move { Ok::<_, BoxError>((waiting.json(200, &claim).await?, measure::now())) });
        // The worker must be waiting.
        tokio::time::sleep(Duration::from_millis(15) + Duration::from_micros(dice.below(7_000))).await;
        let item = server.request("POST", "/v1/queues/inbox/items", &format!("{{\"payload\":{{\"n\":{number}}}}}"));
        let began = measure::now();
        caller.expect(201, &item).await?;
        let (got, at) = arrival.await??;
        took.push(at - began);
        let deliveries = got["deliveries"].as_array().ok_or("a claim without deliveries")?;
        if deliveries.len() != 1 || deliveries[0]["items"][0]["payload"]["n"] != number {
            return Err("a probe was handed out twice or not at all".into());
        }
        worker.expect(200, &server.request("POST", "/v1/queues/inbox/ack", &acks(deliveries))).await?;
    }
    measure::probes(took)
}
