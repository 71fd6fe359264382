//! The page of a key: its lane, and why it is not running.

use askama::Template;
use axum::response::Response;
use turno::core::id::{Key, QueueName};
use turno::core::queue::{ItemState, Kind};
use turno::queue::{ItemQuery, ItemRecord, Why};
use turno::store::QueueRow;

use super::super::page::Page;
use super::page::{open_queue, render_span};
use crate::http::{Path, Problem, queue_why};
use std::sync::Arc;

/// How many items of each state are shown.
const SHOWN: u32 = 50;
/// The unfinished states.
const UNFINISHED: [ItemState; 4] = [ItemState::InProcess, ItemState::Pending, ItemState::Error, ItemState::Exhausted];

#[derive(Template)]
#[template(path = "queues/key.html")]
struct OneKey {
    page: Page,
    row: Arc<QueueRow>,
    key: Key,
    why: Why,
    sentence: String,
    items: Vec<ItemRecord>,
}

impl OneKey {
    fn is_lane(&self) -> bool {
        self.row.policy.kind == Kind::Lane
    }

    fn path(&self) -> String {
        format!("/queues/{}", self.page.part(&self.row.name))
    }

    fn word(&self, record: &ItemRecord) -> &'static str {
        record.state(record.now).as_str()
    }

    fn item(&self, record: &ItemRecord) -> String {
        format!("{}/items/{}", self.path(), self.page.part(&record.body.id))
    }

    fn is_head(&self, record: &ItemRecord) -> bool {
        self.why.item.as_ref() == Some(&record.body.id)
    }

    fn window(&self) -> String {
        render_span(self.row.policy.window)
    }

    fn max_wait(&self) -> String {
        render_span(self.row.policy.max_wait)
    }
}

pub(super) async fn show(page: Page, Path((name, key)): Path<(QueueName, Key)>) -> Result<Response, Problem> {
    let queue = open_queue(&page, name).await?;
    let why = queue.why_key(key.clone()).await?;
    let mut items = Vec::new();
    for state in UNFINISHED {
        let query = ItemQuery { state: Some(state), key: Some(key.clone()), limit: SHOWN, ..ItemQuery::listed() };
        items.extend(queue.items(query).await?);
    }
    // An item may change its state between two reads, so duplicates are removed.
    items.sort_by_key(|record| record.body.seq);
    items.dedup_by_key(|record| record.body.seq);
    let sentence = queue_why(page.app(), page.language(), &queue, &why).await?;
    let row = queue.row().await?;
    page.show(|page| OneKey { page, row, key, why, sentence, items })
}
