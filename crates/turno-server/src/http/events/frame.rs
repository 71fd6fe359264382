//! An event as it goes over the wire.

use std::fmt::Write;

use bytes::Bytes;
use serde::Serialize;
use turno::core::event::{Event, Topic};
use turno::core::id::{Position, QueueName};
use turno::core::time::Time;

use crate::http::stamp::Stamp;

/// What stands behind `data:`. Members that an event does not have are left out.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(super) struct Data<'a> {
    topic: &'static str,
    /// What it is about: a lease's resource, `task:7`, an item, a queue.
    resource: &'a str,
    /// The key of the item that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<&'a str>,
    at: Stamp,
    /// Of the ownership that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    fence: Option<i64>,
    /// Who did it, or whose ownership it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<&'a str>,
    /// A reason or message for people; for the audit, the action.
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
    block(Some(position), Some(&event.name), &data)
}

/// A queue changed; without a position, because nothing of it is kept.
pub(super) fn changed(queue: &QueueName, topic: Topic, at: Time) -> Bytes {
    let (topic, resource, at) = (topic.as_str(), queue.as_str(), at.into());
    let data = Data { topic, resource, key: None, at, fence: None, by: None, detail: None };
    block(None, Some("queue.changed"), &data)
}

/// Events were left out; it goes on behind `position`.
pub(super) fn reset(position: Position) -> Bytes {
    block(Some(position), Some("reset"), &serde_json::json!({ "position": position.0 }))
}

/// The stream ends, and why: `stopping` or `signed_out`.
pub(super) fn bye(reason: &str) -> Bytes {
    block(None, Some("bye"), &serde_json::json!({ "reason": reason }))
}

/// The first bytes: how soon to come back, and from where, should it end before the first event. Who goes on from
/// somewhere keeps that place until they have heard something: it may be that they must be told of a gap.
pub(super) fn hello(position: Option<Position>) -> Bytes {
    match position {
        Some(position) => format!("retry: 3000\nid: {}\n\n", position.0).into(),
        None => Bytes::from_static(b"retry: 3000\n\n"),
    }
}

/// Nothing happened. It keeps the connection open, and the position fresh of whoever hears only few events: a block
/// without data moves it and is shown to nobody.
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
    // JSON has no line breaks of its own, so one line holds it.
    let _ = write!(text, "data: {}\n\n", serde_json::to_string(data).unwrap_or_default());
    text.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use turno::core::id::{Fence, UserId};

    #[test]
    fn an_event_is_one_block_whatever_its_texts_hold() {
        let told = Event {
            topic: Topic::Leases,
            name: "lease.lost".into(),
            resource: "caja:3".into(),
            key: None,
            at: Time(1_736_937_000_007),
            fence: Some(Fence(9)),
            by: UserId::new("ana").ok(),
            detail: Some("dos\nlíneas\r\n\ndata: x".to_owned()),
        };
        let text = String::from_utf8(event(Position(41), &told).to_vec()).expect("text");
        assert_eq!(
            text,
            "id: 41\nevent: lease.lost\ndata: {\"topic\":\"leases\",\"resource\":\"caja:3\",\
             \"at\":\"2025-01-15T10:30:00.007Z\",\"fence\":9,\"by\":\"ana\",\
             \"detail\":\"dos\\nlíneas\\r\\n\\ndata: x\"}\n\n"
        );
    }
}
