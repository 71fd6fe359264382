//! Plays calls against a server and records them as examples.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::body::Body;
use axum::http::{Method, Request};
use axum::response::Response;
use http_body_util::BodyExt;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use turno::clock::Manual;
use turno::core::time::Span;

use super::super::tests::document;
use crate::http::testing::Bench;

/// A call that the story makes: an operation with its parameters, its body and its caller.
#[derive(Clone, Default)]
pub(super) struct Call {
    operation: &'static str,
    parameters: Vec<(&'static str, Value)>,
    body: Option<Value>,
    headers: Vec<(&'static str, String)>,
}

impl Call {
    pub(super) fn new(operation: &'static str) -> Call {
        Call { operation, ..Call::default() }
    }

    /// Sets a parameter of the path or the query.
    pub(super) fn with(mut self, name: &'static str, value: impl Into<Value>) -> Call {
        self.parameters.push((name, value.into()));
        self
    }

    pub(super) fn body(mut self, body: Value) -> Call {
        self.body = Some(body);
        self
    }

    pub(super) fn header(mut self, name: &'static str, value: String) -> Call {
        self.headers.push((name, value));
        self
    }

    /// Sends the token of a caller.
    pub(super) fn by(self, token: &str) -> Call {
        self.header("authorization", format!("Bearer {token}"))
    }
}

/// An answer, with the values of this run.
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) cookie: Option<String>,
    pub(super) body: Value,
}

pub(super) struct Recorder {
    pub(super) bench: Bench,
    pub(super) time: Arc<Manual>,
    document: Value,
    recorded: BTreeMap<&'static str, Map<String, Value>>,
    stable: Stable,
}

impl Recorder {
    pub(super) fn new(bench: Bench, time: Arc<Manual>) -> Recorder {
        Recorder { bench, time, document: document(), recorded: BTreeMap::new(), stable: Stable::default() }
    }

    /// Makes a call that must succeed, and records it.
    pub(super) async fn call(&mut self, call: Call) -> Answer {
        let answer = self.send(&call).await;
        assert!(answer.status < 400, "{}: {} {}", call.operation, answer.status, answer.body);
        let mut entry = Map::new();
        for (name, value) in &call.parameters {
            let values = entry.entry(self.place(call.operation, name)).or_insert_with(|| json!({}));
            values[*name] = self.stable.value(value);
        }
        if let Some(body) = &call.body {
            entry.insert("body".into(), self.stable.value(body));
        }
        entry.insert("status".into(), answer.status.into());
        if !answer.body.is_null() {
            entry.insert("answer".into(), self.stable.value(&answer.body));
        }
        let known = self.recorded.insert(call.operation, entry);
        assert!(known.is_none(), "{} is recorded twice", call.operation);
        answer
    }

    /// Makes a call that must be refused with this code, and records the refusal.
    pub(super) async fn refused(&mut self, call: Call, code: &str) {
        let answer = self.send(&call).await;
        assert_eq!(answer.body["code"], code, "{}: {}", call.operation, answer.body);
        let value = json!({ "value": self.stable.value(&answer.body) });
        let entry = self.recorded.get_mut(call.operation).expect("the call itself is recorded before its refusals");
        entry.entry("refusals").or_insert_with(|| json!({}))[code] = value;
    }

    /// Makes a call that must succeed, without recording it.
    pub(super) async fn step(&mut self, call: Call) -> Value {
        let answer = self.send(&call).await;
        assert!(answer.status < 400, "{}: {} {}", call.operation, answer.status, answer.body);
        answer.body
    }

    /// Returns all recorded calls.
    pub(super) fn finish(self) -> Value {
        self.recorded.into_iter().map(|(id, entry)| (id.to_owned(), Value::Object(entry))).collect()
    }

    async fn send(&mut self, call: &Call) -> Answer {
        self.time.advance(Span::from_secs(2));
        let (method, template) = self.find(call.operation);
        let (mut path, mut query) = (template, Vec::new());
        for (name, value) in &call.parameters {
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            match self.place(call.operation, name) {
                "path" => path = path.replace(&format!("{{{name}}}"), &text),
                _ => query.push(format!("{name}={text}")),
            }
        }
        if !query.is_empty() {
            path = format!("{path}?{}", query.join("&"));
        }
        let headers = call.headers.iter().map(|(name, value)| (*name, value.as_str()));
        let mut request = Request::builder().method(method).uri(path).header("accept-language", "en");
        for (name, value) in headers {
            request = request.header(name, value);
        }
        let body = match &call.body {
            Some(body) => {
                request = request.header("content-type", "application/json");
                Body::from(body.to_string())
            }
            None => Body::empty(),
        };
        read(self.bench.send(request.body(body).expect("a valid request")).await).await
    }

