//! `turno serve`: the server, for programs and people who mean it.

use crate::cli::say;
use crate::database;
use crate::failure::Failure;
use crate::http::Server;

/// Serves until told to stop. Scripts wait for the one line on stdout.
pub(crate) async fn run(url: &str, listen: &str) -> Result<(), Failure> {
    let database = database::open(url).await?;
    let server = Server::bind(listen, database).await?;
    say(&[format!("listening on http://{}", server.address())]);
    server.run().await
}
