//! One call of an endpoint: signed, bounded in time and in what is read of the answer, and never redirected.
//!
//! What goes wrong becomes a sentence for people. It names neither the URL's query nor the body, which may be secret.

use std::error::Error as StdError;
use std::io::ErrorKind;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use reqwest::redirect::Policy as Redirects;
use reqwest::{Client, Method, Response, Url};
use turno::core::destination::Fault;
use turno::core::limits::BACKOFF_MAX;
use turno::core::time::{Span, Time};

use super::guard::{Guard, Guarded, REFUSED};
use super::signature::{Secret, seconds};
use crate::client::{part, tls_ready};
use crate::failure::Failure;

/// As much of a refusal's body as helps a person.
const EXCERPT: usize = 1_024;
/// As much of a success's body as is read to keep the connection; whoever answers more gets another one.
const DRAINED: usize = 16 * 1_024;
/// A success is a success: its body is not waited for longer than this.
const DRAIN_TIME: Duration = Duration::from_millis(100);
/// Connections that nobody used for this long are closed: receivers close theirs after a minute, usually.
const IDLE: Duration = Duration::from_secs(30);

/// Where one call goes, and what it carries.
#[derive(Debug)]
pub(crate) struct Call<'a> {
    /// With `{key}` where the key belongs.
    pub(crate) url: &'a str,
    pub(crate) method: &'static str,
    pub(crate) key: Option<&'a str>,
    /// Whether the guard has a say: it was set over the API.
    pub(crate) guarded: bool,
    pub(crate) secret: Option<&'a Secret>,
    /// The same for every attempt of the same thing.
    pub(crate) id: String,
    pub(crate) fence: i64,
    pub(crate) attempt: u32,
    /// The time now, for the signature.
    pub(crate) at: Time,
    pub(crate) body: Bytes,
    /// How long it may take.
    pub(crate) within: Duration,
}

/// Why a call did not succeed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refused {
    /// In a sentence.
    pub(crate) error: String,
    /// The receiver asks not to be called before.
    pub(crate) retry_after: Option<Span>,
    /// Whose fault that is.
    pub(crate) fault: Fault,
}

impl Refused {
    pub(crate) fn new(error: impl Into<String>) -> Refused {
        Refused { error: error.into(), retry_after: None, fault: Fault::Destination }
    }
}

/// Calls endpoints. Those that were set over the API have a client of their own, which looks where names lead.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    trusted: Client,
    guarded: Client,
    guard: Arc<Guard>,
}

impl Caller {
    pub(crate) fn new(guard: Arc<Guard>) -> Result<Caller, Failure> {
        // A proxy would go where the guard cannot look, and a redirect where nobody has.
        let builder = || {
            tls_ready()
                .redirect(Redirects::none())
                .no_proxy()
                .pool_idle_timeout(IDLE)
                .user_agent(concat!("turno/", env!("CARGO_PKG_VERSION")))
        };
        let built = |builder: reqwest::ClientBuilder| {
            builder.build().map_err(|error| {
                Failure::failed(format!("failed to prepare for HTTP: {error}"), "check the machine's certificates")
            })
        };
        let guarded = built(builder().dns_resolver(Arc::new(Guarded(guard.clone()))))?;
        Ok(Caller { trusted: built(builder())?, guarded, guard })
    }

    /// Makes the call; any 2xx is a success.
    pub(crate) async fn call(&self, call: Call<'_>) -> Result<(), Refused> {
        let within = call.within;
        match tokio::time::timeout(within, self.send(call)).await {
            Ok(answer) => answer,
            Err(_) => Err(Refused::new(format!("timed out after {}", shown(within)))),
        }
    }

    async fn send(&self, call: Call<'_>) -> Result<(), Refused> {
        let url = address(call.url, call.key.unwrap_or_default())?;
        if call.guarded && !self.guard.allows_url(&url) {
            return Err(Refused::new(REFUSED));
        }
        let client = if call.guarded { &self.guarded } else { &self.trusted };
        let method = Method::from_bytes(call.method.as_bytes()).map_err(|_| Refused::new("no such method"))?;
        let mut request = client
            .request(method, url)
            .header("content-type", "application/json")
            .header("idempotency-key", &call.id)
            .header("turno-fence", call.fence)
            .header("turno-attempt", call.attempt)
            .header("webhook-id", &call.id)
            .header("webhook-timestamp", seconds(call.at));
        if let Some(secret) = call.secret {
            request = request.header("webhook-signature", secret.sign(&call.id, call.at, &call.body));
        }
        let response = request.body(call.body).send().await;
        let response = response.map_err(|error| {
            let fault = if error.is_connect() { Fault::Unreached } else { Fault::Destination };
            Refused { fault, ..Refused::new(said(&error)) }
        })?;
        if response.status().is_success() {
            // What is not read here only costs a new connection.
            let _ = tokio::time::timeout(DRAIN_TIME, beginning(response, DRAINED)).await;
            return Ok(());
        }
        Err(refusal(response, call.at).await)
    }
}

