//! Checks of texts: addresses, URLs, origins, networks, names. Each check returns the text to store.

use super::field::Wrong;
use reqwest::Url;
use std::net::{IpAddr, SocketAddr};
use turno::core::limits::{NAME_MAX, TEXT_MAX};

/// Checks a database URL: `sqlite:PATH` or `postgres://…`.
pub(super) fn database(text: &str) -> Result<String, Wrong> {
    let file = text.strip_prefix("sqlite:").is_some_and(|path| !path.is_empty());
    let server = text.starts_with("postgres://") || text.starts_with("postgresql://");
    if (file || server) && !text.contains(char::is_control) {
        return Ok(text.to_owned());
    }
    let next = "write sqlite:PATH, for example sqlite:turno.db, or postgres://USER@HOST/DATABASE";
    Err(Wrong::new("is not the URL of a database", next))
}

/// Checks an address `HOST:PORT`. The host may be a name.
pub(super) fn address(text: &str) -> Result<String, Wrong> {
    let host_like = |host: &str| {
        !host.is_empty() && host.chars().all(|one| one.is_ascii_alphanumeric() || matches!(one, '.' | '-' | '_'))
    };
    let named = text.rsplit_once(':').is_some_and(|(host, port)| host_like(host) && port.parse::<u16>().is_ok());
    if named || text.parse::<SocketAddr>().is_ok() {
        return Ok(text.to_owned());
    }
    Err(Wrong::new("is no address", "write HOST:PORT, for example 127.0.0.1:7171 or [::1]:0"))
}

