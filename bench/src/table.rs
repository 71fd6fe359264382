//! The output, for people and for programs.

use crate::args::Args;
use crate::result::{Measured, Reached, Sample};
use crate::spec::{Goal, Row};
use serde_json::{Value, json};
use std::time::Duration;

/// A row with its result or its error.
pub(crate) type Result = (&'static Row, std::result::Result<Measured, String>);

const PEERS: &str = "peers, measured elsewhere on the same kind of machine, not in this run";

/// Prints the table to standard output.
pub(crate) fn print(machine: &[String], args: &Args, results: &[Result]) {
    println!("Turno beside the raw limit of the same database, best of {} run(s)", args.runs);
    if args.quick {
        println!("--quick: smaller sizes; these are not figures to quote");
    }
    machine.iter().for_each(|line| println!("{line}"));
    println!();
    let head = ["row", "raw (p50/p99 ms)", "Turno (p50/p99 ms)", "ratio", "goal", "reached"];
    line(head.map(str::to_owned));
    line(head.map(|_| "---".to_owned()));
    for (row, result) in results {
        let name = format!("{} {} ({})", row.database, row.name, row.variant);
        match result {
            Ok(measured) => {
                line(cells(name, row, measured));
                details(row, measured);
            }
            Err(failure) => {
                line([name, String::new(), "failed".into(), String::new(), goal(&row.goal), "no".into()]);
                println!("      {failure}");
            }
        }
    }
    println!();
    println!("{PEERS}: a difference of less than 1.5 times means nothing");
}

fn line([name, raw, ours, ratio, goal, reached]: [String; 6]) {
    println!("{name:<58} {raw:>24} {ours:>24} {ratio:>7} {goal:>15} {reached:>9}");
}

fn cells(name: String, row: &Row, measured: &Measured) -> [String; 6] {
    let best = |side| measured.best(side, &row.goal).map(|sample| figure(&row.goal, sample));
    let ratio = match (measured.ratio(&row.goal), &row.goal) {
        (None, _) => "–".to_owned(),
        (Some(ratio), Goal::Share(_)) => format!("{:.0} %", ratio * 100.0),
        (Some(ratio), _) => format!("{ratio:.2}×"),
    };
    let reached = match measured.reached(&row.goal, row.documented) {
        _ if !measured.faults.is_empty() => "BROKEN",
        Reached::NoGoal => "–",
        Reached::Yes => "yes",
        Reached::ByRatio => "by ratio",
        Reached::No => "no",
    };
    [
        name,
        best(&measured.raw).unwrap_or_else(|| "–".to_owned()),
        best(&measured.ours).unwrap_or_else(|| "–".to_owned()),
        ratio,
        goal(&row.goal),
        reached.to_owned(),
    ]
}

fn details(row: &Row, measured: &Measured) {
    println!("      {}", measured.conditions);
    if !measured.beside.is_empty() {
        println!("      raw: {}", measured.beside);
    }
    let runs = |side: &[Sample]| {
        let figures: Vec<String> = side.iter().map(|sample| figure(&row.goal, sample)).collect();
        figures.join(", ")
    };
    if measured.raw.len() > 1 {
        println!("      runs: raw {}", runs(&measured.raw));
    }
    if measured.ours.len() > 1 {
        println!("      runs: Turno {}", runs(&measured.ours));
    }
    measured.notes.iter().for_each(|note| println!("      {note}"));
    measured.faults.iter().for_each(|fault| println!("      BROKEN: {fault}"));
    if !row.peers.is_empty() {
        println!("      {PEERS}: {}", row.peers);
    }
}

fn goal(goal: &Goal) -> String {
    match goal {
        Goal::None => "–".to_owned(),
        Goal::PerSecond(wanted) => format!("≥ {}", rate(*wanted)),
        Goal::Share(wanted) => format!("≥ {:.0} %", wanted * 100.0),
        Goal::Latency { p50_ms, p99_ms } => format!("≤ {p50_ms} / {p99_ms} ms"),
    }
}

fn figure(goal: &Goal, sample: &Sample) -> String {
    let latency = match (sample.p50, sample.p99) {
        (Some(p50), Some(p99)) => format!("{}/{}", millis(p50), millis(p99)),
        _ => "–".to_owned(),
    };
    match goal {
        Goal::Latency { .. } => format!("{latency} ms"),
        _ => format!("{} ({latency})", rate(sample.per_second)),
    }
}

fn rate(per_second: f64) -> String {
    match per_second {
        many if many >= 100_000.0 => format!("{:.0}k/s", many / 1e3),
        some if some >= 1_000.0 => format!("{:.1}k/s", some / 1e3),
        few => format!("{few:.0}/s"),
    }
}

fn millis(duration: Duration) -> String {
    let millis = duration.as_secs_f64() * 1e3;
    if millis < 10.0 { format!("{millis:.2}") } else { format!("{millis:.0}") }
}

/// Returns the results as JSON.
pub(crate) fn json(machine: &[String], args: &Args, results: &[Result]) -> Value {
    let rows: Vec<Value> = results
        .iter()
        .map(|(row, result)| match result {
            Ok(measured) => json_row(row, measured),
            Err(failure) => json!({
                "row": row.name,
                "variant": row.variant,
                "database": row.database.to_string(),
                "failure": failure,
            }),
        })
        .collect();
    json!({
        "machine": machine,
        "seconds": args.seconds,
        "runs": args.runs,
        "quick": args.quick,
        "rows": rows,
    })
}

fn json_row(row: &Row, measured: &Measured) -> Value {
    let samples = |side: &[Sample]| -> Vec<Value> {
        let millis = |duration: Option<Duration>| duration.map(|one| one.as_secs_f64() * 1e3);
        side.iter()
            .map(|sample| {
                json!({
                    "count": sample.count,
                    "per_second": sample.per_second,
                    "p50_ms": millis(sample.p50),
                    "p99_ms": millis(sample.p99),
                })
            })
            .collect()
    };
    let reached = match measured.reached(&row.goal, row.documented) {
        _ if !measured.faults.is_empty() => json!("broken"),
        Reached::NoGoal => Value::Null,
        Reached::Yes => json!("yes"),
        Reached::ByRatio => json!("by ratio"),
        Reached::No => json!("no"),
    };
    json!({
        "row": row.name,
        "variant": row.variant,
        "database": row.database.to_string(),
        "conditions": measured.conditions,
        "beside": measured.beside,
        "raw": samples(&measured.raw),
        "turno": samples(&measured.ours),
        "ratio": measured.ratio(&row.goal),
        "goal": goal(&row.goal),
        "reached": reached,
        "notes": measured.notes,
        "faults": measured.faults,
        "peers_measured_elsewhere": row.peers,
    })
}
