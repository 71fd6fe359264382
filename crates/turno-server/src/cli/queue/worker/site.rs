//! Where deliveries come from: a server, or the database itself.

use std::time::Duration;

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use turno::core::id::Fence;
use turno::core::queue::{Act, Handed, SettleOutcome};
use turno::core::time::Span;
use turno::{Error, QueueHandle, Settlement};

use super::super::super::place::{self, PlaceArgs, refused};
use super::super::path;
use crate::client::{Client, Refusal};
use crate::config::Overrides;
use crate::database;
use crate::failure::Failure;
use crate::http::DeliveryView;
use crate::uptime::Uptime;

/// Where a queue is.
pub(super) enum Site {
    Server { client: Client, queue: String },
    Database { queue: QueueHandle, name: String },
}

/// One piece of work: an item, and which of its changes.
pub(super) type Work = (String, Option<i64>);

/// A delivery that was taken.
#[derive(Debug)]
pub(super) struct Taken {
    /// All of it, as the API shows it.
    pub(super) json: String,
    pub(super) delivery: String,
    pub(super) key: Option<String>,
    pub(super) fence: i64,
    pub(super) attempt: u32,
    /// What it consists of.
    pub(super) work: Vec<Work>,
    /// The other side's time of the hand-out, beside our own moment: so that its times can be told here.
    handed_at: i64,
    since: Uptime,
    expires_at: i64,
    /// Between two renewals.
    every: Duration,
}

impl Taken {
    fn new(json: String, expires_in: i64) -> Option<Taken> {
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
        let work = items.into_iter().map(|item| (item.id, revision)).collect();
        let expires_at = expires_at.parse::<Timestamp>().ok()?.as_millisecond();
        let (handed_at, since) = (expires_at - expires_in, Uptime::start());
        let every = Duration::from_millis(u64::try_from(expires_in / 3).unwrap_or(0).max(10));
        Some(Taken { json, delivery, key, fence, attempt, work, handed_at, since, expires_at, every })
    }

    /// What it is called when people are told of it.
    pub(super) fn name(&self) -> String {
        self.key.as_ref().map_or_else(|| self.delivery.clone(), |key| format!("{} of {key}", self.delivery))
    }

    /// For how long it lives.
    pub(super) fn left(&self) -> Duration {
        self.life().saturating_sub(self.since.elapsed())
    }

    fn life(&self) -> Duration {
        Duration::from_millis(u64::try_from(self.expires_at - self.handed_at).unwrap_or(0))
    }

    /// Whether a third of its life is over: there is time to give it back, also after many others.
    pub(super) fn is_ageing(&self) -> bool {
        self.since.elapsed() > self.life() / 3
    }

    /// Until the next renewal.
    pub(super) fn beat_in(&self) -> Duration {
        self.every.min(self.left())
    }
}

/// What a renewal came to.
pub(super) enum Beat {
    Kept,
    /// It lives on, and no heartbeat makes it live longer.
    Limited,
    Lost,
    /// Nobody answered: it lives for as long as was said before.
    Unknown,
}

/// How a delivery is settled.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum How {
    Ack,
    Return,
    Fail(String),
}

/// Why something could not be done.
pub(super) enum Trouble {
    /// Somebody has to do something about it.
    Lasting(Failure),
    /// It may work the next time.
    Passing(String),
}

impl From<Refusal> for Trouble {
    fn from(refusal: Refusal) -> Trouble {
        let status = refusal.problem["status"].as_u64();
        match status {
            Some(429 | 500..) | None => Trouble::Passing(Failure::from(refusal).cause),
            Some(_) => Trouble::Lasting(refusal.into()),
        }
    }
}

impl From<Error> for Trouble {
    fn from(error: Error) -> Trouble {
        match error {
            Error::Overloaded | Error::Store(_) => Trouble::Passing(error.to_string()),
            error => Trouble::Lasting(refused(error)),
        }
    }
}

impl Site {
    /// At a server.
    pub(super) fn at(client: Client, queue: &str) -> Site {
        Site::Server { client, queue: queue.to_owned() }
    }

    /// Directly on the database.
    pub(super) async fn on(place: &PlaceArgs, queue: &str) -> Result<Site, Failure> {
        let settings = place.settings(Overrides::default())?;
        if let Some(source) = settings.sync.iter().find(|source| source.queue.as_str() == queue) {
            // Past a server nobody would fill in the row, nor remember what was delivered.
            let cause = format!("{queue} carries changes of the source {}, which only a server hands out", source.name);
            return Err(Failure::failed(cause, "leave out --database, and name the server with --server"));
        }
        // A worker stays, and so it also does what an instance does for all: taking back what has expired.
        let turno = database::open_with(&settings.database, place::options(&settings)).await?.turno;
        let handle = turno.queue(queue).await.map_err(refused)?;
        Ok(Site::Database { queue: handle, name: queue.to_owned() })
    }

    pub(super) fn queue(&self) -> &str {
        match self {
            Site::Server { queue, .. } => queue,
            Site::Database { name, .. } => name,
        }
    }

    /// Whether nothing is handed out until somebody resumes it. Looking takes in what applications have left by now. Whoever may
    /// not look, or cannot, finds out by claiming.
    pub(super) async fn is_paused(&self) -> bool {
        match self {
            Site::Server { client, queue } => {
                client.try_get(&path(queue)).await.is_ok_and(|answer| answer.json["paused"] == true)
            }
            Site::Database { queue, .. } => queue.overview().await.is_ok_and(|overview| overview.row.paused),
        }
    }

