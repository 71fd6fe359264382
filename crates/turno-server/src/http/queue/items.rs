//! Putting items into a queue, and signs of typing.
//!
//! A call with an `Idempotency-Key` is repeatable like any other that creates something. Items without an id of their own
//! then get one that follows from the key, so that not even a crash between the enqueue and its answer queues them twice.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;
use turno::core::id::{ItemId, Key, Once, QueueName};
use turno::core::limits::BATCH_MAX;
use turno::core::queue::{Accepted, Kind};
use turno::core::time::Span;
use turno::{Draft, Error, QueueHandle};
use utoipa::openapi::schema::{ArrayBuilder, OneOfBuilder, Schema};
use utoipa::openapi::{Ref, RefOr};
use utoipa::{PartialSchema, ToSchema};

use crate::http::app::{App, Shared};
use crate::http::caller::Caller;
use crate::http::extract::{Json, Path};
use crate::http::idempotency::{Made, Repeatable};
use crate::http::problem::{Code, Problem, too_deep};

/// An item to be queued.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[schema(as = QueueNewItem)]
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
#[schema(as = QueueAcceptedItem)]
pub(super) struct AcceptedView {
    /// Of a coalesced one, the id of the item that survives and carries it now.
    id: String,
    /// `queued`, `duplicate` (the id was accepted before) or `coalesced` (it replaced what an unfinished item of its
    /// key carried).
    #[schema(example = "queued")]
    outcome: &'static str,
    /// Of a duplicate: it came with another key or another payload than the one that was accepted. Payloads are compared as
    /// JSON values.
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
#[schema(as = QueueAccepted)]
pub(super) struct AcceptedAll {
    results: Vec<AcceptedView>,
}

/// Queues one item, or up to 1000 at once, all or none.
#[utoipa::path(post, path = "/v1/queues/{queue}/items", tag = "queues", request_body = NewItems,
    params(("queue" = String, Path),
        ("Idempotency-Key" = Option<String>, Header, description = "1 to 200 visible characters")),
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
    let queue = super::known(caller, name.clone()).await?;
    let (items, many) = match body {
        NewItems::One(item) => (vec![item], false),
        NewItems::Many(items) => (items, true),
    };
    if items.len() > BATCH_MAX {
        let cause = format!("at most {BATCH_MAX} items at once, not {}", items.len());
        return Err(Problem::new(Code::BadBody).cause(cause));
    }
    let mut drafts: Vec<Draft> = items.into_iter().map(Draft::from).collect();
    keys_of_source(app, &name, &mut drafts).await?;
    let named = once.map_or_else(Vec::new, |once| name_by_key(&name, &once, &mut drafts));
    let keys: Vec<Option<Key>> = drafts.iter().map(|draft| draft.key.clone()).collect();
    let answers = queue.enqueue(drafts).await.map_err(|error| wrong_entry(error, many))?;
    let (mut repeated, mut results) = (false, Vec::with_capacity(answers.len()));
    let coalesces = queue.row().await?.policy.kind == Kind::Sync;
    for (index, ((mut id, mut accepted), key)) in answers.into_iter().zip(keys).enumerate() {
        // An id that follows from the key was accepted before only if this very call was.
        if named.contains(&index) && matches!(accepted, Accepted::Duplicate { .. }) {
            repeated = true;
            accepted = accepted_before(&queue, &id, key).await?;
        } else if coalesces && matches!(accepted, Accepted::Duplicate { .. }) {
            // An id that an item took in is known under that item's.
            if let Accepted::Coalesced { id: survivor } = accepted_before(&queue, &id, key).await? {
                id = survivor;
            }
        }
        results.push(AcceptedView::from((id, accepted)));
    }
    Ok(Made { status: StatusCode::CREATED, body: AcceptedAll { results }, repeated })
}

/// What the first call was answered, from what it left behind.
async fn accepted_before(queue: &QueueHandle, id: &ItemId, key: Option<Key>) -> Result<Accepted, Problem> {
    let Some(key) = key else { return Ok(Accepted::Queued) };
    let absorber = queue.absorber(id.clone(), key).await?;
    Ok(absorber.map_or(Accepted::Queued, |id| Accepted::Coalesced { id }))
}

