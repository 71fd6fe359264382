//! Where deliveries come from: a server, or directly the database.

use std::time::Duration;
use turno::queue::{Claim, QueueHandle, Settlement};

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use turno::Error;
use turno::core::id::Fence;
use turno::core::queue::{Act, DeliveryRef, SettleOutcome};
use turno::core::time::Span;

use super::super::super::global::{self, GlobalArgs, refused};
use super::super::path;
use crate::client::{Client, Refusal};
use crate::config::Overrides;
use crate::database;
use crate::failure::Failure;
use crate::http::DeliveryView;
use crate::stopwatch::Stopwatch;
use crate::texts::causes;
use crate::texts::message::Message;

/// The queue, at a server or in the database.
pub(super) enum Backend {
    Server { client: Client, queue: String },
    Database { queue: QueueHandle, name: String },
}

/// The id of an item and, in a sync queue, its revision.
pub(super) type ItemRevision = (String, Option<i64>);

/// A claimed delivery.
#[derive(Debug)]
pub(super) struct Delivery {
    /// The delivery as JSON, as the API returns it.
    pub(super) json: String,
    pub(super) delivery: String,
    pub(super) key: Option<String>,
    pub(super) fence: i64,
    pub(super) attempt: u32,
    /// The items of the delivery.
    pub(super) items: Vec<ItemRevision>,
    /// When the delivery was handed out, by the server's clock. `since` is the same moment by a local stopwatch.
    handed_at: i64,
    since: Stopwatch,
    expires_at: i64,
    /// The interval between two renewals.
    every: Duration,
}

impl Delivery {
    fn new(json: String, expires_in: i64) -> Option<Delivery> {
        #[derive(Deserialize)]
        struct Item {
            id: String,
        }
        #[derive(Deserialize)]
        struct Named {
            delivery: String,
            key: Option<String>,
            fence: i64,
            attempt: u32,
            expires_at: String,
            revision: Option<i64>,
            items: Vec<Item>,
        }
        let Named { delivery, key, fence, attempt, expires_at, revision, items } = serde_json::from_str(&json).ok()?;
        let items = items.into_iter().map(|item| (item.id, revision)).collect();
        let expires_at = expires_at.parse::<Timestamp>().ok()?.as_millisecond();
        let (handed_at, since) = (expires_at - expires_in, Stopwatch::start());
        let every = Duration::from_millis(u64::try_from(expires_in / 3).unwrap_or(0).max(10));
        Some(Delivery { json, delivery, key, fence, attempt, items, handed_at, since, expires_at, every })
    }

    /// Returns the name of the delivery for messages.
    pub(super) fn name(&self) -> String {
        self.key.as_ref().map_or_else(|| self.delivery.clone(), |key| format!("{} of {key}", self.delivery))
    }

    /// Returns the remaining time of the claim.
    pub(super) fn left(&self) -> Duration {
        self.life().saturating_sub(self.since.elapsed())
    }

    fn life(&self) -> Duration {
        Duration::from_millis(u64::try_from(self.expires_at - self.handed_at).unwrap_or(0))
    }

    /// Returns whether a third of the claim's time is over. The rest is enough to return many deliveries.
    pub(super) fn is_ageing(&self) -> bool {
        self.since.elapsed() > self.life() / 3
    }

    /// Returns the time until the next renewal.
    pub(super) fn beat_in(&self) -> Duration {
        self.every.min(self.left())
    }
}

/// The outcome of a renewal.
pub(super) enum Beat {
    Renewed,
    /// The claim lives on, and max_hold_ms keeps heartbeats from extending it.
    Limited,
    Lost,
    /// No answer came: the claim lives until its last known expiry.
    Unknown,
}

/// How a delivery is settled.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Ack,
    Return,
    Fail(String),
}

/// Why a call failed.
pub(super) enum Trouble {
    /// A person must act.
    Lasting(Failure),
    /// The next call may succeed.
    Passing(Message),
}

impl From<Refusal> for Trouble {
    fn from(refusal: Refusal) -> Trouble {
        let status = refusal.problem["status"].as_u64();
        match status {
            Some(429 | 500..) | None => Trouble::Passing(refusal.into_cause()),
            Some(_) => Trouble::Lasting(refusal.into()),
        }
    }
}

