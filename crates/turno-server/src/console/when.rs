//! Times for people: how long ago, or at what o'clock. The server says it once, the page goes on saying it.

use askama::Template;
use turno::core::time::{Span, Time};

use super::page::Page;
use crate::http::Stamp;

/// A time on a page.
#[derive(Template)]
#[template(path = "parts/when.html")]
pub(crate) struct When {
    at: Stamp,
    /// Shown as a time of day, which only the browser knows in the reader's own zone: to the minute (`m`) or second (`s`).
    clock: Option<char>,
    said: String,
}

impl askama::filters::HtmlSafe for When {}

impl When {
    /// "hace 12 s", or "en 12 s" for what is to come.
    pub(super) fn ago(page: &Page, at: Time, now: Time) -> When {
        When { at: Stamp(at), clock: None, said: spoken(page, at.until(now)) }
    }

    /// "10:32"; without scripts in the server's own zone, which is said.
    pub(super) fn clock(at: Time) -> When {
        When { at: Stamp(at), clock: Some('m'), said: When::day(at) }
    }

    /// "10:32:07", where minutes say nothing.
    pub(super) fn exact_clock(at: Time) -> When {
        When { at: Stamp(at), clock: Some('s'), said: When::cut(at, 19) }
    }

    /// "2026-01-15 10:30 UTC".
    pub(super) fn day(at: Time) -> String {
        When::cut(at, 16)
    }

    fn cut(at: Time, length: usize) -> String {
        let text = Stamp(at).to_string();
        text.get(..length).map_or_else(|| text.clone(), |day| format!("{} UTC", day.replace('T', " ")))
    }
}

/// Units of the words `ago-*` and `in-*`, largest first; the same as in console.js.
const UNITS: [(&str, i64); 4] = [("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1)];

fn spoken(page: &Page, span: Span) -> String {
    let seconds = (span.0.unsigned_abs() as i64 + 500) / 1_000;
    if seconds < 2 {
        return page.t("ago-now");
    }
    let (unit, size) = UNITS.into_iter().find(|(_, size)| seconds >= *size).unwrap_or(("s", 1));
    let direction = if span.0 < 0 { "in" } else { "ago" };
    page.t1(&format!("{direction}-{unit}"), "n", seconds / size)
}
