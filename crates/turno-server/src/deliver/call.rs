//! One call of an endpoint: signed, with a time limit and a bound on what is read of the answer, and without redirects.
//!
//! A failure becomes a sentence for people. It contains neither the URL's query nor the body, because both may be
//! secret.

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
use turno::push::SendFailed;

use super::guard::{Guard, GuardedResolver, REFUSED};
use super::signature::{Secret, seconds};
use crate::client::{part, tls_ready};
use crate::failure::Failure;
use crate::texts::message::Message;

/// How many bytes of a refusal's body are kept for the error message.
const EXCERPT: usize = 1_024;
/// How many bytes of a success's body are read so that the connection can be reused. A longer body closes it.
const DRAINED: usize = 16 * 1_024;
/// How long a success's body is read. It does not matter for the result.
const DRAIN_TIME: Duration = Duration::from_millis(100);
/// How long an idle connection is kept. Receivers usually close theirs after a minute.
const IDLE: Duration = Duration::from_secs(30);

/// A call: where it goes and what it carries.
#[derive(Debug)]
pub(crate) struct Call<'a> {
    /// The URL, with `{key}` in place of the key.
    pub(crate) url: &'a str,
    pub(crate) method: &'static str,
    pub(crate) key: Option<&'a str>,
    /// True if the endpoint was set over the API. Then the guard checks its address.
    pub(crate) guarded: bool,
    pub(crate) secret: Option<&'a Secret>,
    /// Identifies the message. Equal for every attempt.
    pub(crate) id: String,
    pub(crate) fence: i64,
    pub(crate) attempt: u32,
    /// The current time, for the signature.
    pub(crate) at: Time,
    pub(crate) body: Bytes,
    /// The time limit.
    pub(crate) within: Duration,
}

/// Calls endpoints. Endpoints that were set over the API use a client of their own, which checks resolved addresses.
#[derive(Clone, Debug)]
pub(crate) struct EndpointClient {
    trusted: Client,
    guarded: Client,
    guard: Arc<Guard>,
}

impl EndpointClient {
    pub(crate) fn new(guard: Arc<Guard>) -> Result<EndpointClient, Failure> {
        // The guard cannot check where a proxy or a redirect leads, so neither is used.
        let builder = || {
            tls_ready()
                .redirect(Redirects::none())
                .no_proxy()
                .pool_idle_timeout(IDLE)
                .user_agent(concat!("turno/", env!("CARGO_PKG_VERSION")))
        };
        let built = |builder: reqwest::ClientBuilder| {
            builder.build().map_err(|error| Failure::failed(Message::new("http-client-failed").text("cause", error)))
        };
        let guarded = built(builder().dns_resolver(Arc::new(GuardedResolver(guard.clone()))))?;
        Ok(EndpointClient { trusted: built(builder())?, guarded, guard })
    }

    /// Makes the call. Any 2xx status is a success.
    pub(crate) async fn call(&self, call: Call<'_>) -> Result<(), SendFailed> {
        let within = call.within;
        match tokio::time::timeout(within, self.send(call)).await {
            Ok(answer) => answer,
            Err(_) => Err(SendFailed::new(format!("timed out after {}", format_duration(within)))),
        }
    }

    async fn send(&self, call: Call<'_>) -> Result<(), SendFailed> {
        let url = address(call.url, call.key.unwrap_or_default())?;
        if call.guarded && !self.guard.allows_url(&url) {
            return Err(SendFailed::new(REFUSED));
        }
        let client = if call.guarded { &self.guarded } else { &self.trusted };
        let method = Method::from_bytes(call.method.as_bytes()).map_err(|_| SendFailed::new("no such method"))?;
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
            SendFailed { fault, ..SendFailed::new(describe_error(&error)) }
        })?;
        if response.status().is_success() {
            // An unread rest only costs a new connection.
            let _ = tokio::time::timeout(DRAIN_TIME, read_prefix(response, DRAINED)).await;
            return Ok(());
        }
        Err(refusal(response, call.at).await)
    }
}

/// Stands for the key while the URL is parsed. No real URL contains it.
const KEY_PLACEHOLDER: &str = "turno-key-7b1e";

/// Returns the URL with the key inserted. Refuses a key that would change the path, such as `..`.
fn address(template: &str, key: &str) -> Result<Url, SendFailed> {
    let parse =
        |key: &str| Url::parse(&template.replace("{key}", key)).map_err(|_| SendFailed::new("the URL is not one"));
    let (plain, url) = (parse(KEY_PLACEHOLDER)?, parse(&part(key))?);
    if url.path() != plain.path().replace(KEY_PLACEHOLDER, &part(key)) {
        let error = "the key cannot be a part of a path; let the receiver read it from the body";
        return Err(SendFailed { fault: Fault::Key, ..SendFailed::new(error) });
    }
    Ok(url)
}

/// Converts an answer that is not a success.
async fn refusal(response: Response, now: Time) -> SendFailed {
    let status = response.status();
    let header = response.headers().get("retry-after").and_then(|value| value.to_str().ok());
    let retry_after = header.and_then(|text| retry_after(text, now)).map(Duration::from);
    let body = String::from_utf8_lossy(&read_prefix(response, EXCERPT).await).into_owned();
    let body: String = body.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let error = match body.trim() {
        "" => format!("HTTP {}", status.as_u16()),
        body => format!("HTTP {}: {body}", status.as_u16()),
    };
    SendFailed { error, retry_after, fault: Fault::of_status(status.as_u16()) }
}

/// Reads at most this many bytes of the body. If the connection breaks, returns what has arrived.
async fn read_prefix(mut response: Response, most: usize) -> Vec<u8> {
    let mut read = Vec::new();
    while read.len() < most
        && let Ok(Some(chunk)) = response.chunk().await
    {
        read.extend_from_slice(&chunk[..chunk.len().min(most - read.len())]);
    }
    read
}

/// Parses `Retry-After`: seconds or a date. Never longer than the longest back-off.
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

/// Describes an error without the URL.
fn describe_error(error: &reqwest::Error) -> String {
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

fn format_duration(time: Duration) -> String {
    match time.as_millis() {
        whole if whole % 1_000 == 0 => format!("{} s", whole / 1_000),
        other => format!("{other} ms"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_is_escaped_into_one_part_of_the_url() {
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
    fn retry_after_is_seconds_or_a_date_and_bounded() {
        let now = Time(784_111_777_000);
        assert_eq!(retry_after("120", now), Some(Span::from_secs(120)));
        assert_eq!(retry_after("Sun, 06 Nov 1994 08:50:37 GMT", now), Some(Span::from_secs(60)));
        assert_eq!(retry_after("Sun, 06 Nov 1994 08:40:37 GMT", now), Some(Span::ZERO));
        assert_eq!(retry_after("999999999", now), Some(BACKOFF_MAX));
        assert_eq!(retry_after("soon", now), None);
    }

    #[test]
    fn duration_is_formatted_in_seconds_or_milliseconds() {
        assert_eq!(
            (format_duration(Duration::from_secs(10)), format_duration(Duration::from_millis(1_500))),
            ("10 s".into(), "1500 ms".into())
        );
    }
}
