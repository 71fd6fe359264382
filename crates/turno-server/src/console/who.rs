//! The one way to show who did something: by their name, with the id for whoever needs it.

use askama::Template;

/// Somebody, as people see them.
#[derive(Template)]
#[template(path = "parts/who.html")]
pub(crate) struct Who {
    id: String,
    /// Nothing if nobody is known by this id: it was a program, or they are gone.
    name: Option<String>,
}

impl askama::filters::HtmlSafe for Who {}

impl Who {
    pub(super) fn new(id: String, name: Option<String>) -> Who {
        Who { name: name.filter(|name| *name != id), id }
    }
}