/// Nothing that an endpoint's URL holds by chance.
const STANDS_FOR_KEY: &str = "turno-key-7b1e";

/// The URL with the key in its place. A key that would lead to another place, as `..` does, is refused.
fn address(template: &str, key: &str) -> Result<Url, Refused> {
    let parse = |key: &str| Url::parse(&template.replace("{key}", key)).map_err(|_| Refused::new("the URL is not one"));
    let (plain, url) = (parse(STANDS_FOR_KEY)?, parse(&part(key))?);
    if url.path() != plain.path().replace(STANDS_FOR_KEY, &part(key)) {
        let error = "the key cannot be a part of a path; let the receiver read it from the body";
        return Err(Refused { fault: Fault::Key, ..Refused::new(error) });
    }
    Ok(url)
}

/// What the receiver said that did not take it.
async fn refusal(response: Response, now: Time) -> Refused {
    let status = response.status();
    let header = response.headers().get("retry-after").and_then(|value| value.to_str().ok());
    let retry_after = header.and_then(|text| retry_after(text, now));
    let body = String::from_utf8_lossy(&beginning(response, EXCERPT).await).into_owned();
    let body: String = body.chars().map(|one| if one.is_control() { ' ' } else { one }).collect();
    let error = match body.trim() {
        "" => format!("HTTP {}", status.as_u16()),
        body => format!("HTTP {}: {body}", status.as_u16()),
    };
    Refused { error, retry_after, fault: Fault::of_status(status.as_u16()) }
}

/// At most so much of the body; what breaks off is what there is.
async fn beginning(mut response: Response, most: usize) -> Vec<u8> {
    let mut read = Vec::new();
    while read.len() < most
        && let Ok(Some(chunk)) = response.chunk().await
    {
        read.extend_from_slice(&chunk[..chunk.len().min(most - read.len())]);
    }
    read
}

/// `Retry-After`: seconds, or a date. Never longer than our own longest back-off.
fn retry_after(text: &str, now: Time) -> Option<Span> {
    let wait = match text.trim().parse::<u32>() {
        Ok(seconds) => Span::from_secs(seconds.into()),
        Err(_) => {
            let at = jiff::fmt::rfc2822::parse(text.trim()).ok()?;
            now.until(Time(at.timestamp().as_millisecond()))
        }
    };
    Some(wait.min(BACKOFF_MAX))
}

/// The cause, without the URL.
fn said(error: &reqwest::Error) -> String {
    let mut innermost: &dyn StdError = error;
    let mut kind = None;
    while let Some(source) = innermost.source() {
        innermost = source;
        kind = innermost.downcast_ref::<std::io::Error>().map(std::io::Error::kind).or(kind);
    }
    match kind {
        Some(ErrorKind::ConnectionRefused) => "connection refused".to_owned(),
        Some(ErrorKind::ConnectionReset | ErrorKind::BrokenPipe) => "the connection was closed".to_owned(),
        Some(ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable) => "no route to the host".to_owned(),
        _ if innermost.to_string() == REFUSED => REFUSED.to_owned(),
        _ if error.is_connect() => format!("failed to connect: {innermost}"),
        _ => format!("the call broke off: {innermost}"),
    }
}

fn shown(time: Duration) -> String {
    match time.as_millis() {
        whole if whole % 1_000 == 0 => format!("{} s", whole / 1_000),
        other => format!("{other} ms"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_is_one_part_of_the_url_whatever_it_holds() {
        let at = |key| address("http://a/users/{key}?k={key}", key).map(String::from);
        assert_eq!(at("7").unwrap(), "http://a/users/7?k=7");
        assert_eq!(at("a/b?c#ñ").unwrap(), "http://a/users/a%2Fb%3Fc%23%C3%B1?k=a%2Fb%3Fc%23%C3%B1");
        for traversal in [".", ".."] {
            assert!(at(traversal).is_err(), "{traversal} would lead elsewhere");
        }
        assert_eq!(at("...").unwrap(), "http://a/users/...?k=...");
        assert_eq!(address("http://a/x?k={key}", "..").unwrap().as_str(), "http://a/x?k=..");
    }

    #[test]
    fn a_receiver_may_ask_for_time_in_seconds_or_by_a_date_and_not_for_ever() {
        let now = Time(784_111_777_000);
        assert_eq!(retry_after("120", now), Some(Span::from_secs(120)));
        assert_eq!(retry_after("Sun, 06 Nov 1994 08:50:37 GMT", now), Some(Span::from_secs(60)));
        assert_eq!(retry_after("Sun, 06 Nov 1994 08:40:37 GMT", now), Some(Span::ZERO));
        assert_eq!(retry_after("999999999", now), Some(BACKOFF_MAX));
        assert_eq!(retry_after("soon", now), None);
    }

    #[test]
    fn a_time_is_shown_as_people_say_it() {
        assert_eq!(
            (shown(Duration::from_secs(10)), shown(Duration::from_millis(1_500))),
            ("10 s".into(), "1500 ms".into())
        );
    }
}
