//! `turno demo`: everything in a temporary place, for whoever gives Turno two minutes.

mod traffic;

use super::output::say;
use super::place::PlaceArgs;
use super::serve::Listen;
use crate::config::LogFormat;
use crate::database::{self, TemporaryFolder};
use crate::failure::Failure;
use crate::figures;
use crate::http::{App, Environment, Server};
use crate::logging;

/// What the demo takes.
#[derive(clap::Args, Debug)]
pub(crate) struct DemoArgs {
    #[command(flatten)]
    listen: Listen,
}

/// Serves until told to stop, then leaves nothing behind.
pub(crate) async fn run(arguments: &DemoArgs, place: &PlaceArgs) -> Result<(), Failure> {
    if place.database_was_typed() {
        return Err(Failure::usage(
            "the demo always uses a fresh temporary database",
            "leave out --database, or use `turno serve --database URL`",
        ));
    }
    let listen = &arguments.listen.listen;
    // The demo is looked at, not read: only what is wrong.
    let _logging = logging::start(LogFormat::Auto, "warn", None)?;
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
