//! One client's event stream, from the first bytes to `bye`.

use std::convert::Infallible;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use turno::Error;
use turno::event::{Live, Subscription};

use super::frame;
use crate::http::app::Shared;
use crate::http::guard::RoomPlace;

/// The interval of comments on a quiet stream. Each comment also rechecks the token.
const COMMENT_EVERY: Duration = Duration::from_secs(15);
/// The wait before the database is asked again after a failure.
const ASK_AGAIN: Duration = Duration::from_secs(1);

/// The state of one stream.
pub(super) struct Stream {
    app: Shared,
    subscription: Subscription,
    /// True if the stream starts now and does not resume.
    fresh: bool,
    /// Freed when the stream ends.
    _place: Option<RoomPlace>,
    phase: Phase,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Beginning,
    Going,
    Over,
}

impl Stream {
    pub(super) fn new(app: Shared, subscription: Subscription, fresh: bool, place: Option<RoomPlace>) -> Stream {
        Stream { app, subscription, fresh, _place: place, phase: Phase::Beginning }
    }

    /// Returns the bytes to send. Each chunk is made when the client can take it.
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
            () = app.stopped() => self.end("stopping"),
            received = self.receive() => match received {
                Ok(chunk) => Some(chunk),
                Err(error) => self.failed(&error),
            },
            () = quiet => match self.subscription.recheck().await {
                Ok(()) => Some(frame::comment(self.subscription.position())),
                Err(error) if is_temporary(&error) => Some(frame::comment(self.subscription.position())),
                Err(error) => self.failed(&error),
            },
        }
    }

    /// Returns the next event that this client may see. Waits while the database does not answer, because events are
    /// stored and none is lost.
    async fn receive(&mut self) -> Result<Bytes, Error> {
        loop {
            match self.subscription.next().await {
                Ok(Live::Event { position, event }) => return Ok(frame::event(position, &event)),
                Ok(Live::QueueChanged { queue, topic, at }) => return Ok(frame::changed(&queue, topic, at)),
                Ok(Live::Reset { position }) => return Ok(frame::reset(position)),
                Err(error) if is_temporary(&error) => tokio::time::sleep(ASK_AGAIN).await,
                Err(error) => return Err(error),
            }
        }
    }

    fn failed(&mut self, error: &Error) -> Option<Bytes> {
        match error {
            Error::Denied(_) => self.end("signed_out"),
            Error::Closed => self.end("stopping"),
            error => {
                tracing::warn!(%error, "a stream of events ended early");
                self.end("failed")
            }
        }
    }

    fn end(&mut self, reason: &str) -> Option<Bytes> {
        self.phase = Phase::Over;
        Some(frame::bye(reason))
    }
}

/// Returns whether an error is temporary.
fn is_temporary(error: &Error) -> bool {
    use turno::store::StoreError::{Conflict, Tls, Unavailable, Unknown};
    matches!(error, Error::Overloaded | Error::Store(Unavailable(_) | Tls(_) | Conflict(_) | Unknown(_)))
}
