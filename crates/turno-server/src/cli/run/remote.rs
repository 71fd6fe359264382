//! A lease of a server, renewed in the background. It counts as lost if no renewal arrives in time.
//!
//! A granted duration counts from the moment the request was sent. A slow answer therefore shortens the lease here and
//! never extends it.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::super::lease::{Body, ClaimArgs, try_claim};
use super::super::output::talk;
use super::held::{LeaseRequest, not_granted};
use crate::client::{Client, Refusal, part};
use crate::failure::Failure;
use crate::stopwatch::Stopwatch;
use crate::texts::message::Message;

/// How long a heartbeat after the expiry may take to report why the lease was lost.
const LAST_WORD: Duration = Duration::from_millis(500);

#[derive(Debug)]
pub(super) struct Remote {
    beat: Beat,
    claim: i64,
    /// Runs since the claim was answered.
    held: Stopwatch,
    at_least: Duration,
    lost: watch::Receiver<Option<Message>>,
    beating: JoinHandle<()>,
}

/// The parameters of every call about this lease.
#[derive(Clone, Debug)]
struct Beat {
    client: Client,
    path: String,
    instance: String,
    fence: i64,
}

/// How long the lease lives, counted from when the request was sent.
#[derive(Clone, Copy, Debug)]
struct Life {
    since: Stopwatch,
    lives: Duration,
}

impl Life {
    fn left(self) -> Duration {
        self.lives.saturating_sub(self.since.elapsed())
    }
}

impl Remote {
    pub(super) async fn claim(client: Client, request: LeaseRequest) -> Result<Remote, Failure> {
        let path = format!("/v1/leases/{}", part(&request.resource));
        if !request.at_least.is_zero() {
            let policy = &client.get(&path).await?.json["policy"];
            request.check_at_least(millis(&policy["max_ttl_ms"]).unwrap_or_default())?;
        }
        let (instance, at_least) = (request.instance, request.at_least);
        let asked = ClaimArgs { instance: Some(instance.clone()), ttl: request.ttl, wait: Some(request.wait) };
        let (answer, mut since) = try_claim(&client, &format!("{path}/claim"), &asked).await.map_err(refused)?;
        let held = Stopwatch::start();
        let lease = answer.json;
        let (Some(fence), Some(mut lives)) = (lease["fence"].as_i64(), millis(&lease["expires_in_ms"])) else {
            return Err(Failure::failed(Message::new("run-no-fence")));
        };
        let interval = millis(&lease["policy"]["heartbeat_interval_ms"]).unwrap_or(lives);
        let every = interval.min(lives / 3).max(Duration::from_millis(1));
        let beat = Beat { client, path, instance, fence };
        if !request.wait.is_zero() {
            // The call may have waited in line, so it is unknown when the lease began. A heartbeat returns the
            // remaining time.
            since = Stopwatch::start();
            lives = beat.once().await.map_err(|unrenewed| not_granted(unrenewed.reason()))?;
        }
        let (loss_sender, lost) = watch::channel(None);
        let beating = tokio::spawn(keep_alive(beat.clone(), Life { since, lives }, every, loss_sender));
        Ok(Remote { beat, claim: lease["claim"].as_i64().unwrap_or(0), held, at_least, lost, beating })
    }

    pub(super) fn fence(&self) -> i64 {
        self.beat.fence
    }

    pub(super) async fn lost(&self) -> Message {
        let mut lost = self.lost.clone();
        let loss = lost.wait_for(Option::is_some).await.ok().and_then(|loss| loss.clone());
        match loss {
            Some(loss) => loss,
            None => std::future::pending().await,
        }
    }

    pub(super) async fn release(self) -> Option<Message> {
        self.beating.abort();
        let Beat { client, path, instance, fence } = &self.beat;
        let keep = self.at_least.saturating_sub(self.held.elapsed());
        let body = Body::new().with("fence", *fence).with("claim", self.claim).with("instance", instance.as_str());
        // Omitted if nothing is kept, because a server of 0.1.0 does not know the field.
        let body = body.span("keep_ms", (!keep.is_zero()).then_some(keep));
        match client.try_post(&format!("{path}/release"), &body).await {
            Ok(_) => None,
            Err(refusal) if refusal.code.as_deref() == Some("lease_lost") => Some(refusal.into_cause()),
            Err(refusal) => {
                let cause = refusal.into_cause();
                talk(&Message::new("run-not-released").message("cause", cause));
                None
            }
        }
    }
}

fn millis(value: &Value) -> Option<Duration> {
    value.as_u64().map(Duration::from_millis)
}

/// Tells "not granted" from other refusals.
fn refused(refusal: Refusal) -> Failure {
    match refusal.code.as_deref() {
        Some("lease_held" | "lease_offered" | "line_full") => not_granted(refusal.into_cause()),
        _ => refusal.into(),
    }
}

/// Sends heartbeats until the lease is lost.
async fn keep_alive(beat: Beat, mut life: Life, every: Duration, loss_sender: watch::Sender<Option<Message>>) {
    let mut pause = every;
    let loss = loop {
        tokio::time::sleep(pause.min(life.left())).await;
        let since = Stopwatch::start();
        let answer = tokio::time::timeout(life.left().max(LAST_WORD), beat.once()).await;
        match answer {
            Ok(Ok(lives)) => {
                life = Life { since, lives };
                pause = every;
            }
            Ok(Err(Unrenewed::Lost(why))) => break why,
            Ok(Err(Unrenewed::NotNow)) | Err(_) => pause = (every / 4).max(Duration::from_millis(1)),
        }
        if life.left().is_zero() {
            break Message::new("run-no-renewal");
        }
    };
    loss_sender.send_replace(Some(loss));
}

/// Why a heartbeat did not renew the lease.
enum Unrenewed {
    /// Another holder may have the lease.
    Lost(Message),
    /// The next heartbeat may succeed.
    NotNow,
}

impl Unrenewed {
    fn reason(self) -> Message {
        match self {
            Unrenewed::Lost(why) => why,
            Unrenewed::NotNow => Message::new("run-no-answer"),
        }
    }
}

impl Beat {
    /// Sends one heartbeat. Returns how long the lease lives from when the request was sent.
    async fn once(&self) -> Result<Duration, Unrenewed> {
        // A running command counts as work, so it is never idle.
        let body = json!({ "fence": self.fence, "instance": self.instance, "idle_ms": 0, "worked": true });
        // Heartbeats have a rhythm of their own, so a busy server is not asked again in between.
        match self.client.impatient().try_post(&format!("{}/heartbeat", self.path), &body).await {
            Ok(answer) => Ok(millis(&answer.json["expires_in_ms"]).unwrap_or_default()),
            Err(refusal) => match refusal.code.as_deref() {
                Some("lease_lost" | "unauthenticated" | "forbidden" | "other_resource" | "not_found") => {
                    Err(Unrenewed::Lost(refusal.into_cause()))
                }
                _ => Err(Unrenewed::NotNow),
            },
        }
    }
}
