//! Metrics: the recorder behind the `metrics` crate, and its text for Prometheus.

use std::sync::OnceLock;
use std::time::Duration;

use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};

/// How often recorded samples are folded into buckets. Until then each sample takes memory.
const UPKEEP: Duration = Duration::from_secs(5);

/// Buckets for durations: from a heartbeat that only reads to a request that timed out.
const SECONDS: &[f64] = &[0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0];
/// Buckets for the number of commands in one commit.
const SIZES: &[f64] = &[1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1_000.0];

/// Returns the handle that renders all metrics, and installs the recorder on the first call. A process has one
/// recorder, hence the static.
pub(crate) fn installed() -> &'static PrometheusHandle {
    static HANDLE: OnceLock<PrometheusHandle> = OnceLock::new();
    HANDLE.get_or_init(|| {
        let recorder = PrometheusBuilder::new()
            .set_buckets(SECONDS)
            .and_then(|builder| builder.set_buckets_for_metric(Matcher::Suffix("_size".to_owned()), SIZES))
            .expect("the lists of buckets are not empty")
            .build_recorder();
        let handle = recorder.handle();
        // Installing fails only if the process has another recorder. This program installs no other.
        let _ = metrics::set_global_recorder(recorder);
        describe();
        handle
    })
}

/// Folds recorded samples into buckets for as long as the program runs.
pub(crate) async fn upkeep() {
    loop {
        tokio::time::sleep(UPKEEP).await;
        installed().run_upkeep();
    }
}

/// Describes each metric. `docs/operating/observability.md` has the same sentences.
fn describe() {
    for (name, what) in [
        ("turno_http_requests_total", "Answered requests"),
        ("turno_http_rejected_total", "Requests answered with a problem, by its code"),
        ("turno_caller_refused_total", "Requests and connections refused by a limit per caller, by the limit"),
        ("turno_groups_total", "Groups of commands that were committed or failed"),
        ("turno_lease_total", "Commands on leases and what became of them; expire counts expiries that were noticed"),
        ("turno_items_total", "Items by what became of them"),
        ("turno_deliveries_total", "Deliveries that were sent to an endpoint, or given back because it is down"),
    ] {
        metrics::describe_counter!(name, what);
    }
    for (name, what) in [
        ("turno_http_request_seconds", "From the request's head to the answer's"),
        ("turno_delivery_seconds", "From the hand-out of a delivery to the end of its call"),
        ("turno_group_size", "Commands in one group"),
        ("turno_commit_seconds", "From the begin of a transaction to its commit, by the kind of its group"),
    ] {
        metrics::describe_histogram!(name, what);
    }
    for (name, what) in [
        ("turno_http_in_progress", "Requests that are being answered, by the room they need"),
        ("turno_http_body_bytes", "Memory reserved for bodies larger than 4 KiB, by its budget"),
        ("turno_queue_items", "Unfinished and exhausted items, by state; refreshed every ten seconds at most"),
        ("turno_queue_oldest_seconds", "Age of the oldest item that waits; refreshed as turno_queue_items"),
        ("turno_destination_down", "Whether a queue's endpoint is left alone, because it fails as a whole"),
        ("turno_live_listeners", "Listeners of live events"),
        ("turno_event_position", "The position of the newest event"),
        ("turno_tokens_expiring_soon", "Tokens, without sessions, that expire within a week"),
        ("turno_database_up", "Whether the database answered this scrape"),
        ("turno_database_bytes", "Size of SQLite's files"),
        ("turno_process_resident_bytes", "Memory of the process, where the system tells"),
        ("turno_process_open_files", "Open files of the process, where the system tells"),
        ("turno_process_tasks", "Tasks of the runtime that are alive"),
        ("turno_uptime_seconds", "For how long it has been running"),
        ("turno_build_info", "1, with the version as a label"),
    ] {
        metrics::describe_gauge!(name, what);
    }
}
