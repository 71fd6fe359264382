//! `GET /docs`: the API reference as a page, generated from the OpenAPI document, with the meaning of every problem
//! code.
//!
//! There is one page per language, rendered when the server starts. The pages have no scripts, no inline styles and no
//! external resources.

mod operation;
mod schema;
mod texts;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;

use axum::http::header;
use axum::response::{Html, IntoResponse};
use axum::routing::get;
use axum::{Extension, Router};
use fluent_bundle::FluentArgs;
use serde_json::Value;

use super::app::Shared;
use super::html::escaped;
use super::problem::Code;
use crate::texts::{Language, Texts};
use operation::Operation;
use texts::Words;

/// Returns the route of the page. It is not a part of the API that the page describes.
pub(super) fn pages(document: &Value, texts: &Texts) -> Router<Shared> {
    let page = |language| -> Arc<str> { render(document, texts, language).into() };
    let (spanish, english) = (page(Language::Spanish), page(Language::English));
    let answer = move |Extension(language): Extension<Language>| {
        let page = match language {
            Language::Spanish => spanish.clone(),
            Language::English => english.clone(),
        };
        let headers = [
            (header::CONTENT_LANGUAGE, language.tag()),
            (header::VARY, "accept-language"),
            (header::CACHE_CONTROL, "no-cache"),
        ];
        std::future::ready((headers, Html(page.to_string())).into_response())
    };
    Router::new().route("/docs", get(answer))
}

/// Groups the operations by tag, in the order of their paths.
fn by_tag(document: &Value) -> BTreeMap<&str, Vec<Operation<'_>>> {
    let mut tags: BTreeMap<&str, Vec<Operation<'_>>> = BTreeMap::new();
    let paths = document["paths"].as_object().into_iter().flatten();
    for (path, methods) in paths {
        for (method, operation) in methods.as_object().into_iter().flatten() {
            let tag = operation["tags"][0].as_str().unwrap_or("operation");
            tags.entry(tag).or_default().push(Operation { document, path, method, operation });
        }
    }
    tags
}

fn render(document: &Value, texts: &Texts, language: Language) -> String {
    let words = texts::words(language);
    let tags = by_tag(document);
    let mut page = head(words, language);
    page.push_str(&contents(words, &tags));
    page.push_str("<main>");
    page.push_str(&introduction(words));
    for (tag, operations) in &tags {
        let _ = write!(page, "<section id=\"tag-{0}\"><h2>{1}</h2>", escaped(tag), escaped(words.tag(tag)));
        operations.iter().for_each(|operation| page.push_str(&operation.render(words)));
        page.push_str("</section>");
    }
    page.push_str(&problems(words, texts, language));
    page.push_str("</main></div></body></html>\n");
    page
}

fn head(words: &Words, language: Language) -> String {
    let (title, version) = (escaped(words.title), env!("CARGO_PKG_VERSION"));
    format!(
        "<!doctype html>\n<html lang=\"{lang}\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <meta name=\"color-scheme\" content=\"light dark\"><title>{title}</title>\
         <link rel=\"icon\" href=\"/assets/turno.svg\" type=\"image/svg+xml\">\
         <link rel=\"stylesheet\" href=\"/assets/turno.css\"><link rel=\"stylesheet\" href=\"/assets/docs.css\">\
         </head><body class=\"docs\"><header class=\"top\">\
         <img src=\"/assets/turno.svg\" alt=\"\" width=\"40\" height=\"40\"><div><h1>{title}</h1>\
         <p>{version} · <a href=\"/openapi.json\">openapi.json</a> · <a href=\"/\">{home}</a></p></div></header>\
         <div class=\"pane\">",
        lang = language.tag(),
        home = escaped(words.home),
    )
}

