//! `GET /`: what runs here, for whoever opens the address in a browser. No script, no reload needed to be true.

mod texts;

use std::time::Duration;

use axum::Extension;
use axum::extract::{Path, State};
use axum::http::header;
use axum::response::{Html, IntoResponse};

use super::app::Shared;
use super::html::{escaped, fill};
use super::problem::{Code, Problem};
use crate::database::{Database, Place};
use crate::texts::Language;
use crate::uptime;
use turno::store::Counts;

const TEMPLATE: &str = include_str!("root/page.html");

pub(super) async fn page(State(state): State<Shared>, Extension(language): Extension<Language>) -> impl IntoResponse {
    let headers = [
        (header::CONTENT_LANGUAGE, language.tag()),
        (header::VARY, "accept-language"),
        (header::CACHE_CONTROL, "no-store"),
    ];
    let queues = if state.shows_queues { counted(&state.database).await } else { Vec::new() };
    let page = render(language, &state.database.place, state.uptime.elapsed(), &queues);
    (headers, Html(page))
}

/// What is in every queue. A queue that cannot be counted just now is left out: the page is no place for errors.
async fn counted(database: &Database) -> Vec<(String, Counts)> {
    let mut counted = Vec::new();
    for queue in database.turno.queues().await.unwrap_or_default() {
        if let Ok(handle) = database.turno.queue(queue.name.clone()).await
            && let Ok(counts) = handle.counts().await
        {
            counted.push((queue.name.to_string(), counts));
        }
    }
    counted
}

/// A row per queue; nothing at all if there are none.
fn table(texts: &texts::Texts, queues: &[(String, Counts)]) -> String {
    if queues.is_empty() {
        return String::new();
    }
    let head: String = texts.columns.iter().map(|name| format!("<th scope=\"col\">{}</th>", escaped(name))).collect();
    let rows: String = queues
        .iter()
        .map(|(name, counts)| {
            let cells = [counts.pending, counts.in_process, counts.error, counts.processed];
            let cells: String = cells.iter().map(|count| format!("<td>{count}</td>")).collect();
            format!("<tr><th scope=\"row\">{}</th>{cells}</tr>", escaped(name))
        })
        .collect();
    format!("<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>")
}

pub(super) async fn asset(Path(file): Path<String>) -> Result<impl IntoResponse, Problem> {
    let (kind, content) = match file.as_str() {
        "turno.css" => ("text/css; charset=utf-8", include_str!("root/turno.css")),
        "docs.css" => ("text/css; charset=utf-8", include_str!("root/docs.css")),
        "turno.svg" => ("image/svg+xml", include_str!("root/turno.svg")),
        _ => return Err(Problem::new(Code::NotFound).arg("thing", file)),
    };
    Ok(([(header::CONTENT_TYPE, kind)], content))
}

/// The browser module: for pages of other applications too, which look whether it has changed.
pub(super) async fn module() -> impl IntoResponse {
    for_everybody("text/javascript; charset=utf-8", include_str!("../../../../web/turno.js"))
}

/// Its types, for editors and compilers.
pub(super) async fn module_types() -> impl IntoResponse {
    for_everybody("text/plain; charset=utf-8", include_str!("../../../../web/turno.d.ts"))
}

fn for_everybody(kind: &'static str, content: &'static str) -> impl IntoResponse {
    let headers =
        [(header::CONTENT_TYPE, kind), (header::CACHE_CONTROL, "no-cache"), (header::ACCESS_CONTROL_ALLOW_ORIGIN, "*")];
    (headers, content)
}

fn render(language: Language, place: &Place, running: Duration, queues: &[(String, Counts)]) -> String {
    let texts = texts::of(language);
    fill(TEMPLATE, |name| match name {
        "lang" => language.tag().to_string(),
        "version" => env!("CARGO_PKG_VERSION").to_string(),
        "database" => escaped(place.kind),
        "place" => escaped(&place.name),
        "queues" => table(texts, queues),
        "uptime" => uptime::shown(running),
        "works" => list(texts.works),
        "to_come" => list(texts.to_come),
        other => escaped(texts.get(other)),
    })
}

fn list(sentences: &[&str]) -> String {
    sentences.iter().map(|sentence| format!("<li>{}</li>", escaped(sentence))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rendered(language: Language) -> String {
        let place = Place { kind: "SQLite", name: "/a <b> {{uptime}} & 'c'/turno.db".into() };
        let counts = Counts { pending: 3, in_process: 1, processed: 4_711, ..Counts::default() };
        render(language, &place, Duration::from_secs(61), &[("<chat>".to_owned(), counts)])
    }

    #[test]
    fn the_page_says_what_runs_in_the_readers_language() {
        for (language, words) in [
            (Language::Spanish, ["<html lang=\"es\">", "Base de datos", "1 min 1 s"]),
            (Language::English, ["<html lang=\"en\">", "Database", "1 min 1 s"]),
        ] {
            let page = rendered(language);
            for word in words.into_iter().chain(["Turno", env!("CARGO_PKG_VERSION"), "SQLite"]) {
                assert!(page.contains(word), "{word} in {page}");
            }
        }
    }

    #[test]
    fn what_comes_from_outside_is_text_and_nothing_else() {
        assert!(rendered(Language::English).contains("/a &lt;b&gt; {{uptime}} &amp; &#39;c&#39;/turno.db"));
    }

    #[test]
    fn the_queues_are_shown_with_their_counts() {
        let page = rendered(Language::Spanish);
        assert!(
            page.contains("<th scope=\"row\">&lt;chat&gt;</th><td>3</td><td>1</td><td>0</td><td>4711</td>"),
            "{page}"
        );
    }

    #[test]
    fn every_name_in_the_template_has_a_text() {
        for language in [Language::Spanish, Language::English] {
            for name in TEMPLATE.split("{{").skip(1).filter_map(|piece| piece.split("}}").next()) {
                let computed = ["lang", "version", "database", "place", "uptime", "queues", "works", "to_come"];
                assert!(computed.contains(&name) || !texts::of(language).get(name).is_empty(), "{name}");
            }
        }
    }
}
