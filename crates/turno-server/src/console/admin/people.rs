//! The list of people, and the form that adds one.

use askama::Template;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use turno::access::NewPerson;
use turno::core::access::{Person, Role};
use turno::core::id::UserId;

use super::{ROLES, role};
use crate::console::form::{Form, address, given};
use crate::console::page::Page;
use crate::http::{Problem, Query, Wanted, person_name};

/// The filters in the address.
#[derive(Deserialize)]
pub(super) struct Filter {
    cursor: Option<String>,
}

#[derive(Template)]
#[template(path = "admin/people.html")]
struct People {
    page: Page,
    people: Vec<Person>,
    first: String,
    next: String,
    typed: New,
    wrong: Option<Wrong>,
}

/// Why a person cannot be added, and which field is wrong.
struct Wrong {
    field: &'static str,
    text: String,
}

impl People {
    /// Returns whether this field is the wrong one.
    fn is_wrong(&self, field: &str) -> bool {
        self.wrong.as_ref().is_some_and(|wrong| wrong.field == field)
    }

    fn roles(&self) -> [Role; 3] {
        ROLES
    }
}

pub(super) async fn list(page: Page, Query(filter): Query<Filter>) -> Result<Response, Problem> {
    render(page, StatusCode::OK, filter, New::default(), None).await
}

async fn render(
    page: Page,
    status: StatusCode,
    filter: Filter,
    typed: New,
    wrong: Option<Wrong>,
) -> Result<Response, Problem> {
    let wanted = Wanted::new(None, filter.cursor.as_deref())?;
    let after = wanted.after.as_deref().map(UserId::new).transpose()?;
    let found = wanted.page(page.turno()?.people(after, wanted.one_more()).await?, |person| person.id.to_string());
    let next = found.next_cursor.map(|cursor| address("/admin", &[("cursor", &cursor)])).unwrap_or_default();
    let first = filter.cursor.map(|_| "/admin".to_owned()).unwrap_or_default();
    page.show_as(status, |page| People { page, people: found.items, first, next, typed, wrong })
}

/// The fields of a new person.
#[derive(Deserialize)]
pub(super) struct New {
    id: String,
    #[serde(default)]
    name: String,
    role: String,
}

impl Default for New {
    fn default() -> New {
        New { id: String::new(), name: String::new(), role: Role::Editor.as_str().to_owned() }
    }
}

impl New {
    /// Returns the new person, or the problem with its field.
    fn person(&self) -> Result<NewPerson, (&'static str, Problem)> {
        let id = UserId::new(self.id.trim()).and_then(UserId::for_creation).map_err(|error| ("id", error.into()))?;
        let name = given(Some(self.name.clone())).unwrap_or_else(|| id.to_string());
        let name = person_name("name", name).map_err(|problem| ("name", problem))?;
        let role = role(&self.role).map_err(|problem| ("role", problem))?;
        Ok(NewPerson { id, name, role, password: None })
    }
}

pub(super) async fn add(page: Page, Form(form): Form<New>) -> Result<Response, Problem> {
    let added = match form.person() {
        // A refusal by the library concerns the id, which already exists.
        Ok(person) => page.turno()?.add_person(person).await.map_err(|error| ("id", error.into())),
        Err(wrong) => Err(wrong),
    };
    match added {
        Ok(person) => {
            let there = format!("/admin/people/{}", page.part(&person.id));
            Ok(page.after(Some(&there), Ok(page.t1("people-added", "name", &person.name))))
        }
        Err((field, problem)) => {
            let wrong = Wrong { field, text: page.problem_text(&problem) };
            let status = problem.into_response().status();
            render(page, status, Filter { cursor: None }, form, Some(wrong)).await
        }
    }
}
