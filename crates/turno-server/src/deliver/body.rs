//! The body of a call as JSON: the delivery as a worker would claim it, or the change of a source.

use bytes::Bytes;
use serde::Serialize;
use turno::core::id::{Key, QueueName};
use turno::core::queue::Kind;
use turno::queue::Delivery;
use turno::sync::SyncChange;

use crate::http::{DeliveryView, Payload};

#[derive(Serialize)]
struct PushBody<'a> {
    queue: &'a str,
    #[serde(flatten)]
    delivery: DeliveryView,
}

#[derive(Serialize)]
struct ChangeBody<'a> {
    key: Option<&'a str>,
    action: &'a str,
    revision: i64,
    fence: i64,
    data: Option<Payload>,
}

/// Renders a delivery with the name of its queue.
pub(super) fn render_delivery(queue: &QueueName, kind: Kind, got: Delivery) -> Result<Bytes, serde_json::Error> {
    let pushed = PushBody { queue: queue.as_str(), delivery: DeliveryView::new(kind, got) };
    serde_json::to_vec(&pushed).map(Bytes::from)
}

/// Renders a change of a source.
pub(super) fn render_change(change: &SyncChange) -> Result<Bytes, serde_json::Error> {
    let changed = ChangeBody {
        key: change.key.as_ref().map(Key::as_str),
        action: &change.action,
        revision: change.revision,
        fence: change.fence.0,
        data: change.data.clone().map(Payload),
    };
    serde_json::to_vec(&changed).map(Bytes::from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};
    use turno::core::id::{Fence, ItemId, Lane, QueueId, Seq};
    use turno::core::queue::DeliveryRef;
    use turno::core::time::Time;
    use turno::queue::DeliveryItem;

    #[test]
    fn push_carries_the_queue_and_the_exact_payload() {
        let reference = DeliveryRef { queue: QueueId(1), seq: Seq(2), lane: Some(Lane(3)), size: 1, fence: Fence(4) };
        let id = ItemId::new("m-1").unwrap();
        let payload = r#"{"n": 1.50}"#.into();
        let item = DeliveryItem { id, action: None, payload, attempt: 5, enqueued_at: Time(6_000) };
        let (now, expires_at) = (Time(8_000), Time(9_000));
        let key = Key::new("ana").ok();
        let got = Delivery { reference, key, attempt: 5, revision: 7, now, expires_at, items: vec![item] };
        let body = render_delivery(&QueueName::new("mails").unwrap(), Kind::Lane, got).unwrap();
        let text = String::from_utf8(body.to_vec()).unwrap();
        assert!(text.contains(r#""payload":{"n": 1.50}"#), "{text}");
        let value: Value = serde_json::from_str(&text).unwrap();
        assert_eq!((&value["queue"], &value["key"], &value["fence"]), (&json!("mails"), &json!("ana"), &json!(4)));
        assert_eq!((&value["attempt"], &value["items"][0]["id"]), (&json!(5), &json!("m-1")));
    }
}
