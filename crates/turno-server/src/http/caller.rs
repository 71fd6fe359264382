//! Identifies the caller by bearer token or console cookie, and the user that a backend acts for.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::{FromRequestParts, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, header};
use turno::Turno;
use turno::core::id::{Instance, Resource, UserId};
use turno::core::lease::{Holder, State};
use turno::core::time::Time;

use super::app::App;
use super::callers::{Callers, LeasePlaces, Usage};
use super::problem::{Code, Problem};
use super::proxies::is_forwarded;
use super::server::Peer;
use super::sign_in;
use crate::config::is_loopback;

/// The name of the console's session cookie over plain HTTP.
pub(crate) const COOKIE: &str = "turno_session";
/// The name of the cookie over HTTPS. Browsers accept a name with this prefix only from this host and by HTTPS, so that
/// no other host of the domain can set the cookie.
const HOST_COOKIE: &str = "__Host-turno_session";
/// The header with the user that a backend acts for.
pub(crate) const ACTOR: &str = "turno-actor";

/// An authenticated caller: the library handle that acts for it, and what it has under way. The guard sets the latter.
#[derive(Clone, Debug)]
pub(crate) struct Caller(pub(crate) Turno, Option<Arc<Usage>>);

impl Caller {
    pub(crate) fn new(turno: Turno) -> Caller {
        Caller(turno, None)
    }

    /// Counts the caller from here on under this id.
    pub(super) fn counted(self, callers: &Callers, id: CallerId) -> Caller {
        Caller(self.0, Some(callers.usage(id)))
    }

    pub(super) fn usage(&self) -> Option<&Arc<Usage>> {
        self.1.as_ref()
    }

    /// Returns the counters if the caller's leases have a limit: those of people and sessions. A machine works for many
    /// users.
    fn limited_leases(&self) -> Option<&Arc<Usage>> {
        self.1.as_ref().filter(|_| self.0.principal().is_some_and(|principal| !principal.machine))
    }

    /// Reserves places for the leases of a claim, and returns which of the resources have one. A lease that the caller
    /// holds already needs none. Keep the places until the answers are recorded.
    pub(super) fn lease_places<'a>(
        &self,
        app: &App,
        resources: impl Iterator<Item = &'a Resource>,
    ) -> (Option<LeasePlaces>, Vec<bool>) {
        let Some(usage) = self.limited_leases() else { return (None, resources.map(|_| true).collect()) };
        usage.leases().observe(app.trusted().now());
        let held: Vec<bool> = resources.map(|resource| usage.leases().holds(resource)).collect();
        let places = app.callers.claim_leases(usage, held.iter().filter(|held| !**held).count());
        let mut free = places.count();
        let fits = held.into_iter().map(|held| held || free.checked_sub(1).inspect(|rest| free = *rest).is_some());
        let fits = fits.collect();
        (Some(places), fits)
    }

    /// Records whether the caller holds the lease after one of its commands.
    pub(super) fn record_lease(&self, state: &State, now: Time) {
        let (Some(usage), Some(principal)) = (self.limited_leases(), self.0.principal()) else { return };
        let mine = state.live(now).filter(|grant| grant.holder.user == principal.user);
        usage.leases().record(&state.resource, mine.map(|grant| grant.expires_at), now);
    }

    /// Returns the caller as a lease holder.
    pub(crate) fn holder(&self, instance: Option<Instance>) -> Holder {
        self.0.holder(instance)
    }
}

impl<S: Sync> FromRequestParts<S> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        // The guard sets the caller before any handler runs. On a public route there is none.
        parts.extensions.get::<Caller>().cloned().ok_or_else(|| Problem::new(Code::Unauthenticated))
    }
}

/// Identifies a caller for limits, so that one caller cannot use up the capacity of the others.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum CallerId {
    /// An account, or the user for whom the account `via` acts. All sessions of a user count as one caller. Each
    /// process of a machine account counts alone, where its call names the process.
    User { user: UserId, via: Option<UserId>, instance: Option<Instance> },
    /// A source address, used before the caller is authenticated.
    Source(IpAddr),
}

impl CallerId {
    /// Returns the authenticated user, or the source address if there is none.
    pub(super) fn from_request(request: &Request) -> CallerId {
        match request.extensions().get::<Caller>() {
            Some(caller) => CallerId::from_caller(caller),
            None => CallerId::Source(CallerId::source(request)),
        }
    }

