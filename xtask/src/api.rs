//! Checks the API against its own description: schemathesis generates valid and invalid requests from `/openapi.json`
//! and compares the answers with it, on both databases, as each kind of caller, with a fixed seed.
//!
//! The step `api` is short. `cargo xtask fuzz` runs two minutes per role. Both judge the server from outside too: no
//! server error, no panic, bounded memory.

mod install;
mod role;
mod server;
mod verdict;

use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use crate::product;
use crate::tools::{Problem, StepResult, root};
use role::{LEFT_OUT, Paths, ROLES, Role};
use server::{Server, Site};
use verdict::{Observed, parse_statuses};

/// The checks on every answer. `no_server_error` is in `xtask/api/hooks.py`.
const CHECKS: &[&str] = &[
    "no_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
    "negative_data_rejection",
];
/// Repeats calls without a token, so it is for the caller that may do everything.
const ADMIN_CHECK: &str = "ignored_auth";

/// Seconds per role of `cargo xtask fuzz`.
const SECONDS: u32 = 120;

/// Requests of one role.
#[derive(Clone, Copy)]
enum Length {
    /// Examples per operation, in all phases.
    Examples(u32),
    /// Examples per operation, without the systematic variations of each field.
    Random(u32),
    /// Seconds. Random requests are made until the time is over.
    Seconds(u32),
}

/// Runs the step `api`. PostgreSQL needs fewer examples and only the administrator, because its answers have the same
/// form and access is decided before the database is asked.
pub(crate) fn run() -> StepResult {
    let short = |role: &Role, database: &str| match (role.name, database) {
        ("admin", "sqlite") => Some(Length::Examples(40)),
        ("admin", _) => Some(Length::Examples(15)),
        (_, "sqlite") => Some(Length::Random(4)),
        _ => None,
    };
    check(&["sqlite", "postgres"], short)
}

/// Runs `cargo xtask fuzz [--seconds N] [--database NAME]`.
pub(crate) fn fuzz(arguments: &[&str]) -> ExitCode {
    let (mut seconds, mut databases) = (SECONDS, vec!["sqlite", "postgres"]);
    for pair in arguments.chunks(2) {
        match pair {
            ["--seconds", number] if number.parse::<u32>().is_ok_and(|number| number > 0) => {
                seconds = number.parse().unwrap_or(SECONDS);
            }
            ["--database", name @ ("sqlite" | "postgres")] => databases = vec![*name],
            other => {
                eprintln!("unknown arguments `{}`; known are --seconds N, --database sqlite|postgres", other.join(" "));
                return ExitCode::from(2);
            }
        }
    }
    match check(&databases, |_, _| Some(Length::Seconds(seconds))) {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            println!("--- fuzz: FAILED, {problem}");
            ExitCode::FAILURE
        }
    }
}

/// Builds everything, runs each role on each database, and prints the figures at the end.
fn check(databases: &[&str], length: impl Fn(&Role, &str) -> Option<Length>) -> StepResult {
    let tool = install::install()?;
    product::build("turno")?;
    product::build("site")?;
    for (path, reason) in LEFT_OUT {
        println!("left out: {path}, {reason}");
    }
    let (mut figures, mut failed) = (Vec::new(), Vec::new());
    for database in databases {
        let site = Site::start(database)?;
        let server = Server::start(&site.url)?;
        for role in ROLES {
            let Some(length) = length(role, database) else {
                continue;
            };
            println!("\n--- {database}, {} ---", role.name);
            let caller = Caller { tool: &tool, server: &server, site: &site, headers: role.headers(&site), role };
            let (observed, problems) = caller.run(length)?;
            for problem in &problems {
                println!("{database}, {}: {problem}", role.name);
            }
            figures.push(format!("{database:<9} {:<10} {}", role.name, observed.figures()));
            if !problems.is_empty() {
                failed.push(format!("{database} as {}", role.name));
            }
        }
    }
    println!("\n{}", figures.join("\n"));
    if failed.is_empty() { Ok(()) } else { Err(Problem::failed(format!("not as described: {}", failed.join(", ")))) }
}

