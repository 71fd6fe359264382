//! A receiver of pushed deliveries: a real server whose answers the case gives.

use std::net::SocketAddr;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, Method, Response, Uri};
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;

/// Longer than any call takes on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Listens on its own port until it is dropped.
pub(crate) struct Receiver {
    pub(crate) address: SocketAddr,
    calls: mpsc::UnboundedReceiver<Received>,
    _server: JoinSet<()>,
}

/// A call that waits for its answer.
#[derive(Debug)]
pub(crate) struct Received {
    pub(crate) method: Method,
    pub(crate) uri: Uri,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
    answer: oneshot::Sender<Response<Body>>,
}

impl Receiver {
    pub(crate) async fn start() -> Receiver {
        Receiver::at("127.0.0.1:0".parse().unwrap()).await
    }

    /// Starts a receiver at the address of an earlier one.
    pub(crate) async fn at(address: SocketAddr) -> Receiver {
        let listener = TcpListener::bind(address).await.unwrap();
        let address = listener.local_addr().unwrap();
        let (sent, calls) = mpsc::unbounded_channel();
        let router = Router::new().fallback(receive).with_state(sent);
        let mut server = JoinSet::new();
        server.spawn(async move { axum_serve(listener, router).await });
        Receiver { address, calls, _server: server }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Waits for the next call.
    pub(crate) async fn next(&mut self) -> Received {
        let call = tokio::time::timeout(PATIENCE, self.calls.recv()).await;
        call.expect("a call arrives in time").expect("the server runs")
    }

    /// Returns whether a call has arrived that the case has not taken.
    pub(crate) fn has_more(&self) -> bool {
        !self.calls.is_empty()
    }
}

/// Serves connections by hand, because the program is built without `axum::serve`.
pub(crate) async fn axum_serve(listener: TcpListener, router: Router) {
    use hyper_util::rt::TokioIo;
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        let service = hyper_util::service::TowerToHyperService::new(router.clone());
        connections.spawn(async move {
            let connection = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service);
            // The caller may disconnect at any time.
            drop(connection.await);
        });
    }
}

async fn receive(
    State(calls): State<mpsc::UnboundedSender<Received>>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response<Body> {
    let (answer, answered) = oneshot::channel();
    let text = String::from_utf8(body.to_vec()).unwrap();
    let _ = calls.send(Received { method, uri, headers, text, answer });
    answered.await.unwrap_or_else(|_| Response::builder().status(500).body(Body::empty()).unwrap())
}

impl Received {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap()
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).unwrap_or_else(|| panic!("no {name} in {:?}", self.headers)).to_str().unwrap()
    }

    pub(crate) fn fence(&self) -> i64 {
        self.header("turno-fence").parse().unwrap()
    }

    /// Returns the ids of the items.
    pub(crate) fn ids(&self) -> Vec<String> {
        let body = self.json();
        let items = body["items"].as_array().unwrap().iter();
        items.map(|item| item["id"].as_str().unwrap().to_owned()).collect()
    }

    pub(crate) fn answer(self, status: u16) {
        self.answer_with(status, &[], "");
    }

    pub(crate) fn answer_with(self, status: u16, headers: &[(&str, &str)], body: &str) {
        let mut response = Response::builder().status(status);
        for (name, value) in headers {
            response = response.header(*name, *value);
        }
        // The caller may have disconnected.
        let _ = self.answer.send(response.body(Body::from(body.to_owned())).unwrap());
    }

    /// Waits until the caller has disconnected without an answer.
    pub(crate) async fn abandoned(mut self) {
        tokio::time::timeout(PATIENCE, self.answer.closed()).await.expect("the caller disconnects in time");
    }
}
