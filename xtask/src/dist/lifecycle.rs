//! The life of the Debian package in a sandbox: installed, upgraded over data of 0.1.0, started, removed, purged.

use std::path::Path;

use super::program::tool;
use super::sandbox::Sandbox;
use super::stage::Stage;
use super::{deb, expect, files, folder, source};
use crate::product::{Running, get};
use crate::tools::{Problem, StepResult};

/// A number below every real version.
const OLDER: &str = "0.1.0-1";
/// A database that the program 0.1.0 has written: two users, a queue with two waiting items, a lane with an acked, two
/// returned and one exhausted item, a completed and a ready task, a held lease, history and an override.
const DATA: &str = "check/turno-0.1.0.db.gz";
const DATABASE: &str = "var/lib/turno/turno.db";
const CONFIGURATION: &str = "etc/turno/turno.toml";
const ENVIRONMENT: &str = "etc/default/turno";
/// What an administrator changed in the two files.
const CHANGED: &str = "keep_history_days = 30\n";
const SECRET: &str = "TURNO_LISTEN=127.0.0.1:0\n";

pub(super) fn check(stage: &Stage, package: &Path) -> StepResult {
    let older = folder("work/older")?;
    files::empty_folder(&older)?;
    let older = deb::build(stage, OLDER, &older)?;
    let sandbox = Sandbox::new()?;
    install(&sandbox, &older)?;
    upgrade(&sandbox, package)?;
    println!("the server after the upgrade:");
    serve(&sandbox)?;
    sandbox.install(package)?;
    expect_calls(&sandbox, &["restart"], "installing the same version again restarts the service")?;
    remove(&sandbox)?;
    sandbox.install(package)?;
    println!("the server after removal and installation:");
    serve(&sandbox)?;
    purge(&sandbox)
}

fn install(sandbox: &Sandbox, package: &Path) -> StepResult {
    sandbox.install(package)?;
    expect_calls(sandbox, &["start"], "the first installation starts the service")?;
    let folder = sandbox.tool("stat").args(["--format=%U %G %a", "/var/lib/turno"]).capture()?;
    expect(folder.trim() == "turno turno 750", &format!("the state directory is the service's own ({})", folder.trim()))
}

fn upgrade(sandbox: &Sandbox, package: &Path) -> StepResult {
    // The key stands before the first table of the file.
    let configuration = files::read(&sandbox.path(CONFIGURATION))?;
    files::write(&sandbox.path(CONFIGURATION), 0o644, format!("{CHANGED}{configuration}"))?;
    files::write(&sandbox.path(ENVIRONMENT), 0o600, SECRET)?;
    let unpack = "gzip --decompress --stdout \"$1\" >\"$2\"";
    tool("sh").args(["-c", unpack, "sh"]).arg(source(DATA)).arg(sandbox.path(DATABASE)).run()?;
    sandbox.tool("chown").args(["turno:turno", &format!("/{DATABASE}")]).run()?;
    sandbox.service_calls()?;

    sandbox.install(package)?;
    expect_calls(sandbox, &["restart"], "an upgrade restarts the service once and does not stop it before")?;
    expect(
        files::read(&sandbox.path(CONFIGURATION))?.starts_with(CHANGED),
        "an upgrade keeps a changed configuration",
    )?;
    expect(files::read(&sandbox.path(ENVIRONMENT))? == SECRET, "an upgrade keeps the environment")
}

/// Starts the service as its unit says, and reads the data of 0.1.0 through it.
fn serve(sandbox: &Sandbox) -> StepResult {
    let mut server = Running::start(sandbox.serve()?)?;
    let address = server.listening()?;
    get(address, "/readyz")?;
    runs_without_rights(sandbox, server.id())?;
    let url = format!("http://{address}");
    let turno = |arguments: &[&str]| -> Result<String, Problem> { sandbox.turno(arguments)?.capture() };
    turno(&["healthcheck", "--server", &url])?;
    let settings = turno(&["config"])?;
    expect(
        settings.contains("keep_history_days") && settings.contains("/etc/turno/turno.toml"),
        "it reads its configuration",
    )?;

    let users = turno(&["user", "list", "--json"])?;
    expect(users.contains("\"ana\"") && users.contains("\"leo\""), "the users of 0.1.0 are there")?;
    let token = turno(&["token", "create", "--user", "ana"])?;
    let token = format!("TURNO_TOKEN={}", token.trim());
    let queue = sandbox.turno_with(&[&token], &["queue", "get", "orders", "--json", "--server", &url])?.capture()?;
    expect(queue.contains("\"pending\":2,"), "the two waiting items of 0.1.0 are there")?;
    let lane = sandbox.turno_with(&[&token], &["queue", "get", "bot", "--json", "--server", &url])?.capture()?;
    expect(lane.contains("\"exhausted\":1"), "the exhausted item of 0.1.0 is there")?;
    let task = sandbox.turno_with(&[&token], &["task", "get", "1", "--json", "--server", &url])?.capture()?;
    expect(task.contains("\"completed\""), "the completed task of 0.1.0 is there")?;
    turno(&["check"])?;
    let (status, _) = server.stop()?;
    expect(status.success(), &format!("SIGTERM ends it with exit code 0 (it was: {status})"))?;
    let mode = sandbox.tool("stat").args(["--format=%U %a", &format!("/{DATABASE}")]).capture()?;
    expect(mode.starts_with("turno "), &format!("the database belongs to the service ({})", mode.trim()))
}

/// Reads user and capabilities of the process.
fn runs_without_rights(sandbox: &Sandbox, process: u32) -> StepResult {
    let status = files::read(Path::new(&format!("/proc/{process}/status")))?;
    let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default().trim();
    let user = sandbox.tool("id").args(["-u", "turno"]).capture()?;
    let real = field("Uid:").split_whitespace().next().unwrap_or_default();
    expect(real == user.trim() && real != "0", &format!("it runs as the user turno ({real})"))?;
    let none = ["CapEff:", "CapPrm:", "CapBnd:"].iter().all(|name| field(name).bytes().all(|digit| digit == b'0'));
    expect(none, "it has no capability")
}

fn remove(sandbox: &Sandbox) -> StepResult {
    sandbox.tool("dpkg").args(["--remove", "turno"]).run()?;
    expect_calls(sandbox, &["stop"], "removal stops the service")?;
    expect(!sandbox.path("usr/bin/turno").exists(), "removal deletes the program")?;
    expect(sandbox.path(DATABASE).exists(), "removal keeps the data")?;
    expect(sandbox.path(CONFIGURATION).exists(), "removal keeps the configuration")
}

fn purge(sandbox: &Sandbox) -> StepResult {
    sandbox.tool("dpkg").args(["--purge", "turno"]).run()?;
    for path in ["var/lib/turno", "etc/turno", "etc/default/turno", "usr/bin/turno"] {
        expect(!sandbox.path(path).exists(), &format!("purge deletes /{path}"))?;
    }
    let left = sandbox.tool("dpkg-query").args(["--show", "turno"]).output()?;
    expect(!left.status.success(), "dpkg knows the package no more")
}

fn expect_calls(sandbox: &Sandbox, wanted: &[&str], claim: &str) -> StepResult {
    let calls = sandbox.service_calls()?;
    expect(calls == wanted, &format!("{claim} (systemctl: {})", calls.join(", ")))
}