    fn find(&self, operation: &str) -> (Method, String) {
        for (path, methods) in self.document["paths"].as_object().expect("the document has paths") {
            for (method, described) in methods.as_object().expect("the path has methods") {
                if described["operationId"] == operation {
                    return (method.to_uppercase().parse().expect("a method"), path.clone());
                }
            }
        }
        panic!("there is no operation {operation}");
    }

    /// Returns where an operation has this parameter: `path` or `query`.
    fn place(&self, operation: &str, name: &str) -> &'static str {
        let (_, path) = self.find(operation);
        if path.contains(&format!("{{{name}}}")) { "path" } else { "query" }
    }
}

/// Reads an answer. Of an endless stream it reads the first two events, of a page nothing.
async fn read(response: Response) -> Answer {
    let (head, mut body) = response.into_parts();
    let header = |name| head.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned();
    let kind = header("content-type");
    let is_stream = kind.starts_with("text/event-stream");
    let mut text = String::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.expect("the answer is complete");
        text.push_str(std::str::from_utf8(frame.data_ref().map_or(&[], |data| data)).expect("the answer is text"));
        if is_stream && events(&text).count() >= 2 {
            break;
        }
    }
    let body = match kind.split(';').next().unwrap_or_default() {
        "application/json" | "application/problem+json" => serde_json::from_str(&text).expect("the answer is JSON"),
        "text/event-stream" => events(&text).take(2).collect::<String>().into(),
        "text/plain" => metrics(&text).into(),
        _ => Value::Null,
    };
    let cookie = header("set-cookie").split(';').next().filter(|cookie| !cookie.is_empty()).map(str::to_owned);
    Answer { status: head.status.as_u16(), cookie, body }
}

/// Returns the complete events of a stream.
fn events(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive("\n\n").filter(|event| event.contains("data:") && event.ends_with("\n\n"))
}

/// Returns one metric, because its value is the same in every run. The others count calls of the whole process.
fn metrics(text: &str) -> String {
    let lines = text.lines().filter(|line| line.contains("turno_database_up"));
    lines.map(|line| format!("{line}\n")).collect()
}

/// Replaces values that differ in every run by stable ones of the same form: fences, positions, secrets, ids and hashes.
/// An equal value always gets the same replacement, so that the fence of a heartbeat is the fence of its claim.
#[derive(Default)]
struct Stable(Vec<String>);

/// The shortest text of hexadecimal digits that is replaced: the id of a token.
const RANDOM_MIN: usize = 12;
/// The lengths of fences and positions. They begin at a number that each database chooses.
const SEQUENCE: std::ops::RangeInclusive<usize> = 13..=15;
/// The first stable fence.
const FIRST: usize = 59_257_086_446_001;

impl Stable {
    fn value(&mut self, value: &Value) -> Value {
        match value {
            Value::String(text) => self.text(text).into(),
            Value::Number(number) => {
                self.text(&number.to_string()).parse().map_or_else(|_| value.clone(), Value::Number)
            }
            Value::Array(entries) => entries.iter().map(|entry| self.value(entry)).collect(),
            Value::Object(members) => members.iter().map(|(name, member)| (name.clone(), self.value(member))).collect(),
            other => other.clone(),
        }
    }

    fn text(&mut self, text: &str) -> String {
        let mut stable = String::new();
        for piece in text.split_inclusive(|one: char| !one.is_ascii_alphanumeric()) {
            let word = piece.trim_end_matches(|one: char| !one.is_ascii_alphanumeric());
            stable.push_str(&self.word(word));
            stable.push_str(&piece[word.len()..]);
        }
        stable
    }

    fn word(&mut self, word: &str) -> String {
        let is_random = word.len() >= RANDOM_MIN && word.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !is_random {
            return word.to_owned();
        }
        let known = self.0.iter().position(|known| known == word);
        let at = known.unwrap_or_else(|| {
            self.0.push(word.to_owned());
            self.0.len() - 1
        });
        if SEQUENCE.contains(&word.len()) && word.bytes().all(|byte| byte.is_ascii_digit()) {
            return (FIRST + at).to_string();
        }
        let hash = Sha256::digest(at.to_string());
        hash.iter().map(|byte| format!("{byte:02x}")).collect::<String>().chars().take(word.len()).collect()
    }
}
