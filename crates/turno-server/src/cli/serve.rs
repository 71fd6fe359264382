//! `turno serve`: the server, for programs and people who mean it.

use crate::cli::say;
use crate::database;
use crate::failure::Failure;
use crate::figures;
use crate::http::{App, Environment, Server};

/// Serves until told to stop. Scripts wait for the one line on stdout.
pub(crate) async fn run(url: &str, listen: &str, metrics_listen: Option<&str>) -> Result<(), Failure> {
    // First of all: what is counted before there is a recorder is counted nowhere.
    figures::installed();
    let database = database::open(url).await?;
    let mut server = Server::bind(listen).await?;
    if let Some(listen) = metrics_listen {
        server.bind_figures(listen).await?;
    }
    say(&[format!("listening on http://{}", server.address())]);
    let app = App::new(database, Environment::Development, server.stopping());
    server.run(app).await
}
