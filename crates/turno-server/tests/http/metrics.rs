//! Metrics: access to them, what they count, and that the documents name exactly the metrics that exist.

use crate::cases;
use crate::world::{Client, Running, World};
use reqwest::Method;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use turno::core::time::Span;
use turno::queue::{Claim, Draft, Kind, Policy};
use turno::{Options, Turno};

cases![
    metrics_need_a_token_or_their_own_listener,
    claims_refusals_and_rejected_requests_are_counted,
    the_documented_metrics_are_the_served_ones,
    unknown_routes_create_no_metric_series,
];

/// Returns the value of a series, or `None`.
fn value(figures: &str, series: &str) -> Option<f64> {
    let line = figures.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
    line.map(|number| number.parse().unwrap())
}

async fn scraped(client: &Client) -> String {
    let answer = client.get("/metrics").await;
    assert_eq!(answer.status.as_u16(), 200, "{}", answer.text);
    assert!(answer.headers["content-type"].to_str().unwrap().starts_with("text/plain; version=0.0.4"));
    answer.text
}

async fn metrics_need_a_token_or_their_own_listener(world: World) {
    world.anonymous().get("/metrics").await.problem(401, "unauthenticated");
    assert!(scraped(&world.client("vera").await).await.contains("turno_build_info"));

    let mut own =
        Running::with_log(&world.url, &[("TURNO_METRICS_LISTEN", "127.0.0.1:0"), ("TURNO_LOG_LEVEL", "info")]);
    let line = loop {
        let line = own.next_log_line();
        if let Some(address) = line["message"].as_str().and_then(|text| text.strip_prefix("metrics on ")) {
            break address.trim_end_matches("/metrics").to_owned();
        }
    };
    let scraper = Client::new(&line, None);
    assert!(scraped(&scraper).await.contains("turno_database_up 1"));
    assert_eq!(scraper.get("/v1/leases/caja:1").await.status.as_u16(), 404, "the listener serves only metrics");
}

