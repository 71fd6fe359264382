//! The address of a client behind trusted proxies.
//!
//! A trusted proxy appends the address that it sees to `X-Forwarded-For`, or to `Forwarded` (RFC 7239). Everything to
//! the left may be written by the client. So the list is read from the right, and the first address that is no trusted
//! proxy is the client.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, header};

use super::server::Peer;
use crate::config::Network;

const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const X_FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");

/// The networks of proxies whose headers are believed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Proxies(Arc<[Network]>);

impl Proxies {
    pub(crate) fn new(networks: &[Network]) -> Proxies {
        Proxies(networks.into())
    }

    pub(super) fn contains(&self, address: IpAddr) -> bool {
        self.0.iter().any(|network| network.contains(address))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Replaces the address of the connection by the address of the client, if a trusted proxy forwards the request.
    pub(super) fn resolve(&self, request: &mut Request) {
        let Some(Peer(peer)) = request.extensions().get::<Peer>().copied() else { return };
        if self.contains(peer.ip()) {
            let client = self.client(peer, request.headers());
            request.extensions_mut().insert(Peer(client));
        }
    }

    /// Returns the rightmost address that is no trusted proxy. If an entry is not an address, returns the proxy that
    /// wrote it, because the entries before it cannot be believed.
    fn client(&self, peer: SocketAddr, headers: &HeaderMap) -> SocketAddr {
        let mut hops = addresses(headers);
        let mut client = peer;
        while let Some(hop) = hops.pop() {
            match hop {
                Some(address) => client = SocketAddr::new(address.to_canonical(), 0),
                None => return client,
            }
            if !self.contains(client.ip()) {
                return client;
            }
        }
        client
    }
}

/// Returns whether a proxy forwards the request.
pub(super) fn is_forwarded(headers: &HeaderMap) -> bool {
    [X_FORWARDED_FOR, X_FORWARDED_PROTO, header::FORWARDED].iter().any(|name| headers.contains_key(name))
}

/// Returns the forwarded addresses, from the client to the last proxy; `None` for an entry that is no address. If both
/// headers are present, `X-Forwarded-For` counts.
fn addresses(headers: &HeaderMap) -> Vec<Option<IpAddr>> {
    let entries = |name: HeaderName| {
        let lines = headers.get_all(name).into_iter().map(|line| line.to_str().unwrap_or("?"));
        lines.flat_map(|line| line.split(','))
    };
    if headers.contains_key(X_FORWARDED_FOR) {
        return entries(X_FORWARDED_FOR).map(parse_address).collect();
    }
    let forwarded = |entry: &str| {
        let pairs = entry.split(';').filter_map(|pair| pair.split_once('='));
        let (_, value) = pairs.into_iter().find(|(name, _)| name.trim().eq_ignore_ascii_case("for"))?;
        parse_address(value)
    };
    entries(header::FORWARDED).map(forwarded).collect()
}

/// Parses an address with or without quotes, brackets and port.
fn parse_address(text: &str) -> Option<IpAddr> {
    let text = text.trim().trim_matches('"');
    let bare = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
    bare.parse().ok().or_else(|| text.parse::<SocketAddr>().ok().map(|address| address.ip()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    fn client(peer: &str, pairs: &[(&'static str, &'static str)]) -> String {
        let networks = ["10.0.0.0/8", "fd00::/8"].map(|text| Network::parse(text).expect("a network"));
        let mut request = Request::new(axum::body::Body::empty());
        for (name, value) in pairs {
            request.headers_mut().append(*name, HeaderValue::from_static(value));
        }
        request.extensions_mut().insert(Peer(SocketAddr::new(peer.parse().expect("an address"), 7)));
        Proxies::new(&networks).resolve(&mut request);
        request.extensions().get::<Peer>().expect("the peer is set").0.ip().to_string()
    }

    #[test]
    fn headers_of_an_untrusted_peer_are_ignored() {
        assert_eq!(client("192.0.2.1", &[("x-forwarded-for", "198.51.100.7")]), "192.0.2.1");
        assert_eq!(client("192.0.2.1", &[("forwarded", "for=198.51.100.7")]), "192.0.2.1");
    }

    #[test]
    fn client_is_the_rightmost_address_that_is_no_trusted_proxy() {
        for (pairs, expected) in [
            (&[("x-forwarded-for", "198.51.100.7")][..], "198.51.100.7"),
            (&[("x-forwarded-for", "1.1.1.1, 198.51.100.7, 10.0.0.2")], "198.51.100.7"),
            (&[("x-forwarded-for", "1.1.1.1"), ("x-forwarded-for", "198.51.100.7")], "198.51.100.7"),
            (&[("x-forwarded-for", "198.51.100.7:4711,10.1.1.1")], "198.51.100.7"),
            (&[("x-forwarded-for", "2001:db8::7")], "2001:db8::7"),
            (&[("x-forwarded-for", "::ffff:198.51.100.7")], "198.51.100.7"),
            (&[("forwarded", "for=1.1.1.1, for=\"[2001:db8::7]:4711\";proto=https, For=10.0.0.2")], "2001:db8::7"),
            (&[("x-forwarded-for", "198.51.100.7"), ("forwarded", "for=1.1.1.1")], "198.51.100.7"),
            (&[("x-forwarded-for", "10.0.0.3, 10.0.0.2")], "10.0.0.3"),
            (&[("x-forwarded-for", "198.51.100.7, unknown, 10.0.0.2")], "10.0.0.2"),
            (&[("x-forwarded-for", "")], "10.0.0.1"),
            (&[], "10.0.0.1"),
        ] {
            assert_eq!(client("10.0.0.1", pairs), expected, "{pairs:?}");
        }
    }
}
