//! Node and npm: finds or installs them, and installs the packages of a lock file.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::tools::{Problem, StepResult, answers, apt, find, is_root};

/// The oldest version whose test runner supports globs and restarts.
const NODE_OLDEST: u32 = 20;

/// Checks that node and npm are here. For root on a Debian-like machine they are installed.
pub(crate) fn prepare() -> StepResult {
    if node_version().is_none() || find(&["npm"]).is_none() {
        debian("nodejs, npm", &["nodejs", "npm"])?;
    }
    match node_version() {
        Some(version) if version >= NODE_OLDEST => Ok(()),
        Some(version) => Err(missing(&format!("node {NODE_OLDEST} or newer (this one is {version})"))),
        None => Err(missing("node")),
    }
}

/// Installs Debian's packages where that is allowed.
pub(crate) fn debian(what: &str, packages: &[&str]) -> StepResult {
    if !(is_root() && answers("apt-get", &["--version"])) {
        return Err(missing(what));
    }
    println!("{what}: not found; installing Debian's packages");
    let install = [&["install", "-y", "--no-install-recommends"], packages].concat();
    apt(&["update"]).and_then(|()| apt(&install)).map_err(|why| missing(&format!("{what} ({why})")))
}

/// Installs the packages of the folder's lock file, without their scripts, unless they are installed in these versions.
/// With `omit_dev`, those of `devDependencies` are left out.
pub(crate) fn install(folder: &Path, omit_dev: bool) -> StepResult {
    let (lock, marker) = (folder.join("package-lock.json"), folder.join("node_modules/installed.json"));
    let read = std::fs::read_to_string(&lock);
    let read = read.map_err(|error| Problem::failed(format!("failed to read {}: {error}", lock.display())))?;
    let complete = format!("{read}// complete\n");
    let wanted = if omit_dev { read } else { complete.clone() };
    if std::fs::read_to_string(&marker).is_ok_and(|installed| installed == wanted || installed == complete) {
        return Ok(());
    }
    let which = if omit_dev { "--omit=dev" } else { "--include=dev" };
    println!("$ npm ci --ignore-scripts {which}    (in {})", folder.display());
    let mut command = Command::new("npm");
    command.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund", which]).current_dir(folder);
    match command.stdin(Stdio::null()).status() {
        Ok(status) if status.success() => {}
        Ok(status) => return Err(missing(&format!("what {} names (npm ended with {status})", lock.display()))),
        Err(error) => return Err(missing(&format!("npm ({error})"))),
    }
    std::fs::write(&marker, wanted).map_err(|error| Problem::failed(format!("failed to write the marker: {error}")))
}

fn node_version() -> Option<u32> {
    let output = Command::new("node").arg("--version").output().ok()?;
    major(std::str::from_utf8(&output.stdout).ok()?)
}

/// Returns the major version: 20 for `v20.11.1`.
fn major(version: &str) -> Option<u32> {
    version.trim().strip_prefix('v')?.split('.').next()?.parse().ok()
}

/// Describes what is missing, and how to get it.
pub(crate) fn missing(what: &str) -> Problem {
    Problem::Missing {
        what: what.into(),
        get:
            "install node 20 or newer with npm, and Chromium (Debian: `apt-get install nodejs npm chromium`), or name \
              the browser in CHROMIUM; npm must reach a package index once"
                .into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_version_is_the_number_before_the_first_dot() {
        assert_eq!(major("v20.11.1\n"), Some(20));
        assert_eq!((major("20.11.1"), major("vx.1"), major("")), (None, None, None));
    }
}
