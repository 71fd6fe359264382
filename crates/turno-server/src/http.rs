//! HTTP: the routes, and the life of the server from binding to the last answer.
//!
//! A file under `http/` per page or resource. There is no API yet, and therefore nothing here needs a token.

mod health;
mod language;
mod root;
mod stop;

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use tokio::net::TcpListener;

use crate::database::Database;
use crate::failure::Failure;
use crate::uptime::Uptime;
use language::Language;
use stop::Stop;

/// How long answers under way may take once the server was told to stop.
const LAST_ANSWERS: Duration = Duration::from_secs(10);

/// Nothing but what the pages themselves bring: no script at all, nobody may frame them.
const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; style-src 'self'; img-src 'self'; \
     base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// What the handlers know.
#[derive(Debug)]
struct State {
    database: Database,
    uptime: Uptime,
    /// Whether the page counts what is in the queues: only where that is little.
    shows_queues: bool,
}

/// A server that holds its port and hears the signals, but does not answer yet.
#[derive(Debug)]
pub(crate) struct Server {
    listener: TcpListener,
    address: SocketAddr,
    stop: Stop,
    state: State,
}

impl Server {
    /// Takes the port. From here on a signal to stop is heard, so that none is lost after "listening".
    pub(crate) async fn bind(listen: &str, database: Database) -> Result<Self, Failure> {
        let stop = Stop::new()?;
        let bound = TcpListener::bind(listen).await;
        let listener = bound.map_err(|error| cannot_listen(listen, &error))?;
        let address = listener.local_addr().map_err(|error| cannot_listen(listen, &error))?;
        let state = State { database, uptime: Uptime::start(), shows_queues: false };
        Ok(Self { listener, address, stop, state })
    }

    /// Lets the page show what is in the queues.
    pub(crate) fn showing_queues(mut self) -> Self {
        self.state.shows_queues = true;
        self
    }

    /// Where it listens: the real port, also if 0 was asked for.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers until told to stop; then finishes what is under way, but not for ever.
    pub(crate) async fn run(self) -> Result<(), Failure> {
        let (told, mut hear) = tokio::sync::watch::channel(false);
        let mut stop = self.stop;
        tokio::spawn(async move {
            stop.requested().await;
            // Without listeners the server has ended by itself.
            let _ = told.send(true);
        });
        let mut hear_too = hear.clone();
        let serving = axum::serve(self.listener, router(Arc::new(self.state))).with_graceful_shutdown(async move {
            let _ = hear.wait_for(|told| *told).await;
        });
        let patience = async move {
            let _ = hear_too.wait_for(|told| *told).await;
            tokio::time::sleep(LAST_ANSWERS).await;
        };
        tokio::select! {
            served = serving => served.map_err(|error| {
                Failure::failed(format!("failed to serve: {error}"), "start it again; report it if it repeats")
            }),
            () = patience => Ok(()),
        }
    }
}

fn router(state: Arc<State>) -> Router {
    Router::new()
        .route("/", get(root::page))
        .route("/assets/turno.css", get(root::style))
        .route("/assets/turno.svg", get(root::icon))
        .route("/healthz", get(health::alive))
        .fallback(unknown)
        .layer(middleware::from_fn(guard))
        .with_state(state)
}

/// Headers that every answer carries, so that no page can forget them.
async fn guard(request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_SECURITY_POLICY, CONTENT_SECURITY_POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

/// Whatever is not there, said in the form that the API's errors will have.
async fn unknown(language: Language) -> Response {
    let title = match language {
        Language::Spanish => "Aquí no hay nada; la página principal es /",
        Language::English => "There is nothing here; the main page is /",
    };
    let body = format!(r#"{{"type":"about:blank","title":"{title}","status":404,"code":"not_found"}}"#);
    let headers = [(header::CONTENT_TYPE, "application/problem+json"), (header::VARY, "accept-language")];
    (StatusCode::NOT_FOUND, headers, body).into_response()
}

fn cannot_listen(listen: &str, error: &std::io::Error) -> Failure {
    let next = match error.kind() {
        ErrorKind::AddrInUse => {
            "stop the program that uses it, or choose another port: --listen 127.0.0.1:0 takes a free one"
        }
        ErrorKind::PermissionDenied => "ports below 1024 belong to root; choose a higher one with --listen",
        ErrorKind::AddrNotAvailable => "this machine does not have that address; 127.0.0.1:7171 always works",
        _ => "check the address given with --listen or TURNO_LISTEN",
    };
    Failure::failed(format!("failed to listen on {listen}: {error}"), next)
}
