//! Enqueueing items, and typing signals.
//!
//! A call with an `Idempotency-Key` can be repeated. Items without an id then get one that is derived from the key, so
//! that even a crash between the enqueue and its answer does not enqueue them twice.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;
use turno::Error;
use turno::core::fault::{Fault, Invalid};
use turno::core::id::{ItemId, Key, Once, QueueName};
use turno::core::limits::BATCH_MAX;
use turno::core::queue::{Accepted, Kind};
use turno::core::time::Span;
use turno::queue::{Draft, QueueHandle};
use utoipa::openapi::schema::{ArrayBuilder, OneOfBuilder, Schema};
use utoipa::openapi::{Ref, RefOr};
use utoipa::{PartialSchema, ToSchema};

use crate::http::app::{App, Shared};
use crate::http::caller::Caller;
use crate::http::extract::{Json, Path};
use crate::http::idempotency::{Made, Repeatable};
use crate::http::problem::{Code, Problem, bad_field};

/// A new item.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[schema(as = QueueNewItem)]
#[serde(deny_unknown_fields)]
pub(super) struct NewItem {
    /// The item's id, accepted once within the queue's retention. Default: a generated id.
    #[schema(value_type = Option<String>, max_length = 200)]
    id: Option<ItemId>,
    /// What the item belongs to, such as a user or a record. Required in lanes and sync queues.
    #[schema(value_type = Option<String>, max_length = 200)]
    key: Option<Key>,
    /// What to do with the item, for receivers that distinguish actions.
    #[schema(max_length = 200)]
    action: Option<String>,
    /// Any JSON. It is stored and returned exactly as sent.
    #[schema(value_type = serde_json::Value)]
    payload: Box<RawValue>,
    /// How long to wait before the item can be handed out. Default: 0.
    #[schema(minimum = 0)]
    delay_ms: Option<i64>,
}

impl From<NewItem> for Draft {
    fn from(item: NewItem) -> Draft {
        let NewItem { id, key, action, payload, delay_ms } = item;
        Draft { id, key, action, payload: payload.get().into(), delay: delay_ms.map_or(Span::ZERO, Span) }
    }
}

/// One item, or an array of items. All of an array are accepted, or none.
#[derive(Debug)]
pub(super) enum NewItems {
    One(NewItem),
    Many(Vec<NewItem>),
}

impl utoipa::PartialSchema for NewItems {
    fn schema() -> RefOr<Schema> {
        let item = || Ref::from_schema_name(NewItem::name());
        let many = ArrayBuilder::new().items(item()).max_items(Some(BATCH_MAX));
        OneOfBuilder::new().item(item()).item(many).into()
    }
}

impl ToSchema for NewItems {
    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        schemas.push((NewItem::name().into_owned(), NewItem::schema()));
        NewItem::schemas(schemas);
    }
}

/// Implemented by hand, because serde's untagged derive buffers the input: payloads would not keep their exact text,
/// and errors would not name the field.
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

/// The result of one item.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[schema(as = QueueAcceptedItem)]
pub(super) struct AcceptedView {
    /// The item's id. For `coalesced`, the id of the unfinished item that carries the change now.
    id: String,
    /// `queued`, `duplicate` if the id was accepted before, or `coalesced` if it replaced the change that an unfinished
    /// item of its key carried.
    #[schema(example = "queued")]
    outcome: &'static str,
    /// For `duplicate`: true if the key or the payload differs from the accepted item. Payloads are compared as JSON
    /// values.
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

/// One result per item, in the order of the request.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[schema(as = QueueAccepted)]
pub(super) struct AcceptedAll {
    results: Vec<AcceptedView>,
}

/// Enqueues one item, or up to 1000 at once. All of them are accepted, or none.
#[utoipa::path(post, path = "/v1/queues/{queue}/items", tag = "queues", request_body = NewItems,
    params(("queue" = String, Path),
        ("Idempotency-Key" = Option<String>, Header,
            description = "1 to 200 visible characters. Makes the call safe to repeat")),
    responses((status = 201, body = AcceptedAll)))]
pub(super) async fn item_add(
    State(app): State<Shared>,
    caller: Caller,
    Path(name): Path<QueueName>,
    items: Repeatable<NewItems>,
) -> Result<Response, Problem> {
    let here = app.clone();
    items.answer(&app, |items, once| async move { add(&here, &caller, name, items, once).await }).await
}

