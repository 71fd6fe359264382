//! The wire format of events.

use std::fmt::Write;

use bytes::Bytes;
use serde::Serialize;
use turno::core::event::{Event, Topic};
use turno::core::id::{Position, QueueName};
use turno::core::time::Time;

use crate::http::stamp::Stamp;

/// The `data:` of an event. Members that do not apply are omitted.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(super) struct Data<'a> {
    /// `leases`, `tasks`, `queues`, `sync` or `audit`.
    topic: &'static str,
    /// What the event is about: a lease's resource, `task:7`, an item or a queue.
    resource: &'a str,
    /// The key of the item.
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<&'a str>,
    /// When it happened.
    at: Stamp,
    /// The fence of the ownership or delivery.
    #[serde(skip_serializing_if = "Option::is_none")]
    fence: Option<i64>,
    /// The user who did it, or the holder.
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<&'a str>,
    /// A reason or message for people. For audit events, the action.
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<&'a str>,
}

pub(super) fn event(position: Position, event: &Event) -> Bytes {
    let data = Data {
        topic: event.topic.as_str(),
        resource: &event.resource,
        key: event.key.as_deref(),
        at: event.at.into(),
        fence: event.fence.map(|fence| fence.0),
        by: event.by.as_ref().map(|by| by.as_str()),
        detail: event.detail.as_deref(),
    };
    block(Some(position), Some(event.name.as_str()), &data)
}

/// A change of a queue. It has no position, because it is not stored.
pub(super) fn changed(queue: &QueueName, topic: Topic, at: Time) -> Bytes {
    let (topic, resource, at) = (topic.as_str(), queue.as_str(), at.into());
    let data = Data { topic, resource, key: None, at, fence: None, by: None, detail: None };
    block(None, Some("queue.changed"), &data)
}

/// Tells that events were omitted and that the stream goes on after `position`.
pub(super) fn reset(position: Position) -> Bytes {
    block(Some(position), Some("reset"), &serde_json::json!({ "position": position.0 }))
}

/// Ends the stream with a reason: `stopping`, `signed_out` or `failed`.
pub(super) fn bye(reason: &str) -> Bytes {
    block(None, Some("bye"), &serde_json::json!({ "reason": reason }))
}

/// The first bytes: the retry delay, and the position to resume from if the stream ends before its first event. A
/// resumed stream sends no position, because the client must keep its own until it has received an event or a `reset`.
pub(super) fn hello(position: Option<Position>) -> Bytes {
    match position {
        Some(position) => format!("retry: 3000\nid: {}\n\n", position.0).into(),
        None => Bytes::from_static(b"retry: 3000\n\n"),
    }
}

/// A comment for a quiet stream. It keeps the connection open. Its `id` without data updates the client's position and
/// fires no event.
pub(super) fn comment(position: Position) -> Bytes {
    format!(": nothing new\nid: {}\n\n", position.0).into()
}

fn block(position: Option<Position>, name: Option<&str>, data: &impl Serialize) -> Bytes {
    let mut text = String::with_capacity(256);
    if let Some(position) = position {
        let _ = writeln!(text, "id: {}", position.0);
    }
    if let Some(name) = name {
        let _ = writeln!(text, "event: {name}");
    }
    // JSON has no line breaks outside strings, and escapes them inside, so one line holds it.
    let _ = write!(text, "data: {}\n\n", serde_json::to_string(data).unwrap_or_default());
    text.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use turno::core::event::EventName;
    use turno::core::id::{Fence, UserId};

    /// The table of events names each event once, and `queue.changed`, which is not stored.
    #[test]
    fn reference_page_lists_exactly_the_events() {
        let page = include_str!("../../../../../docs/reference/events.md");
        let names = page.lines().filter_map(|line| line.split('|').nth(2));
        let names = names.flat_map(|cell| cell.split('`').skip(1).step_by(2)).filter(|name| name.contains('.'));
        let mut listed: Vec<&str> = names.collect();
        let mut known: Vec<&str> = EventName::ALL.iter().map(EventName::as_str).chain(["queue.changed"]).collect();
        listed.sort_unstable();
        known.sort_unstable();
        assert_eq!(listed, known);
    }

    #[test]
    fn event_with_line_breaks_is_one_block() {
        let lost = Event {
            topic: Topic::Leases,
            name: EventName::LeaseLost,
            resource: "caja:3".into(),
            key: None,
            queue: None,
            at: Time(1_736_937_000_007),
            fence: Some(Fence(9)),
            by: UserId::new("ana").ok(),
            detail: Some("dos\nlíneas\r\n\ndata: x".to_owned()),
            to: Vec::new(),
        };
        let text = String::from_utf8(event(Position(41), &lost).to_vec()).expect("the frame is UTF-8");
        assert_eq!(
            text,
            "id: 41\nevent: lease.lost\ndata: {\"topic\":\"leases\",\"resource\":\"caja:3\",\
             \"at\":\"2025-01-15T10:30:00.007Z\",\"fence\":9,\"by\":\"ana\",\
             \"detail\":\"dos\\nlíneas\\r\\n\\ndata: x\"}\n\n"
        );
    }
}
