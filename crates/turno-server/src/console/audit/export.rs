//! The audit as a file, oldest entry first. It is streamed page by page, so a long audit needs the memory of one page.

use axum::body::Body;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::stream;
use serde_json::json;
use turno::Turno;
use turno::core::audit::Entry;
use turno::store::AuditQuery;

use super::{Filter, Filters};
use crate::console::page::Page;
use crate::http::{Problem, Query, Stamp};
use crate::texts::message::Message;

/// Page size when reading entries.
const PAGE: u32 = 500;

/// The format of the file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Format {
    Csv,
    /// One JSON object per line.
    Json,
}

impl Format {
    fn header(self) -> &'static str {
        match self {
            Format::Csv => "n,at,actor,via,action,resource,detail,hash\r\n",
            Format::Json => "",
        }
    }

    fn line(self, entry: &Entry) -> String {
        let (at, via) = (Stamp(entry.at), entry.actor.via.as_ref().map(ToString::to_string));
        match self {
            Format::Csv => {
                let (n, at, hash) = (entry.n.to_string(), at.to_string(), entry.hash.to_string());
                let cells = [
                    &n,
                    &at,
                    entry.actor.user.as_str(),
                    via.as_deref().unwrap_or_default(),
                    &entry.action,
                    &entry.resource,
                    &entry.detail,
                    &hash,
                ];
                cells.map(cell).join(",") + "\r\n"
            }
            Format::Json => {
                let detail = serde_json::from_str::<serde_json::Value>(&entry.detail).unwrap_or_default();
                let line = json!({
                    "n": entry.n, "at": at, "actor": entry.actor.user, "via": via, "action": entry.action,
                    "resource": entry.resource, "detail": detail, "hash": entry.hash.to_string(),
                });
                format!("{line}\n")
            }
        }
    }
}

/// Quotes a cell of CSV. A leading apostrophe keeps spreadsheets from evaluating text that begins with `=` or the like.
fn cell(text: &str) -> String {
    let active = text.starts_with(['=', '+', '-', '@', '\t', '\r']);
    format!("\"{}{}\"", if active { "'" } else { "" }, text.replace('"', "\"\""))
}

struct Pages {
    turno: Turno,
    query: AuditQuery,
    format: Format,
    begun: bool,
}

impl Pages {
    /// Returns the next piece of the file, or `None` at the end. If the database fails, the connection is cut, so that
    /// a partial file is not taken for a complete one.
    async fn next(&mut self) -> Result<Option<String>, turno::Error> {
        if !self.begun {
            self.begun = true;
            return Ok(Some(self.format.header().to_owned()));
        }
        let entries = self.turno.audit(self.query.clone()).await?;
        let Some(last) = entries.last() else {
            return Ok(None);
        };
        self.query.after = Some(last.n);
        Ok(Some(entries.iter().map(|entry| self.format.line(entry)).collect()))
    }
}

pub(super) async fn download(page: Page, Query(mut filter): Query<Filter>) -> Result<Response, Problem> {
    let (format, kind, name) = match filter.format.as_deref() {
        None | Some("csv") => (Format::Csv, "text/csv; charset=utf-8", "turno-audit.csv"),
        Some("json") => (Format::Json, "application/x-ndjson", "turno-audit.jsonl"),
        Some(other) => return Err(Problem::query("format", Message::new("error-export-format").text("given", other))),
    };
    let query = AuditQuery { after: Some(0), limit: PAGE, ..Filters::from_filter(&mut filter).query(&page)? };
    let pages = Pages { turno: page.turno()?.clone(), query, format, begun: false };
    let pieces = stream::unfold(Some(pages), |pages| async {
        let mut pages = pages?;
        match pages.next().await {
            Ok(Some(piece)) => Some((Ok(Bytes::from(piece)), Some(pages))),
            Ok(None) => None,
            Err(error) => Some((Err(std::io::Error::other(error.to_string())), None)),
        }
    });
    let headers = [
        (header::CONTENT_TYPE, kind.to_owned()),
        (header::CONTENT_DISPOSITION, format!("attachment; filename=\"{name}\"")),
        (header::CACHE_CONTROL, "no-store".to_owned()),
    ];
    Ok((headers, Body::from_stream(pieces)).into_response())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_csv_cell_is_never_a_formula() {
        assert_eq!(cell("dos \"líneas\",\n"), "\"dos \"\"líneas\"\",\n\"");
        assert_eq!(cell("=1+1"), "\"'=1+1\"");
        assert_eq!(cell("ana"), "\"ana\"");
    }
}
