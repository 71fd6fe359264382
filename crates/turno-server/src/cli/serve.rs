//! `turno serve`: the server, for programs and people who mean it.

use std::net::SocketAddr;

use super::output::say;
use super::place::PlaceArgs;
use crate::database;
use crate::failure::Failure;
use crate::http::{App, Environment, Server};

const EXAMPLES: &str = "\
Examples:
  turno serve                                            on sqlite:turno.db, at http://127.0.0.1:7171
  turno serve --database postgres://turno@db/turno --listen 0.0.0.0:7171
  turno serve --config /etc/turno.toml --env production

Once it is ready it prints one line to stdout: listening on http://ADDR. It ends well on SIGTERM and Ctrl-C.";

/// What serving takes.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct ServeArgs {
    #[command(flatten)]
    listen: Listen,
}

/// Where to listen.
#[derive(clap::Args, Debug)]
pub(crate) struct Listen {
    /// Address and port; port 0 takes a free one
    #[arg(long, value_name = "ADDR", env = "TURNO_LISTEN", default_value = "127.0.0.1:7171", value_parser = address)]
    pub(crate) listen: String,
}

/// Serves until told to stop. Scripts wait for the one line on stdout.
pub(crate) async fn run(arguments: &ServeArgs, place: &PlaceArgs) -> Result<(), Failure> {
    let database = database::open(&place.url()?).await?;
    let server = Server::bind(&arguments.listen.listen).await?;
    say(&[format!("listening on http://{}", server.address())]);
    let app = App::new(database, Environment::Development, server.stopping());
    server.run(app).await
}

/// `HOST:PORT`, where the host may be a name.
fn address(text: &str) -> Result<String, String> {
    let named = text
        .rsplit_once(':')
        .is_some_and(|(host, port)| !host.is_empty() && !host.contains(':') && port.parse::<u16>().is_ok());
    if named || text.parse::<SocketAddr>().is_ok() {
        return Ok(text.to_string());
    }
    Err("expected HOST:PORT, for example 127.0.0.1:7171 or [::1]:0".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_a_host_and_a_port() {
        for good in ["127.0.0.1:7171", "[::1]:0", "localhost:80", "0.0.0.0:65535"] {
            assert_eq!(address(good).as_deref(), Ok(good));
        }
        for bad in ["", "7171", ":7171", "localhost", "localhost:70000", "::1:x", "a:b:1"] {
            assert!(address(bad).is_err(), "{bad}");
        }
    }
}
