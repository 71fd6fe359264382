//! A server's refusal, rendered for a person at the command line.

use serde_json::Value;

use crate::cli::duration;
use crate::failure::{Failure, io_cause};
use crate::texts::message::Message;

/// Why a call has no answer.
#[derive(Debug)]
pub(crate) struct Refusal {
    /// The problem's code, if a Turno server refused.
    pub(crate) code: Option<String>,
    /// The whole problem document.
    pub(crate) problem: Value,
    cause: RefusalCause,
}

#[derive(Debug)]
enum RefusalCause {
    /// No Turno server answered.
    Unanswered(Message),
    /// A Turno server refused, in the language of the command line.
    Answered(String),
    /// The same, with the message that names the place in the input.
    Placed(Message),
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Failure {
        if let RefusalCause::Unanswered(message) = refusal.cause {
            return Failure::failed(message);
        }
        let code = refusal.code.clone().unwrap_or_default();
        let message = next(&code, &refusal.problem).message("cause", refusal.into_cause());
        if WRONG_USAGE.contains(&code.as_str()) { Failure::usage(message) } else { Failure::failed(message) }
    }
}

impl Refusal {
    /// Converts an answer with an error status.
    pub(super) fn from_response(base: &str, status: u16, text: &str) -> Refusal {
        let problem: Value = serde_json::from_str(text).unwrap_or_default();
        let (Some(code), Some(title)) = (problem["code"].as_str(), problem["title"].as_str()) else {
            return Refusal::unanswered(Message::new("server-other").text("server", base).text("status", status));
        };
        let detail = problem["detail"].as_str().filter(|detail| !detail.is_empty());
        let cause = match (code, detail) {
            // The detail names the query parameter, which the person did not type. Only the cause after it is shown.
            ("bad_query", Some(detail)) => detail.split_once(": ").map_or(detail, |(_, cause)| cause).to_owned(),
            // The detail repeats the title.
            ("bad_field", Some(detail)) => detail.to_owned(),
            (_, Some(detail)) => format!("{title}: {detail}"),
            (_, None) => title.to_owned(),
        };
        let typed = FLAGS.iter().find(|(field, _)| problem["field"] == *field);
        let cause = typed.map_or(cause.clone(), |(field, flag)| in_units(&cause.replace(field, flag)));
        Refusal { code: Some(code.to_owned()), cause: RefusalCause::Answered(cause), problem }
    }

    /// Reports a success whose body is not an answer of Turno.
    pub(super) fn unexpected(base: &str) -> Refusal {
        let refusal = Refusal::unanswered(Message::new("server-unexpected").text("server", base));
        // The status marks that the call may have had an effect, so that it is not repeated blindly.
        Refusal { problem: serde_json::json!({ "status": 200 }), ..refusal }
    }

    pub(super) fn unreachable(base: &str, error: &reqwest::Error) -> Refusal {
        let mut root: &dyn std::error::Error = error;
        while let Some(source) = root.source() {
            root = source;
        }
        let cause = root.downcast_ref::<std::io::Error>().map_or_else(|| Message::verbatim(root), io_cause);
        Refusal::unanswered(if error.is_connect() {
            Message::new("server-unreachable").text("server", base).message("cause", cause)
        } else if error.is_timeout() {
            Message::new("server-slow").text("server", base)
        } else {
            Message::new("server-lost").text("server", base).message("cause", cause)
        })
    }

    /// Names the input line of a refused item instead of its index in the request.
    pub(crate) fn by_line(mut self, lines: &[usize]) -> Refusal {
        let field = self.problem["field"].as_str().unwrap_or_default();
        let entry = field.strip_prefix('[').and_then(|rest| rest.split_once("]."));
        if let Some((index, name)) = entry
            && let Some(line) = index.parse::<usize>().ok().and_then(|index| lines.get(index))
            && let RefusalCause::Answered(cause) = &self.cause
        {
            let cause = cause.replacen(field, name, 1);
            self.cause = RefusalCause::Placed(Message::new("problem-line").number("line", *line).text("cause", cause));
        }
        self
    }

    /// Adds that the first items of the input are stored.
    pub(crate) fn after(mut self, stored: usize) -> Refusal {
        let placed = |cause| {
            let message = Message::new("problem-after").message("cause", cause);
            RefusalCause::Placed(message.number("stored", stored))
        };
        self.cause = match self.cause {
            RefusalCause::Answered(cause) => placed(Message::verbatim(cause)),
            RefusalCause::Placed(cause) => placed(cause),
            unanswered => unanswered,
        };
        self
    }

    /// Returns the cause alone, for a message that contains it.
    pub(crate) fn into_cause(self) -> Message {
        match self.cause {
            RefusalCause::Answered(text) => Message::verbatim(text),
            RefusalCause::Unanswered(message) | RefusalCause::Placed(message) => message,
        }
    }

    fn unanswered(message: Message) -> Refusal {
        Refusal { code: None, problem: Value::Null, cause: RefusalCause::Unanswered(message) }
    }
}

