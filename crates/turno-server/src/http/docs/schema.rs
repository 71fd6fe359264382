//! Reads JSON schemas: a short description of a value, and the fields of an object.

use serde_json::Value;

/// The deepest level of nested fields. The OpenAPI document has the rest.
const DEPTH_MAX: usize = 3;

/// A field of a body or an answer.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Field {
    /// The full name, for example `lines[].sku`.
    pub(super) name: String,
    pub(super) kind: String,
    pub(super) required: bool,
    pub(super) about: String,
}

/// Follows a reference. A schema without one is returned as it is.
pub(super) fn resolved<'a>(document: &'a Value, schema: &'a Value) -> &'a Value {
    match schema["$ref"].as_str().and_then(|reference| reference.strip_prefix('#')) {
        Some(pointer) => document.pointer(pointer).unwrap_or(schema),
        None => schema,
    }
}

/// Returns the alternative that is not null, for an optional value.
fn unwrapped<'a>(document: &'a Value, schema: &'a Value) -> &'a Value {
    let schema = resolved(document, schema);
    for choice in ["oneOf", "anyOf"] {
        let alternatives = schema[choice].as_array().into_iter().flatten();
        let mut real = alternatives.filter(|one| one["type"] != "null");
        if let (Some(only), None) = (real.next(), real.next()) {
            return resolved(document, only);
        }
    }
    schema
}

/// Describes what a value may be: `integer, 0 to 30000`, `free | locked`, `list of string`.
pub(super) fn kind(document: &Value, schema: &Value) -> String {
    let real = unwrapped(document, schema);
    let mut words = vec![base(document, real)];
    words.extend(bounds(real));
    words.join(", ")
}

fn base(document: &Value, schema: &Value) -> String {
    if let Some(values) = schema["enum"].as_array() {
        let values: Vec<&str> = values.iter().filter_map(Value::as_str).collect();
        return values.join(" | ");
    }
    if let Some(value) = schema["const"].as_str() {
        return value.to_owned();
    }
    for choice in ["oneOf", "anyOf"] {
        if let Some(alternatives) = schema[choice].as_array() {
            let alternatives: Vec<String> = alternatives.iter().map(|one| kind(document, one)).collect();
            return alternatives.join(" | ");
        }
    }
    let named: Vec<&str> = match &schema["type"] {
        Value::String(one) => vec![one],
        Value::Array(several) => several.iter().filter_map(Value::as_str).filter(|one| *one != "null").collect(),
        _ if schema["properties"].is_object() || schema["allOf"].is_array() => vec!["object"],
        _ => vec!["any JSON"],
    };
    match named[..] {
        ["array"] => format!("list of {}", kind(document, &schema["items"])),
        _ => named.join(" | "),
    }
}

fn bounds(schema: &Value) -> Vec<String> {
    let number = |name: &str| schema.get(name).filter(|value| value.is_number());
    let mut found = Vec::new();
    for (low, high, what) in
        [("minimum", "maximum", ""), ("minLength", "maxLength", " characters"), ("minItems", "maxItems", " entries")]
    {
        match (number(low), number(high)) {
            (Some(low), Some(high)) => found.push(format!("{low} to {high}{what}")),
            (Some(low), None) => found.push(format!("{low}{what} or more")),
            (None, Some(high)) => found.push(format!("at most {high}{what}")),
            (None, None) => {}
        }
    }
    let default = schema.get("default").filter(|default| !default.is_null());
    found.extend(default.map(|default| format!("default {default}")));
    if schema["format"] == "date-time" {
        found.push("RFC 3339".to_owned());
    }
    found
}

/// Returns the fields of an object. Each is followed by the fields of its own object.
pub(super) fn fields(document: &Value, schema: &Value) -> Vec<Field> {
    let mut found = Vec::new();
    collect(document, schema, "", 0, &mut found);
    found
}

fn collect(document: &Value, schema: &Value, inside: &str, depth: usize, found: &mut Vec<Field>) {
    let schema = unwrapped(document, schema);
    for part in schema["allOf"].as_array().into_iter().flatten() {
        collect(document, part, inside, depth, found);
    }
    if schema["type"] == "array" {
        let inside = if inside.is_empty() { "[]." } else { inside };
        return collect(document, &schema["items"], inside, depth, found);
    }
    let required = |name: &str| schema["required"].as_array().is_some_and(|all| all.iter().any(|one| one == name));
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        let full = format!("{inside}{name}");
        let about = field["description"].as_str().or_else(|| unwrapped(document, field)["description"].as_str());
        found.push(Field {
            name: full.clone(),
            kind: kind(document, field),
            required: required(name),
            about: about.unwrap_or_default().to_owned(),
        });
        if depth < DEPTH_MAX {
            let list = unwrapped(document, field)["type"] == "array";
            let inside = format!("{full}{}.", if list { "[]" } else { "" });
            collect(document, field, &inside, depth + 1, found);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn document() -> Value {
        json!({ "components": { "schemas": {
            "Line": { "type": "object", "required": ["sku"], "properties": { "sku": { "type": "string" } } },
            "Color": { "type": "string", "enum": ["red", "blue"], "description": "Which one." },
        } } })
    }

    #[test]
    fn value_is_described_with_its_bounds() {
        let document = document();
        for (schema, words) in [
            (json!({ "type": ["integer", "null"], "minimum": 0, "maximum": 9 }), "integer, 0 to 9"),
            (json!({ "type": "string", "maxLength": 200 }), "string, at most 200 characters"),
            (json!({ "oneOf": [{ "type": "null" }, { "$ref": "#/components/schemas/Color" }] }), "red | blue"),
            (json!({ "type": "array", "items": { "$ref": "#/components/schemas/Line" } }), "list of object"),
            (json!({}), "any JSON"),
        ] {
            assert_eq!(kind(&document, &schema), words, "{schema}");
        }
    }

    #[test]
    fn fields_of_lists_and_all_of_are_found() {
        let document = document();
        let schema = json!({ "allOf": [
            { "$ref": "#/components/schemas/Line" },
            { "type": "object", "properties": {
                "lines": { "type": "array", "items": { "$ref": "#/components/schemas/Line" } },
                "color": { "$ref": "#/components/schemas/Color" },
            } },
        ] });
        let found = fields(&document, &schema);
        let shown: Vec<(&str, bool)> = found.iter().map(|field| (field.name.as_str(), field.required)).collect();
        assert_eq!(shown, [("sku", true), ("color", false), ("lines", false), ("lines[].sku", true)]);
        assert_eq!(found[1].about, "Which one.");
    }
}
