//! The whole router on its own database, for tests that need settings which have no option.

use std::sync::Arc;

use axum::body::Body;
use axum::http::Request;
use tokio::sync::watch;

use super::Front;
use super::app::App;
use crate::config::{Environment, Limits};
use crate::database::{self, Database, TemporaryFolder};

/// A server without a socket.
pub(super) struct Bench {
    pub(super) app: Arc<App>,
    front: Front,
    /// The place of the database, unless the caller made it.
    _folder: Option<TemporaryFolder>,
    _stopping: watch::Sender<bool>,
}

impl Bench {
    pub(super) async fn with(change: impl FnOnce(&mut App)) -> Bench {
        let folder = TemporaryFolder::create().expect("the folder is created");
        let database = database::open(&folder.url()).await.expect("the database opens");
        Bench { _folder: Some(folder), ..Bench::on(database, change) }
    }

    /// Creates a server on an open database.
    pub(super) fn on(database: Database, change: impl FnOnce(&mut App)) -> Bench {
        let stopping = watch::Sender::new(false);
        let mut app = App::new(database, Environment::Development, Limits::default(), stopping.subscribe());
        change(&mut app);
        let app = Arc::new(app);
        Bench { front: Front::new(app.clone()), app, _folder: None, _stopping: stopping }
    }

    /// Sends a request without a body and returns the answer.
    pub(super) async fn call(&self, method: &str, path: &str, headers: &[(&str, &str)]) -> axum::response::Response {
        let request = headers
            .iter()
            .fold(Request::builder().method(method).uri(path), |request, (name, value)| request.header(*name, *value));
        self.send(request.body(Body::empty()).expect("a valid request")).await
    }

    /// Sends a request and returns the answer.
    pub(super) async fn send(&self, request: Request<Body>) -> axum::response::Response {
        self.front.answer(request).await
    }
}