async fn add(
    app: &App,
    caller: &Caller,
    name: QueueName,
    body: NewItems,
    once: Option<Once>,
) -> Result<Made<AcceptedAll>, Problem> {
    let queue = super::find_queue(caller, name.clone()).await?;
    let (items, many) = match body {
        NewItems::One(item) => (vec![item], false),
        NewItems::Many(items) => (items, true),
    };
    if items.len() > BATCH_MAX {
        return Err(Problem::new(Code::BadBody).cause(Fault::TooMany { max: BATCH_MAX, given: items.len() }));
    }
    let mut drafts: Vec<Draft> = items.into_iter().map(Draft::from).collect();
    normalize_keys(app, &name, &mut drafts).await?;
    let named = once.map_or_else(Vec::new, |once| derive_ids(&name, &once, &mut drafts));
    let keys: Vec<Option<Key>> = drafts.iter().map(|draft| draft.key.clone()).collect();
    let answers = queue.enqueue(drafts).await.map_err(|error| entry_problem(error, many))?;
    let (mut repeated, mut results) = (false, Vec::with_capacity(answers.len()));
    let coalesces = queue.row().await?.policy.kind == Kind::Sync;
    for (index, ((mut id, mut accepted), key)) in answers.into_iter().zip(keys).enumerate() {
        // An id that is derived from the idempotency key was accepted before only by this same call.
        if named.contains(&index) && matches!(accepted, Accepted::Duplicate { .. }) {
            repeated = true;
            accepted = accepted_before(&queue, &id, key).await?;
        } else if coalesces && matches!(accepted, Accepted::Duplicate { .. }) {
            // A duplicate of an absorbed change is answered with the id of the item that absorbed it.
            if let Accepted::Coalesced { id: survivor } = accepted_before(&queue, &id, key).await? {
                id = survivor;
            }
        }
        results.push(AcceptedView::from((id, accepted)));
    }
    Ok(Made { status: StatusCode::CREATED, body: AcceptedAll { results }, repeated })
}

/// Reconstructs the answer of the first call from the stored items.
async fn accepted_before(queue: &QueueHandle, id: &ItemId, key: Option<Key>) -> Result<Accepted, Problem> {
    let Some(key) = key else { return Ok(Accepted::Queued) };
    let absorber = queue.absorber(id.clone(), key).await?;
    Ok(absorber.map_or(Accepted::Queued, |id| Accepted::Coalesced { id }))
}

/// Normalizes the keys of a source's queue to the spelling that its table uses. Refuses a key that the table can never
/// have, because it would be delivered as deactivated.
async fn normalize_keys(app: &App, queue: &QueueName, drafts: &mut [Draft]) -> Result<(), Problem> {
    let Some(sync) = super::source(app, queue) else { return Ok(()) };
    let given: Vec<Key> = drafts.iter().filter_map(|draft| draft.key.clone()).collect();
    let keys = sync.keys(given).await?;
    let keyed = drafts.iter_mut().filter(|draft| draft.key.is_some());
    keyed.zip(keys).for_each(|(draft, key)| draft.key = Some(key));
    Ok(())
}

/// Gives each item without an id one that is derived from the idempotency key and the item's content. The content
/// counts because the key may be used again after its answer is forgotten. Returns the indexes of these items.
fn derive_ids(queue: &QueueName, once: &Once, drafts: &mut [Draft]) -> Vec<usize> {
    let mut named = Vec::new();
    for (index, draft) in drafts.iter_mut().enumerate().filter(|(_, draft)| draft.id.is_none()) {
        let mut hasher = blake3::Hasher::new();
        let key = draft.key.as_ref().map(Key::as_str).unwrap_or_default();
        for part in [once.scope(), once.key(), queue.as_str(), &index.to_string(), key, &draft.payload] {
            hasher.update(&part.len().to_le_bytes()).update(part.as_bytes());
        }
        draft.id = ItemId::new(&hasher.finalize().to_hex()[..32]).ok();
        named.push(index);
    }
    named
}

/// Converts an error of the library to a problem. Callers read `[3].payload`, or `payload` if they sent one item.
fn entry_problem(error: Error, many: bool) -> Problem {
    match error {
        Error::Invalid(Invalid { index: Some(index), field, fault }) if many => {
            bad_field(&format!("[{index}].{field}"), &fault)
        }
        Error::Invalid(Invalid { index: Some(_), field, fault }) => bad_field(field, &fault),
        error => error.into(),
    }
}

