//! The audit: its entries, the verification of its chain, and the export.

mod export;

use askama::Template;
use axum::Router;
use axum::response::Response;
use axum::routing::{get, post};
use serde::Deserialize;
use turno::core::audit::{AuditAction, Entry};
use turno::core::fault::Fault;
use turno::core::id::UserId;
use turno::core::time::{Span, Time};
use turno::store::AuditQuery;

use super::form::{Form, address, given};
use super::page::Page;
use crate::http::{Code, Problem, Query, Shared, Wanted};

pub(super) fn routes() -> Router<Shared> {
    Router::new()
        .route("/audit", get(list))
        .route("/audit/export", get(export::download))
        .route("/console/audit/verify", post(verify))
}

/// The filters in the address.
#[derive(Deserialize)]
pub(super) struct Filter {
    action: Option<String>,
    actor: Option<String>,
    resource: Option<String>,
    cursor: Option<String>,
    /// The format of an export.
    format: Option<String>,
}

/// The filters, as they were typed.
#[derive(Clone, Debug, Default)]
pub(super) struct Filters {
    action: String,
    actor: String,
    resource: String,
}

impl Filters {
    fn from_filter(filter: &mut Filter) -> Filters {
        let [action, actor, resource] = [filter.action.take(), filter.actor.take(), filter.resource.take()]
            .map(|text| given(text).unwrap_or_default());
        Filters { action, actor, resource }
    }

    fn query(&self, page: &Page) -> Result<AuditQuery, Problem> {
        let some = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
        let (action, resource) = (some(&self.action), some(&self.resource));
        let texts = [("action", &action), ("resource", &resource)];
        if let Some((name, _)) = texts.iter().find(|(_, text)| text.as_ref().is_some_and(|text| text.contains('\0'))) {
            return Err(Problem::query(name, Fault::Nul));
        }
        let actor = some(&self.actor).map(|typed| UserId::new(page.user_of(&typed))).transpose()?;
        Ok(AuditQuery { action, actor, resource, ..AuditQuery::default() })
    }

    fn address(&self, path: &str, more: &[(&str, &str)]) -> String {
        let mut pairs = vec![("action", self.action.as_str()), ("actor", &self.actor), ("resource", &self.resource)];
        pairs.extend_from_slice(more);
        address(path, &pairs)
    }
}

#[derive(Template)]
#[template(path = "audit/list.html")]
struct List {
    page: Page,
    filters: Filters,
    entries: Vec<Entry>,
    first: String,
    next: String,
}

impl List {
    fn actions(&self) -> [&'static str; AuditAction::ALL.len()] {
        AuditAction::ALL.map(AuditAction::as_str)
    }

    fn word(&self, action: &str) -> String {
        self.page.t_or(&format!("audit-{action}"), action)
    }

    /// Returns the label of an action in the filter. An action with two meanings names both.
    fn choice(&self, action: &str) -> String {
        self.page.t_or(&format!("audit-choice-{action}"), &self.word(action))
    }

    /// Returns the label of an entry's action. A session that its owner ended is labelled as signing out.
    fn action_label(&self, entry: &Entry) -> String {
        let detail = serde_json::from_str::<serde_json::Value>(&entry.detail).unwrap_or_default();
        if detail["signed_out"] == true { self.page.t("audit-signed_out") } else { self.word(&entry.action) }
    }

    /// Returns the details of an entry as names and values in the reader's language. Unknown names stay as they are.
    fn details(&self, entry: &Entry) -> Vec<(String, String)> {
        let Ok(serde_json::Value::Object(detail)) = serde_json::from_str(&entry.detail) else {
            return Vec::new();
        };
        let known = detail.into_iter().filter(|(name, value)| !value.is_null() && name != "signed_out");
        known
            .map(|(name, value)| (self.page.t_or(&format!("detail-{name}"), &name), self.render_detail(&name, value)))
            .collect()
    }

    fn render_detail(&self, name: &str, value: serde_json::Value) -> String {
        let page = &self.page;
        match (name, value) {
            (name, serde_json::Value::Number(at)) if name.ends_with("_at_ms") || name == "before_ms" => {
                at.as_i64().map(|ms| page.day(&Time(ms))).unwrap_or_default()
            }
            (_, serde_json::Value::Bool(yes)) => page.t(if yes { "yes" } else { "no" }),
            ("role" | "role_before", serde_json::Value::String(role)) => page.t1("role", "role", role),
            ("status_before", serde_json::Value::String(status)) => page.t1("task-status", "status", status),
            ("holder_before", serde_json::Value::String(user)) => page.name_of(&user),
            ("scope", serde_json::Value::String(names)) => {
                names.split_whitespace().map(|name| page.permission(name)).collect::<Vec<_>>().join(", ")
            }
            (_, serde_json::Value::Object(fields)) => {
                let fields = fields.into_iter().filter(|(_, value)| !value.is_null() && *value != 0);
                fields.map(|(name, value)| self.setting(&name, value)).collect::<Vec<_>>().join(" · ")
            }
            (_, other) => bare(other),
        }
    }

