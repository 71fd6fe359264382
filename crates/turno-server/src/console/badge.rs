//! Renders a state as a word with a tone, the same way on every page.

use askama::Template;

/// A state with its tone.
#[derive(Template)]
#[template(path = "parts/badge.html")]
pub(crate) struct Badge {
    tone: &'static str,
    label: String,
}

impl askama::filters::HtmlSafe for Badge {}

impl Badge {
    /// Makes the badge of a state. `label` is its word in the reader's language.
    pub(super) fn new(state: &str, label: String) -> Badge {
        Badge { tone: tone(state), label }
    }
}

/// Returns the tone of a state: waiting, at work, good, warning, bad, or over.
pub(super) fn tone(state: &str) -> &'static str {
    match state {
        "pending" | "line_pending" | "free" | "ready" | "offered" | "window_open" | "delayed" | "behind_head"
        | "behind_in_flight" | "expired" => "wait",
        "in_process" | "validated" | "locked" | "processing" | "running" | "live" => "work",
        "processed" | "applied" | "completed" | "verified" | "good" | "active" | "enabled" | "installed"
        | "healthy" | "released" => "good",
        "error"
        | "paused"
        | "retry_later"
        | "partially_completed"
        | "differs"
        | "absent"
        | "unknown"
        | "stale"
        | "blocked"
        | "taken"
        | "lost"
        | "expires_soon" => "warn",
        "exhausted" | "failed" | "lane_held" | "damaged" | "broken" | "missing" | "down" | "disabled" => "bad",
        "cancelled" | "task_cancelled" | "draft" | "empty" | "revoked" => "over",
        _ => "",
    }
}