/// Codes that mean wrong input. They exit with the same status as a wrong flag.
const WRONG_USAGE: &[&str] =
    &["bad_field", "bad_body", "bad_query", "invalid", "payload_too_deep", "ttl_out_of_bounds"];

/// Fields that a person types as these flags, each a duration with a unit.
const FLAGS: &[(&str, &str)] =
    &[("ttl_ms", "--ttl"), ("wait_ms", "--wait"), ("retry_in_ms", "--retry-in"), ("keep_ms", "--keep")];

/// Renders the milliseconds in a sentence as durations with units.
fn in_units(sentence: &str) -> String {
    let is_digit = |c: &char| c.is_ascii_digit();
    let (mut text, mut rest) = (String::new(), sentence);
    while let Some(at) = rest.find(|c: char| is_digit(&c)) {
        let (before, from) = rest.split_at(at);
        let (digits, after) = from.split_at(from.chars().take_while(is_digit).count());
        text.push_str(before);
        text.push_str(&digits.parse().map_or_else(|_| digits.to_owned(), duration::typed));
        rest = after;
    }
    text + rest
}

/// Returns the message whose next step fits the code, in terms of the command line.
fn next(code: &str, problem: &Value) -> Message {
    Message::new(match code {
        "unauthenticated" => "answer-unauthenticated",
        "forbidden" => {
            return match problem["permission"].as_str() {
                Some(permission) => Message::new("answer-forbidden").text("permission", permission),
                None => Message::new("answer-forbidden-any"),
            };
        }
        "other_resource" => "answer-other-resource",
        "instance_required" => "answer-instance-required",
        "lease_held" | "lease_offered" => "answer-held",
        "lease_lost" => "answer-lost",
        "lines_applied" => "answer-lines-applied",
        "not_found" => "answer-not-found",
        "wrong_state" => "answer-wrong-state",
        "queue_changed" => "answer-queue-changed",
        "kind_fixed" => "answer-kind-fixed",
        "too_large" => "answer-too-large",
        "managed_by_config" => "answer-managed",
        "delivered_by_turno" => "answer-delivered",
        "already_claimed" if problem["mine"] == true => "answer-claimed-mine",
        "already_processed" if problem["state"] == "exhausted" => "answer-exhausted",
        "already_processed" if problem["state"] == "cancelled" => "answer-cancelled",
        "already_claimed" | "already_processed" => "answer-done",
        code if WRONG_USAGE.contains(&code) => "answer-invalid",
        _ => return by_status(problem),
    })
}

fn by_status(problem: &Value) -> Message {
    match problem["status"].as_u64() {
        Some(429 | 503) => Message::new("answer-busy"),
        Some(500..) => Message::new("answer-internal").text("request", problem["request_id"].as_str().unwrap_or("-")),
        _ => Message::new("answer-other"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(text: &str) -> Failure {
        Refusal::from_response("http://host", 409, text).into()
    }

    #[test]
    fn problem_is_rendered_with_title_detail_and_next_step() {
        let held = failure(r#"{"code":"lease_held","title":"Held by somebody else","detail":"By Ana","status":409}"#);
        assert_eq!(held.cause(), "Held by somebody else: By Ana");
        assert!(held.next().contains("--wait"), "{}", held.next());
        let mine = failure(r#"{"code":"already_claimed","title":"Taken","status":409,"mine":true}"#);
        assert!(mine.next().starts_with("settle its delivery"), "{}", mine.next());
        let theirs = failure(r#"{"code":"already_claimed","title":"Taken","status":409}"#);
        assert!(theirs.next().starts_with("go on"), "{}", theirs.next());
        let exhausted = failure(r#"{"code":"already_processed","title":"Over","status":409,"state":"exhausted"}"#);
        assert!(exhausted.next().contains("turno queue retry"), "{}", exhausted.next());
        let broken = failure(r#"{"code":"internal","title":"Wrong","status":500,"request_id":"r7"}"#);
        assert!(broken.cause() == "Wrong" && broken.next().contains("r7"), "{broken:?}");
    }

    #[test]
    fn field_is_named_by_its_flag() {
        let short = failure(r#"{"code":"bad_field","title":"Wrong","detail":"ttl_ms: too short","field":"ttl_ms"}"#);
        assert_eq!(short.cause(), "--ttl: too short");
        let other = failure(r#"{"code":"bad_field","title":"Wrong","detail":"ttl_ms: too short","field":"window_ms"}"#);
        assert_eq!(other.cause(), "ttl_ms: too short", "only the refused field is replaced");
        let long = r#"{"code":"bad_field","title":"Wrong","detail":"wait_ms: between 0 and 30000","field":"wait_ms"}"#;
        assert_eq!(failure(long).cause(), "--wait: between 0s and 30s", "durations have units");
    }

    #[test]
    fn answer_of_another_program_is_reported() {
        let other = failure("<html>busy</html>");
        assert!(other.cause().contains("not as a Turno server") && other.next().contains("--server"), "{other:?}");
    }
}
