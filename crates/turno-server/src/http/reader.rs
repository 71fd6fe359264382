//! The reader of an answer, whose language its sentences have.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use fluent_bundle::FluentArgs;

use super::app::Shared;
use super::problem::Problem;
use crate::texts::Language;

/// The reader of an answer.
#[derive(Clone, Debug)]
pub(crate) struct Reader {
    app: Shared,
    pub(crate) language: Language,
}

impl Reader {
    /// Renders the text `id` with these arguments. Returns the id if there is no such text.
    pub(crate) fn say(&self, id: &str, args: &[(&'static str, String)]) -> String {
        let mut named = FluentArgs::new();
        for (name, value) in args {
            named.set(*name, value.as_str());
        }
        self.app.texts.find(self.language, id, &named).map_or_else(|| id.to_owned(), std::borrow::Cow::into_owned)
    }

    /// Renders a problem as a part of an answer.
    pub(crate) fn problem(&self, problem: &Problem) -> serde_json::Value {
        problem.document(&self.app.texts, self.language, None)
    }
}

impl FromRequestParts<Shared> for Reader {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &Shared) -> Result<Self, Problem> {
        // The edge sets the language. A request that has not passed the edge gets the default.
        let language = parts.extensions.get::<Language>().copied().unwrap_or(app.language);
        Ok(Reader { app: app.clone(), language })
    }
}