/// A role that calls a server.
struct Caller<'a> {
    tool: &'a Path,
    server: &'a Server,
    site: &'a Site,
    headers: Vec<String>,
    role: &'a Role,
}

impl Caller<'_> {
    /// Sends the requests, then looks at the server. Returns what was seen and what is wrong.
    fn run(&self, length: Length) -> Result<(Observed, Vec<String>), Problem> {
        let mut observed = Observed::default();
        let mut problems = Vec::new();
        let runs = match length {
            // A sixth of the time is for the few paths without a described answer.
            Length::Seconds(seconds) => {
                let few = (seconds / 6).max(1);
                let most = seconds.saturating_sub(few).max(1);
                vec![(Paths::Described, Length::Seconds(most)), (Paths::LeftOut, Length::Seconds(few))]
            }
            examples => vec![(Paths::Described, examples)],
        };
        for (paths, length) in runs {
            if !self.send(paths, length, &mut observed)? {
                problems.push("schemathesis found the failures above".to_owned());
            }
        }
        observed.log = self.server.log();
        observed.memory = self.server.memory();
        observed.me = self.server.me(&self.headers);
        problems.extend(observed.problems(self.role.me));
        Ok((observed, problems))
    }

    /// Runs the tool once and adds up the statuses. Returns whether the tool found nothing.
    fn send(&self, paths: Paths, length: Length, observed: &mut Observed) -> Result<bool, Problem> {
        // Named after this process, because another run may use the same folder.
        let counts = product::target()?.join(format!("api-statuses-{}.txt", std::process::id()));
        let mut command = Command::new(self.tool);
        command.arg("run").arg(format!("{}/openapi.json", self.server.base));
        for header in &self.headers {
            command.args(["--header", header]);
        }
        command.args(["--checks", &self.checks(paths)]).args(paths.arguments());
        let number;
        match length {
            Length::Examples(examples) => {
                number = examples.to_string();
                command.args(["--max-examples", &number, "--phases", "examples,coverage,fuzzing"]);
            }
            Length::Random(examples) => {
                number = examples.to_string();
                command.args(["--max-examples", &number, "--phases", "examples,fuzzing"]);
            }
            Length::Seconds(seconds) => {
                number = seconds.to_string();
                command.args(["--max-time", &number, "--phases", "examples,coverage,fuzzing"]);
            }
        }
        // One worker, because with two the order of the requests would depend on the machine.
        command.args(["--seed", "1", "--request-timeout", "10", "--workers", "1", "--no-color", "--warnings", "off"]);
        command.args(["--continue-on-failure", "--generation-database", "none"]);
        command.env("SCHEMATHESIS_HOOKS", "hooks").env("PYTHONPATH", root().join("xtask/api")).stdin(Stdio::null());
        command.env("TURNO_API_STATUSES", &counts).env("TURNO_API_CALLERS", &self.site.callers);
        // The tool searches upwards from here for a settings file, and writes its reports here.
        command.env("PYTHONDONTWRITEBYTECODE", "1").current_dir(root().join("target"));
        let status =
            command.status().map_err(|error| Problem::failed(format!("schemathesis could not be started: {error}")))?;
        for (status, count) in parse_statuses(&std::fs::read_to_string(&counts).unwrap_or_default()) {
            *observed.statuses.entry(status).or_default() += count;
        }
        // Otherwise a tool that fails early would leave these counts to the next run.
        let _ = std::fs::remove_file(&counts);
        Ok(status.success())
    }

    fn checks(&self, paths: Paths) -> String {
        match paths {
            Paths::LeftOut => "no_server_error".to_owned(),
            Paths::Described if self.role.name == "admin" => format!("{},{ADMIN_CHECK}", CHECKS.join(",")),
            Paths::Described => CHECKS.join(","),
        }
    }
}
