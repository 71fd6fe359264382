//! Live events as Server-Sent Events: all committed events in order, resumable.
//!
//! A stream ends when the token that opened it becomes invalid, at the latest with the next comment. A slow reader
//! holds one page of events and delays no other, because events are read only when the client can take them.

mod frame;
mod stream;

use axum::Extension;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, header};
use axum::response::IntoResponse;
use serde::Deserialize;
use turno::access::Permission;
use turno::core::event::{Topic, Topics};
use turno::core::id::Position;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::app::Shared;
use super::caller::Caller;
use super::extract::Query;
use super::guard::RoomPlace;
use super::problem::{Code, Problem};

pub(super) fn routes() -> OpenApiRouter<Shared> {
    OpenApiRouter::new().routes(routes!(events_get))
}

/// What to subscribe to.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct EventsQuery {
    /// A comma-separated list of `leases`, `tasks`, `queues`, `sync`, `audit`. Default: all that the caller may see.
    #[param(example = "leases,tasks")]
    topics: Option<String>,
    /// The position to resume after, for clients that cannot send the header `Last-Event-ID`.
    last_event_id: Option<String>,
}

/// Streams events from now on, or after a position.
///
/// Each event has `id:` (its position), `event:` (its name) and `data:`. `reset` means that events were omitted: reload
/// your state. `bye` means that the stream ends.
#[utoipa::path(
    get,
    path = "/v1/events",
    tag = "events",
    params(EventsQuery, ("Last-Event-ID" = Option<String>, Header, description = "The position to resume after.")),
    responses((status = 200, content_type = "text/event-stream", body = frame::Data))
)]
async fn events_get(
    State(app): State<Shared>,
    caller: Caller,
    place: Option<Extension<RoomPlace>>,
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
    let text = headers.get("last-event-id").map(|value| value.to_str().unwrap_or_default());
    let resume = resume(text.or(query.last_event_id.as_deref()));
    let subscription = caller.0.subscribe(topics, resume).await?;
    let stream = stream::Stream::new(app, subscription, resume.is_none(), place.map(|Extension(place)| place));
    let headers = [
        (header::CONTENT_TYPE, "text/event-stream; charset=utf-8"),
        (header::CACHE_CONTROL, "no-store"),
        // A proxy that buffers the answer would delay the events.
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

/// Returns the position to resume after. Text that is not a position counts as a position that is no longer kept, so
/// that the client gets `reset`. Otherwise a browser would send the same text forever.
fn resume(text: Option<&str>) -> Option<Position> {
    let text = text.map(str::trim).filter(|text| !text.is_empty())?;
    Some(text.parse().map_or(GONE, Position))
}

/// Greater than every real position.
const GONE: Position = Position(i64::MAX);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Limits;
    use crate::http::room::{RoomLimits, Rooms};
    use crate::http::testing::Bench;

    #[test]
    fn topics_are_parsed_and_default_to_all() {
        assert_eq!(topics(None).ok(), Some(Topics::ALL));
        let some: Topics = [Topic::Leases, Topic::Audit].into_iter().collect();
        assert_eq!(topics(Some("leases, audit")).ok(), Some(some));
        for bad in ["", "lease", "leases,", "*"] {
            assert_eq!(topics(Some(bad)).expect_err("not a topic").code(), Code::BadQuery, "{bad}");
        }
    }

    #[tokio::test]
    async fn stream_keeps_its_room_place_until_it_ends() {
        let one = RoomLimits { streams: 1, ..RoomLimits::from_limits(Limits::default()) };
        let bench = Bench::with(|app| app.rooms = Rooms::new(one)).await;
        let person = turno::access::NewPerson::new("ana", "Ana", turno::access::Role::Viewer).expect("a valid id");
        bench.app.trusted().add_person(person).await.expect("the person is added");
        let token = turno::access::NewToken::for_user("ana").expect("a valid id");
        let (_, secret) = bench.app.trusted().create_token(token).await.expect("the token is created");
        let bearer = format!("Bearer {secret}");
        let headers = [("authorization", bearer.as_str())];
        let listen = || bench.call("GET", "/v1/events", &headers);
        let first = listen().await;
        assert_eq!(first.status(), 200);
        assert_eq!(listen().await.status(), 503, "the room has one place");
        drop(first);
        assert_eq!(listen().await.status(), 200);
    }

    #[test]
    fn invalid_position_counts_as_no_longer_kept() {
        assert_eq!((resume(None), resume(Some(" "))), (None, None));
        assert_eq!((resume(Some("17")), resume(Some("x17"))), (Some(Position(17)), Some(GONE)));
    }
}
