//! The examples of the OpenAPI document: for each operation a call and its answer, and some refusals.
//!
//! A test plays a story against a server with a manual clock and compares each recorded call with `examples.json`
//! (`examples/story.rs`). So every example is an answer that a server gives.

#[cfg(test)]
mod recorder;
#[cfg(test)]
mod story;

use serde_json::Value;

const RECORDED: &str = include_str!("examples.json");

/// Returns the recorded calls by operation id.
pub(super) fn recorded() -> Value {
    serde_json::from_str(RECORDED).unwrap_or_default()
}

/// Adds the recorded call of an operation to its parameters, its body and its answers.
pub(super) fn add(operation: &mut Value, recorded: &Value) {
    let Some(call) = operation["operationId"].as_str().and_then(|id| recorded.get(id)) else { return };
    // Indexing would insert null where an operation has no parameters or an answer has no content.
    for parameter in operation.get_mut("parameters").and_then(Value::as_array_mut).into_iter().flatten() {
        let name = parameter["name"].as_str().unwrap_or_default();
        let place = parameter["in"].as_str().unwrap_or_default();
        if let Some(value) = call.get(place).and_then(|values| values.get(name)) {
            parameter["example"] = value.clone();
        }
    }
    if let Some(body) = call.get("body") {
        operation["requestBody"]["content"]["application/json"]["example"] = body.clone();
    }
    let responses = &mut operation["responses"];
    let answered = responses.get_mut(call["status"].to_string()).and_then(|answer| answer.get_mut("content"));
    let content = answered.and_then(Value::as_object_mut);
    if let (Some(answer), Some(content)) = (call.get("answer"), content.and_then(|content| content.values_mut().next()))
    {
        content["example"] = answer.clone();
    }
    if let Some(refusals) = call.get("refusals") {
        responses["default"]["content"]["application/problem+json"]["examples"] = refusals.clone();
    }
}