impl From<Error> for Trouble {
    fn from(error: Error) -> Trouble {
        match error {
            Error::Overloaded | Error::Store(_) => Trouble::Passing(causes::message(&error)),
            error => Trouble::Lasting(refused(error)),
        }
    }
}

impl Backend {
    /// Uses a server.
    pub(super) fn at_server(client: Client, queue: &str) -> Backend {
        Backend::Server { client, queue: queue.to_owned() }
    }

    /// Uses the database directly.
    pub(super) async fn on_database(global: &GlobalArgs, queue: &str) -> Result<Backend, Failure> {
        let settings = global.settings(Overrides::default())?;
        if let Some(source) = settings.sync.iter().find(|source| source.queue.as_str() == queue) {
            // Only a server reads the current row of a source and records what was delivered.
            let message = Message::new("work-source").text("queue", queue).text("source", &source.name);
            return Err(Failure::failed(message));
        }
        // Background work is on, because a worker runs long: it also takes back expired deliveries.
        let turno = database::open_with(&settings.database, global::options(&settings)).await?.turno;
        let handle = turno.queue(queue).await.map_err(refused)?;
        Ok(Backend::Database { queue: handle, name: queue.to_owned() })
    }

    pub(super) fn queue(&self) -> &str {
        match self {
            Backend::Server { queue, .. } => queue,
            Backend::Database { name, .. } => name,
        }
    }

    /// Returns whether the queue is paused. Reading the queue also takes in its intake. If reading fails, returns
    /// false; the claim will report the error.
    pub(super) async fn is_paused(&self) -> bool {
        match self {
            Backend::Server { client, queue } => {
                client.try_get(&path(queue)).await.is_ok_and(|answer| answer.json["paused"] == true)
            }
            Backend::Database { queue, .. } => queue.overview().await.is_ok_and(|overview| overview.row.paused),
        }
    }

    /// Claims the next delivery. Waits if none is due.
    pub(super) async fn take(&self, instance: &str, wait: Duration) -> Result<Option<Delivery>, Trouble> {
        let wait_ms = i64::try_from(wait.as_millis()).unwrap_or(i64::MAX);
        let found = match self {
            Backend::Server { client, queue } => {
                let asked = json!({ "instance": instance, "max": 1, "wait_ms": wait_ms });
                first(client.try_post(&format!("{}/claim", path(queue)), &asked).await?.text())
            }
            Backend::Database { queue, .. } => {
                let kind = queue.row().await?.policy.kind;
                let got = queue.claim(Claim::by(instance).wait(Span(wait_ms).into())).await?.pop();
                got.map(|got| {
                    let expires_in = got.now.until(got.expires_at).0;
                    let json = serde_json::to_string(&DeliveryView::new(kind, got)).ok()?;
                    Delivery::new(json, expires_in)
                })
            }
        };
        match found {
            None => Ok(None),
            Some(Some(taken)) => Ok(Some(taken)),
            Some(None) => Err(Trouble::Lasting(Failure::failed(Message::new("work-unreadable")))),
        }
    }

    /// Renews the claim.
    pub(super) async fn beat(&self, taken: &mut Delivery) -> Beat {
        match self {
            Backend::Server { client, queue } => {
                let body = json!({ "deliveries": [{ "delivery": taken.delivery, "fence": taken.fence }] });
                match client.try_post(&format!("{}/heartbeat", path(queue)), &body).await {
                    Ok(answer) => taken.renewed(&answer.json["results"][0]),
                    Err(refusal) => match Trouble::from(refusal) {
                        Trouble::Lasting(_) => Beat::Lost,
                        Trouble::Passing(_) => Beat::Unknown,
                    },
                }
            }
            Backend::Database { queue, .. } => match settle_one(queue, taken, Act::Beat).await {
                Ok(SettleOutcome::Renewed { expires_at, limited_by }) => {
                    taken.expires_at = expires_at.0;
                    if limited_by.is_some() { Beat::Limited } else { Beat::Renewed }
                }
                Ok(_) => Beat::Lost,
                Err(_) => Beat::Unknown,
            },
        }
    }

