//! Explains why an item or a key is not running, or who runs it, as a code for programs and a sentence for people.

use axum::Extension;
use axum::extract::State;
use fluent_bundle::FluentArgs;
use serde::Serialize;
use turno::core::destination::Destination;
use turno::core::id::{ItemId, Key, QueueName};
use turno::core::queue::{ItemState, WorkerName};
use turno::core::time::Time;
use turno::queue::{ItemQuery, QueueHandle, Why, WhyReason};

use super::look;
use crate::http::app::{App, Shared};
use crate::http::caller::Caller;
use crate::http::extract::{Json, Path};
use crate::http::problem::Problem;
use crate::http::stamp::Stamp;
use crate::texts::{Language, Texts};

/// How much of an error a sentence repeats. The item has all of it.
const ERROR_SHOWN: usize = 200;

/// Why an item or a key is not running, or who runs it.
#[derive(Debug, Serialize, utoipa::ToSchema)]
#[schema(as = Why)]
pub(super) struct WhyView {
    /// True if a worker has it.
    running: bool,
    /// `running`, `completing`, `ready`, `empty`, `paused`, `window_open`, `delayed`, `retry_later`, `behind_in_flight`,
    /// `behind_head`, `lane_held`, `damaged`, `exhausted`, `processed`, `cancelled` or `destination_down`.
    #[schema(example = "window_open")]
    reason: &'static str,
    /// The reason as a sentence, in the language of `Accept-Language`.
    detail: String,
    /// The item that the answer is about. For a key, its first unfinished item.
    item: Option<String>,
    /// The key.
    key: Option<String>,
    /// The number of counted attempts so far.
    attempt: u32,
    /// The item that this one waits for.
    behind: Option<String>,
    /// The process that has this item, or the item that it waits for.
    instance: Option<String>,
    /// The user of that process.
    user: Option<String>,
    /// The fence of the live delivery.
    fence: Option<i64>,
    /// Since when the item is in this state.
    since: Option<Stamp>,
    /// When this state ends, unless something happens first.
    until: Option<Stamp>,
    /// The error of the last attempt.
    error: Option<String>,
}

/// The parts of a reason that the sentence and the JSON use.
#[derive(Debug, Default)]
struct Parts<'a> {
    behind: Option<&'a ItemId>,
    taker: Option<&'a WorkerName>,
    fence: Option<i64>,
    since: Option<Time>,
    until: Option<Time>,
    error: Option<&'a str>,
}

fn parts(reason: &WhyReason) -> Parts<'_> {
    let none = Parts::default();
    match reason {
        WhyReason::Running { taker, fence, since, expires_at } => {
            let (since, until) = (Some(*since), Some(*expires_at));
            Parts { taker: taker.as_ref(), fence: Some(fence.0), since, until, ..none }
        }
        WhyReason::Completing { taker, fence, since } => {
            Parts { taker: taker.as_ref(), fence: Some(fence.0), since: Some(*since), ..none }
        }
        WhyReason::BehindInFlight { id, taker, fence, since, expires_at } => {
            let (since, until) = (Some(*since), Some(*expires_at));
            Parts { behind: Some(id), taker: taker.as_ref(), fence: Some(fence.0), since, until, ..none }
        }
        WhyReason::WindowOpen { until } | WhyReason::Delayed { until } => Parts { until: Some(*until), ..none },
        WhyReason::RetryLater { until, error, .. } => Parts { until: Some(*until), error: error.as_deref(), ..none },
        WhyReason::BehindHead { id } | WhyReason::LaneHeld { id } => Parts { behind: Some(id), ..none },
        WhyReason::Exhausted { error } => Parts { error: error.as_deref(), ..none },
        WhyReason::Processed { at } | WhyReason::Cancelled { at } => Parts { since: Some(*at), ..none },
        WhyReason::Paused | WhyReason::Damaged | WhyReason::Ready | WhyReason::Empty => none,
    }
}

/// Returns the item that this one waits for.
pub(super) fn behind(reason: &WhyReason) -> Option<&ItemId> {
    parts(reason).behind
}

/// Renders the reason as a sentence.
pub(super) fn sentence(texts: &Texts, language: Language, why: &Why) -> String {
    let Parts { behind, taker, since, until, error, .. } = parts(&why.reason);
    let translate =
        |id: &str| texts.find(language, id, &FluentArgs::new()).map(|text| text.into_owned()).unwrap_or_default();
    let mut args = FluentArgs::new();
    args.set("key", why.key.as_ref().map(Key::as_str).unwrap_or_default());
    let attempt = match why.reason {
        WhyReason::RetryLater { attempt, .. } => attempt,
        _ => why.attempt,
    };
    args.set("attempt", attempt);
    args.set("behind", behind.map(ItemId::as_str).unwrap_or_default());
    args.set("instance", taker.map_or_else(|| translate("why-a-process"), ToString::to_string));
    args.set("error", error.map_or_else(|| translate("why-no_error"), shortened));
    args.set("ago", since.map(|since| texts.span(language, since.until(why.now))).unwrap_or_default());
    args.set("left", until.map(|until| texts.span(language, why.now.until(until))).unwrap_or_default());
    let id = format!("why-{}", why.reason.code());
    texts.find(language, &id, &args).map_or_else(|| why.reason.code().to_owned(), |text| text.into_owned())
}

