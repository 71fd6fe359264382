//! `turno healthcheck`: for supervisors and containers.

use super::output::say;
use crate::client::{Client, DEFAULT_SERVER, TokenArgs};
use crate::failure::Failure;

const EXAMPLES: &str = "\
Examples:
  turno healthcheck && echo fine
  turno healthcheck --server http://127.0.0.1:8080
  HEALTHCHECK CMD [\"turno\", \"healthcheck\"]               in a container's file

Exit code 0 if the server answers, reaches its database, and its schema fits; 1 if not. Needs no token.";

/// What a health check takes.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct HealthcheckArgs {
    /// The server to ask [default: the port of TURNO_LISTEN on this machine, or http://127.0.0.1:7171]
    #[arg(long, value_name = "URL", env = "TURNO_URL", help_heading = "Server")]
    server: Option<String>,
}

pub(crate) async fn run(arguments: &HealthcheckArgs) -> Result<(), Failure> {
    let listen = std::env::var("TURNO_LISTEN").ok();
    let server = arguments.server.clone().unwrap_or_else(|| beside(listen.as_deref()));
    Client::of(&server, &TokenArgs::default())?.get("/readyz").await?;
    say(&["ready"]);
    Ok(())
}

/// The server that listens beside this command, as in a container. It may listen on all addresses; this machine's own
/// always reaches it then.
fn beside(listen: Option<&str>) -> String {
    match listen.and_then(|listen| listen.rsplit_once(':')) {
        Some(("0.0.0.0" | "[::]", port)) => format!("http://127.0.0.1:{port}"),
        Some((host, port)) => format!("http://{host}:{port}"),
        None => DEFAULT_SERVER.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_server_beside_it_is_found_by_where_it_listens() {
        assert_eq!(beside(None), "http://127.0.0.1:7171");
        assert_eq!(beside(Some("0.0.0.0:80")), "http://127.0.0.1:80");
        assert_eq!(beside(Some("[::]:80")), "http://127.0.0.1:80");
        assert_eq!(beside(Some("[::1]:8080")), "http://[::1]:8080");
    }
}