    /// The next delivery, waiting for one if there is none.
    pub(super) async fn take(&self, instance: &str, wait: Duration) -> Result<Option<Taken>, Trouble> {
        let wait_ms = i64::try_from(wait.as_millis()).unwrap_or(i64::MAX);
        let found = match self {
            Site::Server { client, queue } => {
                let asked = json!({ "instance": instance, "max": 1, "wait_ms": wait_ms });
                first(client.try_post(&format!("{}/claim", path(queue)), &asked).await?.text())
            }
            Site::Database { queue, .. } => {
                let kind = queue.row().await?.policy.kind;
                let got = queue.claim(instance, 1, Span(wait_ms)).await?.pop();
                got.map(|got| {
                    let expires_in = got.now.until(got.expires_at).0;
                    let json = serde_json::to_string(&DeliveryView::new(kind, got)).ok()?;
                    Taken::new(json, expires_in)
                })
            }
        };
        match found {
            None => Ok(None),
            Some(Some(taken)) => Ok(Some(taken)),
            Some(None) => Err(Trouble::Lasting(Failure::failed(
                "a delivery came that cannot be read",
                "use the same version of turno here and there",
            ))),
        }
    }

    /// Still at it.
    pub(super) async fn beat(&self, taken: &mut Taken) -> Beat {
        match self {
            Site::Server { client, queue } => {
                let said = json!({ "deliveries": [{ "delivery": taken.delivery, "fence": taken.fence }] });
                match client.try_post(&format!("{}/heartbeat", path(queue)), &said).await {
                    Ok(answer) => taken.renewed(&answer.json["results"][0]),
                    Err(refusal) => match Trouble::from(refusal) {
                        Trouble::Lasting(_) => Beat::Lost,
                        Trouble::Passing(_) => Beat::Unknown,
                    },
                }
            }
            Site::Database { queue, .. } => match settle_one(queue, taken, Act::Beat).await {
                Ok(SettleOutcome::Renewed { expires_at, limited_by }) => {
                    taken.expires_at = expires_at.0;
                    if limited_by.is_some() { Beat::Limited } else { Beat::Kept }
                }
                Ok(_) => Beat::Lost,
                Err(_) => Beat::Unknown,
            },
        }
    }

    /// Says how it went; answers what became of it.
    pub(super) async fn settle(&self, taken: &Taken, how: &How) -> Result<String, Trouble> {
        match self {
            Site::Server { client, queue } => {
                let mut said = json!({ "delivery": taken.delivery, "fence": taken.fence });
                let verb = match how {
                    How::Ack => "ack",
                    How::Return => "return",
                    How::Fail(error) => {
                        said["error"] = json!(error);
                        "fail"
                    }
                };
                let answer =
                    client.try_post(&format!("{}/{verb}", path(queue)), &json!({ "deliveries": [said] })).await?;
                Ok(answer.json["results"][0]["outcome"].as_str().unwrap_or("stale").to_owned())
            }
            Site::Database { queue, .. } => {
                let act = match how {
                    How::Ack => Act::Ack { through: None },
                    How::Return => Act::Return { error: None },
                    How::Fail(error) => Act::Fail { error: error.clone(), item: None, retry_in: None, give_up: false },
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

impl Taken {
    fn renewed(&mut self, result: &Value) -> Beat {
        let expires_at = result["expires_at"].as_str().and_then(|at| at.parse::<Timestamp>().ok());
        match expires_at {
            Some(at) if result["outcome"] == "renewed" => {
                self.expires_at = at.as_millisecond();
                if result["limited_by"].is_string() { Beat::Limited } else { Beat::Kept }
            }
            _ => Beat::Lost,
        }
    }
}

async fn settle_one(queue: &QueueHandle, taken: &Taken, act: Act) -> Result<SettleOutcome, Error> {
    let handed = Handed::parse(&taken.delivery, Fence(taken.fence));
    let handed = handed.map_err(|bad| Error::Invalid(bad.to_string()))?;
    let settled = queue.settle(vec![Settlement { handed, act }]).await?;
    Ok(settled.into_iter().next().map_or(SettleOutcome::Stale, |settled| settled.outcome))
}

/// The first delivery of an answer, with its text as it came: payloads are passed on exactly so.
fn first(text: &str) -> Option<Option<Taken>> {
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
    Some(life.and_then(|life| Taken::new(first.to_owned(), life.expires_in_ms)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delivery_keeps_its_payload_as_it_came() {
        let delivery = r#"{"delivery":"a1-2-1","key":null,"fence":7,"attempt":1,"expires_at":"2026-01-15T10:30:00.000Z","expires_in_ms":60000,"items":[{"id":"m","payload":{ "b" :1e400}}]}"#;
        let taken = first(&format!(r#"{{"deliveries":[{delivery}]}}"#)).expect("one").expect("readable");
        assert_eq!((taken.json.as_str(), taken.fence, taken.key.as_deref()), (delivery, 7, None));
        assert!(taken.left() > Duration::from_secs(50) && taken.beat_in() <= Duration::from_secs(20));
        assert!(first(r#"{"deliveries":[]}"#).is_none());
        assert!(first("nonsense").expect("something").is_none());
    }
}
