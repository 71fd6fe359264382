//! Tests the browser module and the pages in a real Chromium: the files under `web/test`, run by node.
//!
//! Node and Chromium come from the machine; for root on a Debian-like machine they are installed. The packages that
//! drive the browser and check the types are installed in the versions and with the hashes of `web/package-lock.json`.
//! If anything is missing, the step fails: nothing is skipped.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::tools::{Problem, StepResult, find, root};
use crate::{npm, product};

/// Names of the browser. The first one found is used.
const BROWSERS: &[&str] = &["chromium", "chromium-browser", "google-chrome"];

/// Finds or installs the tools, checks the types of the module, builds the program, and runs all test files.
pub(crate) fn run() -> StepResult {
    prepare()?;
    let browser = browser().ok_or_else(|| npm::missing("Chromium"))?;
    println!("Chromium: {}", browser.display());
    let web = root().join("web");
    npm::install(&web, false)?;
    types(&web)?;
    product::build("turno")?;
    let files = tests(&web.join("test"))?;
    let mut command = Command::new("node");
    // Two files at a time: the tests mostly wait, and more browsers on a small machine slow each other down.
    command.args(["--test", "--test-reporter=spec", "--test-concurrency=2"]).args(&files).current_dir(&web);
    command.env("TURNO_BIN", product::built("turno")?).env("CHROMIUM", browser).env_remove("TURNO_SOURCE");
    match command.stdin(Stdio::null()).status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(Problem::failed(format!("the tests in web/test ended with {status}"))),
        Err(error) => Err(Problem::failed(format!("node could not be started: {error}"))),
    }
}

/// Installs missing tools where that is allowed.
fn prepare() -> StepResult {
    if browser().is_none() {
        npm::debian("Chromium", &["chromium"])?;
    }
    npm::prepare()
}

/// Returns `$CHROMIUM`, or a browser on the search path.
fn browser() -> Option<PathBuf> {
    match std::env::var_os("CHROMIUM") {
        // A browser that is named explicitly is never replaced by another one.
        Some(path) => Some(PathBuf::from(path)).filter(|path| path.is_file()),
        None => find(BROWSERS),
    }
}

/// Checks the modules under `web/turno` against their types and those that `web/turno.d.ts` declares.
fn types(web: &Path) -> StepResult {
    let tsc = "node_modules/typescript/bin/tsc";
    println!("$ node {tsc}");
    match Command::new("node").args([tsc, "--noEmit", "-p", "."]).current_dir(web).stdin(Stdio::null()).status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(Problem::failed(format!("the types of web/turno are wrong (tsc ended with {status})"))),
        Err(error) => Err(Problem::failed(format!("node could not be started: {error}"))),
    }
}

/// Returns every test file, sorted by name. Fails if there is none, because that would prove nothing.
fn tests(folder: &Path) -> Result<Vec<PathBuf>, Problem> {
    let failed = |error| Problem::failed(format!("failed to list {}: {error}", folder.display()));
    let entries = std::fs::read_dir(folder).map_err(failed)?;
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).filter(|path| is_test(path)).collect();
    files.sort();
    if files.is_empty() { Err(Problem::failed("there are no tests in web/test")) } else { Ok(files) }
}

fn is_test(path: &Path) -> bool {
    path.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.ends_with(".test.mjs"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn helpers_are_no_tests() {
        assert!(is_test(Path::new("web/test/people.test.mjs")));
        assert!(!is_test(Path::new("web/test/harness.mjs")) && !is_test(Path::new("web/test/test.mjs")));
    }

    #[test]
    fn a_folder_without_tests_is_a_failure() {
        let folder = std::env::temp_dir().join(format!("turno-xtask-browser-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("the temporary folder is writable");
        let found = tests(&folder);
        std::fs::remove_dir_all(&folder).expect("the folder was created above");
        assert_eq!(found, Err(Problem::failed("there are no tests in web/test")));
    }
}
