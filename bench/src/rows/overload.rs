//! Overload: ten times the load that the server can serve. No held lock is lost, no refused item is stored, and
//! afterwards the server works as before.
//!
//! The server accepts [`ROOM`] ordinary requests at a time, which already keeps it busy. Ten times as many callers
//! send requests without a pause and repeat refused ones at once. Meanwhile holders send heartbeats for short leases.

use super::Bench;
use crate::fill;
use crate::measure::{self, BoxError, Outcome, Until, closed_loop};
use crate::result::{Measured, Sample};
use crate::server::{Connection, Server};
use crate::site::Site;
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

const ROOM: usize = 16;
const CALLERS: usize = ROOM * 10;
const HOLDERS: usize = 64;
/// A holder without an answer for this long has lost its lock.
const TTL_MS: u64 = 2_000;
const BEAT: Duration = Duration::from_millis(500);

pub(super) async fn measure(bench: &Bench<'_>) -> Outcome<Measured> {
    let span = bench.args.span();
    let mut measured = Measured {
        conditions: format!(
            "room for {ROOM} ordinary requests; {CALLERS} connections enqueue one item per POST without pause and again at \
             once when refused, while {HOLDERS} holders beat twice a second for leases of 2 s; items accepted per second, \
             latency of a call, refused ones included"
        ),
        beside: format!("the same with {ROOM} connections, which are never refused"),
        ..Measured::default()
    };
    for round in 1..=bench.args.runs {
        let site = bench.fresh().await?;
        let server = prepared(&site).await?;
        let holders = Holders::start(&server).await?;
        let calm = enqueue(&server, ROOM, span).await?;
        let flood = enqueue(&server, CALLERS, span).await?;
        let after = enqueue(&server, ROOM, span).await?;
        let (beats, lost, slowest) = holders.stop().await;
        bench.progress(round, "calm", &calm.sample);
        bench.progress(round, "flood", &flood.sample);
        bench.progress(round, "after", &after.sample);
        measured.notes.push(format!(
            "round {round}: {} of {} calls refused with 503 during the flood; {beats} beats, {lost} locks lost, slowest beat {:.0} ms; \
             p50 before {:.2} ms, after {:.2} ms",
            flood.refused,
            flood.refused + flood.sample.count,
            slowest.as_secs_f64() * 1e3,
            calm.sample.p50.unwrap_or_default().as_secs_f64() * 1e3,
            after.sample.p50.unwrap_or_default().as_secs_f64() * 1e3,
        ));
        let accepted = calm.all + flood.all + after.all;
        let stored = stored(&server).await?;
        if lost > 0 {
            measured.faults.push(format!("{lost} held locks were lost"));
        }
        if stored != accepted {
            measured.faults.push(format!("{stored} items are stored, {accepted} were accepted"));
        }
        if flood.refused == 0 {
            measured.faults.push("nothing was refused, so it was no overload".to_owned());
        }
        measured.raw.push(calm.sample);
        measured.ours.push(flood.sample);
        drop(server);
        site.remove().await?;
    }
    Ok(measured)
}

async fn prepared(site: &Site) -> Outcome<Server> {
    fill::inbox(&site.turno().await?).await?;
    Server::start_with(site, &[("TURNO_LIMITS_REQUESTS", &ROOM.to_string())]).await
}

async fn stored(server: &Server) -> Outcome<u64> {
    let queue = server.connect().await?.json(200, &server.request("GET", "/v1/queues/inbox", "")).await?;
    queue["counts"]["pending"].as_u64().ok_or_else(|| BoxError::from("a queue without counts"))
}

/// The record of the callers.
struct Seen {
    sample: Sample,
    /// Accepted items, warm-up included.
    all: u64,
    refused: u64,
}

async fn enqueue(server: &Server, connections: usize, span: Duration) -> Outcome<Seen> {
    let request = server.request("POST", "/v1/queues/inbox/items", r#"{"payload":{"n":1}}"#);
    let (all, refused) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let mut callers = Vec::new();
    for _ in 0..connections {
        let connection = server.connect().await?;
        let (request, all, refused) = (request.clone(), all.clone(), refused.clone());
        callers.push(move || {
            let (connection, request) = (connection.clone(), request.clone());
            let (all, refused) = (all.clone(), refused.clone());
            async move {
                match connection.call(&request).await? {
                    (201, _) => {
                        all.fetch_add(1, Ordering::Relaxed);
                        Ok(1)
                    }
                    (503, _) => {
                        refused.fetch_add(1, Ordering::Relaxed);
                        Ok(0)
                    }
                    (status, body) => Err(BoxError::from(format!("{status}: {}", String::from_utf8_lossy(&body)))),
                }
            }
        });
    }
    let sample = closed_loop(callers, Until::After(span)).await?;
    Ok(Seen { sample, all: all.load(Ordering::Relaxed), refused: refused.load(Ordering::Relaxed) })
}

/// Holders that send heartbeats.
struct Holders {
    over: Arc<AtomicBool>,
    tasks: Vec<tokio::task::JoinHandle<(u64, bool, Duration)>>,
}

impl Holders {
    async fn start(server: &Server) -> Outcome<Holders> {
        let over = Arc::new(AtomicBool::new(false));
        let mut tasks = Vec::new();
        for index in 0..HOLDERS {
            let connection = server.connect().await?;
            let claim = json!({ "ttl_ms": TTL_MS }).to_string();
            let claim = server.request("POST", &format!("/v1/leases/held-{index}/claim"), &claim);
            let fence = connection.json(200, &claim).await?["fence"].clone();
            let beat = json!({ "fence": fence }).to_string();
            let beat = server.request("POST", &format!("/v1/leases/held-{index}/heartbeat"), &beat);
            tasks.push(tokio::spawn(hold(connection, beat, over.clone())));
        }
        Ok(Holders { over, tasks })
    }

    /// Returns the number of heartbeats, the number of lost locks, and the duration of the slowest heartbeat.
    async fn stop(self) -> (u64, u64, Duration) {
        self.over.store(true, Ordering::Relaxed);
        let (mut beats, mut lost, mut slowest) = (0, 0, Duration::ZERO);
        for task in self.tasks {
            // A holder task that panicked has lost its lock.
            let (mine, kept, slow) = task.await.unwrap_or((0, false, Duration::ZERO));
            beats += mine;
            lost += u64::from(!kept);
            slowest = slowest.max(slow);
        }
        (beats, lost, slowest)
    }
}

async fn hold(connection: Connection, beat: Arc<[u8]>, over: Arc<AtomicBool>) -> (u64, bool, Duration) {
    let (mut beats, mut slowest) = (0, Duration::ZERO);
    while !over.load(Ordering::Relaxed) {
        tokio::time::sleep(BEAT).await;
        let began = measure::now();
        let kept = connection.expect(200, &beat).await.is_ok();
        slowest = slowest.max(measure::now() - began);
        if !kept {
            return (beats, false, slowest);
        }
        beats += 1;
    }
    (beats, true, slowest)
}
