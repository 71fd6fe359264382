//! Writing a task: a title and its lines. What was typed is never lost: a form that does not pass comes back as it was.

use std::collections::BTreeSet;

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;
use turno::core::id::{Serial, Sku};
use turno::core::limits::QUANTITY_MAX;
use turno::core::task::{Action, Goods, Movement, NewLine, Status, Task, TaskId, Version};
use turno::core::time::Time;

use super::past;
use crate::console::form::Form;
use crate::console::page::{Page, put_cookie};
use crate::http::{Code, Path, Problem, Reader, task_changed, task_id, task_unknown};

/// Empty lines at the end of the form, for more; saving brings new ones, and a script adds any number.
const SPARE: usize = 3;
/// Tells the page which draft was saved: what the browser keeps of it has arrived.
const SAVED: &str = "turno_saved";

/// A line as it was typed.
#[derive(Clone, Default)]
struct Typed {
    sku: String,
    movement: String,
    kind: String,
    amount: String,
    /// Which of its fields makes no sense, if one does.
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
    /// What is stored, as far as whoever writes has seen it.
    seen: Option<Version>,
    /// What became of the draft meanwhile.
    meanwhile: Option<Meanwhile>,
}

/// What became of a draft while somebody wrote.
enum Meanwhile {
    /// Somebody else saved: who, when, and what is stored now.
    Changed { who: String, at: Time, title: String, rows: Vec<Typed> },
    /// It is no draft any more, and nothing can be saved.
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

    /// Its name in the browser, which keeps what is typed into it.
    fn kept(&self) -> String {
        kept(self.id)
    }

    fn action(&self) -> String {
        self.id.map_or_else(|| "/console/tasks".to_owned(), |id| self.page.action("tasks", id, "edit"))
    }
}

/// An empty form.
pub(super) async fn fresh(page: Page) -> Result<Response, Problem> {
    form(page, StatusCode::OK, None, Sent::default(), None, None)
}

/// A draft as it is.
pub(super) async fn edit(page: Page, Path(id): Path<String>) -> Result<Response, Problem> {
    let id = task_id(&id)?;
    let (task, _) = page.turno()?.task_get(id).await?.1.ok_or_else(|| task_unknown(id))?;
    if task.status != Status::Draft {
        return Ok(page.after(Some(&address(id)), Ok(page.t1("draft-over", "status", task.status.as_str()))));
    }
    let sent = Sent { seen: Some(task.version()), rows: written(&task), title: task.title, ..Sent::default() };
    form(page, StatusCode::OK, Some(id), sent, None, None)
}

fn written(task: &Task) -> Vec<Typed> {
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

/// What keeps a form from being saved, and in which line and field of it, if it is in one.
struct Wrong {
    said: String,
    at: Option<(usize, &'static str)>,
}

impl Wrong {
    fn of(page: &Page, problem: &Problem) -> Wrong {
        Wrong { said: page.said(problem), at: None }
    }
}

/// What the form sends, in order: a `sku` begins a line.
#[derive(Default)]
struct Sent {
    title: String,
    rows: Vec<Typed>,
    ready: bool,
    seen: Option<Version>,
    /// Under which name the browser keeps what was typed, if it is not the form's own.
    kept: Option<String>,
}

impl Sent {
    fn of(fields: Vec<(String, String)>) -> Sent {
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

    /// The lines, or what is wrong with the first that makes no sense.
    fn lines(&self, page: &Page) -> Result<Vec<NewLine>, Wrong> {
        let line = |(index, row): (usize, &Typed)| {
            let at = |field, said| Wrong { said, at: Some((index, field)) };
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

/// A new task.
pub(super) async fn create(
    page: Page,
    reader: Reader,
    Form(fields): Form<Vec<(String, String)>>,
) -> Result<Response, Problem> {
    let sent = Sent::of(fields);
    let made = match sent.lines(&page) {
        Ok(lines) => {
            let action = Action::Create { title: sent.title.trim().to_owned(), lines, ready: sent.ready, once: None };
            task_changed(&page.caller()?, &reader, None, action).await.map_err(|problem| Wrong::of(&page, &problem))
        }
        Err(wrong) => Err(wrong),
    };
    answer(page, None, sent, made)
}

/// A draft as it shall be.
pub(super) async fn save(
    page: Page,
    reader: Reader,
    Path(id): Path<String>,
    Form(fields): Form<Vec<(String, String)>>,
) -> Result<Response, Problem> {
    let (id, sent) = (task_id(&id)?, Sent::of(fields));
    let saved = match sent.lines(&page) {
        Ok(lines) => match edited(&page, &reader, id, &sent, lines).await {
            Err(problem) if matches!(problem.code(), Code::DraftChanged | Code::WrongStatus) => {
                return overtaken(page, id, sent).await;
            }
            saved => saved.map_err(|problem| Wrong::of(&page, &problem)),
        },
        Err(wrong) => Err(wrong),
    };
    answer(page, Some(id), sent, saved)
}

/// The form again, with what was typed beside what is stored. Saving from there has seen what is stored now, and is
/// refused once more if yet another change comes first.
async fn overtaken(page: Page, id: TaskId, sent: Sent) -> Result<Response, Problem> {
    let turno = page.turno()?;
    let (_, found) = turno.task_get(id).await?;
    let (task, lease) = found.ok_or_else(|| task_unknown(id))?;
    let seen = Some(task.version());
    let meanwhile = if task.status == Status::Draft {
        let last = past::of(&page, turno, id, &lease).await?.events.into_iter().next();
        let who = last.map_or_else(|| page.called(task.created_by.as_str()), |last| last.who);
        Meanwhile::Changed { who, at: task.updated_at, rows: written(&task), title: task.title }
    } else {
        Meanwhile::Over(task.status.as_str())
    };
    form(page, StatusCode::CONFLICT, Some(id), Sent { seen, ..sent }, None, Some(meanwhile))
}

async fn edited(page: &Page, reader: &Reader, id: TaskId, sent: &Sent, lines: Vec<NewLine>) -> Result<TaskId, Problem> {
    let caller = page.caller()?;
    let action = Action::Edit { title: Some(sent.title.trim().to_owned()), lines: Some(lines), seen: sent.seen };
    task_changed(&caller, reader, Some(id), action).await?;
    if sent.ready {
        task_changed(&caller, reader, Some(id), Action::Ready).await?;
    }
    Ok(id)
}

/// On to the task, or the form again with everything that was typed and what is wrong.
fn answer(page: Page, id: Option<TaskId>, mut sent: Sent, became: Result<TaskId, Wrong>) -> Result<Response, Problem> {
    match became {
        Ok(saved) => {
            let said = page.t(if sent.ready { "task-readied" } else { "draft-saved" });
            let mut answer = page.after(Some(&address(saved)), Ok(said));
            let kept = sent.kept.unwrap_or_else(|| kept(id));
            put_cookie(&mut answer, &format!("{SAVED}={kept}; Path=/; Max-Age=60; SameSite=Lax"));
            Ok(answer)
        }
        Err(Wrong { said, at }) => {
            if let Some((row, field)) = at.and_then(|(index, field)| Some((sent.rows.get_mut(index)?, field))) {
                row.wrong = field;
            }
            form(page, StatusCode::UNPROCESSABLE_ENTITY, id, sent, Some(said), None)
        }
    }
}

/// What web/console/slot.js calls the new task of a window; nothing else gets into a cookie.
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
    fn a_form_is_read_line_by_line_and_empty_lines_are_none() {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let sent = Sent::of(vec![
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
