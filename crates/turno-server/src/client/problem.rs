//! A refusal of a server, as a person reads it.

use serde_json::Value;

use crate::cli::duration;
use crate::failure::Failure;

/// Why there is no answer.
#[derive(Debug)]
pub(crate) struct Refusal {
    /// The stable code, if a Turno refused.
    pub(crate) code: Option<String>,
    /// All that it said.
    pub(crate) problem: Value,
    failure: Failure,
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Failure {
        refusal.failure
    }
}

impl Refusal {
    /// What came back with a status that is no success.
    pub(super) fn of(base: &str, status: u16, text: &str) -> Refusal {
        let problem: Value = serde_json::from_str(text).unwrap_or_default();
        let (Some(code), Some(title)) = (problem["code"].as_str(), problem["title"].as_str()) else {
            let cause = format!("{base} answered {status}, and not as Turno does");
            return Refusal::plain(cause, "check --server or TURNO_URL: something else may listen there");
        };
        let detail = problem["detail"].as_str().filter(|detail| !detail.is_empty());
        let cause = match (code, detail) {
            // Whoever types a command has written no question mark.
            ("bad_query", Some(detail)) => detail.split_once(": ").map_or(detail, |(_, cause)| cause).to_owned(),
            // The sentence says all that the title does.
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

    /// Success, but not in our words.
    pub(super) fn strange(base: &str) -> Refusal {
        let cause = format!("{base} answered something that Turno does not");
        let refusal = Refusal::plain(cause, "check --server or TURNO_URL: something else may listen there");
        // It did do something: whoever repeats it without looking does it again.
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

    /// About an item of many: by the line where it stands, instead of its place in the request.
    pub(crate) fn by_line(mut self, lines: &[usize]) -> Refusal {
        let field = self.problem["field"].as_str().unwrap_or_default().to_owned();
        let place = field.strip_prefix('[').and_then(|rest| rest.split_once("]."));
        if let Some((index, name)) = place
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

/// Refusals of what was asked, whoever asks and whenever: they end as a wrong flag does.
const WRONG_USAGE: &[&str] =
    &["bad_field", "bad_body", "bad_query", "invalid", "payload_too_deep", "ttl_out_of_bounds"];

/// Fields that are typed in no other way than as these flags, each a length of time with its unit.
const FLAGS: &[(&str, &str)] = &[("ttl_ms", "--ttl"), ("wait_ms", "--wait"), ("retry_in_ms", "--retry-in")];

/// With the milliseconds of a sentence as somebody would type them.
fn in_units(sentence: &str) -> String {
    let is_digit = |one: &char| one.is_ascii_digit();
    let (mut told, mut rest) = (String::new(), sentence);
    while let Some(at) = rest.find(|one: char| is_digit(&one)) {
        let (before, from) = rest.split_at(at);
        let (digits, after) = from.split_at(from.chars().take_while(is_digit).count());
        told.push_str(before);
        told.push_str(&digits.parse().map_or_else(|_| digits.to_owned(), duration::typed));
        rest = after;
    }
    told + rest
}

/// What the person can do about it, in the words of the command line.
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
        Refusal::of("http://host", 409, text).into()
    }

    #[test]
    fn a_problem_is_told_with_its_title_its_sentence_and_a_next_step() {
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
    fn what_was_typed_as_a_flag_is_called_so() {
        let short = failure(r#"{"code":"bad_field","title":"Wrong","detail":"ttl_ms: too short","field":"ttl_ms"}"#);
        assert_eq!(short.cause, "--ttl: too short");
        let other = failure(r#"{"code":"bad_field","title":"Wrong","detail":"ttl_ms: too short","field":"window_ms"}"#);
        assert_eq!(other.cause, "ttl_ms: too short", "only what the field is about");
        let long = r#"{"code":"bad_field","title":"Wrong","detail":"wait_ms: between 0 and 30000","field":"wait_ms"}"#;
        assert_eq!(failure(long).cause, "--wait: between 0s and 30s", "in the units in which it is typed");
    }

    #[test]
    fn an_answer_of_something_else_is_called_that() {
        let other = failure("<html>busy</html>");
        assert!(other.cause.contains("not as Turno does") && other.next.contains("--server"), "{other:?}");
    }
}
