//! Checks that the document is valid and equals the committed one.

use serde_json::Value;
use std::collections::HashSet;
use std::path::Path;

pub(super) fn document() -> Value {
    let (_, generated) = crate::http::api().split_for_parts();
    super::document(generated)
}

/// Returns every operation with its method and path.
pub(super) fn operations(document: &Value) -> Vec<(String, &Value)> {
    let paths = document["paths"].as_object().expect("the document has paths");
    paths
        .iter()
        .flat_map(|(path, methods)| {
            let methods = methods.as_object().expect("the path has methods");
            methods.iter().map(move |(method, operation)| (format!("{} {path}", method.to_uppercase()), operation))
        })
        .collect()
}

#[test]
fn every_operation_has_a_unique_id_a_tag_and_a_summary() {
    let document = document();
    let mut ids = HashSet::new();
    for (name, operation) in operations(&document) {
        let id = operation["operationId"].as_str().unwrap_or_default();
        assert!(!id.is_empty() && ids.insert(id.to_owned()), "{name}: {id}");
        assert!(operation["tags"][0].is_string(), "{name}");
        assert!(operation["summary"].as_str().is_some_and(|summary| !summary.is_empty()), "{name}");
    }
    assert!(!ids.is_empty());
}

#[test]
fn every_reference_resolves() {
    fn walk(document: &Value, value: &Value, found: &mut usize) {
        match value {
            Value::Object(members) => {
                if let Some(reference) = members.get("$ref").and_then(Value::as_str) {
                    let pointer = reference.strip_prefix('#').expect("references stay within the document");
                    assert!(document.pointer(pointer).is_some(), "{reference}");
                    *found += 1;
                }
                members.values().for_each(|member| walk(document, member, found));
            }
            Value::Array(entries) => entries.iter().for_each(|entry| walk(document, entry, found)),
            _ => {}
        }
    }
    let document = document();
    let mut found = 0;
    walk(&document, &document, &mut found);
    assert!(found > 0);
}

#[test]
fn declared_path_parameters_match_the_path() {
    let document = document();
    for (name, operation) in operations(&document) {
        let in_path: HashSet<&str> =
            name.split('{').skip(1).map(|rest| rest.split('}').next().unwrap_or_default()).collect();
        let parameters = operation["parameters"].as_array().cloned().unwrap_or_default();
        let declared: HashSet<String> = parameters
            .iter()
            .filter(|parameter| parameter["in"] == "path")
            .map(|parameter| parameter["name"].as_str().unwrap_or_default().to_owned())
            .collect();
        assert_eq!(in_path, declared.iter().map(String::as_str).collect(), "{name}");
    }
}

#[test]
fn security_of_every_operation_matches_the_table() {
    let document = document();
    for (name, operation) in operations(&document) {
        let (method, path) = name.split_once(' ').expect("a method and a path");
        let row = crate::http::access::find(method, path).unwrap_or_else(|| panic!("{name} is in no row"));
        let public = row.needs == crate::http::access::Needs::Nothing;
        assert_eq!(operation["security"].as_array().is_some_and(Vec::is_empty), public, "{name}");
        let permission = row.needs.permission().map(|permission| permission.replace('`', ""));
        assert_eq!(operation["x-permission"].as_str(), permission.as_deref(), "{name}");
    }
    let batch = &document["paths"]["/v1/leases/claim"]["post"]["x-permission"];
    assert_eq!(batch, "leases.use or inventory.manage", "each of them opens the route");
}

/// Run with `TURNO_UPDATE_OPENAPI=1` to write the document.
#[test]
fn committed_openapi_document_is_up_to_date() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/openapi.json");
    // Members are sorted by name, so that the order of registration does not matter.
    let document = format!("{:#}\n", sorted(document()));
    if std::env::var_os("TURNO_UPDATE_OPENAPI").is_some() {
        std::fs::create_dir_all(file.parent().expect("the path has a parent")).expect("the folder is created");
        std::fs::write(&file, &document).expect("the file is written");
    }
    let committed = std::fs::read_to_string(&file).unwrap_or_default();
    let differs = committed.lines().zip(document.lines()).position(|(old, new)| old != new);
    assert!(
        committed == document,
        "docs/reference/openapi.json is not what is served, from line {} on; run the test with TURNO_UPDATE_OPENAPI=1",
        differs.map_or(committed.lines().count(), |line| line) + 1
    );
}

pub(super) fn sorted(value: Value) -> Value {
    match value {
        Value::Object(members) => {
            let mut members: Vec<(String, Value)> = members.into_iter().collect();
            members.sort_by(|one, other| one.0.cmp(&other.0));
            members.into_iter().map(|(name, member)| (name, sorted(member))).collect()
        }
        Value::Array(entries) => entries.into_iter().map(sorted).collect(),
        other => other,
    }
}
