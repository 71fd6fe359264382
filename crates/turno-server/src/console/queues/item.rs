//! The page of an item: payload, history, why it is not running, and the forms to retry or cancel it.

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::sync::Arc;
use turno::core::id::{ItemId, Key, QueueName};
use turno::core::queue::Kind;
use turno::queue::{ItemRecord, Why};
use turno::store::QueueRow;

use super::super::form::Form;
use super::super::page::Page;
use super::Act;
use super::page::open_queue;
use crate::http::{
    Code, Happened, Path, Problem, queue_audited, queue_managed, queue_payload_may_change, queue_timeline, queue_why,
    syntax_message,
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
    /// A refused correction, rendered again.
    correcting: Option<Correcting>,
}

/// A refused correction: the typed text and the error. The text is kept so that nothing is lost.
struct Correcting {
    typed: String,
    wrong: String,
}

impl OneItem {
    fn queue_path(&self) -> String {
        format!("/queues/{}", self.page.part(&self.row.name))
    }

    fn key_path(&self, key: &Key) -> String {
        format!("{}/keys/{}", self.queue_path(), self.page.part(key))
    }

    fn path(&self) -> String {
        format!("{}/items/{}", self.queue_path(), self.page.part(&self.record.body.id))
    }

    fn act(&self, verb: &str) -> String {
        format!("/console{}/{verb}", self.path())
    }

    /// Returns the action, for items that have one.
    fn action(&self) -> Option<Act> {
        let told = self.row.policy.kind == Kind::Sync || self.record.body.action.is_some();
        told.then(|| Act::from_record(&self.record, &self.page))
    }

    /// Returns the tone of an entry in the history.
    fn mark(&self, happened: &Happened) -> &'static str {
        match happened.what {
            "failed" | "expired" | "exhausted" => "bad",
            "processed" => "good",
            "handed_out" => "work",
            _ => "",
        }
    }

    /// Returns whether the worker failed the item as final, before its attempts were used up.
    fn gave_up(&self) -> bool {
        self.state == "exhausted" && self.record.attempts() < self.row.policy.max_attempts
    }

    fn can_retry(&self) -> bool {
        ["exhausted", "error"].contains(&self.state)
    }

    fn can_cancel(&self) -> bool {
        let live = self.record.hand_out().is_some_and(|hand_out| hand_out.expires_at.is_some());
        !live && ["pending", "error", "exhausted"].contains(&self.state)
    }
}

pub(super) async fn show(page: Page, Path((name, id)): Path<(QueueName, ItemId)>) -> Result<Response, Problem> {
    render(page, StatusCode::OK, name, id, None).await
}

async fn render(
    page: Page,
    status: StatusCode,
    name: QueueName,
    id: ItemId,
    correcting: Option<Correcting>,
) -> Result<Response, Problem> {
    let queue = open_queue(&page, name.clone()).await?;
    let unknown = || Problem::new(Code::NotFound).arg("thing", &id);
    let record = queue.item(id.clone()).await?.ok_or_else(unknown)?;
    let why = queue.why_item(id.clone()).await?.ok_or_else(unknown)?;
    let state = record.state(record.now).as_str();
    let sentence = queue_why(page.app(), page.language(), &queue, &why).await?;
    let row = queue.row().await?;
    let payload = pretty(&record.body.payload);
    let timeline = queue_timeline(&record, queue_audited(&page.caller()?, &name, &record).await?);
    page.show_as(status, |page| OneItem { page, row, record, state, why, sentence, payload, timeline, correcting })
}

/// Indents a JSON payload. Returns other text unchanged.
fn pretty(payload: &str) -> String {
    let parsed = serde_json::from_str::<serde_json::Value>(payload);
    parsed.and_then(|value| serde_json::to_string_pretty(&value)).unwrap_or_else(|_| payload.to_owned())
}

/// The fields of a retry, with a corrected payload if there is one.
#[derive(Deserialize)]
pub(super) struct Retry {
    payload: Option<String>,
    back: Option<String>,
    /// The item's name on the page where the form is, if it is not the id.
    called: Option<String>,
}

pub(super) async fn retry(
    page: Page,
    Path((name, id)): Path<(QueueName, ItemId)>,
    Form(form): Form<Retry>,
) -> Result<Response, Problem> {
    let outcome = retry_item(&page, &name, &id, form.payload.as_deref()).await;
    let called = form.called.as_deref().unwrap_or(id.as_str());
    match (outcome, form.payload) {
        (Err(wrong), Some(typed)) => {
            let correcting = Correcting { typed, wrong };
            render(page, StatusCode::UNPROCESSABLE_ENTITY, name, id, Some(correcting)).await
        }
        (Ok(()), _) => Ok(page.after(form.back.as_deref(), Ok(page.t1("item-retried", "id", called)))),
        (Err(wrong), None) => Ok(page.refused(form.back.as_deref(), wrong.replace(id.as_str(), called))),
    }
}

/// Retries the item, with the corrected payload if there is one. Returns the error as a text for the reader.
async fn retry_item(page: &Page, name: &QueueName, id: &ItemId, payload: Option<&str>) -> Result<(), String> {
    if let Some(cause) = payload.and_then(|payload| RawValue::from_string(payload.to_owned()).err()) {
        return Err(page.t1("item-edit-bad", "cause", page.render(&syntax_message(&cause))));
    }
    let sent = async {
        let queue = open_queue(page, name.clone()).await?;
        let outcome = match payload {
            Some(payload) => {
                queue_payload_may_change(page.app(), name).await?;
                queue.retry_with(id.clone(), payload.trim()).await?
            }
            None => queue.retry(id.clone()).await?,
        };
        queue_managed(&queue, id, outcome).await
    };
    sent.await.map(drop).map_err(|problem| page.problem_text(&problem))
}

/// The address to return to.
#[derive(Deserialize)]
pub(super) struct Back {
    back: Option<String>,
}

pub(super) async fn cancel(
    page: Page,
    Path((name, id)): Path<(QueueName, ItemId)>,
    Form(form): Form<Back>,
) -> Response {
    let outcome = async {
        let queue = open_queue(&page, name).await?;
        let outcome = queue.cancel(id.clone()).await?;
        queue_managed(&queue, &id, outcome).await?;
        Ok(page.t1("item-cancelled", "id", &id))
    };
    page.after(form.back.as_deref(), outcome.await)
}