    /// Returns the account or user of an authenticated caller.
    pub(super) fn from_caller(caller: &Caller) -> CallerId {
        match caller.0.principal() {
            Some(principal) => {
                CallerId::User { user: principal.user.clone(), via: principal.via.clone(), instance: None }
            }
            None => CallerId::Source(IpAddr::V4(Ipv4Addr::UNSPECIFIED)),
        }
    }

    /// Returns the caller as [`CallerId::from_request`] does, and for a machine the instance that a small body names.
    /// The guard has read the body before.
    pub(super) fn with_instance(request: &Request) -> CallerId {
        let machine = request.extensions().get::<Caller>().and_then(|caller| caller.0.principal());
        let id = CallerId::from_request(request);
        match (id, request.extensions().get::<SmallBody>()) {
            (CallerId::User { user, via, .. }, Some(body)) if machine.is_some_and(|principal| principal.machine) => {
                CallerId::User { user, via, instance: body.instance() }
            }
            (id, _) => id,
        }
    }

    /// Returns the caller of an account itself.
    #[cfg(test)]
    pub(super) fn user(user: UserId) -> CallerId {
        CallerId::User { user, via: None, instance: None }
    }

    /// Returns the source address that limits count. A request without a connection, as in tests, counts as
    /// unspecified.
    pub(super) fn source(request: &Request) -> IpAddr {
        let peer = request.extensions().get::<Peer>();
        peer.map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |Peer(address)| sign_in::limit_key(address.ip()))
    }
}

/// Renders the caller for metrics and the console: `user`, `user via account`, or `account instance`.
impl std::fmt::Display for CallerId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            CallerId::User { user, via, instance } => {
                write!(f, "{user}")?;
                via.as_ref().map_or(Ok(()), |via| write!(f, " via {via}"))?;
                instance.as_ref().map_or(Ok(()), |instance| write!(f, " {instance}"))
            }
            CallerId::Source(source) => write!(f, "{source}"),
        }
    }
}

/// A small request body, kept beside the request so that the guard can read which process calls.
#[derive(Clone, Debug)]
pub(super) struct SmallBody(pub(super) Bytes);

impl SmallBody {
    fn instance(&self) -> Option<Instance> {
        #[derive(serde::Deserialize)]
        struct Named {
            instance: Option<Instance>,
        }
        serde_json::from_slice::<Named>(&self.0).ok()?.instance
    }
}

/// Authenticates the caller. Fails if the credentials are missing or invalid, or if a cookie comes from another site.
pub(crate) async fn identify(app: &App, method: &Method, headers: &HeaderMap) -> Result<Caller, Problem> {
    let turno = match bearer(headers)? {
        Some(secret) => app.trusted().authenticate(secret).await?,
        None => {
            let secret =
                cookie(headers, cookie_name(app.https, headers)).ok_or_else(|| Problem::new(Code::Unauthenticated))?;
            if !method.is_safe() && !same_site(headers) {
                return Err(Problem::new(Code::CrossSite));
            }
            app.trusted().authenticate(secret).await?
        }
    };
    match headers.get(ACTOR) {
        None => Ok(Caller::new(turno)),
        Some(actor) => {
            let bad = || Problem::new(Code::BadHeader).arg("header", "Turno-Actor");
            let actor = std::str::from_utf8(actor.as_bytes()).map_err(|_| bad())?;
            let actor = percent_encoding::percent_decode_str(actor).decode_utf8().map_err(|_| bad())?;
            let user = UserId::new(actor.as_ref()).map_err(|cause| bad().cause(cause))?;
            Ok(Caller::new(turno.on_behalf_of(user).await?))
        }
    }
}

/// Returns the token of `Authorization: Bearer TOKEN`. Any other scheme is refused.
fn bearer(headers: &HeaderMap) -> Result<Option<&str>, Problem> {
    let Some(value) = headers.get(header::AUTHORIZATION) else {
        return Ok(None);
    };
    let unknown = || Problem::new(Code::Unauthenticated);
    let (scheme, token) = value.to_str().ok().and_then(|text| text.split_once(' ')).ok_or_else(unknown)?;
    if scheme.eq_ignore_ascii_case("bearer") { Ok(Some(token.trim())) } else { Err(unknown()) }
}

/// Returns the name of the session cookie for this request. Behind HTTPS, programs on the server's machine can still
/// call it by plain HTTP under a loopback name. Browsers of other machines never send such a `Host`.
pub(super) fn cookie_name(https: bool, headers: &HeaderMap) -> &'static str {
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let is_direct = !is_forwarded(headers) && is_loopback(host);
    if https && !is_direct { HOST_COOKIE } else { COOKIE }
}

