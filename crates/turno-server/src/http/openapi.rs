//! The OpenAPI document: generated from the handlers, and completed here with the parts that all operations share.

mod examples;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Router;
use axum::http::header;
use axum::routing::get;
use serde_json::{Value, json};
use utoipa::openapi::OpenApi;

use super::access::{self, Needs};
use super::app::Shared;
use super::problem::Code;

/// Returns the document as it is served and committed.
pub(crate) fn document(generated: OpenApi) -> Value {
    let mut document = serde_json::to_value(generated).unwrap_or_default();
    document["info"] = json!({
        "title": "Turno",
        "version": env!("CARGO_PKG_VERSION"),
        "description": "One at a time, in turn, nothing lost: leases, tasks and queues over HTTP.",
        "license": { "name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0" },
    });
    document["components"]["securitySchemes"] = json!({
        "token": { "type": "http", "scheme": "bearer" },
        "session": { "type": "apiKey", "in": "cookie", "name": super::caller::COOKIE },
    });
    document["components"]["schemas"]["Problem"] = problem_schema();
    let schemas = document["components"]["schemas"].clone();
    let recorded = examples::recorded();
    let Some(paths) = document["paths"].as_object_mut() else {
        return document;
    };
    for (path, operations) in paths {
        let Some(operations) = operations.as_object_mut() else { continue };
        for (method, operation) in operations {
            complete(operation, access::find(&method.to_uppercase(), path).map(|row| row.needs));
            declare(operation, path);
            relax(operation, &schemas);
            examples::add(operation, &recorded);
        }
    }
    document
}

/// Adds the required permission and the error response to an operation.
fn complete(operation: &mut Value, needs: Option<Needs>) {
    let needs = needs.unwrap_or(Needs::Nothing);
    operation["security"] = match needs {
        Needs::Nothing => json!([]),
        _ => json!([{ "token": [] }, { "session": [] }]),
    };
    if let Some(permission) = needs.permission() {
        operation["x-permission"] = permission.replace('`', "").into();
    }
    let content = json!({ "application/problem+json": { "schema": { "$ref": "#/components/schemas/Problem" } } });
    let responses = &mut operation["responses"];
    responses["default"] = json!({ "description": "A problem (RFC 9457). Its `code` is stable.", "content": content });
}

/// Declares the path parameters that the handler's types do not describe: names, and the numbers of tasks and lines.
fn declare(operation: &mut Value, path: &str) {
    let names = path.split('{').skip(1).filter_map(|rest| rest.split('}').next());
    for name in names {
        if !operation["parameters"].is_array() {
            operation["parameters"] = json!([]);
        }
        let Some(declared) = operation["parameters"].as_array_mut() else { continue };
        if declared.iter().any(|known| known["in"] == "path" && known["name"] == name) {
            continue;
        }
        let schema = if name == "number" || (name == "id" && path.starts_with("/v1/tasks/")) {
            json!({ "type": "integer", "minimum": 1 })
        } else {
            json!({ "type": "string", "minLength": 1, "maxLength": 200 })
        };
        declared.push(json!({ "name": name, "in": "path", "required": true, "schema": schema }));
    }
}

/// Makes the body optional if none of its fields is required, because an absent body counts as an empty object.
fn relax(operation: &mut Value, schemas: &Value) {
    let schema = &operation["requestBody"]["content"]["application/json"]["schema"];
    let name = schema["$ref"].as_str().and_then(|reference| reference.rsplit('/').next());
    let schema = name.map_or(schema, |name| &schemas[name]);
    let must = |schema: &Value| schema["required"].as_array().is_some_and(|names| !names.is_empty());
    if schema["type"] == "object" && !must(schema) {
        operation["requestBody"]["required"] = false.into();
    }
}

fn problem_schema() -> Value {
    json!({
        "type": "object",
        "description": "An error (RFC 9457). Some codes have additional members.",
        "required": ["type", "title", "status", "code", "detail"],
        "properties": {
            "type": { "type": "string" },
            "title": { "type": "string" },
            "status": { "type": "integer" },
            "code": {
                "type": "string",
                "enum": Code::ALL.iter().map(|code| code.as_str()).collect::<Vec<_>>(),
                "description": "A stable code for programs. Later versions may add codes.",
                "x-status": Code::ALL.iter().map(|code| (code.as_str(), code.status())).collect::<BTreeMap<_, _>>(),
            },
            "detail": {
                "type": "string",
                "description": "A message for people, in the language of `Accept-Language`.",
            },
            "field": { "type": "string" },
            "request_id": { "type": "string" },
        },
    })
}

pub(super) fn routes(document: &Value) -> Router<Shared> {
    let document: Arc<str> = document.to_string().into();
    let headers = [(header::CONTENT_TYPE, "application/json"), (header::CACHE_CONTROL, "no-cache")];
    Router::new().route("/openapi.json", get(move || std::future::ready((headers, document.to_string()))))
}