fn shortened(error: &str) -> String {
    match error.char_indices().nth(ERROR_SHOWN) {
        Some((end, _)) => format!("{}…", &error[..end]),
        None => error.to_owned(),
    }
}

impl WhyView {
    fn new(texts: &Texts, language: Language, why: Why) -> WhyView {
        let detail = sentence(texts, language, &why);
        let parts = parts(&why.reason);
        WhyView {
            running: why.running,
            reason: why.reason.code(),
            detail,
            attempt: why.attempt,
            behind: parts.behind.map(ToString::to_string),
            instance: parts.taker.map(|taker| taker.instance().to_owned()),
            user: parts.taker.and_then(WorkerName::user).map(str::to_owned),
            fence: parts.fence,
            since: parts.since.map(Stamp),
            until: parts.until.map(Stamp),
            error: parts.error.map(str::to_owned),
            item: why.item.map(String::from),
            key: why.key.map(String::from),
        }
    }
}

/// An outage of a destination.
struct Outage {
    destination: Destination,
    since: Time,
}

/// Returns the outage that the item waits for: its queue is pushed, its destination is down, and nothing else holds the
/// item back for longer.
async fn find_outage(app: &App, queue: &QueueHandle, why: &Why) -> Result<Option<Outage>, Problem> {
    let until = match why.reason {
        WhyReason::Ready => why.now,
        WhyReason::RetryLater { until, .. } | WhyReason::Delayed { until } => until,
        _ => return Ok(None),
    };
    if app.deliveries.endpoint(&*queue.row().await?).is_none() {
        return Ok(None);
    }
    let down = queue.destination().await?.and_then(|row| row.down_at.map(|since| Outage { destination: row, since }));
    Ok(down.filter(|down| until == why.now || until < down.destination.probe_at))
}

impl Outage {
    fn sentence(&self, texts: &Texts, language: Language, now: Time) -> String {
        let mut args = FluentArgs::new();
        args.set("ago", texts.span(language, self.since.until(now)));
        args.set("left", texts.span(language, now.until(self.destination.probe_at)));
        args.set("error", shortened(&self.destination.error));
        texts.find(language, "why-destination_down", &args).map(|text| text.into_owned()).unwrap_or_default()
    }
}

/// Renders the sentence, including an outage of the queue's destination.
pub(crate) async fn explained(
    app: &App,
    language: Language,
    queue: &QueueHandle,
    why: &Why,
) -> Result<String, Problem> {
    Ok(match find_outage(app, queue, why).await? {
        Some(down) => down.sentence(&app.texts, language, why.now),
        None => match only_exhausted(app, language, queue, why).await? {
            Some(sentence) => sentence,
            None => sentence(&app.texts, language, why),
        },
    })
}

/// Returns the sentence for a key with no work left except exhausted items, which wait for a person's decision.
async fn only_exhausted(
    app: &App,
    language: Language,
    queue: &QueueHandle,
    why: &Why,
) -> Result<Option<String>, Problem> {
    if why.reason != WhyReason::Empty || why.key.is_none() {
        return Ok(None);
    }
    let query = ItemQuery { state: Some(ItemState::Exhausted), key: why.key.clone(), limit: 1, ..ItemQuery::listed() };
    if queue.items(query).await?.is_empty() {
        return Ok(None);
    }
    let mut args = FluentArgs::new();
    args.set("key", why.key.as_ref().map(Key::as_str).unwrap_or_default());
    Ok(app.texts.find(language, "why-only_exhausted", &args).map(|text| text.into_owned()))
}

async fn to_view(app: &App, language: Language, queue: &QueueHandle, why: Why) -> Result<WhyView, Problem> {
    let Some(down) = find_outage(app, queue, &why).await? else {
        let detail = only_exhausted(app, language, queue, &why).await?;
        let view = WhyView::new(&app.texts, language, why);
        return Ok(match detail {
            Some(detail) => WhyView { detail, ..view },
            None => view,
        });
    };
    let detail = down.sentence(&app.texts, language, why.now);
    Ok(WhyView {
        reason: "destination_down",
        detail,
        since: Some(Stamp(down.since)),
        until: Some(Stamp(down.destination.probe_at)),
        error: Some(down.destination.error),
        ..WhyView::new(&app.texts, language, why)
    })
}

