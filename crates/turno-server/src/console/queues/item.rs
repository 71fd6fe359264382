//! One item: what it carries, what happened to it, why it is where it is, and what a person can do about it.

use askama::Template;
use axum::response::Response;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::sync::Arc;
use turno::core::id::{ItemId, Key, QueueName};
use turno::store::QueueRow;
use turno::{ItemRecord, ItemState, Why};

use super::super::form::{Form, given};
use super::super::page::Page;
use super::one::known;
use crate::http::{
    Code, Happened, Path, Problem, queue_audited, queue_managed, queue_payload_may_change, queue_timeline, queue_why,
};

#[derive(Template)]
#[template(path = "queues/item.html")]
struct OneItem {
    page: Page,
    row: Arc<QueueRow>,
    record: ItemRecord,
    state: &'static str,
    why: Why,
    sentence: String,
    payload: String,
    timeline: Vec<Happened>,
}

impl OneItem {
    fn queue_path(&self) -> String {
        format!("/queues/{}", self.page.part(&self.row.name))
    }

    fn key_path(&self, key: &Key) -> String {
        format!("{}/keys/{}", self.queue_path(), self.page.part(key))
    }

    fn act(&self, verb: &str) -> String {
        format!("/console{}/items/{}/{verb}", self.queue_path(), self.page.part(&self.record.body.id))
    }

    /// How what happened looks.
    fn mark(&self, happened: &Happened) -> &'static str {
        match happened.what {
            "failed" | "expired" | "exhausted" => "bad",
            "processed" => "good",
            "handed_out" => "work",
            _ => "",
        }
    }

    fn can_retry(&self) -> bool {
        ["exhausted", "error"].contains(&self.state)
    }

    fn can_cancel(&self) -> bool {
        ["pending", "error", "exhausted"].contains(&self.state)
    }
}

pub(super) async fn show(page: Page, Path((name, id)): Path<(QueueName, ItemId)>) -> Result<Response, Problem> {
    let queue = known(&page, name.clone()).await?;
    let unknown = || Problem::new(Code::NotFound).arg("thing", &id);
    let record = queue.item(id.clone()).await?.ok_or_else(unknown)?;
    let why = queue.why_item(id.clone()).await?.ok_or_else(unknown)?;
    let state: ItemState = record.state(record.now);
    let sentence = queue_why(page.app(), page.language(), &queue, &why).await?;
    let row = queue.row().await?;
    let payload = pretty(&record.body.payload);
    let timeline = queue_timeline(&record, queue_audited(&page.caller()?, &name, &id).await?);
    page.show(|page| OneItem { page, row, record, state: state.as_str(), why, sentence, payload, timeline })
}

/// As people read it; what is no JSON as it is.
fn pretty(payload: &str) -> String {
    let parsed = serde_json::from_str::<serde_json::Value>(payload);
    parsed.and_then(|value| serde_json::to_string_pretty(&value)).unwrap_or_else(|_| payload.to_owned())
}

/// What goes round again, perhaps corrected.
#[derive(Deserialize)]
pub(super) struct Again {
    payload: Option<String>,
    back: Option<String>,
}

pub(super) async fn retry(
    page: Page,
    Path((name, id)): Path<(QueueName, ItemId)>,
    Form(form): Form<Again>,
) -> Response {
    let became = async {
        let queue = known(&page, name.clone()).await?;
        let outcome = match given(form.payload) {
            Some(payload) => {
                queue_payload_may_change(page.app(), &name).await?;
                let wrong = |cause| Problem::new(Code::BadField).field("payload").cause(cause);
                let payload = RawValue::from_string(payload).map_err(wrong)?;
                queue.retry_with(id.clone(), payload.get()).await?
            }
            None => queue.retry(id.clone()).await?,
        };
        queue_managed(&queue, &id, outcome).await?;
        Ok(page.t1("item-retried", "id", &id))
    };
    page.after(form.back.as_deref(), became.await)
}

/// Nothing but where to go back to.
#[derive(Deserialize)]
pub(super) struct Back {
    back: Option<String>,
}

pub(super) async fn cancel(
    page: Page,
    Path((name, id)): Path<(QueueName, ItemId)>,
    Form(form): Form<Back>,
) -> Response {
    let became = async {
        let queue = known(&page, name).await?;
        let outcome = queue.cancel(id.clone()).await?;
        queue_managed(&queue, &id, outcome).await?;
        Ok(page.t1("item-cancelled", "id", &id))
    };
    page.after(form.back.as_deref(), became.await)
}
