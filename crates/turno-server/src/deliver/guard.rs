//! Refuses private addresses for endpoints that were set over the API. Otherwise a queue could be used to call services
//! that only this machine can reach. Addresses are checked when a name is resolved for a call, because a name can
//! change where it leads.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use reqwest::Url;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use crate::config::{Environment, Network, PushGuard};

/// The rules for addresses of endpoints that were set over the API.
#[derive(Clone, Debug, Default)]
pub(crate) struct Guard {
    allow_private: bool,
    allow: Vec<Network>,
    loopback: bool,
}

impl Guard {
    /// Takes the configured rules. In development, loopback addresses are allowed too.
    pub(crate) fn new(configured: &PushGuard, environment: Environment) -> Guard {
        Guard {
            allow_private: configured.allow_private,
            allow: configured.allow.clone(),
            loopback: environment == Environment::Development,
        }
    }

    fn allows(&self, address: IpAddr) -> bool {
        let canonical = address.to_canonical();
        self.allow_private
            || !is_private(address)
            || (self.loopback && canonical.is_loopback())
            || self.allow.iter().any(|network| network.contains(canonical))
    }

    /// Returns whether an IP address in the URL may be called. Names are checked when they are resolved.
    pub(crate) fn allows_url(&self, url: &Url) -> bool {
        let host = url.host_str().unwrap_or_default();
        let bare = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host);
        bare.parse::<IpAddr>().map_or(true, |address| self.allows(address))
    }
}

/// Resolves a name and omits addresses that are not allowed.
pub(crate) struct GuardedResolver(pub(crate) Arc<Guard>);

impl Resolve for GuardedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let guard = self.0.clone();
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            let allowed: Vec<SocketAddr> = found.filter(|address| guard.allows(address.ip())).collect();
            if allowed.is_empty() {
                return Err(REFUSED.into());
            }
            Ok(Box::new(allowed.into_iter()) as Addrs)
        })
    }
}

/// The error of a call that the guard refused.
pub(crate) const REFUSED: &str = "the endpoint leads to a private address, which endpoints set over the API may not";

/// Returns whether an address is private, reserved or otherwise not on the public internet.
fn is_private(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_private_v4(address),
        IpAddr::V6(address) => match address.to_ipv4_mapped().or_else(|| embedded_v4(address)) {
            Some(inner) => is_private_v4(inner),
            None => is_private_v6(address),
        },
    }
}

fn is_private_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_documentation()
        || address.is_multicast()
        || a == 0
        || a >= 240
        || (a == 100 && (64..128).contains(&b))
        || (a == 192 && b == 0 && c == 0)
        || (a == 192 && b == 88 && c == 99)
        || (a == 198 && (18..20).contains(&b))
}

/// Everything outside global unicast is private, and so are its reserved ranges.
fn is_private_v6(address: Ipv6Addr) -> bool {
    let [a, b, ..] = address.segments();
    let global = a & 0xe000 == 0x2000;
    let reserved = (a == 0x2001 && (b < 0x200 || b == 0xdb8)) || (a == 0x3fff && b < 0x1000);
    !global || reserved
}

/// Returns the IPv4 address inside an IPv6 address of NAT64 or 6to4.
fn embedded_v4(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let [a, b, c, d, e, f, g, h] = address.segments();
    let v4 = |high: u16, low: u16| Ipv4Addr::from((u32::from(high) << 16) | u32::from(low));
    match (a, b) {
        (0x64, 0xff9b) if (c, d, e, f) == (0, 0, 0, 0) => Some(v4(g, h)),
        (0x2002, high) => Some(v4(high, c)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn private_addresses_are_recognised_in_every_form() {
        for private in [
            "127.0.0.1",
            "127.8.8.8",
            "10.0.0.1",
            "172.16.0.1",
            "192.168.1.1",
            "169.254.169.254",
            "100.64.0.1",
            "0.0.0.0",
            "255.255.255.255",
            "192.0.0.1",
            "192.88.99.1",
            "198.18.0.1",
            "203.0.113.9",
            "240.0.0.1",
            "224.0.0.1",
            "::1",
            "::",
            "fe80::1",
            "fec0::1",
            "fd00:ec2::254",
            "ff02::1",
            "::ffff:10.0.0.1",
            "::10.0.0.1",
            "64:ff9b::a00:1",
            "64:ff9b:1::a00:1",
            "2002:a00:1::",
            "2001::1",
            "2001:db8::1",
            "100::1",
        ] {
            assert!(is_private(private.parse().unwrap()), "{private}");
        }
        for public in
            ["8.8.8.8", "1.1.1.1", "100.128.0.1", "172.32.0.1", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808"]
        {
            assert!(!is_private(public.parse().unwrap()), "{public}");
        }
    }

    fn allows(guard: &Guard, url: &str) -> bool {
        guard.allows_url(&Url::parse(url).unwrap())
    }

    #[test]
    fn private_address_in_a_url_is_refused_in_every_spelling() {
        let guard = Guard::default();
        for private in [
            "http://10.0.0.7/",
            "http://0x7f.1/",
            "http://2130706433/",
            "http://[::ffff:a00:1]/",
            "http://[fd00::1]:80/",
        ] {
            assert!(!allows(&guard, private), "{private}");
        }
        assert!(allows(&guard, "http://93.184.215.14/") && allows(&guard, "http://example.com/"));
    }

    #[test]
    fn development_allows_loopback_only() {
        let guard = Guard::new(&PushGuard::default(), Environment::Development);
        assert!(allows(&guard, "http://127.0.0.1:9000/") && allows(&guard, "http://[::1]/"));
        assert!(!allows(&guard, "http://169.254.169.254/") && !allows(&guard, "http://10.0.0.1/"));
        let guard = Guard::new(&PushGuard::default(), Environment::Production);
        assert!(!allows(&guard, "http://127.0.0.1:9000/"));
    }

    #[tokio::test]
    async fn name_that_resolves_to_a_private_address_is_refused() {
        let name = || "localhost".parse::<Name>().unwrap();
        let refused = GuardedResolver(Arc::new(Guard::default())).resolve(name()).await;
        assert!(refused.err().unwrap().to_string().contains("private address"));
        let open = Guard { loopback: true, ..Guard::default() };
        assert!(GuardedResolver(Arc::new(open)).resolve(name()).await.unwrap().count() > 0);
    }
}
