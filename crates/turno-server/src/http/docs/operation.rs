//! Renders one operation of the API.

use std::fmt::Write;

use serde_json::Value;

use super::schema::{self, Field};
use super::texts::Words;
use crate::http::html::escaped;

/// An operation of the OpenAPI document.
#[derive(Clone, Copy)]
pub(super) struct Operation<'a> {
    pub(super) document: &'a Value,
    pub(super) path: &'a str,
    pub(super) method: &'a str,
    pub(super) operation: &'a Value,
}

impl Operation<'_> {
    fn id(&self) -> &str {
        self.operation["operationId"].as_str().unwrap_or(self.path)
    }

    /// Renders the entry in the table of contents.
    pub(super) fn entry(&self) -> String {
        format!(
            "<li><a href=\"#{}\"><b class=\"{m}\">{}</b> {}</a></li>",
            escaped(self.id()),
            escaped(&self.method.to_uppercase()),
            escaped(self.path.trim_start_matches("/v1")),
            m = escaped(self.method),
        )
    }

    pub(super) fn render(&self, words: &Words) -> String {
        let mut page = format!(
            "<article id=\"{id}\"><h3><b class=\"{m}\">{method}</b> <a href=\"#{id}\"><code>{path}</code></a></h3>",
            id = escaped(self.id()),
            m = escaped(self.method),
            method = escaped(&self.method.to_uppercase()),
            path = escaped(self.path),
        );
        for about in ["summary", "description"] {
            if let Some(text) = self.operation[about].as_str().filter(|text| !text.is_empty()) {
                let _ = write!(page, "<p>{}</p>", prose(text));
            }
        }
        let _ = write!(page, "<p class=\"who\"><span>{}</span> {}</p>", escaped(words.who), self.who(words));
        page.push_str(&table(words.parameters, words, &self.parameters()));
        page.push_str(&table(words.body, words, &self.body()));
        page.push_str(&self.answers(words));
        let _ = write!(
            page,
            "<h4>{}</h4><pre><code>{}</code></pre></article>",
            escaped(words.example),
            escaped(&self.example())
        );
        page
    }

    fn who(&self, words: &Words) -> String {
        if self.is_public() {
            return escaped(words.public);
        }
        match self.operation["x-permission"].as_str() {
            Some(permission) => format!("{} <code>{}</code>", escaped(words.permission), escaped(permission)),
            None => escaped(words.token),
        }
    }

    fn is_public(&self) -> bool {
        self.operation["security"].as_array().is_none_or(Vec::is_empty)
    }

    fn parameters(&self) -> Vec<Field> {
        let parameters = self.operation["parameters"].as_array().into_iter().flatten();
        let field = |parameter: &Value| Field {
            name: parameter["name"].as_str().unwrap_or_default().to_owned(),
            kind: format!(
                "{} · {}",
                parameter["in"].as_str().unwrap_or_default(),
                schema::kind(self.document, &parameter["schema"])
            ),
            required: parameter["required"] == true,
            about: parameter["description"].as_str().unwrap_or_default().to_owned(),
        };
        parameters.map(|parameter| field(schema::resolved(self.document, parameter))).collect()
    }

    fn body_schema(&self) -> Option<&Value> {
        content(&self.operation["requestBody"]).map(|(_, schema)| schema)
    }

    fn body(&self) -> Vec<Field> {
        self.body_schema().map(|schema| schema::fields(self.document, schema)).unwrap_or_default()
    }

    fn answers(&self, words: &Words) -> String {
        let mut list = String::new();
        for (status, answer) in self.operation["responses"].as_object().into_iter().flatten() {
            let answer = schema::resolved(self.document, answer);
            let about = prose(answer["description"].as_str().unwrap_or_default());
            let what = match content(answer) {
                None => format!("<i>{}</i>", escaped(words.empty)),
                Some((kind, _)) if kind.contains("problem") => {
                    format!("<a href=\"#problems\">{}</a>", escaped(words.problems))
                }
                Some((kind, schema)) => self.answer(words, kind, schema),
            };
            let _ = write!(list, "<li><code>{}</code> {about} {what}</li>", escaped(status));
        }
        format!("<h4>{}</h4><ul class=\"answers\">{list}</ul>", escaped(words.answers))
    }

    /// Renders the fields of an answer, collapsed, because there are many and they are looked up rather than read.
    fn answer(&self, words: &Words, kind: &str, schema: &Value) -> String {
        let fields = schema::fields(self.document, schema);
        if fields.is_empty() {
            return format!("<code>{}</code>", escaped(kind));
        }
        let summary = format!("{} ({})", words.fields, fields.len());
        format!("<details><summary>{}</summary>{}</details>", escaped(&summary), rows(words, &fields))
    }

    /// Renders an example call for a shell, with the recorded parameters and body.
    fn example(&self) -> String {
        let mut line = String::from("curl");
        if self.method != "get" {
            let _ = write!(line, " -X {}", self.method.to_uppercase());
        }
        let _ = write!(line, " \"$TURNO_URL{}\"", self.address());
        if !self.is_public() {
            line.push_str(" \\\n  -H \"Authorization: Bearer $TURNO_TOKEN\"");
        }
        let body = &self.operation["requestBody"]["content"]["application/json"]["example"];
        if !body.is_null() {
            let body = body.to_string().replace('\'', "'\\''");
            let _ = write!(line, " \\\n  -H 'Content-Type: application/json' \\\n  -d '{body}'");
        }
        line
    }

    /// Returns the path and the query of the recorded call.
    fn address(&self) -> String {
        let (mut path, mut query) = (self.path.to_owned(), Vec::new());
        for parameter in self.operation["parameters"].as_array().into_iter().flatten() {
            let (name, example) = (parameter["name"].as_str().unwrap_or_default(), &parameter["example"]);
            let example = example.as_str().map_or_else(|| example.to_string(), str::to_owned);
            match parameter["in"].as_str() {
                Some("path") => path = path.replace(&format!("{{{name}}}"), &example),
                Some("query") if !parameter["example"].is_null() => query.push(format!("{name}={example}")),
                _ => {}
            }
        }
        if query.is_empty() { path } else { format!("{path}?{}", query.join("&")) }
    }
}