/// Explains why an item is not running, or who runs it.
#[utoipa::path(get, path = "/v1/queues/{queue}/items/{id}/why", tag = "queues",
    params(("queue" = String, Path), ("id" = String, Path)), responses((status = 200, body = WhyView)))]
pub(super) async fn item_why(
    State(app): State<Shared>,
    Extension(language): Extension<Language>,
    caller: Caller,
    Path((name, id)): Path<(QueueName, ItemId)>,
) -> Result<Json<WhyView>, Problem> {
    let queue = super::find_queue(&caller, name).await?;
    let why = queue.why_item(id.clone()).await?.ok_or_else(|| look::unknown(&id))?;
    to_view(&app, language, &queue, why).await.map(Json)
}

/// Explains why nothing of a key is running, or who runs it.
#[utoipa::path(get, path = "/v1/queues/{queue}/keys/{key}/why", tag = "queues",
    params(("queue" = String, Path), ("key" = String, Path)), responses((status = 200, body = WhyView)))]
pub(super) async fn key_why(
    State(app): State<Shared>,
    Extension(language): Extension<Language>,
    caller: Caller,
    Path((name, key)): Path<(QueueName, Key)>,
) -> Result<Json<WhyView>, Problem> {
    let queue = super::find_queue(&caller, name).await?;
    let why = queue.why_key(key).await?;
    to_view(&app, language, &queue, why).await.map(Json)
}

#[cfg(test)]
mod tests {
    use super::*;
    use turno::core::id::Fence;

    fn id() -> ItemId {
        ItemId::new("m-7").expect("valid")
    }

    fn every_reason() -> Vec<WhyReason> {
        let (taker, fence) = (Some(WorkerName::from("bot-2")), Fence(41));
        let (since, expires_at, until) = (Time(1_000), Time(12_000), Time(7_000));
        let error = Some("no route".to_owned());
        vec![
            WhyReason::Running { taker: taker.clone(), fence, since, expires_at },
            WhyReason::Completing { taker: taker.clone(), fence, since },
            WhyReason::Paused,
            WhyReason::WindowOpen { until },
            WhyReason::Delayed { until },
            WhyReason::RetryLater { until, attempt: 2, error: error.clone() },
            WhyReason::BehindInFlight { id: id(), taker, fence, since, expires_at },
            WhyReason::BehindHead { id: id() },
            WhyReason::LaneHeld { id: id() },
            WhyReason::Exhausted { error },
            WhyReason::Processed { at: since },
            WhyReason::Cancelled { at: since },
            WhyReason::Damaged,
            WhyReason::Ready,
            WhyReason::Empty,
        ]
    }

    fn why(reason: WhyReason) -> Why {
        let key = Key::new("ana").expect("valid");
        Why { running: false, reason, now: Time(4_000), item: Some(id()), key: Some(key), attempt: 2 }
    }

    #[test]
    fn every_reason_has_a_sentence_in_both_languages() {
        let texts = Texts::load();
        for reason in every_reason() {
            let why = why(reason);
            for language in [Language::Spanish, Language::English] {
                let text = sentence(&texts, language, &why);
                assert!(text.contains(' ') && !text.contains(['{', '$']), "{}: {text}", why.reason.code());
            }
        }
    }

    #[test]
    fn durations_are_rendered_in_words() {
        let texts = Texts::load();
        for (ms, spanish, english) in [
            (0, "menos de un segundo", "less than a second"),
            (1_200, "1 segundo", "1 second"),
            (7_000, "7 segundos", "7 seconds"),
            (100_000, "2 minutos", "2 minutes"),
            (7_200_000, "2 horas", "2 hours"),
            (259_200_000, "3 días", "3 days"),
        ] {
            assert_eq!(texts.span(Language::Spanish, turno::core::time::Span(ms)), spanish);
            assert_eq!(texts.span(Language::English, turno::core::time::Span(ms)), english);
        }
        let retry = why(WhyReason::RetryLater { until: Time(7_000), attempt: 2, error: Some("no route".to_owned()) });
        let text = sentence(&texts, Language::Spanish, &retry);
        assert!(text.contains("3 segundos") && text.contains("no route"), "{text}");
        let unread = WhyReason::RetryLater { until: Time(7_000), attempt: 0, error: Some("no route".to_owned()) };
        let none = sentence(&texts, Language::Spanish, &Why { reason: unread, ..retry });
        assert!(none.starts_with("No se pudo ni intentar") && !none.contains("(0)"), "{none}");
    }

    #[test]
    fn long_error_is_cut_between_characters() {
        assert_eq!(shortened(&"ñ".repeat(300)).chars().count(), ERROR_SHOWN + 1);
        assert_eq!(shortened("corto"), "corto");
    }
}
