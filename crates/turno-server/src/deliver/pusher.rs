//! The pusher of one queue: the library's pusher, whose sender calls the queue's endpoint over HTTP.
//!
//! The library decides what to send, when, and what the end of a call means. This file makes the call.

use std::sync::Arc;
use std::time::Duration;

use turno::core::destination::{Destination, Fault};
use turno::core::id::{Key, QueueName};
use turno::push::{Parcel, PushOutcome, RunningPusher, SendFailed, SendFuture, Sender};
use turno::queue::QueueHandle;
use turno::sync::SyncHandle;
use turno::{Error, Turno};

use super::body::{render_change, render_delivery};
use super::call::{Call, EndpointClient};
use super::figures::Figures;
use super::signature::Secret;
use crate::config::endpoint::Endpoint;

/// The destination of a queue.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    pub(crate) endpoint: Endpoint,
    pub(crate) secret: Option<Secret>,
    /// True if the endpoint was set over the API.
    pub(crate) guarded: bool,
    /// The source whose changes are sent. Without one, the deliveries themselves are sent.
    pub(crate) source: Option<SyncHandle>,
}

impl Target {
    /// Returns whether a pusher for one target can go on for the other.
    fn is_like(&self, other: &Target) -> bool {
        (&self.endpoint, &self.secret, self.guarded) == (&other.endpoint, &other.secret, other.guarded)
    }
}

/// What the pushers of a process share.
#[derive(Clone)]
pub(crate) struct Shared {
    pub(crate) turno: Turno,
    pub(crate) caller: EndpointClient,
    pub(crate) figures: Arc<Figures>,
    /// The name of this process in the history of items.
    pub(crate) instance: Arc<str>,
    /// How long calls may go on after a stop.
    pub(crate) grace: Duration,
}

/// A running pusher and its destination.
pub(super) struct Pusher {
    target: Target,
    running: RunningPusher,
}

/// Calls the endpoint of one queue.
struct EndpointSender {
    name: QueueName,
    target: Target,
    caller: EndpointClient,
    figures: Arc<Figures>,
}

impl Pusher {
    pub(super) async fn start(shared: &Shared, queue: &QueueHandle, target: Target) -> Result<Pusher, Error> {
        let Endpoint { concurrency, timeout, probe, .. } = target.endpoint;
        let sender = EndpointSender {
            name: queue.row().await?.name.clone(),
            target: target.clone(),
            caller: shared.caller.clone(),
            figures: shared.figures.clone(),
        };
        let pusher = queue
            .pusher(sender)
            .instance(&shared.instance)
            .concurrency(concurrency)
            .timeout(timeout)
            .probe(probe.into())
            .grace(shared.grace);
        let pusher = match &target.source {
            Some(source) => pusher.source(source.clone()),
            None => pusher,
        };
        Ok(Pusher { running: pusher.start().await?, target })
    }

    pub(super) fn serves(&self, target: &Target) -> bool {
        self.target.is_like(target)
    }

    /// Takes over the destination state that another process stored.
    pub(super) async fn update(&self, destination: Option<Destination>) {
        self.running.update(destination).await;
    }

    pub(super) async fn stop(self) {
        self.running.stop().await;
    }
}

impl Sender for EndpointSender {
    fn send<'a>(&'a self, parcel: &'a Parcel) -> SendFuture<'a> {
        Box::pin(self.call(parcel))
    }

    fn ended(&self, outcome: PushOutcome, took: Option<Duration>) {
        self.figures.count(&self.name, outcome, took);
    }

    fn went_down(&self) {
        self.figures.set_down(&self.name, true);
    }

    fn came_back(&self) {
        self.figures.set_down(&self.name, false);
    }
}

impl EndpointSender {
    async fn call(&self, parcel: &Parcel) -> Result<(), SendFailed> {
        let got = &parcel.delivery;
        let body = match &parcel.change {
            None => render_delivery(&self.name, parcel.kind, got.clone()),
            Some(change) => render_change(change),
        };
        let body = body.map_err(|error| SendFailed {
            fault: Fault::Key,
            ..SendFailed::new(format!("failed to write the body: {error}"))
        })?;
        let call = Call {
            url: &self.target.endpoint.url,
            method: self.target.endpoint.method,
            key: got.key.as_ref().map(Key::as_str),
            guarded: self.target.guarded,
            secret: self.target.secret.as_ref(),
            // The first item's position and revision: equal for every attempt, different after an edit.
            id: format!("msg_{}_{}", got.reference.seq.0, got.revision),
            fence: got.reference.fence.0,
            attempt: got.attempt,
            at: parcel.now,
            body,
            within: parcel.within,
        };
        self.caller.call(call).await
    }
}
