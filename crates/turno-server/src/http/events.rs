//! Live events as Server-Sent Events: everything that was committed, in order, resumable.
//!
//! A stream belongs to whoever opened it: when their token dies, so does the stream, at the latest with the next comment.
//! A slow reader costs one page of events and delays nobody, because nothing is taken before it is asked for.

mod frame;
mod stream;

use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::IntoResponse;
use serde::Deserialize;
use turno::Permission;
use turno::core::event::{Topic, Topics};
use turno::core::id::Position;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::app::Shared;
use super::caller::Caller;
use super::extract::Query;
use super::guard::Place;
use super::problem::{Code, Problem};

pub(super) fn routes() -> OpenApiRouter<Shared> {
    OpenApiRouter::new().routes(routes!(events_get))
}

/// What to listen to.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct EventsQuery {
    /// Some of `leases`, `tasks`, `queues`, `sync`, `audit`, separated by commas [default: all that one may see].
    #[param(example = "leases,tasks")]
    topics: Option<String>,
    /// Go on behind this position, for those who cannot send the header `Last-Event-ID`.
    last_event_id: Option<String>,
}

/// Tells what happens from now on, or from where one left off.
///
/// Each event has `id:` (its position), `event:` (its name) and `data:`. `reset` means that events were left out: read
/// anew what you show. `bye` means that the stream ends here.
#[utoipa::path(
    get,
    path = "/v1/events",
    tag = "events",
    params(EventsQuery, ("Last-Event-ID" = Option<String>, Header, description = "Go on behind this position.")),
    responses((status = 200, content_type = "text/event-stream", body = frame::Data))
)]
async fn events_get(
    State(app): State<Shared>,
    caller: Caller,
    place: Option<Extension<Place>>,
    headers: HeaderMap,
    Query(query): Query<EventsQuery>,
) -> Result<impl IntoResponse, Problem> {
    if app.is_stopping() {
        return Err(Problem::new(Code::Stopping));
    }
    let topics = topics(query.topics.as_deref())?;
    if query.topics.is_some() && topics.contains(Topic::Audit) {
        caller.0.require(Permission::AuditRead).await?;
    }
    let said = headers.get("last-event-id").map(|value| value.to_str().unwrap_or_default());
    let resume = resume(said.or(query.last_event_id.as_deref()));
    let subscription = caller.0.subscribe(topics, resume).await?;
    let resources = caller.0.principal().map_or_else(Vec::new, |me| me.resources.clone());
    let stream =
        stream::Stream::new(app, subscription, resume.is_none(), resources, place.map(|Extension(place)| place));
    let headers = [
        (header::CONTENT_TYPE, "text/event-stream; charset=utf-8"),
        (header::CACHE_CONTROL, "no-store"),
        // Proxies that gather an answer before they pass it on would make live events late ones.
        (header::HeaderName::from_static("x-accel-buffering"), "no"),
    ];
    Ok((headers, Body::from_stream(stream.chunks())))
}

fn topics(text: Option<&str>) -> Result<Topics, Problem> {
    let Some(text) = text else {
        return Ok(Topics::ALL);
    };
    let unknown = |cause| Problem::query("topics", cause);
    text.split(',').map(|topic| topic.trim().parse::<Topic>().map_err(unknown)).collect()
}

/// Where to go on. What is no position of ours is answered as one that is gone: a browser sends it again and again, and
/// only `reset` helps it on.
fn resume(said: Option<&str>) -> Option<Position> {
    let said = said.map(str::trim).filter(|said| !said.is_empty())?;
    Some(said.parse().map_or(GONE, Position))
}

/// Behind every position that there can be.
const GONE: Position = Position(i64::MAX);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Limits;
    use crate::http::room::{RoomLimits, Rooms};
    use crate::http::testing::Bench;

    #[test]
    fn topics_are_listed_by_name_and_none_means_all() {
        assert_eq!(topics(None).ok(), Some(Topics::ALL));
        let some: Topics = [Topic::Leases, Topic::Audit].into_iter().collect();
        assert_eq!(topics(Some("leases, audit")).ok(), Some(some));
        for bad in ["", "lease", "leases,", "*"] {
            assert_eq!(topics(Some(bad)).expect_err("no topic").code(), Code::BadQuery, "{bad}");
        }
    }

    #[tokio::test]
    async fn a_stream_keeps_its_place_until_it_ends() {
        let one = RoomLimits { streams: 1, ..RoomLimits::of(Limits::default()) };
        let bench = Bench::with(|app| app.rooms = Rooms::new(one)).await;
        let person = turno::NewPerson::new("ana", "Ana", turno::Role::Viewer).expect("a name");
        bench.app.trusted().add_person(person).await.expect("added");
        let token = turno::NewToken::of("ana").expect("a name");
        let (_, secret) = bench.app.trusted().create_token(token).await.expect("made");
        let bearer = format!("Bearer {secret}");
        let headers = [("authorization", bearer.as_str())];
        let listen = || bench.call("GET", "/v1/events", &headers);
        let first = listen().await;
        assert_eq!(first.status(), 200);
        assert_eq!(listen().await.status(), 503, "there is room for one");
        drop(first);
        assert_eq!(listen().await.status(), 200);
    }

    #[test]
    fn what_is_no_position_is_one_that_is_gone() {
        assert_eq!((resume(None), resume(Some(" "))), (None, None));
        assert_eq!((resume(Some("17")), resume(Some("x17"))), (Some(Position(17)), Some(GONE)));
    }
}
