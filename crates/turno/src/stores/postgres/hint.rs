//! Hints between processes: `NOTIFY` after the commit, on a separate connection, at most fifty a second.
//!
//! Correctness never depends on a hint: a process that misses one finds the same change a little later. Hints that
//! cannot be sent are dropped, and after a lost connection this process receives the hint `All`.
//!
//! A pooler that shares sessions forwards notifications to any client, so `LISTEN` needs a session of its own: the second
//! URL, if there is one. Without it, this process receives the hint `All` every second and still notifies the others.

use super::call::Call;
use super::connection::{Address, Opened};
use super::error::TripError;
use super::floor::Floors;
use super::sql;
use crate::store::{Hint, StoreError};
use futures_util::{FutureExt, StreamExt, stream};
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;
use tokio::sync::{Mutex as AsyncMutex, Notify, mpsc};
use tokio_postgres::{AsyncMessage, Client};
use turno_core::id::{QueueId, Resource};

/// The shortest time between two notifications of this process.
const INTERVAL: Duration = Duration::from_millis(20);
/// How often everything is looked at while no notifications arrive.
const LOOK: Duration = Duration::from_secs(1);
/// The pause before connecting again.
const PAUSE: Duration = Duration::from_millis(500);
/// A notification must be shorter than 8,000 bytes.
const PAYLOAD_MAX: usize = 7_500;
/// The most unfetched hints. Beyond that, one `All` replaces them.
const WAITING_MAX: usize = 1_000;

/// Sends and receives hints. The connection is opened on first use.
pub(super) struct Hints {
    line: Line,
    floors: Floors,
    outgoing: Arc<Outgoing>,
    incoming: OnceLock<AsyncMutex<mpsc::Receiver<Hint>>>,
}

/// The connection for hints.
#[derive(Clone)]
struct Line {
    address: Address,
    /// Whether the operator named this address for `LISTEN`.
    is_direct: bool,
}

#[derive(Default)]
struct Outgoing {
    waiting: Mutex<HashSet<Hint>>,
    wake: Notify,
}

/// The content of a notification.
#[derive(Serialize, Deserialize)]
struct Payload {
    /// The sending process, so that it can ignore its own notifications.
    from: String,
    queues: Vec<i32>,
    leases: Vec<Resource>,
    /// Missing in notifications from programs of schema 1.
    #[serde(default)]
    events: bool,
    /// Missing in notifications from older programs.
    #[serde(default)]
    policies: Vec<i32>,
    all: bool,
}

impl Hints {
    /// Hints go over `direct` if it is given.
    pub(super) fn new(address: Address, direct: Option<Address>, floors: Floors) -> Hints {
        let line = Line { is_direct: direct.is_some(), address: direct.unwrap_or(address) };
        Hints { line, floors, outgoing: Arc::default(), incoming: OnceLock::new() }
    }

    /// Queues hints to be sent later, together with others.
    pub(super) fn announce(&self, hints: Vec<Hint>) {
        self.start();
        let mut waiting = self.outgoing.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.extend(hints);
        if waiting.len() > WAITING_MAX {
            *waiting = HashSet::from([Hint::All]);
        }
        self.outgoing.wake.notify_one();
    }

    /// Waits for the next hint from another process.
    pub(super) async fn next(&self) -> Result<Hint, StoreError> {
        let next = self.start().lock().await.recv().await;
        next.ok_or_else(|| StoreError::Unavailable("the listening connection has ended".into()))
    }

    fn start(&self) -> &AsyncMutex<mpsc::Receiver<Hint>> {
        self.incoming.get_or_init(|| {
            let (sender, receiver) = mpsc::channel(WAITING_MAX);
            let (line, floors) = (self.line.clone(), self.floors.clone());
            let outgoing = self.outgoing.clone();
            tokio::spawn(async move {
                let us = uuid::Uuid::now_v7().simple().to_string();
                let mut failures = 0;
                loop {
                    if let Err(failure) = serve(&line, &floors, &outgoing, &sender, &us, &mut failures).await {
                        failures += 1;
                        match failures {
                            2 => tracing::warn!(?failure, "no connection for hints; looking by the clock"),
                            _ => tracing::debug!(?failure, "the connection for hints is lost; connecting again"),
                        }
                    }
                    if sender.is_closed() {
                        return;
                    }
                    tokio::time::sleep(PAUSE).await;
                }
            });
            AsyncMutex::new(receiver)
        })
    }
}

