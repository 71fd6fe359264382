//! The life of the server, from taking the port to the last answer.

use std::convert::Infallible;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
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
use super::stop::Stop;
use crate::failure::Failure;

/// How long a client may take to send its headers; longer is a client that means harm or is lost.
const HEADERS_TIME: Duration = Duration::from_secs(10);
/// The largest buffer of a connection, and so the longest head: far more than any client sends, and little enough for
/// thousands of connections.
const BUFFER_MAX: usize = 64 << 10;
/// After a failure to accept, usually for want of file descriptors, it is tried again this much later.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// How much longer than calls deliveries may take to be given back at the end: a commit.
const GIVING_BACK: Duration = Duration::from_secs(1);

/// Connections to the listener of figures at once: a few scrapers.
const FIGURES_MAX: usize = 32;

/// A server that holds its port and hears the signals, but does not answer yet.
#[derive(Debug)]
pub(crate) struct Server {
    listener: TcpListener,
    address: SocketAddr,
    stop: Stop,
    told: watch::Sender<bool>,
    /// For figures, if they have an address of their own.
    figures: Option<TcpListener>,
}

/// Where a request comes from, for the limits of sign-ins.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peer(pub(crate) SocketAddr);

impl Server {
    /// Takes the port. From here on a signal to stop is heard, so that none is lost after "listening".
    pub(crate) async fn bind(listen: &str) -> Result<Self, Failure> {
        let stop = Stop::new()?;
        let bound = TcpListener::bind(listen).await;
        let listener = bound.map_err(|error| cannot_listen(listen, &error))?;
        let address = listener.local_addr().map_err(|error| cannot_listen(listen, &error))?;
        Ok(Self { listener, address, stop, told: watch::Sender::new(false), figures: None })
    }

    /// Takes a second port, where figures are served without a token.
    pub(crate) async fn bind_figures(&mut self, listen: &str) -> Result<(), Failure> {
        let bound = TcpListener::bind(listen).await.map_err(|error| cannot_listen(listen, &error))?;
        let address = bound.local_addr().map_err(|error| cannot_listen(listen, &error))?;
        tracing::info!(target: "turno::http", "metrics on http://{address}/metrics");
        self.figures = Some(bound);
        Ok(())
    }

    /// Where it listens: the real port, also if 0 was asked for.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Becomes true when the server was told to stop.
    pub(crate) fn stopping(&self) -> watch::Receiver<bool> {
        self.told.subscribe()
    }

    /// Answers until told to stop; then `/readyz` fails, waiting calls and streams end, and what is under way finishes,
    /// but not for ever.
    pub(crate) async fn run(mut self, app: App) -> Result<(), Failure> {
        let limits = app.limits;
        let app = Arc::new(app);
        let pushing = tokio::spawn(push(app.clone(), self.stopping()));
        let mut beside = JoinSet::new();
        beside.spawn(crate::figures::upkeep());
        beside.spawn({
            let app = app.clone();
            async move { app.trend.watch().await }
        });
        if let Some(listener) = self.figures.take() {
            beside.spawn(serve_figures(listener, super::metrics::alone(app.clone())));
        }
        let front = Arc::new(Front::new(app));
        let graceful = GracefulShutdown::new();
        let room = Arc::new(Semaphore::new(limits.connections));
        loop {
            let accepted = tokio::select! {
                accepted = accept(&self.listener, &room) => accepted,
                () = self.stop.requested() => break,
            };
            match accepted {
                Ok((stream, peer, place)) => {
                    let front = front.clone();
                    let answer = move |request| {
                        let front = front.clone();
                        async move { front.answer(request).await }
                    };
                    serve(stream, peer, answer, &graceful, place);
                }
                Err(error) => {
                    tracing::warn!(%error, "failed to accept a connection");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            }
        }
        // Whoever asks for readiness, for work or for events is told first; nobody new is let in.
        let _ = self.told.send(true);
        drop(self.listener);
        let answered = tokio::time::timeout(limits.stop_grace, graceful.shutdown());
        let pushed = tokio::time::timeout(limits.stop_grace + GIVING_BACK, pushing);
        let (answered, pushed) = tokio::join!(answered, pushed);
        if answered.is_err() {
            tracing::warn!("some answers took longer than the stop may; their connections were closed");
        }
        if pushed.is_err() {
            tracing::warn!("some deliveries could not be given back; they expire");
        }
        Ok(())
    }
}

/// Calls endpoints until the server stops.
async fn push(app: Arc<App>, stopping: watch::Receiver<bool>) {
    if let Err(failure) = app.deliveries.run(app.trusted().clone(), app.limits.stop_grace, stopping).await {
        tracing::error!(cause = failure.cause, "nothing is sent to endpoints");
    }
}

/// Until the server ends. A scraper that is not answered comes again.
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
    let place = room.clone().acquire_owned().await.expect("this semaphore is never closed");
    let (stream, peer) = listener.accept().await?;
    // Small answers must not wait for more to send.
    stream.set_nodelay(true)?;
    Ok((stream, peer, place))
}

fn serve<F>(
    stream: TcpStream,
    peer: SocketAddr,
    answer: impl Fn(Request) -> F + Send + 'static,
    graceful: &GracefulShutdown,
    place: OwnedSemaphorePermit,
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
        // A connection that breaks is the client's to notice.
        if let Err(error) = watched.await {
            tracing::debug!(%error, "a connection ended early");
        }
        drop(place);
    });
}

fn cannot_listen(listen: &str, error: &std::io::Error) -> Failure {
    let next = match error.kind() {
        ErrorKind::AddrInUse => {
            "stop what listens there, or choose another port with --listen (port 0 takes a free one)"
        }
        ErrorKind::PermissionDenied => "choose a port above 1023 with --listen",
        ErrorKind::AddrNotAvailable => "this machine does not have that address; 127.0.0.1:7171 always works",
        _ => "check the address given with --listen or TURNO_LISTEN",
    };
    Failure::failed(format!("failed to listen on {listen}: {error}"), next)
}
