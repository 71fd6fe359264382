//! Renders who did something: by name, with the id for those who need it.

use askama::Template;

/// A person or a program.
#[derive(Template)]
#[template(path = "parts/who.html")]
pub(crate) struct Who {
    id: String,
    /// `None` if no person has this id: it belongs to a program, or the person was removed.
    name: Option<String>,
}

impl askama::filters::HtmlSafe for Who {}

impl Who {
    pub(super) fn new(id: String, name: Option<String>) -> Who {
        Who { name: name.filter(|name| *name != id), id }
    }
}
