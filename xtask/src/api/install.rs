//! Installs schemathesis under `target/`, in the versions and with the hashes of `xtask/api/requirements.txt`. If it
//! cannot be installed, the step fails and says what is missing.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::tools::{Problem, StepResult, root};

/// Installs the tool unless it is installed in these versions, and returns its path.
pub(super) fn install() -> Result<PathBuf, Problem> {
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
