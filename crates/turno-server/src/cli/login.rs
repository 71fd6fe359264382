//! `turno login` and `turno logout`: sign in to a server through a browser, and keep the token.

mod loopback;

use std::process::Stdio;
use std::time::Duration;

use clap::Args;
use serde_json::json;

use super::output::{Format, say, talk};
use crate::client::{Client, Credential, Credentials, part};
use crate::failure::Failure;
use crate::oidc::pkce;
use crate::texts::message::Message;
use loopback::Loopback;

const LOGIN_EXAMPLES: &str = "\
Examples:
  turno login                           sign in to http://127.0.0.1:7171
  turno login --server https://turno.example.com
  turno login --no-browser              only print the address

Opens the server in a browser. You sign in there as usual and confirm. The
token is kept in turno/credentials.toml in your configuration folder, which
only you can read, and expires after 30 days. Other commands use it for this
server unless TURNO_TOKEN or --token-file names another one.";

const LOGOUT_EXAMPLES: &str = "\
Examples:
  turno logout
  turno logout --server https://turno.example.com

Revokes the token that `turno login` kept for the server, and removes it.";

/// How long a person may take to sign in.
const PATIENCE: Duration = Duration::from_secs(600);

/// The server to sign in to.
#[derive(Args, Debug)]
struct Server {
    /// The server to sign in to
    #[arg(
        long,
        value_name = "URL",
        env = "TURNO_URL",
        hide_env_values = true,
        default_value = "http://127.0.0.1:7171"
    )]
    server: String,
}

/// Arguments of `turno login`.
#[derive(Args, Debug)]
#[command(after_help = LOGIN_EXAMPLES)]
pub(crate) struct LoginArgs {
    #[command(flatten)]
    server: Server,
    /// Print the address and open no browser
    #[arg(long)]
    no_browser: bool,
    #[command(flatten)]
    format: Format,
}

/// Arguments of `turno logout`.
#[derive(Args, Debug)]
#[command(after_help = LOGOUT_EXAMPLES)]
pub(crate) struct LogoutArgs {
    #[command(flatten)]
    server: Server,
    #[command(flatten)]
    format: Format,
}

fn kept() -> Result<Credentials, Failure> {
    let kept = Credentials::of_user(|name| std::env::var(name).ok());
    kept.ok_or_else(|| Failure::failed(Message::new("credentials-nowhere")))
}

pub(crate) async fn login(arguments: &LoginArgs) -> Result<(), Failure> {
    let client = Client::with_token(&arguments.server.server, None)?;
    let kept = kept()?;
    let random = || pkce::random().map_err(|error| Failure::failed(Message::new("login-random").text("cause", error)));
    let (verifier, state) = (random()?, random()?);
    let loopback = Loopback::bind().await?;
    let query = format!("port={}&challenge={}&state={state}", loopback.port(), pkce::challenge(&verifier));
    let address = format!("{}/login?{query}&machine={}", client.base(), part(&machine()));
    talk(&Message::new("login-open").text("url", &address));
    if !arguments.no_browser {
        open_browser(&address);
    }
    let code = tokio::time::timeout(PATIENCE, loopback.code(&state)).await;
    let code = code.map_err(|_| Failure::failed(Message::new("login-timeout")))?;
    let answer = client.post("/v1/login", &json!({ "code": code, "verifier": verifier })).await?;
    let text = |name: &str| answer.json[name].as_str().map(str::to_owned);
    let (Some(token), Some(id), Some(user)) = (text("token"), text("id"), text("user")) else {
        return Err(Failure::failed(Message::new("login-answer").text("server", client.base())));
    };
    let expires_at = text("expires_at");
    if arguments.format.json {
        let shown = json!({ "server": client.base(), "user": user, "id": id, "expires_at": expires_at });
        say(&[shown.to_string()]);
    } else {
        let done = Message::new("login-done").text("user", &user).text("server", client.base());
        talk(&done.text("path", kept.path().display()));
    }
    kept.put(client.base(), Credential { user, id, token, expires_at })
}

/// Revokes the kept token and removes it. A token that the server does not accept any more is only removed.
pub(crate) async fn logout(arguments: &LogoutArgs) -> Result<(), Failure> {
    let kept = kept()?;
    let client = Client::with_token(&arguments.server.server, None)?;
    let Some(credential) = kept.find(client.base())? else {
        return Err(Failure::failed(Message::new("logout-none").text("server", client.base())));
    };
    let client = Client::with_token(&arguments.server.server, Some(credential.token))?;
    match client.try_delete(&format!("/v1/tokens/{}", part(&credential.id))).await {
        Ok(_) => {}
        Err(refusal) if refusal.code.as_deref() == Some("unauthenticated") => {}
        Err(refusal) => return Err(refusal.into()),
    }
    kept.remove(client.base())?;
    if arguments.format.json {
        say(&[json!({ "server": client.base(), "user": credential.user, "id": credential.id }).to_string()]);
    } else {
        talk(&Message::new("logout-done").text("user", credential.user).text("server", client.base()));
    }
    Ok(())
}

/// Returns the name of this machine, which the page shows.
fn machine() -> String {
    let named = std::env::var("HOSTNAME").or_else(|_| std::env::var("COMPUTERNAME"));
    let named = named.or_else(|_| std::fs::read_to_string("/etc/hostname"));
    named.map(|name| name.trim().to_owned()).ok().filter(|name| !name.is_empty()).unwrap_or_else(|| "?".to_owned())
}

/// Opens the address in the person's browser. A failure has no effect, because the address is printed, too.
fn open_browser(address: &str) {
    let program = match std::env::consts::OS {
        "macos" => "open",
        "windows" => "explorer",
        _ => "xdg-open",
    };
    let mut command = std::process::Command::new(program);
    command.arg(address).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let _ = command.spawn();
}