fn contents(words: &Words, tags: &BTreeMap<&str, Vec<Operation<'_>>>) -> String {
    let mut list = String::new();
    for (tag, operations) in tags {
        let _ = write!(list, "<li><a href=\"#tag-{0}\">{1}</a><ul>", escaped(tag), escaped(words.tag(tag)));
        operations.iter().for_each(|operation| list.push_str(&operation.entry()));
        list.push_str("</ul></li>");
    }
    let _ = write!(list, "<li><a href=\"#problems\">{}</a></li>", escaped(words.problems));
    // A stylesheet opens the list on a wide screen; on a telephone it would push the content down. The list scrolls, so
    // it must be reachable by keyboard.
    let title = escaped(words.contents);
    format!(
        "<nav tabindex=\"0\" aria-label=\"{title}\"><details><summary>{title}</summary><ul>{list}</ul></details></nav>"
    )
}

fn introduction(words: &Words) -> String {
    let sentences: String =
        words.introduction.iter().map(|sentence| format!("<li>{}</li>", escaped(sentence))).collect();
    format!("<section><h2>{}</h2><ul>{sentences}</ul></section>", escaped(words.first))
}

/// Renders every code with its status and meaning. The `type` of a problem links here.
fn problems(words: &Words, texts: &Texts, language: Language) -> String {
    let mut rows = String::new();
    let none = FluentArgs::new();
    for code in Code::ALL {
        let name = code.as_str();
        let translate =
            |id: String| texts.find(language, &id, &none).map(|text| placeholders(&text)).unwrap_or_default();
        let (title, detail) = (translate(format!("problem-{name}.title")), translate(format!("problem-{name}")));
        let _ = write!(
            rows,
            "<div id=\"problem-{name}\" class=\"problem\"><dt><code>{name}</code> <span>{status}</span></dt>\
             <dd><strong>{title}</strong> {detail}</dd></div>",
            status = code.status(),
            title = escaped(&title),
            detail = escaped(&detail),
        );
    }
    format!(
        "<section id=\"problems\"><h2>{}</h2><p>{}</p><dl class=\"problems\">{rows}</dl></section>",
        escaped(words.problems),
        escaped(words.problems_about),
    )
}

/// Renders the placeholders of a text as ‹name›.
fn placeholders(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once("{$") {
        let (name, after) = behind.split_once('}').unwrap_or((behind, ""));
        let _ = write!(shown, "{before}‹{name}›");
        rest = after;
    }
    shown + rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::{api, openapi};

    fn page(language: Language) -> String {
        let (_, generated) = api().split_for_parts();
        render(&openapi::document(generated), &Texts::load(), language)
    }

    #[test]
    fn page_has_every_operation_and_code_in_both_languages() {
        let (_, generated) = api().split_for_parts();
        let document = openapi::document(generated);
        for language in [Language::Spanish, Language::English] {
            let page = page(language);
            for (path, methods) in document["paths"].as_object().expect("the document has paths") {
                for operation in methods.as_object().expect("the path has methods").values() {
                    let id = operation["operationId"].as_str().expect("the operation has an id");
                    assert!(page.contains(&format!("<article id=\"{id}\"")), "{id} in {language:?}");
                }
                assert!(page.contains(&escaped(path)), "{path} in {language:?}");
            }
            for code in Code::ALL {
                assert!(page.contains(&format!("id=\"problem-{}\"", code.as_str())), "{code:?} in {language:?}");
            }
        }
    }

    #[test]
    fn page_has_no_scripts_inline_styles_or_external_resources() {
        for language in [Language::Spanish, Language::English] {
            let page = page(language);
            for foreign in ["<script", "<style", " style=", " onclick=", "src=\"http", "href=\"http", "url("] {
                assert!(!page.contains(foreign), "{foreign}");
            }
        }
    }

    #[test]
    fn headings_are_translated() {
        assert!(page(Language::Spanish).contains("Quién puede") && page(Language::English).contains("Who may"));
    }

    #[test]
    fn placeholders_are_rendered_as_names() {
        assert_eq!(placeholders("No hay {$thing} de {$user}."), "No hay ‹thing› de ‹user›.");
        assert_eq!(placeholders("sin nombres"), "sin nombres");
    }
}