/// Listens and notifies over one connection, until it is lost or the receiver is dropped.
async fn serve(
    line: &Line,
    floors: &Floors,
    outgoing: &Outgoing,
    sender: &mpsc::Sender<Hint>,
    us: &str,
    failures: &mut u32,
) -> Result<(), TripError> {
    let opened = line.address.open().await;
    let Opened { client, mut connection, mark } = opened.inspect_err(|_| forward(Hint::All, floors, sender))?;
    let messages = stream::poll_fn(move |cx| connection.poll_message(cx));
    // The first error ends the connection, and polling on would repeat it.
    let receive = messages.take_while(|message| std::future::ready(message.is_ok())).for_each(|message| {
        if let Ok(AsyncMessage::Notification(notification)) = message {
            handle_payload(notification.payload(), us, floors, sender);
        }
        std::future::ready(())
    });
    let send = async {
        let listens = line.is_direct || !Opened::is_pooled(&client, &mark).await?;
        if listens {
            client.batch_execute(&sql::HINT_LISTEN.text).await?;
        }
        *failures = 0;
        // Notifications sent before `LISTEN` were missed, so everything must be looked at.
        forward(Hint::All, floors, sender);
        let look = async {
            if listens {
                return std::future::pending::<Result<(), TripError>>().await;
            }
            loop {
                tokio::time::sleep(LOOK).await;
                forward(Hint::All, floors, sender);
            }
        };
        tokio::select! { end = look => end, end = notify(&client, outgoing, us) => end }
    };
    let lost = receive.map(|()| Err(TripError::Lost("the server has closed the connection".into())));
    let closed = sender.closed().map(|()| Ok(()));
    tokio::select! { end = lost => end, end = send => end, end = closed => end }
}

/// Sends the queued hints, as long as the connection lasts.
async fn notify(client: &Client, outgoing: &Outgoing, us: &str) -> Result<(), TripError> {
    loop {
        outgoing.wake.notified().await;
        let hints = std::mem::take(&mut *outgoing.waiting.lock().unwrap_or_else(PoisonError::into_inner));
        if let Some(payload) = payload(hints, us) {
            let call = Call::new(&sql::HINT_NOTIFY).text(&payload);
            let params: Vec<_> = call.params.iter().map(|(value, kind)| (&**value as _, kind.clone())).collect();
            client.query_typed(&call.sql.text, &params).await?;
            tokio::time::sleep(INTERVAL).await;
        }
    }
}

/// Renders the hints as one text, or as the hint `All` if the text would be too long.
fn payload(hints: HashSet<Hint>, us: &str) -> Option<String> {
    if hints.is_empty() {
        return None;
    }
    let (from, queues, leases, policies) = (us.to_owned(), Vec::new(), Vec::new(), Vec::new());
    let mut payload = Payload { from, queues, leases, events: false, policies, all: false };
    for hint in hints {
        match hint {
            Hint::Queue(queue) => payload.queues.push(queue.0),
            Hint::Policy(queue) => payload.policies.push(queue.0),
            Hint::Lease(resource) => payload.leases.push(resource),
            Hint::Events => payload.events = true,
            Hint::All => payload.all = true,
        }
    }
    let text = serde_json::to_string(&payload).ok()?;
    if text.len() <= PAYLOAD_MAX {
        return Some(text);
    }
    serde_json::to_string(&Payload {
        queues: Vec::new(),
        leases: Vec::new(),
        policies: Vec::new(),
        all: true,
        ..payload
    })
    .ok()
}

/// Handles a notification of another process. A payload that cannot be parsed may come from a newer version, so it
/// counts as the hint `All`.
fn handle_payload(text: &str, us: &str, floors: &Floors, sender: &mpsc::Sender<Hint>) {
    let Ok(payload) = serde_json::from_str::<Payload>(text) else {
        return forward(Hint::All, floors, sender);
    };
    if payload.from == us {
        return;
    }
    if payload.all {
        forward(Hint::All, floors, sender);
    }
    if payload.events {
        forward(Hint::Events, floors, sender);
    }
    for queue in payload.queues {
        forward(Hint::Queue(QueueId(queue)), floors, sender);
    }
    for queue in payload.policies {
        forward(Hint::Policy(QueueId(queue)), floors, sender);
    }
    for resource in payload.leases {
        forward(Hint::Lease(resource), floors, sender);
    }
}

fn forward(hint: Hint, floors: &Floors, sender: &mpsc::Sender<Hint>) {
    match &hint {
        Hint::Queue(queue) | Hint::Policy(queue) => floors.drop_one(*queue),
        Hint::All => floors.drop_all(),
        Hint::Lease(_) | Hint::Events => {}
    }
    // If the channel is full, enough hints wait for the receiver already.
    let _ = sender.try_send(hint);
}
