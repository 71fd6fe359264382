//! A server's refusal, rendered for a person at the command line.

use serde_json::Value;

use crate::cli::duration;
use crate::failure::Failure;

/// Why a call has no answer.
#[derive(Debug)]
pub(crate) struct Refusal {
    /// The problem's code, if a Turno server refused.
    pub(crate) code: Option<String>,
    /// The whole problem document.
    pub(crate) problem: Value,
    failure: Failure,
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Failure {
        refusal.failure
    }
}

impl Refusal {
    /// Converts an answer with an error status.
    pub(super) fn from_response(base: &str, status: u16, text: &str) -> Refusal {
        let problem: Value = serde_json::from_str(text).unwrap_or_default();
        let (Some(code), Some(title)) = (problem["code"].as_str(), problem["title"].as_str()) else {
            let cause = format!("{base} answered {status}, and not as Turno does");
            return Refusal::plain(cause, "check --server or TURNO_URL: something else may listen there");
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
        let next = next(code, &problem);
        let failure =
            if WRONG_USAGE.contains(&code) { Failure::usage(cause, next) } else { Failure::failed(cause, next) };
        Refusal { code: Some(code.to_owned()), failure, problem }
    }

    /// Reports a success whose body is not an answer of Turno.
    pub(super) fn unexpected(base: &str) -> Refusal {
        let cause = format!("{base} answered something that Turno does not");
        let refusal = Refusal::plain(cause, "check --server or TURNO_URL: something else may listen there");
        // The status marks that the call may have had an effect, so that it is not repeated blindly.
        Refusal { problem: serde_json::json!({ "status": 200 }), ..refusal }
    }

    pub(super) fn unreachable(base: &str, error: &reqwest::Error) -> Refusal {
        let mut root: &dyn std::error::Error = error;
        while let Some(source) = root.source() {
            root = source;
        }
        if error.is_connect() {
            let cause = format!("nothing answers at {base}: {root}");
            return Refusal::plain(
                cause,
                "start it with `turno serve`, or name another server with --server or TURNO_URL",
            );
        }
        let cause = if error.is_timeout() {
            format!("{base} took too long to answer; whether it did what was asked for is not known")
        } else {
            format!("the connection to {base} broke: {root}")
        };
        Refusal::plain(
            cause,
            "look at the state before repeating it; see whether the server is well with `turno healthcheck`",
        )
    }

    /// Names the input line of a refused item instead of its index in the request.
    pub(crate) fn by_line(mut self, lines: &[usize]) -> Refusal {
        let field = self.problem["field"].as_str().unwrap_or_default().to_owned();
        let entry = field.strip_prefix('[').and_then(|rest| rest.split_once("]."));
        if let Some((index, name)) = entry
            && let Some(line) = index.parse::<usize>().ok().and_then(|index| lines.get(index))
        {
            self.failure.cause = format!("line {line}: {}", self.failure.cause.replacen(&field, name, 1));
        }
        self
    }

    fn plain(cause: String, next: &str) -> Refusal {
        Refusal { code: None, problem: Value::Null, failure: Failure::failed(cause, next) }
    }
}

/// Codes that mean wrong input. They exit with the same status as a wrong flag.
const WRONG_USAGE: &[&str] =
    &["bad_field", "bad_body", "bad_query", "invalid", "payload_too_deep", "ttl_out_of_bounds"];

/// Fields that a person types as these flags, each a duration with a unit.
const FLAGS: &[(&str, &str)] = &[("ttl_ms", "--ttl"), ("wait_ms", "--wait"), ("retry_in_ms", "--retry-in")];

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

/// Returns the next step for the person, in terms of the command line.
fn next(code: &str, problem: &Value) -> String {
    let permission = problem["permission"].as_str().unwrap_or("the permission");
    match code {
        "unauthenticated" => {
            "make a token where the database is, with `turno token create --user ID`, and put it into the variable TURNO_TOKEN"
                .to_owned()
        }
        "forbidden" => format!("use a token of somebody who has {permission}; `turno user list` shows who is what"),
        "other_resource" => "use a token that is not bound to other resources".to_owned(),
        "instance_required" => "add --instance NAME: a machine says which of its processes it is".to_owned(),
        "lease_held" | "lease_offered" => {
            "wait for it with --wait 30s, or ask its holder with `turno lease request-release`".to_owned()
        }
        "lease_lost" => "stop working on it; claim it again if it is free (`turno why` says who has it)".to_owned(),
        "lines_applied" => "repeat it with --keep-applied to cancel the task and keep those lines".to_owned(),
        "not_found" => {
            "check the name; `list` of the same command shows what there is (`turno queue items QUEUE` of items)".to_owned()
        }
        "wrong_state" => "look at it first: `turno queue item QUEUE ID` shows its state and its life".to_owned(),
        "queue_changed" => "look at it with `turno queue get QUEUE`, and repeat the command".to_owned(),
        "kind_fixed" => "`turno queue items QUEUE` shows what is unfinished; or make a queue under another name".to_owned(),
        "too_large" => "send less at once; or keep what is large elsewhere, and enqueue where it is".to_owned(),
        "managed_by_config" => "change it in the server's configuration file and restart the server".to_owned(),
        "delivered_by_turno" => {
            "send a key again with `turno sync resync --key KEY`; to consume changes yourself, remove `deliver` of the source"
                .to_owned()
        }
        "already_claimed" if problem["mine"] == true => {
            "settle the delivery that it has, with `turno queue ack` or `fail`; it ends by itself if nobody does".to_owned()
        }
        "already_processed" if problem["state"] == "exhausted" => {
            "send it round again with `turno queue retry QUEUE ID`, or go on with the next".to_owned()
        }
        "already_processed" if problem["state"] == "cancelled" => {
            "go on with the next; what is needed after all is enqueued again under another --id".to_owned()
        }
        "already_claimed" | "already_processed" => "nothing to do: go on with the next".to_owned(),
        code if WRONG_USAGE.contains(&code) => {
            "correct it and try again; --help of the command shows what it takes".to_owned()
        }
        _ => by_status(problem),
    }
}

fn by_status(problem: &Value) -> String {
    match problem["status"].as_u64() {
        Some(429 | 503) => "nothing was stored; try again in a moment".to_owned(),
        Some(500..) => {
            let request = problem["request_id"].as_str().unwrap_or("unknown");
            format!("try again; the server's log knows more under request {request}")
        }
        _ => "change what the answer says and try again; `turno why` may explain more".to_owned(),
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
        assert_eq!(held.cause, "Held by somebody else: By Ana");
        assert!(held.next.contains("--wait"), "{}", held.next);
        let mine = failure(r#"{"code":"already_claimed","title":"Taken","status":409,"mine":true}"#);
        assert!(mine.next.starts_with("settle the delivery"), "{}", mine.next);
        let theirs = failure(r#"{"code":"already_claimed","title":"Taken","status":409}"#);
        assert!(theirs.next.starts_with("nothing to do"), "{}", theirs.next);
        let exhausted = failure(r#"{"code":"already_processed","title":"Over","status":409,"state":"exhausted"}"#);
        assert!(exhausted.next.contains("turno queue retry"), "{}", exhausted.next);
        let broken = failure(r#"{"code":"internal","title":"Wrong","status":500,"request_id":"r7"}"#);
        assert!(broken.cause == "Wrong" && broken.next.contains("r7"), "{broken:?}");
    }

    #[test]
    fn field_is_named_by_its_flag() {
        let short = failure(r#"{"code":"bad_field","title":"Wrong","detail":"ttl_ms: too short","field":"ttl_ms"}"#);
        assert_eq!(short.cause, "--ttl: too short");
        let other = failure(r#"{"code":"bad_field","title":"Wrong","detail":"ttl_ms: too short","field":"window_ms"}"#);
        assert_eq!(other.cause, "ttl_ms: too short", "only the refused field is replaced");
        let long = r#"{"code":"bad_field","title":"Wrong","detail":"wait_ms: between 0 and 30000","field":"wait_ms"}"#;
        assert_eq!(failure(long).cause, "--wait: between 0s and 30s", "durations have units");
    }

    #[test]
    fn answer_of_another_program_is_reported() {
        let other = failure("<html>busy</html>");
        assert!(other.cause.contains("not as Turno does") && other.next.contains("--server"), "{other:?}");
    }
}
