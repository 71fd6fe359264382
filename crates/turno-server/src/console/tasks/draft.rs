//! The form of a draft: a title and lines. An invalid form is rendered again with everything that was typed.

use std::collections::BTreeSet;

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;
use turno::core::id::{Serial, Sku};
use turno::core::limits::QUANTITY_MAX;
use turno::core::task::{Action, Goods, Movement, NewLine, Status, Task, TaskId, Version};
use turno::core::time::Time;

use super::history;
use crate::console::form::Form;
use crate::console::page::{Page, put_cookie};
use crate::http::{Code, Path, Problem, Reader, task_changed, task_id, task_unknown};

/// The number of empty lines at the end of the form. Saving adds new ones, and the script can add any number.
const SPARE: usize = 3;
/// The cookie that names the saved draft, so that the browser can delete its local copy.
const SAVED: &str = "turno_saved";

/// A line as it was typed.
#[derive(Clone, Default)]
struct Typed {
    sku: String,
    movement: String,
    kind: String,
    amount: String,
    /// The name of the invalid field, or empty.
    wrong: &'static str,
}

impl Typed {
    fn is_empty(&self) -> bool {
        self.sku.trim().is_empty() && self.amount.trim().is_empty()
    }
}

#[derive(Template)]
#[template(path = "tasks/draft.html")]
struct Draft {
    page: Page,
    id: Option<TaskId>,
    title: String,
    rows: Vec<Typed>,
    error: Option<String>,
    /// The version that the form is based on.
    seen: Option<Version>,
    /// A change of the draft since the form was opened.
    meanwhile: Option<Meanwhile>,
}

/// A change of a draft while the form was open.
enum Meanwhile {
    /// Another person saved it: who, when, and the stored contents.
    Changed { who: String, at: Time, title: String, rows: Vec<Typed> },
    /// The task is no draft any more and cannot be saved.
    Over(&'static str),
}

impl Draft {
    fn is_over(&self) -> bool {
        matches!(self.meanwhile, Some(Meanwhile::Over(_)))
    }

    fn is_changed(&self) -> bool {
        matches!(self.meanwhile, Some(Meanwhile::Changed { .. }))
    }

    fn heading(&self) -> String {
        self.page.t(if self.id.is_some() { "draft-edit" } else { "tasks-new" })
    }

    /// Returns the name under which the browser keeps the typed text.
    fn kept(&self) -> String {
        kept(self.id)
    }

