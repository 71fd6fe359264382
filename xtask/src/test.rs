//! The steps of `cargo xtask test`, and the summary at the end.
//!
//! Every step runs, also after one has failed, so that a red run shows every failure. A step that cannot run counts as
//! failed, because a silently skipped check proves nothing.

use std::process::{Command, ExitCode};
use std::time::Duration;

use crate::tools::{Problem, StepResult, cargo, has_nextest, stopwatch};
use crate::{api, browser, dist, docs, postgres, product, site, tidy, versions};

/// One step. To add one, add a line to [`STEPS`].
struct Step {
    name: &'static str,
    about: &'static str,
    run: fn() -> StepResult,
}

const fn step(name: &'static str, about: &'static str, run: fn() -> StepResult) -> Step {
    Step { name, about, run }
}

const STEPS: &[Step] = &[
    step("prerequisites", "PostgreSQL's programs and PgBouncer are here", postgres::prepare),
    step("format", "the code is formatted", format),
    step("tidy", "our own rules about layers, SQL, form and paths", tidy::run),
    step("clippy", "no warnings in any target", clippy),
    step("tests", "all tests, then the examples in the docs", tests),
    step("versions", "the tests of the stores on a second version of PostgreSQL", versions::run_second),
    step("features", "the library alone, and with one database alone", features),
    step("simulator", "ten million operations with faults, and no promise broken", simulator),
    step("docs", "rustdoc, links, translations alike", docs::run),
    step("site", "the documentation site builds, and its links resolve", site::run),
    step("product", "turno starts, answers, and stops when told", product::run),
    step("packaging", "archive, package, unit and manifests are made and have their contents", dist::test),
    step("api", "the API answers as its description says, to thousands of made-up requests", api::run),
    step("browser", "the browser module and the pages, in a real Chromium", browser::run),
];

fn format() -> StepResult {
    cargo(&["fmt", "--all", "--check"])
}

fn clippy() -> StepResult {
    cargo(&["clippy", "--workspace", "--all-targets", "--locked", "--", "-D", "warnings"])
}

fn tests() -> StepResult {
    if has_nextest() {
        cargo(&["nextest", "run", "--workspace", "--locked"])?;
        // nextest does not run the examples in doc comments.
        cargo(&["test", "--doc", "--workspace", "--locked"])
    } else {
        println!("cargo-nextest is not installed: the same tests run with plain cargo test, only slower");
        cargo(&["test", "--workspace", "--locked"])
    }
}

/// Checks the library as an application sees it, without `unstable`. Then checks it and its tests once per database,
/// with the other database compiled out. Nothing is built and run here: a selection of one package has other features
/// than the workspace, so every dependency would be compiled again.
fn features() -> StepResult {
    cargo(&["check", "--package", "turno", "--locked"])?;
    for database in ["sqlite", "postgres"] {
        let only = ["--no-default-features", "--features", database];
        cargo(&[&["check", "--package", "turno", "--all-targets", "--locked"], &only[..]].concat())?;
    }
    Ok(())
}

/// Runs ten million operations, or fewer if a slow machine runs out of time. The program prints how many ran.
fn simulator() -> StepResult {
    let limits = ["--operations", "10000000", "--seconds", "120"];
    product::build("simulate")?;
    let program = product::built("simulate")?;
    match Command::new(&program).args(limits).status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(Problem::failed(format!("the simulator ended with {status}"))),
        Err(error) => Err(Problem::failed(format!("failed to start {}: {error}", program.display()))),
    }
}

/// Runs all steps, or the steps in `only` (separated by commas).
pub(crate) fn run(only: Option<&str>) -> ExitCode {
    let chosen = match choose(only) {
        Ok(chosen) => chosen,
        Err(unknown) => {
            eprintln!("unknown step `{unknown}`; `cargo xtask list` shows the names");
            return ExitCode::from(2);
        }
    };
    let mut done = Vec::new();
    for step in &chosen {
        println!("\n=== {} · {} ===", step.name, step.about);
        let watch = stopwatch();
        let result = (step.run)();
        let took = watch();
        match &result {
            Ok(()) => println!("--- {}: ok, {}", step.name, seconds(took)),
            Err(problem) => println!("--- {}: FAILED, {problem} ({})", step.name, seconds(took)),
        }
        done.push((step.name, result, took));
    }
    println!("\n=== summary ===");
    for (name, result, took) in &done {
        println!("{}", summary_line(name, result, *took));
    }
    for step in STEPS.iter().filter(|step| !chosen.iter().any(|one| one.name == step.name)) {
        println!("{:<9} {:<14} not asked for (--only)", "left out", step.name);
    }
    let failed = done.iter().filter(|(_, result, _)| result.is_err()).count();
    println!("{} passed, {failed} failed", done.len() - failed);
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Prints the steps.
pub(crate) fn list() -> ExitCode {
    for step in STEPS {
        println!("{:<14} {}", step.name, step.about);
    }
    ExitCode::SUCCESS
}

/// Returns the requested steps in the order of the list, or the first unknown name.
fn choose(only: Option<&str>) -> Result<Vec<&'static Step>, String> {
    let Some(only) = only else {
        return Ok(STEPS.iter().collect());
    };
    let names: Vec<&str> = only.split(',').map(str::trim).collect();
    if let Some(unknown) = names.iter().find(|name| !STEPS.iter().any(|step| step.name == **name)) {
        return Err((*unknown).to_string());
    }
    Ok(STEPS.iter().filter(|step| names.contains(&step.name)).collect())
}

fn summary_line(name: &str, result: &StepResult, took: Duration) -> String {
    let took = seconds(took);
    match result {
        Ok(()) => format!("{:<9} {name:<14} {took}", "ok"),
        Err(problem) => format!("{:<9} {name:<14} {took}  {problem}", "FAILED"),
    }
}

fn seconds(took: Duration) -> String {
    format!("{:.1} s", took.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chosen_steps_keep_the_order_of_the_list() {
        let chosen = choose(Some("docs, format")).map(|steps| steps.iter().map(|step| step.name).collect());
        assert_eq!(chosen, Ok(vec!["format", "docs"]));
    }

    #[test]
    fn an_unknown_step_is_named() {
        assert_eq!(choose(Some("format,nonsense")).err().as_deref(), Some("nonsense"));
    }

    #[test]
    fn a_step_that_could_not_run_names_the_missing_tool_and_how_to_get_it() {
        let missing = Err(Problem::Missing { what: "a tool".into(), get: "install it".into() });
        let line = summary_line("tests", &missing, Duration::ZERO);
        assert_eq!(line, "FAILED    tests          0.0 s  could not run: a tool is missing; install it");
    }
}
