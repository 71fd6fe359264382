//! Running other programs, measuring how long a step takes, and saying what went wrong.

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// What a step ends with.
pub(crate) type StepResult = Result<(), Problem>;

/// Why a step is red.
#[derive(Debug, PartialEq)]
pub(crate) enum Problem {
    /// It ran and found something wrong.
    Failed(String),
    /// It could not run: what is missing, and how to get it.
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

/// The repository's root. Cargo says where this package lies; without cargo, look upwards from here.
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

/// Runs cargo at the root; its output streams through.
pub(crate) fn cargo(arguments: &[&str]) -> StepResult {
    cargo_with(arguments, &[])
}

/// Runs cargo with extra environment variables.
pub(crate) fn cargo_with(arguments: &[&str], environment: &[(&str, &str)]) -> StepResult {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    let shown = format!("cargo {}", arguments.join(" "));
    println!("$ {shown}");
    let mut command = Command::new(program);
    command.args(arguments).current_dir(root()).envs(environment.iter().copied());
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(Problem::failed(format!("`{shown}` ended with {status}"))),
        Err(error) => Err(Problem::Missing {
            what: format!("cargo ({error})"),
            get: "install Rust with rustup, including the components rustfmt and clippy".into(),
        }),
    }
}

/// Whether a program can be started and succeeds, without showing its output.
pub(crate) fn answers(program: &str, arguments: &[&str]) -> bool {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// Whether we may install what is missing.
pub(crate) fn is_root() -> bool {
    let output = Command::new("id").arg("-u").output();
    output.is_ok_and(|output| output.stdout.trim_ascii() == b"0")
}

/// Runs apt-get without questions; says what went wrong.
pub(crate) fn apt(arguments: &[&str]) -> Result<(), String> {
    let shown = format!("apt-get {}", arguments.join(" "));
    println!("$ {shown}");
    let mut command = Command::new("apt-get");
    command.args(arguments).env("DEBIAN_FRONTEND", "noninteractive");
    // A configuration file that is already there must not make dpkg ask a question that nobody answers.
    command.env("UCF_FORCE_CONFFOLD", "1").stdin(Stdio::null());
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("`{shown}` ended with {status}")),
        Err(error) => Err(format!("`{shown}` could not be started: {error}")),
    }
}

/// A program of one of these names on the search path, by the order of the names.
pub(crate) fn find(names: &[&str]) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    names.iter().find_map(|name| folders.iter().map(|folder| folder.join(name)).find(|program| program.is_file()))
}

/// Starts measuring; the returned function says how much time has passed.
#[expect(clippy::disallowed_methods, reason = "shows a developer how long a step took; nothing is decided by it")]
pub(crate) fn stopwatch() -> impl Fn() -> Duration {
    let start = Instant::now();
    move || start.elapsed()
}
