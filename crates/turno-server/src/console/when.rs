//! Renders times for people, relative or as a time of day. The page's script keeps them current.

use askama::Template;
use turno::core::time::{Span, Time};

use super::page::Page;
use crate::http::Stamp;

/// A time on a page.
#[derive(Template)]
#[template(path = "parts/when.html")]
pub(crate) struct When {
    at: Stamp,
    /// Set for a time of day, which the script renders in the reader's time zone: `m` with minutes, `s` with seconds.
    clock: Option<char>,
    text: String,
}

impl askama::filters::HtmlSafe for When {}

impl When {
    /// Renders a relative time: "hace 12 s", or "en 12 s" in the future.
    pub(super) fn ago(page: &Page, at: Time, now: Time) -> When {
        When { at: Stamp(at), clock: None, text: render_relative(page, at.until(now)) }
    }

    /// Renders "10:32". Without scripts the page shows UTC, and says so.
    pub(super) fn clock(at: Time) -> When {
        When { at: Stamp(at), clock: Some('m'), text: When::day(at) }
    }

    /// Renders "10:32:07".
    pub(super) fn exact_clock(at: Time) -> When {
        When { at: Stamp(at), clock: Some('s'), text: When::truncated(at, 19) }
    }

    /// Renders "2026-01-15 10:30 UTC".
    pub(super) fn day(at: Time) -> String {
        When::truncated(at, 16)
    }

    fn truncated(at: Time, length: usize) -> String {
        let text = Stamp(at).to_string();
        text.get(..length).map_or_else(|| text.clone(), |day| format!("{} UTC", day.replace('T', " ")))
    }
}

/// Units of the texts `ago-*` and `in-*`, largest first. console.js has the same.
const UNITS: [(&str, i64); 4] = [("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1)];

fn render_relative(page: &Page, span: Span) -> String {
    let seconds = (span.0.unsigned_abs() as i64 + 500) / 1_000;
    if seconds < 2 {
        return page.t("ago-now");
    }
    let (unit, size) = UNITS.into_iter().find(|(_, size)| seconds >= *size).unwrap_or(("s", 1));
    let direction = if span.0 < 0 { "in" } else { "ago" };
    page.t1(&format!("{direction}-{unit}"), "n", seconds / size)
}
