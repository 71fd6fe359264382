//! `turno healthcheck`: asks a server whether it is ready, for supervisors and containers.

use super::global::GlobalArgs;
use super::output::{Format, say};
use crate::client::{Client, TokenArgs};
use crate::config::Overrides;
use crate::failure::Failure;
use crate::texts::terminal::word;

const EXAMPLES: &str = "\
Examples:
  turno healthcheck && echo fine
  turno healthcheck --server http://127.0.0.1:8080
  HEALTHCHECK CMD [\"turno\", \"healthcheck\"]        in a container's file

Exit code 0 if the server answers, reaches its database, and its schema fits;
1 if not. Needs no token.";

/// Arguments of `turno healthcheck`.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct HealthcheckArgs {
    /// The server to ask [default: where the configuration lets one listen, http://127.0.0.1:7171]
    #[arg(long, value_name = "URL", env = "TURNO_URL", hide_env_values = true, help_heading = "Server")]
    server: Option<String>,
    #[command(flatten)]
    format: Format,
}

pub(crate) async fn run(arguments: &HealthcheckArgs, global: &GlobalArgs) -> Result<(), Failure> {
    let server = match &arguments.server {
        Some(server) => server.clone(),
        None => local_url(&global.settings(Overrides::default())?.listen),
    };
    let client = Client::for_server(&server, &TokenArgs::default())?.impatient();
    let answer = client.get("/readyz").await?;
    if arguments.format.json {
        answer.print_json();
    } else {
        say(&[word("server", "ready")]);
    }
    Ok(())
}

/// Returns the URL of a server on this machine that listens on `listen`. A server on all addresses is reached over
/// loopback.
pub(super) fn local_url(listen: &str) -> String {
    match listen.rsplit_once(':') {
        Some(("0.0.0.0" | "[::]", port)) => format!("http://127.0.0.1:{port}"),
        _ => format!("http://{listen}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_on_all_addresses_is_reached_over_loopback() {
        assert_eq!(local_url("0.0.0.0:80"), "http://127.0.0.1:80");
        assert_eq!(local_url("[::]:80"), "http://127.0.0.1:80");
        assert_eq!(local_url("[::1]:8080"), "http://[::1]:8080");
        assert_eq!(local_url("127.0.0.1:7171"), "http://127.0.0.1:7171");
    }
}