    /// Renders one setting of a policy with its label, because a value alone would be ambiguous.
    fn setting(&self, name: &str, value: serde_json::Value) -> String {
        let page = &self.page;
        let (label, said) = match (name, value.as_i64()) {
            ("kind", _) => ("queues-kind".to_owned(), page.t1("kind", "kind", bare(value)).to_lowercase()),
            ("on_exhausted", _) => ("policy-on_exhausted".to_owned(), page.t(&format!("policy-{}", bare(value)))),
            ("max_attempts" | "batch_max", _) | (_, None) => (format!("policy-{name}"), bare(value)),
            (_, Some(ms)) => (format!("policy-{name}"), super::queues::render_span(Span(ms))),
        };
        format!("{}: {}", page.t_or(&label, name).to_lowercase(), said)
    }

    /// Returns the address of the page about the entry's resource, if there is one.
    fn resource_path(&self, entry: &Entry) -> Option<String> {
        let part = |text: &str| self.page.part(text);
        let (noun, _) = entry.action.split_once('_')?;
        match (noun, entry.resource.split_once('/')) {
            ("item", Some((queue, id))) => Some(format!("/queues/{}/items/{}", part(queue), part(id))),
            ("lane", Some((queue, key))) => Some(format!("/queues/{}/keys/{}", part(queue), part(key))),
            ("queue", _) => Some(format!("/queues/{}", part(&entry.resource))),
            ("lock" | "task", _) => Some(format!("/leases/{}", part(&entry.resource))),
            _ => None,
        }
    }

    /// Returns whether the entry's resource is a person.
    fn is_about_person(&self, entry: &Entry) -> bool {
        ["user_", "token_", "session_", "link_"].iter().any(|about| entry.action.starts_with(about))
    }

    fn export(&self, format: &str) -> String {
        self.filters.address("/audit/export", &[("format", format)])
    }
}

/// Renders a JSON value without quotes.
fn bare(value: serde_json::Value) -> String {
    match value {
        serde_json::Value::String(text) => text,
        other => other.to_string(),
    }
}

async fn list(page: Page, Query(mut filter): Query<Filter>) -> Result<Response, Problem> {
    let wanted = Wanted::new(None, filter.cursor.as_deref())?;
    let filters = Filters::from_filter(&mut filter);
    let query = AuditQuery { before: wanted.after()?, limit: wanted.one_more(), ..filters.query(&page)? };
    let found = wanted.page(page.turno()?.audit(query).await?, |entry| entry.n.to_string());
    let to = |cursor: &str| filters.address("/audit", &[("cursor", cursor)]);
    let next = found.next_cursor.map(|cursor| to(&cursor)).unwrap_or_default();
    let first = filter.cursor.map(|_| to("")).unwrap_or_default();
    page.show(|page| List { page, filters, entries: found.items, first, next })
}

/// The address to return to.
#[derive(Deserialize)]
struct Back {
    back: Option<String>,
}

/// Verifies the chain, and reports whether an entry was changed, removed or inserted.
async fn verify(page: Page, Form(form): Form<Back>) -> Response {
    let outcome = async {
        match page.turno()?.audit_verify(None, |_, _| {}).await? {
            Ok(head) => Ok(page.t2("audit-whole", "count", head.n, "head", head)),
            Err(broken) => Err(Problem::new(Code::AuditBroken).cause(broken)),
        }
    };
    page.after(form.back.as_deref(), outcome.await)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::texts::{Language, Texts};
    use fluent_bundle::FluentArgs;

    #[test]
    fn every_action_and_detail_has_a_text_in_each_language() {
        let (texts, none) = (Texts::load(), FluentArgs::new());
        let details = DETAILS.iter().map(|name| format!("detail-{name}"));
        for id in AuditAction::ALL.map(|action| format!("audit-{action}")).into_iter().chain(details) {
            let said = [Language::Spanish, Language::English].map(|language| texts.find(language, &id, &none));
            assert!(said.iter().all(Option::is_some), "{id}");
            assert_ne!(said[0], said[1], "{id}");
        }
    }

    /// The names of all details.
    const DETAILS: &[&str] = &[
        "before_ms",
        "changed",
        "count",
        "created",
        "disabled",
        "expires_at_ms",
        "fence",
        "fence_before",
        "holder_before",
        "machine",
        "password_changed",
        "payload_after",
        "payload_before",
        "policy",
        "push",
        "reason",
        "role",
        "role_before",
        "scope",
        "status_before",
        "token",
    ];
}