/// Returns whether an address is reachable from this machine only.
pub(super) fn is_loopback(address: &str) -> bool {
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
fn web_url(text: &str) -> Result<Url, Wrong> {
    let form = || Wrong::new("is no URL of HTTP", "write http://HOST[:PORT]/PATH or https://HOST[:PORT]/PATH");
    let url = Url::parse(text).map_err(|_| form())?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none_or(str::is_empty) {
        return Err(form());
    }
    if !url.username().is_empty() || url.password().is_some() {
        let next = "leave user and password out of it; use `secret_env` where requests are to be signed";
        return Err(Wrong::new("has a user or a password in it", next));
    }
    Ok(url)
}

/// Checks the URL of a service.
pub(super) fn service_url(text: &str) -> Result<String, Wrong> {
    web_url(text).map(|_| text.to_owned())
}

/// Checks the address under which people reach the server, to which paths are appended.
pub(super) fn public_url(text: &str) -> Result<String, Wrong> {
    let url = web_url(text)?;
    if url.query().is_some() || url.fragment().is_some() {
        return Err(Wrong::new("has something behind ? or #", "end it with the host or a path"));
    }
    Ok(url.as_str().trim_end_matches('/').to_owned())
}

/// Checks the URL of an endpoint. `{key}` stands for the delivered key and may be in the path or the query, never in
/// the host.
pub(super) fn endpoint_url(text: &str) -> Result<String, Wrong> {
    if text.ends_with(HIDDEN_QUERY) {
        let cause = "has *** where the rest is hidden, and is not what is kept here with its rest hidden";
        return Err(Wrong::new(cause, "write the whole URL, or leave out push to keep what there is"));
    }
    let without = text.replace("{key}", "k");
    if without.contains(['{', '}']) {
        return Err(Wrong::new("has braces around something other than key", "the only placeholder is {key}"));
    }
    let url = web_url(&without)?;
    let other = web_url(&text.replace("{key}", "other"))?;
    if url.origin() != other.origin() || url.fragment() != other.fragment() {
        return Err(Wrong::new("has {key} where it may not be", "use {key} in the path or behind ? only"));
    }
    Ok(text.to_owned())
}

/// Checks an origin as a browser sends it (scheme, host and port), or `*`.
pub(super) fn origin(text: &str) -> Result<String, Wrong> {
    if text == "*" {
        return Ok(text.to_owned());
    }
    let next = "write scheme, host and port only, for example https://app.example.com";
    let url = web_url(text).map_err(|_| Wrong::new("has an entry that is no origin", next))?;
    if url.path() != "/" || url.query().is_some() || url.fragment().is_some() {
        return Err(Wrong::new("has an entry with something behind the host", next));
    }
    Ok(url.origin().ascii_serialization())
}

/// Checks a log filter.
pub(super) fn filter(text: &str) -> Result<String, Wrong> {
    match tracing_subscriber::EnvFilter::builder().parse(text) {
        Ok(_) if !text.trim().is_empty() && text.split(',').all(is_directive) => Ok(text.to_owned()),
        _ => {
            let next = "write error, warn, info, debug, trace or off, or directives such as info,turno=debug";
            Err(Wrong::new("is no filter of log levels", next))
        }
    }
}

/// Returns whether the directive is a level, or names a target with its level. `EnvFilter` takes any other word for a
/// target, so a misspelt level would silence everything else.
fn is_directive(text: &str) -> bool {
    text.contains(['=', '[', '{', ']', '}']) || text.trim().parse::<tracing_subscriber::filter::LevelFilter>().is_ok()
}

/// Checks the name of an environment variable.
pub(super) fn variable(text: &str) -> Result<String, Wrong> {
    let first = text.chars().next().is_some_and(|one| one.is_ascii_alphabetic() || one == '_');
    let rest = text.chars().all(|one| one.is_ascii_alphanumeric() || one == '_');
    if first && rest && text.len() <= NAME_MAX {
        return Ok(text.to_owned());
    }
    let next = "write the variable's name, for example MODULE_SECRET, and put the secret into the variable";
    Err(Wrong::new("is not the name of a variable", next))
}

/// Checks a name of the engine: 1 to 200 characters without control characters.
pub(super) fn name(text: &str) -> Result<String, Wrong> {
    if text.is_empty() || text.chars().count() > NAME_MAX || text.contains(char::is_control) {
        let next = format!("write 1 to {NAME_MAX} characters without control characters");
        return Err(Wrong::new("is no name", next));
    }
    Ok(text.to_owned())
}

/// Checks the name of a column, a trigger, or a table without its schema.
pub(super) fn identifier(text: &str) -> Result<String, Wrong> {
    // PostgreSQL truncates longer names, so two of them could become the same.
    if text.is_empty() || text.len() > 63 || text.contains(char::is_control) {
        return Err(Wrong::new("is no name of the database", "write 1 to 63 bytes without control characters"));
    }
    if text.contains('.') {
        return Err(Wrong::new("has a dot in it", "leave the dot out: only tables and views have a schema"));
    }
    Ok(text.to_owned())
}

/// Checks the name of a table or a view, with or without its schema.
pub(super) fn relation(text: &str) -> Result<String, Wrong> {
    let next = "write TABLE or SCHEMA.TABLE, without quotes";
    match text.split('.').collect::<Vec<_>>().as_slice() {
        [table] => identifier(table).map(|_| text.to_owned()),
        [schema, table] => identifier(schema).and_then(|_| identifier(table)).map(|_| text.to_owned()),
        _ => Err(Wrong::new("has more than one dot", next)),
    }
    .map_err(|wrong| Wrong::new(wrong.cause, next))
}

/// Checks the size of a condition in SQL. The database checks its syntax.
pub(super) fn condition(text: &str) -> Result<String, Wrong> {
    if text.trim().is_empty() || text.len() > TEXT_MAX || text.contains('\0') {
        let next = format!("write a condition of 1 to {TEXT_MAX} bytes, or leave the key out");
        return Err(Wrong::new("is no condition", next));
    }
    Ok(text.to_owned())
}

/// Checks an address or a network, as in `10.0.0.0/8`.
pub(super) fn network(text: &str) -> Result<String, Wrong> {
    let wrong = || Wrong::new("has an entry that is no network", "write networks such as 10.0.0.0/8 or 192.168.1.7");
    Network::parse(text).map(|_| text.to_owned()).ok_or_else(wrong)
}

/// A range of IP addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Network {
    first: IpAddr,
    bits: u32,
}

impl Network {
    /// Parses `ADDRESS` or `ADDRESS/BITS`. Returns `None` if it is neither.
    pub(super) fn parse(text: &str) -> Option<Network> {
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
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let (address, parameters) = match rest.split_once('?') {
        Some((address, parameters)) => (address, Some(parameters)),
        None => (rest, None),
    };
    // The last @ ends the credentials, because a password may contain one, too.
    let address = match address.rsplit_once('@') {
        Some((user, host)) => match user.split_once(':') {
            Some((user, _)) => format!("{user}:***@{host}"),
            None => format!("{user}@{host}"),
        },
        None => address.to_owned(),
    };
    let hidden = |pair: &str| match pair.split_once('=') {
        Some((name, _)) if name.to_ascii_lowercase().contains("pass") => format!("{name}=***"),
        _ => pair.to_owned(),
    };
    match parameters {
        Some(all) => format!("{scheme}://{address}?{}", all.split('&').map(hidden).collect::<Vec<_>>().join("&")),
        None => format!("{scheme}://{address}"),
    }
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
