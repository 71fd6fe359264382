//! The body of a call: the delivery as a worker would claim it, or for a source the current row.

use std::sync::Arc;

use bytes::Bytes;
use serde::Serialize;
use serde_json::value::RawValue;
use turno::core::id::{Key, QueueName};
use turno::core::queue::Kind;
use turno::core::sync::{Outgoing, Source, SourceRefused};
use turno::{Delivery, DeliveryItem, Error, SyncHandle};

use crate::http::DeliveryView;

/// What a destination expects.
#[derive(Clone, Debug)]
pub(crate) enum Form {
    /// The delivery with the name of its queue.
    Delivery,
    /// A change of a source, with the current row.
    Change(SyncHandle),
}

/// The body of a call.
#[derive(Debug)]
pub(crate) struct Body {
    pub(crate) bytes: Bytes,
    /// For a change: what the destination knows once it has accepted the call.
    content: Option<Content>,
}

/// The content of a change.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Content {
    action: String,
    /// The row as JSON. `None` if the key has no current row.
    data: Option<Arc<str>>,
}

/// What a source's table says about a key now.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Current {
    /// The key's current row, as JSON.
    Row(Arc<str>),
    /// The key has no current row.
    Gone,
    /// The row only stopped taking part, and the source does not report that.
    Left,
    /// There is no table to read, so the enqueued payload is current.
    AsEnqueued,
}

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
    data: Option<&'a RawValue>,
}

impl Form {
    /// Builds the body of a call for this delivery. Returns `None` if there is nothing to send.
    pub(crate) async fn body(&self, queue: &QueueName, kind: Kind, got: &Delivery) -> Result<Option<Body>, String> {
        match self {
            Form::Delivery => {
                let pushed = PushBody { queue: queue.as_str(), delivery: DeliveryView::new(kind, got.clone()) };
                let bytes = serde_json::to_vec(&pushed).map_err(|error| format!("failed to write it: {error}"))?;
                Ok(Some(Body { bytes: bytes.into(), content: None }))
            }
            Form::Change(sync) => {
                let now = match &got.key {
                    Some(key) => current(sync, key, got).await?,
                    None => Current::AsEnqueued,
                };
                change(sync.source(), now, got)
            }
        }
    }

    /// Stores that there was nothing to send, before the delivery is settled.
    pub(crate) async fn note_skipped(&self, got: &Delivery) -> Result<(), Error> {
        match self {
            Form::Change(sync) => sync.skipped(got).await,
            Form::Delivery => Ok(()),
        }
    }

    /// Stores what the destination has accepted, before the delivery is acked.
    pub(crate) async fn note_delivered(&self, got: &Delivery, body: &Body) -> Result<(), Error> {
        match (self, &body.content) {
            (Form::Change(sync), Some(content)) => sync.delivered(got, &content.action, content.data.as_deref()).await,
            _ => Ok(()),
        }
    }
}

/// Reads the row of a key. This happens after the claim has committed: a row read together with the claim could be
/// older than the change that the claim is about.
async fn current(sync: &SyncHandle, key: &Key, got: &Delivery) -> Result<Current, String> {
    if !sync.has_triggers() {
        return Ok(Current::AsEnqueued);
    }
    match sync.current(key).await {
        Ok(Outgoing::Update(row)) => Ok(Current::Row(row.into())),
        Ok(Outgoing::Deactivate) => Ok(Current::Gone),
        Ok(Outgoing::Nothing) => Ok(Current::Left),
        // Without its table the queue gets its changes through the API, as on SQLite. But a trigger's mark has no
        // content, and a table that is missing for a moment must not look as if all its rows were deleted.
        Err(Error::Source(SourceRefused::NoTable(_))) if has_content(got) => Ok(Current::AsEnqueued),
        Err(error) => Err(format!("failed to read the row to be delivered: {error}")),
    }
}

/// Returns whether the item has an action or a payload of its own.
fn has_content(got: &Delivery) -> bool {
    got.items.first().is_some_and(|item| item.action.is_some() || &*item.payload != "null")
}

/// Fills a claimed change with its action and the current row, for a worker outside Turno. Stores what was handed out,
/// so that the worker's ack tells what the destination knows.
///
/// If there is nothing to send, stores that and returns `None`.
pub(crate) async fn fill_with_row(sync: &SyncHandle, mut got: Delivery) -> Result<Option<Delivery>, String> {
    let Some(key) = got.key.clone() else { return Ok(Some(got)) };
    let now = current(sync, &key, &got).await?;
    let before = got.clone();
    if now != Current::AsEnqueued
        && let Some(item) = got.items.first_mut()
    {
        let Some(Content { action, data }) = content_of(sync.source(), now, item) else {
            sync.skipped(&before).await.map_err(|error| error.to_string())?;
            return Ok(None);
        };
        sync.reference(&before, &action, data.as_deref()).await.map_err(|error| error.to_string())?;
        (item.action, item.payload) = (Some(action), data.unwrap_or_else(|| "null".into()));
    }
    Ok(Some(got))
}

