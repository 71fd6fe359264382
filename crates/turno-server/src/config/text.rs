//! Checks of texts: addresses, URLs, origins, networks, names. Each check returns the text to store.

use reqwest::Url;
use std::net::{IpAddr, SocketAddr};
use turno::Misuse;
use turno::core::limits::{NAME_MAX, TEXT_MAX};
use turno::store::PostgresUrl;

use crate::texts::causes;
use crate::texts::message::Message;

/// Checks a database URL: `sqlite:PATH`, `postgres://…`, or libpq's `key=value` text.
pub(super) fn database(text: &str) -> Result<String, Message> {
    let file = text.strip_prefix("sqlite:").is_some_and(|path| !path.is_empty());
    if file && !text.contains(char::is_control) {
        return Ok(text.to_owned());
    }
    server_database(text)
}

/// Checks the URL of a PostgreSQL database.
pub(super) fn server_database(text: &str) -> Result<String, Message> {
    if text.contains(char::is_control) {
        return Err(Message::new("setting-database"));
    }
    match PostgresUrl::parse(text) {
        Ok(_) => Ok(text.to_owned()),
        Err(Misuse::DatabaseParameter(fault)) => {
            Err(Message::new("setting-database-parameter").message("cause", causes::message(&fault)))
        }
        // The scheme is no secret, and tells which other database was meant.
        Err(_) => Err(match text.split_once("://").filter(|_| !PostgresUrl::recognizes(text)) {
            Some((scheme, _)) if scheme.chars().all(|one| one.is_ascii_alphanumeric() || "+-.".contains(one)) => {
                Message::new("setting-database-kind").text("scheme", scheme)
            }
            _ => Message::new("setting-database"),
        }),
    }
}

/// Checks an address `HOST:PORT`. The host may be a name.
pub(super) fn address(text: &str) -> Result<String, Message> {
    let host_like = |host: &str| {
        !host.is_empty() && host.chars().all(|one| one.is_ascii_alphanumeric() || matches!(one, '.' | '-' | '_'))
    };
    let named = text.rsplit_once(':').is_some_and(|(host, port)| host_like(host) && port.parse::<u16>().is_ok());
    if named || text.parse::<SocketAddr>().is_ok() {
        return Ok(text.to_owned());
    }
    Err(Message::new("setting-address"))
}

/// Returns whether an address is reachable from this machine only.
pub(crate) fn is_loopback(address: &str) -> bool {
    let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
    is_loopback_host(host)
}

fn is_loopback_host(host: &str) -> bool {
    let bare = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host);
    match bare.parse::<IpAddr>() {
        Ok(ip) => ip.to_canonical().is_loopback(),
        Err(_) => bare.eq_ignore_ascii_case("localhost") || bare.to_ascii_lowercase().ends_with(".localhost"),
    }
}

/// Returns whether traffic to this URL can be read on the way: plain HTTP that leaves the machine.
pub(super) fn is_exposed(url: &str) -> bool {
    url.strip_prefix("http://").is_some_and(|rest| {
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        let host = Url::parse(&format!("http://{authority}")).ok().and_then(|url| url.host_str().map(str::to_owned));
        !host.is_some_and(|host| is_loopback_host(&host))
    })
}

