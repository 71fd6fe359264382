//! What a call carries: the delivery as a worker would have claimed it, or, for a source, the row as it is now.

use std::sync::Arc;

use bytes::Bytes;
use serde::Serialize;
use serde_json::value::RawValue;
use turno::core::id::{Key, QueueName};
use turno::core::queue::Kind;
use turno::core::sync::{Say, Source, SourceRefused};
use turno::{Error, Got, GotItem, SyncHandle};

use crate::http::DeliveryView;

/// What a destination expects.
#[derive(Clone, Debug)]
pub(crate) enum Form {
    /// The delivery and its queue.
    Delivery,
    /// A change of a source: what is true now.
    Change(SyncHandle),
}

/// What a call carries.
#[derive(Debug)]
pub(crate) struct Body {
    pub(crate) bytes: Bytes,
    /// Of a change: what the destination knows once it has taken it.
    told: Option<Told>,
}

/// What is said about a key.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Told {
    action: String,
    /// JSON; nothing if no row speaks for the key.
    data: Option<Arc<str>>,
}

/// What the table of a source says about a key at this moment.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Now {
    /// This row speaks for it, as JSON.
    Row(Arc<str>),
    /// None does any more.
    Gone,
    /// Its row has only left, and the destination is not to hear of that.
    Left,
    /// There is no table to ask: what was enqueued is what is true.
    AsEnqueued,
}

#[derive(Serialize)]
struct Pushed<'a> {
    queue: &'a str,
    #[serde(flatten)]
    delivery: DeliveryView,
}

#[derive(Serialize)]
struct Changed<'a> {
    key: Option<&'a str>,
    action: &'a str,
    revision: i64,
    fence: i64,
    data: Option<&'a RawValue>,
}

impl Form {
    /// The body of a call for this delivery; none if there is nothing to be told.
    pub(crate) async fn body(&self, queue: &QueueName, kind: Kind, got: &Got) -> Result<Option<Body>, String> {
        match self {
            Form::Delivery => {
                let pushed = Pushed { queue: queue.as_str(), delivery: DeliveryView::new(kind, got.clone()) };
                let bytes = serde_json::to_vec(&pushed).map_err(|error| format!("failed to write it: {error}"))?;
                Ok(Some(Body { bytes: bytes.into(), told: None }))
            }
            Form::Change(sync) => {
                let now = match &got.key {
                    Some(key) => current(sync, key, got).await?,
                    None => Now::AsEnqueued,
                };
                change(sync.source(), now, got)
            }
        }
    }

    /// Keeps that there was nothing to be told, before it is settled.
    pub(crate) async fn skipped(&self, got: &Got) -> Result<(), Error> {
        match self {
            Form::Change(sync) => sync.skipped(got).await,
            Form::Delivery => Ok(()),
        }
    }

    /// Keeps what the destination has taken, before it is acked.
    pub(crate) async fn taken(&self, got: &Got, body: &Body) -> Result<(), Error> {
        match (self, &body.told) {
            (Form::Change(sync), Some(told)) => sync.delivered(got, &told.action, told.data.as_deref()).await,
            _ => Ok(()),
        }
    }
}

/// Reads a key's row. It is read after the claim was committed: read with it, it could be older than the change that the
/// claim is about.
async fn current(sync: &SyncHandle, key: &Key, got: &Got) -> Result<Now, String> {
    if !sync.has_triggers() {
        return Ok(Now::AsEnqueued);
    }
    match sync.current(key).await {
        Ok(Say::Update(row)) => Ok(Now::Row(row.into())),
        Ok(Say::Deactivate) => Ok(Now::Gone),
        Ok(Say::Nothing) => Ok(Now::Left),
        // Without its table the queue is fed through the API, as it is on SQLite. But a trigger's mark says nothing itself,
        // and a table that is gone for a moment must not look as if all of its rows were.
        Err(Error::Source(SourceRefused::NoTable(_))) if says(got) => Ok(Now::AsEnqueued),
        Err(error) => Err(format!("failed to read the row to be delivered: {error}")),
    }
}

/// Whether an item says what to do.
fn says(got: &Got) -> bool {
    got.items.first().is_some_and(|item| item.action.is_some() || &*item.payload != "null")
}

/// A change as a consumer of their own gets it: with what to do, and the row as it is now. What they got is remembered, so
/// that their ack tells what the destination knows.
///
/// Where there is nothing to be told they get nothing, and that is kept.
pub(crate) async fn filled(sync: &SyncHandle, mut got: Got) -> Result<Option<Got>, String> {
    let Some(key) = got.key.clone() else { return Ok(Some(got)) };
    let now = current(sync, &key, &got).await?;
    let before = got.clone();
    if now != Now::AsEnqueued
        && let Some(item) = got.items.first_mut()
    {
        let Some(Told { action, data }) = told(sync.source(), now, item) else {
            sync.skipped(&before).await.map_err(|error| error.to_string())?;
            return Ok(None);
        };
        sync.handed(&before, &action, data.as_deref()).await.map_err(|error| error.to_string())?;
        (item.action, item.payload) = (Some(action), data.unwrap_or_else(|| "null".into()));
    }
    Ok(Some(got))
}

