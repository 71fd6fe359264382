//! Checks the API against its own description: schemathesis generates valid and invalid requests from `/openapi.json`
//! and compares the answers with it, on both databases, with a fixed seed.
//!
//! The tool is installed under `target/`, in the versions and with the hashes of `xtask/api/requirements.txt`. If it
//! cannot be installed, the step fails and says what is missing.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};

use crate::product;
use crate::tools::{Problem, StepResult, root};

/// The checks on every answer.
const CHECKS: &[&str] = &[
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
    "negative_data_rejection",
    "ignored_auth",
];

/// Paths that are left out, with the reasons.
const LEFT_OUT: &[(&str, &str)] = &[
    ("/v1/events", "its answer has no end"),
    ("/v1/users/{id}", "may disable, demote or remove the one who calls"),
    ("/v1/tokens/{id}", "may revoke the token that it calls with"),
    ("/v1/me/password", "ends the caller's other sessions"),
    ("/sign-in", "a page for people, which answers mistakes with a page"),
    ("/sign-out", "a page for people"),
    ("/setup", "a page for people, which answers mistakes with a page"),
];

/// Examples per operation and database. PostgreSQL needs fewer, because its answers have the same form.
const RUNS: &[(&str, u32)] = &[("sqlite", 40), ("postgres", 15)];

/// Installs the tool, builds the program, and runs on both databases.
pub(crate) fn run() -> StepResult {
    let tool = install()?;
    product::build("turno")?;
    product::build("site")?;
    for (path, reason) in LEFT_OUT {
        println!("left out: {path}, {reason}");
    }
    let mut failed = Vec::new();
    for (database, examples) in RUNS {
        println!("\n--- {database} ---");
        if let Err(problem) = run_on(&tool, database, *examples) {
            println!("{database}: {problem}");
            failed.push(*database);
        }
    }
    if failed.is_empty() { Ok(()) } else { Err(Problem::failed(format!("not as described on {}", failed.join(", ")))) }
}

fn run_on(tool: &Path, database: &str, examples: u32) -> StepResult {
    let site = Site::start(database)?;
    let server = Server::start(&site.url)?;
    let (location, authorization) =
        (format!("{}/openapi.json", server.base), format!("Authorization: Bearer {}", site.token));
    let (checks, examples) = (CHECKS.join(","), examples.to_string());
    let mut command = Command::new(tool);
    command.args(["run", &location, "--header", &authorization, "--checks", &checks, "--max-examples", &examples]);
    command.args(["--seed", "1", "--phases", "examples,coverage,fuzzing", "--request-timeout", "10"]);
    command.args(["--workers", "2", "--no-color", "--continue-on-failure", "--generation-database", "none"]);
    command.args(["--exclude-path-regex", &left_out()]);
    command.env("SCHEMATHESIS_HOOKS", "hooks").env("PYTHONPATH", root().join("xtask/api")).stdin(Stdio::null());
    // The tool searches upwards from here for a settings file, and writes its reports here.
    command.env("PYTHONDONTWRITEBYTECODE", "1").current_dir(root().join("target"));
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(Problem::failed(format!("schemathesis ended with {status}"))),
        Err(error) => Err(Problem::failed(format!("schemathesis could not be started: {error}"))),
    }
}

/// Builds one expression for all paths, because the tool uses only the last of several.
fn left_out() -> String {
    let paths: Vec<String> = LEFT_OUT.iter().map(|(path, _)| path.replace('{', "\\{").replace('}', "\\}")).collect();
    format!("^({})$", paths.join("|"))
}

/// Installs the tool unless it is installed in these versions.
fn install() -> Result<PathBuf, Problem> {
    let folder = root().join("target/api-venv");
    let tool = folder.join("bin/schemathesis");
    let (wanted, marker) = (root().join("xtask/api/requirements.txt"), folder.join("installed.txt"));
    let text = std::fs::read_to_string(&wanted)
        .map_err(|error| Problem::failed(format!("failed to read {}: {error}", wanted.display())))?;
    if tool.is_file() && std::fs::read_to_string(&marker).is_ok_and(|installed| installed == text) {
        return Ok(tool);
    }
    println!("installing schemathesis into target/api-venv");
    let text_of = |path: &Path| path.display().to_string();
    step("python3", &["-m", "venv", "--clear", &text_of(&folder)])?;
    let requirements = text_of(&wanted);
    let arguments = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--require-hashes"];
    step(&text_of(&folder.join("bin/python")), &[&arguments[..], &["--requirement", &requirements]].concat())?;
    std::fs::write(&marker, text).map_err(|error| Problem::failed(format!("failed to write the marker: {error}")))?;
    Ok(tool)
}

fn step(program: &str, arguments: &[&str]) -> StepResult {
    let missing = |what: String| Problem::Missing {
        what: format!("schemathesis ({what})"),
        get: "install Python 3.10 or newer with venv (Debian: `apt-get install python3-venv`) and let it reach a \
              package index once"
            .into(),
    };
    match Command::new(program).args(arguments).stdin(Stdio::null()).status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(missing(format!("`{program} {}` ended with {status}", arguments.join(" ")))),
        Err(error) => Err(missing(format!("{program}: {error}"))),
    }
}

/// A database with a user. Dropping it removes the database.
struct Site {
    child: Child,
    stdin: Option<ChildStdin>,
    url: String,
    token: String,
}

impl Site {
    fn start(database: &str) -> Result<Site, Problem> {
        let program = product::built("site")?;
        let mut command = Command::new(program);
        command.arg(database).stdin(Stdio::piped()).stdout(Stdio::piped());
        let failed = |error| Problem::failed(format!("failed to prepare a database: {error}"));
        let mut child = command.spawn().map_err(failed)?;
        let stdin = child.stdin.take();
        let mut lines = child.stdout.take().map(|stdout| BufReader::new(stdout).lines()).into_iter().flatten();
        let mut next = || lines.next().and_then(Result::ok).ok_or_else(|| Problem::failed("no database was prepared"));
        let (url, token) = (next()?, next()?);
        Ok(Site { child, stdin, url, token })
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        drop(self.stdin.take());
        let _ = self.child.wait();
    }
}

/// A server on a database. Dropping it ends the server.
struct Server {
    child: Child,
    base: String,
}

impl Server {
    fn start(url: &str) -> Result<Server, Problem> {
        let mut command = Command::new(product::built("turno")?);
        command.args(["serve", "--listen", "127.0.0.1:0"]).env("TURNO_DATABASE", url).env("TURNO_LOG_LEVEL", "warn");
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        let failed = |error| Problem::failed(format!("failed to start turno: {error}"));
        let mut child = command.spawn().map_err(failed)?;
        let lines = child.stdout.take().map(|stdout| BufReader::new(stdout).lines()).into_iter().flatten();
        for line in lines.map_while(Result::ok) {
            if let Some((_, base)) = line.split_once("listening on ") {
                return Ok(Server { child, base: base.trim().to_owned() });
            }
        }
        let _ = child.wait();
        Err(Problem::failed("turno ended before it listened"))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn left_out_paths_are_one_expression_with_literal_braces() {
        let expression = left_out();
        assert!(expression.starts_with("^(/v1/events|/v1/users/\\{id\\}|") && expression.ends_with(")$"));
    }
}
