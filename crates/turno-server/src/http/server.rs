//! The server's lifecycle, from binding the port to the last answer.

use std::convert::Infallible;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use futures_util::FutureExt;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinSet;
use tower::ServiceExt;

use super::Front;
use super::app::App;
use super::callers::{Limit, refusal};
use super::sources::Sources;
use super::stop::Stop;
use crate::failure::{Failure, io_cause};
use crate::texts::message::Message;

/// How long a client may take to send its headers.
const HEADERS_TIME: Duration = Duration::from_secs(10);
/// The largest buffer of a connection, which bounds the request head. It is larger than any normal head, and small
/// enough for thousands of connections.
const BUFFER_MAX: usize = 64 << 10;
/// The pause after a failed accept, which is usually caused by a lack of file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Added to the stop's grace period for deliveries, so that unfinished ones can be returned.
const RETURN_TIME: Duration = Duration::from_secs(1);

/// The most connections to the metrics listener: a few scrapers.
const FIGURES_MAX: usize = 32;

/// The connections that get a refusal at once. More are closed without an answer.
const REFUSED_MAX: usize = 64;
/// How long such a client may take to send its request.
const REFUSED_TIME: Duration = Duration::from_secs(2);

/// A server that has bound its port and handles signals, but does not answer yet.
#[derive(Debug)]
pub(crate) struct Server {
    listener: TcpListener,
    address: SocketAddr,
    stop: Stop,
    stopping: watch::Sender<bool>,
    /// The listener for metrics, if they have an address of their own.
    figures: Option<TcpListener>,
}

/// The address of the client, for limits and logs. Behind a trusted proxy it is the address that the proxy names.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peer(pub(crate) SocketAddr);

impl Server {
    /// Binds the port. Signals are handled from here on, so that none is lost after "listening" is logged.
    pub(crate) async fn bind(listen: &str) -> Result<Self, Failure> {
        let stop = Stop::new()?;
        let bound = TcpListener::bind(listen).await;
        let listener = bound.map_err(|error| cannot_listen(listen, &error))?;
        let address = listener.local_addr().map_err(|error| cannot_listen(listen, &error))?;
        Ok(Self { listener, address, stop, stopping: watch::Sender::new(false), figures: None })
    }

    /// Binds a second port that serves metrics without a token.
    pub(crate) async fn bind_figures(&mut self, listen: &str) -> Result<(), Failure> {
        let bound = TcpListener::bind(listen).await.map_err(|error| cannot_listen(listen, &error))?;
        let address = bound.local_addr().map_err(|error| cannot_listen(listen, &error))?;
        tracing::info!(target: "turno::http", "metrics on http://{address}/metrics");
        self.figures = Some(bound);
        Ok(())
    }

    /// Returns the bound address, with the real port if port 0 was requested.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Becomes true when the server begins to stop.
    pub(crate) fn stopping(&self) -> watch::Receiver<bool> {
        self.stopping.subscribe()
    }