async fn claims_refusals_and_rejected_requests_are_counted(world: World) {
    let (ana, leo) = (world.client("ana").await, world.client("leo").await);
    let lease = ana.post("/v1/leases/caja:1/claim", json!({})).await.expect(200);
    leo.post("/v1/leases/caja:1/claim", json!({})).await.problem(409, "lease_held");
    ana.post("/v1/leases/caja:1/heartbeat", json!({ "fence": lease["fence"] })).await.expect(200);
    ana.post("/v1/leases/caja:1/heartbeat", json!({ "fence": 1_000_000 })).await.problem(409, "lease_lost");
    let figures = scraped(&ana).await;
    for (series, expected) in [
        (r#"turno_lease_total{action="claim",outcome="granted"}"#, 1.0),
        (r#"turno_lease_total{action="claim",outcome="held"}"#, 1.0),
        (r#"turno_lease_total{action="heartbeat",outcome="renewed"}"#, 1.0),
        (r#"turno_lease_total{action="heartbeat",outcome="lost"}"#, 1.0),
        (r#"turno_http_rejected_total{reason="lease_held"}"#, 1.0),
        (r#"turno_http_requests_total{method="POST",route="/v1/leases/{resource}/claim",status="200"}"#, 1.0),
        (r#"turno_http_request_seconds_count{method="POST",route="/v1/leases/{resource}/claim"}"#, 2.0),
        (r#"turno_groups_total{kind="lease",outcome="committed"}"#, 2.0),
    ] {
        let found = value(&figures, series);
        // A heartbeat may be decided twice, and groups may be merged, so the count is a lower bound.
        assert!(found.is_some_and(|found| found >= expected), "{series}: {found:?} in\n{figures}");
    }
}

async fn unknown_routes_create_no_metric_series(world: World) {
    let ana = world.client("ana").await;
    for n in 0..5 {
        ana.get(&format!("/nowhere/{n}")).await.problem(404, "not_found");
    }
    let figures = scraped(&ana).await;
    assert!(!figures.contains("nowhere"));
    let unmatched = r#"turno_http_requests_total{method="GET",route="unmatched",status="404"}"#;
    assert_eq!(value(&figures, unmatched), Some(5.0));
}

fn document(name: &str) -> String {
    let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/operating").join(name);
    std::fs::read_to_string(file).unwrap()
}

/// Returns every metric name (`turno_…`) in a text.
fn names(text: &str) -> BTreeSet<String> {
    let begins = text.match_indices("turno_").map(|(at, _)| &text[at..]);
    let name = |rest: &str| rest.chars().take_while(|one| one.is_ascii_lowercase() || *one == '_').collect::<String>();
    begins.map(name).collect()
}

async fn the_documented_metrics_are_the_served_ones(mut world: World) {
    let ana = world.client("ana").await;
    // Only the server sweeps, so that it has item counts to show.
    world.turno = Turno::open_with(&world.url, Options { sweep: false, ..Options::default() }).await.unwrap();
    let policy = Policy { lock_timeout: Span(100), ..Policy::for_kind(Kind::Inbox) };
    let queue = world.turno.put_queue("mails", policy).await.unwrap();
    queue.enqueue(vec![Draft::json("hola").unwrap(), Draft::json("adiós").unwrap()]).await.unwrap();
    assert_eq!(queue.claim(Claim::by("w1")).await.unwrap().len(), 1);
    ana.post("/v1/leases/caja:1/claim", json!({})).await.expect(200);
    ana.get("/v1/leases/caja:1/none").await;
    // No server listens on that port.
    let push = json!({ "kind": "inbox", "push": { "url": "http://127.0.0.1:9/" } });
    world.client("eva").await.send(Method::PUT, "/v1/queues/pushed", push).await.expect(200);
    ana.post("/v1/queues/pushed/items", json!({ "payload": "hola" })).await.expect(201);
    let figures = loop {
        let figures = scraped(&ana).await;
        let awaited = ["turno_items_total{", "turno_delivery_seconds", "turno_destination_down{"];
        if awaited.iter().all(|name| figures.contains(name)) {
            break figures;
        }
    };
    let served: BTreeSet<String> =
        figures.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next().map(str::to_owned)).collect();

    let table = document("observability.md");
    let rows = table.lines().filter_map(|line| line.strip_prefix("| `turno_")?.split('`').next());
    let mut documented: BTreeSet<String> = rows.map(|name| format!("turno_{name}")).collect();
    assert!(documented.len() > 10, "the table of metrics was found");
    if !figures.contains("turno_database_bytes") {
        assert!(documented.remove("turno_database_bytes"), "only SQLite reports its file size");
    }
    assert_eq!(served, documented);

    let dashboard: Value = serde_json::from_str(&document("grafana-dashboard.json")).unwrap();
    assert!(dashboard["panels"].as_array().is_some_and(|panels| panels.len() > 10));
    documented.insert("turno_database_bytes".to_owned());
    let used = names(&dashboard.to_string());
    let base = |name: &str| {
        let suffix = ["_bucket", "_sum", "_count"].into_iter().find_map(|suffix| name.strip_suffix(suffix));
        suffix.unwrap_or(name).to_owned()
    };
    let unknown: Vec<&String> = used.iter().filter(|name| !documented.contains(&base(name))).collect();
    assert!(unknown.is_empty(), "the dashboard asks for {unknown:?}");
    let missing: Vec<&String> =
        documented.iter().filter(|name| !used.iter().any(|used| base(used) == **name)).collect();
    assert!(missing.is_empty(), "the dashboard does not show {missing:?}");

    let rules = document("turno.rules.yml");
    let expressions: String = rules.lines().filter(|line| line.trim_start().starts_with("expr: ")).collect();
    let used = names(&expressions);
    let unknown: Vec<&String> = used.iter().filter(|name| !documented.contains(&base(name))).collect();
    assert!(used.len() > 5 && unknown.is_empty(), "the alerts ask for {unknown:?}");
    let alerts: BTreeSet<&str> = rules.lines().filter_map(|line| line.trim().strip_prefix("- alert: ")).collect();
    let page = document("alerts.md");
    let explained: BTreeSet<&str> =
        page.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next()).collect();
    assert_eq!(explained, alerts, "the page explains every alert");
}
