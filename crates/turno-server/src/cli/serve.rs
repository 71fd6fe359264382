//! `turno serve`: the server, for programs and people who mean it.

use crate::cli::say;
use crate::database;
use crate::failure::Failure;
use crate::http::{App, Environment, Server};

/// Serves until told to stop. Scripts wait for the one line on stdout.
pub(crate) async fn run(url: &str, listen: &str) -> Result<(), Failure> {
    let database = database::open(url).await?;
    let server = Server::bind(listen).await?;
    say(&[format!("listening on http://{}", server.address())]);
    let app = App::new(database, Environment::Development, server.stopping());
    server.run(app).await
}
