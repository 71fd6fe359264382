//! One figure and one line per request: at debug, and at info if it failed on our side or was slow.

use std::collections::HashMap;
use std::sync::{PoisonError, RwLock};
use std::time::Duration;

use axum::http::{Method, StatusCode};
use metrics::{Counter, Histogram};

use super::access::Row;
use super::room::Room;

/// Longer than this is worth a line, except for calls that may wait.
const SLOW: Duration = Duration::from_secs(1);
/// What nobody serves.
const UNMATCHED: &str = "unmatched";

/// Figures of requests, their handles kept by what they count. As many as there are routes and statuses.
#[derive(Default)]
pub(crate) struct Reports {
    counts: RwLock<HashMap<(&'static str, &'static str, u16), Counter>>,
    seconds: RwLock<HashMap<(&'static str, &'static str), Histogram>>,
    rejected: RwLock<HashMap<&'static str, Counter>>,
}

impl std::fmt::Debug for Reports {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Reports")
    }
}

/// A request that was answered.
#[derive(Debug)]
pub(super) struct Report<'a> {
    pub(super) method: &'static str,
    /// Its row of the table; nothing for what nobody serves.
    pub(super) row: Option<&'static Row>,
    pub(super) status: StatusCode,
    pub(super) took: Duration,
    /// The problem's code, if it was answered with one.
    pub(super) code: Option<&'static str>,
    pub(super) user: Option<&'a str>,
    pub(super) id: &'a str,
}

/// Methods as labels: a client can make up as many as it likes.
pub(super) fn method(method: &Method) -> &'static str {
    ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"]
        .into_iter()
        .find(|known| *known == method.as_str())
        .unwrap_or("other")
}

impl Reports {
    pub(super) fn add(&self, report: &Report<'_>) {
        let Report { method, row, status, took, code, .. } = *report;
        let (route, status) = (row.map_or(UNMATCHED, |row| row.path), status.as_u16());
        let make = || {
            let status = status.to_string();
            metrics::counter!("turno_http_requests_total", "method" => method, "route" => route, "status" => status)
        };
        kept(&self.counts, (method, route, status), make, |counter| counter.increment(1));
        let make = || metrics::histogram!("turno_http_request_seconds", "method" => method, "route" => route);
        kept(&self.seconds, (method, route), make, |histogram| histogram.record(took.as_secs_f64()));
        if let Some(code) = code {
            let make = || metrics::counter!("turno_http_rejected_total", "reason" => code);
            kept(&self.rejected, code, make, |counter| counter.increment(1));
        }
        log(report, route);
    }
}

fn kept<K: Eq + std::hash::Hash, T>(
    cells: &RwLock<HashMap<K, T>>,
    key: K,
    make: impl FnOnce() -> T,
    with: impl FnOnce(&T),
) {
    if let Some(known) = cells.read().unwrap_or_else(PoisonError::into_inner).get(&key) {
        return with(known);
    }
    with(cells.write().unwrap_or_else(PoisonError::into_inner).entry(key).or_insert_with(make));
}

fn log(report: &Report<'_>, route: &'static str) {
    let Report { method, row, status, took, code, user, id } = *report;
    let (status, ms) = (status.as_u16(), took.as_secs_f64() * 1_000.0);
    let waits = row.is_some_and(|row| matches!(row.room, Room::Waiting | Room::Stream));
    let slow = took >= SLOW && !waits;
    if status >= 500 || slow {
        let what = if status >= 500 { "request failed" } else { "request was slow" };
        tracing::info!(target: "turno::http", method, route, status, ms, request_id = id, user, code, "{what}");
    } else {
        tracing::debug!(target: "turno::http", method, route, status, ms, request_id = id, user, code, "request");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn methods_that_nobody_knows_share_a_label() {
        assert_eq!(method(&Method::PATCH), "PATCH");
        for made_up in ["PROPFIND", "get", "X1"] {
            assert_eq!(method(&Method::from_bytes(made_up.as_bytes()).expect("a token")), "other");
        }
    }
}
