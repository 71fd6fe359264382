//! `turno demo`: everything in a temporary place, for whoever gives Turno two minutes.

mod traffic;

use crate::cli::say;
use crate::database::{self, TemporaryFolder};
use crate::failure::Failure;
use crate::figures;
use crate::http::{App, Environment, Server};

/// Serves until told to stop, then leaves nothing behind.
pub(crate) async fn run(listen: &str) -> Result<(), Failure> {
    figures::installed();
    // Dropped at the very end, after the last answer.
    let folder = TemporaryFolder::create()?;
    let database = database::open(&folder.url()).await?;
    let server = Server::bind(listen).await?;
    let mut app = App::new(database.clone(), Environment::Development, server.stopping());
    app.shows_queues = true;
    say(&[
        format!("Turno {} · demo", env!("CARGO_PKG_VERSION")),
        format!("  database  {}, {} (removed at the end)", database.place.kind, database.place.name),
        format!("  page      http://{}/ shows it at work", server.address()),
        format!("  health    curl http://{}/healthz", server.address()),
        "  stop      Ctrl-C".to_string(),
        format!("listening on http://{}", server.address()),
    ]);
    tokio::select! {
        served = server.run(app) => served,
        stopped = traffic::run(database.turno) => {
            stopped.map_err(|error| Failure::failed(format!("the demo's traffic stopped: {error}"), "start it again"))
        }
    }
}
