//! What a server answered: as it came for programs, and in parts for people.

use jiff::Timestamp;
use serde_json::Value;

use crate::cli::output::{between, cell, relative, say, talk};

/// An answer that was not a refusal.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    /// As it came: payloads are printed exactly so.
    text: String,
    /// The same, read.
    pub(crate) json: Value,
    /// The server's time, from which others are told.
    now: Option<Timestamp>,
}

impl Answer {
    /// Nothing, if it is not what a Turno answers.
    pub(super) fn new(text: String, date: Option<&str>) -> Option<Answer> {
        let json: Value = if text.is_empty() { Value::Null } else { serde_json::from_str(&text).ok()? };
        let stamp = json["server_time"].as_str().and_then(|time| time.parse().ok());
        let now = stamp.or_else(|| jiff::fmt::rfc2822::parse(date?).ok().map(|date| date.timestamp()));
        Some(Answer { text, json, now })
    }

    /// As it came.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Prints it as it came.
    pub(crate) fn print_json(&self) {
        say(&[self.text.trim_end()]);
    }

    /// The items of a list.
    pub(crate) fn items(&self) -> &[Value] {
        self.json["items"].as_array().map_or(&[], Vec::as_slice)
    }

    /// Says how to see the rest of a list, if there is one.
    pub(crate) fn say_more(&self) {
        if let Some(cursor) = self.json["next_cursor"].as_str() {
            talk(&format!("there are more: add --cursor {cursor}"));
        }
    }

    /// A time of the answer, as it is told from the server's now.
    pub(crate) fn when(&self, time: &Value) -> String {
        let then = time.as_str().and_then(|time| time.parse::<Timestamp>().ok());
        match (self.now, then) {
            (Some(now), Some(then)) => relative(now, then),
            _ => cell(time),
        }
    }

    /// For how long something has been so, at the server's now.
    pub(crate) fn lasting(&self, since: &Value) -> String {
        let then = since.as_str().and_then(|time| time.parse::<Timestamp>().ok());
        match (self.now, then) {
            (Some(now), Some(then)) => format!("for {}", between(then, now)),
            _ => format!("since {}", cell(since)),
        }
    }

    /// A time of the answer told from the server's now, with the time itself.
    pub(crate) fn since(&self, time: &Value) -> Option<String> {
        let text = time.as_str()?;
        Some(format!("{} ({text})", self.when(time)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_told_from_the_servers_now() {
        let text = r#"{"server_time":"2026-01-15T10:30:00.000Z","at":"2026-01-15T10:29:30.000Z"}"#;
        let answer = Answer::new(text.to_owned(), None).expect("an answer");
        assert_eq!(answer.when(&answer.json["at"]), "30 s ago");
        let dated = Answer::new("{}".to_owned(), Some("Thu, 15 Jan 2026 10:30:00 GMT")).expect("an answer");
        assert_eq!(dated.when(&"2026-01-15T10:31:00.000Z".into()), "in 1 min");
        let undated = Answer::new("{}".to_owned(), None).expect("an answer");
        assert_eq!(undated.when(&"2026-01-15T10:31:00.000Z".into()), "2026-01-15T10:31:00.000Z");
        assert_eq!(undated.when(&Value::Null), "-");
    }

    #[test]
    fn what_is_not_json_is_no_answer() {
        assert!(Answer::new("<html>".to_owned(), None).is_none());
        assert_eq!(Answer::new(String::new(), None).expect("nothing to say").json, Value::Null);
    }
}
