//! Metrics and one log line per request: at debug, or at info if the server failed or was slow.

use std::collections::HashMap;
use std::sync::{PoisonError, RwLock};
use std::time::Duration;

use axum::http::{Method, StatusCode};
use metrics::{Counter, Histogram};

use super::access::Row;
use super::room::Room;

/// Requests that take longer are logged at info, except those that may wait.
const SLOW: Duration = Duration::from_secs(1);
/// The route label of requests that match no route.
const UNMATCHED: &str = "unmatched";

/// Metric handles of requests. Their number is bounded by routes and statuses.
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

/// An answered request.
#[derive(Debug)]
pub(super) struct Report<'a> {
    pub(super) method: &'static str,
    /// The row of the table of routes. `None` if no route matches.
    pub(super) row: Option<&'static Row>,
    pub(super) status: StatusCode,
    pub(super) took: Duration,
    /// The code of the problem, if the answer is one.
    pub(super) code: Option<&'static str>,
    pub(super) user: Option<&'a str>,
    pub(super) id: &'a str,
}

/// Returns the method as a label. Unknown methods share one, because a client can invent any number of them.
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
        with_handle(&self.counts, (method, route, status), make, |counter| counter.increment(1));
        let make = || metrics::histogram!("turno_http_request_seconds", "method" => method, "route" => route);
        with_handle(&self.seconds, (method, route), make, |histogram| histogram.record(took.as_secs_f64()));
        if let Some(code) = code {
            let make = || metrics::counter!("turno_http_rejected_total", "reason" => code);
            with_handle(&self.rejected, code, make, |counter| counter.increment(1));
        }
        log(report, route);
    }
}

fn with_handle<K: Eq + std::hash::Hash, T>(
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
    fn unknown_methods_share_a_label() {
        assert_eq!(method(&Method::PATCH), "PATCH");
        for made_up in ["PROPFIND", "get", "X1"] {
            assert_eq!(method(&Method::from_bytes(made_up.as_bytes()).expect("a valid method")), "other");
        }
    }
}
