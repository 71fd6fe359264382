//! A Debian system in a folder, in which packages are installed without changing this machine.
//!
//! It has no init system. A recorder stands in for `systemctl`, so that the calls of the package's scripts can be
//! compared. The service itself is started by [`Sandbox::serve`] as its unit says.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::program::{Tool, tool};
use super::unit::Unit;
use super::{files, folder, text};
use crate::tools::{Problem, StepResult, is_root};

const RELEASE: &str = "bookworm";
/// Packages beyond Debian's minimum: the package depends on the first, the image needs the second.
const PACKAGES: &str = "--include=systemd-standalone-sysusers,ca-certificates";
/// Where the recorder writes.
const CALLS: &str = "var/log/systemctl-calls";
/// Stands in for `systemctl`. `preset` enables a service, as on Debian, and `is-enabled` looks for the link.
const RECORDER: &str = r#"#!/bin/sh
echo "$@" >>/var/log/systemctl-calls
link=/etc/systemd/system/multi-user.target.wants/turno.service
case "$*" in
*preset*turno.service*) ln -sf /lib/systemd/system/turno.service $link ;;
*is-enabled*) if [ -L $link ]; then echo enabled; else echo disabled; fi ;;
esac
"#;

/// The folder of the system.
pub(super) struct Sandbox {
    pub(super) root: PathBuf,
}

/// Returns the folder of a fresh Debian system. It is made once.
pub(super) fn base() -> Result<PathBuf, Problem> {
    if !is_root() {
        return Err(Problem::failed(
            "the checks of packages use chroot: run them as root, in a container or a machine of CI",
        ));
    }
    let base = folder("work/base")?;
    if base.join("complete").exists() {
        return Ok(base);
    }
    files::empty_folder(&base)?;
    tool("debootstrap").args(["--variant=minbase", PACKAGES, RELEASE]).arg(&base).run()?;
    tool("sh").args(["-c", "rm -rf var/cache/apt/* var/lib/apt/lists/*"]).within(&base).run()?;
    files::write(&base.join("complete"), 0o644, "")?;
    Ok(base)
}

impl Sandbox {
    /// Copies the fresh system.
    pub(super) fn new() -> Result<Self, Problem> {
        let sandbox = Self { root: folder("work/sandbox")? };
        files::empty_folder(&sandbox.root)?;
        tool("cp").arg("-a").arg(format!("{}/.", base()?.display())).arg(&sandbox.root).run()?;
        files::make_folder(&sandbox.path("run/systemd/system"))?;
        files::write(&sandbox.path("usr/bin/systemctl"), 0o755, RECORDER)?;
        Ok(sandbox)
    }

    pub(super) fn path(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    /// A program in the system, as root.
    pub(super) fn tool(&self, program: &str) -> Tool {
        let clean =
            ["env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C.UTF-8", "DEBIAN_FRONTEND=noninteractive"];
        tool("chroot").arg(&self.root).args(clean).arg(program)
    }

    /// Installs or upgrades a package file.
    pub(super) fn install(&self, package: &Path) -> StepResult {
        files::copy(package, &self.path("turno.deb"), 0o644)?;
        self.tool("dpkg").args(["--install", "/turno.deb"]).run()
    }

    /// Returns the calls of `systemctl` since the last time that start, restart or stop something.
    pub(super) fn service_calls(&self) -> Result<Vec<String>, Problem> {
        let calls = self.path(CALLS);
        let recorded = if calls.exists() { files::read(&calls)? } else { String::new() };
        files::write(&calls, 0o644, "")?;
        let verbs = ["start", "restart", "stop"];
        let words = recorded.lines().flat_map(|line| line.split_whitespace().filter(|word| verbs.contains(word)));
        Ok(words.map(str::to_owned).collect())
    }

    /// `turno` as the service's user, with the service's environment.
    pub(super) fn turno(&self, arguments: &[&str]) -> Result<Tool, Problem> {
        self.turno_with(&[], arguments)
    }

    /// The same with more variables, such as a token.
    pub(super) fn turno_with(&self, variables: &[&str], arguments: &[&str]) -> Result<Tool, Problem> {
        let unit = self.unit()?;
        let environment = self.environment(&unit)?;
        let command = self.tool("env").args(environment).args(variables).args(as_user(unit.value("User")?));
        Ok(command.arg("/usr/bin/turno").args(arguments))
    }

    /// The service's `ExecStart`, as its user and with its environment, umask and rights. As with `ProtectSystem=strict`,
    /// everything but the state directory is read-only.
    pub(super) fn serve(&self) -> Result<Command, Problem> {
        let unit = self.unit()?;
        let state = format!("/var/lib/{}", unit.value("StateDirectory")?);
        let script = format!(
            "set -e; root={root}; mount --bind $root $root; mount --bind $root{state} $root{state}; \
             mount -o remount,bind,ro $root; mount -t tmpfs tmpfs $root/tmp; umask {umask}; exec \"$@\"",
            root = text(&self.root),
            umask = unit.value("UMask")?,
        );
        let within =
            ["--mount", "sh", "-c", &script, "sh", "chroot", &text(&self.root), "env", "-i"].map(str::to_owned);
        let command = tool("unshare").args(within).args(self.environment(&unit)?);
        let command = command.args(as_user(unit.value("User")?)).args(unit.value("ExecStart")?.split_whitespace());
        Ok(command.into_command())
    }

    fn unit(&self) -> Result<Unit, Problem> {
        Unit::read(&self.path("lib/systemd/system/turno.service"))
    }

    /// Returns `Environment=` and the lines of `EnvironmentFile=`.
    fn environment(&self, unit: &Unit) -> Result<Vec<String>, Problem> {
        let mut variables: Vec<String> = unit.environment().map(str::to_owned).collect();
        for file in unit.values("EnvironmentFile") {
            let lines = files::read(&self.path(file.trim_start_matches(['-', '/'])))?;
            let set = lines.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
            variables.extend(set.map(str::to_owned));
        }
        variables.push("PATH=/usr/bin:/bin".into());
        Ok(variables)
    }
}

/// Becomes the user without any capability, as the unit's hardening does.
fn as_user(user: &str) -> Vec<String> {
    let rights = ["--clear-groups", "--no-new-privs", "--inh-caps=-all", "--bounding-set=-all"];
    let who = ["setpriv".to_owned(), format!("--reuid={user}"), format!("--regid={user}")];
    who.into_iter().chain(rights.map(str::to_owned)).collect()
}
