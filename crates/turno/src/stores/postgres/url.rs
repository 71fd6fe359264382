//! The URL of a PostgreSQL database, or libpq's `key=value` text, with the parameters that the driver does not know.
//!
//! The driver parses everything but TLS. The TLS parameters are taken out before, and have libpq's meanings with two
//! exceptions: `sslmode=allow` is refused, and no file is read that the URL does not name.

use super::tls::{ClientFiles, Mode, Roots, TlsSettings};
use crate::error::Misuse;
use crate::store::UrlFault;
use percent_encoding::percent_decode_str;
use std::net::IpAddr;
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode, SslNegotiation, TargetSessionAttrs};

/// The parameters that this module handles itself.
const OWN: [&str; 5] = ["sslmode", "sslrootcert", "sslcert", "sslkey", "target_session_attrs"];

/// A parsed PostgreSQL URL. The debug output of the driver's part hides the password.
#[derive(Clone, Debug)]
pub struct PostgresUrl {
    pub(super) config: Config,
    pub(super) tls: TlsSettings,
}

impl PostgresUrl {
    /// Returns whether the text begins like `postgres://…`, `postgresql://…` or `key=value …`.
    pub fn recognizes(text: &str) -> bool {
        has_scheme(text) || text.split_once('=').is_some_and(|(name, _)| is_keyword(name.trim()))
    }

    /// Parses `postgres://…`, `postgresql://…` or `key=value …`.
    pub fn parse(text: &str) -> Result<PostgresUrl, Misuse> {
        let parameters = Parameters::parse(text).ok_or(Misuse::DatabaseUrl)?;
        let own = |name: &str| parameters.own(name);
        let mut config = parameters.driver_config()?;
        match own("target_session_attrs").as_deref() {
            None | Some("any") => {}
            // A primary that is read-only by default is of no use here, so both words mean the stronger one.
            Some("read-write" | "primary") => {
                config.target_session_attrs(TargetSessionAttrs::ReadWrite);
            }
            Some("read-only" | "standby" | "prefer-standby") => return Err(UrlFault::ReadOnly.into()),
            Some(_) => return Err(UrlFault::Value("target_session_attrs".into()).into()),
        }
        if config.get_hosts().is_empty() {
            let addresses: Vec<String> = config.get_hostaddrs().iter().map(IpAddr::to_string).collect();
            let hosts = if addresses.is_empty() { vec!["localhost".to_owned()] } else { addresses };
            for host in hosts {
                config.host(host);
            }
        }
        let tls = tls_settings(own, &config)?;
        // PostgreSQL has no TLS over Unix sockets, and libpq ignores `sslmode` there.
        let over_network = config.get_hosts().iter().any(|host| matches!(host, Host::Tcp(_)));
        config.ssl_mode(match tls.mode {
            _ if !over_network => SslMode::Disable,
            Mode::Disable => SslMode::Disable,
            Mode::Prefer => SslMode::Prefer,
            Mode::Require | Mode::VerifyCa | Mode::VerifyFull => SslMode::Require,
        });
        Ok(PostgresUrl { config, tls })
    }

    /// Returns the hosts and the database for display, without secrets.
    pub fn location(&self) -> String {
        let ports = self.config.get_ports();
        let port = |index: usize| ports.get(index).or(ports.first()).copied().unwrap_or(5432);
        let show = |(index, host): (usize, &Host)| match (host, port(index)) {
            (Host::Tcp(host), 5432) => host.clone(),
            (Host::Tcp(host), port) => format!("{host}:{port}"),
            #[cfg(unix)]
            (Host::Unix(path), _) => path.display().to_string(),
        };
        let hosts: Vec<String> = self.config.get_hosts().iter().enumerate().map(show).collect();
        let database = self.config.get_dbname().or(self.config.get_user());
        match database {
            Some(database) => format!("{}/{database}", hosts.join(",")),
            None => hosts.join(","),
        }
    }

