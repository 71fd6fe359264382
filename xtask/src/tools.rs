//! Runs other programs, measures the duration of a step, and describes failures.

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The result of a step.
pub(crate) type StepResult = Result<(), Problem>;

/// Why a step failed.
#[derive(Debug, PartialEq)]
pub(crate) enum Problem {
    /// The step ran and found a problem.
    Failed(String),
    /// The step could not run: what is missing, and how to get it.
    Missing { what: String, get: String },
}

impl Problem {
    pub(crate) fn failed(what: impl Into<String>) -> Self {
        Self::Failed(what.into())
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(what) => f.write_str(what),
            Self::Missing { what, get } => {
                write!(f, "could not run: {what} is missing; {get}")
            }
        }
    }
}

/// Returns the repository's root. Cargo sets the folder of this package; without cargo, searches upwards from here.
pub(crate) fn root() -> PathBuf {
    if let Some(package) = std::env::var_os("CARGO_MANIFEST_DIR")
        && let Some(root) = PathBuf::from(package).parent()
    {
        return root.to_path_buf();
    }
    let here = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("."));
    let found = here.ancestors().find(|folder| folder.join("xtask/Cargo.toml").is_file());
    found.map_or_else(|| here.clone(), PathBuf::from)
}

/// Runs cargo at the root and streams its output.
pub(crate) fn cargo(arguments: &[&str]) -> StepResult {
    cargo_with(arguments, &[])
}

/// Runs cargo with extra environment variables.
pub(crate) fn cargo_with(arguments: &[&str], environment: &[(&str, &str)]) -> StepResult {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    let command_line = format!("cargo {}", arguments.join(" "));
    println!("$ {command_line}");
    let mut command = Command::new(program);
    command.args(arguments).current_dir(root()).envs(environment.iter().copied());
    // `cargo run` sets variables of this package. A build script that watches them would run again, and everything above
    // it, whenever `cargo` and `cargo xtask` alternate.
    for (name, _) in std::env::vars_os() {
        let set_by_cargo =
            name.to_str().is_some_and(|name| name.starts_with("CARGO_PKG_") || name == "CARGO_MANIFEST_DIR");
        if set_by_cargo {
            command.env_remove(name);
        }
    }
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(Problem::failed(format!("`{command_line}` ended with {status}"))),
        Err(error) => Err(Problem::Missing {
            what: format!("cargo ({error})"),
            get: "install Rust with rustup, including the components rustfmt and clippy".into(),
        }),
    }
}

/// Returns whether a program can be started and succeeds. Hides its output.
pub(crate) fn answers(program: &str, arguments: &[&str]) -> bool {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// Returns whether cargo-nextest is installed. Without it, plain `cargo test` runs the same tests.
pub(crate) fn has_nextest() -> bool {
    answers("cargo", &["nextest", "--version"])
}

/// Returns whether missing packages can be installed.
pub(crate) fn is_root() -> bool {
    let output = Command::new("id").arg("-u").output();
    output.is_ok_and(|output| output.stdout.trim_ascii() == b"0")
}

/// Runs apt-get without questions.
pub(crate) fn apt(arguments: &[&str]) -> Result<(), String> {
    let command_line = format!("apt-get {}", arguments.join(" "));
    println!("$ {command_line}");
    let mut command = Command::new("apt-get");
    command.args(arguments).env("DEBIAN_FRONTEND", "noninteractive");
    // With an existing configuration file, dpkg would otherwise ask a question and wait forever.
    command.env("UCF_FORCE_CONFFOLD", "1").stdin(Stdio::null());
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("`{command_line}` ended with {status}")),
        Err(error) => Err(format!("`{command_line}` could not be started: {error}")),
    }
}

/// Returns the first program of these names on the search path.
pub(crate) fn find(names: &[&str]) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    names.iter().find_map(|name| folders.iter().map(|folder| folder.join(name)).find(|program| program.is_file()))
}

/// Starts a stopwatch. The returned function tells the time since the start.
#[expect(clippy::disallowed_methods, reason = "shows a developer how long a step took; nothing is decided by it")]
pub(crate) fn stopwatch() -> impl Fn() -> Duration {
    let start = Instant::now();
    move || start.elapsed()
}
