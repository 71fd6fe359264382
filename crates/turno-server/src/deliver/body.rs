//! What a call carries: the delivery as a worker would have claimed it, or, for a source, the row as it is now.

use std::pin::Pin;
use std::sync::Arc;

use serde::Serialize;
use serde_json::value::RawValue;
use turno::Got;
use turno::core::id::{Key, QueueName};
use turno::core::queue::Kind;

use crate::http::DeliveryView;

/// What the table of a source says about a key at this moment.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(not(test), expect(dead_code, reason = "tables are read with the next step"))]
pub(crate) enum Now {
    /// This row speaks for it, as JSON.
    Row(Arc<str>),
    /// None does any more.
    Gone,
    /// There is no table to ask: what was enqueued is what is true.
    AsEnqueued,
}

/// Reads a key's row when it is handed out, after the claim was committed: read with it, it could be older than the
/// change that the claim is about.
pub(crate) trait Current: Send + Sync {
    /// The row that speaks for `key` now.
    fn current<'a>(&'a self, key: &'a Key) -> Pin<Box<dyn Future<Output = Result<Now, String>> + Send + 'a>>;
}

/// For a source whose changes are enqueued by applications themselves.
#[derive(Debug)]
pub(crate) struct Enqueued;

impl Current for Enqueued {
    fn current<'a>(&'a self, _key: &'a Key) -> Pin<Box<dyn Future<Output = Result<Now, String>> + Send + 'a>> {
        Box::pin(std::future::ready(Ok(Now::AsEnqueued)))
    }
}

/// What a destination expects.
#[derive(Clone)]
pub(crate) enum Form {
    /// The delivery and its queue.
    Delivery,
    /// A change of a source: what is true now.
    Change(Arc<Change>),
}

/// A source as far as its deliveries need it.
pub(crate) struct Change {
    /// What the destination calls an update.
    pub(crate) update: String,
    /// What it calls a deactivation.
    pub(crate) deactivate: String,
    pub(crate) current: Box<dyn Current>,
}

impl std::fmt::Debug for Form {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Form::Delivery => "Delivery",
            Form::Change(_) => "Change",
        })
    }
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
    /// The body of a call for this delivery.
    pub(crate) async fn body(&self, queue: &QueueName, kind: Kind, got: &Got) -> Result<Vec<u8>, String> {
        match self {
            Form::Delivery => {
                let pushed = Pushed { queue: queue.as_str(), delivery: DeliveryView::new(kind, got.clone()) };
                serde_json::to_vec(&pushed).map_err(|error| format!("failed to write the delivery: {error}"))
            }
            Form::Change(change) => change.body(got).await,
        }
    }
}

impl Change {
    async fn body(&self, got: &Got) -> Result<Vec<u8>, String> {
        let now = match &got.key {
            Some(key) => self.current.current(key).await?,
            None => Now::AsEnqueued,
        };
        let item = got.items.first().ok_or("the delivery is empty")?;
        let (action, data) = match &now {
            Now::Row(row) => (self.update.as_str(), Some(&**row)),
            Now::Gone => (self.deactivate.as_str(), None),
            Now::AsEnqueued => {
                let action = item.action.as_deref().unwrap_or(&self.update);
                (action, Some(&*item.payload).filter(|payload| action != self.deactivate && *payload != "null"))
            }
        };
        let data = data.map(serde_json::from_str::<&RawValue>).transpose();
        let data = data.map_err(|error| format!("what is to be delivered is no JSON: {error}"))?;
        let key = got.key.as_ref().map(Key::as_str);
        let changed = Changed { key, action, revision: got.revision, fence: got.handed.fence.0, data };
        serde_json::to_vec(&changed).map_err(|error| format!("failed to write the change: {error}"))
    }
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

    struct Table(Now);

    impl Current for Table {
        fn current<'a>(&'a self, _key: &'a Key) -> Pin<Box<dyn Future<Output = Result<Now, String>> + Send + 'a>> {
            Box::pin(std::future::ready(Ok(self.0.clone())))
        }
    }

    async fn change(now: Now, got: Got) -> Value {
        let (update, deactivate) = ("ACTUALIZAR".to_owned(), "DESACTIVAR".to_owned());
        let form = Form::Change(Arc::new(Change { update, deactivate, current: Box::new(Table(now)) }));
        let body = form.body(&QueueName::new("users").unwrap(), Kind::Sync, &got).await.unwrap();
        serde_json::from_slice(&body).unwrap()
    }

    #[tokio::test]
    async fn a_push_carries_the_delivery_and_its_queue_and_the_payload_as_it_came() {
        let (queue, got) = (QueueName::new("mails").unwrap(), got(None, r#"{"n": 1.50}"#));
        let body = Form::Delivery.body(&queue, Kind::Lane, &got).await.unwrap();
        let text = String::from_utf8(body).unwrap();
        assert!(text.contains(r#""payload":{"n": 1.50}"#), "{text}");
        let value: Value = serde_json::from_str(&text).unwrap();
        assert_eq!((&value["queue"], &value["key"], &value["fence"]), (&json!("mails"), &json!("ana"), &json!(4)));
        assert_eq!((&value["attempt"], &value["items"][0]["id"]), (&json!(5), &json!("m-1")));
    }

    #[tokio::test]
    async fn a_change_carries_what_the_table_says_now_whatever_was_enqueued() {
        let stale = || got(Some("DESACTIVAR"), r#"{"old":true}"#);
        let row = change(Now::Row(r#"{"nombre":"Ana"}"#.into()), stale()).await;
        let expected =
            json!({"key": "ana", "action": "ACTUALIZAR", "revision": 7, "fence": 4, "data": {"nombre": "Ana"}});
        assert_eq!(row, expected);
        let gone = change(Now::Gone, got(Some("ACTUALIZAR"), r#"{"old":true}"#)).await;
        assert_eq!((&gone["action"], &gone["data"]), (&json!("DESACTIVAR"), &Value::Null));
    }

    #[tokio::test]
    async fn without_a_table_what_was_enqueued_is_what_is_true() {
        let update = change(Now::AsEnqueued, got(None, r#"{"a":1}"#)).await;
        assert_eq!((&update["action"], &update["data"]), (&json!("ACTUALIZAR"), &json!({"a": 1})));
        let gone = change(Now::AsEnqueued, got(Some("DESACTIVAR"), r#"{"a":1}"#)).await;
        assert_eq!((&gone["action"], &gone["data"]), (&json!("DESACTIVAR"), &Value::Null));
    }
}
