//! The files that every package contains: the program, what it generates, licences, documents, and the configuration.

use std::path::{Path, PathBuf};

use super::program::tool;
use super::{RELEASED, crates, files, folder, source};
use crate::tools::{Problem, StepResult, root};

/// Shells with a completion script: the name, and the file's name in the archive.
const SHELLS: &[(&str, &str)] = &[("bash", "turno.bash"), ("fish", "turno.fish"), ("zsh", "_turno")];

/// The folder with the files, as the archive has them.
pub(super) struct Stage {
    pub(super) folder: PathBuf,
    /// The time of all files, in seconds since 1970.
    pub(super) epoch: String,
    /// `false` for checks, which compress fast instead of well.
    pub(super) small: bool,
}

impl Stage {
    /// Collects the files around a built program.
    pub(super) fn make(program: &Path, profile: &str) -> Result<Self, Problem> {
        let stage = Self { folder: folder("work/stage")?, epoch: epoch()?, small: profile == RELEASED };
        files::empty_folder(&stage.folder)?;
        stage.add_program(program)?;
        stage.add_generated()?;
        stage.add_documents()?;
        Ok(stage)
    }

    pub(super) fn program(&self) -> PathBuf {
        self.folder.join("bin/turno")
    }

    fn add_program(&self, program: &Path) -> StepResult {
        let to = self.program();
        files::make_folder(&self.folder.join("bin"))?;
        tool("strip").arg("-o").args([&to, program]).run()?;
        files::set_mode(&to, 0o755)
    }

    /// Adds the man pages and completions. In English, whatever the language of this machine.
    fn add_generated(&self) -> StepResult {
        let turno = || tool(&super::text(&self.program())).env("TURNO_LANG", "en");
        turno().arg("man").arg(self.folder.join("man/man1")).capture()?;
        for (shell, file) in SHELLS {
            let script = turno().args(["completions", shell]).capture()?;
            files::write(&self.folder.join("completions").join(file), 0o644, script)?;
        }
        Ok(())
    }

    fn add_documents(&self) -> StepResult {
        for name in ["LICENSE-APACHE", "LICENSE-MIT", "CHANGELOG.md", "docs/reference/configuration.md"] {
            let from = root().join(name);
            let file = from.file_name().unwrap_or_default();
            files::copy(&from, &self.folder.join(file), 0o644)?;
        }
        files::copy(&source("turno.toml"), &self.folder.join("turno.toml"), 0o644)?;
        files::copy(&source("systemd/turno.service"), &self.folder.join("turno.service"), 0o644)?;
        files::copy(&source("systemd/turno.sysusers"), &self.folder.join("turno.sysusers"), 0o644)?;
        files::copy(&source("archive.md"), &self.folder.join("README.md"), 0o644)?;
        files::write(&self.folder.join("THIRD-PARTY.txt"), 0o644, third_party()?)
    }
}

/// Returns `SOURCE_DATE_EPOCH`, else the time of the commit.
fn epoch() -> Result<String, Problem> {
    match std::env::var("SOURCE_DATE_EPOCH") {
        Ok(epoch) => Ok(epoch),
        Err(_) => {
            let commit = tool("git").args(["log", "-1", "--format=%ct"]).within(&root()).capture()?;
            Ok(commit.trim().to_owned())
        }
    }
}

/// Lists the crates of other projects in the program, with their versions and licences.
fn third_party() -> Result<String, Problem> {
    let crates = crates::read()?;
    let foreign = crates.iter().filter(|(_, entry)| entry.checksum.is_some());
    let lines: Vec<String> =
        foreign.map(|((name, version), entry)| format!("{name} v{version}: {}", entry.licence)).collect();
    Ok(format!("turno contains these crates, under these licences:\n\n{}\n", lines.join("\n")))
}