    /// Returns the hosts outside of this machine that may be reached without TLS.
    pub fn plaintext_hosts(&self) -> Vec<String> {
        if self.tls.mode >= Mode::Require {
            return Vec::new();
        }
        let addresses = self.config.get_hostaddrs();
        let far = |(index, host): (usize, &Host)| match (host, addresses.get(index)) {
            (Host::Tcp(host), address) => {
                let near = match address.copied().or(host.parse().ok()) {
                    Some(address) => address.to_canonical().is_loopback(),
                    None => host.eq_ignore_ascii_case("localhost") || host.to_ascii_lowercase().ends_with(".localhost"),
                };
                (!near).then(|| host.clone())
            }
            #[cfg(unix)]
            (Host::Unix(_), _) => None,
        };
        self.config.get_hosts().iter().enumerate().filter_map(far).collect()
    }

    /// Returns whether the connection may use TLS.
    pub fn uses_tls(&self) -> bool {
        self.config.get_ssl_mode() != SslMode::Disable
    }

    /// Returns whether the URL names a client certificate.
    pub fn has_client_certificate(&self) -> bool {
        self.tls.client.is_some()
    }

    /// Returns the text with every password masked.
    pub fn mask(text: &str) -> String {
        let Some(parameters) = Parameters::parse(text) else { return "***".to_owned() };
        let hide = |(name, value): &(String, String)| match name.to_ascii_lowercase().contains("pass") {
            true => (name.clone(), "***".to_owned()),
            false => (name.clone(), value.clone()),
        };
        let pairs: Vec<_> = parameters.pairs.iter().map(hide).collect();
        let Some(base) = parameters.base else {
            let bare = |value: &str| !value.is_empty() && !value.contains([' ', '\'', '\\']);
            let show = |(name, value): (String, String)| match bare(&value) {
                true => format!("{name}={value}"),
                false => quoted(&name, &value),
            };
            return pairs.into_iter().map(show).collect::<Vec<_>>().join(" ");
        };
        let (scheme, address) = base.split_once("://").unwrap_or(("postgres", base));
        // The last @ ends the credentials, because a password may contain one, too.
        let address = match address.rsplit_once('@') {
            Some((user, host)) => match user.split_once(':') {
                Some((user, _)) => format!("{user}:***@{host}"),
                None => format!("{user}@{host}"),
            },
            None => address.to_owned(),
        };
        let query: Vec<String> = pairs.into_iter().map(|(name, value)| format!("{name}={value}")).collect();
        let query = if query.is_empty() { String::new() } else { format!("?{}", query.join("&")) };
        format!("{scheme}://{address}{query}")
    }
}

fn tls_settings(own: impl Fn(&str) -> Option<String>, config: &Config) -> Result<TlsSettings, UrlFault> {
    let roots = own("sslrootcert").filter(|path| !path.is_empty()).map(|path| match path.as_str() {
        "system" => Roots::System,
        path => Roots::File(path.into()),
    });
    let mode = match own("sslmode").as_deref() {
        // As in libpq: public roots without a check of the name would trust any server.
        None if roots == Some(Roots::System) => Mode::VerifyFull,
        None => Mode::Prefer,
        Some("disable") => Mode::Disable,
        Some("prefer") => Mode::Prefer,
        Some("require") => Mode::Require,
        Some("verify-ca") => Mode::VerifyCa,
        Some("verify-full") => Mode::VerifyFull,
        Some(_) => return Err(UrlFault::Value("sslmode".into())),
    };
    if roots == Some(Roots::System) && mode != Mode::VerifyFull {
        return Err(UrlFault::SystemRoots);
    }
    let client = match (own("sslcert"), own("sslkey")) {
        (Some(certificate), Some(key)) => Some(ClientFiles { certificate: certificate.into(), key: key.into() }),
        (None, None) => None,
        _ => return Err(UrlFault::HalfClient),
    };
    let (mode, roots) = match (mode, roots) {
        (Mode::VerifyCa, None) => return Err(UrlFault::NoRoots),
        (Mode::VerifyFull, None) => (mode, Some(Roots::System)),
        // As in libpq: a root that is given is used.
        (Mode::Require, Some(roots)) => (Mode::VerifyCa, Some(roots)),
        // A check would be pointless, because the connection falls back to plain text.
        (Mode::Disable | Mode::Prefer, _) => (mode, None),
        pair => pair,
    };
    let direct = config.get_ssl_negotiation() == SslNegotiation::Direct;
    if direct && mode < Mode::Require {
        return Err(UrlFault::Value("sslnegotiation".into()));
    }
    Ok(TlsSettings { mode, roots, client, direct })
}

