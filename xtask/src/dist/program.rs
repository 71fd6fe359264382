//! Runs programs of the system. A missing program is a failure that names its Debian package.

use std::ffi::OsStr;
use std::io::ErrorKind;
use std::process::{Command, Output, Stdio};

use crate::tools::{Problem, StepResult, answers, apt, find, is_root};

/// The Debian packages of programs whose package has another name.
const PACKAGES: &[(&str, &str)] = &[
    ("dpkg-shlibdeps", "dpkg-dev"),
    ("kubectl", "kubernetes-client (of Debian 13 or newer)"),
    ("strip", "binutils"),
    ("systemd-analyze", "systemd"),
];

/// Installs missing programs as root on a Debian-like machine. Elsewhere the program's own call reports it.
pub(super) fn prepare(programs: &[&str]) -> StepResult {
    let missing: Vec<&str> = programs.iter().filter(|name| find(&[name]).is_none()).map(|name| package(name)).collect();
    if missing.is_empty() || !is_root() || !answers("apt-get", &["--version"]) {
        return Ok(());
    }
    println!("{}: not found; installing Debian's packages", missing.join(", "));
    let install = [&["install", "-y", "--no-install-recommends"], &missing[..]].concat();
    apt(&["update"]).and_then(|()| apt(&install)).map_err(Problem::failed)
}

fn package(program: &str) -> &str {
    PACKAGES.iter().find(|(name, _)| *name == program).map_or(program, |(_, package)| package)
}

/// A command line to run.
pub(super) struct Tool {
    name: String,
    command: Command,
}

/// Starts the command line of a program.
pub(super) fn tool(name: &str) -> Tool {
    Tool { name: name.into(), command: Command::new(name) }
}

impl Tool {
    pub(super) fn arg(mut self, argument: impl AsRef<OsStr>) -> Self {
        self.command.arg(argument);
        self
    }

    pub(super) fn args<I: IntoIterator<Item: AsRef<OsStr>>>(mut self, arguments: I) -> Self {
        self.command.args(arguments);
        self
    }

    pub(super) fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    pub(super) fn within(mut self, folder: &std::path::Path) -> Self {
        self.command.current_dir(folder);
        self
    }

    /// Runs the program and streams its output.
    pub(super) fn run(mut self) -> StepResult {
        println!("$ {}", self.line());
        let status = self.command.stdin(Stdio::null()).status();
        let status = status.map_err(|error| self.not_started(&error))?;
        if status.success() { Ok(()) } else { Err(Problem::failed(format!("`{}` ended with {status}", self.line()))) }
    }

    /// Runs the program and returns its stdout. On failure, the error contains its stderr.
    pub(super) fn capture(self) -> Result<String, Problem> {
        let line = self.line();
        let output = self.output()?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        let cause = String::from_utf8_lossy(&output.stderr);
        Err(Problem::failed(format!("`{line}` ended with {}: {}", output.status, cause.trim())))
    }

    /// Runs the program and returns everything that it produced.
    pub(super) fn output(mut self) -> Result<Output, Problem> {
        let output = self.command.stdin(Stdio::null()).output();
        output.map_err(|error| self.not_started(&error))
    }

    /// Gives up the wrapper, for a program that runs in the background.
    pub(super) fn into_command(self) -> Command {
        self.command
    }

    fn line(&self) -> String {
        let words = self.command.get_args().map(|word| word.to_string_lossy().into_owned());
        std::iter::once(self.name.clone()).chain(words).collect::<Vec<_>>().join(" ")
    }

    fn not_started(&self, error: &std::io::Error) -> Problem {
        if error.kind() != ErrorKind::NotFound {
            return Problem::failed(format!("`{}` could not be started: {error}", self.line()));
        }
        let get = format!("on Debian it is in the package {}", package(&self.name));
        Problem::Missing { what: self.name.clone(), get }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failing_program_is_named_with_its_error() {
        let failed = tool("sh").args(["-c", "echo why >&2; exit 3"]).capture();
        let Err(Problem::Failed(what)) = failed else { panic!("{failed:?}") };
        assert!(what.contains("exit status: 3") && what.ends_with("why"), "{what}");
    }

    #[test]
    fn a_missing_program_is_named_with_its_package() {
        let missing = Tool { name: "kubectl".into(), command: Command::new("/nonexistent/kubectl") };
        let get = "on Debian it is in the package kubernetes-client (of Debian 13 or newer)".into();
        assert_eq!(missing.run(), Err(Problem::Missing { what: "kubectl".into(), get }));
    }
}
