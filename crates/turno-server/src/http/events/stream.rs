//! One listener's stream, from the first bytes to `bye`.

use std::convert::Infallible;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use turno::{Error, Live, Subscription};

use super::frame;
use crate::http::app::Shared;
use crate::http::guard::Place;

/// Between two comments on a quiet stream; also how long at most a dead token's stream goes on.
const COMMENT_EVERY: Duration = Duration::from_secs(15);
/// After the database did not answer, it is asked again this much later.
const ASK_AGAIN: Duration = Duration::from_secs(1);

/// Everything that a listener costs.
pub(super) struct Stream {
    app: Shared,
    subscription: Subscription,
    /// It begins here and goes on from nowhere.
    fresh: bool,
    /// Only what begins with one of these is told; empty means everything.
    resources: Vec<String>,
    /// Given back when the stream ends, however it ends.
    _place: Option<Place>,
    phase: Phase,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Beginning,
    Going,
    Over,
}

impl Stream {
    pub(super) fn new(
        app: Shared,
        subscription: Subscription,
        fresh: bool,
        resources: Vec<String>,
        place: Option<Place>,
    ) -> Stream {
        Stream { app, subscription, fresh, resources, _place: place, phase: Phase::Beginning }
    }

    /// What is sent, made piece by piece as the client takes it.
    pub(super) fn chunks(self) -> impl stream::Stream<Item = Result<Bytes, Infallible>> + Send {
        stream::unfold(Box::new(self), |mut stream| async move {
            let chunk = stream.next().await?;
            Some((Ok(chunk), stream))
        })
    }

    async fn next(&mut self) -> Option<Bytes> {
        match self.phase {
            Phase::Over => return None,
            Phase::Beginning => {
                self.phase = Phase::Going;
                return Some(frame::hello(self.fresh.then(|| self.subscription.position())));
            }
            Phase::Going => {}
        }
        let (app, quiet) = (self.app.clone(), tokio::time::sleep(COMMENT_EVERY));
        tokio::select! {
            biased;
            () = app.stopped() => self.over("stopping"),
            heard = self.heard() => match heard {
                Ok(chunk) => Some(chunk),
                Err(error) => self.failed(&error),
            },
            () = quiet => match self.subscription.recheck().await {
                Ok(()) => Some(frame::comment(self.subscription.position())),
                Err(error) if passes(&error) => Some(frame::comment(self.subscription.position())),
                Err(error) => self.failed(&error),
            },
        }
    }

    /// The next thing that this listener may hear of. Waits out a database that does not answer: nothing is lost by it.
    async fn heard(&mut self) -> Result<Bytes, Error> {
        loop {
            match self.subscription.next().await {
                Ok(Live::Event { position, event }) if self.concerns(&event.resource) => {
                    return Ok(frame::event(position, &event));
                }
                Ok(Live::QueueChanged { queue, topic, at }) if self.concerns(queue.as_str()) => {
                    return Ok(frame::changed(&queue, topic, at));
                }
                Ok(Live::Event { .. } | Live::QueueChanged { .. }) => {}
                Ok(Live::Reset { position }) => return Ok(frame::reset(position)),
                Err(error) if passes(&error) => tokio::time::sleep(ASK_AGAIN).await,
                Err(error) => return Err(error),
            }
        }
    }

    fn concerns(&self, resource: &str) -> bool {
        self.resources.is_empty() || self.resources.iter().any(|prefix| resource.starts_with(prefix.as_str()))
    }

    fn failed(&mut self, error: &Error) -> Option<Bytes> {
        match error {
            Error::Denied(_) => self.over("signed_out"),
            Error::Closed => self.over("stopping"),
            error => {
                tracing::warn!(%error, "a stream of events ended early");
                self.over("failed")
            }
        }
    }

    fn over(&mut self, reason: &str) -> Option<Bytes> {
        self.phase = Phase::Over;
        Some(frame::bye(reason))
    }
}

/// What is over in a moment.
fn passes(error: &Error) -> bool {
    use turno::store::StoreError::{Conflict, Unavailable, Unknown};
    matches!(error, Error::Overloaded | Error::Store(Unavailable(_) | Conflict(_) | Unknown(_)))
}
