//! Putting items into a queue, and signs of typing.

use axum::http::StatusCode;
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;
use turno::core::id::{ItemId, Key, QueueName};
use turno::core::limits::BATCH_MAX;
use turno::core::queue::Accepted;
use turno::core::time::Span;
use turno::{Draft, Error};

use crate::http::caller::Caller;
use crate::http::extract::{Json, Path};
use crate::http::problem::{Code, Problem};

/// An item to be queued.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NewItem {
    /// Accepted once within the queue's retention; made up if there is none.
    #[schema(value_type = Option<String>, max_length = 200)]
    id: Option<ItemId>,
    /// Whose it is; required in lanes and sync queues.
    #[schema(value_type = Option<String>, max_length = 200)]
    key: Option<Key>,
    /// What to do, for receivers that tell actions apart.
    #[schema(max_length = 200)]
    action: Option<String>,
    /// Any JSON, kept and returned as it came.
    #[schema(value_type = serde_json::Value)]
    payload: Box<RawValue>,
    /// Not to be handed out earlier than this.
    #[schema(minimum = 0)]
    delay_ms: Option<i64>,
}

impl From<NewItem> for Draft {
    fn from(item: NewItem) -> Draft {
        let NewItem { id, key, action, payload, delay_ms } = item;
        Draft { id, key, action, payload: payload.get().into(), delay: delay_ms.map_or(Span::ZERO, Span) }
    }
}

/// One item, or many at once: all of them are accepted or none.
#[derive(Debug, utoipa::ToSchema)]
#[schema(untagged)]
pub(super) enum NewItems {
    One(NewItem),
    #[schema(max_items = 1000)]
    Many(Vec<NewItem>),
}

/// By hand, because what serde derives for "either of these" reads everything into memory first: payloads would not
/// stay as they came, and errors would not name the field.
impl<'de> Deserialize<'de> for NewItems {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<NewItems, D::Error> {
        struct OneOrMany;
        impl<'de> Visitor<'de> for OneOrMany {
            type Value = NewItems;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an item, or an array of items")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<NewItems, A::Error> {
                NewItem::deserialize(MapAccessDeserializer::new(map)).map(NewItems::One)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<NewItems, A::Error> {
                Vec::deserialize(SeqAccessDeserializer::new(seq)).map(NewItems::Many)
            }
        }
        deserializer.deserialize_any(OneOrMany)
    }
}

/// What became of one item.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(super) struct AcceptedView {
    /// Of a coalesced one, the id of the item that survives and carries it now.
    id: String,
    /// `queued`, `duplicate` (the id was accepted before) or `coalesced` (it replaced what an unfinished item of its
    /// key carried).
    #[schema(example = "queued")]
    outcome: &'static str,
    /// Of a duplicate: it came with another payload than the one that was accepted.
    #[serde(skip_serializing_if = "Option::is_none")]
    differs: Option<bool>,
}

impl From<(ItemId, Accepted)> for AcceptedView {
    fn from((id, accepted): (ItemId, Accepted)) -> AcceptedView {
        let (id, outcome, differs) = match accepted {
            Accepted::Queued => (id, "queued", None),
            Accepted::Duplicate { differs } => (id, "duplicate", Some(differs)),
            Accepted::Coalesced { id } => (id, "coalesced", None),
        };
        AcceptedView { id: id.to_string(), outcome, differs }
    }
}

/// One result per item, in order.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(super) struct AcceptedAll {
    results: Vec<AcceptedView>,
}

/// Queues one item, or up to 1000 at once, all or none.
#[utoipa::path(post, path = "/v1/queues/{queue}/items", tag = "queues", params(("queue" = String, Path)),
    responses((status = 201, body = AcceptedAll)))]
pub(super) async fn item_add(
    caller: Caller,
    Path(name): Path<QueueName>,
    Json(body): Json<NewItems>,
) -> Result<(StatusCode, Json<AcceptedAll>), Problem> {
    let queue = super::known(&caller, name).await?;
    let (items, many) = match body {
        NewItems::One(item) => (vec![item], false),
        NewItems::Many(items) => (items, true),
    };
    if items.len() > BATCH_MAX {
        let cause = format!("at most {BATCH_MAX} items at once, not {}", items.len());
        return Err(Problem::new(Code::BadBody).cause(cause));
    }
    let drafts = items.into_iter().map(Draft::from).collect();
    let answers = queue.enqueue(drafts).await.map_err(|error| wrong_entry(error, many))?;
    let results = answers.into_iter().map(AcceptedView::from).collect();
    Ok((StatusCode::CREATED, Json(AcceptedAll { results })))
}

/// The library names what it does not accept as `/3/payload: why`; callers read `[3].payload`, or `payload` if they
/// sent one item.
fn wrong_entry(error: Error, many: bool) -> Problem {
    if let Error::Invalid(said) = &error
        && let Some((place, cause)) = said.strip_prefix('/').and_then(|said| said.split_once(": "))
        && let Some((index, field)) = place.split_once('/')
    {
        let field = if many { format!("[{index}].{field}") } else { field.to_owned() };
        return Problem::new(Code::BadField).field(&field).cause(cause);
    }
    error.into()
}

/// Who types.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Typing {
    #[schema(value_type = String, max_length = 200)]
    key: Key,
}

/// It was taken note of.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(super) struct Noted {
    accepted: bool,
}

/// Somebody is typing: a window that is open for this key stays open a little longer.
#[utoipa::path(post, path = "/v1/queues/{queue}/typing", tag = "queues", params(("queue" = String, Path)),
    responses((status = 202, body = Noted)))]
pub(super) async fn typing(
    caller: Caller,
    Path(name): Path<QueueName>,
    Json(body): Json<Typing>,
) -> Result<(StatusCode, Json<Noted>), Problem> {
    super::known(&caller, name).await?.typing(body.key).await?;
    Ok((StatusCode::ACCEPTED, Json(Noted { accepted: true })))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn payloads_stay_as_they_came_whatever_is_in_them() {
        for payload in ["1e400", r#""\u0000""#, "{ \"a\" :1,\"a\": 2 }", "123456789012345678901234567890", "null"] {
            let body = format!(r#"[{{"payload": {payload} }}]"#);
            let Ok(NewItems::Many(items)) = serde_json::from_str(&body) else { panic!("{body} is an array of items") };
            assert_eq!(items[0].payload.get(), payload);
        }
    }

    #[test]
    fn what_the_library_does_not_accept_is_named_as_the_caller_wrote_it() {
        let error = || Error::Invalid("/3/delay_ms: must lie between 0 and a year".to_owned());
        for (many, field) in [(true, "[3].delay_ms"), (false, "delay_ms")] {
            let problem = wrong_entry(error(), many);
            let document = problem.document(&crate::texts::Texts::load(), crate::texts::Language::English, None);
            assert_eq!((&document["code"], &document["field"]), (&"bad_field".into(), &field.into()));
        }
    }
}