    /// Answers requests until a signal arrives. Then `/readyz` fails for the drain period while all else is served, so
    /// that load balancers send new requests elsewhere. A second signal ends the drain. After it, waits and streams end,
    /// and running requests may finish within the grace period.
    pub(crate) async fn run(mut self, app: App) -> Result<(), Failure> {
        let limits = app.limits;
        let app = Arc::new(app);
        let pushing = tokio::spawn(push(app.clone(), self.stopping()));
        let mut background = JoinSet::new();
        background.spawn(crate::figures::upkeep());
        background.spawn({
            let app = app.clone();
            async move { app.trend.watch().await }
        });
        background.spawn({
            let app = app.clone();
            async move { app.failures.upkeep(app.trusted()).await }
        });
        if let Some(listener) = self.figures.take() {
            background.spawn(serve_figures(listener, super::metrics::alone(app.clone())));
        }
        let front = Arc::new(Front::new(app.clone()));
        let graceful = GracefulShutdown::new();
        let room = Arc::new(Semaphore::new(limits.connections));
        // Behind a proxy that is not named, the connections of all clients come from its address.
        let is_hidden = app.behind_proxy && app.proxies.is_empty();
        let per_source = if is_hidden { 0 } else { limits.per_caller.connections };
        let sources = Sources::new(per_source, app.proxies.clone());
        let refused = Arc::new(Semaphore::new(REFUSED_MAX));
        // Restarted when the server is asked to stop; not polled before.
        let mut drained = Box::pin(tokio::time::sleep(limits.stop_drain));
        loop {
            let accepted = tokio::select! {
                accepted = accept(&self.listener, &room) => accepted,
                // The second signal ends the drain.
                () = self.stop.requested() => if app.is_draining() || limits.stop_drain.is_zero() {
                    break;
                } else {
                    app.drain();
                    drained = Box::pin(tokio::time::sleep(limits.stop_drain));
                    tracing::info!(ms = limits.stop_drain.as_millis(), "asked to stop: /readyz answers 503 first");
                    continue;
                },
                () = &mut drained, if app.is_draining() => break,
            };
            match accepted {
                Ok((stream, peer, place)) => {
                    let Some(source) = sources.enter(peer.ip()) else {
                        drop(place);
                        refuse(stream, &app, &refused);
                        continue;
                    };
                    let front = front.clone();
                    let answer = move |request| {
                        let front = front.clone();
                        async move { front.answer(request).await }
                    };
                    serve(stream, peer, answer, &graceful, (place, source));
                }
                Err(error) => {
                    tracing::warn!(%error, "failed to accept a connection");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            }
        }
        // First readiness checks, waits and streams see the stop. Then no new connections are accepted.
        let _ = self.stopping.send(true);
        drop(self.listener);
        let answered = tokio::time::timeout(limits.stop_grace, graceful.shutdown());
        let pushed = tokio::time::timeout(limits.stop_grace + RETURN_TIME, pushing);
        let (answered, pushed) = tokio::join!(answered, pushed);
        if answered.is_err() {
            tracing::warn!("some answers took longer than the stop may; their connections were closed");
        }
        app.failures.finish(app.trusted()).await;
        if pushed.is_err() {
            tracing::warn!("some deliveries could not be given back; they expire");
        }
        Ok(())
    }
}

/// Delivers to endpoints until the server stops.
async fn push(app: Arc<App>, stopping: watch::Receiver<bool>) {
    if let Err(failure) = app.deliveries.run(app.trusted().clone(), app.limits.stop_grace, stopping).await {
        tracing::error!(cause = failure.into_message().english(), "nothing is sent to endpoints");
    }
}

/// Serves metrics until the process ends. It needs no graceful stop, because a scraper tries again.
async fn serve_figures(listener: TcpListener, router: Router) {
    let room = Arc::new(Semaphore::new(FIGURES_MAX));
    let graceful = GracefulShutdown::new();
    loop {
        match accept(&listener, &room).await {
            Ok((stream, peer, place)) => {
                let router = router.clone();
                let answer = move |request| {
                    router.clone().oneshot(request).map(|answered| answered.unwrap_or_else(|never| match never {}))
                };
                serve(stream, peer, answer, &graceful, place);
            }
            Err(error) => {
                tracing::warn!(%error, "failed to accept a connection for figures");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

async fn accept(
    listener: &TcpListener,
    room: &Arc<Semaphore>,
) -> std::io::Result<(TcpStream, SocketAddr, OwnedSemaphorePermit)> {
    let place = room.clone().acquire_owned().await.expect("the semaphore is never closed");
    let (stream, peer) = listener.accept().await?;
    // Small answers must not wait for more data.
    stream.set_nodelay(true)?;
    Ok((stream, peer, place))
}

fn serve<F>(
    stream: TcpStream,
    peer: SocketAddr,
    answer: impl Fn(Request) -> F + Send + 'static,
    graceful: &GracefulShutdown,
    place: impl Send + 'static,
) where
    F: Future<Output = Response> + Send + 'static,
{
    let service = service_fn(move |request: hyper::Request<Incoming>| {
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(Peer(peer));
        answer(request).map(Ok::<_, Infallible>)
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADERS_TIME)
        .max_buf_size(BUFFER_MAX)
        .serve_connection(TokioIo::new(stream), service);
    let watched = graceful.watch(connection);
    tokio::spawn(async move {
        // The client notices a broken connection itself.
        if let Err(error) = watched.await {
            tracing::debug!(%error, "a connection ended early");
        }
        drop(place);
    });
}

/// Answers 429 to a connection whose source has too many, and closes it.
fn refuse(stream: TcpStream, app: &Arc<App>, refused: &Arc<Semaphore>) {
    let Ok(place) = refused.clone().try_acquire_owned() else { return };
    let app = app.clone();
    let service = service_fn(move |request: hyper::Request<Incoming>| {
        let language = crate::console::language(request.headers(), app.language);
        let problem = refusal(Limit::Connections);
        let (mut answer, _) = super::problem::render(problem.into_response(), &app.texts, language, "");
        answer.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
        std::future::ready(Ok::<_, Infallible>(answer))
    });
    let connection = http1::Builder::new().keep_alive(false).serve_connection(TokioIo::new(stream), service);
    tokio::spawn(async move {
        // The client notices the end of the connection itself.
        drop(tokio::time::timeout(REFUSED_TIME, connection).await);
        drop(place);
    });
}

fn cannot_listen(listen: &str, error: &std::io::Error) -> Failure {
    Failure::failed(match error.kind() {
        ErrorKind::AddrInUse => Message::new("listen-port-taken").text("address", listen),
        ErrorKind::PermissionDenied => Message::new("listen-permission").text("address", listen),
        ErrorKind::AddrNotAvailable => Message::new("listen-unknown-address").text("address", listen),
        _ => Message::new("listen-failed").text("address", listen).message("cause", io_cause(error)),
    })
}
