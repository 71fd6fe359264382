//! One item: what it carries, what happened to it, why it is where it is, and what a person can do about it.

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::sync::Arc;
use turno::core::id::{ItemId, Key, QueueName};
use turno::core::queue::Kind;
use turno::store::QueueRow;
use turno::{ItemRecord, Why};

use super::super::form::Form;
use super::super::page::Page;
use super::Act;
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
    /// What somebody typed that could not be taken, to be corrected further.
    correcting: Option<Correcting>,
}

/// A correction that was not taken: nothing of it is lost, and what is wrong stands beside it.
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

    /// What is done about it, where that means something.
    fn action(&self) -> Option<Act> {
        let told = self.row.policy.kind == Kind::Sync || self.record.body.action.is_some();
        told.then(|| Act::of(&self.record, &self.page))
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

    /// Whether whoever worked on it said that further attempts are of no use.
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
    shown(page, StatusCode::OK, name, id, None).await
}

async fn shown(
    page: Page,
    status: StatusCode,
    name: QueueName,
    id: ItemId,
    correcting: Option<Correcting>,
) -> Result<Response, Problem> {
    let queue = known(&page, name.clone()).await?;
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
    /// What the item is called where it was pressed, if that is not its id.
    called: Option<String>,
}

pub(super) async fn retry(
    page: Page,
    Path((name, id)): Path<(QueueName, ItemId)>,
    Form(form): Form<Again>,
) -> Result<Response, Problem> {
    let became = again(&page, &name, &id, form.payload.as_deref()).await;
    let called = form.called.as_deref().unwrap_or(id.as_str());
    match (became, form.payload) {
        (Err(wrong), Some(typed)) => {
            let correcting = Correcting { typed, wrong };
            shown(page, StatusCode::UNPROCESSABLE_ENTITY, name, id, Some(correcting)).await
        }
        (Ok(()), _) => Ok(page.after(form.back.as_deref(), Ok(page.t1("item-retried", "id", called)))),
        (Err(wrong), None) => Ok(page.refused(form.back.as_deref(), wrong.replace(id.as_str(), called))),
    }
}

/// Sends it round, with other contents if there are; or says what is wrong.
async fn again(page: &Page, name: &QueueName, id: &ItemId, payload: Option<&str>) -> Result<(), String> {
    if let Some(cause) = payload.and_then(|payload| RawValue::from_string(payload.to_owned()).err()) {
        return Err(page.t1("item-edit-bad", "cause", page.cause(&cause)));
    }
    let sent = async {
        let queue = known(page, name.clone()).await?;
        let outcome = match payload {
            Some(payload) => {
                queue_payload_may_change(page.app(), name).await?;
                queue.retry_with(id.clone(), payload.trim()).await?
            }
            None => queue.retry(id.clone()).await?,
        };
        queue_managed(&queue, id, outcome).await
    };
    sent.await.map(drop).map_err(|problem| page.said(&problem))
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