    fn action(&self) -> String {
        self.id.map_or_else(|| "/console/tasks".to_owned(), |id| self.page.action("tasks", id, "edit"))
    }
}

/// Renders an empty form.
pub(super) async fn fresh(page: Page) -> Result<Response, Problem> {
    form(page, StatusCode::OK, None, Sent::default(), None, None)
}

/// Renders the form of a stored draft.
pub(super) async fn edit(page: Page, Path(id): Path<String>) -> Result<Response, Problem> {
    let id = task_id(&id)?;
    let (task, _) = page.turno()?.task_get(id).await?.1.ok_or_else(|| task_unknown(id))?;
    if task.status != Status::Draft {
        return Ok(page.after(Some(&address(id)), Ok(page.t1("draft-over", "status", task.status.as_str()))));
    }
    let sent = Sent { seen: Some(task.version()), rows: typed_rows(&task), title: task.title, ..Sent::default() };
    form(page, StatusCode::OK, Some(id), sent, None, None)
}

fn typed_rows(task: &Task) -> Vec<Typed> {
    let row = |line: &turno::core::task::Line| {
        let (kind, amount) = match &line.goods {
            Goods::Quantity(quantity) => ("quantity", quantity.to_string()),
            Goods::Serialized(serials) => {
                ("serialized", serials.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
            }
        };
        let movement = if line.movement == Movement::Out { "out" } else { "in" };
        Typed { sku: line.sku.to_string(), movement: movement.to_owned(), kind: kind.to_owned(), amount, wrong: "" }
    };
    task.lines.iter().map(row).collect()
}

fn form(
    page: Page,
    status: StatusCode,
    id: Option<TaskId>,
    sent: Sent,
    error: Option<String>,
    meanwhile: Option<Meanwhile>,
) -> Result<Response, Problem> {
    let Sent { title, mut rows, seen, .. } = sent;
    rows.extend(std::iter::repeat_n(Typed::default(), SPARE));
    page.show_as(status, |page| Draft { page, id, title, rows, error, seen, meanwhile })
}

/// Why a form cannot be saved, and the line and field of the error, if it concerns one.
struct Wrong {
    text: String,
    at: Option<(usize, &'static str)>,
}

impl Wrong {
    fn from_problem(page: &Page, problem: &Problem) -> Wrong {
        Wrong { text: page.problem_text(problem), at: None }
    }
}

/// The fields of the form in their order. A field `sku` begins a line.
#[derive(Default)]
struct Sent {
    title: String,
    rows: Vec<Typed>,
    ready: bool,
    seen: Option<Version>,
    /// The name under which the browser keeps the typed text, if it differs from the default.
    kept: Option<String>,
}

impl Sent {
    fn from_fields(fields: Vec<(String, String)>) -> Sent {
        let mut sent = Sent::default();
        for (name, value) in fields {
            match (name.as_str(), sent.rows.last_mut()) {
                ("title", _) => sent.title = value,
                ("seen", _) => sent.seen = value.parse().ok().map(Version),
                ("kept", _) => sent.kept = Some(value).filter(|name| is_slot(name)),
                ("then", _) => sent.ready = value == "ready",
                ("sku", _) => sent.rows.push(Typed { sku: value, ..Typed::default() }),
                ("movement", Some(row)) => row.movement = value,
                ("kind", Some(row)) => row.kind = value,
                ("amount", Some(row)) => row.amount = value,
                _ => {}
            }
        }
        sent.rows.retain(|row| !row.is_empty());
        sent
    }

    /// Returns the lines, or the error of the first invalid line.
    fn lines(&self, page: &Page) -> Result<Vec<NewLine>, Wrong> {
        let line = |(index, row): (usize, &Typed)| {
            let at = |field, text| Wrong { text, at: Some((index, field)) };
            let bad = |id: &str| at("amount", page.t1(id, "line", index + 1));
            let movement = if row.movement == "out" { Movement::Out } else { Movement::In };
            let sku = Sku::new(row.sku.trim()).map_err(|_| at("sku", page.t1("draft-bad-sku", "line", index + 1)))?;
            let goods = if row.kind == "serialized" {
                let serials = row.amount.split([',', ';', '\n', '\r', '\t', ' ']).filter(|serial| !serial.is_empty());
                let serials = serials.map(Serial::new).collect::<Result<Vec<_>, _>>();
                let serials = serials.map_err(|_| bad("draft-bad-serial"))?;
                let mut seen = BTreeSet::new();
                if let Some(twice) = serials.iter().find(|serial| !seen.insert(serial.as_str())) {
                    return Err(at("amount", page.t2("draft-twice", "line", index + 1, "serial", twice)));
                }
                Goods::Serialized(serials)
            } else {
                let quantity =
                    row.amount.trim().parse::<i64>().ok().filter(|quantity| (1..=QUANTITY_MAX).contains(quantity));
                Goods::Quantity(quantity.ok_or_else(|| bad("draft-bad-quantity"))?)
            };
            Ok(NewLine { movement, sku, goods })
        };
        self.rows.iter().enumerate().map(line).collect()
    }
}

/// Creates a task.
pub(super) async fn create(
    page: Page,
    reader: Reader,
    Form(fields): Form<Vec<(String, String)>>,
) -> Result<Response, Problem> {
    let sent = Sent::from_fields(fields);
    let made = match sent.lines(&page) {
        Ok(lines) => {
            let action = Action::Create { title: sent.title.trim().to_owned(), lines, ready: sent.ready, once: None };
            task_changed(&page.caller()?, &reader, None, action)
                .await
                .map_err(|problem| Wrong::from_problem(&page, &problem))
        }
        Err(wrong) => Err(wrong),
    };
    answer(page, None, sent, made)
}

/// Saves a draft.
pub(super) async fn save(
    page: Page,
    reader: Reader,
    Path(id): Path<String>,
    Form(fields): Form<Vec<(String, String)>>,
) -> Result<Response, Problem> {
    let (id, sent) = (task_id(&id)?, Sent::from_fields(fields));
    let saved = match sent.lines(&page) {
        Ok(lines) => match apply_edit(&page, &reader, id, &sent, lines).await {
            Err(problem) if matches!(problem.code(), Code::DraftChanged | Code::WrongStatus) => {
                return render_conflict(page, id, sent).await;
            }
            saved => saved.map_err(|problem| Wrong::from_problem(&page, &problem)),
        },
        Err(wrong) => Err(wrong),
    };
    answer(page, Some(id), sent, saved)
}

/// Renders the form again, with the typed text beside the stored one. The new form is based on the stored version, so
/// saving it is refused only if another change comes first.
async fn render_conflict(page: Page, id: TaskId, sent: Sent) -> Result<Response, Problem> {
    let turno = page.turno()?;
    let (_, found) = turno.task_get(id).await?;
    let (task, lease) = found.ok_or_else(|| task_unknown(id))?;
    let seen = Some(task.version());
    let meanwhile = if task.status == Status::Draft {
        let last = history::load(&page, turno, id, &lease).await?.events.into_iter().next();
        let who = last.map_or_else(|| page.name_of(task.created_by.as_str()), |last| last.who);
        Meanwhile::Changed { who, at: task.updated_at, rows: typed_rows(&task), title: task.title }
    } else {
        Meanwhile::Over(task.status.as_str())
    };
    form(page, StatusCode::CONFLICT, Some(id), Sent { seen, ..sent }, None, Some(meanwhile))
}

async fn apply_edit(
    page: &Page,
    reader: &Reader,
    id: TaskId,
    sent: &Sent,
    lines: Vec<NewLine>,
) -> Result<TaskId, Problem> {
    let caller = page.caller()?;
    let action = Action::Edit { title: Some(sent.title.trim().to_owned()), lines: Some(lines), seen: sent.seen };
    task_changed(&caller, reader, Some(id), action).await?;
    if sent.ready {
        task_changed(&caller, reader, Some(id), Action::Ready).await?;
    }
    Ok(id)
}

/// Redirects to the task, or renders the form again with the error.
fn answer(page: Page, id: Option<TaskId>, mut sent: Sent, outcome: Result<TaskId, Wrong>) -> Result<Response, Problem> {
    match outcome {
        Ok(saved) => {
            let said = page.t(if sent.ready { "task-readied" } else { "draft-saved" });
            let mut answer = page.after(Some(&address(saved)), Ok(said));
            let kept = sent.kept.unwrap_or_else(|| kept(id));
            put_cookie(&mut answer, &format!("{SAVED}={kept}; Path=/; Max-Age=60; SameSite=Lax"));
            Ok(answer)
        }
        Err(Wrong { text, at }) => {
            if let Some((row, field)) = at.and_then(|(index, field)| Some((sent.rows.get_mut(index)?, field))) {
                row.wrong = field;
            }
            form(page, StatusCode::UNPROCESSABLE_ENTITY, id, sent, Some(text), None)
        }
    }
}

/// Returns whether this is a name that web/console/slot.js gives to the new task of a window. Only such names are put
/// into a cookie.
fn is_slot(name: &str) -> bool {
    let window = name.strip_prefix("draft-new-").unwrap_or_default();
    (1..=20).contains(&window.len()) && window.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
}

fn kept(id: Option<TaskId>) -> String {
    id.map_or_else(|| "draft-new".to_owned(), |id| format!("draft-{id}"))
}

fn address(id: TaskId) -> String {
    format!("/tasks/{id}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_is_parsed_into_its_nonempty_lines() {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let sent = Sent::from_fields(vec![
            pair("kind", "quantity"),
            pair("title", "Alta"),
            pair("sku", "clavo"),
            pair("movement", "out"),
            pair("kind", "serialized"),
            pair("amount", "A1"),
            pair("sku", " "),
            pair("movement", "in"),
            pair("amount", ""),
            pair("sku", "tuerca"),
            pair("amount", "3"),
            pair("then", "ready"),
        ]);
        let rows: Vec<_> = sent.rows.iter().map(|row| (row.sku.as_str(), row.amount.as_str())).collect();
        assert_eq!((sent.title.as_str(), sent.ready), ("Alta", true));
        assert_eq!(rows, [("clavo", "A1"), ("tuerca", "3")]);
        assert_eq!((sent.rows[0].movement.as_str(), sent.rows[0].kind.as_str()), ("out", "serialized"));
    }
}
