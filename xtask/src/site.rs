//! Builds the documentation site, and checks its links: between pages, to headings, and into the repository.
//!
//! The packages of `docs/package-lock.json` go to `docs/node_modules`, the site to `docs/.vitepress/dist`.

use std::process::{Command, Stdio};

use crate::npm;
use crate::tools::{Problem, StepResult, root};

/// Finds or installs Node, installs the packages, and runs `npm run build`.
pub(crate) fn run() -> StepResult {
    npm::prepare()?;
    let docs = root().join("docs");
    npm::install(&docs, false)?;
    println!("$ npm run build");
    let mut command = Command::new("npm");
    match command.args(["run", "build"]).current_dir(&docs).stdin(Stdio::null()).status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(Problem::failed(format!("the build of the site ended with {status}"))),
        Err(error) => Err(npm::missing(&format!("npm ({error})"))),
    }
}