fn content_of(source: &Source, now: Current, item: &DeliveryItem) -> Option<Content> {
    Some(match now {
        Current::Left => return None,
        Current::Row(row) => Content { action: source.update.clone(), data: Some(row) },
        Current::Gone => Content { action: source.deactivate.clone(), data: None },
        Current::AsEnqueued => {
            let data = Some(item.payload.clone()).filter(|payload| &**payload != "null");
            let usual = if data.is_some() { &source.update } else { &source.deactivate };
            let action = item.action.clone().unwrap_or_else(|| usual.clone());
            Content { data: data.filter(|_| action != source.deactivate), action }
        }
    })
}

fn change(source: &Source, now: Current, got: &Delivery) -> Result<Option<Body>, String> {
    let Some(content) = content_of(source, now, got.items.first().ok_or("the delivery is empty")?) else {
        return Ok(None);
    };
    let data = content.data.as_deref().map(serde_json::from_str::<&RawValue>).transpose();
    let data = data.map_err(|error| format!("what is to be delivered is no JSON: {error}"))?;
    let (key, action) = (got.key.as_ref().map(Key::as_str), content.action.as_str());
    let changed = ChangeBody { key, action, revision: got.revision, fence: got.reference.fence.0, data };
    let bytes = serde_json::to_vec(&changed).map_err(|error| format!("failed to write the change: {error}"))?;
    Ok(Some(Body { bytes: bytes.into(), content: Some(content) }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};
    use turno::DeliveryItem;
    use turno::core::id::{Fence, ItemId, Lane, QueueId, Seq};
    use turno::core::queue::DeliveryRef;
    use turno::core::time::Time;

    fn delivery(action: Option<&str>, payload: &str) -> Delivery {
        let reference = DeliveryRef { queue: QueueId(1), seq: Seq(2), lane: Some(Lane(3)), size: 1, fence: Fence(4) };
        let item = DeliveryItem {
            id: ItemId::new("m-1").unwrap(),
            action: action.map(str::to_owned),
            payload: payload.into(),
            attempt: 5,
            enqueued_at: Time(6_000),
        };
        let (now, expires_at) = (Time(8_000), Time(9_000));
        Delivery { reference, key: Key::new("ana").ok(), attempt: 5, revision: 7, now, expires_at, items: vec![item] }
    }

    fn changed(now: Current, got: &Delivery) -> Value {
        let body = change(&Source::siper(), now, got).unwrap().unwrap();
        serde_json::from_slice(&body.bytes).unwrap()
    }

    #[tokio::test]
    async fn push_carries_the_queue_and_the_exact_payload() {
        let (queue, got) = (QueueName::new("mails").unwrap(), delivery(None, r#"{"n": 1.50}"#));
        let body = Form::Delivery.body(&queue, Kind::Lane, &got).await.unwrap().unwrap();
        let text = String::from_utf8(body.bytes.to_vec()).unwrap();
        assert!(text.contains(r#""payload":{"n": 1.50}"#), "{text}");
        let value: Value = serde_json::from_str(&text).unwrap();
        assert_eq!((&value["queue"], &value["key"], &value["fence"]), (&json!("mails"), &json!("ana"), &json!(4)));
        assert_eq!((&value["attempt"], &value["items"][0]["id"]), (&json!(5), &json!("m-1")));
    }

    #[test]
    fn change_carries_the_current_row() {
        let row = changed(Current::Row(r#"{"nombre":"Ana"}"#.into()), &delivery(Some("DESACTIVAR"), r#"{"old":true}"#));
        let expected =
            json!({"key": "ana", "action": "ACTUALIZAR", "revision": 7, "fence": 4, "data": {"nombre": "Ana"}});
        assert_eq!(row, expected);
        let gone = changed(Current::Gone, &delivery(Some("ACTUALIZAR"), r#"{"old":true}"#));
        assert_eq!((&gone["action"], &gone["data"]), (&json!("DESACTIVAR"), &Value::Null));
        assert!(change(&Source::siper(), Current::Left, &delivery(None, "null")).unwrap().is_none());
    }

    #[test]
    fn change_without_a_table_carries_the_enqueued_payload() {
        let update = changed(Current::AsEnqueued, &delivery(None, r#"{"a":1}"#));
        assert_eq!((&update["action"], &update["data"]), (&json!("ACTUALIZAR"), &json!({"a": 1})));
        for gone in [delivery(Some("DESACTIVAR"), r#"{"a":1}"#), delivery(None, "null")] {
            let gone = changed(Current::AsEnqueued, &gone);
            assert_eq!((&gone["action"], &gone["data"]), (&json!("DESACTIVAR"), &Value::Null));
        }
        assert!(has_content(&delivery(Some("DESACTIVAR"), "null")) && has_content(&delivery(None, "1")));
        assert!(!has_content(&delivery(None, "null")), "a trigger's mark has no content");
    }
}
