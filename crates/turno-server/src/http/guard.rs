//! The two layers around every handler.
//!
//! The outer layer, the *edge*, sets the request id, the language and the security headers, and renders problems. The
//! inner layer, the *guard*, reads the body, takes a place in the route's room, authenticates the caller and checks the
//! permission. A body larger than 4 KiB is read only after these checks, because it needs memory (see `body`).

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use axum::response::{IntoResponse, Response};
use tokio::sync::OwnedSemaphorePermit;
use tracing::Instrument;
use turno::access::Permission;
use turno::core::id::UserId;

use super::access::{self, Needs, Row};
use super::app::{App, Shared};
use super::body;
use super::caller::{self, Caller, CallerId};
use super::callers::CallerPlace;
use super::problem::{self, Code, Problem};
use super::report::{self, Report};
use super::room::Room;
use super::sign_in;
use crate::console;
use crate::stopwatch::Stopwatch;

pub(crate) const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Pages load only their own resources and cannot be framed.
const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
     connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

/// Headers for browsers that reach the server by HTTPS: they stay with HTTPS for a year, and pages of other origins
/// cannot reach a window of the console.
const HTTPS_ONLY: [(HeaderName, &str); 2] = [
    (header::STRICT_TRANSPORT_SECURITY, "max-age=31536000"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
];

static REQUESTS: AtomicU64 = AtomicU64::new(0);

/// Returns the id of a request in logs and answers: the client's if it is printable and short enough, otherwise a fresh
/// one.
fn request_id(headers: &HeaderMap) -> String {
    let given = headers.get(REQUEST_ID).and_then(|value| value.to_str().ok());
    let sane = |id: &&str| (1..=128).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_graphic());
    given.filter(sane).map_or_else(fresh_id, str::to_owned)
}

/// Returns an id that is unique within the process and unlikely to repeat in another one.
fn fresh_id() -> String {
    static PROCESS: std::sync::OnceLock<u32> = std::sync::OnceLock::new();
    let process = PROCESS.get_or_init(|| getrandom::u32().unwrap_or_else(|_| std::process::id()));
    format!("{process:08x}{:08x}", REQUESTS.fetch_add(1, Ordering::Relaxed))
}

/// The outer layer.
pub(super) async fn edge<F>(app: &Shared, mut request: Request, inside: impl FnOnce(Request) -> F) -> Response
where
    F: Future<Output = Response>,
{
    let watch = Stopwatch::start();
    let id = request_id(request.headers());
    let method = report::method(request.method());
    let row = access::find(request.method().as_str(), request.uri().path());
    let language = console::language(request.headers(), app.language);
    let asked = console::BrowserRequest::from_request(&request);
    request.extensions_mut().insert(language);
    let route = row.map(|row| row.path);
    let span = tracing::debug_span!(target: "turno::http", "request", method, route, request_id = id);
    let mut response = inside(request).instrument(span).await;
    let user = response.extensions_mut().remove::<CalledBy>();
    let (mut response, code) = match asked.zip(problem::attached(&response)) {
        Some((asked, problem)) => (Box::pin(console::answer(app, asked, &problem, &id)).await, Some(problem.code())),
        None => problem::render(response, &app.texts, language, &id),
    };
    let (status, code) = (response.status(), code.map(problem::Code::as_str));
    let user = user.as_ref().map(|CalledBy(user)| user.as_str());
    app.reports.add(&Report { method, row, status, took: watch.elapsed(), code, user, id: &id });
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_SECURITY_POLICY, CONTENT_SECURITY_POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-store"),
    ]
    .into_iter()
    .chain(app.https.then_some(HTTPS_ONLY).into_iter().flatten())
    {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
    if let Ok(id) = HeaderValue::from_str(&id) {
        headers.insert(REQUEST_ID, id);
    }
    response
}

