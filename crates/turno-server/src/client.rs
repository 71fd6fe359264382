//! The HTTP client of the command line. Each command makes one call, prints the answer for people or programs, and
//! reports a problem with its cause and a next step.

mod answer;
mod credentials;
mod problem;
mod stream;

use std::path::PathBuf;
use std::sync::Once;
use std::time::Duration;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::{Method, RequestBuilder, Url};
use serde::Serialize;

pub(crate) use answer::Answer;
pub(crate) use credentials::{Credential, Credentials};
pub(crate) use problem::Refusal;
pub(crate) use stream::{Events, Sent};

use crate::cli::duration;
use crate::cli::output::talk;
use crate::failure::{Failure, io_cause};
use crate::texts::message::Message;
use crate::texts::terminal;

/// How long a server may take to accept a connection.
const CONNECT: Duration = Duration::from_secs(5);
/// How often a busy server is asked again, and for how long in total. A caller that may wait longer decides that itself.
const TRIES_AGAIN: usize = 3;
const WAIT_IN_ALL: Duration = Duration::from_secs(30);
/// How long an answer may take: longer than the longest wait that a call can ask for.
const ANSWER: Duration = Duration::from_secs(60);

/// The variable with the token.
pub(crate) const TOKEN_VARIABLE: &str = "TURNO_TOKEN";
/// The variable with the path of a file that contains the token.
pub(crate) const TOKEN_FILE_VARIABLE: &str = "TURNO_TOKEN_FILE";

/// Which server, and as whom.
#[derive(clap::Args, Clone, Debug)]
#[command(next_help_heading = "Server")]
pub(crate) struct ServerArgs {
    /// The server to ask
    #[arg(
        long,
        value_name = "URL",
        env = "TURNO_URL",
        hide_env_values = true,
        default_value = "http://127.0.0.1:7171",
        global = true
    )]
    pub(crate) server: String,

    #[command(flatten)]
    pub(crate) token: TokenArgs,
}

/// As whom to ask.
#[derive(clap::Args, Clone, Debug, Default)]
#[command(next_help_heading = "Server")]
pub(crate) struct TokenArgs {
    /// A file with the token [default: the variable TURNO_TOKEN, or the token of `turno login`]
    #[arg(long, value_name = "FILE", env = TOKEN_FILE_VARIABLE, hide_env_values = true, global = true)]
    token_file: Option<PathBuf>,

    /// Refused: everybody on the machine could read it in the list of processes.
    #[arg(long = "token", value_name = "TOKEN", hide = true, global = true)]
    refused: Option<String>,
}

impl TokenArgs {
    /// Returns the token for a server: of the file, of the variable, or of `turno login`.
    fn read(&self, server: &str) -> Result<Option<String>, Failure> {
        if self.refused.is_some() {
            return Err(Failure::usage(Message::new("token-on-command-line")));
        }
        let Some(path) = &self.token_file else {
            let variable = std::env::var(TOKEN_VARIABLE).ok().map(|token| token.trim().to_owned());
            if let Some(token) = variable.filter(|token| !token.is_empty()) {
                return Ok(Some(token));
            }
            let kept = Credentials::of_user(|name| std::env::var(name).ok());
            let kept = kept.map_or(Ok(None), |kept| kept.find(server))?;
            return Ok(kept.map(|credential| credential.token));
        };
        let text = std::fs::read_to_string(path).map_err(|error| {
            let message = Message::new("token-file").text("path", path.display());
            Failure::failed(message.message("cause", io_cause(&error)))
        })?;
        Ok(Some(text.trim().to_owned()))
    }
}

/// Calls one server as one caller.
#[derive(Clone, Debug)]
pub(crate) struct Client {
    http: reqwest::Client,
    base: String,
    token: Option<String>,
    /// Whether a busy server is asked again after the time that it names.
    patient: bool,
}

impl Client {
    /// Creates a client for the server and the token that the arguments name.
    pub(crate) fn new(arguments: &ServerArgs) -> Result<Client, Failure> {
        Client::for_server(&arguments.server, &arguments.token)
    }

    pub(crate) fn for_server(server: &str, token: &TokenArgs) -> Result<Client, Failure> {
        let token = token.read(&address(server)?.0)?;
        Client::with_token(server, token)
    }