    /// Settles the delivery. Returns the outcome.
    pub(super) async fn settle(&self, taken: &Delivery, verdict: &Verdict) -> Result<String, Trouble> {
        match self {
            Backend::Server { client, queue } => {
                let mut body = json!({ "delivery": taken.delivery, "fence": taken.fence });
                let verb = match verdict {
                    Verdict::Ack => "ack",
                    Verdict::Return => "return",
                    Verdict::Fail(error) => {
                        body["error"] = json!(error);
                        "fail"
                    }
                };
                let answer =
                    client.try_post(&format!("{}/{verb}", path(queue)), &json!({ "deliveries": [body] })).await?;
                Ok(answer.json["results"][0]["outcome"].as_str().unwrap_or("stale").to_owned())
            }
            Backend::Database { queue, .. } => {
                let act = match verdict {
                    Verdict::Ack => Act::Ack { through: None },
                    Verdict::Return => Act::Return { error: None },
                    Verdict::Fail(error) => {
                        Act::Fail { error: error.clone(), item: None, retry_in: None, give_up: false }
                    }
                };
                Ok(match settle_one(queue, taken, act).await? {
                    SettleOutcome::Stale | SettleOutcome::Expired | SettleOutcome::NotInDelivery => "stale",
                    SettleOutcome::Exhausted => "exhausted",
                    SettleOutcome::Retrying { .. } => "retrying",
                    _ => "settled",
                }
                .to_owned())
            }
        }
    }
}

impl Delivery {
    fn renewed(&mut self, result: &Value) -> Beat {
        let expires_at = result["expires_at"].as_str().and_then(|at| at.parse::<Timestamp>().ok());
        match expires_at {
            Some(at) if result["outcome"] == "renewed" => {
                self.expires_at = at.as_millisecond();
                if result["limited_by"].is_string() { Beat::Limited } else { Beat::Renewed }
            }
            _ => Beat::Lost,
        }
    }
}

async fn settle_one(queue: &QueueHandle, taken: &Delivery, act: Act) -> Result<SettleOutcome, Error> {
    let reference = DeliveryRef::parse(&taken.delivery, Fence(taken.fence));
    let reference = reference.map_err(|_| Error::Bug("the name of a delivery is unreadable"))?;
    let settled = queue.settle(vec![Settlement { reference, act }]).await?;
    Ok(settled.into_iter().next().map_or(SettleOutcome::Stale, |settled| settled.outcome))
}

/// Parses the first delivery of an answer. Keeps its text, so that payloads are passed on unchanged.
fn first(text: &str) -> Option<Option<Delivery>> {
    #[derive(Deserialize)]
    struct Deliveries<'a> {
        #[serde(borrow)]
        deliveries: Vec<&'a RawValue>,
    }
    #[derive(Deserialize)]
    struct Life {
        expires_in_ms: i64,
    }
    let Ok(found) = serde_json::from_str::<Deliveries<'_>>(text) else {
        return Some(None);
    };
    let first = found.deliveries.first()?.get();
    let life = serde_json::from_str::<Life>(first).ok();
    Some(life.and_then(|life| Delivery::new(first.to_owned(), life.expires_in_ms)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delivery_keeps_its_payload_unchanged() {
        let delivery = r#"{"delivery":"a1-2-1","key":null,"fence":7,"attempt":1,"expires_at":"2026-01-15T10:30:00.000Z","expires_in_ms":60000,"items":[{"id":"m","payload":{ "b" :1e400}}]}"#;
        let taken = first(&format!(r#"{{"deliveries":[{delivery}]}}"#)).expect("one").expect("readable");
        assert_eq!((taken.json.as_str(), taken.fence, taken.key.as_deref()), (delivery, 7, None));
        assert!(taken.left() > Duration::from_secs(50) && taken.beat_in() <= Duration::from_secs(20));
        assert!(first(r#"{"deliveries":[]}"#).is_none());
        assert!(first("nonsense").expect("an unreadable answer is reported").is_none());
    }
}