/// The parameters of a text, and what comes before them in a URL.
struct Parameters<'a> {
    base: Option<&'a str>,
    pairs: Vec<(String, String)>,
}

impl<'a> Parameters<'a> {
    fn parse(text: &'a str) -> Option<Parameters<'a>> {
        if !has_scheme(text) {
            return Some(Parameters { base: None, pairs: keyword_pairs(text)? });
        }
        // A URL's values stay encoded here: the driver decodes its own, and `own` the others.
        let (base, query) = text.split_once('?').unwrap_or((text, ""));
        let pairs = query.split('&').filter(|pair| !pair.is_empty()).map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (name.to_owned(), value.to_owned())
        });
        Some(Parameters { base: Some(base), pairs: pairs.collect() })
    }

    /// Returns the decoded value of a parameter that this module handles. As in libpq, the last one counts.
    fn own(&self, name: &str) -> Option<String> {
        let (_, value) = self.pairs.iter().rev().find(|(its, _)| its == name)?;
        match self.base {
            Some(_) => Some(percent_decode_str(value).decode_utf8_lossy().into_owned()),
            None => Some(value.clone()),
        }
    }

    /// Parses what the driver knows. Names the parameter that it refuses.
    fn driver_config(&self) -> Result<Config, Misuse> {
        let rest: Vec<&(String, String)> =
            self.pairs.iter().filter(|(name, _)| !OWN.contains(&name.as_str())).collect();
        let render = |pairs: &[&(String, String)]| match self.base {
            Some(base) => {
                let query: Vec<String> = pairs.iter().map(|(name, value)| format!("{name}={value}")).collect();
                format!("{base}?{}", query.join("&"))
            }
            None => pairs.iter().map(|(name, value)| quoted(name, value)).collect::<Vec<_>>().join(" "),
        };
        render(&[]).parse::<Config>().map_err(|_| Misuse::DatabaseUrl)?;
        for pair in &rest {
            if render(&[pair]).parse::<Config>().is_err() {
                let known = DRIVERS.contains(&pair.0.as_str());
                return Err(
                    if known { UrlFault::Value(pair.0.clone()) } else { UrlFault::Unknown(pair.0.clone()) }.into()
                );
            }
        }
        render(&rest).parse().map_err(|_| Misuse::DatabaseUrl)
    }
}

/// The driver's parameters whose values can be wrong.
const DRIVERS: [&str; 11] = [
    "channel_binding",
    "connect_timeout",
    "hostaddr",
    "keepalives",
    "keepalives_idle",
    "keepalives_interval",
    "keepalives_retries",
    "load_balance_hosts",
    "port",
    "sslnegotiation",
    "tcp_user_timeout",
];

fn has_scheme(text: &str) -> bool {
    text.starts_with("postgres://") || text.starts_with("postgresql://")
}

fn is_keyword(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|one| one.is_ascii_lowercase() || one == '_')
}

/// Parses libpq's `key=value` form: values may be quoted, and a backslash keeps the next character.
fn keyword_pairs(text: &str) -> Option<Vec<(String, String)>> {
    let mut pairs = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let (name, after) = rest.split_once('=')?;
        let name = name.trim_end();
        if !is_keyword(name) {
            return None;
        }
        let (value, after) = keyword_value(after.trim_start())?;
        pairs.push((name.to_owned(), value));
        rest = after.trim_start();
    }
    (!pairs.is_empty()).then_some(pairs)
}

/// Returns the value at the beginning of the text, and the rest.
fn keyword_value(text: &str) -> Option<(String, &str)> {
    let is_quoted = text.starts_with('\'');
    let mut value = String::new();
    let mut characters = text.char_indices().skip(usize::from(is_quoted));
    while let Some((at, one)) = characters.next() {
        match one {
            '\\' => value.push(characters.next()?.1),
            '\'' if is_quoted => return Some((value, &text[at + 1..])),
            one if one.is_whitespace() && !is_quoted => return Some((value, &text[at..])),
            one => value.push(one),
        }
    }
    (!is_quoted).then_some((value, ""))
}

fn quoted(name: &str, value: &str) -> String {
    format!("{name}='{}'", value.replace('\\', "\\\\").replace('\'', "\\'"))
}

#[cfg(test)]
mod tests;