    /// Creates a client with this token, or without one.
    pub(crate) fn with_token(server: &str, token: Option<String>) -> Result<Client, Failure> {
        let (base, is_local) = address(server)?;
        let mut builder = tls_ready().connect_timeout(CONNECT).user_agent(concat!("turno/", env!("CARGO_PKG_VERSION")));
        if is_local {
            // A proxy cannot reach this machine's loopback address.
            builder = builder.no_proxy();
        }
        let http = builder
            .build()
            .map_err(|error| Failure::failed(Message::new("http-client-failed").text("cause", error)))?;
        Ok(Client { http, base, token, patient: true })
    }

    /// Returns the same client without repeated calls, for callers that repeat their calls themselves.
    pub(crate) fn impatient(&self) -> Client {
        Client { patient: false, ..self.clone() }
    }

    pub(crate) async fn get(&self, path: &str) -> Result<Answer, Failure> {
        self.answer(self.request(Method::GET, path)).await.map_err(Into::into)
    }

    pub(crate) async fn delete(&self, path: &str) -> Result<Answer, Failure> {
        self.answer(self.request(Method::DELETE, path)).await.map_err(Into::into)
    }

    /// Like [`Client::delete`], but returns the refusal, so that the caller can handle it.
    pub(crate) async fn try_delete(&self, path: &str) -> Result<Answer, Refusal> {
        self.answer(self.request(Method::DELETE, path)).await
    }

    pub(crate) async fn post(&self, path: &str, body: &impl Serialize) -> Result<Answer, Failure> {
        self.try_post(path, body).await.map_err(Into::into)
    }

    /// Puts a body that was made from version `seen`, where 0 means that there was nothing. The server refuses it if
    /// the version has changed. Returns the refusal, so that the caller can handle it.
    pub(crate) async fn try_put(
        &self,
        path: &str,
        body: &impl Serialize,
        seen: Option<i64>,
    ) -> Result<Answer, Refusal> {
        let request = self.request(Method::PUT, path).json(body);
        self.answer(match seen {
            None => request,
            Some(0) => request.header("if-none-match", "*"),
            Some(version) => request.header("if-match", format!("\"{version}\"")),
        })
        .await
    }

    /// Like [`Client::get`], but returns the refusal, so that the caller can handle it.
    pub(crate) async fn try_get(&self, path: &str) -> Result<Answer, Refusal> {
        self.answer(self.request(Method::GET, path)).await
    }

    /// Like [`Client::post`], but returns the refusal, so that the caller can handle it.
    pub(crate) async fn try_post(&self, path: &str, body: &impl Serialize) -> Result<Answer, Refusal> {
        self.answer(self.request(Method::POST, path).json(body)).await
    }

    /// Opens the stream of live events after a position, or from now on.
    pub(crate) async fn events(&self, path: &str, after: Option<&str>) -> Result<Events, Refusal> {
        let mut request = self.request(Method::GET, path).header("accept", "text/event-stream");
        if let Some(after) = after {
            request = request.header("last-event-id", after);
        }
        let response = request.send().await.map_err(|error| Refusal::unreachable(&self.base, &error))?;
        if !response.status().is_success() {
            return Err(self.read(response).await.err().unwrap_or_else(|| Refusal::unexpected(&self.base)));
        }
        Ok(Events::new(response))
    }

    pub(crate) fn base(&self) -> &str {
        &self.base
    }

    fn request(&self, method: Method, path: &str) -> RequestBuilder {
        // The server answers in the language of the command line, so that all output is in one language.
        let language = terminal::language().tag();
        let request = self.http.request(method, format!("{}{path}", self.base)).header("accept-language", language);
        match &self.token {
            Some(token) => request.bearer_auth(token),
            None => request,
        }
    }

    /// Sends a request and reads its answer. If the server is busy and says for how long, sends it again after that
    /// time.
    async fn answer(&self, request: RequestBuilder) -> Result<Answer, Refusal> {
        let (mut tries, mut left) = (if self.patient { TRIES_AGAIN } else { 0 }, WAIT_IN_ALL);
        loop {
            let Some(current) = request.try_clone().filter(|_| tries > 0) else {
                return self.read(self.send(request).await?).await;
            };
            let response = self.send(current).await?;
            let (status, pause) = (response.status().as_u16(), retry_after(&response));
            let refusal = match self.read(response).await {
                Ok(answer) => return Ok(answer),
                Err(refusal) => refusal,
            };
            // A busy Turno server has stored nothing. Of every other answer that is unknown, and a repeated call could
            // do its work twice.
            let is_unstored = refusal.code.as_deref().is_some_and(|code| code != "outcome_unknown");
            let Some(pause) = pause.filter(|pause| is_unstored && *pause <= left) else { return Err(refusal) };
            let busy = Message::new("server-busy").text("server", &self.base).text("status", status);
            talk(&busy.text("span", duration::typed(duration::millis(pause).unsigned_abs())));
            tokio::time::sleep(pause).await;
            (tries, left) = (tries - 1, left - pause);
        }
    }