/// Returns the value of the first cookie with this name.
pub(crate) fn cookie<'a>(headers: &'a HeaderMap, wanted: &str) -> Option<&'a str> {
    let lines = headers.get_all(header::COOKIE).into_iter().filter_map(|value| value.to_str().ok());
    lines.flat_map(|line| line.split(';')).find_map(|pair| {
        let (name, value) = pair.trim().split_once('=')?;
        (name == wanted).then_some(value)
    })
}

/// Returns whether a request comes from one of our own pages.
///
/// A browser attaches the cookie to requests from any site, so a change by cookie needs this check. Browsers send
/// `Sec-Fetch-Site` or `Origin`. A request with neither is refused.
pub(super) fn same_site(headers: &HeaderMap) -> bool {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    match text("sec-fetch-site") {
        Some(site) => site == "same-origin" || site == "none",
        None => {
            let origin = text("origin").and_then(|origin| origin.split_once("://")).map(|(_, host)| host);
            origin.is_some() && origin == text("host")
        }
    }
}

/// Refuses a form that a page of another site submits, for routes that need no cookie. Otherwise such a page could sign
/// a person in as another user unnoticed. Programs other than browsers send neither header and are allowed.
pub(crate) fn not_foreign(headers: &HeaderMap) -> Result<(), Problem> {
    let silent = !headers.contains_key("sec-fetch-site") && !headers.contains_key(header::ORIGIN);
    if silent || same_site(headers) { Ok(()) } else { Err(Problem::new(Code::CrossSite)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs
            .iter()
            .map(|(name, value)| (name.parse().expect("a valid header name"), HeaderValue::from_static(value)))
            .collect()
    }

    #[test]
    fn change_by_cookie_from_another_site_is_refused() {
        for ours in
            [&[("sec-fetch-site", "same-origin")][..], &[("origin", "https://t.example"), ("host", "t.example")]]
        {
            assert!(same_site(&headers(ours)), "{ours:?}");
        }
        for foreign in [
            &[][..],
            &[("sec-fetch-site", "cross-site"), ("origin", "https://t.example"), ("host", "t.example")],
            &[("sec-fetch-site", "same-site")],
            &[("origin", "https://evil.example"), ("host", "t.example")],
            &[("origin", "null"), ("host", "t.example")],
        ] {
            assert!(!same_site(&headers(foreign)), "{foreign:?}");
        }
    }

    #[test]
    fn sign_in_from_another_site_is_refused() {
        for ours in [&[][..], &[("sec-fetch-site", "none")], &[("origin", "https://t.example"), ("host", "t.example")]]
        {
            assert!(not_foreign(&headers(ours)).is_ok(), "{ours:?}");
        }
        for foreign in [&[("sec-fetch-site", "cross-site")][..], &[("origin", "null"), ("host", "t.example")]] {
            assert!(not_foreign(&headers(foreign)).is_err(), "{foreign:?}");
        }
    }

    #[test]
    fn cookie_has_the_host_prefix_behind_https_except_for_programs_on_loopback() {
        let name = |https, pairs| cookie_name(https, &headers(pairs));
        assert_eq!(name(false, &[("host", "t.example")]), "turno_session");
        assert_eq!(name(true, &[("host", "t.example")]), "__Host-turno_session");
        assert_eq!(name(true, &[]), "__Host-turno_session");
        for host in ["127.0.0.1:7171", "localhost", "[::1]:80"] {
            let forwarded = HeaderMap::from_iter(
                headers(&[("x-forwarded-for", "192.0.2.7")])
                    .into_iter()
                    .chain([(Some(header::HOST), HeaderValue::from_static(host))])
                    .filter_map(|(name, value)| Some((name?, value))),
            );
            assert_eq!(cookie_name(true, &forwarded), "__Host-turno_session", "through a proxy");
        }
        assert_eq!(name(true, &[("host", "127.0.0.1:7171")]), "turno_session");
        assert_eq!(name(true, &[("host", "localhost")]), "turno_session");
    }

    #[test]
    fn session_cookie_is_found_among_others() {
        assert_eq!(cookie(&headers(&[("cookie", "a=b; turno_session=s; c=d")]), COOKIE), Some("s"));
        assert_eq!(cookie(&headers(&[("cookie", "xturno_session=s")]), COOKIE), None);
    }
}