/// Parses an HTTP URL without user and password. URLs are shown to people, so they must not contain secrets.
fn web_url(text: &str) -> Result<Url, Message> {
    let url = Url::parse(text).map_err(|_| Message::new("setting-url"))?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none_or(str::is_empty) {
        return Err(Message::new("setting-url"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(Message::new("setting-url-credentials"));
    }
    Ok(url)
}

/// Checks the URL of a service.
pub(super) fn service_url(text: &str) -> Result<String, Message> {
    web_url(text).map(|_| text.to_owned())
}

/// Checks the address under which people reach the server, to which paths are appended.
pub(super) fn public_url(text: &str) -> Result<String, Message> {
    let url = web_url(text)?;
    if url.query().is_some() || url.fragment().is_some() {
        return Err(Message::new("setting-url-query"));
    }
    Ok(url.as_str().trim_end_matches('/').to_owned())
}

/// Checks the URL of an endpoint. `{key}` stands for the delivered key and may be in the path or the query, never in
/// the host.
pub(super) fn endpoint_url(text: &str) -> Result<String, Message> {
    if text.ends_with(HIDDEN_QUERY) {
        return Err(Message::new("setting-endpoint-hidden"));
    }
    let without = text.replace("{key}", "k");
    if without.contains(['{', '}']) {
        return Err(Message::new("setting-endpoint-braces"));
    }
    let url = web_url(&without)?;
    let other = web_url(&text.replace("{key}", "other"))?;
    if url.origin() != other.origin() || url.fragment() != other.fragment() {
        return Err(Message::new("setting-endpoint-key"));
    }
    Ok(text.to_owned())
}

/// Checks an origin as a browser sends it (scheme, host and port), or `*`.
pub(super) fn origin(text: &str) -> Result<String, Message> {
    if text == "*" {
        return Ok(text.to_owned());
    }
    let url = web_url(text).map_err(|_| Message::new("setting-origin"))?;
    if url.path() != "/" || url.query().is_some() || url.fragment().is_some() {
        return Err(Message::new("setting-origin-path"));
    }
    Ok(url.origin().ascii_serialization())
}

/// Checks a log filter.
pub(super) fn filter(text: &str) -> Result<String, Message> {
    match text.parse::<tracing_subscriber::filter::Targets>() {
        Ok(_) if !text.trim().is_empty() && text.split(',').all(is_directive) => Ok(text.to_owned()),
        _ => Err(Message::new("setting-log-filter")),
    }
}

/// Returns whether the directive is a level, or names a target with its level. `Targets` takes any other word for a
/// target, so a misspelt level would silence everything else. Directives for spans are not
/// supported.
fn is_directive(text: &str) -> bool {
    let names_target = text.contains('=') && !text.contains(['[', '{']);
    names_target || text.trim().parse::<tracing_subscriber::filter::LevelFilter>().is_ok()
}

/// Checks the name of an environment variable.
pub(super) fn variable(text: &str) -> Result<String, Message> {
    let first = text.chars().next().is_some_and(|one| one.is_ascii_alphabetic() || one == '_');
    let rest = text.chars().all(|one| one.is_ascii_alphanumeric() || one == '_');
    if first && rest && text.len() <= NAME_MAX {
        return Ok(text.to_owned());
    }
    Err(Message::new("setting-variable"))
}

/// Checks a name of the engine: 1 to 200 characters without control characters.
pub(super) fn name(text: &str) -> Result<String, Message> {
    if text.is_empty() || text.chars().count() > NAME_MAX || text.contains(char::is_control) {
        return Err(Message::new("setting-name").number("max", NAME_MAX));
    }
    Ok(text.to_owned())
}

/// Checks the name of a column, a trigger, or a table without its schema.
pub(super) fn identifier(text: &str) -> Result<String, Message> {
    // PostgreSQL truncates longer names, so two of them could become the same.
    if text.is_empty() || text.len() > 63 || text.contains(char::is_control) {
        return Err(Message::new("setting-identifier"));
    }
    if text.contains('.') {
        return Err(Message::new("setting-identifier-dot"));
    }
    Ok(text.to_owned())
}

/// Checks the name of a table or a view, with or without its schema.
pub(super) fn relation(text: &str) -> Result<String, Message> {
    let parts: Vec<&str> = text.split('.').collect();
    match parts.len() <= 2 && parts.iter().all(|part| identifier(part).is_ok()) {
        true => Ok(text.to_owned()),
        false => Err(Message::new("setting-relation")),
    }
}

/// Checks the size of a condition in SQL. The database checks its syntax.
pub(super) fn condition(text: &str) -> Result<String, Message> {
    if text.trim().is_empty() || text.len() > TEXT_MAX || text.contains('\0') {
        return Err(Message::new("setting-condition").number("max", TEXT_MAX));
    }
    Ok(text.to_owned())
}

/// Checks an address or a network, as in `10.0.0.0/8`.
pub(super) fn network(text: &str) -> Result<String, Message> {
    Network::parse(text).map(|_| text.to_owned()).ok_or_else(|| Message::new("setting-network"))
}

/// A range of IP addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Network {
    first: IpAddr,
    bits: u32,
}

impl Network {
    /// Parses `ADDRESS` or `ADDRESS/BITS`. Returns `None` if it is neither.
    pub(crate) fn parse(text: &str) -> Option<Network> {
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, Some(bits.parse::<u32>().ok()?)),
            None => (text, None),
        };
        let first: IpAddr = address.parse().ok()?;
        let most = if first.is_ipv4() { 32 } else { 128 };
        let bits = bits.unwrap_or(most);
        (bits <= most).then_some(Network { first, bits })
    }

    /// Returns whether the address is in the network. An IPv4 address mapped to IPv6 counts as IPv4.
    pub(crate) fn contains(&self, address: IpAddr) -> bool {
        match (self.first, address.to_canonical()) {
            (IpAddr::V4(first), IpAddr::V4(one)) => same(first.to_bits().into(), one.to_bits().into(), self.bits, 32),
            (IpAddr::V6(first), IpAddr::V6(one)) => same(first.to_bits(), one.to_bits(), self.bits, 128),
            _ => false,
        }
    }
}

fn same(one: u128, other: u128, bits: u32, width: u32) -> bool {
    bits == 0 || (one ^ other) >> (width - bits) == 0
}

/// Masks every password in a database URL.
pub(super) fn mask_passwords(url: &str) -> String {
    if url.starts_with("sqlite:") { url.to_owned() } else { PostgresUrl::mask(url) }
}

/// Replaces the query of an endpoint's URL where it is shown.
const HIDDEN_QUERY: &str = "?***";

/// Hides the query of an endpoint's URL, because it may contain an API key.
pub(super) fn hide_query(url: &str) -> String {
    match url.split_once('?') {
        Some((before, _)) => format!("{before}{HIDDEN_QUERY}"),
        None => url.to_owned(),
    }
}

#[cfg(test)]
mod tests;