/// Returns the first content type of a body or an answer.
fn content(holder: &Value) -> Option<(&str, &Value)> {
    let (kind, content) = holder["content"].as_object()?.iter().next()?;
    Some((kind, &content["schema"]))
}

/// Renders the text of a doc comment. Text between backticks becomes code.
fn prose(text: &str) -> String {
    let pieces = text.split('`').map(escaped).enumerate();
    pieces.map(|(number, piece)| if number % 2 == 1 { format!("<code>{piece}</code>") } else { piece }).collect()
}

fn table(heading: &str, words: &Words, fields: &[Field]) -> String {
    if fields.is_empty() {
        return String::new();
    }
    format!("<h4>{}</h4>{}", escaped(heading), rows(words, fields))
}

fn rows(words: &Words, fields: &[Field]) -> String {
    let mut rows = String::new();
    for Field { name, kind, required, about } in fields {
        let required = if *required { format!(" <em>{}</em>", escaped(words.required)) } else { String::new() };
        let _ = write!(
            rows,
            "<tr><td><code>{}</code>{required}</td><td>{}</td><td>{}</td></tr>",
            escaped(name),
            escaped(kind),
            prose(about)
        );
    }
    let heads: String = [words.name, words.kind, words.meaning]
        .iter()
        .map(|head| format!("<th scope=\"col\">{}</th>", escaped(head)))
        .collect();
    format!("<div class=\"scroll\"><table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div>")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prose_marks_code_and_escapes_markup() {
        assert_eq!(prose("its `code` is <b>"), "its <code>code</code> is &lt;b&gt;");
    }

    #[test]
    fn example_has_the_recorded_parameters_the_body_and_the_token() {
        let document = serde_json::json!({});
        let operation = serde_json::json!({
            "security": [{ "token": [] }],
            "parameters": [
                { "name": "resource", "in": "path", "example": "caja:3" },
                { "name": "limit", "in": "query", "example": 2 },
                { "name": "cursor", "in": "query" },
            ],
            "requestBody": { "content": { "application/json": { "example": { "message": "it's mine" } } } },
        });
        let path = "/v1/leases/{resource}/heartbeat";
        let example = Operation { document: &document, path, method: "post", operation: &operation }.example();
        assert!(example.starts_with("curl -X POST \"$TURNO_URL/v1/leases/caja:3/heartbeat?limit=2\""), "{example}");
        assert!(example.contains("Bearer $TURNO_TOKEN"), "{example}");
        assert!(example.ends_with(r#"-d '{"message":"it'\''s mine"}'"#), "{example}");
    }
}