/// A place in a room, kept by a response that goes on after its handler has returned.
#[derive(Clone, Debug)]
pub(crate) struct RoomPlace(#[expect(dead_code, reason = "dropping it frees the places")] Arc<Places>);

/// The places of a request: in its room, and among the requests of its caller.
type Places = (Option<OwnedSemaphorePermit>, Option<CallerPlace>);

/// The inner layer: reads the body, admits the request and runs the handler.
pub(super) async fn guard<F>(app: &App, mut request: Request, handler: impl FnOnce(Request) -> F) -> Response
where
    F: Future<Output = Result<Response, Infallible>>,
{
    let row = access::find(request.method().as_str(), request.uri().path());
    let admitted = match body::receive(app, row, &mut request).await {
        Ok(memory) => admit(app, row, &mut request).await.map(|place| (memory, place)),
        Err(problem) => Err(problem),
    };
    let caller = request.extensions().get::<Caller>().cloned();
    if let Some(caller) = caller.as_ref().filter(|_| admitted.is_ok() && sign_in::is_work(&request)) {
        sign_in::keep(caller).await;
    }
    let by = caller.and_then(|caller| caller.0.principal());
    let mut response = match admitted {
        Ok(_inside) => {
            // The timeout covers the response head only. A stream may go on after it.
            match tokio::time::timeout(app.limits.request_timeout, handler(request)).await {
                Ok(Ok(response)) => response,
                Err(_) => Problem::new(Code::OutcomeUnknown).into_response(),
            }
        }
        Err(problem) => problem.into_response(),
    };
    if let Some(principal) = by {
        response.extensions_mut().insert(CalledBy(principal.user.clone()));
    }
    response
}

/// The caller's user, for the log.
#[derive(Clone, Debug)]
struct CalledBy(UserId);

/// Takes a place in the route's room, authorizes the caller and counts the request as the caller's. Keep the returned
/// places until the handler has answered.
async fn admit(app: &App, row: Option<&Row>, request: &mut Request) -> Result<impl Sized + use<>, Problem> {
    let room = row.map_or(Room::Free, |row| row.room);
    let inside = app.rooms.enter(room)?;
    permit(app, row, request).await?;
    let counted = match request.extensions().get::<Caller>().cloned() {
        Some(caller) => {
            let caller = caller.counted(&app.callers, CallerId::with_instance(request));
            let place = caller.usage().map_or(Ok(None), |usage| app.callers.enter(usage, room));
            request.extensions_mut().insert(caller);
            place?
        }
        None => None,
    };
    let places = Arc::new((inside, counted));
    if room == Room::Stream {
        request.extensions_mut().insert(RoomPlace(places.clone()));
    }
    Ok(places)
}

/// Checks a request whose body needs memory before the body is read, and returns the caller whose memory it uses. The
/// place in the room is freed at once, because a request whose body is still arriving occupies no room.
pub(super) async fn preview(app: &App, row: &Row, request: &mut Request) -> Result<CallerId, Problem> {
    let _place = app.rooms.enter(row.room)?;
    permit(app, Some(row), request).await?;
    Ok(CallerId::from_request(request))
}

/// Authenticates the caller and checks the reach and the permission that the route needs.
async fn permit(app: &App, row: Option<&Row>, request: &mut Request) -> Result<(), Problem> {
    let needs = row.map_or(Needs::Token, |row| row.needs);
    if needs == Needs::Nothing || row.is_none() && is_public(request) {
        return Ok(());
    }
    let caller = caller::identify(app, request.method(), request.headers()).await?;
    request.extensions_mut().insert::<Caller>(caller.clone());
    if let Some((row, principal)) = row.zip(caller.0.principal()) {
        access::check_scope(row, &principal, request.uri().path())?;
    }
    if let Needs::Either(one, other) = needs
        && caller.0.require(other).await.is_err()
    {
        caller.0.require(one).await?;
    }
    if let Some(permission) = permission(needs, request.uri().path()) {
        caller.0.require(permission).await?;
    }
    Ok(())
}

/// Returns whether the request needs no caller although no route matches. Outside the API, a 404 discloses nothing.
fn is_public(request: &Request) -> bool {
    let path = request.uri().path();
    let api = path == "/v1" || path.starts_with("/v1/") || path.starts_with("/locks") || path == "/metrics";
    request.method() == Method::OPTIONS || !api
}

fn permission(needs: Needs, path: &str) -> Option<Permission> {
    match needs {
        Needs::Nothing | Needs::Token | Needs::Either(..) => None,
        Needs::May(permission) => Some(permission),
        Needs::Lease => {
            let resource = path.trim_start_matches("/v1/leases/");
            let resource = percent_encoding::percent_decode_str(resource).decode_utf8_lossy();
            let task = resource.starts_with("task:");
            Some(if task { Permission::InventoryManage } else { Permission::LeasesUse })
        }
    }
}
