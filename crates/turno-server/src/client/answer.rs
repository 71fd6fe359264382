//! An answer of a server: the raw text for programs, and the parsed parts for people.

use jiff::Timestamp;
use serde_json::Value;
use turno::core::text::json_cut;

use crate::cli::output::{between, cell, relative, say, talk};
use crate::texts::message::Message;
use crate::texts::terminal::render;

/// A successful answer.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    /// The raw text. Payloads are printed exactly as they came.
    text: String,
    /// The parsed text.
    pub(crate) json: Value,
    /// The server's time. Relative times are computed from it.
    now: Option<Timestamp>,
    /// True if the time comes from the `Date` header, which has a resolution of one second.
    is_rough: bool,
}

impl Answer {
    /// Parses an answer. Returns `None` if it is not JSON.
    pub(super) fn new(text: String, date: Option<&str>) -> Option<Answer> {
        let json = read(&text)?;
        let stamp = json["server_time"].as_str().and_then(|time| time.parse().ok());
        let now = stamp.or_else(|| jiff::fmt::rfc2822::parse(date?).ok().map(|date| date.timestamp()));
        Some(Answer { text, json, now, is_rough: stamp.is_none() })
    }

    /// Returns the raw text.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Prints the raw text.
    pub(crate) fn print_json(&self) {
        say(&[self.text.trim_end()]);
    }

    /// Returns the items of a list.
    pub(crate) fn items(&self) -> &[Value] {
        self.json["items"].as_array().map_or(&[], Vec::as_slice)
    }

    /// If the list has more pages, prints how to get the next one.
    pub(crate) fn say_more(&self) {
        if let Some(cursor) = self.json["next_cursor"].as_str() {
            talk(&Message::new("list-more").text("cursor", cursor));
        }
    }

    /// Renders a time relative to the server's time.
    pub(crate) fn when(&self, time: &Value) -> String {
        let then = time.as_str().and_then(|time| time.parse::<Timestamp>().ok());
        match (self.now, then) {
            (Some(now), Some(then)) if self.is_rough && now.duration_until(then).abs() < ROUGH => {
                render(&Message::new("when-now"))
            }
            (Some(now), Some(then)) => relative(now, then),
            _ => cell(time),
        }
    }

    /// Renders how long something has lasted at the server's time.
    pub(crate) fn lasting(&self, since: &Value) -> String {
        let then = since.as_str().and_then(|time| time.parse::<Timestamp>().ok());
        match (self.now, then) {
            (Some(now), Some(then)) => render(&Message::new("when-for").text("span", between(then, now))),
            _ => render(&Message::new("when-since").text("time", cell(since))),
        }
    }

    /// Renders a time relative to the server's time, followed by the time itself.
    pub(crate) fn since(&self, time: &Value) -> Option<String> {
        let text = time.as_str()?;
        Some(format!("{} ({text})", self.when(time)))
    }
}

/// The resolution of the `Date` header.
const ROUGH: jiff::SignedDuration = jiff::SignedDuration::from_secs(1);

/// Parses the text for display. A payload that an application's own transaction enqueued may be nested too deeply to
/// parse; its inner parts are cut.
fn read(text: &str) -> Option<Value> {
    if text.is_empty() {
        return Some(Value::Null);
    }
    let cut = || json_cut(text, READ_DEPTH);
    serde_json::from_str(text)
        .or_else(|_| serde_json::from_str(&cut()))
        .or_else(|_| serde_json::from_str(&replace_unparsable(&cut())))
        .ok()
}

/// Replaces what JSON allows but the parser refuses: unpaired surrogates become replacement characters, and numbers out
/// of range become strings. Only the displayed value changes.
fn replace_unparsable(json: &str) -> String {
    let (mut kept, mut rest) = (String::with_capacity(json.len()), json);
    while let Some(first) = rest.chars().next() {
        let (token, shown) = match first {
            '"' => string_token(rest),
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

/// Returns the length of the string that `json` begins with, and its displayed form.
fn string_token(json: &str) -> (usize, String) {
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

/// Below the parser's limit, with room to spare.
const READ_DEPTH: usize = 120;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unparsable_values_do_not_hide_the_rest() {
        let text =
            r#"{"items":[{"id":"a","payload":"\ud83d \ud83d\ude00 \" \ude00"},{"id":"b","payload":[1e400,-2.5,1]}]}"#;
        let answer = Answer::new(text.to_owned(), None).expect("the answer parses");
        assert_eq!(answer.items()[0]["payload"], "\u{fffd} 😀 \" \u{fffd}");
        assert_eq!(answer.items()[1]["payload"], serde_json::json!(["1e400", -2.5, 1]));
        assert_eq!(answer.text(), text, "the raw text is unchanged");
        assert!(Answer::new("<html>".to_owned(), None).is_none(), "HTML is not an answer");
    }

    #[test]
    fn times_are_relative_to_the_servers_time() {
        let text = r#"{"server_time":"2026-01-15T10:30:00.000Z","at":"2026-01-15T10:29:30.000Z"}"#;
        let answer = Answer::new(text.to_owned(), None).expect("the answer parses");
        assert_eq!(answer.when(&answer.json["at"]), "30 s ago");
        let dated = Answer::new("{}".to_owned(), Some("Thu, 15 Jan 2026 10:30:00 GMT")).expect("the answer parses");
        assert_eq!(dated.when(&"2026-01-15T10:31:00.000Z".into()), "in 1 min");
        assert_eq!(dated.when(&"2026-01-15T10:30:00.700Z".into()), "now", "the header has a resolution of one second");
        let undated = Answer::new("{}".to_owned(), None).expect("the answer parses");
        assert_eq!(undated.when(&"2026-01-15T10:31:00.000Z".into()), "2026-01-15T10:31:00.000Z");
        assert_eq!(undated.when(&Value::Null), "-");
    }

    #[test]
    fn deep_payload_is_cut_for_display_and_printed_in_full() {
        let deep = format!(r#"{{"id":"m-1","payload":{}1{}}}"#, "[".repeat(5_000), "]".repeat(5_000));
        let answer = Answer::new(deep.clone(), None).expect("the answer parses");
        assert_eq!((&answer.json["id"], answer.text()), (&"m-1".into(), deep.as_str()));
        assert!(answer.json["payload"].to_string().contains('…'));
    }

    #[test]
    fn answer_must_be_json() {
        assert!(Answer::new("<html>".to_owned(), None).is_none());
        assert_eq!(Answer::new(String::new(), None).expect("an empty answer parses").json, Value::Null);
    }
}
