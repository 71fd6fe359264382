//! What a server answered: as it came for programs, and in parts for people.

use jiff::Timestamp;
use serde_json::Value;
use turno::core::text::json_cut;

use crate::cli::output::{between, cell, relative, say, talk};
use crate::texts::terminal::told;

/// An answer that was not a refusal.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    /// As it came: payloads are printed exactly so.
    text: String,
    /// The same, read.
    pub(crate) json: Value,
    /// The server's time, from which others are told.
    now: Option<Timestamp>,
    /// That time is known to the second only, so what lies within one may be past or to come.
    is_rough: bool,
}

impl Answer {
    /// Nothing, if it is not what a Turno answers.
    pub(super) fn new(text: String, date: Option<&str>) -> Option<Answer> {
        let json = read(&text)?;
        let stamp = json["server_time"].as_str().and_then(|time| time.parse().ok());
        let now = stamp.or_else(|| jiff::fmt::rfc2822::parse(date?).ok().map(|date| date.timestamp()));
        Some(Answer { text, json, now, is_rough: stamp.is_none() })
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
            (Some(now), Some(then)) if self.is_rough && now.duration_until(then).abs() < ROUGH => told("now"),
            (Some(now), Some(then)) => relative(now, then),
            _ => cell(time),
        }
    }

    /// For how long something has been so, at the server's now.
    pub(crate) fn lasting(&self, since: &Value) -> String {
        let then = since.as_str().and_then(|time| time.parse::<Timestamp>().ok());
        match (self.now, then) {
            (Some(now), Some(then)) => told(&format!("for {}", between(then, now))),
            _ => told(&format!("since {}", cell(since))),
        }
    }

    /// A time of the answer told from the server's now, with the time itself.
    pub(crate) fn since(&self, time: &Value) -> Option<String> {
        let text = time.as_str()?;
        Some(format!("{} ({text})", self.when(time)))
    }
}

/// How exact the header `Date` is.
const ROUGH: jiff::SignedDuration = jiff::SignedDuration::from_secs(1);

/// Reads it for people. What an application's own transaction enqueued may be nested deeper than can be read here; it is
/// passed on whole, and shown without its depths.
fn read(text: &str) -> Option<Value> {
    if text.is_empty() {
        return Some(Value::Null);
    }
    let cut = || json_cut(text, READ_DEPTH);
    serde_json::from_str(text)
        .or_else(|_| serde_json::from_str(&cut()))
        .or_else(|_| serde_json::from_str(&readable(&cut())))
        .ok()
}

/// The same JSON without what no reader takes, though it may be written: half characters are shown as unknown ones, and
/// numbers beyond all range as texts. A payload may hold either; it is passed on as it came.
fn readable(json: &str) -> String {
    let (mut kept, mut rest) = (String::with_capacity(json.len()), json);
    while let Some(first) = rest.chars().next() {
        let (token, shown) = match first {
            '"' => text_token(rest),
            '-' | '0'..='9' => {
                let end =
                    rest.find(|c: char| !matches!(c, '0'..='9' | '-' | '+' | '.' | 'e' | 'E')).unwrap_or(rest.len());
                let number = &rest[..end];
                let finite = number.parse::<f64>().is_ok_and(f64::is_finite);
                (end, if finite { number.to_owned() } else { format!("\"{number}\"") })
            }
            other => (other.len_utf8(), other.to_string()),
        };
        kept.push_str(&shown);
        rest = &rest[token..];
    }
    kept
}

/// How long the text is with which `json` begins, and how it is shown.
fn text_token(json: &str) -> (usize, String) {
    let unit = |from: &str| from.strip_prefix("\\u").and_then(|hex| u16::from_str_radix(hex.get(..4)?, 16).ok());
    let (mut at, mut shown) = (1, String::from('"'));
    while let Some(next) = json.get(at..).and_then(|rest| rest.chars().next()) {
        let rest = &json[at..];
        let length = match (next, unit(rest)) {
            ('\\', Some(0xD800..=0xDBFF))
                if rest.get(6..).and_then(unit).is_some_and(|low| (0xDC00..=0xDFFF).contains(&low)) =>
            {
                12
            }
            ('\\', Some(0xD800..=0xDFFF)) => {
                shown.push('\u{fffd}');
                at += 6;
                continue;
            }
            ('\\', Some(_)) => 6,
            ('\\', None) => 1 + rest[1..].chars().next().map_or(0, char::len_utf8),
            (other, _) => other.len_utf8(),
        };
        shown.push_str(&rest[..length]);
        at += length;
        if next == '"' {
            break;
        }
    }
    (at, shown)
}

/// Below what can be read, with room to spare.
const READ_DEPTH: usize = 120;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_reader_takes_does_not_keep_the_rest_from_being_read() {
        let text =
            r#"{"items":[{"id":"a","payload":"\ud83d \ud83d\ude00 \" \ude00"},{"id":"b","payload":[1e400,-2.5,1]}]}"#;
        let answer = Answer::new(text.to_owned(), None).expect("an answer");
        assert_eq!(answer.items()[0]["payload"], "\u{fffd} 😀 \" \u{fffd}");
        assert_eq!(answer.items()[1]["payload"], serde_json::json!(["1e400", -2.5, 1]));
        assert_eq!(answer.text(), text, "and it is passed on as it came");
        assert!(Answer::new("<html>".to_owned(), None).is_none(), "what is no JSON is none");
    }

    #[test]
    fn times_are_told_from_the_servers_now() {
        let text = r#"{"server_time":"2026-01-15T10:30:00.000Z","at":"2026-01-15T10:29:30.000Z"}"#;
        let answer = Answer::new(text.to_owned(), None).expect("an answer");
        assert_eq!(answer.when(&answer.json["at"]), "30 s ago");
        let dated = Answer::new("{}".to_owned(), Some("Thu, 15 Jan 2026 10:30:00 GMT")).expect("an answer");
        assert_eq!(dated.when(&"2026-01-15T10:31:00.000Z".into()), "in 1 min");
        assert_eq!(dated.when(&"2026-01-15T10:30:00.700Z".into()), "now", "it may have been: the header knows seconds");
        let undated = Answer::new("{}".to_owned(), None).expect("an answer");
        assert_eq!(undated.when(&"2026-01-15T10:31:00.000Z".into()), "2026-01-15T10:31:00.000Z");
        assert_eq!(undated.when(&Value::Null), "-");
    }

    #[test]
    fn what_is_nested_too_deep_is_shown_without_its_depths_and_printed_whole() {
        let deep = format!(r#"{{"id":"m-1","payload":{}1{}}}"#, "[".repeat(5_000), "]".repeat(5_000));
        let answer = Answer::new(deep.clone(), None).expect("an answer");
        assert_eq!((&answer.json["id"], answer.text()), (&"m-1".into(), deep.as_str()));
        assert!(answer.json["payload"].to_string().contains('…'));
    }

    #[test]
    fn what_is_not_json_is_no_answer() {
        assert!(Answer::new("<html>".to_owned(), None).is_none());
        assert_eq!(Answer::new(String::new(), None).expect("nothing to say").json, Value::Null);
    }
}