fn told(source: &Source, now: Now, item: &GotItem) -> Option<Told> {
    Some(match now {
        Now::Left => return None,
        Now::Row(row) => Told { action: source.update.clone(), data: Some(row) },
        Now::Gone => Told { action: source.deactivate.clone(), data: None },
        Now::AsEnqueued => {
            let data = Some(item.payload.clone()).filter(|payload| &**payload != "null");
            let usual = if data.is_some() { &source.update } else { &source.deactivate };
            let action = item.action.clone().unwrap_or_else(|| usual.clone());
            Told { data: data.filter(|_| action != source.deactivate), action }
        }
    })
}

fn change(source: &Source, now: Now, got: &Got) -> Result<Option<Body>, String> {
    let Some(told) = told(source, now, got.items.first().ok_or("the delivery is empty")?) else { return Ok(None) };
    let data = told.data.as_deref().map(serde_json::from_str::<&RawValue>).transpose();
    let data = data.map_err(|error| format!("what is to be delivered is no JSON: {error}"))?;
    let (key, action) = (got.key.as_ref().map(Key::as_str), told.action.as_str());
    let changed = Changed { key, action, revision: got.revision, fence: got.handed.fence.0, data };
    let bytes = serde_json::to_vec(&changed).map_err(|error| format!("failed to write the change: {error}"))?;
    Ok(Some(Body { bytes: bytes.into(), told: Some(told) }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};
    use turno::GotItem;
    use turno::core::id::{Fence, ItemId, Lane, QueueId, Seq};
    use turno::core::queue::Handed;
    use turno::core::time::Time;

    fn got(action: Option<&str>, payload: &str) -> Got {
        let handed = Handed { queue: QueueId(1), seq: Seq(2), lane: Some(Lane(3)), size: 1, fence: Fence(4) };
        let item = GotItem {
            id: ItemId::new("m-1").unwrap(),
            action: action.map(str::to_owned),
            payload: payload.into(),
            attempt: 5,
            enqueued_at: Time(6_000),
        };
        let (now, expires_at) = (Time(8_000), Time(9_000));
        Got { handed, key: Key::new("ana").ok(), attempt: 5, revision: 7, now, expires_at, items: vec![item] }
    }

    fn changed(now: Now, got: &Got) -> Value {
        let body = change(&Source::siper(), now, got).unwrap().unwrap();
        serde_json::from_slice(&body.bytes).unwrap()
    }

    #[tokio::test]
    async fn a_push_carries_the_delivery_and_its_queue_and_the_payload_as_it_came() {
        let (queue, got) = (QueueName::new("mails").unwrap(), got(None, r#"{"n": 1.50}"#));
        let body = Form::Delivery.body(&queue, Kind::Lane, &got).await.unwrap().unwrap();
        let text = String::from_utf8(body.bytes.to_vec()).unwrap();
        assert!(text.contains(r#""payload":{"n": 1.50}"#), "{text}");
        let value: Value = serde_json::from_str(&text).unwrap();
        assert_eq!((&value["queue"], &value["key"], &value["fence"]), (&json!("mails"), &json!("ana"), &json!(4)));
        assert_eq!((&value["attempt"], &value["items"][0]["id"]), (&json!(5), &json!("m-1")));
    }

    #[test]
    fn a_change_carries_what_the_table_says_now_whatever_was_enqueued() {
        let row = changed(Now::Row(r#"{"nombre":"Ana"}"#.into()), &got(Some("DESACTIVAR"), r#"{"old":true}"#));
        let expected =
            json!({"key": "ana", "action": "ACTUALIZAR", "revision": 7, "fence": 4, "data": {"nombre": "Ana"}});
        assert_eq!(row, expected);
        let gone = changed(Now::Gone, &got(Some("ACTUALIZAR"), r#"{"old":true}"#));
        assert_eq!((&gone["action"], &gone["data"]), (&json!("DESACTIVAR"), &Value::Null));
        assert!(change(&Source::siper(), Now::Left, &got(None, "null")).unwrap().is_none());
    }

    #[test]
    fn without_a_table_what_was_enqueued_is_what_is_true() {
        let update = changed(Now::AsEnqueued, &got(None, r#"{"a":1}"#));
        assert_eq!((&update["action"], &update["data"]), (&json!("ACTUALIZAR"), &json!({"a": 1})));
        for gone in [got(Some("DESACTIVAR"), r#"{"a":1}"#), got(None, "null")] {
            let gone = changed(Now::AsEnqueued, &gone);
            assert_eq!((&gone["action"], &gone["data"]), (&json!("DESACTIVAR"), &Value::Null));
        }
        assert!(says(&got(Some("DESACTIVAR"), "null")) && says(&got(None, "1")));
        assert!(!says(&got(None, "null")), "a trigger's mark says nothing itself");
    }
}
