//! Invalid input over HTTP, on every route that takes a body.

use crate::cases;
use crate::queue::{add, claim, made};
use crate::world::{World, answer};
use reqwest::Method;
use serde_json::{Map, Value, json};

cases![
    a_list_instead_of_an_object_is_refused_by_every_route,
    a_list_is_never_read_as_the_fields_of_an_object,
    a_list_instead_of_an_object_is_refused_in_the_callers_language,
];

/// Collects every path of an object within a body, with a body that has a list there instead.
fn lists(
    document: &Value,
    schema: &Value,
    path_in_body: &str,
    whole: &dyn Fn(Value) -> Value,
    found: &mut Vec<(String, Value)>,
) {
    if let Some(reference) = schema["$ref"].as_str() {
        let schema = document.pointer(reference.trim_start_matches('#')).unwrap();
        return lists(document, schema, path_in_body, whole, found);
    }
    for choice in ["oneOf", "anyOf", "allOf"].iter().filter_map(|choice| schema[choice].as_array()).flatten() {
        lists(document, choice, path_in_body, whole, found);
    }
    if let Some(items) = schema.get("items") {
        lists(document, items, &format!("{path_in_body}[0]"), &|inner| whole(json!([inner])), found);
    }
    let Some(fields) = schema["properties"].as_object() else { return };
    if !path_in_body.is_empty() {
        found.push((path_in_body.to_owned(), whole(json!([]))));
    }
    for (name, field) in fields {
        let path_in_body = if path_in_body.is_empty() { name.clone() } else { format!("{path_in_body}.{name}") };
        let whole = |inner| whole(Value::Object(Map::from_iter([(name.clone(), inner)])));
        lists(document, field, &path_in_body, &whole, found);
    }
}

/// Derived from the API's own description, so that a new route is covered, too.
async fn a_list_instead_of_an_object_is_refused_by_every_route(world: World) {
    let eva = made(&world, "mails", json!({ "kind": "inbox" })).await;
    let document = eva.get("/openapi.json").await.expect(200);
    let mut seen = Vec::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            let schema = &operation["requestBody"]["content"]["application/json"]["schema"];
            let mut found = Vec::new();
            lists(&document, schema, "", &|inner| inner, &mut found);
            for (path_in_body, body) in found {
                let path = path.replace("{queue}", "mails").replace("{id}", "1").replace("{name}", "x");
                let method = Method::from_bytes(method.to_uppercase().as_bytes()).unwrap();
                let request = eva.request(method, &path).header("Accept-Language", "en").json(&body);
                let refused = answer(request.send().await.unwrap()).await.problem(400, "bad_field");
                assert_eq!(refused["field"], path_in_body, "{path} {body}");
                let detail = refused["detail"].as_str().unwrap();
                assert!(detail.contains("must be an object"), "{path} {body}: {detail}");
                seen.push(format!("{path} {path_in_body}"));
            }
        }
    }
    for known in [
        "/v1/leases/claim leases[0]",
        "/v1/leases/heartbeat leases[0]",
        "/v1/leases/release leases[0]",
        "/v1/queues/mails push",
        "/v1/queues/mails/ack deliveries[0]",
        "/v1/queues/mails/fail deliveries[0]",
        "/v1/queues/mails/heartbeat deliveries[0]",
        "/v1/queues/mails/return deliveries[0]",
        "/v1/queues/mails/items [0]",
        "/v1/sessions user",
        "/v1/tasks lines[0]",
        "/v1/tasks/1 lines[0]",
    ] {
        assert!(seen.iter().any(|seen| seen == known), "{known} was checked: {seen:?}");
    }
}

async fn a_list_is_never_read_as_the_fields_of_an_object(world: World) {
    let eva = made(&world, "mails", json!({ "kind": "inbox" })).await;
    add(&eva, "mails", json!({ "id": "m-1", "payload": ["kept", ["as", "it"], "came"] })).await;
    let got = claim(&eva, "mails", "w").await.remove(0);
    assert_eq!(got["items"][0]["payload"], json!(["kept", ["as", "it"], "came"]), "a payload may be any JSON");
    let named = json!({ "deliveries": [[got["delivery"], got["fence"]]] });
    for (path, body, field) in [
        ("items", json!([["m-2", null, null, { "a": 1 }, null]]), "[0]"),
        ("items", json!([{ "payload": 1 }, ["m-2", null, null, { "a": 1 }, null]]), "[1]"),
        ("ack", json!({ "deliveries": [[got["delivery"], got["fence"], null]] }), "deliveries[0]"),
        ("heartbeat", named.clone(), "deliveries[0]"),
        ("return", named, "deliveries[0]"),
    ] {
        let refused = eva.post(&format!("/v1/queues/mails/{path}"), body).await.problem(400, "bad_field");
        assert_eq!(refused["field"], field, "{path}");
    }
    let counts = &eva.get("/v1/queues/mails").await.expect(200)["counts"];
    assert_eq!(
        (&counts["pending"], &counts["in_process"]),
        (&json!(0), &json!(1)),
        "the refused calls changed nothing"
    );
    let line = json!(["quantity", "in", "A-1", null, 3]);
    let task = json!({ "title": "t", "lines": [line] });
    assert_eq!(eva.post("/v1/tasks", task).await.problem(400, "bad_field")["field"], "lines[0]");
    let lease = json!({ "leases": [["door", "w", null, null]] });
    assert_eq!(eva.post("/v1/leases/claim", lease).await.problem(400, "bad_field")["field"], "leases[0]");
}

async fn a_list_instead_of_an_object_is_refused_in_the_callers_language(world: World) {
    let eva = made(&world, "mails", json!({ "kind": "inbox" })).await;
    for (language, expected) in [
        ("es", "El campo deliveries[0] no es válido: debe ser un objeto"),
        ("en", "The field deliveries[0] is not valid: must be an object"),
    ] {
        let request = eva.request(Method::POST, "/v1/queues/mails/ack").header("Accept-Language", language);
        let body = json!({ "deliveries": [["x", 1, null]] });
        let refused = answer(request.json(&body).send().await.unwrap()).await.problem(400, "bad_field");
        assert_eq!(refused["detail"], expected);
    }
}