/// Keys of a source are those of its table: what the table writes otherwise is the same key, and what it can never have would
/// be deactivated for nothing.
async fn keys_of_source(app: &App, queue: &QueueName, drafts: &mut [Draft]) -> Result<(), Problem> {
    let Some(sync) = super::source(app, queue) else { return Ok(()) };
    let given: Vec<Key> = drafts.iter().filter_map(|draft| draft.key.clone()).collect();
    let keys = sync.keys(given).await?;
    let keyed = drafts.iter_mut().filter(|draft| draft.key.is_some());
    keyed.zip(keys).for_each(|(draft, key)| draft.key = Some(key));
    Ok(())
}

/// Gives items without an id one that follows from the call's key, and from what they carry: if the key is used again
/// long after its answer is forgotten, only the same item counts as the same. Answers which ones they are.
fn name_by_key(queue: &QueueName, once: &Once, drafts: &mut [Draft]) -> Vec<usize> {
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
    if let Error::TooDeep { place } = &error
        && let Some((index, field)) = place.trim_start_matches('/').split_once('/')
    {
        return too_deep(&if many { format!("[{index}].{field}") } else { field.to_owned() });
    }
    error.into()
}

/// Who types.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[schema(as = QueueTyping)]
#[serde(deny_unknown_fields)]
pub(super) struct Typing {
    #[schema(value_type = String, max_length = 200)]
    key: Key,
}

/// It was taken note of.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[schema(as = QueueNoted)]
pub(super) struct Noted {
    accepted: bool,
}

/// Somebody is typing: a window that is open for this key stays open a little longer.
#[utoipa::path(post, path = "/v1/queues/{queue}/typing", tag = "queues", params(("queue" = String, Path)),
    responses((status = 202, body = Noted)))]
pub(super) async fn queue_typing(
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
    fn items_without_an_id_are_told_apart_by_key_place_and_contents() {
        let queue = QueueName::new("mails").expect("valid");
        let drafts = |second: &str| vec![Draft::json("a").expect("json"), Draft::json(second).expect("json")];
        let ids = |key: &str, mut drafts: Vec<Draft>| -> Vec<Option<ItemId>> {
            let once = Once::new("POST /v1/queues/{queue}/items ana", key).expect("valid");
            assert_eq!(name_by_key(&queue, &once, &mut drafts), [0, 1]);
            drafts.into_iter().map(|draft| draft.id).collect()
        };
        let first = ids("k-1", drafts("a"));
        assert_eq!(first, ids("k-1", drafts("a")));
        assert_ne!(first[0], first[1], "two items of one call");
        assert_ne!(first[1], ids("k-1", drafts("b"))[1], "other contents");
        assert_ne!(first[0], ids("k-2", drafts("a"))[0], "another key");
    }

    #[tokio::test]
    async fn a_repeat_whose_answer_is_lost_tells_what_was_queued_from_what_was_taken_in() {
        let folder = std::env::temp_dir().join(format!("turno-repeat-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let turno = turno::Turno::open(&format!("sqlite:{}/t.db", folder.display())).await.expect("opens");
        let policy = turno::Policy::of(turno::Kind::Sync);
        let queue = turno.put_queue("people", policy).await.expect("made");
        let draft =
            |id| Draft::json(id).and_then(|draft| draft.key("ana")).and_then(|draft| draft.id(id)).expect("valid");
        queue.enqueue(vec![draft("a"), draft("b")]).await.expect("accepted");
        let before = async |id: &str, key: Option<&str>| {
            let key = key.map(|key| Key::new(key).expect("valid"));
            accepted_before(&queue, &ItemId::new(id).expect("valid"), key).await.expect("known")
        };
        assert_eq!(before("a", Some("ana")).await, Accepted::Queued);
        assert_eq!(before("b", Some("ana")).await, Accepted::Coalesced { id: ItemId::new("a").expect("valid") });
        assert_eq!(before("c", None).await, Accepted::Queued, "what has no key is never taken in");
        std::fs::remove_dir_all(&folder).expect("removed");
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