/// A typing signal.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[schema(as = QueueTyping)]
#[serde(deny_unknown_fields)]
pub(super) struct TypingBody {
    /// The key whose user is typing.
    #[schema(value_type = String, max_length = 200)]
    key: Key,
}

/// The signal was accepted.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[schema(as = QueueNoted)]
pub(super) struct TypingAccepted {
    accepted: bool,
}

/// Signals that the user of a key is typing, which keeps the key's open window open a little longer.
#[utoipa::path(post, path = "/v1/queues/{queue}/typing", tag = "queues", params(("queue" = String, Path)),
    responses((status = 202, body = TypingAccepted)))]
pub(super) async fn queue_typing(
    caller: Caller,
    Path(name): Path<QueueName>,
    Json(body): Json<TypingBody>,
) -> Result<(StatusCode, Json<TypingAccepted>), Problem> {
    super::find_queue(&caller, name).await?.typing(body.key).await?;
    Ok((StatusCode::ACCEPTED, Json(TypingAccepted { accepted: true })))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn payload_text_is_kept_exactly() {
        for payload in ["1e400", r#""\u0000""#, "{ \"a\" :1,\"a\": 2 }", "123456789012345678901234567890", "null"] {
            let body = format!(r#"[{{"payload": {payload} }}]"#);
            let Ok(NewItems::Many(items)) = serde_json::from_str(&body) else { panic!("{body} is an array of items") };
            assert_eq!(items[0].payload.get(), payload);
        }
    }

    #[test]
    fn derived_ids_depend_on_key_position_and_content() {
        let queue = QueueName::new("mails").expect("valid");
        let drafts = |second: &str| vec![Draft::json("a").expect("json"), Draft::json(second).expect("json")];
        let ids = |key: &str, mut drafts: Vec<Draft>| -> Vec<Option<ItemId>> {
            let once = Once::new("POST /v1/queues/{queue}/items ana", key).expect("valid");
            assert_eq!(derive_ids(&queue, &once, &mut drafts), [0, 1]);
            drafts.into_iter().map(|draft| draft.id).collect()
        };
        let first = ids("k-1", drafts("a"));
        assert_eq!(first, ids("k-1", drafts("a")));
        assert_ne!(first[0], first[1], "two items of one call");
        assert_ne!(first[1], ids("k-1", drafts("b"))[1], "other contents");
        assert_ne!(first[0], ids("k-2", drafts("a"))[0], "another key");
    }

    #[tokio::test]
    async fn repeat_without_a_stored_answer_reports_queued_and_coalesced() {
        let folder = std::env::temp_dir().join(format!("turno-repeat-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("the folder is created");
        let turno = turno::Turno::open(&format!("sqlite:{}/t.db", folder.display())).await.expect("the database opens");
        let policy = turno::queue::Policy::for_kind(turno::queue::Kind::Sync);
        let queue = turno.put_queue("people", policy).await.expect("the queue is created");
        let draft =
            |id| Draft::json(id).and_then(|draft| draft.key("ana")).and_then(|draft| draft.id(id)).expect("valid");
        queue.enqueue(vec![draft("a"), draft("b")]).await.expect("accepted");
        let before = async |id: &str, key: Option<&str>| {
            let key = key.map(|key| Key::new(key).expect("valid"));
            accepted_before(&queue, &ItemId::new(id).expect("valid"), key).await.expect("the answer is known")
        };
        assert_eq!(before("a", Some("ana")).await, Accepted::Queued);
        assert_eq!(before("b", Some("ana")).await, Accepted::Coalesced { id: ItemId::new("a").expect("valid") });
        assert_eq!(before("c", None).await, Accepted::Queued, "an item without a key is never coalesced");
        std::fs::remove_dir_all(&folder).expect("the folder is removed");
    }

    #[test]
    fn refused_field_is_named_as_the_caller_wrote_it() {
        let error = || Error::from(Invalid::new("delay_ms", Fault::OutOfBounds { min: 0, max: 9 }).at(3));
        for (many, field) in [(true, "[3].delay_ms"), (false, "delay_ms")] {
            let problem = entry_problem(error(), many);
            let document = problem.document(&crate::texts::Texts::load(), crate::texts::Language::English, None);
            assert_eq!((&document["code"], &document["field"]), (&"bad_field".into(), &field.into()));
        }
    }
}