    async fn send(&self, request: RequestBuilder) -> Result<reqwest::Response, Refusal> {
        request.timeout(ANSWER).send().await.map_err(|error| Refusal::unreachable(&self.base, &error))
    }

    async fn read(&self, response: reqwest::Response) -> Result<Answer, Refusal> {
        let status = response.status();
        let date = response.headers().get("date").and_then(|date| date.to_str().ok()).map(str::to_owned);
        let text = response.text().await.map_err(|error| Refusal::unreachable(&self.base, &error))?;
        if status.is_success() {
            Answer::new(text, date.as_deref()).ok_or_else(|| Refusal::unexpected(&self.base))
        } else {
            Err(Refusal::from_response(&self.base, status.as_u16(), &text))
        }
    }
}

/// Returns how long a busy server asks its callers to wait. `None` if the server is not busy, or does not say.
fn retry_after(response: &reqwest::Response) -> Option<Duration> {
    let busy = matches!(response.status().as_u16(), 429 | 503);
    let header = response.headers().get("retry-after").filter(|_| busy)?;
    header.to_str().ok()?.trim().parse().ok().map(Duration::from_secs)
}

/// Parses the server's address. Returns it without a trailing slash, and whether it is this machine.
fn address(server: &str) -> Result<(String, bool), Failure> {
    // The message does not repeat the text, because it may contain a password.
    let url = Url::parse(server).map_err(|_| Failure::usage(Message::new("server-url")))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(Failure::usage(Message::new("server-url-scheme")));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(Failure::usage(Message::new("server-url-credentials")));
    }
    let is_local = match url.host_str().unwrap_or_default() {
        "localhost" | "[::1]" => true,
        host => host.starts_with("127."),
    };
    Ok((server.trim_end_matches('/').to_owned(), is_local))
}

/// Installs the TLS provider once and returns a client builder. Building a client fails without a provider, even for
/// plain HTTP.
pub(crate) fn tls_ready() -> reqwest::ClientBuilder {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        // Installing fails if the process already has a provider, which is fine.
        let _ = rustls::crypto::ring::default_provider().install_default();
    });
    reqwest::Client::builder()
}

/// Everything except unreserved characters is escaped.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Escapes a name for use as one segment of a path or as a query value.
pub(crate) fn part(name: &str) -> String {
    utf8_percent_encode(name, PLAIN).to_string()
}

/// Builds a query string from the given pairs. Omits pairs without a value.
pub(crate) fn query(pairs: &[(&str, Option<String>)]) -> String {
    let given = pairs.iter().filter_map(|(name, value)| Some(format!("{name}={}", part(value.as_ref()?))));
    let joined = given.collect::<Vec<_>>().join("&");
    if joined.is_empty() { joined } else { format!("?{joined}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_is_escaped_into_one_path_segment() {
        assert_eq!(part("caja/3 ñ?"), "caja%2F3%20%C3%B1%3F");
        assert_eq!(query(&[("a", Some("x&y".into())), ("b", None), ("c", Some("1".into()))]), "?a=x%26y&c=1");
        assert_eq!(query(&[("a", None)]), "");
    }

    #[test]
    fn bad_server_address_is_refused_without_repeating_it() {
        assert_eq!(address("http://127.0.0.1:7171/").unwrap(), ("http://127.0.0.1:7171".to_owned(), true));
        assert_eq!(address("https://turno.example/base").unwrap(), ("https://turno.example/base".to_owned(), false));
        for wrong in ["127.0.0.1:7171", "ftp://host", "http://ana:s3cret@host", ""] {
            let failure = address(wrong).unwrap_err();
            assert!(!failure.cause().contains("s3cret") && failure.next().contains("http://HOST:PORT"), "{wrong}");
        }
    }

    #[test]
    fn token_argument_is_refused_without_repeating_it() {
        let arguments = TokenArgs { refused: Some("turno_s3cret".into()), ..TokenArgs::default() };
        let failure = arguments.read("http://a").unwrap_err();
        assert!(failure.next().contains("TURNO_TOKEN") && !format!("{failure:?}").contains("s3cret"));
    }
}
