//! Everybody who may come in.

use askama::Template;
use axum::response::Response;
use serde::Deserialize;
use turno::NewPerson;
use turno::core::access::{Person, Role};
use turno::core::id::UserId;

use super::{ROLES, role};
use crate::console::form::{Form, address, given};
use crate::console::page::Page;
use crate::http::{Problem, Query, Wanted, person_name};

/// Which page of the list.
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
}

impl People {
    fn roles(&self) -> [Role; 3] {
        ROLES
    }
}

pub(super) async fn list(page: Page, Query(filter): Query<Filter>) -> Result<Response, Problem> {
    let wanted = Wanted::new(None, filter.cursor.as_deref())?;
    let after = wanted.after.as_deref().map(UserId::new).transpose()?;
    let found = wanted.page(page.turno()?.people(after, wanted.one_more()).await?, |person| person.id.to_string());
    let next = found.next_cursor.map(|cursor| address("/admin", &[("cursor", &cursor)])).unwrap_or_default();
    let first = filter.cursor.map(|_| "/admin".to_owned()).unwrap_or_default();
    page.show(|page| People { page, people: found.items, first, next })
}

/// Somebody new.
#[derive(Deserialize)]
pub(super) struct New {
    id: String,
    name: Option<String>,
    role: String,
}

pub(super) async fn add(page: Page, Form(form): Form<New>) -> Response {
    let became = async {
        let id = UserId::new(form.id.trim())?;
        let name = person_name("name", given(form.name).unwrap_or_else(|| id.to_string()))?;
        let person = NewPerson { id, name, role: role(&form.role)?, password: None };
        let person = page.turno()?.add_person(person).await?;
        Ok((page.t1("people-added", "name", &person.name), format!("/admin/people/{}", page.part(&person.id))))
    };
    match became.await {
        Ok((said, there)) => page.after(Some(&there), Ok(said)),
        Err(problem) => page.after(Some("/admin"), Err(problem)),
    }
}
