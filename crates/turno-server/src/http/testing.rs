//! The whole router on a database of its own, for what cannot be set from outside.

use std::sync::Arc;

use axum::body::Body;
use axum::http::Request;
use tokio::sync::watch;

use super::Front;
use super::app::App;
use crate::config::{Environment, Limits};
use crate::database::{self, TemporaryFolder};

/// A server without its socket.
pub(super) struct Bench {
    pub(super) app: Arc<App>,
    front: Front,
    _folder: TemporaryFolder,
    _told: watch::Sender<bool>,
}

impl Bench {
    pub(super) async fn with(change: impl FnOnce(&mut App)) -> Bench {
        let folder = TemporaryFolder::create().expect("a temporary folder");
        let database = database::open(&folder.url()).await.expect("a fresh database");
        let told = watch::Sender::new(false);
        let mut app = App::new(database, Environment::Development, Limits::default(), told.subscribe());
        change(&mut app);
        let app = Arc::new(app);
        Bench { front: Front::new(app.clone()), app, _folder: folder, _told: told }
    }

    /// The answer to a request without a body.
    pub(super) async fn call(&self, method: &str, path: &str, headers: &[(&str, &str)]) -> axum::response::Response {
        let request = headers
            .iter()
            .fold(Request::builder().method(method).uri(path), |request, (name, value)| request.header(*name, *value));
        self.send(request.body(Body::empty()).expect("a request")).await
    }

    /// The answer to a request.
    pub(super) async fn send(&self, request: Request<Body>) -> axum::response::Response {
        self.front.answer(request).await
    }
}
